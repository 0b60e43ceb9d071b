"""Beyond the paper: link prediction, which tells held-out edges from non-edges by vectors trained without them."""

from fedwalk.evaluation import BASELINES, LinkScore, score_baseline, split_edges
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
    """AUC and average precision of both methods, and of the baselines on the same pairs."""
    rows = [
        [name, method, *(spread(results.scores(change, f"{score}@{method}", HELD_OUT), 4) for score in SCORES)]
        for name, change in METHODS.items()
        for method in LINK_METHODS
    ]
    for name, scores in baselines(setup).items():
        rows.append([name, "–", *(spread([getattr(each, score) for each in scores], 4) for score in SCORES)])
    table = Table("links", f"{setup.title}: link prediction", ["method", "features", *SCORES.values()], rows)
    text = (
        f"{HELD_OUT:.0%} of the edges held out, as many non-edges drawn; {over_seeds(setup)}. "
        "hadamard: logistic regression on products of coordinates; cosine: no training. The "
        "baselines need no vectors, but the training graph, which no party of a federation has."
    )
    return Outcome("links", "Link prediction", text, [table], [], [])


def baselines(setup: Setup) -> dict[str, list[LinkScore]]:
    """The score of each baseline, seed by seed, on the splits of the trials."""
    splits = (split_edges(setup.graph, HELD_OUT, seed) for seed in range(setup.seeds))
    scored = [{name: score_baseline(split, name) for name in BASELINES} for split in splits]
    return {name: [scores[name] for scores in scored] for name in BASELINES}


EXPERIMENT = Experiment("links", trials, present)
