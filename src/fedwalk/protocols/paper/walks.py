"""How many hops a walk takes on average (Theorem 2, corrected)."""

import numpy as np


def expected_hops(length: int, predict: float, burst: int = 2, min_remaining: int = 3) -> float:
    """Expected hops of one walk of `length` entries, if every triggered visit can fill its burst.

    A visit with r entries to go writes one, or min(burst, r) with probability `predict` if
    r ≥ `min_remaining`, and sends the walk on unless it is complete. For burst 2 and min_remaining 3, the paper's
    case, this is E_l = (l−1)/(1+p) + p(1−(−p)^{l−1})/(1+p)²; the closed form printed in the paper differs
    (docs/fidelity.md).

    Parameters
    ----------
    length
        l, entries per walk.
    predict
        p, the probability that a visit triggers its predictor.
    burst
        B, the number of entries that a triggered visit writes.
    min_remaining
        Smallest number of remaining entries at which a visit may trigger: 3 for `tree` and `degree`, 2 for `triad`.

    Examples
    --------
    >>> [round(expected_hops(40, p), 3) for p in (0, 0.1, 0.2, 0.3, 0.4)]
    [39.0, 35.537, 32.639, 30.178, 28.061]
    >>> expected_hops(40, 1.0, burst=4, min_remaining=2)
    9.0
    """
    # after[r]: expected hops of a walk that still needs r entries. The last visit sends no token.
    after = np.zeros(length + 1)
    for r in range(2, length + 1):
        plain = 1.0 + after[r - 1]
        together = min(burst, r)
        jump = 1.0 + after[r - together] if r > together else 0.0
        after[r] = predict * jump + (1.0 - predict) * plain if r >= min_remaining else plain
    return float(after[length])


def printed_theorem_2(length: int, predict: float) -> float:
    """The closed form as the paper prints it, kept to show that runs don't follow it."""
    p = predict
    return (length - 2) / (1 + p) + (2 - 2 * p - 1 / (1 + p)) * (1 - (-p) ** (length - 2)) / (1 + p)
