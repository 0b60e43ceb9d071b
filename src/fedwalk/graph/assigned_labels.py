"""Labels assigned to vertices one by one, checked and then turned into `Labels`.

Labels that can't belong to the graph are refused: scores on them would look plausible, but mean nothing.
"""

import warnings
from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from fedwalk.errors import FedWalkWarning, InputError
from fedwalk.graph.graph import Graph, Labels
from fedwalk.graph.names import rank_names
from fedwalk.util.text import counted

MIN_KNOWN = 1 / 2
"""The least share of the labelled vertices that must be in the graph. Labels of another graph with integer names pass
only if that graph is about as large; partly labelled graphs always pass."""

MAX_MEAN_LABELS = 50
"""The largest mean number of labels of a labelled vertex. More are a list of communities, or another table."""


@dataclass(slots=True)
class Assigned:
    """What was read: (vertex, label) pairs of the graph's vertices, and the names of other vertices."""

    pairs: list[tuple[int, str]] = field(default_factory=list)
    known: set[int] = field(default_factory=set)
    unknown: dict[str, None] = field(default_factory=dict)

    def add(self, vertex: int | None, name: str, labels: Iterable[str]) -> None:
        """Add the labels of one vertex, which is None if the graph doesn't have it."""
        if vertex is None:
            self.unknown[name] = None
            return
        self.known.add(vertex)
        self.pairs.extend((vertex, label) for label in labels)


def vertices_by_text(graph: Graph) -> dict[str, int]:
    """The number of each vertex, by the text of its name."""
    return {str(name): vertex for vertex, name in enumerate(graph.names.tolist())}


def checked_labels(assigned: Assigned, graph: Graph, origin: str, advice: str) -> Labels:
    """The labels, if they can be those of the graph's vertices."""
    known, unknown = len(assigned.known), len(assigned.unknown)
    if unknown:
        _check_known(assigned, graph, origin)
    columns: dict[str, int] = {}
    entries = np.array([(v, columns.setdefault(label, len(columns))) for v, label in assigned.pairs], np.int64)
    if not columns:
        raise InputError(f"{origin}: no vertex has a label; expected 'vertex label label …' on each line")
    _check_sensible(columns, entries, known, graph, origin, advice)
    if unknown:
        few = ", ".join(map(repr, list(assigned.unknown)[:3]))
        message = f"{origin}: {counted(unknown, 'vertex', 'vertices')} not in the graph skipped, such as {few}"
        warnings.warn(message, FedWalkWarning, stacklevel=4)
    names, rank = rank_names(list(columns), origin)
    values = np.ones(len(entries), dtype=np.uint8)
    shape = (graph.vertices, len(names))
    indicator = sparse.coo_array((values, (entries[:, 0], rank[entries[:, 1]])), shape=shape)
    return Labels(indicator.tocsr(), tuple(map(str, names.tolist())))


def _check_known(assigned: Assigned, graph: Graph, origin: str) -> None:
    """Raise InputError if too few of the labelled vertices are in the graph."""
    known, unknown = len(assigned.known), len(assigned.unknown)
    theirs, ours = next(iter(assigned.unknown)), str(graph.names[0])
    if not known:
        raise InputError(
            f"{origin}: none of its vertices is in the graph; it has names like {theirs!r}, "
            f"the graph has names like {ours!r}; use the labels of this graph"
        )
    if known < MIN_KNOWN * (known + unknown):
        raise InputError(
            f"{origin}: only {known:,} of its {counted(known + unknown, 'vertex is', 'vertices are')} in the graph "
            f"(not {theirs!r}, for example), so these are probably the labels of another graph. If the graph is "
            "a part of a larger one, keep only the labels of its vertices"
        )


def _check_sensible(
    columns: dict[str, int], entries: NDArray[np.int64], known: int, graph: Graph, origin: str, advice: str
) -> None:
    """Raise InputError for a list of communities, and for far too many labels."""
    vertices = vertices_by_text(graph)
    are_vertices = sum(label in vertices for label in columns)
    if len(columns) > max(10, known) and 2 * are_vertices >= len(columns):
        raise InputError(
            f"{origin}: {counted(known, 'vertex has', 'vertices have')} {len(columns):,} labels, of which "
            f"{are_vertices:,} are vertices of the graph: this looks like a list of communities and their "
            f"members; {advice}"
        )
    if len(entries) > MAX_MEAN_LABELS * known:
        raise InputError(
            f"{origin}: {len(entries) / known:,.0f} labels per vertex on average ({len(columns):,} labels, {known:,} "
            f"vertices), more than {MAX_MEAN_LABELS}; is it another kind of file? If each line is a community, "
            f"{advice}. If it is right, give the labels as a matrix of 0 and 1"
        )
