"""Finding every vertex that the encoder could ever return (Eq. 12), without looking at all n² pairs.

v2 can be drawn for v1 only if ε·dissim·leaves < 745, i.e. dissim ≤ budget / leaves with budget = 745 / ε:
beyond that exp() is zero in double precision. A path through the cost matrix visits the first and the
last pair of rows, so dissim ≥ ‖first − first‖₁ + ‖last − last‖₁ (once, not twice, if both have a single row).
Near v1 the tree is climbed and each sibling subtree, an interval in leaf order, is scanned. Far from it the bound
is so tight that candidates are looked up in a sorted list of a number that dissim bounds: a `mark`,
a sum of the first and last rows with weights in [−1, 1]. A second mark with other weights thins them out.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fedwalk.kernels.dtw import dtw
from fedwalk.kernels.jit import kernel
from fedwalk.kernels.tree import common_leaves


class EncoderArrays(NamedTuple):
    """Per vertex the possible outputs with cumulative probabilities; the first stands for the vertex's whole kin.

    `certain` marks the vertices that can only be returned as they are, so that a walk needn't look further.
    """

    starts: NDArray[np.int64]
    outputs: NDArray[np.int32]
    cumulative: NDArray[np.float64]
    kin: NDArray[np.int32]
    kin_starts: NDArray[np.int64]
    kin_members: NDArray[np.int32]
    certain: NDArray[np.bool_]


class Marks(NamedTuple):
    """Two marks of every vertex: by vertex, by ascending first mark (`by_first` names the vertices), and by leaf.

    Scans run over the sorted and the leaf-ordered copies, one number after the other.
    """

    first: NDArray[np.float64]
    second: NDArray[np.float64]
    by_first: NDArray[np.int64]
    sorted_first: NDArray[np.float64]
    sorted_second: NDArray[np.float64]
    leaf_first: NDArray[np.float64]
    leaf_second: NDArray[np.float64]


ROUNDING = 1e-6
"""Room for rounding in the marks and bounds, which only pre-select."""


@kernel
def mark_vertices(
    starts: NDArray[np.int64],
    rows: NDArray[np.float32],
    weights: NDArray[np.float64],
    marks: NDArray[np.float64],
) -> None:
    """marks[v] = Σ weights·(first row, last row), so |marks[u] − marks[v]| ≤ dissim(u, v), or twice it."""
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
    """The array, doubled if it is full."""
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
    if ends_bound(starts, rows, u, v) > limit * (1 + ROUNDING):
        return np.inf
    return dtw(rows, starts[v], starts[v + 1], starts[u], starts[u + 1], limit, scratch) * leaves


@kernel
def _alike(first: float, second: float, marks: Marks, v: int, width: float) -> bool:
    """Whether two marks are both as close to v's as the bound demands."""
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
    """Vertices, not of v's kin, whose marks are within reach / leaves of v's, with their leaves; returns how many.

    Subtrees of up to 4√n leaves are scanned: what the window then holds shrinks as fast as the scans grow.
    """
    count, node, root = 0, v, size.size - 1
    scanned = max(256, int(4 * np.sqrt(order.size)))
    while node != root and size[parent[node]] <= scanned:
        above = parent[node]
        width = reach / size[above] + ROUNDING
        sibling = first[above] if first[above] < first[node] else first[node] + size[node]
        for place in range(sibling, sibling + size[above] - size[node]):
            if (
                _alike(marks.leaf_first[place], marks.leaf_second[place], marks, v, width)
                and kin[order[place]] != kin[v]
            ):
                near[count], leaves[count] = order[place], size[above]
                count += 1
        node = above
    if node != root:
        width = reach / size[parent[node]] + ROUNDING
        low = np.searchsorted(marks.sorted_first, marks.first[v] - width)
        high = np.searchsorted(marks.sorted_first, marks.first[v] + width, side="right")
        for place in range(low, high):
            u = marks.by_first[place]
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
    """For vertices begin … end − 1: how many candidates each has, which, and dissim·leaves of each.

    The vertex itself comes first and stands for its kin, the vertices with the very same matrix.
    """
    counts = np.zeros(end - begin, np.int64)
    found, exponents, used = np.empty(1024), np.empty(1024), 0
    scratch = np.empty(np.max(starts[1:] - starts[:-1]) + 1)
    near, leaves = np.empty(order.size, np.int64), np.empty(order.size, np.int64)
    for v in range(begin, end):
        before = used
        found, exponents = _grown(found, used), _grown(exponents, used)
        found[used], exponents[used] = v, 0.0
        used += 1
        reach = budget * (2.0 if starts[v + 1] - starts[v] == 1 else 1.0) * (1 + ROUNDING)
        near_count = _gather(v, parent, size, first, order, marks, kin, reach, near, leaves)
        for i in range(near_count):
            exponent = _exponent(starts, rows, v, near[i], leaves[i], budget, scratch)
            if exponent < np.inf:
                found, exponents = _grown(found, used), _grown(exponents, used)
                found[used], exponents[used] = near[i], exponent
                used += 1
        counts[v - begin] = used - before
    return counts, found[:used].copy(), exponents[:used].copy()


@kernel
def accumulate(starts: NDArray[np.int64], weights: NDArray[np.float64]) -> None:
    """Turn each vertex's weights into cumulative probabilities, in place."""
    for v in range(starts.size - 1):
        total = 0.0
        for i in range(starts[v], starts[v + 1]):
            total += weights[i]
            weights[i] = total
        for i in range(starts[v], starts[v + 1]):
            weights[i] /= total


@kernel
def encode(table: EncoderArrays, vertex: int, x: float) -> int:
    """The output whose share of [0, 1) holds x; inside the first share, that of the kin, all are alike."""
    place = table.starts[vertex]
    if x < table.cumulative[place]:
        low = table.kin_starts[table.kin[vertex]]
        count = table.kin_starts[table.kin[vertex] + 1] - low
        if count == 1:
            return vertex
        return int(table.kin_members[low + min(count - 1, int(x / table.cumulative[place] * count))])
    while x >= table.cumulative[place]:
        place += 1
    return int(table.outputs[place])
