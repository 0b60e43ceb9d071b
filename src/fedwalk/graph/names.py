"""Number the vertices of a graph 0 … n−1, and keep their names, in the same way for every format.

The order is the input's own: a Python object's order of nodes, or the order in which a file first mentions them. So row
i of every result belongs to node i of the input. Names are integers or text, because files must hold them; the nodes
of a Python object may be anything hashable, and are then kept beside their names.
"""

import re
from collections.abc import Hashable, Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fedwalk.errors import InputError

MAX_NAME_LENGTH = 1000
"""In characters. A longer name means that the file has another format."""

_CANONICAL = re.compile(r"0|-?[1-9][0-9]{0,18}")
_SURROGATE = re.compile("[\ud800-\udfff]")
_INT64 = np.iinfo(np.int64)

Names = NDArray[np.int64] | NDArray[np.str_]
Nodes = tuple[Hashable, ...]


def is_integer(name: str) -> bool:
    """Whether the name is a 64-bit integer in canonical form: '7', not '07' or '+7'."""
    return _CANONICAL.fullmatch(name) is not None and _INT64.min <= int(name) <= _INT64.max


def parse_names(names: Sequence[str], origin: str) -> Names:
    """Names from a text file: integers if all of them are, otherwise text. Errors begin with `origin`."""
    for name in names:
        _check(name, origin)
    return np.array(list(map(int, names)), np.int64) if all(map(is_integer, names)) else np.array(names, str)


def name_nodes(nodes: Iterable[Hashable], origin: str = "graph") -> tuple[Names, Nodes | None]:
    """The names of a Python object's distinct nodes; with the nodes themselves unless they are integers or text.

    >>> name_nodes(["10", "9"])
    (array(['10', '9'], dtype='<U2'), None)
    >>> name_nodes([(0, 1), "b"])
    (array(['(0, 1)', 'b'], dtype='<U6'), ((0, 1), 'b'))
    """
    kept = tuple(nodes)
    if all(_is_int64(node) for node in kept):
        return np.array(kept, np.int64), None
    texts = _distinct_texts(kept)
    for text in texts:
        _check(text, origin)
    return np.array(texts, str), None if all(type(node) in (str, np.str_) for node in kept) else kept


def number_nodes(values: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """The distinct values in the order of their first appearance, and the number of each entry's value.

    >>> number_nodes(np.array([[30, 10], [10, 20]]))
    (array([30, 10, 20]), array([[0, 1],
           [1, 2]]))
    """
    flat = np.ravel(values)
    distinct, first, which = _distinct_integers(flat) if flat.dtype.kind == "i" else _distinct(flat)
    order = np.argsort(first, kind="stable")
    number = np.empty(len(order), np.int64)
    number[order] = np.arange(len(order))
    return distinct[order], number[which].reshape(values.shape)


def rank_names(names: Sequence[str], origin: str) -> tuple[Names, NDArray[np.int64]]:
    """Sort distinct names (integers by value, text by code point), and return them with the rank of each."""
    array = parse_names(names, origin)
    order = np.argsort(array, kind="stable")
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order))
    return array[order], rank


def _distinct(flat: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.int64], NDArray[np.int64]]:
    """The sorted distinct values, where each first appears, and which of them each entry is."""
    distinct, first, which = np.unique(flat, return_index=True, return_inverse=True)
    return distinct, first, which.reshape(flat.shape)


def _distinct_integers(flat: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.int64], NDArray[np.int64]]:
    """The same as `_distinct`; several times faster for a dense range of integers, by a lookup table."""
    low, high = int(flat.min()), int(flat.max())
    # The table must not be much larger than the input.
    if high - low > 4 * flat.size + 1024:
        return _distinct(flat)
    offset = flat.astype(np.int64, copy=False) - low
    first = np.full(high - low + 1, -1, np.int64)
    # Where an index repeats, the last assignment counts: backwards, that is the first appearance.
    first[offset[::-1]] = np.arange(flat.size - 1, -1, -1)
    present = first >= 0
    return np.flatnonzero(present) + low, first[present], (np.cumsum(present) - 1)[offset]


def _is_int64(node: Hashable) -> bool:
    """Whether the node is a 64-bit integer, Python's or numpy's."""
    if isinstance(node, bool) or not isinstance(node, int | np.integer):
        return False
    return bool(_INT64.min <= int(node) <= _INT64.max)


def _distinct_texts(nodes: Nodes) -> list[str]:
    """The text of each node; they must be distinct: 1 and '1' can't both be vertices."""
    owner: dict[str, Hashable] = {}
    for node in nodes:
        text = str(node)
        if text in owner:
            raise InputError(f"the vertices {owner[text]!r} and {node!r} are both called '{text}'; rename one")
        owner[text] = node
    return list(owner)


def _check(name: str, origin: str) -> None:
    """Raise InputError for names that an array of strings or a file can't hold."""
    if not name:
        raise InputError(f"{origin}: a vertex has an empty name; give it one")
    if "\0" in name:
        raise InputError(f"{origin}: the vertex name {name[:40]!r} contains a NUL character; rename it")
    if not name.isascii() and _SURROGATE.search(name):
        raise InputError(
            f"{origin}: the vertex name {name[:40]!r} has half of a surrogate pair, which no file can hold; rename it"
        )
    if len(name) > MAX_NAME_LENGTH:
        raise InputError(
            f"{origin}: a name of {len(name)} characters ({name[:40]!r}…); at most {MAX_NAME_LENGTH} are allowed"
        )
