"""Run the paper's experiments on one graph and publish the outcomes."""

from datetime import date
from pathlib import Path

from fedwalk.errors import SettingsError
from fedwalk.experiments import figure_5, figure_7, figure_8, figure_9, frontier, link_prediction, private, theorems
from fedwalk.experiments.outcome import Experiment, Results
from fedwalk.experiments.publish import Edition, publish
from fedwalk.experiments.setup import Setup
from fedwalk.experiments.trials import Trials
from fedwalk.run.stages import StageProgress, ignore_progress

EXPERIMENTS: dict[str, Experiment] = {
    module.EXPERIMENT.key: module.EXPERIMENT
    for module in (figure_5, figure_7, figure_8, figure_9, theorems, frontier, link_prediction, private)
}
ALIASES = {"6": "5"}
"""Figures 5 and 6 are one experiment on two datasets."""


def chosen(names: str) -> list[Experiment]:
    """The experiments that a comma-separated list names, in the order of EXPERIMENTS; "all" names all of them.

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
    on_progress: StageProgress | None = None,
) -> Path:
    """Run the trials that aren't on disk yet, write all outcomes, and return the path of the HTML page."""
    planned = [trial for experiment in experiments for trial in experiment.trials(setup)]
    trials = Trials(setup, folder / "trials")
    announce = on_progress or ignore_progress
    results = Results(setup, trials.measure(planned, lambda done, total: announce("trials", done, total)))
    # (1, 1) says that a stage is finished.
    announce("trials", 1, 1)
    outcomes = [experiment.present(setup, results) for experiment in experiments]
    return publish(Edition(setup, outcomes, command, date.today()), folder, figures=figures)
