"""Mechanisms: each is one object with its release and its privacy map, the most that it can cost (PROOFS.md).

A map's unit is said by the mechanism: one edge of the whole graph, or one neighbour in one device's list.
"""

import math
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal, localcontext
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray

from fedwalk.errors import SettingsError
from fedwalk.kernels.lists import EPOCH, UNIT_BITS, Coins, add_fakes, keep_neighbours
from fedwalk.kernels.random import FAKES, KEEP, NOISE, laplace
from fedwalk.protocol.randomness import Randomness
from fedwalk.settings import LEAST_EPSILON, MOST_LDP_EPSILON

if TYPE_CHECKING:
    from fedwalk.protocol.messages import ListPlan

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

    def release(
        self, device: int, neighbours: NDArray[np.int32], plan: "ListPlan", randomness: Randomness
    ) -> NDArray[np.int32]:
        """The ids of the device's own pairs that it reports; `neighbours` ascend.

        A neighbour's coin and the strangers' gaps come from separate streams: one stream for both would flip the
        output for certain when the edge changes.
        """
        coins, key, later = self.coins(plan.vertices), np.uint64(plan.key), plan.epoch * EPOCH
        tossed = randomness.words(KEEP, device, neighbours.astype(np.int64) + later)
        words = randomness.words(FAKES, device, np.arange(coins.words) + later)
        while True:
            out = np.empty(neighbours.size + words.size // 2, np.int32)
            kept = keep_neighbours(tossed, coins.keep, key, device, neighbours, out)
            fakes, at = add_fakes(words, coins.rate, key, plan.vertices, device, neighbours, out[kept:])
            if at <= words.size:
                return np.sort(out[: kept + fakes])
            further = randomness.words(FAKES, device, np.arange(words.size, 2 * words.size) + later)
            words = np.concatenate([words, further])

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

    @property
    def scale(self) -> float:
        """Of the Laplace distribution."""
        return 1.0 / self.epsilon

    def release(self, device: int, counts: NDArray[np.int64], randomness: Randomness) -> NDArray[np.float32]:
        """The counts with noise, as 32-bit numbers."""
        noise = [laplace(randomness.bits(NOISE, device, i), self.scale) for i in range(counts.size)]
        return np.asarray(counts + np.array(noise), np.float32)

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
