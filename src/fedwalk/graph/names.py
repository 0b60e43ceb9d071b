"""Map vertex names to ids 0 … n−1, in the same way for every format.

Ids follow the order of the names (integers by value, strings by code point). The graph, and every random draw that
depends on an id, is therefore independent of the order of lines in a file.
"""

import re
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from fedwalk.errors import InputError

MAX_NAME_LENGTH = 1000
"""In characters. A longer name means that the file has another format."""

_CANONICAL = re.compile(r"0|-?[1-9][0-9]{0,18}")
_INT64 = np.iinfo(np.int64)

Names = NDArray[np.int64] | NDArray[np.str_]


def is_integer(name: str) -> bool:
    """Whether the name is a 64-bit integer in canonical form: '7', not '07' or '+7'."""
    return _CANONICAL.fullmatch(name) is not None and _INT64.min <= int(name) <= _INT64.max


def rank_names(names: Sequence[str], origin: str) -> tuple[Names, NDArray[np.int64]]:
    """Sort distinct names, and return them with the rank of each. Errors begin with `origin`."""
    for name in names:
        _check(name, origin)
    array = np.array(list(map(int, names)), np.int64) if all(map(is_integer, names)) else np.array(names, str)
    order = np.argsort(array, kind="stable")
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order))
    return array[order], rank


def rank_integers(values: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The sorted distinct values, and the rank of each entry's value."""
    low, high = int(values.min()), int(values.max())
    if high - low > 4 * values.size + 1024:
        distinct, rank = np.unique(values, return_inverse=True)
        return distinct, rank.reshape(values.shape)
    # For a dense range of values a lookup table is several times faster than sorting, and not larger than the input.
    present = np.zeros(high - low + 1, dtype=bool)
    offset = values - low
    present[offset] = True
    return np.flatnonzero(present) + low, (np.cumsum(present) - 1)[offset]


def _check(name: str, origin: str) -> None:
    """Raise InputError for names that an array of strings can't hold."""
    if not name:
        raise InputError(f"{origin}: a vertex has an empty name; give it one")
    if "\0" in name:
        raise InputError(f"{origin}: the vertex name {name[:40]!r} contains a NUL character; rename it")
    if len(name) > MAX_NAME_LENGTH:
        raise InputError(
            f"{origin}: a name of {len(name)} characters ({name[:40]!r}…); at most {MAX_NAME_LENGTH} are allowed"
        )
