"""Load a graph from a file of any supported format, or from a Python object: the one entrance for both."""

import warnings
from os import PathLike
from typing import Any

from fedwalk.errors import FedWalkWarning, InputError
from fedwalk.graph.adapters import from_object
from fedwalk.graph.fields import Fields
from fedwalk.graph.formats import check_format, read_graph
from fedwalk.graph.graph import Graph
from fedwalk.graph.labels import attribute_of
from fedwalk.graph.sources import read_content


def load_graph(
    graph: Any,
    /,
    *,
    format: str | None = None,  # noqa: A002
    labels: Any = None,
    source: str | None = None,
    target: str | None = None,
    weight: str | None = None,
) -> Graph:
    """Read a graph from a file or from a Python object.

    Self-loops are dropped, repeated edges are merged (their weights are added up), and both are counted; directions
    are ignored with a warning. `Graph.notes` says what was done.

    Parameters
    ----------
    graph : path or Python object
        A file is an edge list (`vertex vertex [weight]` per line), a table with a header (CSV, TSV, Parquet), an
        adjacency list, GraphML, GML, node-link JSON, Matrix Market, a MATLAB file with `network` and `group`, or a
        saved sparse matrix (`.npz`); it may be compressed (`.gz`, `.bz2`, `.zst`), and `-` is standard input. An
        object is a graph of networkx, igraph, PyG or DGL, an `edge_index`, a scipy sparse matrix, an array (edges in
        rows, or a square adjacency matrix), a list of pairs, a pandas, polars or Arrow table of edges, a dict of
        neighbours, or a `Graph`, which is returned unchanged.
    format : str, optional
        The format of the file, one of `fedwalk.graph.formats.FORMATS`; by default the one of its suffix and content.
    labels : optional
        Labels to attach: anything that `load_labels` takes, or `'attribute:NAME'` for a node attribute of the input.
    source, target : str, optional
        The columns of a table that have the two ends of an edge; by default those with well-known names.
    weight : str, optional
        The column or edge attribute that has the weights; by default `weight`, in a table also `weights`,
        `edge_weight`, `value` or `w`, and in a PyG `Data` `edge_weight`.

    Returns
    -------
    Graph
        Its vertices are in the order of the input: that of a Python object's nodes, or that in which a file first
        mentions them.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> path = Path(tempfile.mkdtemp(), "graph.txt")
    >>> _ = path.write_text("# a path of three\\n1 2\\n2 3\\n")
    >>> load_graph(path)
    Graph(3 vertices, 2 edges)
    >>> load_graph({"ann": ["bob"], "bob": ["cy"]}, labels={"ann": "chess", "cy": ["chess", "go"]})
    Graph(3 vertices, 2 edges, 2 labels)
    """
    attribute = attribute_of(labels)
    fields = Fields(source, target, weight, attribute)
    loaded = _load(graph, format, fields)
    if not isinstance(graph, Graph):
        _warn(loaded, str(graph) if isinstance(graph, str | PathLike) else "graph")
    if labels is None or attribute is not None:
        return loaded
    return loaded.with_labels(labels)


def _load(graph: Any, chosen: str | None, fields: Fields) -> Graph:
    if isinstance(graph, str | PathLike):
        check_format(chosen)  # before a large file is read
        return read_graph(read_content(graph), chosen, fields)
    if chosen is not None:
        raise InputError(f"format={chosen!r} says how to read a file, but a {type(graph).__name__} was given")
    if not isinstance(graph, Graph):
        return from_object(graph, fields)
    if fields != Fields():
        raise InputError("a Graph has no columns or attributes to choose from; load its source again")
    return graph


def _warn(graph: Graph, origin: str) -> None:
    """Warn about ignored directions; stacklevel 3 is the caller of `load_graph`."""
    if graph.cleaning.directed:
        message = f"{origin}: directed edges were made undirected"
        warnings.warn(message, FedWalkWarning, stacklevel=3)
