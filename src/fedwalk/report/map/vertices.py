"""The data of the map: coordinates, colours, names and nearest vertices, packed for the page's script.

Numbers are little-endian arrays in base64. A vertex with several labels gets the colour of the rarest of its labels
that have a colour; otherwise the most frequent label would dominate the map.
"""

import base64
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fedwalk.errors import InputError
from fedwalk.graph import Labels
from fedwalk.report.map.layout import MIN_FOR_TSNE, lay_out, nearest, rows_to_draw
from fedwalk.report.source import Source
from fedwalk.run.folder import EMBEDDING_FILE
from fedwalk.util.parallel import Progress, silent
from fedwalk.util.text import counted

NUM_COLOURS = 10
NUM_NEAREST = 5
MAX_VECTOR_BYTES = 2_000_000
"""Larger vectors aren't put into the page, which names their file instead."""
SHAPES: tuple[tuple[tuple[float, float], ...], ...] = (
    (),
    ((-0.9, -0.9), (0.9, -0.9), (0.9, 0.9), (-0.9, 0.9)),
    ((0.0, -1.2), (1.1, 0.8), (-1.1, 0.8)),
    ((0.0, -1.3), (1.3, 0.0), (0.0, 1.3), (-1.3, 0.0)),
)
"""Corners of a circle (none), a square, a triangle and a diamond: colour-blind readers see groups by shape."""


@dataclass(frozen=True, slots=True)
class Group:
    """Vertices drawn in the same style: their label, their number, and the style's name in the style sheet."""

    name: str
    count: int
    style: str

    @property
    def shape(self) -> tuple[tuple[float, float], ...]:
        """The corners of the mark; none for a circle."""
        return SHAPES[int(self.style) % len(SHAPES)] if self.style.isdigit() else SHAPES[0]


@dataclass(frozen=True, slots=True)
class Map:
    """The content of the map: sentences about how it was made, its groups, the packed data, and the vectors' file."""

    text: tuple[str, ...]
    groups: tuple[Group, ...]
    data: dict[str, Any]

    file: str

    @property
    def drawn(self) -> int:
        """The number of vertices on the map."""
        return len(self.data["names"])


def make_map(source: Source, method: str, on_progress: Progress = silent) -> Map:
    """Lay out the vertices and pack the data of the map."""
    vectors = source.embedding.vectors
    rows = rows_to_draw(vectors)
    if rows.size == 0:
        raise InputError(f"{source.path}/embedding.npz: every vector is zero, so there is nothing to draw.")
    labels = source.graph.labels.take(rows) if source.graph and source.graph.labels else None
    group, groups = group_by_label(labels, rows.size)
    near, cosines = nearest(vectors[rows], NUM_NEAREST)
    data = {
        "names": [str(name) for name in source.embedding.nodes[rows].tolist()],
        "places": pack(quantise(lay_out(vectors[rows], method, on_progress)), "<i2"),
        "group": pack(group, "<u1"),
        "near": pack(near, "<u2"),
        "cosines": pack((cosines * 100).round(), "<i1"),
        "styles": [entry.style for entry in groups],
        "shapes": [entry.shape for entry in groups],
        "labels": list(labels.names) if labels else [],
        "carried": carried(labels) if labels else [],
        "degrees": source.graph.degrees[rows].tolist() if source.graph else [],
        **downloadable(source, rows),
    }
    return Map(tuple(_sentences(source, method, rows.size)), groups, data, str(source.path / EMBEDDING_FILE))


def downloadable(source: Source, rows: NDArray[np.int64]) -> dict[str, Any]:
    """All vectors, for the page's download: those drawn, then the zero vectors by name; none if they are too large.

    A page that draws a sample has no names for the other vertices, and would be too large with them.
    """
    vectors = source.embedding.vectors
    drawn = np.count_nonzero(vectors.any(axis=1)) == rows.size
    if not drawn or vectors[rows].nbytes > MAX_VECTOR_BYTES:
        return {"vectors": "", "dim": 0, "zeros": []}
    zeros = source.embedding.nodes[~vectors.any(axis=1)].tolist()
    return {
        "vectors": pack(vectors[rows], "<f4"), "dim": vectors.shape[1], "zeros": [str(name) for name in zeros],
    }  # fmt: skip


def group_by_label(labels: Labels | None, vertices: int) -> tuple[NDArray[np.int64], tuple[Group, ...]]:
    """The group of each vertex, and the groups: one per frequent label, then `other labels` and `no label`."""
    if labels is None:
        return np.zeros(vertices, np.int64), (Group("all vertices", vertices, "0"),)
    frequent = np.argsort(-labels.per_label, kind="stable")[:NUM_COLOURS]
    names = [*(labels.names[column] for column in frequent), "other labels", "no label"]
    styles = [*map(str, range(len(frequent))), "other", "none"]
    group = np.where(labels.per_vertex > 0, len(frequent), len(frequent) + 1)
    columns = labels.indicator.tocsc()
    # From the most to the least frequent, so that the rarest label of a vertex is the last one assigned.
    for i, column in enumerate(frequent):
        group[columns.indices[columns.indptr[column] : columns.indptr[column + 1]]] = i
    counts = np.bincount(group, minlength=len(names))
    used = np.flatnonzero(counts)
    renumbered = np.searchsorted(used, group)
    return renumbered, tuple(Group(names[i], int(counts[i]), styles[i]) for i in used)


def carried(labels: Labels) -> list[list[int]]:
    """The labels of each vertex, as indices."""
    indices, starts = labels.indicator.indices.tolist(), labels.indicator.indptr.tolist()
    return [indices[a:b] for a, b in pairwise(starts)]


def quantise(places: NDArray[np.float64]) -> NDArray[np.int16]:
    """Coordinates as 16-bit integers, with the same scale on both axes.

    >>> quantise(np.array([[0.0, 1.0], [4.0, 3.0]])).tolist()
    [[-32767, -16384], [32767, 16384]]
    """
    low, high = places.min(axis=0), places.max(axis=0)
    reach = float((high - low).max()) / 2 or 1.0
    return np.asarray(np.rint((places - (low + high) / 2) / reach * 32767), np.int16)


def pack(numbers: NDArray[Any], kind: str) -> str:
    """An array as base64."""
    return base64.b64encode(numbers.astype(kind).tobytes()).decode("ascii")


def _sentences(source: Source, method: str, drawn: int) -> list[str]:
    """Sentences about how the map was made and what it leaves out."""
    tsne = method == "tsne" and drawn >= MIN_FOR_TSNE
    how = (
        "t-SNE of the vectors' directions" if tsne else "The first two principal components of the vectors' directions"
    )
    caution = (
        "near vertices are similar, but large distances and cluster sizes mean little."
        if tsne
        else "they show only part of the differences."
    )
    text = [f"{how}: {caution}"]
    vectors = source.embedding.vectors
    present = int(np.count_nonzero(vectors.any(axis=1)))
    if present > drawn:
        text.append(
            f"A random sample of {drawn:,} of the {present:,} vertices is shown; nearest vertices are from the sample."
        )
    if present < len(vectors):
        text.append(f"{counted(len(vectors) - present, 'isolated vertex is', 'isolated vertices are')} left out.")
    if source.graph and source.graph.labels and int(source.graph.labels.per_vertex.max()) > 1:
        text.append("A vertex with several labels has the colour of the rarest of them that has a colour.")
    return text
