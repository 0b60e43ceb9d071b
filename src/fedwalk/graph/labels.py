"""Read the labels of a graph's vertices from a file or a Python object: a dict, a Series, a sequence or a matrix."""

import shlex
from collections.abc import Callable, Mapping, Sequence
from os import PathLike
from typing import Any

import numpy as np
from scipy import sparse

from fedwalk.errors import InputError
from fedwalk.graph.assigned_labels import Assigned, checked_labels, vertices_by_text
from fedwalk.graph.graph import Graph, Labels
from fedwalk.graph.text import Text, list_separator, read_text
from fedwalk.util.text import counted

_HEADER = (
    ("vertex", "node", "id", "node_id", "nodeid", "name", "user", "user_id", "vertex_id"),
    ("label", "labels", "class", "group", "groups", "target", "category", "community", "y", "label_id", "group_id"),
)


def load_labels(source: Any, graph: Graph) -> Labels:
    """Read the labels of a graph's vertices.

    Parameters
    ----------
    source : path, dict, pandas or polars Series, array, scipy sparse matrix, sequence or Labels
        A text file has lines of a vertex and its labels, separated by tabs, commas, semicolons or white space; a vertex
        may occur on several lines. Lines that begin with # or % are comments; the file may be compressed. A dict has
        the label of each node, or several in a list, set or tuple; a pandas Series has the nodes as its index. A
        sequence has the label, or labels, of each node in the order of the graph's nodes. A matrix has a row for each
        node, a column for each label, and only 0 and 1; but an array with one column has the label of each node, as in
        scikit-learn.
    graph : Graph
        The graph that the labels belong to. Vertices that it doesn't have are skipped with a warning.

    Returns
    -------
    Labels
        One row per vertex of the graph, and one column per label, in the order of the labels' names.

    Raises
    ------
    InputError
        If less than half of the labelled vertices are in the graph, or if a labelled vertex has more than 50 labels on
        average, or if the labels are vertices themselves, as in a list of communities.

    Examples
    --------
    >>> from fedwalk.graph import load_graph
    >>> graph = load_graph([("ann", "bob"), ("bob", "cy")])
    >>> labels = load_labels({"ann": ["chess", "go"], "bob": "go"}, graph)
    >>> labels.names, labels.indicator.toarray().tolist()
    (('chess', 'go'), [[1, 1], [0, 1], [0, 0]])
    """
    if isinstance(source, Labels):
        return source
    if isinstance(source, str | PathLike):
        return _from_file(source, graph)
    if hasattr(source, "detach"):
        source = source.detach().cpu().numpy()
    if isinstance(source, np.ndarray) and source.ndim == 2 and source.shape[1] == 1:
        source = source[:, 0]
    if sparse.issparse(source) or (isinstance(source, np.ndarray) and source.ndim == 2):
        return _from_indicator(source, graph)
    if isinstance(source, Mapping):
        return _from_mapping(source, graph)
    if hasattr(source, "to_list") and hasattr(source, "index"):
        return _from_series(source, graph)
    if isinstance(source, list | tuple | np.ndarray) or hasattr(source, "to_list"):
        return _from_sequence(source, graph)
    raise InputError(
        f"can't read labels from a {type(source).__name__}; give a file, a dict, a Series, a matrix of 0 and 1, or a "
        "sequence with the label of each node"
    )


def attribute_of(labels: Any) -> str | None:
    """The name of the node attribute in `attribute:NAME`; None if the labels are something else.

    >>> attribute_of("attribute:club"), attribute_of("labels.txt")
    ('club', None)
    """
    return labels.removeprefix("attribute:") if isinstance(labels, str) and labels.startswith("attribute:") else None


def labels_of_attribute(name: str, values: Any, known: Sequence[str], graph: Graph, origin: str) -> Labels:
    """Labels from the values of a node attribute, one per node in the graph's order."""
    if name not in known:
        listed = ", ".join(map(repr, known)) or "none"
        raise InputError(f"{origin}: no node has the attribute {name!r}; the node attributes are: {listed}")
    return load_labels(values, graph)


def _from_file(path: str | PathLike[str], graph: Graph) -> Labels:
    if (name := attribute_of(path)) is not None:
        raise InputError(f"labels {str(path)!r}: the attribute {name!r} is read with the graph; give it to load_graph")
    text = read_text(path)
    assigned = _read_lines(text, graph)
    command = "awk '{for (i = 1; i <= NF; i++) print $i, NR}'"
    advice = f"lines of 'vertex community' are needed: {command} {shlex.quote(str(text.path))} > labels.txt makes them"
    return checked_labels(assigned, graph, str(text.path), advice)


def _read_lines(text: Text, graph: Graph) -> Assigned:
    """The labels on the lines of a file."""
    ids = vertices_by_text(graph)
    assigned = Assigned()
    for place, (number, fields) in enumerate(text.rows(list_separator(text))):
        if not all(fields):
            raise text.error(number, "an empty vertex or label; fix the line or remove the extra separator")
        name, *labels = (field.decode() for field in fields)
        if place == 0 and name not in ids and _is_header(name, labels):
            continue
        assigned.add(ids.get(name), name, labels)
    if not assigned.known and not assigned.unknown:
        raise text.error(1, "the file has no labels; expected 'vertex label label …' on each line")
    return assigned


