"""Find every vertex that the encoder could ever return (Eq. 12) without looking at all n² pairs.

v2 can be drawn for v1 only if ε·dissim·leaves < 745, i.e. dissim ≤ budget / leaves with budget = 745 / ε: beyond that,
exp() is zero in double precision. Every path through the DTW cost matrix visits the first and the last pair of rows, so
dissim ≥ ‖first − first‖₁ + ‖last − last‖₁ (counted once if both have a single row). That gives a cheap test:

- a `mark` of a vertex is a sum of its first and last rows with weights in [−1, 1], so marks of two vertices differ
  by at most their dissim. Two marks with different weights leave few candidates;
- near v1 in the tree, each sibling subtree, an interval in leaf order, is scanned for marks close enough;
- far from v1, where leaves is large, the allowed difference is small: candidates are looked up by binary search in
  the sorted first marks.

The exact DTW is computed only for what passes. Vertices with identical matrices are `kin`: one entry of v1's row stands
for all of its kin, v1 included, whose weights are 1 each.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fedwalk.kernels.dtw import dtw
from fedwalk.kernels.jit import kernel
from fedwalk.kernels.tree import common_leaves


class EncoderArrays(NamedTuple):
    """The possible outputs of each vertex with cumulative probabilities.

    Row v is outputs[starts[v] : starts[v + 1]]. Its first entry stands for all of v's kin, which are
    kin_members[kin_starts[kin[v]] : kin_starts[kin[v] + 1]]. `certain` marks the vertices that can only be returned
    as they are: a byte per vertex stays in the cache, and spares most steps of a walk the search in the table.
    """

    starts: NDArray[np.int64]
    outputs: NDArray[np.int32]
    cumulative: NDArray[np.float64]
    kin: NDArray[np.int32]
    kin_starts: NDArray[np.int64]
    kin_members: NDArray[np.int32]
    certain: NDArray[np.bool_]


class Marks(NamedTuple):
    """Two marks of every vertex in three orders: by vertex, by ascending first mark, and by leaf position.

    `by_first` has the vertices in the second order. The copies let every scan read memory sequentially.
    """

    first: NDArray[np.float64]
    second: NDArray[np.float64]
    by_first: NDArray[np.int64]
    sorted_first: NDArray[np.float64]
    sorted_second: NDArray[np.float64]
    leaf_first: NDArray[np.float64]
    leaf_second: NDArray[np.float64]


ROUNDING = 1e-6
"""Tolerance for rounding in marks and bounds. They only preselect, so being too generous never changes a result."""


@kernel
def mark_vertices(
    starts: NDArray[np.int64],
    rows: NDArray[np.float32],
    weights: NDArray[np.float64],
    marks: NDArray[np.float64],
) -> None:
    """Fill marks[v] with Σ weights·(first row, last row), so that |marks[u] − marks[v]| ≤ dissim(u, v).

    If both vertices have a single row, it counts twice, and the difference is at most 2·dissim.
    """
    # Isolated vertices take no part, so every vertex has a first and a last row.
    k = rows.shape[1]
    for v in range(marks.size):
        total = 0.0
        for c in range(k):
            total += weights[c] * rows[starts[v], c] + weights[k + c] * rows[starts[v + 1] - 1, c]
        marks[v] = total


@kernel
def ends_bound(starts: NDArray[np.int64], rows: NDArray[np.float32], u: int, v: int) -> float:
    """The lower bound on dissim(u, v) from the first and last rows."""
    u0, u1, v0, v1 = starts[u], starts[u + 1] - 1, starts[v], starts[v + 1] - 1
    first, last = 0.0, 0.0
    for c in range(rows.shape[1]):
        first += abs(np.float64(rows[u0, c]) - np.float64(rows[v0, c]))
        last += abs(np.float64(rows[u1, c]) - np.float64(rows[v1, c]))
    return first if u0 == u1 and v0 == v1 else first + last


@kernel
def _grown(array: NDArray[np.float64], used: int) -> NDArray[np.float64]:
    """The array, or a copy of twice its size if it is full."""
    if used < array.size:
        return array
    larger = np.empty(2 * array.size, array.dtype)
    larger[:used] = array[:used]
    return larger


@kernel
def _exponent(
    starts: NDArray[np.int64],
    rows: NDArray[np.float32],
    v: int,
    u: int,
    leaves: int,
    budget: float,
    scratch: NDArray[np.float64],
) -> float:
    """dissim(v, u)·leaves, or infinity if it exceeds the budget."""
    limit = budget / leaves
    # The bound costs two rows, DTW all pairs of rows.
    if ends_bound(starts, rows, u, v) > limit * (1 + ROUNDING):
        return np.inf
    # Above the limit dtw() is infinite, and stays so when multiplied.
    return dtw(rows, starts[v], starts[v + 1], starts[u], starts[u + 1], limit, scratch) * leaves


@kernel
def _alike(first: float, second: float, marks: Marks, v: int, width: float) -> bool:
    """Whether two marks both differ from v's by at most `width`."""
    return bool(abs(first - marks.first[v]) <= width and abs(second - marks.second[v]) <= width)


