"""Reader for node-link JSON, as `networkx.node_link_data` and D3 write it: `nodes`, and `links` or `edges`."""

import json
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
from fedwalk.graph.sources import Content
from fedwalk.graph.text import text_of


def read_nodelink(content: Content, fields: Fields) -> Graph:
    """Read the nodes in their order, and the edges with their weights.

    >>> from pathlib import Path
    >>> text = b'{"nodes": [{"id": "a"}, {"id": "b"}], "links": [{"source": "a", "target": "b"}]}'
    >>> read_nodelink(Content(Path("pair.json"), text), Fields())
    Graph(2 vertices, 1 edge)
    """
    origin = str(content.path)
    text = text_of(content)
    try:
        value = json.loads(text.data)
    except (ValueError, RecursionError) as error:
        line = getattr(error, "lineno", 1)
        raise text.error(line, f"not readable as JSON ({error}); fix it or write the file again") from error
    nodes, edges = _parts(value, origin)
    ids = _ids(nodes, edges, origin)
    ends = [(_end(edge, "source", ids, number, origin), _end(edge, "target", ids, number, origin))
            for number, edge in enumerate(edges)]  # fmt: skip
    key = fields.weight or "weight"
    if fields.weight is not None and not any(key in edge for edge in edges):
        raise InputError(f"{origin}: no edge has the attribute {key!r}")
    weights = [checked_weight(edge["source"], edge["target"], edge.get(key, 1)) for edge in edges]
    names, kept = name_nodes(ids, origin)
    pairs = np.array(ends, np.int64).reshape(-1, 2)
    graph = from_edges(
        pairs[:, 0], pairs[:, 1], names,
        nodes=kept, weights=np.array(weights), directed=bool(value.get("directed", False)),
    )  # fmt: skip
    if fields.label is None:
        return graph
    values = [node.get(fields.label) for node in nodes]
    known = sorted({key for node in nodes for key in node} - {"id"})
    return graph.with_labels(labels_of_attribute(fields.label, values, known, graph, origin))


def _parts(value: Any, origin: str) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """The lists of nodes and edges."""
    keys = list(value)[:6] if isinstance(value, dict) else []
    edges = value.get("links", value.get("edges")) if isinstance(value, dict) else None
    nodes = value.get("nodes") if isinstance(value, dict) else None
    if not isinstance(nodes, list) or not isinstance(edges, list) or not nodes or not _objects([*nodes, *edges]):
        listed = f"an object with {', '.join(map(repr, keys))}" if keys else f"a JSON {type(value).__name__}"
        raise InputError(
            f"{origin}: expected node-link JSON, an object with the lists 'nodes' and 'links' (or 'edges'), found "
            f"{listed}; write it with networkx.node_link_data"
        )
    return nodes, edges


def _objects(values: list[Any]) -> bool:
    return all(isinstance(one, dict) for one in values)


def _ids(nodes: list[dict[str, Any]], edges: list[dict[str, Any]], origin: str) -> dict[Hashable, int]:
    """The number of each node id. Nodes without ids are named by their position, as D3 does."""
    if not any("id" in node for node in nodes):
        return {number: number for number in range(len(nodes))}
    ids: dict[Hashable, int] = {}
    for number, node in enumerate(nodes):
        name = _hashable(node.get("id"))
        if isinstance(name, bool | float) or name is None or name in ids:
            problem = "the same id as an earlier one" if name in ids else f"the id {name!r}"
            raise InputError(
                f"{origin}: node {number} has {problem}; give every node an id of its own, text or integer"
            )
        ids[name] = number
    return ids


def _end(edge: dict[str, Any], key: str, ids: dict[Hashable, int], number: int, origin: str) -> int:
    """The number of one end of an edge."""
    if key not in edge:
        raise InputError(f"{origin}: edge {number} has no {key!r}; give every edge a source and a target")
    place = ids.get(_hashable(edge[key]))
    if place is None:
        raise InputError(f"{origin}: the {key} {edge[key]!r} of edge {number} isn't the id of a node; add the node")
    return place


def _hashable(name: Any) -> Hashable:
    """A node id; JSON has lists where Python has tuples."""
    if isinstance(name, list):
        return tuple(map(_hashable, name))
    return name if isinstance(name, Hashable) else repr(name)
