"""What a sweep runs, how it scores, and the checks before its first trial."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from fedwalk.errors import InputError, SettingsError
from fedwalk.experiments.settings_sweep.grid import Combination, Varied, naming
from fedwalk.experiments.settings_sweep.results import COSTS, Measure, label_measures, link_measures
from fedwalk.experiments.setup import Setup
from fedwalk.experiments.trials import Trial
from fedwalk.graph import Graph
from fedwalk.privacy.ledger import Ledger
from fedwalk.protocols.registry import find_protocol
from fedwalk.run.execute import check_graph, participants
from fedwalk.settings import Settings
from fedwalk.util.text import counted

SCORES = ("labels", "links", "none")
RECORD = "sweep.json"
PAGE = "index.html"


@dataclass(frozen=True, slots=True)
class Sweep:
    """What a sweep runs and how it scores: by labels at the setup's T_R, by held-out edges, or not at all."""

    setup: Setup
    varied: Sequence[Varied]
    combinations: Sequence[Combination]
    first_seed: int = 0
    score: str = "labels"
    held_out: float = 0.2

    @property
    def seeds(self) -> range:
        """The seeds that every combination runs with."""
        return range(self.first_seed, self.first_seed + self.setup.seeds)

    @property
    def measures(self) -> list[Measure]:
        """The scores and costs of every trial."""
        scores = {"labels": label_measures(self.setup.ratios), "links": link_measures(), "none": []}
        return [*scores[self.score], *COSTS]

    def trial(self, combination: Combination, seed: int) -> Trial:
        """A combination with one of the seeds."""
        settings = replace(combination.settings, seed=seed)
        if self.score == "links":
            return Trial(settings, held_out=self.held_out)
        return Trial(settings, tuple(sorted(self.setup.ratios)) if self.score == "labels" else ())

    def trials(self) -> list[Trial]:
        """All trials, combination by combination."""
        return [self.trial(combination, seed) for combination in self.combinations for seed in self.seeds]

    @property
    def note(self) -> str:
        """How the trials were scored, in words."""
        if self.score == "labels":
            ratios = ", ".join(f"{ratio:g}" for ratio in sorted(self.setup.ratios))
            splits = counted(self.setup.splits, "split", "splits")
            return f"F1 in % at T_R = {ratios}, over {splits}, by the rule {self.setup.rule}."
        if self.score == "links":
            return (
                f"{self.held_out:.0%} of the edges held out, chance gives 0.5. All numbers are those of the graph "
                "without these edges."
            )
        return "Nothing was scored."


def default_score(graph: Graph) -> str:
    """Score by labels if the graph has some, else by held-out edges."""
    return "labels" if graph.labels is not None else "links"


def check(sweep: Sweep, folder: Path) -> None:
    """Raise an error for anything that would fail later, before any trial runs."""
    graph, setup = sweep.setup.graph, sweep.setup
    check_folder(folder)
    check_graph(graph)
    if sweep.score == "labels":
        check_labels(graph)
        if not setup.ratios or not all(0 < ratio < 1 for ratio in setup.ratios):
            raise SettingsError(f"train-ratio = {setup.ratios}: each must lie between 0 and 1, e.g. 0.1,0.5,0.9.")
    if sweep.score == "links" and not 0 < sweep.held_out < 1:
        raise SettingsError(f"held-out = {sweep.held_out:g}: must lie between 0 and 1.")
    for combination in sweep.combinations:
        with naming(combination.values):
            # The last seed is the one that may be too large.
            proved_epsilon(graph, replace(combination.settings, seed=sweep.seeds[-1]))


def check_labels(graph: Graph) -> None:
    """Raise InputError for a graph that can't be scored by labels."""
    if graph.labels is None or np.count_nonzero(graph.labels.per_vertex) < 2:
        raise InputError(
            "fewer than two vertices have a label, so labels can't be scored. Name a file with lines of `vertex label "
            "label …` with --labels, or use --score links or --score none."
        )


def check_folder(folder: Path) -> None:
    """Raise InputError for a folder whose files a sweep would replace without having written them."""
    if folder.exists() and not folder.is_dir():
        raise InputError(f"{folder}: is a file. Name a folder for the results.")
    if (folder / PAGE).exists() and not (folder / RECORD).exists():
        raise InputError(f"{folder}: holds an {PAGE} that no sweep has written. Name another folder.")


def proved_epsilon(graph: Graph, settings: Settings) -> float:
    """The ε per edge that the ledger of such a run proves, infinite if it proves none.

    SettingsError if the settings don't fit the graph, BudgetError if the run would exceed its budget.
    """
    resolved = settings.resolve(participants(graph, settings)[0].vertices)
    ledger = Ledger(resolved.budget)
    for phase, release in find_protocol(resolved.protocol).releases(resolved):
        ledger.spend(phase, release)
    # A nominal ε is only the scale of noise.
    nominal = any(release.nominal for release in ledger.releases.values())
    return math.inf if nominal else ledger.per_edge
