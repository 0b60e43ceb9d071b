"""The results of a sweep: one row per trial, one row per combination, as numbers and as text."""

import math
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from fedwalk.experiments.outcome import Table
from fedwalk.experiments.settings_sweep.grid import Combination, Varied, value_text
from fedwalk.experiments.trials import LINK_METHODS, Measured
from fedwalk.privacy.ledger import or_unbounded
from fedwalk.protocols.registry import find_protocol
from fedwalk.util.text import bytes_text, count_text, epsilon_text, seconds_text

MISSING = "–"
PROVED = "proved_epsilon"
"""The column of the ε per edge that the ledger proves. A setting of our protocols is called `epsilon`."""


@dataclass(frozen=True, slots=True)
class Measure:
    """A number that every trial has: its column in CSV files, and for people its titles, format and scale."""

    name: str
    title: str
    short: str
    format: Callable[[float], str]
    scale: float = 1.0

    def text(self, value: float) -> str:
        """The number as people read it."""
        return self.format(self.scale * value)


@dataclass(frozen=True, slots=True)
class Row:
    """The numbers of one trial, by measure; None if the protocol has no such number."""

    combination: Combination
    seed: int
    proved_epsilon: float
    numbers: dict[str, float | None]


@dataclass(frozen=True, slots=True)
class Summary:
    """A number of one combination over the seeds: the mean, and the deviation if there are at least two seeds."""

    mean: float | None
    deviation: float | None

    @classmethod
    def of(cls, values: Sequence[float | None]) -> "Summary":
        """The mean and the sample standard deviation (with N − 1).

        >>> Summary.of([1.0, 3.0]), Summary.of([1.0])
        (Summary(mean=2.0, deviation=1.4142135623730951), Summary(mean=1.0, deviation=None))
        """
        known = [value for value in values if value is not None]
        if not known:
            return cls(None, None)
        return cls(statistics.fmean(known), statistics.stdev(known) if len(known) > 1 else None)

    def text(self, measure: Measure) -> str:
        """Mean ± standard deviation, as far as they exist."""
        if self.mean is None:
            return MISSING
        mean = measure.text(self.mean)
        return mean if self.deviation is None else f"{mean} ± {measure.text(self.deviation)}"


COSTS = (
    Measure("hops_per_walk", "hops per walk", "hops", "{:.2f}".format),
    Measure("messages", "messages", "messages", count_text),
    Measure("bytes", "bytes", "bytes", bytes_text),
    Measure("seconds", "time", "time", seconds_text),
)


def label_measures(ratios: Sequence[float]) -> list[Measure]:
    """Micro- and macro-F1 in %, the largest training ratio first."""
    return [
        Measure(
            f"{name}@{ratio:g}", f"{short} in %{f' at T_R = {ratio:g}' if len(ratios) > 1 else ''}", short,
            "{:.2f}".format, 100,
        )
        for ratio in sorted(ratios, reverse=True)
        for name, short in (("micro_f1", "micro-F1"), ("macro_f1", "macro-F1"))
    ]  # fmt: skip


def link_measures() -> list[Measure]:
    """AUC and average precision by the methods that trials use."""
    return [
        Measure(f"{name}@{method}", f"{title}, {method}", short, "{:.4f}".format)
        for method in LINK_METHODS
        for name, title, short in (("auc", "AUC", "AUC"), ("average_precision", "average precision", "avg precision"))
    ]


def numbers_of(measured: Measured, combination: Combination, measures: Sequence[Measure]) -> dict[str, float | None]:
    """The numbers of a trial by measure."""
    # As in run.json: the number of hops is meaningless if walks aren't sent between devices.
    sent = find_protocol(combination.settings.protocol).expected_hops is not None
    costs = {
        "hops_per_walk": measured.hops_per_walk if sent and math.isfinite(measured.hops_per_walk) else None,
        "messages": measured.messages,
        "bytes": measured.bytes,
        "seconds": measured.seconds,
    }
    known = {**measured.scores, **costs}
    return {measure.name: known[measure.name] for measure in measures}


@dataclass(frozen=True, slots=True)
class SweepResults:
    """All rows of a sweep, combination by combination, with what was varied and measured."""

    varied: Sequence[Varied]
    measures: Sequence[Measure]
    rows: Sequence[Row]

    def combinations(self) -> list[list[Row]]:
        """The rows of each combination, seed by seed."""
        grouped: dict[tuple[Any, ...], list[Row]] = {}
        for row in self.rows:
            grouped.setdefault(tuple(row.combination.values.values()), []).append(row)
        return list(grouped.values())

    def csv_rows(self) -> tuple[list[str], list[list[str]]]:
        """Header and rows of results.csv: one row per trial, numbers in full."""
        names = [measure.name for measure in self.measures]
        header = [*self._names(), "seed", *names, PROVED]
        rows = [
            [*values_of(row), str(row.seed), *(_full(row.numbers[name]) for name in names), _epsilon(row)]
            for row in self.rows
        ]
        return header, rows

    def csv_summary(self) -> tuple[list[str], list[list[str]]]:
        """Header and rows of summary.csv: one row per combination; a deviation is empty if there is only one seed."""
        names = [measure.name for measure in self.measures]
        header = [*self._names(), "seeds", *(f"{name}_{part}" for name in names for part in ("mean", "std")), PROVED]
        rows = []
        for group in self.combinations():
            summaries = [summarise(group, name) for name in names]
            cells = [_full(number) for one in summaries for number in (one.mean, one.deviation)]
            rows.append([*values_of(group[0]), str(len(group)), *cells, _epsilon(group[0])])
        return header, rows

    def summary_table(self) -> Table:
        """One row per combination for people."""
        header = [*self._names(), *(measure.title for measure in self.measures), "proved ε per edge"]
        rows = [
            [
                *values_of(group[0]),
                *(summarise(group, measure.name).text(measure) for measure in self.measures),
                epsilon_text(or_unbounded(group[0].proved_epsilon)),
            ]
            for group in self.combinations()
        ]
        return Table("summary", "Every combination", header, rows)

    def trials_table(self) -> Table:
        """One row per trial for people."""
        header = [*self._names(), "seed", *(measure.title for measure in self.measures)]
        rows = [
            [
                *values_of(row), str(row.seed),
                *(Summary(row.numbers[measure.name], None).text(measure) for measure in self.measures),
            ]
            for row in self.rows
        ]  # fmt: skip
        return Table("results", "Every trial", header, rows)

    def _names(self) -> list[str]:
        return [one.name for one in self.varied]


def summarise(group: Sequence[Row], name: str) -> Summary:
    """One number of a combination over its seeds."""
    return Summary.of([row.numbers[name] for row in group])


def values_of(row: Row) -> list[str]:
    """The values of the varied settings."""
    return [value_text(value) for value in row.combination.values.values()]


def _full(value: float | None) -> str:
    """A number as it can be read back exactly; empty if there is none."""
    return "" if value is None else value_text(value)


def _epsilon(row: Row) -> str:
    bound = or_unbounded(row.proved_epsilon)
    return bound if isinstance(bound, str) else value_text(bound)
