"""Runtime `stepwise`: Device objects and a server passing messages, one at a time. Slow, obvious: the oracle."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from fedwalk.graph import Graph
from fedwalk.kernels.threads import Report
from fedwalk.privacy.device import ListDevice
from fedwalk.privacy.ledger import Ledger
from fedwalk.privacy.reports import Reports, collect_lists
from fedwalk.protocol.degree import DegreeMatrices
from fedwalk.protocol.device import Device
from fedwalk.protocol.messages import (
    DegreeMatrix,
    DegreeVector,
    Dictionary,
    GroupPlan,
    ListPlan,
    NoisyList,
    Sequence,
    Token,
    TreeTable,
)
from fedwalk.protocol.predictor import Broadcast, find_predictor
from fedwalk.protocol.randomness import SimulatedRandomness
from fedwalk.protocol.server import Server
from fedwalk.protocol.transcript import Transcript
from fedwalk.protocol.walk import Walks
from fedwalk.settings import Settings


class StepwiseRuntime:
    """Hands each device its own list, then carries every message between the parties and records it."""

    def __init__(self, graph: Graph, server: Server, settings: Settings, transcript: Transcript) -> None:
        randomness = SimulatedRandomness(settings.seed)
        lists = [graph.neighbours(v).copy() for v in range(graph.vertices)]
        self._devices: list[Device] = []
        self._list_devices: list[ListDevice] = []
        if settings.protocol == "ldp":
            budget = settings.budget
            self._list_devices = [ListDevice(v, ids, randomness, Ledger(budget)) for v, ids in enumerate(lists)]
        else:
            self._devices = [Device(v, ids, randomness) for v, ids in enumerate(lists)]
        self._server, self._settings, self._transcript = server, settings, transcript

    def vectors(self, plan: GroupPlan, report: Report) -> NDArray[np.float32]:
        """Plan to each device, its vector back to the server."""

        def messages() -> Iterator[DegreeVector]:
            for device in self._devices:
                self._transcript.record(plan)
                message = device.degree_vector(plan)
                self._transcript.record(message)
                report(device.identity + 1, len(self._devices))
                yield message

        return self._server.collect_vectors(messages())

    def matrices(self, vectors: NDArray[np.float32], report: Report) -> DegreeMatrices:
        """Dictionary to each device, its matrix back to the server."""
        dictionary = Dictionary(vectors)

        def messages() -> Iterator[DegreeMatrix]:
            for device in self._devices:
                self._transcript.record(dictionary)
                message = device.degree_matrix(dictionary)
                self._transcript.record(message)
                report(device.identity + 1, len(self._devices))
                yield message

        return self._server.collect_matrices(messages())

    def walks(self, plan: GroupPlan, vectors: NDArray[np.float32], table: TreeTable, report: Report) -> Walks:
        """Tree and encoder to each device; then every walk from start to finish, hop by hop."""
        settings = self._settings
        # Every device would compute the same from the same public values: once is enough.
        tables = find_predictor(table.predictor).prepare(Broadcast(plan.bins, vectors, table.tree))
        for device in self._devices:
            self._transcript.record(table)
            device.learn(table, tables)
        count = settings.walks * len(self._devices)
        before = self._transcript.traffic["hops"].count
        sequences = self._server.collect_sequences(self._finished(report, count), count, settings.walk_length)
        return Walks(sequences, self._transcript.traffic["hops"].count - before)

    def lists(self, plan: ListPlan, report: Report) -> Reports:
        """Plan to each device, its list back to the server; each device keeps its own ledger."""

        def messages() -> Iterator[NoisyList]:
            for device in self._list_devices:
                self._transcript.record(plan)
                message = device.report(plan)
                self._transcript.record(message)
                report(device.identity + 1, len(self._list_devices))
                yield message

        return collect_lists(plan, messages())

    def _finished(self, report: Report, count: int) -> Iterator[Sequence]:
        """Start every walk and carry its token until a device sends the sequence."""
        settings = self._settings
        for start in self._server.starts(settings.walks, settings.walk_length, float(settings.predict)):
            self._transcript.record(start)
            message = self._devices[start.device].begin(start)
            while isinstance(message, Token):
                self._transcript.record(message)
                message = self._devices[message.device].visit(message)
            self._transcript.record(message)
            report(start.walk + 1, count)
            yield message
