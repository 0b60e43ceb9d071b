"""Runtime `local` of protocol `paper`: all devices at once over arrays, for graphs of real size.

Each array operation does for every device what `Device` does for one, with the same draws. Messages are counted by
their sizes without being built.
"""

from functools import partial

import numpy as np
from numpy.typing import NDArray

from fedwalk.graph.graph import Graph
from fedwalk.kernels.alias import alias_entries
from fedwalk.kernels.degree_vectors import noised_counts
from fedwalk.kernels.walk import WalkJob, make_lanes, walk_with
from fedwalk.privacy.mechanisms import NoisedCounts
from fedwalk.protocols.embed import WALKS_PER_TASK
from fedwalk.protocols.paper.degree_vectors import DegreeMatrices, estimated_degrees
from fedwalk.protocols.paper.messages import (
    DegreeMatrix,
    DegreeVector,
    Dictionary,
    GroupPlan,
    Sequence,
    Start,
    Token,
    TreeTable,
)
from fedwalk.protocols.paper.predictors import Broadcast, find_predictor
from fedwalk.protocols.paper.server import Server
from fedwalk.protocols.settings import Settings
from fedwalk.protocols.transcript import Transcript
from fedwalk.protocols.walks import Walks
from fedwalk.util.parallel import Progress, ranges, run_tasks


class LocalRuntime:
    """A simulation of every device in one process."""

    def __init__(self, graph: Graph, server: Server, settings: Settings, transcript: Transcript) -> None:
        self._graph, self._server = graph, server
        self._settings, self._transcript = settings, transcript

    def vectors(self, plan: GroupPlan, on_progress: Progress) -> NDArray[np.float32]:
        """Every device's operation 1."""
        n, k = self._server.vertices, plan.k
        vectors = np.empty((n, k), np.float32)
        noised_counts(
            self._graph.indptr,
            self._graph.indices,
            plan.bins,
            NoisedCounts(plan.epsilon).scale,
            self._settings.seed,
            vectors,
        )
        self._transcript.tally(GroupPlan, n, n * plan.nbytes)
        self._transcript.tally(DegreeVector, n, n * DegreeVector.size(k))
        on_progress(n, n)
        return vectors

    def matrices(self, vectors: NDArray[np.float32], on_progress: Progress) -> DegreeMatrices:
        """Every device's operation 2: one sort by device and estimated degree, ids already ascending."""
        n, k = vectors.shape
        indptr, indices = self._graph.indptr, self._graph.indices
        owner = np.repeat(np.arange(n, dtype=np.int32), np.diff(indptr))
        # The sort is stable and each row's ids ascend, so equal degrees are ordered by id, as in `Device`.
        order = np.lexsort((estimated_degrees(vectors)[indices], owner))
        self._transcript.tally(Dictionary, n, n * Dictionary.size(n, k))
        # All matrices together have one row per entry of `indices`.
        self._transcript.tally(DegreeMatrix, n, n * DegreeMatrix.size(0, k) + 4 * k * indices.size)
        on_progress(n, n)
        return DegreeMatrices(indptr, vectors[indices[order]])

    def walks(self, plan: GroupPlan, vectors: NDArray[np.float32], table: TreeTable, on_progress: Progress) -> Walks:
        """All walks, in tasks of a few thousand. Draws are named by walk, so any thread can take any task."""
        settings, n = self._settings, self._server.vertices
        predictor = find_predictor(table.predictor)
        tables = predictor.prepare(Broadcast(plan.bins, vectors, table.tree))
        indptr, indices, weights = self._graph.indptr, self._graph.indices, self._graph.weights
        # All devices' entries side by side; each depends on its own device's weights alone, as in `Device`.
        targets = indices if weights is None else alias_entries(indptr, indices, weights)
        job = WalkJob(
            indptr, indices, targets, table.encoder.arrays,
            settings.seed, settings.walk_length, float(settings.predict), table.burst, predictor.min_remaining,
        )  # fmt: skip
        count = n * settings.num_walks
        sequences = np.empty((count, settings.walk_length), np.int32)
        walk = walk_with(predictor.extend, weights is not None)
        pieces = ranges(count, -(-count // WALKS_PER_TASK))
        tasks = [partial(walk, tables, job, make_lanes(), a, b, sequences[a:b]) for a, b in pieces]
        totals = run_tasks(tasks, settings.threads or 1, on_progress, [b - a for a, b in pieces])
        hops, carried = (sum(column) for column in zip(*totals, strict=True))
        self._tally_walks(table, count, hops, carried)
        return Walks(sequences, hops)

    def _tally_walks(self, table: TreeTable, count: int, hops: int, carried: int) -> None:
        n = self._server.vertices
        self._transcript.tally(TreeTable, n, n * table.nbytes)
        self._transcript.tally(Start, count, count * Start.size())
        # `carried` is the number of entries in all tokens together.
        self._transcript.tally(Token, hops, hops * Token.size(0) + 4 * carried)
        self._transcript.tally(Sequence, count, count * Sequence.size(self._settings.walk_length))
