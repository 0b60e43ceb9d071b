"""The sequence encoder (Eq. 10 and 12): Pr[v2 | v1] ∝ exp(−ε · dissim(v1, v2) · |leaves(T[v1 ∨ v2])|).

The distribution is over all vertices, v1 itself included with weight 1, and is sampled exactly: the table leaves out
only vertices whose weight is below the smallest positive double, which can't change any draw. What remains is sparse.
Devices receive this table instead of an n × n matrix.

The paper calls this ε-differentially private. It is not: the score has no sensitivity bound and is computed
from private data (docs/fidelity.md).
"""

from dataclasses import dataclass
from functools import partial
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

from fedwalk.kernels.encoder import EncoderArrays, Marks, accumulate, encode, find_candidates, mark_vertices
from fedwalk.protocols.paper.degree_vectors import DegreeMatrices
from fedwalk.protocols.paper.tree import Tree
from fedwalk.util.parallel import Progress, ranges, run_tasks, silent

UNDERFLOW = float(np.log(2) - np.log(np.finfo(np.float64).smallest_subnormal))
"""exp(−x) rounds to zero in double precision for x above this (745.13)."""


@dataclass(frozen=True, slots=True, eq=False)
class EncoderTable:
    """For each vertex the possible outputs, the most likely first, with cumulative probabilities.

    The first output of v stands for its kin: the vertices with the same matrix as v, v included. They have weight 1
    each. A hub with m neighbours of degree one has m vertices of one kin; listing them for each other would take m²
    entries.
    """

    arrays: EncoderArrays

    @property
    def outputs(self) -> NDArray[np.int32]:
        """The outputs of all vertices, one vertex after the other."""
        return self.arrays.outputs

    @property
    def cumulative(self) -> NDArray[np.float64]:
        """The cumulative probability of each output among those of its vertex."""
        return self.arrays.cumulative

    def encode(self, vertex: int, x: float) -> int:
        """The output for a uniform x in [0, 1)."""
        return int(encode(self.arrays, vertex, x))

    def probabilities(self, vertex: int) -> dict[int, float]:
        """Pr[output | vertex] for every possible output."""
        table = self.arrays
        here = slice(table.starts[vertex], table.starts[vertex + 1])
        own, *shares = np.diff(table.cumulative[here], prepend=0.0).tolist()
        kin = table.kin_members[table.kin_starts[table.kin[vertex]] : table.kin_starts[table.kin[vertex] + 1]].tolist()
        others = zip(table.outputs[here].tolist()[1:], shares, strict=True)
        return dict.fromkeys(kin, own / len(kin)) | dict(others)

    @property
    def nbytes(self) -> int:
        """Bytes in a message: count, kin and its share per vertex; the members of each kin; id and share per output."""
        n = self.arrays.kin.size
        return n * (4 + 4 + 8) + 4 * n + 12 * (self.outputs.size - n)


def exponential(
    matrices: DegreeMatrices, tree: Tree, epsilon: float, threads: int = 1, on_progress: Progress = silent
) -> EncoderTable:
    """The paper's encoder: the exponential mechanism over dissimilarity times subtree size."""
    marks, kin = find_marks(matrices, tree), find_kin(matrices)
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
            kin,
            UNDERFLOW / epsilon,
        )
        for low, high in ranges(len(matrices), 64)
    ]
    pieces = run_tasks(tasks, threads, on_progress)
    counts, candidates, exponents = (np.concatenate(column) for column in zip(*pieces, strict=True))
    return _table(counts, candidates.astype(np.int32), np.exp(-epsilon * exponents), kin)


def identity(
    matrices: DegreeMatrices, tree: Tree, epsilon: float, threads: int = 1, on_progress: Progress = silent
) -> EncoderTable:
    """No encoding: every vertex is returned as it is. For measuring what the encoder changes."""
    everyone = np.arange(len(matrices), dtype=np.int32)
    return _table(np.ones(everyone.size, np.int64), everyone, np.ones(everyone.size), everyone)


ENCODERS = {"exponential": exponential, "identity": identity}


def find_marks(matrices: DegreeMatrices, tree: Tree) -> Marks:
    """Both marks of every vertex, in the orders in which they are scanned."""
    # Weights in [−1, 1], as the bound requires; cosine and sine make two sums that have little in common.
    angles = 1.0 + np.arange(2.0 * matrices.rows.shape[1])
    first, second = np.empty((2, len(matrices)))
    mark_vertices(matrices.starts, matrices.rows, np.cos(angles), first)
    mark_vertices(matrices.starts, matrices.rows, np.sin(angles), second)
    by_first = np.argsort(first)
    return Marks(first, second, by_first, first[by_first], second[by_first], first[tree.order], second[tree.order])


def find_kin(matrices: DegreeMatrices) -> NDArray[np.int32]:
    """A number for each vertex, equal for vertices with the same matrix."""
    seen: dict[bytes, int] = {}
    digests = (blake2b(matrices[v].tobytes(), digest_size=16).digest() for v in range(len(matrices)))
    return np.array([seen.setdefault(digest, len(seen)) for digest in digests], np.int32)


def _table(
    counts: NDArray[np.int64], outputs: NDArray[np.int32], weights: NDArray[np.float64], kin: NDArray[np.int32]
) -> EncoderTable:
    """Normalise each vertex's weights and put the most likely outputs first, ties by id; the kin is always first.

    `encode` searches from the front, so likely outputs are reached early.
    """
    starts = np.concatenate([[0], np.cumsum(counts)])
    sizes = np.bincount(kin)
    owner = np.repeat(np.arange(counts.size), counts)
    weights[starts[:-1]] = sizes[kin]
    order = np.lexsort((outputs, -weights, outputs != owner, owner))
    cumulative = weights[order]
    accumulate(starts, cumulative)
    kin_starts = np.concatenate([[0], np.cumsum(sizes)])
    kin_members = np.argsort(kin, kind="stable").astype(np.int32)
    certain = (counts == 1) & (sizes[kin] == 1)
    return EncoderTable(EncoderArrays(starts, outputs[order], cumulative, kin, kin_starts, kin_members, certain))
