"""Reader for adjacency lists: lines of `vertex neighbour neighbour …`; a vertex alone on its line is isolated."""

from array import array

import numpy as np

from fedwalk.graph.build import from_edges
from fedwalk.graph.fields import Fields
from fedwalk.graph.graph import Graph
from fedwalk.graph.names import parse_names
from fedwalk.graph.sources import Content
from fedwalk.graph.text import list_separator, text_of


def read_adjlist(content: Content, fields: Fields) -> Graph:
    """Read a file with one vertex and its neighbours per line.

    >>> from pathlib import Path
    >>> graph = read_adjlist(Content(Path("small.adjlist"), b"a b c\\nb c\\nd\\n"), Fields())
    >>> graph, graph.isolated
    (Graph(4 vertices, 3 edges), 1)
    """
    text = text_of(content)
    # array("q") grows like a list, and numpy reads its memory without a copy.
    ids: dict[bytes, int] = {}
    source, target = array("q"), array("q")
    for number, names_of_line in text.rows(list_separator(text)):
        if not all(names_of_line):
            raise text.error(number, "an empty vertex name; fix the line or remove the extra separator")
        vertex, *neighbours = (ids.setdefault(name, len(ids)) for name in names_of_line)
        source.extend([vertex] * len(neighbours))
        target.extend(neighbours)
    if not ids:
        raise text.error(1, "the file has no vertices; expected 'vertex neighbour neighbour …' on each line")
    names = parse_names([name.decode() for name in ids], str(text.path))
    return from_edges(np.frombuffer(source, np.int64), np.frombuffer(target, np.int64), names)
