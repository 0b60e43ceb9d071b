"""Unordered pairs of vertices, which is what every attack guesses."""

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

Pairs = NDArray[np.int64]
"""Rows of two vertex ids."""
Ids = NDArray[np.integer[Any]]

_BITS = 31
"""Of an id: two of them are one number."""


def distinct_pairs(first: Ids, second: Ids) -> Pairs:
    """Each pair of different vertices once, the lower id first, in ascending order.

    >>> distinct_pairs(np.array([2, 0, 1, 3]), np.array([0, 2, 1, 1])).tolist()
    [[0, 2], [1, 3]]
    """
    return _pairs(np.unique(_numbers(first, second)))


def by_frequency(groups: Iterable[tuple[Ids, Ids]]) -> Pairs:
    """Each pair of different vertices once, the most frequent first.

    >>> by_frequency([(np.array([0, 1]), np.array([1, 2])), (np.array([2, 3]), np.array([1, 3]))]).tolist()
    [[1, 2], [0, 1]]
    """
    found, times = np.empty(0, np.int64), np.empty(0, np.int64)
    for first, second in groups:
        new, seen = np.unique(_numbers(first, second), return_counts=True)
        found, place = np.unique(np.concatenate([found, new]), return_inverse=True)
        times = np.bincount(place, np.concatenate([times, seen]), found.size).astype(np.int64)
    return _pairs(found[np.argsort(-times, kind="stable")])


def among(pairs: Pairs, others: Pairs) -> NDArray[np.bool_]:
    """Which of the pairs stand among the others; the order of a pair's ends plays no part.

    >>> among(np.array([[1, 0], [1, 2]]), np.array([[0, 1]])).tolist()
    [True, False]
    """
    return np.isin(_numbers(*pairs.T), _numbers(*others.T))


def _numbers(first: Ids, second: Ids) -> NDArray[np.int64]:
    """A number for each pair."""
    a, b = np.asarray(first, np.int64), np.asarray(second, np.int64)
    return np.asarray((np.minimum(a, b) << _BITS) | np.maximum(a, b))


def _pairs(numbers: NDArray[np.int64]) -> Pairs:
    """The pairs of different vertices that have these numbers."""
    pairs = np.column_stack([numbers >> _BITS, numbers & ((1 << _BITS) - 1)])
    return np.asarray(pairs[pairs[:, 0] != pairs[:, 1]])
