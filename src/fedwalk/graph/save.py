"""Write a graph and its labels as text files that `load_graph` and `load_labels` can read."""

from pathlib import Path

import numpy as np

from fedwalk.errors import InputError
from fedwalk.graph.graph import Graph
from fedwalk.util.files import replace_file


def save_edge_list(graph: Graph, path: str | Path) -> None:
    """Write one line `vertex vertex [weight]` per edge. Isolated vertices have no line, so the file lacks them.

    The separator is a space, or a tab if a name has a space in it.
    """
    owner = np.repeat(np.arange(graph.vertices), graph.degrees)
    once = owner < graph.indices
    columns = [graph.names[owner[once]].tolist(), graph.names[graph.indices[once]].tolist()]
    if graph.weights is not None:
        columns.append(list(map(repr, graph.weights[once].tolist())))
    separator = _separator(graph)
    lines = (f"{separator.join(map(str, row))}\n" for row in zip(*columns, strict=True))
    replace_file(Path(path), lambda file: file.writelines(line.encode() for line in lines))


def _separator(graph: Graph) -> str:
    """A space or a tab; InputError for names that would be read back as something else."""
    names = [str(name) for name in graph.names.tolist()]
    for name in names:
        if name.startswith(("#", "%")) or name.strip() != name or set(name) & set('\t\n\r,;"'):
            raise InputError(f"the vertex {name!r} can't be written into an edge list; rename it")
    return "\t" if any(name.split() != [name] for name in names) else " "


def save_labels(graph: Graph, path: str | Path) -> None:
    """Write one line `vertex label label …` per vertex with a label."""
    if graph.labels is None:
        raise InputError("the graph has no labels to save.")
    lines = (f"{name} {' '.join(graph.labels.of(v))}\n" for v, name in enumerate(graph.names.tolist()))
    Path(path).write_text("".join(line for line in lines if len(line.split()) > 1), encoding="utf-8")
