"""Mechanisms: how noise is added to a release, and the privacy map: the most that it can cost (proofs in PROOFS.md).

A map's unit is said by the mechanism: one edge of the whole graph, or one neighbour in one device's list.
"""

import math
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal, localcontext
from typing import Protocol

import numpy as np

from fedwalk.errors import SettingsError
from fedwalk.kernels.lists import UNIT_BITS, Coins
from fedwalk.settings import LEAST_EPSILON, MOST_LDP_EPSILON

EDGE = "one edge"
LIST = "one list entry"
"""One neighbour more or less in one device's list."""


class Mechanism(Protocol):
    """What a device applies to its list before anything of it leaves."""

    @property
    def unit(self) -> str:
        """What may change: `EDGE` or `LIST`."""
        ...

    @property
    def nominal(self) -> bool:
        """Whether the cost is only the noise's name, because nothing is proved of how it is drawn."""
        ...

    def cost(self, changes: int = 1) -> float:
        """The privacy map: ε for so many changed units; infinite where nothing is proved."""
        ...


@dataclass(frozen=True, slots=True)
class RandomisedResponse:
    """ε-randomised response on "is this owned pair an edge?" (PROOFS.md, 1).

    `keep` / 2⁶⁴ is the chance that an edge is reported, q = 1 − e^(−rate / 2⁶²) that a pair without one is. Both are
    rounded so that the ratios stay within e^ε.

    >>> mechanism = RandomisedResponse.of(4.0)
    >>> round(mechanism.flip, 4), mechanism.cost(edges := 2)
    (0.018, 8.0)
    """

    epsilon: float
    keep: int
    rate: int

    @classmethod
    def of(cls, epsilon: float) -> "RandomisedResponse":
        """The mechanism for an ε, its integers rounded to the safe side in 60 decimal digits."""
        # Far below, one step of the integers is more than e^ε allows.
        if not LEAST_EPSILON <= epsilon <= MOST_LDP_EPSILON:
            raise SettingsError(
                f"epsilon = {epsilon:g}: protocol ldp takes an epsilon from {LEAST_EPSILON:g} to {MOST_LDP_EPSILON:g}."
            )
        with localcontext(Context(prec=60)):
            ratio, unit = Decimal(epsilon).exp(), Decimal(2**UNIT_BITS)
            rate = int(((1 + 1 / ratio).ln() * unit).to_integral_value(ROUND_CEILING))
            silent = (-rate / unit).exp()
            # Both ratios of PROOFS.md, 1 must hold, and a part in 10⁵⁰ covers the digits' own rounding.
            largest = min(ratio * (1 - silent), 1 - silent / ratio) * (1 - Decimal(10) ** -50)
            keep = int((largest * 2**64).to_integral_value(ROUND_FLOOR))
        return cls(epsilon, min(keep, 2**64 - 1), rate)

    @property
    def unit(self) -> str:
        """Each pair is reported by one of its ends, so the unit is an edge of the whole graph."""
        return EDGE

    @property
    def nominal(self) -> bool:
        """Proved, for the integers that are drawn."""
        return False

    @property
    def flip(self) -> float:
        """q, the chance that a pair without an edge is reported."""
        return -math.expm1(-self.rate / 2**UNIT_BITS)

    @property
    def hit(self) -> float:
        """The chance that an edge is reported."""
        return self.keep / 2**64

    def cost(self, changes: int = 1) -> float:
        """ε for each changed edge."""
        return self.epsilon * changes

    def coins(self, vertices: int) -> Coins:
        """The integers as the kernels take them, with room for the usual number of fakes among so many ids."""
        return Coins(np.uint64(self.keep), np.uint64(self.rate), 64 + int(16 * self.flip * vertices))


@dataclass(frozen=True, slots=True)
class NoisedCounts:
    """Laplace noise of scale 1/ε on a list's counts per bin, the paper's c_v (PROOFS.md, 2)."""

    epsilon: float

    @property
    def unit(self) -> str:
        """A device speaks for its own list; an edge stands in two of them."""
        return LIST

    @property
    def nominal(self) -> bool:
        """The proof is for real numbers, the noise is drawn in floating point."""
        return True

    def cost(self, changes: int = 1) -> float:
        """ε for each neighbour more or less in this list."""
        return self.epsilon * changes


@dataclass(frozen=True, slots=True)
class Unprotected:
    """A release about which nothing is proved, and why."""

    reason: str

    @property
    def unit(self) -> str:
        """Not even one edge is protected."""
        return EDGE

    @property
    def nominal(self) -> bool:
        """There is no ε to name."""
        return False

    def cost(self, changes: int = 1) -> float:
        """Unbounded."""
        return math.inf if changes else 0.0
