"""Reader for adjacency lists: lines of `vertex neighbour neighbour …`; a vertex alone on its line is isolated."""

from array import array
from pathlib import Path

import numpy as np

from fedwalk.graph.build import from_edges
from fedwalk.graph.graph import Graph
from fedwalk.graph.names import parse_names
from fedwalk.graph.text import list_separator, read_text


def read_adjlist(path: Path) -> Graph:
    """Read a file with one vertex and its neighbours per line.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp(), "small.adjlist")
    >>> _ = path.write_text("a b c\\nb c\\nd\\n")
    >>> graph = read_adjlist(path)
    >>> graph, graph.isolated
    (Graph(4 vertices, 3 edges), 1)
    """
    text = read_text(path)
    # array("q") grows like a list, and numpy reads its memory without a copy.
    ids: dict[bytes, int] = {}
    source, target = array("q"), array("q")
    for number, fields in text.rows(list_separator(text)):
        if not all(fields):
            raise text.error(number, "an empty vertex name; fix the line or remove the extra separator")
        vertex, *neighbours = (ids.setdefault(field, len(ids)) for field in fields)
        source.extend([vertex] * len(neighbours))
        target.extend(neighbours)
    if not ids:
        raise text.error(1, "the file has no vertices; expected 'vertex neighbour neighbour …' on each line")
    names = parse_names([name.decode() for name in ids], str(path))
    return from_edges(np.frombuffer(source, np.int64), np.frombuffer(target, np.int64), names)
