"""Reader for labels as text: lines of `vertex label label …`."""

import warnings
from os import PathLike

import numpy as np
from scipy import sparse

from fedwalk.errors import FedWalkWarning, InputError
from fedwalk.graph.graph import Graph, Labels
from fedwalk.graph.names import rank_names
from fedwalk.graph.text import Text, existing_file, list_separator, read_text
from fedwalk.util.text import counted


def load_labels(path: str | PathLike[str], graph: Graph) -> Labels:
    """Read the labels of a graph's vertices.

    Parameters
    ----------
    path : path
        A text file with lines of a vertex and its labels, separated by tabs, commas, semicolons or white space.
        Lines that begin with # or % are comments; the file may be gzipped. A vertex may occur on several lines.
    graph : Graph
        The graph that the labels belong to. Vertices that it doesn't have are skipped with a warning.

    Returns
    -------
    Labels
        One row per vertex of the graph, and one column per label, in the order of the labels' names.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from fedwalk.graph import load_graph
    >>> path = Path(tempfile.mkdtemp(), "groups.txt")
    >>> _ = path.write_text("ann chess go\\nbob go\\n")
    >>> labels = load_labels(path, load_graph([("ann", "bob"), ("bob", "cy")]))
    >>> labels.names, labels.indicator.toarray().tolist()
    (('chess', 'go'), [[1, 1], [0, 1], [0, 0]])
    """
    text = read_text(existing_file(path))
    ids = {str(name): vertex for vertex, name in enumerate(graph.names.tolist())}
    pairs, unknown = _read_pairs(text, ids)
    columns: dict[str, int] = {}
    entries = np.array([(v, columns.setdefault(label, len(columns))) for v, label in pairs], np.int64)
    if not columns:
        raise InputError(f"{path}: no vertex has a label; expected 'vertex label label …' on each line")
    if unknown:
        few = ", ".join(map(repr, list(unknown)[:3]))
        message = f"{path}: {counted(len(unknown), 'vertex', 'vertices')} not in the graph skipped, such as {few}"
        warnings.warn(message, FedWalkWarning, stacklevel=2)
    names, rank = rank_names(list(columns), str(path))
    values = np.ones(len(entries), dtype=np.uint8)
    shape = (graph.vertices, len(names))
    indicator = sparse.coo_array((values, (entries[:, 0], rank[entries[:, 1]])), shape=shape)
    return Labels(indicator.tocsr(), tuple(map(str, names.tolist())))


def _read_pairs(text: Text, ids: dict[str, int]) -> tuple[list[tuple[int, str]], dict[str, None]]:
    """(vertex, label) pairs of the graph's vertices, and the names of vertices that aren't in the graph."""
    pairs: list[tuple[int, str]] = []
    known, unknown = False, dict[str, None]()
    for number, fields in text.rows(list_separator(text)):
        if not all(fields):
            raise text.error(number, "an empty vertex or label; fix the line or remove the extra separator")
        name, *labels = (field.decode() for field in fields)
        if name not in ids:
            unknown[name] = None
            continue
        known = True
        pairs.extend((ids[name], label) for label in labels)
    if not known and not unknown:
        raise text.error(1, "the file has no labels; expected 'vertex label label …' on each line")
    if not known:
        theirs, ours = next(iter(unknown)), next(iter(ids))
        raise InputError(
            f"{text.path}: none of its vertices is in the graph; it has names like {theirs!r}, "
            f"the graph has names like {ours!r}; use the labels of this graph"
        )
    return pairs, unknown
