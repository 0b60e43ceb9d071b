"""Reader for igraph graphs: vertices are called by their attribute `name`, or 0 … n−1 if they have none."""

from typing import Any

import numpy as np

from fedwalk.errors import InputError
from fedwalk.graph.adapters.weights import checked_weight
from fedwalk.graph.build import from_edges
from fedwalk.graph.fields import Fields
from fedwalk.graph.graph import Graph
from fedwalk.graph.labels import labels_of_attribute
from fedwalk.graph.names import name_nodes


def from_igraph(source: Any, fields: Fields) -> Graph:
    """Read an `igraph.Graph`, with its edge attribute `weight` or the chosen one."""
    if not hasattr(source, "get_edgelist"):
        raise InputError(f"can't read a graph from an igraph {type(source).__name__}; give an igraph.Graph")
    n = source.vcount()
    if n == 0:
        raise InputError("the igraph graph has no vertices")
    names, nodes = name_nodes(source.vs["name"] if "name" in source.vs.attributes() else range(n))
    pairs = np.array(source.get_edgelist(), np.int64).reshape(-1, 2)
    key = fields.weight or "weight"
    weights = None
    if key in source.es.attributes():
        called = names.tolist()
        values = zip(pairs.tolist(), source.es[key], strict=True)
        weights = np.array([checked_weight(called[u], called[v], value) for (u, v), value in values])
    elif fields.weight is not None:
        listed = ", ".join(map(repr, source.es.attributes())) or "none"
        raise InputError(f"no edge attribute {key!r} in the igraph graph (weight=…); its attributes are: {listed}")
    directed = source.is_directed()
    graph = from_edges(pairs[:, 0], pairs[:, 1], names, nodes=nodes, weights=weights, directed=directed)
    if fields.label is None:
        return graph
    known = source.vs.attributes()
    values_of = source.vs[fields.label] if fields.label in known else [None] * n
    return graph.with_labels(labels_of_attribute(fields.label, values_of, known, graph, "graph"))
