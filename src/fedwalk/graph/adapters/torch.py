"""Readers for PyTorch Geometric's `Data` and for its `edge_index`, a bare tensor of shape 2 × E."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fedwalk.errors import InputError
from fedwalk.graph.adapters.arcs import from_arcs
from fedwalk.graph.fields import Fields
from fedwalk.graph.graph import Graph
from fedwalk.graph.labels import labels_of_attribute


def from_tensor(source: Any, fields: Fields) -> Graph:
    """Read an `edge_index`: a tensor is always 2 × E, even if E is 2."""
    if not hasattr(source, "detach"):
        raise InputError(f"can't read a graph from a {type(source).__name__}; give an edge_index or a PyG Data")
    if getattr(source, "is_sparse", False) or "sparse" in str(getattr(source, "layout", "")):
        raise InputError("can't read a sparse tensor; give its indices() as edge_index, or a scipy sparse matrix")
    array = as_array(source)
    if array.ndim != 2 or array.shape[0] != 2:
        raise InputError(
            f"a tensor is read as an edge_index of shape (2, E), this one has shape {tuple(array.shape)}; "
            "transpose it with .t() if it has one edge per row"
        )
    _refuse_label(fields, "a tensor")
    return from_arcs(array[0], array[1])


def from_pyg(source: Any, fields: Fields) -> Graph:
    """Read a `torch_geometric.data.Data`, with `edge_weight` or the chosen edge attribute as weights."""
    if not hasattr(source, "edge_index") or hasattr(source, "node_types"):
        advice = "call its to_homogeneous() first" if hasattr(source, "to_homogeneous") else "give a Data object"
        raise InputError(f"can't read a graph from a PyG {type(source).__name__}; {advice}")
    if source.edge_index is None:
        raise InputError("the PyG Data has no edge_index; set it (adj_t alone isn't read)")
    index = as_array(source.edge_index)
    key = fields.weight or "edge_weight"
    weights = None
    if key in source.keys():  # noqa: SIM118 – a method of Data; `in source` means the same only in new versions
        weights = flat_weights(as_array(source[key]), key)
    elif fields.weight is not None:
        raise InputError(f"the PyG Data has no {key!r} (weight=…); it has {', '.join(map(repr, source.keys()))}")
    graph = from_arcs(index[0], index[1], source.num_nodes, weights)
    if fields.label is None:
        return graph
    known = [name for name in source.keys() if not name.startswith("edge_")]  # noqa: SIM118
    values = as_array(source[fields.label]) if fields.label in known else [None] * graph.vertices
    return graph.with_labels(labels_of_attribute(fields.label, values, known, graph, "graph"))


def as_array(tensor: Any) -> NDArray[Any]:
    """A tensor as a numpy array, from whatever device."""
    return np.asarray(tensor.detach().cpu().numpy())


def flat_weights(array: NDArray[Any], key: str) -> NDArray[Any]:
    """Weights of shape E or E × 1."""
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim != 1 or array.dtype.kind not in "buif":
        raise InputError(f"{key!r} has shape {array.shape}, but a weight is one number per edge; choose another weight")
    return array


def _refuse_label(fields: Fields, what: str) -> None:
    if fields.label is not None or fields.weight is not None:
        raise InputError(f"{what} has no attributes; give labels as a sequence, and weights in a PyG Data")
