"""Theorem 1: how much noise adds to a dissimilarity, with the rows in clean order and with them sorted again."""

import numpy as np
from numpy.typing import NDArray

import reference

EPSILON, TRIALS = 16.0, 400


def noised(rows: NDArray[np.float64], rng: np.random.Generator) -> NDArray[np.float64]:
    return rows + rng.laplace(scale=1 / EPSILON, size=rows.shape)


def resorted(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    return rows[np.argsort(rows.sum(axis=1), kind="stable")]


def linear_bound(u_rows: int, v_rows: int, k: int) -> float:
    """3k(|N(u)| + |N(v)| − 1) / 2ε: sharper than the paper's, because a warping path has at most that many cells."""
    return 3 * k * (u_rows + v_rows - 1) / (2 * EPSILON)


def test_noise_adds_at_most_the_bound_while_the_rows_keep_their_clean_order() -> None:
    rng = np.random.default_rng(0)
    for trial in range(20):
        x, y, k = (int(rng.integers(1, most)) for most in (7, 7, 5))
        u, v = rng.integers(0, 30, (x, k)).astype(float), rng.integers(0, 30, (y, k)).astype(float)
        clean = reference.dtw(u, v)
        excess = [reference.dtw(noised(u, rng), noised(v, rng)) - clean for _ in range(60)]
        # Three standard errors of slack: one false alarm in about 700 trials, and the seed is fixed.
        slack = 3 * float(np.std(excess)) / np.sqrt(len(excess))
        assert np.mean(excess) <= linear_bound(x, y, k) + slack, trial


def test_sorting_by_noised_degree_breaks_the_bound() -> None:
    # Two vertices with the neighbours (D, 0) and (0, D): equal degrees, so noise swaps their rows half the time.
    rng, distance = np.random.default_rng(1), 3.0
    rows = np.array([[distance, 0.0], [0.0, distance]])
    excess = [reference.dtw(resorted(noised(rows, rng)), resorted(noised(rows, rng))) for _ in range(TRIALS)]
    # (3, 0) counts three neighbours, so the largest degree in the graph is at least 3.
    paper_bound = 3 * 2 * distance**2 / (2 * EPSILON)
    standard_error = float(np.std(excess)) / np.sqrt(TRIALS)
    assert np.mean(excess) - 4 * standard_error > paper_bound
    assert np.mean(excess) > 2 * distance * 0.9
