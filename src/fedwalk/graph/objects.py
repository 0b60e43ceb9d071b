"""Readers for graphs in memory: networkx graphs and arrays of edges."""

from collections.abc import Hashable, Iterable
from math import inf, nan
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fedwalk.errors import InputError
from fedwalk.graph.build import from_edges
from fedwalk.graph.graph import Graph
from fedwalk.graph.names import rank_integers, rank_names


def is_networkx(source: object) -> bool:
    """Whether the object has the interface of a networkx graph; networkx itself isn't needed for the test."""
    return all(hasattr(source, name) for name in ("nodes", "edges", "is_directed", "is_multigraph"))


def from_networkx(source: Any) -> Graph:
    """Read a networkx graph of any kind. The name of a vertex is the `str` of its node; isolated nodes are kept."""
    ids: dict[Hashable, int] = {node: number for number, node in enumerate(source.nodes)}
    if not ids:
        raise InputError("the networkx graph has no nodes")
    names, rank = rank_names(_distinct_strings(ids), "graph")
    ends: list[tuple[int, int]] = []
    weighted = False
    for u, v, weight in source.edges(data="weight", default=1):
        ends.append((ids[u], ids[v]))
        weighted |= _weight(u, v, weight) != 1
    pairs = rank[np.array(ends, np.int64).reshape(-1, 2)]
    return from_edges(pairs[:, 0], pairs[:, 1], names, directed=source.is_directed(), weighted=weighted)


def from_edge_array(source: Any) -> Graph:
    """Read an (m, 2) array, or a list of pairs, of integers or strings.

    >>> from_edge_array([("ann", "bob"), ("bob", "cy")]).names.tolist()
    ['ann', 'bob', 'cy']
    """
    array = source if isinstance(source, np.ndarray) else _object_pairs(source)
    if array.ndim != 2 or array.shape[1] != 2:
        raise InputError(
            f"an edge array has two columns, this one has shape {array.shape}; "
            "wrap an adjacency matrix in scipy.sparse.csr_array"
        )
    if array.dtype.kind not in "iuUO":
        raise InputError(f"an edge array holds integers or strings, this one holds {array.dtype}")
    if not len(array):
        raise InputError("the edge array is empty, so the graph has no vertices")
    if np.can_cast(array.dtype, np.int64):
        names, ends = rank_integers(array.astype(np.int64))
        return from_edges(ends[:, 0], ends[:, 1], names)
    return _from_named_pairs(array.tolist())


def _object_pairs(source: Iterable[Any]) -> NDArray[np.object_]:
    """A sequence of pairs as an array of objects: `np.array` would turn ("a", 1) into two strings."""
    pairs = list(source)
    for number, pair in enumerate(pairs):
        if not isinstance(pair, tuple | list | np.ndarray) or len(pair) != 2:
            raise InputError(f"edge {number} is {pair!r}; expected a pair of vertices")
    array = np.empty((len(pairs), 2), dtype=object)
    for number, pair in enumerate(pairs):
        array[number, 0], array[number, 1] = pair
    return array


def _from_named_pairs(pairs: list[list[Any]]) -> Graph:
    """A graph from edges between integers or strings."""
    ids: dict[Hashable, int] = {}
    ends = []
    for number, pair in enumerate(pairs):
        for name in pair:
            if isinstance(name, bool) or not isinstance(name, int | np.integer | str):
                raise InputError(f"edge {number}: the vertex {name!r} is neither an integer nor a string")
        ends.append([ids.setdefault(name, len(ids)) for name in pair])
    names, rank = rank_names(_distinct_strings(ids), "graph")
    numbers = rank[np.array(ends, np.int64)]
    return from_edges(numbers[:, 0], numbers[:, 1], names)


def _distinct_strings(nodes: Iterable[Hashable]) -> list[str]:
    """The names of the nodes, which must be distinct: 1 and '1' can't both be vertices."""
    owner: dict[str, Hashable] = {}
    for node in nodes:
        name = str(node)
        if name in owner:
            raise InputError(f"the vertices {owner[name]!r} and {node!r} are both called '{name}'; rename one")
        owner[name] = node
    return list(owner)


def _weight(u: Hashable, v: Hashable, weight: Any) -> float:
    """The weight of a networkx edge, checked like a weight in a file."""
    try:
        value = float(weight)
    except (TypeError, ValueError):
        value = nan
    if not 0 <= value < inf:
        raise InputError(f"the edge {u!r} – {v!r} has the weight {weight!r}; expected a finite number ≥ 0")
    return value
