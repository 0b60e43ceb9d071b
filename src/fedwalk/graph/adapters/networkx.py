"""Reader for networkx graphs of all four classes, and for objects with the same interface."""

from array import array
from collections.abc import Hashable
from typing import Any

import numpy as np

from fedwalk.errors import InputError
from fedwalk.graph.adapters.weights import checked_weight
from fedwalk.graph.build import from_edges
from fedwalk.graph.fields import Fields
from fedwalk.graph.graph import Graph
from fedwalk.graph.labels import labels_of_attribute
from fedwalk.graph.names import name_nodes


def is_networkx(source: object) -> bool:
    """Whether the object has the interface of a networkx graph; networkx itself isn't needed for the test."""
    return all(hasattr(source, name) for name in ("nodes", "edges", "is_directed", "is_multigraph"))


def from_networkx(source: Any, fields: Fields, origin: str = "graph") -> Graph:
    """Read a networkx graph: its nodes in its order, isolated ones too."""
    ids: dict[Hashable, int] = {node: number for number, node in enumerate(source.nodes)}
    if not ids:
        raise InputError(f"{origin}: the networkx graph has no nodes")
    names, nodes = name_nodes(ids, origin)
    key = fields.weight or "weight"
    if fields.weight is not None and not any(key in attributes for *_, attributes in source.edges(data=True)):
        known = sorted({str(name) for *_, attributes in source.edges(data=True) for name in attributes})
        listed = ", ".join(map(repr, known)) or "none"
        raise InputError(f"{origin}: no edge has the attribute {key!r} (--weight); the edge attributes are: {listed}")
    ends, weights = array("q"), array("d")
    for u, v, weight in source.edges(data=key, default=1):
        ends.extend((ids[u], ids[v]))
        weights.append(checked_weight(u, v, weight))
    pairs = np.frombuffer(ends, np.int64).reshape(-1, 2)
    graph = from_edges(
        pairs[:, 0], pairs[:, 1], names,
        nodes=nodes, weights=np.frombuffer(weights, np.float64), directed=source.is_directed(),
    )  # fmt: skip
    if fields.label is None:
        return graph
    values = [attributes.get(fields.label) for _, attributes in source.nodes(data=True)]
    known_labels = sorted({str(name) for _, attributes in source.nodes(data=True) for name in attributes})
    return graph.with_labels(labels_of_attribute(fields.label, values, known_labels, graph, origin))