def _is_header(name: str, labels: list[str]) -> bool:
    return name.casefold() in _HEADER[0] and len(labels) == 1 and labels[0].casefold() in _HEADER[1]


def _from_mapping(source: Mapping[Any, Any], graph: Graph) -> Labels:
    """{node: label or labels}."""
    vertex_of = _finder(graph)
    assigned = Assigned()
    for node, value in source.items():
        assigned.add(vertex_of(node), str(node), _several(value))
    if not source:
        raise InputError("labels: the dictionary is empty; give the label of each node")
    advice = "turn it around: {member: [communities of the member]}"
    return checked_labels(assigned, graph, "labels", advice)


def _from_series(source: Any, graph: Graph) -> Labels:
    """A pandas Series, whose index has the nodes; a node may occur more than once."""
    vertex_of = _finder(graph)
    assigned = Assigned()
    for node, value in zip(source.index.tolist(), source.to_list(), strict=True):
        assigned.add(vertex_of(node), str(node), _several(value))
    advice = "turn it around, so that the index has the vertices and the values are the communities"
    return checked_labels(assigned, graph, "labels (the index of a pandas Series has the nodes)", advice)


def _from_sequence(source: Any, graph: Graph) -> Labels:
    """The label or labels of each node, in the order of the nodes."""
    values = source.to_list() if hasattr(source, "to_list") else list(source)
    if len(values) != graph.vertices:
        raise InputError(
            f"labels: {counted(len(values), 'value', 'values')} for {counted(graph.vertices, 'vertex', 'vertices')}; "
            "give one for each node in the order of graph.nodes, or a dict {node: label}"
        )
    if _could_be_indicator(values):
        raise InputError("labels: lists of 0 and 1 are ambiguous; give an indicator matrix as a numpy array")
    assigned = Assigned()
    for vertex, value in enumerate(values):
        assigned.add(vertex, "", _several(value))
    return checked_labels(assigned, graph, "labels", "give lists of labels")


def _could_be_indicator(values: list[Any]) -> bool:
    """Whether all values are lists of 0, 1 and missing values with the same length above 1."""
    lengths = {len(value) if isinstance(value, list | tuple) else 0 for value in values}
    return len(lengths) == 1 and lengths.pop() > 1 and all(_is_entry(one) for value in values for one in value)


def _is_entry(value: Any) -> bool:
    """Whether an indicator matrix could have this entry: 0, 1 or a missing value."""
    # Only numbers are compared: the comparison of an array or of pandas.NA has no truth value.
    return not _several(value) or (isinstance(value, int | float | np.bool_ | np.number) and value in (0, 1))


def _from_indicator(source: Any, graph: Graph) -> Labels:
    """A matrix with a row for each vertex and a column for each label."""
    matrix: Any = sparse.coo_array(source) if source.dtype.kind in "buif" else None
    if matrix is None or matrix.shape[0] != graph.vertices or matrix.shape[1] < 1:
        raise InputError(
            f"labels: an array of {source.dtype} of shape {source.shape}; a matrix of labels has 0 and 1, a row for "
            f"each of {counted(graph.vertices, 'vertex', 'vertices')}, and a column for each label"
        )
    if matrix.shape[1] == 1:
        raise InputError(
            "labels: a sparse matrix with one column could be one label, or the label of each node; give a list with "
            "the label of each node, None for nodes without one"
        )
    data = matrix.tocsr().data
    if not np.all((data == 0) | (data == 1)):
        raise InputError(
            "labels: a matrix of labels has only 0 and 1; give one label per node as an array of one dimension, or "
            "a dict {node: label}"
        )
    return Labels(sparse.csr_array(matrix), tuple(map(str, range(matrix.shape[1]))))


def _several(value: Any) -> list[str]:
    """The labels in a value: one, several in a container, or none (None and NaN)."""
    if isinstance(value, list | tuple | set | frozenset | np.ndarray):
        return [label for one in value for label in _several(one)]
    # pandas.NA must be recognised by its text first: `value != value` raises an error for it.
    if value is None or str(value) in ("", "<NA>") or value != value:
        return []
    if isinstance(value, float | np.floating) and float(value).is_integer():
        return [str(int(value))]
    return [str(value)]


def _finder(graph: Graph) -> Callable[[Any], int | None]:
    """A function from a node to its vertex, or None: nodes are equal to a node of the graph, or have its text.

    The text alone isn't enough: equal sets can have different texts.
    """
    by_text = vertices_by_text(graph)
    by_node: dict[Any, int] = {node: vertex for vertex, node in enumerate(graph.nodes)}

    def vertex_of(node: Any) -> int | None:
        try:
            # True equals 1, but doesn't name the node 1.
            equal = None if isinstance(node, bool | np.bool_) else by_node.get(node)
        except TypeError:  # not hashable, so no node
            equal = None
        return by_text.get(str(node)) if equal is None else equal

    return vertex_of
