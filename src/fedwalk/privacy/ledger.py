"""The ledger: every release, what it may cost, and what all of them cost together. It claims no more than is proved.

A release is written down before it is made. One that would exceed the budget is refused, and nothing is sent. A release
that was made before and is only repeated (the memoised answer to the same question) costs nothing again.

Costs add up (basic composition, PROOFS.md, 3), whatever the order and whoever asks. A single release without a bound
makes the total unbounded.
"""

import math
from dataclasses import dataclass, field
from typing import Any

from fedwalk.errors import BudgetError, RunFolderError
from fedwalk.privacy.mechanisms import Mechanism

UNBOUNDED = "unbounded"
SLACK = 1e-9
"""What sums of floats may be off before a budget counts as exceeded."""


@dataclass(frozen=True, slots=True)
class Release:
    """Something about neighbour lists that leaves devices.

    Parameters
    ----------
    what, by
        What is released and by whom.
    times
        How often one device makes it in a run.
    unit
        What the ε of one release protects.
    epsilon
        The ε of one release; infinite where nothing is proved.
    ends
        In how many devices' releases one edge stands: 1 if a pair has an owner, 2 if both ends speak of it.
    why
        How it composes, or why there is no bound.
    nominal
        Whether ε only names the noise, because nothing is proved of how it is drawn.
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
        # A cost that is negative or no number would let everything after it pass the budget.
        if not (self.epsilon >= 0 and self.times >= 1 and self.ends in (1, 2)):
            raise ValueError(f"no release costs {self.epsilon:g}, {self.times} times at {self.ends} ends")

    @classmethod
    def of(
        cls, mechanism: Mechanism, what: str, why: str, *, by: str = "each device", times: int = 1, ends: int = 1
    ) -> "Release":
        """The release of a mechanism, which knows its unit and its cost."""
        return cls(what, by, times, mechanism.unit, mechanism.cost(), ends, why, mechanism.nominal)

    @property
    def per_device(self) -> float:
        """ε for one neighbour in one device's list, all times together."""
        return self.epsilon * self.times

    @property
    def per_edge(self) -> float:
        """ε for one edge of the graph, all times and both ends together."""
        return self.per_device * self.ends

    def as_dict(self) -> dict[str, Any]:
        """For JSON, with the word instead of an infinity."""
        return {
            "what": self.what, "by": self.by, "times": self.times, "unit": self.unit,
            "epsilon": spoken(self.epsilon), "ends": self.ends,
            "per_device": spoken(self.per_device), "per_edge": spoken(self.per_edge), "why": self.why,
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
    """Releases under the names they were asked for, and the most that they may cost per edge.

    >>> from fedwalk.privacy.mechanisms import RandomisedResponse
    >>> ledger = Ledger(budget=6)
    >>> answer = Release.of(RandomisedResponse.of(4.0), "list", "one report per pair")
    >>> ledger.spend("first question", answer), ledger.spend("first question", answer)
    (True, False)
    >>> ledger.spend("second question", answer)
    Traceback (most recent call last):
    fedwalk.errors.BudgetError: list: costs 4 per edge, and 4 of the budget of 6 are spent. ...
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
        """ε for one neighbour in one device's list, of everything released so far."""
        return sum(release.per_device for release in self.releases.values())

    def spend(self, name: str, release: Release) -> bool:
        """Enter a release; False if it was made before under this name, so that repeating it is free."""
        if name in self.releases:
            return False
        if self.budget is not None and self.per_edge + release.per_edge > self.budget + SLACK:
            raise BudgetError(_refusal(release, self.per_edge, self.budget))
        self.releases[name] = release
        return True

    def as_dict(self) -> dict[str, Any]:
        """For JSON: budget, totals, releases by name."""
        return {
            "budget": self.budget,
            "per_edge": spoken(self.per_edge),
            "per_device": spoken(self.per_device),
            "releases": {name: release.as_dict() for name, release in self.releases.items()},
        }

    @classmethod
    def from_dict(cls, content: Any, origin: str, budget: float | None = None) -> "Ledger":
        """The ledger that `as_dict` described, under a budget of now."""
        try:
            releases = {str(name): Release.from_dict(entry) for name, entry in content["releases"].items()}
        except (AttributeError, KeyError, OverflowError, TypeError, ValueError) as error:
            raise RunFolderError(
                f"{origin}: isn't a ledger that fedwalk wrote ({error!r}). Name another file; never start afresh on "
                "devices that have released something, or their costs are forgotten."
            ) from error
        return cls(budget, releases)


def spoken(epsilon: float) -> float | str:
    """A number, or the word for none."""
    return UNBOUNDED if math.isinf(epsilon) else epsilon


def _of(entry: dict[str, Any], name: str, types: tuple[type, ...]) -> Any:
    """A value that is of one of these types exactly: True is no number."""
    if type(entry[name]) not in types:
        raise TypeError(f"{name} = {str(entry[name])[:40]!r}")
    return entry[name]


def _refusal(release: Release, spent: float, budget: float) -> str:
    if math.isinf(release.per_edge):
        return (
            f"{release.what}: its cost is unbounded ({release.why}), so no budget allows it; this one is {budget:g}. "
            "Use protocol ldp, or leave the budget out."
        )
    if math.isinf(spent):
        return (
            f"{release.what}: these devices have made a release without a bound before, so that no budget holds any "
            f"more, nor this one of {budget:g}. Use other devices, or leave the budget out."
        )
    return (
        f"{release.what}: costs {release.per_edge:g} per edge, and {spent:g} of the budget of {budget:g} are spent. "
        "Nothing was sent. Use a smaller epsilon, or a larger budget if the devices' owners agree."
    )
