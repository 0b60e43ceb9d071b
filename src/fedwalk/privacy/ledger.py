"""The ledger: every release, its cost, and the total. It claims no more than is proved.

A release is entered before it is made. One that would exceed the budget is refused, and nothing is sent. Repeating an
earlier release (the stored answer to the same question) costs nothing.

Costs add up (basic composition, protocols/ldp/PROOFS.md, 3), in any order and for all recipients together. A single
release without a bound makes the total unbounded.
"""

import math
from dataclasses import dataclass, field
from typing import Any

from fedwalk.errors import BudgetError, RunFolderError
from fedwalk.privacy.mechanisms import Mechanism
from fedwalk.util.html import html_table
from fedwalk.util.text import counted

UNBOUNDED = "unbounded"
SLACK = 1e-9
"""Tolerance for rounding errors of sums that are compared with a budget."""


@dataclass(frozen=True, slots=True)
class Release:
    """Information about neighbour lists that devices send.

    Parameters
    ----------
    what, by
        What is released, and by which party.
    times
        How often one device makes it in a run.
    unit
        What the ε of one release protects.
    epsilon
        The ε of one release; infinite where nothing is proved.
    ends
        How many devices' releases depend on one edge: 1 if only the owner of a pair reports it, 2 if both ends do.
    why
        How its costs add up, or why it has no bound.
    nominal
        Whether ε is only the scale of the noise, because nothing is proved about how the noise is drawn.
    """

    what: str
    by: str
    times: int
    unit: str
    epsilon: float
    ends: int
    why: str
    nominal: bool = False

    def __post_init__(self) -> None:
        # A negative cost, or NaN, would let later releases exceed the budget.
        if not (self.epsilon >= 0 and self.times >= 1 and self.ends in (1, 2)):
            raise ValueError(f"impossible release: epsilon={self.epsilon:g}, times={self.times}, ends={self.ends}")

    @classmethod
    def of(
        cls, mechanism: Mechanism, what: str, why: str, *, by: str = "each device", times: int = 1, ends: int = 1
    ) -> "Release":
        """The release of a mechanism, with the mechanism's unit and cost."""
        return cls(what, by, times, mechanism.unit, mechanism.cost(), ends, why, mechanism.nominal)

    @property
    def per_device(self) -> float:
        """ε for one neighbour in one device's neighbour list, over all repetitions."""
        return self.epsilon * self.times

    @property
    def per_edge(self) -> float:
        """ε for one edge of the graph, over all repetitions and both ends."""
        return self.per_device * self.ends

    def as_dict(self) -> dict[str, Any]:
        """For JSON, with "unbounded" for an infinite ε."""
        return {
            "what": self.what, "by": self.by, "times": self.times, "unit": self.unit,
            "epsilon": or_unbounded(self.epsilon), "ends": self.ends,
            "per_device": or_unbounded(self.per_device), "per_edge": or_unbounded(self.per_edge), "why": self.why,
            "nominal": self.nominal,
        }  # fmt: skip

    @classmethod
    def from_dict(cls, entry: dict[str, Any]) -> "Release":
        """The release that `as_dict` described; TypeError if a value isn't of its type."""
        epsilon = math.inf if entry["epsilon"] == UNBOUNDED else float(_of(entry, "epsilon", (int, float)))
        what, by, unit, why = (_of(entry, name, (str,)) for name in ("what", "by", "unit", "why"))
        times, ends = (_of(entry, name, (int,)) for name in ("times", "ends"))
        nominal = _of({"nominal": False, **entry}, "nominal", (bool,))
        return cls(what, by, times, unit, epsilon, ends, why, nominal)


