"""Runtime `stepwise` of protocol `paper`: Device objects and a server pass messages, one at a time.

It is slow, and simple enough to read as a specification: tests compare `local` with it, bit for bit.
"""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from fedwalk.graph.graph import Graph
from fedwalk.privacy.randomness import SimulatedRandomness
from fedwalk.protocols.paper.degree_vectors import DegreeMatrices
from fedwalk.protocols.paper.device import Device
from fedwalk.protocols.paper.messages import (
    DegreeMatrix,
    DegreeVector,
    Dictionary,
    GroupPlan,
    Sequence,
    Token,
    TreeTable,
)
from fedwalk.protocols.paper.predictors import Broadcast, find_predictor
from fedwalk.protocols.paper.server import Server
from fedwalk.protocols.settings import Settings
from fedwalk.protocols.transcript import Transcript
from fedwalk.protocols.walks import Walks
from fedwalk.util.parallel import Progress


def _weights_of(graph: Graph, vertex: int) -> NDArray[np.float64] | None:
    """A copy of the weights of one vertex's edges; None if the graph has none."""
    return None if graph.weights is None else graph.weights[graph.indptr[vertex] : graph.indptr[vertex + 1]].copy()


class StepwiseRuntime:
    """Gives each device its own neighbour list, then delivers every message between the parties and records it."""

    def __init__(self, graph: Graph, server: Server, settings: Settings, transcript: Transcript) -> None:
        randomness = SimulatedRandomness(settings.seed)
        # A copy of its own row is all that a device gets: it can't reach its neighbours' rows.
        self._devices = [
            Device(v, graph.neighbours(v).copy(), randomness, _weights_of(graph, v)) for v in range(graph.vertices)
        ]
        self._server, self._settings, self._transcript = server, settings, transcript

    def vectors(self, plan: GroupPlan, on_progress: Progress) -> NDArray[np.float32]:
        """Plan to each device, its vector back to the server."""

        def messages() -> Iterator[DegreeVector]:
            for device in self._devices:
                self._transcript.record(plan)
                message = device.degree_vector(plan)
                self._transcript.record(message)
                on_progress(device.identity + 1, len(self._devices))
                yield message

        return self._server.collect_vectors(messages())

    def matrices(self, vectors: NDArray[np.float32], on_progress: Progress) -> DegreeMatrices:
        """Dictionary to each device, its matrix back to the server."""
        dictionary = Dictionary(vectors)

        def messages() -> Iterator[DegreeMatrix]:
            for device in self._devices:
                self._transcript.record(dictionary)
                message = device.degree_matrix(dictionary)
                self._transcript.record(message)
                on_progress(device.identity + 1, len(self._devices))
                yield message

        return self._server.collect_matrices(messages())

    def walks(self, plan: GroupPlan, vectors: NDArray[np.float32], table: TreeTable, on_progress: Progress) -> Walks:
        """Tree and encoder to each device; then every walk from start to finish, hop by hop."""
        settings = self._settings
        # Every device would compute the same tables from the same public values, so they are computed once.
        tables = find_predictor(table.predictor).prepare(Broadcast(plan.bins, vectors, table.tree))
        for device in self._devices:
            self._transcript.record(table)
            device.learn(table, tables)
        count = settings.num_walks * len(self._devices)
        before = self._transcript.count(Token.phase)
        sequences = self._server.collect_sequences(self._finished(on_progress, count), count, settings.walk_length)
        return Walks(sequences, self._transcript.count(Token.phase) - before)

    def _finished(self, on_progress: Progress, count: int) -> Iterator[Sequence]:
        """Start every walk and carry its token until a device sends the sequence."""
        settings = self._settings
        for start in self._server.starts(settings.num_walks, settings.walk_length, float(settings.predict)):
            self._transcript.record(start)
            message = self._devices[start.device].begin(start)
            while isinstance(message, Token):
                self._transcript.record(message)
                message = self._devices[message.device].visit(message)
            self._transcript.record(message)
            on_progress(start.walk + 1, count)
            yield message
