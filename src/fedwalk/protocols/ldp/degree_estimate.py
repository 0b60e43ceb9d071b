"""Estimate degrees from the reported pairs, by empirical Bayes. Post-processing: it costs no privacy (PROOFS.md, 4).

A vertex of degree d is in Bin(d, hit) + Bin(n − 1 − d, q) reported pairs. Expectation maximisation over a grid finds
the distribution of degrees under which all counts are most likely (Kiefer and Wolfowitz). The estimate for a vertex is
its mean degree given its count. Unlike the unbiased estimate (count − q·(n − 1)) / (hit − q), it is never negative.
"""

import numpy as np
from numpy.typing import NDArray

ROUNDS = 200
MIN_DEGREE = 0.1
"""The prior takes logarithms of degrees, so no estimate may be zero."""


def estimated_degrees(
    counts: NDArray[np.int64], hit: float, flip: float, at: NDArray[np.int64] | None = None
) -> NDArray[np.float64]:
    """E[degree | count] for each vertex, or for the counts in `at` under the distribution fitted to `counts`."""
    others = counts.size - 1
    grid, width = _grid(others, np.sqrt(flip * (1 - flip) * others))
    # Vertices with equal counts have equal estimates: the work is per distinct count.
    values, place, times = np.unique(counts, return_inverse=True, return_counts=True)
    chance = _likelihood(values, grid, width, others, hit, flip)
    prior = np.full(grid.size, 1 / grid.size)
    for _ in range(ROUNDS):
        joint = chance * prior
        # E-step: the distribution of the degree given each count. M-step: its average over the vertices.
        given = joint / joint.sum(axis=1, keepdims=True)
        prior = times @ given / counts.size
    if at is not None:
        values, place = np.unique(at, return_inverse=True)
        given = _likelihood(values, grid, width, others, hit, flip) * prior
        given /= given.sum(axis=1, keepdims=True)
    return np.asarray(np.maximum(given @ grid, MIN_DEGREE)[place])


def _grid(max_degree: int, noise: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Degrees from 0 to `max_degree`, and the width of each one's cell.

    The steps are half of the noise, or a fiftieth of the degree: a finer grid couldn't be distinguished by counts.
    """
    degrees, steps = [0.0], [1.0]
    while degrees[-1] < max_degree:
        step = max(1.0, noise / 2, degrees[-1] / 50)
        degrees.append(min(float(max_degree), degrees[-1] + step))
        steps.append(step)
    return np.array(degrees), np.array(steps)


def _likelihood(
    counts: NDArray[np.int64],
    degrees: NDArray[np.float64],
    width: NDArray[np.float64],
    others: int,
    hit: float,
    flip: float,
) -> NDArray[np.float64]:
    """P(count | degree) up to a factor per count, by a normal approximation.

    Its variance is that of the two binomials, plus that of a uniform degree inside the grid's cell (width² / 12).
    """
    mean = degrees * hit + (others - degrees) * flip
    spread = degrees * hit * (1 - hit) + (others - degrees) * flip * (1 - flip) + width**2 / 12
    log = -0.5 * (counts[:, None] - mean) ** 2 / spread - 0.5 * np.log(spread)
    # The factor keeps the largest value of each row at one, so that nothing underflows.
    return np.asarray(np.exp(log - log.max(axis=1, keepdims=True)))