@dataclass(slots=True)
class Ledger:
    """Releases by name, and the largest total cost per edge that they may have.

    >>> from fedwalk.privacy.mechanisms import NoisedCounts
    >>> ledger = Ledger(budget=6)
    >>> counts = Release.of(NoisedCounts(4.0), "noised counts", "one neighbour changes one count by 1")
    >>> ledger.spend("first question", counts), ledger.spend("first question", counts)
    (True, False)
    >>> ledger.spend("second question", counts)
    Traceback (most recent call last):
    fedwalk.errors.BudgetError: noised counts: costs 4 per edge, and 4 of the budget of 6 are spent. ...
    >>> ledger.per_edge
    4.0
    """

    budget: float | None = None
    releases: dict[str, Release] = field(default_factory=dict)

    @property
    def per_edge(self) -> float:
        """ε for one edge, of everything released so far."""
        return sum(release.per_edge for release in self.releases.values())

    @property
    def per_device(self) -> float:
        """ε for one neighbour in one device's neighbour list, of everything released so far."""
        return sum(release.per_device for release in self.releases.values())

    def __repr__(self) -> str:
        cost = or_unbounded(self.per_edge)
        budget = "" if self.budget is None else f", budget {self.budget:g}"
        total = cost if isinstance(cost, str) else f"{cost:g}"
        return f"Ledger({counted(len(self.releases), 'release', 'releases')}, ε per edge: {total}{budget})"

    def _repr_html_(self) -> str:
        rows = [
            [release.what, release.by, release.times, or_unbounded(release.per_edge), release.why]
            for release in self.releases.values()
        ]
        return html_table(repr(self), ["released", "by", "times", "ε per edge", "why"], rows)

    def spend(self, name: str, release: Release) -> bool:
        """Enter a release; False if the name is already there, because repeating a release is free."""
        if name in self.releases:
            return False
        # An infinite cost, of this release or of an earlier one, exceeds every budget.
        if self.budget is not None and self.per_edge + release.per_edge > self.budget + SLACK:
            raise BudgetError(_refusal(release, self.per_edge, self.budget))
        self.releases[name] = release
        return True

    def as_dict(self) -> dict[str, Any]:
        """For JSON: budget, totals, releases by name."""
        return {
            "budget": self.budget,
            "per_edge": or_unbounded(self.per_edge),
            "per_device": or_unbounded(self.per_device),
            "releases": {name: release.as_dict() for name, release in self.releases.items()},
        }

    @classmethod
    def from_dict(cls, content: Any, origin: str, budget: float | None = None) -> "Ledger":
        """The ledger that `as_dict` described, with this budget in place of its own."""
        try:
            releases = {str(name): Release.from_dict(entry) for name, entry in content["releases"].items()}
        # A damaged file can have other types, missing fields, or integers too large for a float.
        except (AttributeError, KeyError, OverflowError, TypeError, ValueError) as error:
            raise RunFolderError(
                f"{origin}: isn't a ledger that fedwalk wrote ({error!r}). Restore it. Don't start a "
                "new ledger for devices that have released something: what they have spent would be lost."
            ) from error
        # The totals in the file are ignored: they follow from the releases.
        return cls(budget, releases)


def or_unbounded(epsilon: float) -> float | str:
    """ε as JSON and tables have it: a number, or "unbounded" for infinity, which JSON lacks."""
    return UNBOUNDED if math.isinf(epsilon) else epsilon


def _of(entry: dict[str, Any], name: str, types: tuple[type, ...]) -> Any:
    """A value of exactly one of these types: for `isinstance`, True would be a number."""
    if type(entry[name]) not in types:
        raise TypeError(f"{name} = {str(entry[name])[:40]!r}")
    return entry[name]


def _refusal(release: Release, spent: float, budget: float) -> str:
    if math.isinf(release.per_edge):
        return (
            f"{release.what}: its cost is unbounded ({release.why}), so no budget allows it; this one is {budget:g}. "
            "Use a protocol whose releases have a bound, or leave the budget out."
        )
    if math.isinf(spent):
        return (
            f"{release.what}: these devices have already made a release without a bound, so no budget can be kept, "
            f"including this one of {budget:g}. Use other devices, or leave the budget out."
        )
    return (
        f"{release.what}: costs {release.per_edge:g} per edge, and {spent:g} of the budget of {budget:g} are spent. "
        "Nothing was sent. Use a smaller epsilon, or a larger budget if the devices' owners agree."
    )
