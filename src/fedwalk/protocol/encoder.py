"""The sequence encoder (Eq. 10 and 11): Pr[v2 | v1] ∝ exp(−ε · dissim(v1, v2) · |leaves(T[v1 ∨ v2])|).

The distribution runs over all of V, v1 itself included with weight 1, and is sampled exactly: a vertex whose
weight is below the smallest positive double can't change any draw, and only those are left out of the table.
What remains is sparse, and this table, not an n × n matrix, is what devices receive.

The paper calls this ε-differentially private. It is not: the score has no sensitivity bound and is computed
from private data (docs/fidelity.md).
"""

from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from fedwalk.kernels.encoder import accumulate, encode, find_candidates, mark_vertices
from fedwalk.kernels.threads import Report, ranges, run_tasks, silent
from fedwalk.protocol.degree import DegreeMatrices
from fedwalk.protocol.tree import Tree

UNDERFLOW = float(np.log(2) - np.log(np.finfo(np.float64).smallest_subnormal))
"""exp(−x) rounds to zero in double precision for x above this (745.13)."""


@dataclass(frozen=True, slots=True, eq=False)
class EncoderTable:
    """For each vertex the possible outputs, likeliest first, with cumulative probabilities."""

    starts: NDArray[np.int64]
    outputs: NDArray[np.int32]
    cumulative: NDArray[np.float64]

    def encode(self, vertex: int, x: float) -> int:
        """The output for a uniform x in [0, 1)."""
        return int(encode(self.starts, self.outputs, self.cumulative, vertex, x))

    def probabilities(self, vertex: int) -> dict[int, float]:
        """Pr[output | vertex] for every possible output."""
        here = slice(self.starts[vertex], self.starts[vertex + 1])
        shares = np.diff(self.cumulative[here], prepend=0.0)
        return {int(u): float(p) for u, p in zip(self.outputs[here], shares, strict=True)}

    @property
    def nbytes(self) -> int:
        """Bytes on the wire: a count per vertex, an id and a probability per output."""
        return 4 * (self.starts.size - 1) + 12 * self.outputs.size


def exponential(
    matrices: DegreeMatrices, tree: Tree, epsilon: float, threads: int = 1, report: Report = silent
) -> EncoderTable:
    """The paper's encoder: the exponential mechanism over dissimilarity times subtree size."""
    n, k = len(matrices), matrices.rows.shape[1]
    weights = np.cos(1.0 + np.arange(2.0 * k))
    marks = np.empty(n)
    mark_vertices(matrices.starts, matrices.rows, weights, marks)
    by_mark = np.argsort(marks)
    tasks = [
        partial(
            find_candidates,
            low,
            high,
            matrices.starts,
            matrices.rows,
            tree.parent,
            tree.size,
            tree.first,
            tree.order,
            marks,
            by_mark,
            marks[by_mark],
            UNDERFLOW / epsilon,
        )
        for low, high in ranges(n, 64)
    ]
    pieces = run_tasks(tasks, threads, report)
    counts, found, exponents = (np.concatenate(column) for column in zip(*pieces, strict=True))
    return _table(counts, found.astype(np.int32), np.exp(-epsilon * exponents))


def identity(
    matrices: DegreeMatrices, tree: Tree, epsilon: float, threads: int = 1, report: Report = silent
) -> EncoderTable:
    """No encoding at all: what the walk says is where it went. For measuring what the encoder changes."""
    n = len(matrices)
    return EncoderTable(np.arange(n + 1), np.arange(n, dtype=np.int32), np.ones(n))


ENCODERS = {"exponential": exponential, "identity": identity}


def _table(counts: NDArray[np.int64], outputs: NDArray[np.int32], weights: NDArray[np.float64]) -> EncoderTable:
    """Normalise each vertex's weights and put its likeliest outputs first, ties by id."""
    owner = np.repeat(np.arange(counts.size), counts)
    order = np.lexsort((outputs, -weights, owner))
    starts = np.concatenate([[0], np.cumsum(counts)])
    cumulative = weights[order]
    accumulate(starts, cumulative)
    return EncoderTable(starts, outputs[order], cumulative)
