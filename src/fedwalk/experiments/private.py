"""Beyond the paper: what proved privacy costs, as micro-F1 of protocol `ldp` by its total ε per edge."""

import math
from typing import Any

from fedwalk.experiments.figure_5 import METHODS
from fedwalk.experiments.outcome import (
    Chart,
    Experiment,
    Outcome,
    Results,
    Series,
    Table,
    over_seeds,
    percent,
    spread,
    trials_of,
)
from fedwalk.experiments.setup import Setup
from fedwalk.experiments.trials import Trial

EPSILONS = (2.0, 3.0, 4.0, 5.0, 6.0, 8.0)
EMBEDS = ("spectral", "skipgram")
OPEN: dict[str, dict[str, Any]] = {**METHODS, "spectral, no noise": {"protocol": "deepwalk", "embed": "spectral"}}
"""Methods without proved privacy, as references. FedWalk's ε is nominal: its privacy loss is unbounded."""
USUAL_RATIO = 0.5


def private(epsilon: float, embed: str) -> dict[str, Any]:
    """The settings of one point of the chart."""
    return {"protocol": "ldp", "epsilon": epsilon, "embed": embed}


def _ratio(setup: Setup) -> float:
    # The paper's T_R for Flickr end at 0.1.
    return USUAL_RATIO if USUAL_RATIO in setup.ratios else setup.ratio


def trials(setup: Setup) -> list[Trial]:
    """Every ε with both embeddings, and the references."""
    points = [private(epsilon, embed) for epsilon in EPSILONS for embed in EMBEDS]
    return trials_of(setup, [*OPEN.values(), *points], (_ratio(setup),))


def present(setup: Setup, results: Results) -> Outcome:
    """Micro-F1 by ε for both embeddings, as a table and a chart."""
    ratio = _ratio(setup)
    score = f"micro_f1@{ratio:g}"
    rows = []
    for epsilon in EPSILONS:
        row = [f"{epsilon:g}"]
        for embed in EMBEDS:
            change = private(epsilon, embed)
            row += [
                spread([100 * s for s in results.scores(change, score)]),
                percent(results.change(METHODS["DeepWalk"], change, score)),
            ]
        rows.append(row)
    for name, change in OPEN.items():
        rows.append([name, spread([100 * s for s in results.scores(change, score)]), "", "", ""])
    header = ["ε per edge", *(cell for embed in EMBEDS for cell in (embed, "against DeepWalk"))]
    chart = Chart(
        "private", f"{setup.title}: micro-F1 of protocol ldp", "total ε per edge", "micro-F1",
        [_line(results, score, embed) for embed in EMBEDS],
        {name: results.mean(change, score)[0] for name, change in METHODS.items()},
    )  # fmt: skip
    graph = setup.graph
    # Below this ε, most of the reported pairs are no edges.
    half_are_edges = math.log(graph.vertices**2 / (2 * graph.edges))
    text = (
        f"Micro-F1 in % at T_R = {ratio:g}, {over_seeds(setup)} of noise and training. "
        f"ε covers the whole run and is proved; FedWalk's is nominal. Half of the reported pairs are edges at "
        f"ε ≈ ln(n / mean degree) = {half_are_edges:.1f}. The decoding doesn't use labels."
    )
    table = Table("private", f"{setup.title}: what proved privacy costs", header, rows)
    return Outcome("ldp", "Proved privacy: micro-F1 against ε", text, [table], [chart], [])


def _line(results: Results, score: str, embed: str) -> Series:
    points = [results.mean(private(epsilon, embed), score) for epsilon in EPSILONS]
    return Series(f"ldp, {embed}", list(EPSILONS), [mean for mean, _ in points], [std for _, std in points])


EXPERIMENT = Experiment("ldp", trials, present)
