"""Predictor `degree`, not in the paper: draw a bin in proportion to c_u, then a vertex by its estimated degree.

If nothing else is known, an edge of u into bin i leads to each vertex there with probability proportional to that
vertex's degree. This predictor needs no tree.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fedwalk.kernels.jit import kernel
from fedwalk.kernels.random import uniform
from fedwalk.protocols.paper.degree_vectors import estimated_degrees
from fedwalk.protocols.paper.predictors import Broadcast, Predictor


class DegreeTables(NamedTuple):
    """Vertices bin by bin (`members`), and running sums of their degrees.

    `above[j]` is the sum of the degrees in a bin up to and including place j; `slot[v]` is v's place in `members`.
    """

    counts: NDArray[np.float64]
    bin_starts: NDArray[np.int64]
    members: NDArray[np.int32]
    above: NDArray[np.float64]
    slot: NDArray[np.int64]


def prepare(broadcast: Broadcast) -> DegreeTables:
    """Compute the clipped counts per bin and the cumulative estimated degrees inside the bins."""
    k = broadcast.vectors.shape[1]
    members = np.argsort(broadcast.plan, kind="stable")
    bin_starts = np.concatenate([[0], np.cumsum(np.bincount(broadcast.plan, minlength=k))])
    weights = np.maximum(0.0, estimated_degrees(broadcast.vectors))[members]
    above = np.concatenate([np.cumsum(w) for w in np.split(weights, bin_starts[1:-1])])
    counts = np.maximum(0.0, broadcast.vectors).astype(np.float64)
    return DegreeTables(counts, bin_starts, members.astype(np.int32), above, np.argsort(members))


@kernel
def extend(tables: DegreeTables, neighbours: NDArray[np.int32], last: int, bits: np.uint64, more: np.uint64) -> int:
    """Draw a bin by the first number and a vertex other than `last` by the second; −1 if there is none."""
    counts = tables.counts[last]
    x = uniform(bits) * counts.sum()
    chosen = -1
    for i in range(counts.size):
        if counts[i] > 0.0:
            chosen = i
            if x < counts[i]:
                break
            x -= counts[i]
    if chosen < 0:
        return -1
    # `last` is left out by drawing from the total without its weight, and skipping its interval.
    begin, end, slot = tables.bin_starts[chosen], tables.bin_starts[chosen + 1], tables.slot[last]
    inside = begin <= slot < end
    before = tables.above[slot - 1] if inside and slot > begin else 0.0
    own = tables.above[slot] - before if inside else 0.0
    y = uniform(more) * (tables.above[end - 1] - own)
    if inside and y >= before:
        y += own
    place = begin + np.searchsorted(tables.above[begin:end], y, side="right")
    # Rounding may move y past the end or onto `last`: step back to a vertex with a positive weight.
    for candidate in range(min(place, end - 1), begin - 1, -1):
        below = tables.above[candidate - 1] if candidate > begin else 0.0
        if candidate != slot and tables.above[candidate] > below:
            return int(tables.members[candidate])
    return -1


PREDICTOR = Predictor("degree", min_remaining=3, prepare=prepare, extend=extend)
