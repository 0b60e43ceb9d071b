"""Load a graph from a file of any supported format, or from a Python object.

To add a format, write a function from a path to a `Graph` in its own module, and register it in FORMATS.
"""

import warnings
from collections.abc import Callable
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from fedwalk.errors import FedWalkWarning, InputError
from fedwalk.graph.adjlist import read_adjlist
from fedwalk.graph.edgelist import read_edgelist
from fedwalk.graph.graph import Graph, Labels
from fedwalk.graph.labels import load_labels
from fedwalk.graph.matrix import from_matrix, read_mat, read_npz
from fedwalk.graph.objects import from_edge_array, from_networkx, is_networkx
from fedwalk.graph.text import existing_file

FORMATS: dict[str, Callable[[Path], Graph]] = {
    "edgelist": read_edgelist,
    "adjlist": read_adjlist,
    "mat": read_mat,
    "npz": read_npz,
}

SUFFIXES: dict[str, str] = {".adjlist": "adjlist", ".adj": "adjlist", ".mat": "mat", ".npz": "npz"}
"""Formats by suffix. Any other suffix means an edge list; a final `.gz` is ignored."""


def load_graph(
    source: Any,
    *,
    format: str | None = None,  # noqa: A002
    labels: str | PathLike[str] | Labels | None = None,
) -> Graph:
    """Read a graph from a file or from a Python object.

    Self-loops and repeated edges are dropped and counted, directions are ignored with a warning. `Graph.notes` says
    what was done.

    Parameters
    ----------
    source : path, networkx graph, scipy sparse matrix, array or list of pairs, or Graph
        A file is an edge list (`vertex vertex [weight]` per line), an adjacency list (`.adjlist`, `.adj`),
        a MATLAB file with `network` and `group` (`.mat`) or a saved sparse matrix (`.npz`). Text files
        may be gzipped. A `Graph` is returned unchanged.
    format : {'edgelist', 'adjlist', 'mat', 'npz'}, optional
        The format of the file; by default the one of its suffix.
    labels : path or Labels, optional
        Labels to attach; `load_labels` describes the file.

    Returns
    -------
    Graph
        Its vertices are in the order of the input: that of a Python object's nodes, or that in which a file first
        mentions them.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp(), "graph.txt")
    >>> _ = path.write_text("# a path of three\\n1 2\\n2 3\\n")
    >>> load_graph(path)
    Graph(3 vertices, 2 edges)
    """
    graph = _from_file(source, format) if isinstance(source, str | PathLike) else _from_object(source, format)
    if not isinstance(source, Graph):
        _warn(graph, str(source) if isinstance(source, str | PathLike) else "graph")
    if labels is None:
        return graph
    return graph.with_labels(labels if isinstance(labels, Labels) else load_labels(labels, graph))


def _from_file(source: str | PathLike[str], chosen: str | None) -> Graph:
    """Read a file in the chosen format or, if none is given, the one of its suffix."""
    if chosen is not None and chosen not in FORMATS:
        raise InputError(f"unknown graph format {chosen!r}; the formats are {', '.join(FORMATS)}")
    path = existing_file(source)
    packed = path.suffix.lower() == ".gz"
    suffix = Path(path.stem).suffix if packed else path.suffix
    name = chosen or SUFFIXES.get(suffix.lower(), "edgelist")
    if packed and name in ("mat", "npz"):
        raise InputError(f"{path}: only text files are read gzipped; unpack it first (gunzip)")
    return FORMATS[name](path)


def _from_object(source: Any, chosen: str | None) -> Graph:
    """Read a graph from a Python object that isn't a path."""
    if chosen is not None:
        raise InputError(f"format={chosen!r} says how to read a file, but a {type(source).__name__} was given")
    if isinstance(source, Graph):
        return source
    if sparse.issparse(source):
        return from_matrix(source)
    if is_networkx(source):
        return from_networkx(source)
    if isinstance(source, np.ndarray | list | tuple):
        return from_edge_array(source)
    raise InputError(
        f"can't read a graph from a {type(source).__name__}; give a path, a networkx graph, "
        "a scipy sparse matrix or an array of edges with two columns"
    )


def _warn(graph: Graph, origin: str) -> None:
    """Warn about ignored directions; stacklevel 3 is the caller of `load_graph`."""
    if graph.cleaning.directed:
        message = f"{origin}: directed edges were made undirected"
        warnings.warn(message, FedWalkWarning, stacklevel=3)
