"""Beyond the paper: link prediction, which tells held-out edges from non-edges by vectors trained without them."""

from fedwalk.experiments.figure_5 import METHODS
from fedwalk.experiments.outcome import Experiment, Outcome, Results, Table, for_seeds, over_seeds, spread
from fedwalk.experiments.setup import Setup
from fedwalk.experiments.trials import LINK_METHODS, Trial

HELD_OUT = 0.2
SCORES = {"auc": "AUC", "average_precision": "average precision"}


def trials(setup: Setup) -> list[Trial]:
    """Both methods on the graph without a fifth of its edges."""
    # Not `trials_of`, whose trials are scored by labels at some T_R.
    return [Trial(settings, held_out=HELD_OUT) for change in METHODS.values() for settings in for_seeds(setup, change)]


def present(setup: Setup, results: Results) -> Outcome:
    """AUC and average precision of both methods."""
    rows = [
        [name, method, *(spread(results.scores(change, f"{score}@{method}", HELD_OUT), 4) for score in SCORES)]
        for name, change in METHODS.items()
        for method in LINK_METHODS
    ]
    table = Table("links", f"{setup.title}: link prediction", ["method", "features", *SCORES.values()], rows)
    text = (
        f"{HELD_OUT:.0%} of the edges held out, as many non-edges drawn; {over_seeds(setup)}. "
        "hadamard: logistic regression on products of coordinates; cosine: no training."
    )
    return Outcome("links", "Link prediction", text, [table], [], [])


EXPERIMENT = Experiment("links", trials, present)
