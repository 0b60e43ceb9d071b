"""Vertex names: from whatever the input calls its vertices to ids 0 … n−1, the same for every format.

Ids follow the order of the names (integers by value, strings by code point), so that a graph and all
that is seeded by its ids don't depend on the order of lines in a file.
"""

import re
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from fedwalk.errors import InputError

LONGEST = 1000
"""More characters than this isn't a name but a file in another format."""

_CANONICAL = re.compile(r"0|-?[1-9][0-9]{0,18}")
_INT64 = np.iinfo(np.int64)

Names = NDArray[np.int64] | NDArray[np.str_]


def is_integer(name: str) -> bool:
    """Whether the name is how Python would print a 64-bit integer: '7', not '07' or '+7'."""
    return _CANONICAL.fullmatch(name) is not None and _INT64.min <= int(name) <= _INT64.max


def rank_names(names: Sequence[str], origin: str) -> tuple[Names, NDArray[np.int64]]:
    """Sort distinct names; returns them and the rank of each. `origin` begins the errors."""
    for name in names:
        _check(name, origin)
    array = np.array(list(map(int, names)), np.int64) if all(map(is_integer, names)) else np.array(names, str)
    order = np.argsort(array, kind="stable")
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order))
    return array[order], rank


def rank_integers(values: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The distinct values, sorted, and for each entry the rank of its value."""
    low, high = int(values.min()), int(values.max())
    if high - low > 4 * values.size + 1024:
        distinct, rank = np.unique(values, return_inverse=True)
        return distinct, rank.reshape(values.shape)
    # A table over the range is several times faster than sorting, and no larger than the input.
    present = np.zeros(high - low + 1, dtype=bool)
    offset = values - low
    present[offset] = True
    return np.flatnonzero(present) + low, (np.cumsum(present) - 1)[offset]


def _check(name: str, origin: str) -> None:
    """Refuse names that an array of strings can't hold."""
    if not name:
        raise InputError(f"{origin}: a vertex has an empty name; give it one")
    if "\0" in name:
        raise InputError(f"{origin}: the vertex name {name[:40]!r} contains a NUL character; rename it")
    if len(name) > LONGEST:
        raise InputError(f"{origin}: a name of {len(name)} characters ({name[:40]!r}…); at most {LONGEST} are allowed")
