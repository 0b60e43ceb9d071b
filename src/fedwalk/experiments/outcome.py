"""The outcome of an experiment: tables, charts and claims, as plain values that any page or file can show."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from fedwalk.experiments.setup import Setup
from fedwalk.experiments.trials import Measured, Trial
from fedwalk.protocols.registry import find_protocol
from fedwalk.settings import Settings
from fedwalk.util.text import mean_text

MIN_TOLERANCE = 1.0
"""In percentage points. The paper reports no spread; between seeds, scores vary by about this much."""

CLOSE_SHARE = 0.25
"""A change that isn't reproduced is still close if it differs by at most this share of the paper's number."""
REPRODUCED, CLOSE, DIFFERS, UNTESTED = VERDICTS = ("reproduced", "close", "differs", "can't be tested")


@dataclass(frozen=True, slots=True)
class Table:
    """A small table, also written as CSV."""

    name: str
    title: str
    header: list[str]
    rows: list[list[str]]


@dataclass(frozen=True, slots=True)
class Series:
    """One line of a chart, with a standard deviation at each point; None if there is a single seed."""

    label: str
    x: list[float]
    y: list[float]
    spread: Sequence[float | None]


@dataclass(frozen=True, slots=True)
class Chart:
    """A chart; `levels` are horizontal reference lines, by name.

    With `x_names`, the x axis has these names at 0, 1, … in place of numbers, and points aren't joined by lines.
    """

    name: str
    title: str
    x_label: str
    y_label: str
    series: list[Series]
    levels: dict[str, float] = field(default_factory=dict)
    x_log: bool = False
    x_names: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Claim:
    """A number of the paper compared with ours; `verdict` is one of VERDICTS."""

    where: str
    what: str
    paper: str
    ours: str
    verdict: str
    why: str


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of one experiment."""

    key: str
    title: str
    text: str
    tables: list[Table]
    charts: list[Chart]
    claims: list[Claim]


@dataclass(frozen=True, slots=True)
class Experiment:
    """A figure or table: the trials it needs, and how it presents their results."""

    key: str
    trials: Callable[[Setup], list[Trial]]
    present: Callable[[Setup, "Results"], Outcome]


class Results:
    """Results of a setup's trials, looked up by settings: values per seed, means and standard deviations.

    A `change` holds the settings that differ from the setup's usual ones.
    """

    def __init__(self, setup: Setup, measured: Mapping[tuple[Settings, float], Measured]) -> None:
        self._setup, self._measured = setup, measured

    def each(self, change: Mapping[str, Any], held_out: float = 0.0) -> list[Measured]:
        """The trials with these settings, seed by seed."""
        return [self._measured[settings, held_out] for settings in for_seeds(self._setup, change)]

    def scores(self, change: Mapping[str, Any], score: str, held_out: float = 0.0) -> list[float]:
        """One score, e.g. "micro_f1@0.6", seed by seed."""
        return [trial.scores[score] for trial in self.each(change, held_out)]

    def mean(self, change: Mapping[str, Any], score: str) -> tuple[float, float | None]:
        """Mean and standard deviation of a score over the seeds."""
        values = self.scores(change, score)
        return float(np.mean(values)), deviation(values)

    def hops(self, change: Mapping[str, Any]) -> float:
        """Hops per walk, mean over the seeds."""
        return float(np.mean([trial.hops_per_walk for trial in self.each(change)]))

    def change(self, before: Mapping[str, Any], after: Mapping[str, Any], score: str) -> list[float]:
        """By how many percent a score rises from one setting to the other, seed by seed."""
        pairs = zip(self.scores(before, score), self.scores(after, score), strict=True)
        return [100 * (b / a - 1) if a else 0.0 for a, b in pairs]


def for_seeds(setup: Setup, change: Mapping[str, Any]) -> list[Settings]:
    """The changed settings with every seed; by default γ is the setup's largest and k is ⌊ln n⌋."""
    usual: dict[str, Any] = {"num_walks": setup.walks[-1], **change}
    if "num_bins" in find_protocol(usual.get("protocol", Settings().protocol)).reads:
        usual.setdefault("num_bins", setup.usual_bins)
    return [Settings.from_mapping({**usual, "seed": seed}) for seed in range(setup.seeds)]


def trials_of(setup: Setup, changes: Sequence[Mapping[str, Any]], ratios: tuple[float, ...]) -> list[Trial]:
    """A trial for each change and seed."""
    return [Trial(settings, ratios) for change in changes for settings in for_seeds(setup, change)]


def deviation(values: Sequence[float]) -> float | None:
    """The standard deviation; None for a single value, which has none."""
    return float(np.std(values)) if len(values) > 1 else None


def spread(values: Sequence[float], digits: int = 2) -> str:
    """Mean ± standard deviation; a single value stands alone."""
    return mean_text(float(np.mean(values)), deviation(values), digits)


def percent(values: Sequence[float]) -> str:
    """Mean ± standard deviation of changes in percent, with a sign.

    >>> percent([1.0, 3.0]), percent([1.0])
    ('+2.00 ± 1.00 %', '+1.00 %')
    """
    std = deviation(values)
    return f"{np.mean(values):+.2f}{'' if std is None else f' ± {std:.2f}'} %"


def over_seeds(setup: Setup) -> str:
    """What the numbers after ± are, for the text above a table."""
    return f"± the standard deviation over {setup.seeds} seeds" if setup.seeds > 1 else "from one seed"


def compare(where: str, what: str, paper: float, ours: Sequence[float], why: str) -> Claim:
    """Compare a change in percent with the paper's.

    It counts as reproduced within two standard deviations over our seeds, or within MIN_TOLERANCE if that is more.
    Beyond that it is close within the share CLOSE_SHARE of the paper's number.

    >>> [compare("Fig. 8", "micro-F1", paper, [7.8, 8.2, 8.0], "").verdict for paper in (8.9, 10.0, 11.0)]
    ['reproduced', 'close', 'differs']
    """
    difference = abs(float(np.mean(ours)) - paper)
    if difference <= max(MIN_TOLERANCE, 2 * (deviation(ours) or 0.0)):
        verdict = REPRODUCED
    else:
        verdict = CLOSE if difference <= CLOSE_SHARE * abs(paper) else DIFFERS
    return Claim(where, what, f"{paper:+.2f} %", percent(ours), verdict, why)


def untested(where: str, what: str, paper: str) -> Claim:
    """A claim about a dataset that isn't part of this run."""
    return Claim(where, what, paper, "–", UNTESTED, "The dataset isn't part of this run.")
