"""Beyond the paper: link prediction, which tells held-out edges from non-edges by vectors trained without them."""

from fedwalk.experiments.figure_5 import METHODS
from fedwalk.experiments.finding import Experiment, Finding, Results, Table, for_seeds, spread
from fedwalk.experiments.setup import Setup
from fedwalk.experiments.trials import LINK_METHODS, Request

HELD_OUT = 0.2
SCORES = {"auc": "AUC", "average_precision": "average precision"}


def trials(setup: Setup) -> list[Request]:
    """Request both methods on the graph without a fifth of its edges."""
    return [
        Request(settings, held_out=HELD_OUT) for change in METHODS.values() for settings in for_seeds(setup, change)
    ]


def present(setup: Setup, results: Results) -> Finding:
    """AUC and average precision of both methods."""
    rows = [
        [name, method, *(spread(results.scores(change, f"{score}@{method}", HELD_OUT), 4) for score in SCORES)]
        for name, change in METHODS.items()
        for method in LINK_METHODS
    ]
    table = Table("links", f"{setup.title}: link prediction", ["method", "features", *SCORES.values()], rows)
    text = (
        f"{HELD_OUT:.0%} of the edges held out, as many non-edges drawn; ± the standard deviation over {setup.seeds} "
        "seeds. hadamard: logistic regression on products of coordinates; cosine: no training."
    )
    return Finding("links", "Link prediction", text, [table], [], [])


EXPERIMENT = Experiment("links", trials, present)
