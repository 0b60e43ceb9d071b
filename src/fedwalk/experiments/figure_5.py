"""Figures 5 and 6: FedWalk against DeepWalk, micro- and macro-F1 over the share of labelled vertices T_R."""

from typing import Any

from fedwalk.experiments.outcome import (
    Chart,
    Claim,
    Experiment,
    Outcome,
    Results,
    Series,
    Table,
    compare,
    over_seeds,
    percent,
    spread,
    trials_of,
    untested,
)
from fedwalk.experiments.setup import Setup
from fedwalk.experiments.trials import Trial
from fedwalk.util.text import counted

METHODS: dict[str, dict[str, Any]] = {"DeepWalk": {"protocol": "deepwalk"}, "FedWalk": {}}
SCORES = {"micro_f1": "micro-F1", "macro_f1": "macro-F1"}
PAPER = {
    "blogcatalog": ("Fig. 5", 0.6, {"micro_f1": -1.8, "macro_f1": -1.0}),
    "flickr": ("Fig. 6", 0.1, {"micro_f1": -1.5, "macro_f1": -4.4}),
}
"""Per dataset: the figure, a T_R, and the change from DeepWalk's scores to FedWalk's at that T_R, in percent."""


def trials(setup: Setup) -> list[Trial]:
    """Both methods with the paper's settings."""
    return trials_of(setup, list(METHODS.values()), setup.ratios)


def present(setup: Setup, results: Results) -> Outcome:
    """F1 of both methods over T_R, and the difference between them."""
    rows = []
    for ratio in setup.ratios:
        row = [f"{ratio:g}"]
        for score in SCORES:
            name = f"{score}@{ratio:g}"
            row += [spread([100 * s for s in results.scores(change, name)]) for change in METHODS.values()]
            row += [_points(results, name), percent(results.change(METHODS["DeepWalk"], METHODS["FedWalk"], name))]
        rows.append(row)
    header = ["T_R", *(f"{name} {text}" for text in SCORES.values() for name in (*METHODS, "points lost", "change"))]
    charts = [
        # The names of the files end in "micro" and "macro".
        Chart(f"figure-5-{text[:5]}", f"{setup.title}: {text}", "T_R", text, [
            _curve(setup, results, name, change, score) for name, change in METHODS.items()
        ])
        for score, text in SCORES.items()
    ]  # fmt: skip
    splits = counted(setup.splits, "split", "splits")
    text = f"Scores in %, {over_seeds(setup)}, with {splits} for each."
    title = "FedWalk against DeepWalk (Figures 5 and 6)"
    table = Table("figure-5", f"{setup.title}: F1 over T_R", header, rows)
    return Outcome("5", title, text, [table], charts, claims(setup, results))


def _points(results: Results, score: str) -> str:
    """What FedWalk loses, in percentage points."""
    scores = (results.scores(change, score) for change in METHODS.values())
    return spread([100 * (deepwalk - fedwalk) for deepwalk, fedwalk in zip(*scores, strict=True)])


def _curve(setup: Setup, results: Results, name: str, change: dict[str, Any], score: str) -> Series:
    points = [results.mean(change, f"{score}@{ratio:g}") for ratio in setup.ratios]
    return Series(name, list(setup.ratios), [mean for mean, _ in points], [std for _, std in points])


def claims(setup: Setup, results: Results) -> list[Claim]:
    """Compare the losses that the paper reports with ours."""
    compared = []
    for dataset, (where, ratio, losses) in PAPER.items():
        for score, paper in losses.items():
            what = f"{SCORES[score]} against DeepWalk's, {dataset}, T_R = {ratio:g}"
            # The paper's numbers are about its own datasets: on another graph there is nothing to compare.
            if setup.dataset != dataset:
                compared.append(untested(where, what, f"{paper:+.2f} %"))
                continue
            ours = results.change(METHODS["DeepWalk"], METHODS["FedWalk"], f"{score}@{ratio:g}")
            why = "Most vertices in a two-hop pool aren't neighbours of the vertex that the walk is predicted from."
            compared.append(compare(where, what, paper, ours, why))
    return compared


EXPERIMENT = Experiment("5", trials, present)
