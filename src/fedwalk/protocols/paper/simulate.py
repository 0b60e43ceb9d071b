"""FedWalk in one process: Algorithm 2, then Algorithm 1, then SkipGram.

A runtime does the devices' part of the three phases in which devices act, and gives the server what they send. `local`
computes all devices at once over arrays; `stepwise` has Device objects and messages, one at a time. For the same seed
they give the same values, bit for bit, and the same transcript.
"""

from collections.abc import Callable
from functools import partial
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from fedwalk.graph.graph import Graph
from fedwalk.privacy.randomness import SimulatedRandomness
from fedwalk.protocols.embed import train_walks
from fedwalk.protocols.paper.degree_vectors import DegreeMatrices
from fedwalk.protocols.paper.encoder import EncoderTable
from fedwalk.protocols.paper.local import LocalRuntime
from fedwalk.protocols.paper.messages import GroupPlan, TreeTable
from fedwalk.protocols.paper.server import Server
from fedwalk.protocols.paper.stages import BINS, ENCODER, MATRICES, TREE, VECTORS
from fedwalk.protocols.paper.stepwise import StepwiseRuntime
from fedwalk.protocols.paper.tree import Tree
from fedwalk.protocols.settings import Settings
from fedwalk.protocols.stages import SKIPGRAM, WALKS, Stages, Vectors
from fedwalk.protocols.transcript import Transcript
from fedwalk.protocols.walks import Walks
from fedwalk.util.parallel import Progress


class Runtime(Protocol):
    """The devices' part of a run."""

    def vectors(self, plan: GroupPlan, on_progress: Progress) -> NDArray[np.float32]:
        """Send the plan to every device, collect every c_v."""
        ...

    def matrices(self, vectors: NDArray[np.float32], on_progress: Progress) -> DegreeMatrices:
        """Send the dictionary to every device, collect every M_v."""
        ...

    def walks(self, plan: GroupPlan, vectors: NDArray[np.float32], table: TreeTable, on_progress: Progress) -> Walks:
        """Send the tree and the encoder table, start the walks, collect the sequences."""
        ...


RUNTIMES: dict[str, Callable[[Graph, Server, Settings, Transcript], Runtime]] = {
    "local": LocalRuntime,
    "stepwise": StepwiseRuntime,
}


def simulate(graph: Graph, settings: Settings, stages: Stages) -> Vectors:
    """Every stage of a run on this graph, which has no isolated vertices."""
    walks = stages.get(WALKS) if stages.has(WALKS) else _walk(graph, settings, stages)
    return stages.run(SKIPGRAM, partial(train_walks, walks, graph.vertices, settings))


def _walk(graph: Graph, settings: Settings, stages: Stages) -> Walks:
    server = make_server(graph.vertices, settings)
    runtime = RUNTIMES[settings.runtime](graph, server, settings, stages.transcript)
    plan = GroupPlan(stages.run(BINS, partial(draw_bins, server, settings)), server.k, server.epsilon)
    vectors = stages.run(VECTORS, lambda on_progress: runtime.vectors(plan, on_progress))
    matrices: DegreeMatrices | None = None
    if not (stages.has(TREE) and stages.has(ENCODER)):
        # The matrices are by far the largest value and quick to compute again, so they aren't stored.
        matrices = stages.run(MATRICES, lambda on_progress: runtime.matrices(vectors, on_progress), keep=False)
    table = build_tables(server, matrices, settings, stages)
    stages.drop(MATRICES)
    return stages.run(WALKS, lambda on_progress: runtime.walks(plan, vectors, table, on_progress))


def make_server(vertices: int, settings: Settings) -> Server:
    """The server of a run with resolved settings."""
    assert settings.num_bins is not None
    return Server(vertices, settings.num_bins, float(settings.epsilon))


def draw_bins(server: Server, settings: Settings, _: Progress) -> NDArray[np.int32]:
    """Draw the group plan's bins. They are public, so the server draws them from the seed, also in a federation."""
    return server.group_plan(SimulatedRandomness(settings.seed)).bins


def build_tables(server: Server, matrices: DegreeMatrices | None, settings: Settings, stages: Stages) -> TreeTable:
    """Tree and encoder, which every device receives. The matrices may be None if both are available."""
    threads = settings.threads or 1

    def tree(on_progress: Progress) -> Tree:
        assert matrices is not None
        return server.build_tree(matrices, settings.tree, settings.seed, threads, on_progress)

    def encoder(on_progress: Progress) -> EncoderTable:
        assert matrices is not None
        return server.encoder_table(matrices, stages.get(TREE), settings.encoder, threads, on_progress)

    return TreeTable(stages.run(TREE, tree), stages.run(ENCODER, encoder), settings.predictor, settings.burst)
