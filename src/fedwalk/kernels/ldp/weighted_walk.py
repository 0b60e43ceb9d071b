"""Walks over the weighted graph that the server of `ldp` decodes. No device takes part, so nothing is sent.

A visit writes the vertex itself and up to FAN draws from its row, then moves on by another draw. In a noisy graph an
edge that is followed may not exist. With many entries per visit, two entries in one SkipGram window are at most a few
such edges apart.
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
    """One alias table per row: a draw of place j gives indices[j] with probability cut[j], and alias[j] otherwise.

    So a weighted draw costs one random number and two reads, however long the row is.
    """

    indptr: NDArray[np.int64]
    indices: NDArray[np.int32]
    cut: NDArray[np.float32]
    alias: NDArray[np.int32]


@kernel
def alias_rows(indptr: NDArray[np.int64], indices: NDArray[np.int32], weights: NDArray[np.float32]) -> Rows:
    """Build the tables of all rows; a row whose weights are all zero is drawn from uniformly."""
    # The defaults, a cut of one and each place its own alias, are the uniform table.
    cut, alias = np.ones(indices.size, np.float32), indices.copy()
    for v in range(indptr.size - 1):
        begin, end = indptr[v], indptr[v + 1]
        # In double precision, because building the table adds up the rounding errors of a whole row.
        row = weights[begin:end].astype(np.float64)
        if row.sum() > 0.0:
            table = alias_table(row)
            cut[begin:end] = table.cut
            for j in range(begin, end):
                alias[j] = indices[begin + table.alias[j - begin]]
    return Rows(indptr, indices, cut, alias)


@lean_kernel
def _step(rows: Rows, vertex: int, bits: np.uint64) -> int:
    """A draw from the vertex's row, or the vertex itself if the row is empty."""
    begin = rows.indptr[vertex]
    size = rows.indptr[vertex + 1] - begin
    if size == 0:
        return vertex
    # One number serves for both choices: its whole part names the place, its fraction is compared with the cut.
    point = uniform(bits) * size
    place = int(point)
    stays = point - place < rows.cut[begin + place]
    return int(rows.indices[begin + place] if stays else rows.alias[begin + place])


@lean_kernel
def weighted_walks(rows: Rows, seed: int, begin: int, end: int, out: NDArray[np.int32]) -> None:
    """Fill `out` with walks begin … end − 1, one per row; walk w starts at vertex w mod n."""
    n = rows.indptr.size - 1
    for walk in range(begin, end):
        key, row, at, drawn = stream(seed, WALK, walk), walk - begin, 0, 0
        vertex = walk % n
        while at < out.shape[1]:
            out[row, at] = vertex
            at += 1
            # Only the last visit can be cut short, so a longer walk from the same seed begins with the same entries.
            for _ in range(min(FAN, out.shape[1] - at)):
                out[row, at] = _step(rows, vertex, draw(key, drawn))
                at += 1
                drawn += 1
            vertex = _step(rows, vertex, draw(key, drawn))
            drawn += 1
