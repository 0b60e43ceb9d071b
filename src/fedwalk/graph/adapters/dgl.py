"""Reader for homogeneous DGL graphs, with the edge data `weight` or the chosen ones as weights."""

from typing import Any

from fedwalk.errors import InputError
from fedwalk.graph.adapters.arcs import from_arcs
from fedwalk.graph.adapters.torch import as_array, flat_weights
from fedwalk.graph.fields import Fields
from fedwalk.graph.graph import Graph
from fedwalk.graph.labels import labels_of_attribute


def from_dgl(source: Any, fields: Fields) -> Graph:
    """Read a `dgl.DGLGraph`."""
    if not hasattr(source, "is_homogeneous") or not source.is_homogeneous:
        raise InputError("can't read a DGL graph with several types of nodes or edges; call dgl.to_homogeneous first")
    one, other = (as_array(ends) for ends in source.edges())
    key = fields.weight or "weight"
    weights = None
    if key in source.edata:
        weights = flat_weights(as_array(source.edata[key]), key)
    elif fields.weight is not None:
        raise InputError(f"the DGL graph has no edge data {key!r} (weight=…); it has {sorted(source.edata)}")
    graph = from_arcs(one, other, source.num_nodes(), weights)
    if fields.label is None:
        return graph
    known = sorted(source.ndata)
    values = as_array(source.ndata[fields.label]) if fields.label in known else [None] * graph.vertices
    return graph.with_labels(labels_of_attribute(fields.label, values, known, graph, "graph"))
