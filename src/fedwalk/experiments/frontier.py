"""Beyond the paper: micro-F1 against hops per walk, for every predictor and increasing bursts.

The burst is the number of entries that a triggered visit writes: the next vertex and the predicted ones after it. With
p = 1 every visit triggers, so burst 1 is the plain walk, and at burst 40 a walk hardly leaves its first device.
"""

from typing import Any

import numpy as np

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
from fedwalk.settings import PRESETS

BURSTS = {"tree": (2, 4, 10), "degree": (2, 4, 10), "triad": (2, 3, 4, 6, 10, 20, 40)}
PLAIN: dict[str, Any] = {"predict": 0.0}
"""FedWalk without a predictor: entries are encoded, and every step is a hop."""


def points() -> list[tuple[str, dict[str, Any]]]:
    """The name and the settings of each point of the chart."""
    predicted = [
        (f"{predictor}, burst {burst}", {"predictor": predictor, "predict": 1.0, "burst": burst})
        for predictor, bursts in BURSTS.items()
        for burst in bursts
    ]
    presets = [(f"preset {name}", dict(preset)) for name, preset in PRESETS.items()]
    return [("plain walk", PLAIN), ("tree, p = 0.2, burst 2", {}), *predicted, *presets]


def trials(setup: Setup) -> list[Trial]:
    """All points, and DeepWalk as the reference."""
    return trials_of(setup, [METHODS["DeepWalk"], *(change for _, change in points())], (setup.ratio,))


def present(setup: Setup, results: Results) -> Outcome:
    """One chart and one table: F1, hops and bytes of each point."""
    score = f"micro_f1@{setup.ratio:g}"
    baseline, _ = results.mean(METHODS["DeepWalk"], score)
    rows = []
    for name, change in points():
        hop_bytes = float(np.mean([trial.hop_bytes_per_walk for trial in results.each(change)]))
        scores = [100 * s for s in results.scores(change, score)]
        loss = percent(results.change(METHODS["DeepWalk"], change, score))
        rows.append([name, f"{results.hops(change):.2f}", f"{hop_bytes:,.0f}", spread(scores), loss])
    rows.append(["DeepWalk", "–", "–", spread([100 * s for s in results.scores(METHODS["DeepWalk"], score)]), ""])
    chart = Chart(
        "frontier", f"{setup.title}: micro-F1 against hops", "hops per walk", "micro-F1",
        [_line(results, score, predictor) for predictor in BURSTS] + _presets(results, score),
        {"DeepWalk": baseline}, x_log=True,
    )  # fmt: skip
    header = ["walk", "hops per walk", "bytes of hops per walk", "micro-F1", "against DeepWalk"]
    table = Table("frontier", f"{setup.title}: the price of fewer messages", header, rows)
    text = f"Micro-F1 in % at T_R = {setup.ratio:g}, {over_seeds(setup)}. "
    text += "The chart's axis is logarithmic: a walk without hops is drawn at 0.5."
    return Outcome("frontier", "Fewer messages: the frontier", text, [table], [chart], [])


def _line(results: Results, score: str, predictor: str) -> Series:
    # Every line begins at the plain walk, which is the same for all predictors.
    changes = [PLAIN, *({"predictor": predictor, "predict": 1.0, "burst": burst} for burst in BURSTS[predictor])]
    scores = [results.mean(change, score) for change in changes]
    # A logarithmic axis has no 0.
    hops = [max(0.5, results.hops(change)) for change in changes]
    return Series(predictor, hops, [mean for mean, _ in scores], [std for _, std in scores])


def _presets(results: Results, score: str) -> list[Series]:
    series = []
    for name, preset in PRESETS.items():
        mean, std = results.mean(preset, score)
        series.append(Series(f"preset {name}", [results.hops(preset)], [mean], [std]))
    return series


EXPERIMENT = Experiment("frontier", trials, present)
