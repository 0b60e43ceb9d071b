"""Degrees from reported pairs: an empirical Bayes estimate, by the server, free of cost (PROOFS.md, 4).

A vertex of degree d stands in Bin(d, hit) + Bin(n − 1 − d, q) reported pairs. The distribution of degrees that makes
all the counts most likely (Kiefer and Wolfowitz) is found by expectation maximisation over a grid; a vertex's estimate
is then its mean degree given its count. Unlike (count − q·(n − 1)) / (hit − q), it is never negative.
"""

import numpy as np
from numpy.typing import NDArray

ROUNDS = 200
LEAST_DEGREE = 0.1
"""The decoder takes logarithms: nobody is taken for surely isolated."""


def estimated_degrees(
    counts: NDArray[np.int64], hit: float, flip: float, at: NDArray[np.int64] | None = None
) -> NDArray[np.float64]:
    """E[degree | count] for each vertex, or for the counts in `at` under the prior of all the others."""
    others = counts.size - 1
    grid, width = _grid(others, np.sqrt(flip * (1 - flip) * others))
    values, place, times = np.unique(counts, return_inverse=True, return_counts=True)
    chance = _likelihood(values, grid, width, others, hit, flip)
    prior = np.full(grid.size, 1 / grid.size)
    for _ in range(ROUNDS):
        joint = chance * prior
        given = joint / joint.sum(axis=1, keepdims=True)
        prior = times @ given / counts.size
    if at is not None:
        values, place = np.unique(at, return_inverse=True)
        given = _likelihood(values, grid, width, others, hit, flip) * prior
        given /= given.sum(axis=1, keepdims=True)
    return np.asarray(np.maximum(given @ grid, LEAST_DEGREE)[place])


def _grid(most: int, noise: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Degrees from 0 to `most`, as fine as the noise lets one see, or as a fiftieth of the degree; and the steps."""
    degrees, steps = [0.0], [1.0]
    while degrees[-1] < most:
        step = max(1.0, noise / 2, degrees[-1] / 50)
        degrees.append(min(float(most), degrees[-1] + step))
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
    """P(count | degree) up to a factor for each count: a normal, as wide as the two binomials and the grid's cell."""
    mean = degrees * hit + (others - degrees) * flip
    spread = degrees * hit * (1 - hit) + (others - degrees) * flip * (1 - flip) + width**2 / 12
    log = -0.5 * (counts[:, None] - mean) ** 2 / spread - 0.5 * np.log(spread)
    return np.asarray(np.exp(log - log.max(axis=1, keepdims=True)))
