"""Randomised response, the one mechanism of protocol `ldp`: its release and its privacy map (PROOFS.md, 1)."""

import math
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal, localcontext

import numpy as np
from numpy.typing import NDArray

from fedwalk.errors import SettingsError
from fedwalk.kernels.ldp.randomised_response import EPOCH, UNIT_BITS, Coins, add_fakes, keep_neighbours
from fedwalk.kernels.random import FAKES, KEEP
from fedwalk.privacy.ledger import Release
from fedwalk.privacy.mechanisms import EDGE
from fedwalk.privacy.randomness import Randomness
from fedwalk.protocols.ldp.messages import ReportPlan

MIN_EPSILON = 1e-9
"""For smaller values, one step of the mechanism's integers changes probabilities by more than e^ε."""
MAX_EPSILON = 30.0
"""Above this, a false report is rarer than one in 10¹³ pairs, and the mechanism's integers overflow."""


@dataclass(frozen=True, slots=True)
class RandomisedResponse:
    """ε-randomised response on "is this owned pair an edge?" (PROOFS.md, 1).

    An edge is reported with probability `keep` / 2⁶⁴, a pair without an edge with q = 1 − e^(−rate / 2⁶²). Both are
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
        """The mechanism for an ε. Its integers are computed with 60 decimal digits and rounded towards more privacy."""
        if not MIN_EPSILON <= epsilon <= MAX_EPSILON:
            raise SettingsError(
                f"epsilon = {epsilon:g}: protocol ldp takes an epsilon from {MIN_EPSILON:g} to {MAX_EPSILON:g}."
            )
        with localcontext(Context(prec=60)):
            ratio, unit = Decimal(epsilon).exp(), Decimal(2**UNIT_BITS)
            rate = int(((1 + 1 / ratio).ln() * unit).to_integral_value(ROUND_CEILING))
            silent = (-rate / unit).exp()
            # Both ratios of PROOFS.md, 1 must hold; the factor covers the rounding errors of the 60 digits.
            largest = min(ratio * (1 - silent), 1 - silent / ratio) * (1 - Decimal(10) ** -50)
            keep = int((largest * 2**64).to_integral_value(ROUND_FLOOR))
        return cls(epsilon, min(keep, 2**64 - 1), rate)

    @property
    def unit(self) -> str:
        """Each pair is reported by one of its ends, so the unit is an edge of the whole graph."""
        return EDGE

    @property
    def nominal(self) -> bool:
        """Not nominal: ε is proved for the integers that are drawn."""
        return False

    @property
    def flip(self) -> float:
        """q, the probability that a pair without an edge is reported."""
        return -math.expm1(-self.rate / 2**UNIT_BITS)

    @property
    def hit(self) -> float:
        """The probability that an edge is reported."""
        return self.keep / 2**64

    def cost(self, changes: int = 1) -> float:
        """ε for each changed edge."""
        return self.epsilon * changes

    def release(
        self, device: int, neighbours: NDArray[np.int32], plan: ReportPlan, randomness: Randomness
    ) -> NDArray[np.int32]:
        """The ids of the device's own pairs that it reports; `neighbours` ascend.

        The coins of neighbours and the gaps between false reports come from separate random streams: with one for both,
        the output would change with certainty when the edge does.
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
            # Rarely, the gaps need more words than expected: draw as many again, and repeat with all of them.
            further = randomness.words(FAKES, device, np.arange(words.size, 2 * words.size) + later)
            words = np.concatenate([words, further])

    def coins(self, vertices: int) -> Coins:
        """The integers in the kernels' types, and how many random words usually suffice for this many vertices."""
        return Coins(np.uint64(self.keep), np.uint64(self.rate), 64 + int(16 * self.flip * vertices))


def report_release(mechanism: RandomisedResponse) -> Release:
    """The ledger's entry for a device's report."""
    why = (
        "each pair is reported by its owner alone, as one bit; walks and training only read the reports, so nothing is "
        "added however many there are"
    )
    return Release.of(mechanism, "report of owned pairs", why)
