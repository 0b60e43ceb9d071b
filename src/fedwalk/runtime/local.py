"""Runtime `local`: all devices at once over arrays, for real sizes.

Each array operation does for every device what `Device` does for one, with the same draws; messages are
counted by their sizes without being built.
"""

from functools import partial

import numpy as np
from numpy.typing import NDArray

from fedwalk.graph import Graph
from fedwalk.kernels.degree import noised_counts
from fedwalk.kernels.lists import simulated_lists
from fedwalk.kernels.threads import Report, ranges, run_tasks
from fedwalk.kernels.walk import WalkJob, make_lanes, walk_with
from fedwalk.privacy.mechanisms import NoisedCounts, RandomisedResponse
from fedwalk.privacy.reports import Reports
from fedwalk.protocol.degree import DegreeMatrices, estimated_degrees
from fedwalk.protocol.messages import (
    DegreeMatrix,
    DegreeVector,
    Dictionary,
    GroupPlan,
    ListPlan,
    NoisyList,
    Sequence,
    Start,
    Token,
    TreeTable,
)
from fedwalk.protocol.predictor import Broadcast, find_predictor
from fedwalk.protocol.server import Server
from fedwalk.protocol.transcript import Transcript
from fedwalk.protocol.walk import Walks
from fedwalk.settings import Settings

WALKS_PER_TASK = 4096
LISTS_PER_TASK = 512


class LocalRuntime:
    """A simulation of every device in one process."""

    def __init__(self, graph: Graph, server: Server, settings: Settings, transcript: Transcript) -> None:
        self._graph, self._server = graph, server
        self._settings, self._transcript = settings, transcript

    def vectors(self, plan: GroupPlan, report: Report) -> NDArray[np.float32]:
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
        report(n, n)
        return vectors

    def matrices(self, vectors: NDArray[np.float32], report: Report) -> DegreeMatrices:
        """Every device's operation 2: one sort by device and estimated degree, ids already ascending."""
        n, k = vectors.shape
        indptr, indices = self._graph.indptr, self._graph.indices
        owner = np.repeat(np.arange(n, dtype=np.int32), np.diff(indptr))
        order = np.lexsort((estimated_degrees(vectors)[indices], owner))
        self._transcript.tally(Dictionary, n, n * Dictionary.size(n, k))
        self._transcript.tally(DegreeMatrix, n, n * DegreeMatrix.size(0, k) + 4 * k * indices.size)
        report(n, n)
        return DegreeMatrices(indptr, vectors[indices[order]])

    def walks(self, plan: GroupPlan, vectors: NDArray[np.float32], table: TreeTable, report: Report) -> Walks:
        """All walks in tasks of a few thousand; any thread may take any task."""
        settings, n = self._settings, self._server.vertices
        predictor = find_predictor(table.predictor)
        tables = predictor.prepare(Broadcast(plan.bins, vectors, table.tree))
        job = WalkJob(
            self._graph.indptr, self._graph.indices, table.encoder.arrays,
            settings.seed, settings.walk_length, float(settings.predict), table.burst, predictor.least,
        )  # fmt: skip
        count = n * settings.walks
        sequences = np.empty((count, settings.walk_length), np.int32)
        walk = walk_with(predictor.extend)
        pieces = ranges(count, -(-count // WALKS_PER_TASK))
        tasks = [partial(walk, tables, job, make_lanes(), a, b, sequences[a:b]) for a, b in pieces]
        totals = run_tasks(tasks, settings.threads or 1, report, [b - a for a, b in pieces])
        hops, carried = (sum(column) for column in zip(*totals, strict=True))
        self._tally_walks(table, count, hops, carried)
        return Walks(sequences, hops)

    def lists(self, plan: ListPlan, report: Report) -> Reports:
        """Every device's randomised response, a few hundred devices to a task."""
        n, indptr, indices = self._server.vertices, self._graph.indptr, self._graph.indices
        mechanism = RandomisedResponse.of(plan.epsilon).coins(n)
        kernel = partial(simulated_lists, mechanism, np.uint64(plan.key), indptr, indices, self._settings.seed)
        pieces = ranges(n, -(-n // LISTS_PER_TASK))
        tasks = [partial(kernel, a, b, plan.epoch) for a, b in pieces]
        found = run_tasks(tasks, self._settings.threads or 1, report)
        starts = np.concatenate([[0], np.cumsum(np.concatenate([lengths for lengths, _ in found]))])
        ids = np.concatenate([ids for _, ids in found])
        self._transcript.tally(ListPlan, n, n * ListPlan.size())
        self._transcript.tally(NoisyList, n, n * NoisyList.size(0) + 4 * ids.size)
        return Reports(starts, ids)

    def _tally_walks(self, table: TreeTable, count: int, hops: int, carried: int) -> None:
        n = self._server.vertices
        self._transcript.tally(TreeTable, n, n * table.nbytes)
        self._transcript.tally(Start, count, count * Start.size())
        self._transcript.tally(Token, hops, hops * Token.size(0) + 4 * carried)
        self._transcript.tally(Sequence, count, count * Sequence.size(self._settings.walk_length))
