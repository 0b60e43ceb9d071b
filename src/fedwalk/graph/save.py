"""Write a graph and its labels as text files that `load_graph` and `load_labels` can read."""

from pathlib import Path

import numpy as np

from fedwalk.errors import InputError
from fedwalk.graph.graph import Graph


def save_edge_list(graph: Graph, path: str | Path) -> None:
    """Write one line `vertex vertex` per edge. Isolated vertices have no line, so the file lacks them."""
    owner = np.repeat(np.arange(graph.vertices), graph.degrees)
    once = owner < graph.indices
    pairs = zip(graph.names[owner[once]].tolist(), graph.names[graph.indices[once]].tolist(), strict=True)
    Path(path).write_text("".join(f"{u} {v}\n" for u, v in pairs), encoding="utf-8")


def save_labels(graph: Graph, path: str | Path) -> None:
    """Write one line `vertex label label …` per vertex with a label."""
    if graph.labels is None:
        raise InputError("the graph has no labels to save.")
    lines = (f"{name} {' '.join(graph.labels.of(v))}\n" for v, name in enumerate(graph.names.tolist()))
    Path(path).write_text("".join(line for line in lines if len(line.split()) > 1), encoding="utf-8")
