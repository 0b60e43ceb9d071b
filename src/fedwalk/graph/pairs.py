"""Unordered pairs of vertices: distinct ones, the most frequent ones, membership, and numbering.

The attacks (`protocols/<name>/attacks/`) guess pairs without access to the graph, so this module must not import
`Graph`; `fedwalk.graph.graph.edge_pairs` returns the edges of a graph as pairs.
"""

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

Pairs = NDArray[np.int64]
"""One row of two vertex ids per pair."""
Ids = NDArray[np.integer[Any]]

_ID_BITS = 31
"""Width of a vertex id, so that the key of a pair fits into an int64."""


def distinct_pairs(first: Ids, second: Ids) -> Pairs:
    """Each pair of different vertices once, the lower id first, in ascending order.

    >>> distinct_pairs(np.array([2, 0, 1, 3]), np.array([0, 2, 1, 1])).tolist()
    [[0, 2], [1, 3]]
    """
    return _pairs_of_keys(np.unique(_keys(first, second)))


def by_frequency(groups: Iterable[tuple[Ids, Ids]]) -> Pairs:
    """Each pair of different vertices once, the most frequent first.

    >>> by_frequency([(np.array([0, 1]), np.array([1, 2])), (np.array([2, 3]), np.array([1, 3]))]).tolist()
    [[1, 2], [0, 1]]
    """
    keys, counts = np.empty(0, np.int64), np.empty(0, np.int64)
    # Counts are merged group by group: all steps of all walks at once would not fit into memory.
    for first, second in groups:
        group_keys, group_counts = np.unique(_keys(first, second), return_counts=True)
        keys, position = np.unique(np.concatenate([keys, group_keys]), return_inverse=True)
        counts = np.bincount(position, np.concatenate([counts, group_counts]), keys.size).astype(np.int64)
    return _pairs_of_keys(keys[np.argsort(-counts, kind="stable")])


def among(pairs: Pairs, others: Pairs) -> NDArray[np.bool_]:
    """Which of `pairs` also occur in `others`, in either order of the two ids.

    >>> among(np.array([[1, 0], [1, 2]]), np.array([[0, 1]])).tolist()
    [True, False]
    """
    return np.isin(_keys(*pairs.T), _keys(*others.T))


def num_pairs(vertices: int) -> int:
    """The number of unordered pairs of different vertices.

    >>> num_pairs(4)
    6
    """
    return vertices * (vertices - 1) // 2


def pair_numbers(pairs: Pairs) -> NDArray[np.int64]:
    """Number pairs u < v without gaps, in the order 01, 02, 12, 03, 13, 23, …

    >>> pair_numbers(np.array([[0, 1], [0, 2], [1, 2], [0, 3]])).tolist()
    [0, 1, 2, 3]
    """
    low, high = pairs.T
    return np.asarray(high * (high - 1) // 2 + low)


def numbered_pairs(numbers: NDArray[np.int64], vertices: int) -> Pairs:
    """The pairs with these numbers, in a graph of so many vertices: the inverse of `pair_numbers`.

    >>> numbered_pairs(np.array([0, 2, 5]), vertices=4).tolist()
    [[0, 1], [1, 2], [2, 3]]
    """
    # The number of (0, v) is looked up rather than computed by a square root, which rounds wrongly for large v.
    first = pair_numbers(np.column_stack((np.zeros(vertices, np.int64), np.arange(vertices))))
    high = np.searchsorted(first, numbers, side="right") - 1
    return np.column_stack((numbers - first[high], high))


# Keys differ from `pair_numbers` in two ways that the functions above need: they ascend by the lower id first, and a
# vertex paired with itself has a key of its own instead of another pair's number.
def _keys(first: Ids, second: Ids) -> NDArray[np.int64]:
    """An integer for each pair, the same for both orders of its ids."""
    a, b = np.asarray(first, np.int64), np.asarray(second, np.int64)
    return np.asarray((np.minimum(a, b) << _ID_BITS) | np.maximum(a, b))


def _pairs_of_keys(keys: NDArray[np.int64]) -> Pairs:
    """The pairs that have these keys, without those of a vertex and itself."""
    pairs = np.column_stack([keys >> _ID_BITS, keys & ((1 << _ID_BITS) - 1)])
    return np.asarray(pairs[pairs[:, 0] != pairs[:, 1]])
