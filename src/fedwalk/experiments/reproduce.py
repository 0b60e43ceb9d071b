"""The paper's experiments on one graph: which there are, running them, publishing what they found."""

from datetime import date
from pathlib import Path

from fedwalk.errors import SettingsError
from fedwalk.experiments import figure_5, figure_7, figure_8, figure_9, frontier, link_prediction, private, theorems
from fedwalk.experiments.finding import Experiment, Results
from fedwalk.experiments.laboratory import Laboratory
from fedwalk.experiments.publish import Edition, publish
from fedwalk.experiments.setup import Setup
from fedwalk.stages import Progress

EXPERIMENTS: dict[str, Experiment] = {
    module.EXPERIMENT.key: module.EXPERIMENT
    for module in (figure_5, figure_7, figure_8, figure_9, theorems, frontier, link_prediction, private)
}
ALIASES = {"6": "5"}
"""Figures 5 and 6 are one experiment on two datasets."""


def chosen(names: str) -> list[Experiment]:
    """Experiments from a comma-separated list, or all of them.

    >>> [experiment.key for experiment in chosen("6,theorems")]
    ['5', 'theorems']
    """
    if names == "all":
        return list(EXPERIMENTS.values())
    keys = [ALIASES.get(name.strip(), name.strip()) for name in names.split(",")]
    for key in keys:
        if key not in EXPERIMENTS:
            raise SettingsError(f"figure = {key!r}: choose from 5, 6, {', '.join(list(EXPERIMENTS)[1:])}, all.")
    return [experiment for key, experiment in EXPERIMENTS.items() if key in keys]


def reproduce(
    setup: Setup,
    experiments: list[Experiment],
    folder: Path,
    *,
    command: str,
    figures: bool = True,
    progress: Progress | None = None,
) -> Path:
    """Run what isn't on disk yet, write everything; returns the page."""
    requests = [request for experiment in experiments for request in experiment.requests(setup)]
    laboratory = Laboratory(setup, folder / "trials")
    report = progress or (lambda stage, done, total: None)
    results = Results(setup, laboratory.measure(requests, lambda done, total: report("trials", done, total)))
    report("trials", 1, 1)
    findings = [experiment.present(setup, results) for experiment in experiments]
    return publish(Edition(setup, findings, command, date.today()), folder, figures=figures)
