"""The group plan: the server divides the vertices into k balanced random bins (Sec. 4.2, Algorithm 2, line 1)."""

import math

import numpy as np
from numpy.typing import NDArray

from fedwalk.errors import SettingsError
from fedwalk.kernels.random import BINS
from fedwalk.privacy.randomness import Randomness


def default_bins(vertices: int) -> int:
    """⌊ln n⌋, at least 1: the largest number that the paper allows.

    >>> default_bins(10_312)
    9
    """
    return max(1, math.floor(math.log(vertices)))


def check_bins(k: int, vertices: int) -> None:
    """Raise SettingsError if some bin would stay empty."""
    if not 1 <= k <= vertices:
        raise SettingsError(
            f"num-bins = {k} for {vertices} vertices: every bin needs a vertex. Choose 1 … {vertices} bins, "
            f"or leave it out for the default ⌊ln n⌋ = {default_bins(vertices)}."
        )


def group_plan(vertices: int, k: int, randomness: Randomness) -> NDArray[np.int32]:
    """The bin of each vertex: the vertices are shuffled and dealt out to the bins in turn.

    Bin sizes differ by at most one.
    """
    check_bins(k, vertices)
    # Each vertex has its own draw, and sorting by the draws is the shuffle: no draw depends on the order of the work.
    lots = np.array([randomness.bits(BINS, v, 0) for v in range(vertices)], np.uint64)
    plan = np.empty(vertices, np.int32)
    plan[np.argsort(lots, kind="stable")] = np.arange(vertices) % k
    return plan
