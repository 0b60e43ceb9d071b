"""Readers for Python's own containers: lists of pairs, dictionaries of neighbours, and dictionaries of dictionaries."""

from array import array
from collections.abc import Hashable, Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fedwalk.errors import InputError
from fedwalk.graph.adapters.weights import checked_weight
from fedwalk.graph.build import from_edges
from fedwalk.graph.fields import Fields
from fedwalk.graph.graph import Graph
from fedwalk.graph.names import name_nodes, number_nodes

Edge = tuple[Hashable, Hashable]


def from_pairs(source: Iterable[Any], fields: Fields) -> Graph:
    """Read a list of pairs.

    >>> from_pairs([("ann", "bob"), ("bob", "cy")], Fields()).names.tolist()
    ['ann', 'bob', 'cy']
    """
    pairs = list(source)
    if not pairs:
        raise InputError("the list of edges is empty, so the graph has no vertices")
    for number, pair in enumerate(pairs):
        if not isinstance(pair, tuple | list | np.ndarray) or len(pair) != 2:
            hint = "; give an edge_index as a numpy array" if len(pairs) == 2 else ""
            raise InputError(f"edge {number} is {str(pair)[:60]}; expected a pair of vertices{hint}")
    return from_named_pairs([list(pair) for pair in pairs])


def from_named_pairs(pairs: list[list[Any]]) -> Graph:
    """A graph from edges between hashable nodes."""
    if (integers := _integers(pairs)) is not None:
        names, ends = number_nodes(integers)
        return from_edges(ends[:, 0], ends[:, 1], names)
    ids: dict[Hashable, int] = {}
    numbers = array("q")
    for number, pair in enumerate(pairs):
        for node in pair:
            check_node(node, f"edge {number}")
            numbers.append(ids.setdefault(node, len(ids)))
    called, nodes = name_nodes(ids)
    numbered = np.frombuffer(numbers, np.int64).reshape(-1, 2)
    return from_edges(numbered[:, 0], numbered[:, 1], called, nodes=nodes)


def from_dict(source: Mapping[Any, Any], fields: Fields) -> Graph:
    """Read {node: neighbours}, or {node: {neighbour: attributes}} as `networkx.to_dict_of_dicts` gives it.

    The nodes are the keys in their order, then other neighbours. An edge may be listed at one end or at both.

    >>> from_dict({"a": ["b", "c"], "b": [], "c": ["a"]}, Fields())
    Graph(3 vertices, 2 edges)
    """
    if not source:
        raise InputError("the dictionary is empty, so the graph has no vertices")
    ids: dict[Hashable, int] = {}
    for node in source:
        check_node(node, "dictionary")
        ids[node] = len(ids)
    if fields.weight is not None and not any(_has_attribute(row, fields.weight) for row in source.values()):
        raise InputError(f"no edge of the dictionary has the attribute {fields.weight!r} (weight=…); check its name")
    weights: dict[Edge, float] = {}
    for node, neighbours in source.items():
        for neighbour, weight in _listed(node, neighbours, fields.weight or "weight"):
            check_node(neighbour, f"the neighbours of {node!r}")
            ids.setdefault(neighbour, len(ids))
            weights[node, neighbour] = weight
    # An edge that both ends list with one weight is one edge; two weights are those of two directions.
    directed = any(weights.get((v, u), weight) != weight for (u, v), weight in weights.items())
    kept = (
        weights
        if directed
        else {pair: weight for pair, weight in weights.items() if not _is_reverse(pair, weights, ids)}
    )
    called, nodes = name_nodes(ids)
    ends = np.array([(ids[u], ids[v]) for u, v in kept], np.int64).reshape(-1, 2)
    values = np.array(list(kept.values()), np.float64)
    return from_edges(ends[:, 0], ends[:, 1], called, nodes=nodes, weights=values, directed=directed)


def check_node(node: Any, where: str) -> None:
    """Raise InputError for values that can't name a vertex."""
    if isinstance(node, bool | float | np.floating) or node is None or not isinstance(node, Hashable):
        raise InputError(f"{where}: {node!r} can't be a vertex; use integers, strings or tuples")


def _is_reverse(pair: Edge, weights: dict[Edge, float], ids: dict[Hashable, int]) -> bool:
    """Whether the same edge is listed at its other end too, and this is the later one."""
    u, v = pair
    return (v, u) in weights and ids[u] > ids[v]


def _listed(node: Hashable, neighbours: Any, key: str) -> Iterable[tuple[Any, float]]:
    """The neighbours of one node, each with its weight."""
    if isinstance(neighbours, Mapping):
        return [(one, _weight(node, one, value, key)) for one, value in neighbours.items()]
    if isinstance(neighbours, str | bytes) or not isinstance(neighbours, Iterable):
        raise InputError(f"the neighbours of {node!r} are {neighbours!r}; expected a list, set or dictionary of nodes")
    return [(one, 1.0) for one in neighbours]


def _has_attribute(neighbours: Any, key: str) -> bool:
    """Whether an edge to one of the neighbours, or one of several parallel edges, has this attribute."""
    edges = (
        [value for value in neighbours.values() if isinstance(value, Mapping)]
        if isinstance(neighbours, Mapping)
        else []
    )
    return any(key in edge or _has_attribute(edge, key) for edge in edges)


def _weight(u: Hashable, v: Hashable, value: Any, key: str) -> float:
    """The weight of an edge: a number, attributes, or for parallel edges attributes by key, whose weights add up."""
    if not isinstance(value, Mapping):
        return checked_weight(u, v, 1 if value is None else value)
    if value and all(isinstance(inner, Mapping) for inner in value.values()):
        return sum(_weight(u, v, inner, key) for inner in value.values())
    return checked_weight(u, v, value.get(key, 1))


def _integers(pairs: list[list[Any]]) -> NDArray[np.int64] | None:
    """The pairs as an array, if they consist of Python integers; booleans and numpy's integers take the longer way."""
    if not all(type(u) is int and type(v) is int for u, v in pairs):
        return None
    try:
        return np.array(pairs, np.int64)
    except OverflowError:
        return None