@kernel
def _gather(
    v: int,
    parent: NDArray[np.int32],
    size: NDArray[np.int32],
    first: NDArray[np.int32],
    order: NDArray[np.int32],
    marks: Marks,
    kin: NDArray[np.int32],
    reach: float,
    near: NDArray[np.int64],
    leaves: NDArray[np.int64],
) -> int:
    """Collect the vertices outside v's kin whose marks are within reach / leaves of v's; returns how many.

    Fills `near` with the vertices and `leaves` with |leaves(T[v ∨ u])| of each. Subtrees of up to 4√n leaves are
    scanned: the scans grow with that size as fast as the range of marks to look up shrinks.
    """
    count, node, root = 0, v, size.size - 1
    scanned = max(256, int(4 * np.sqrt(order.size)))
    while node != root and size[parent[node]] <= scanned:
        above = parent[node]
        width = reach / size[above] + ROUNDING
        # Siblings are adjacent in leaf order: the other one begins where `above` does, or right after `node`.
        sibling = first[above] if first[above] < first[node] else first[node] + size[node]
        # All vertices of the sibling subtree have `above` as their smallest common subtree with v.
        for place in range(sibling, sibling + size[above] - size[node]):
            if (
                _alike(marks.leaf_first[place], marks.leaf_second[place], marks, v, width)
                and kin[order[place]] != kin[v]
            ):
                near[count], leaves[count] = order[place], size[above]
                count += 1
        node = above
    if node != root:
        # Outside `node` at least size[parent[node]] leaves are shared: one width for all, checked again below.
        width = reach / size[parent[node]] + ROUNDING
        low = np.searchsorted(marks.sorted_first, marks.first[v] - width)
        high = np.searchsorted(marks.sorted_first, marks.first[v] + width, side="right")
        for place in range(low, high):
            u = marks.by_first[place]
            # Vertices inside `node` have been scanned above: listed twice, they would get twice their weight.
            if (
                abs(marks.sorted_second[place] - marks.second[v]) <= width
                and kin[u] != kin[v]
                and not first[node] <= first[u] < first[node] + size[node]
            ):
                shared = common_leaves(parent, size, first, v, u)
                if _alike(marks.first[u], marks.second[u], marks, v, reach / shared + ROUNDING):
                    near[count], leaves[count] = u, shared
                    count += 1
    return count


@kernel
def find_candidates(
    begin: int,
    end: int,
    starts: NDArray[np.int64],
    rows: NDArray[np.float32],
    parent: NDArray[np.int32],
    size: NDArray[np.int32],
    first: NDArray[np.int32],
    order: NDArray[np.int32],
    marks: Marks,
    kin: NDArray[np.int32],
    budget: float,
) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.float64]]:
    """The candidates of vertices begin … end − 1: how many each has, which they are, and dissim·leaves of each.

    The vertex itself comes first and stands for its kin, the vertices with an identical matrix.
    """
    counts = np.zeros(end - begin, np.int64)
    # Ids are stored as doubles, which is exact below 2⁵³: both arrays have one type, and grow by one kernel.
    candidates, exponents, used = np.empty(1024), np.empty(1024), 0
    scratch = np.empty(np.max(starts[1:] - starts[:-1]) + 1)
    # No vertex is gathered twice for the same v, so n places are always enough.
    near, leaves = np.empty(order.size, np.int64), np.empty(order.size, np.int64)
    for v in range(begin, end):
        before = used
        candidates, exponents = _grown(candidates, used), _grown(exponents, used)
        candidates[used], exponents[used] = v, 0.0
        used += 1
        # A single row may count twice in the marks (see mark_vertices), so their differences may be twice as large.
        reach = budget * (2.0 if starts[v + 1] - starts[v] == 1 else 1.0) * (1 + ROUNDING)
        near_count = _gather(v, parent, size, first, order, marks, kin, reach, near, leaves)
        for i in range(near_count):
            exponent = _exponent(starts, rows, v, near[i], leaves[i], budget, scratch)
            if exponent < np.inf:
                candidates, exponents = _grown(candidates, used), _grown(exponents, used)
                candidates[used], exponents[used] = near[i], exponent
                used += 1
        counts[v - begin] = used - before
    return counts, candidates[:used].copy(), exponents[:used].copy()


@kernel
def accumulate(starts: NDArray[np.int64], weights: NDArray[np.float64]) -> None:
    """Turn each vertex's weights into cumulative probabilities, in place."""
    for v in range(starts.size - 1):
        total = 0.0
        for i in range(starts[v], starts[v + 1]):
            total += weights[i]
            weights[i] = total
        for i in range(starts[v], starts[v + 1]):
            # The last quotient is total / total, exactly 1, so the search in `encode` never leaves the row.
            weights[i] /= total


@kernel
def encode(table: EncoderArrays, vertex: int, x: float) -> int:
    """Draw an output by a number x in [0, 1): the entry whose share of the interval contains x.

    The first share belongs to the kin, which are equally likely: x's place inside that share chooses one of them.
    """
    place = table.starts[vertex]
    if x < table.cumulative[place]:
        low = table.kin_starts[table.kin[vertex]]
        count = table.kin_starts[table.kin[vertex] + 1] - low
        if count == 1:
            return vertex
        # Kernels don't check bounds, so `min` guards against a product that rounds up to `count`.
        return int(table.kin_members[low + min(count - 1, int(x / table.cumulative[place] * count))])
    while x >= table.cumulative[place]:
        place += 1
    return int(table.outputs[place])
