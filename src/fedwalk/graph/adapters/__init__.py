"""Graphs from the objects of other libraries, none of which is imported: an object is known by its class's module.

To add a library, write a function from its object to a `Graph` in a module of its own, and register it in ADAPTERS.
"""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from scipy import sparse

from fedwalk.errors import InputError
from fedwalk.graph.adapters.arrays import from_array
from fedwalk.graph.adapters.dgl import from_dgl
from fedwalk.graph.adapters.igraph import from_igraph
from fedwalk.graph.adapters.matrices import from_matrix
from fedwalk.graph.adapters.networkx import from_networkx, is_networkx
from fedwalk.graph.adapters.sequences import from_dict, from_pairs
from fedwalk.graph.adapters.tables import from_arrow_table, from_frame
from fedwalk.graph.adapters.torch import from_pyg, from_tensor
from fedwalk.graph.fields import Fields
from fedwalk.graph.graph import Graph

ADAPTERS: dict[str, Callable[[Any, Fields], Graph]] = {
    "igraph": from_igraph,
    "torch_geometric": from_pyg,
    "torch": from_tensor,
    "dgl": from_dgl,
    "pandas": from_frame,
    "polars": from_frame,
    "pyarrow": from_arrow_table,
}
"""By the package in which an object's class, or a base class of it, is defined."""

WITH_COLUMNS = ("pandas", "polars", "pyarrow")
"""Packages whose objects are tables of edges."""


def from_object(source: Any, fields: Fields) -> Graph:
    """Read a graph from a Python object."""
    package = package_of(source)
    if fields.named and package not in WITH_COLUMNS:
        raise InputError(f"source=… and target=… name columns of a table, but a {type(source).__name__} was given")
    if fields.label is not None and package in WITH_COLUMNS:
        raise InputError(
            f"labels from the attribute {fields.label!r}, but a table of edges has no node attributes; give the labels "
            "as a dict {node: label}, a Series or a file"
        )
    if package is not None and package in ADAPTERS:
        return ADAPTERS[package](source, fields)
    if is_networkx(source):
        return from_networkx(source, fields)
    weighted = isinstance(source, Mapping)
    if fields.label is not None or (fields.weight is not None and not weighted):
        raise InputError(f"a {type(source).__name__} has no attributes to choose labels or weights from")
    if sparse.issparse(source):
        return from_matrix(source)
    if isinstance(source, np.ndarray):
        return from_array(source, fields)
    if isinstance(source, Mapping):
        return from_dict(source, fields)
    if isinstance(source, list | tuple):
        return from_pairs(source, fields)
    raise InputError(
        f"can't read a graph from a {type(source).__name__}; give a path, a graph of networkx, igraph, PyG or DGL, a "
        "data frame of edges, a scipy sparse matrix, an array of edges with two columns, or a dictionary of neighbours"
    )


def package_of(source: object) -> str | None:
    """The package of the object's class or of its first base class that has an adapter.

    >>> package_of([1, 2]) is None
    True
    """
    packages = (cls.__module__.partition(".")[0] for cls in type(source).__mro__)
    return next((package for package in packages if package in ADAPTERS), None)
