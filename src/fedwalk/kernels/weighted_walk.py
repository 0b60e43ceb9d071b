"""Walks over a weighted graph that the server holds (protocol `ldp`): no device takes part, so no hop is sent.

A visit writes the vertex itself and up to FAN draws from its row, then moves on by another draw. In a noisy graph
every edge that is followed may be none: this way two entries in one window are at most a few edges apart.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fedwalk.kernels.jit import kernel, lean_kernel
from fedwalk.kernels.random import WALK, draw, stream, uniform
from fedwalk.kernels.windows import alias_table

FAN = 9
"""With the vertex itself, a visit fills the paper's window of 10."""


class Rows(NamedTuple):
    """Alias tables, one per row: place j stays indices[j] with chance cut[j], else it becomes alias[j]."""

    indptr: NDArray[np.int64]
    indices: NDArray[np.int32]
    cut: NDArray[np.float32]
    alias: NDArray[np.int32]


@kernel
def alias_rows(indptr: NDArray[np.int64], indices: NDArray[np.int32], weights: NDArray[np.float32]) -> Rows:
    """The tables of all rows; a row without weight is drawn from uniformly."""
    cut, alias = np.ones(indices.size, np.float32), indices.copy()
    for v in range(indptr.size - 1):
        begin, end = indptr[v], indptr[v + 1]
        row = weights[begin:end].astype(np.float64)
        if row.sum() > 0.0:
            table = alias_table(row)
            cut[begin:end] = table.cut
            for j in range(begin, end):
                alias[j] = indices[begin + table.alias[j - begin]]
    return Rows(indptr, indices, cut, alias)


@lean_kernel
def _step(rows: Rows, vertex: int, bits: np.uint64) -> int:
    """A draw from the vertex's row; the vertex itself if that is empty."""
    begin = rows.indptr[vertex]
    size = rows.indptr[vertex + 1] - begin
    if size == 0:
        return vertex
    point = uniform(bits) * size
    place = int(point)
    stays = point - place < rows.cut[begin + place]
    return int(rows.indices[begin + place] if stays else rows.alias[begin + place])


@lean_kernel
def weighted_walks(rows: Rows, seed: int, begin: int, end: int, out: NDArray[np.int32]) -> None:
    """Walks begin … end − 1, one row of `out` each; walk w starts at vertex w mod n."""
    n = rows.indptr.size - 1
    for walk in range(begin, end):
        key, row, at, drawn = stream(seed, WALK, walk), walk - begin, 0, 0
        vertex = walk % n
        while at < out.shape[1]:
            out[row, at] = vertex
            at += 1
            for _ in range(min(FAN, out.shape[1] - at)):
                out[row, at] = _step(rows, vertex, draw(key, drawn))
                at += 1
                drawn += 1
            vertex = _step(rows, vertex, draw(key, drawn))
            drawn += 1
