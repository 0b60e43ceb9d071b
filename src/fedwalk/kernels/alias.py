"""Weighted choice of a neighbour by alias tables (Vose 1991): one draw and one read, however many neighbours there are.

A draw names a place in the vertex's neighbour list, all places alike, and a coin. The entry at that place gives the
neighbour there with probability `cut`, and another one otherwise. Entries lie beside `indices`, one each, so the memory
grows as the number of edges.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fedwalk.kernels.jit import kernel, lean_kernel
from fedwalk.kernels.random import uniform

ENTRY = np.dtype([("cut", np.float64), ("own", np.int32), ("other", np.int32)], align=True)
"""The neighbour at this place, the one drawn instead if the coin isn't below `cut`, and `cut`.

Sixteen bytes together: a step reads one cache line, whichever of the two neighbours it takes.
"""


def alias_entries(
    indptr: NDArray[np.int64], indices: NDArray[np.int32], weights: NDArray[np.float64]
) -> NDArray[np.void]:
    """The entries of all rows of a CSR graph with positive weights. A row's entries depend on that row alone.

    >>> alias_entries(np.array([0, 2]), np.array([5, 7], np.int32), np.array([1.0, 3.0])).tolist()
    [(0.5, 5, 7), (1.0, 7, 7)]
    """
    entries = np.empty(indices.size, ENTRY)
    _fill(indptr, indices, weights, entries)
    return entries


@kernel
def _fill(
    indptr: NDArray[np.int64], indices: NDArray[np.int32], weights: NDArray[np.float64], entries: NDArray[np.void]
) -> None:
    widest = 0
    for v in range(indptr.size - 1):
        widest = max(widest, indptr[v + 1] - indptr[v])
    scaled, cut = np.empty(widest), np.empty(widest)
    alias, stack = np.empty(widest, np.int32), np.empty(widest, np.int64)
    for v in range(indptr.size - 1):
        low, size = indptr[v], indptr[v + 1] - indptr[v]
        if size == 0:
            continue
        _scale(weights[low : low + size], scaled[:size])
        # Rounding may leave places unpaired, whose scaled weight is 1 but for that rounding: they give themselves.
        for j in range(size):
            cut[j], alias[j] = 1.0, j
        pair_up(scaled[:size], cut[:size], alias[:size], stack[:size])
        for j in range(size):
            entry = entries[low + j]
            entry["cut"], entry["own"], entry["other"] = cut[j], indices[low + j], indices[low + alias[j]]


@kernel
def _scale(weights: NDArray[np.float64], scaled: NDArray[np.float64]) -> None:
    """Scale a row to a mean of 1; equal weights give 1 exactly."""
    # The largest weight first: the sum can't overflow, and a factor that is a power of two changes no bit.
    largest = 0.0
    for j in range(weights.size):
        largest = max(largest, weights[j])
    total = 0.0
    for j in range(weights.size):
        scaled[j] = weights[j] / largest
        total += scaled[j]
    factor = weights.size / total
    for j in range(weights.size):
        scaled[j] *= factor


@kernel
def pair_up(scaled: NDArray[Any], cut: NDArray[Any], alias: NDArray[np.int32], stack: NDArray[np.int64]) -> None:
    """Vose's method: fill every scaled weight below 1 up to 1 with a part of a weight above 1.

    `cut` and `alias` come with defaults for places that rounding leaves unpaired. `scaled` is used up.
    """
    n = scaled.shape[0]
    # Two stacks in one array: small weights from the left, large ones from the right.
    small, large = 0, n
    for v in range(n):
        if scaled[v] < 1:
            stack[small] = v
            small += 1
        else:
            large -= 1
            stack[large] = v
    while small > 0 and large < n:
        small -= 1
        v, u = stack[small], stack[large]
        cut[v], alias[v] = scaled[v], u
        scaled[u] -= 1 - scaled[v]
        if scaled[u] < 1:
            large += 1
            stack[small] = u
            small += 1


@lean_kernel
def locate(bits: np.uint64, size: int) -> tuple[int, float]:
    """A place in 0 … size − 1, the one that `below` gives, and a coin in [0, 1): whole part and fraction of one number.

    The chance of a place together with a coin below any cut errs by less than 2⁻⁵¹: among the 2⁵³ uniform numbers these
    are consecutive ones. Rounding the product moves either end by at most one of them, and their count is whole.
    """
    point = uniform(bits) * size
    place = int(point)
    return place, point - place


@lean_kernel
def pick(entries: NDArray[np.void], at: int, coin: float) -> int:
    """The neighbour that entry `at` gives for this coin."""
    entry = entries[at]
    # Both are read before the comparison: a branch, which no processor could predict, would take longer.
    own, other = entry["own"], entry["other"]
    return int(own if coin < entry["cut"] else other)


@lean_kernel
def weighted_neighbour(entries: NDArray[np.void], bits: np.uint64) -> int:
    """Choose one of a single device's neighbours in proportion to their weights."""
    place, coin = locate(bits, entries.size)
    return pick(entries, place, coin)
