"""The random walks as a value, and how many hops they should take (Theorem 2, corrected)."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fedwalk.errors import InputError


@dataclass(frozen=True, slots=True, eq=False)
class Walks:
    """Finished walks, one row each, and the device-to-device messages they took, if that is known.

    Walk w started at vertex w mod n; the start is not one of its entries.
    """

    sequences: NDArray[np.int32]
    hops: int | None

    def __post_init__(self) -> None:
        if self.sequences.ndim != 2:
            raise InputError(f"walks: expected a 2-D array, one walk per row; got {self.sequences.ndim}-D.")

    @property
    def hops_per_walk(self) -> float:
        """Mean number of times that a walk was handed on; NaN if nobody counted."""
        return np.nan if self.hops is None else self.hops / max(1, len(self.sequences))


def expected_hops(length: int, predict: float, burst: int = 2, least: int = 3) -> float:
    """Expected hops of one walk of `length` entries, if every triggered visit can fill its burst.

    A visit with r entries to go writes one, or min(burst, r) with probability `predict` if r ≥ `least`, and
    hands on what remains, if anything does. For burst 2 and least 3, the paper's case, this is
    E_l = (l−1)/(1+p) + p(1−(−p)^{l−1})/(1+p)²; the closed form printed in the paper differs
    (docs/fidelity.md).

    Parameters
    ----------
    length
        l, entries per walk.
    predict
        p, the probability that a visit triggers its predictor.
    burst
        B, entries that a triggered visit writes in all.
    least
        Smallest number of remaining entries at which a visit may trigger: 3 for `tree` and `degree`, 2 for `triad`.

    Examples
    --------
    >>> [round(expected_hops(40, p), 3) for p in (0, 0.1, 0.2, 0.3, 0.4)]
    [39.0, 35.537, 32.639, 30.178, 28.061]
    >>> expected_hops(40, 1.0, burst=4, least=2)
    9.0
    """
    after = np.zeros(length + 1)
    for r in range(2, length + 1):
        plain = 1.0 + after[r - 1]
        together = min(burst, r)
        jump = 1.0 + after[r - together] if r > together else 0.0
        after[r] = predict * jump + (1.0 - predict) * plain if r >= least else plain
    return float(after[length])


def printed_theorem_2(length: int, predict: float) -> float:
    """The closed form as the paper prints it, kept to show that runs don't follow it."""
    p = predict
    return (length - 2) / (1 + p) + (2 - 2 * p - 1 / (1 + p)) * (1 - (-p) ** (length - 2)) / (1 + p)
