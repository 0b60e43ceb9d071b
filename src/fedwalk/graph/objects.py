"""Readers for graphs in memory: networkx graphs and arrays of edges."""

from array import array
from collections.abc import Hashable, Iterable
from math import inf, nan
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fedwalk.errors import InputError
from fedwalk.graph.build import from_edges
from fedwalk.graph.graph import Graph
from fedwalk.graph.names import name_nodes, number_nodes


def is_networkx(source: object) -> bool:
    """Whether the object has the interface of a networkx graph; networkx itself isn't needed for the test."""
    return all(hasattr(source, name) for name in ("nodes", "edges", "is_directed", "is_multigraph"))


def from_networkx(source: Any) -> Graph:
    """Read a networkx graph of any kind: its nodes in its order, isolated ones too."""
    ids: dict[Hashable, int] = {node: number for number, node in enumerate(source.nodes)}
    if not ids:
        raise InputError("the networkx graph has no nodes")
    names, nodes = name_nodes(ids)
    ends, weights = array("q"), array("d")
    for u, v, weight in source.edges(data="weight", default=1):
        ends.extend((ids[u], ids[v]))
        weights.append(_weight(u, v, weight))
    pairs = np.frombuffer(ends, np.int64).reshape(-1, 2)
    return from_edges(
        pairs[:, 0], pairs[:, 1], names,
        nodes=nodes, weights=np.frombuffer(weights, np.float64), directed=source.is_directed(),
    )  # fmt: skip


def from_edge_array(source: Any) -> Graph:
    """Read an (m, 2) array, or a list of pairs, of integers or strings.

    >>> from_edge_array([("ann", "bob"), ("bob", "cy")]).names.tolist()
    ['ann', 'bob', 'cy']
    """
    edges = source if isinstance(source, np.ndarray) else _object_pairs(source)
    if edges.ndim != 2 or edges.shape[1] != 2:
        raise InputError(
            f"an edge array has two columns, this one has shape {edges.shape}; "
            "wrap an adjacency matrix in scipy.sparse.csr_array"
        )
    if edges.dtype.kind not in "iuUO":
        raise InputError(f"an edge array holds integers or strings, this one holds {edges.dtype}")
    if not len(edges):
        raise InputError("the edge array is empty, so the graph has no vertices")
    if np.can_cast(edges.dtype, np.int64):
        names, ends = number_nodes(edges.astype(np.int64))
        return from_edges(ends[:, 0], ends[:, 1], names)
    return _from_named_pairs(edges.tolist())


def _object_pairs(source: Iterable[Any]) -> NDArray[np.object_]:
    """A sequence of pairs as an array of objects: `np.array` would turn ("a", 1) into two strings."""
    pairs = list(source)
    for number, pair in enumerate(pairs):
        if not isinstance(pair, tuple | list | np.ndarray) or len(pair) != 2:
            raise InputError(f"edge {number} is {pair!r}; expected a pair of vertices")
    objects = np.empty((len(pairs), 2), dtype=object)
    for number, pair in enumerate(pairs):
        objects[number, 0], objects[number, 1] = pair
    return objects


def _from_named_pairs(pairs: list[list[Any]]) -> Graph:
    """A graph from edges between hashable nodes."""
    ids: dict[Hashable, int] = {}
    ends = []
    for number, pair in enumerate(pairs):
        for node in pair:
            if isinstance(node, bool | float) or node is None or not isinstance(node, Hashable):
                raise InputError(f"edge {number}: {node!r} can't be a vertex; use integers, strings or tuples")
        ends.append([ids.setdefault(node, len(ids)) for node in pair])
    names, nodes = name_nodes(ids)
    numbers = np.array(ends, np.int64)
    return from_edges(numbers[:, 0], numbers[:, 1], names, nodes=nodes)


def _weight(u: Hashable, v: Hashable, weight: Any) -> float:
    """The weight of a networkx edge, checked like a weight in a file."""
    try:
        value = float(weight)
    except (TypeError, ValueError):
        value = nan
    if not 0 <= value < inf:
        raise InputError(f"the edge {u!r} – {v!r} has the weight {weight!r}; expected a finite number ≥ 0")
    return value
