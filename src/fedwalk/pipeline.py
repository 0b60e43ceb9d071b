"""From a graph to its vectors: the flow of the stages, for every protocol.

bins → vectors → matrices → tree → encoder → walks → skipgram for `paper`; walks → skipgram for `deepwalk`. Each
arrow is a plain value that can be kept, looked at and passed in again.
"""

import math
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import cast

import numpy as np
from numpy.typing import NDArray

from fedwalk.embedding import Embedding
from fedwalk.embedding.skipgram import train
from fedwalk.errors import FedWalkWarning, InputError
from fedwalk.graph import Graph
from fedwalk.kernels.threads import Report, ranges, run_tasks
from fedwalk.kernels.walk import make_lanes, plain_walks
from fedwalk.protocol.encoder import EncoderTable
from fedwalk.protocol.messages import GroupPlan, TreeTable
from fedwalk.protocol.randomness import SimulatedRandomness
from fedwalk.protocol.server import Server
from fedwalk.protocol.tree import Tree
from fedwalk.protocol.walk import Walks
from fedwalk.runtime import runtimes
from fedwalk.runtime.local import WALKS_PER_TASK
from fedwalk.settings import Settings
from fedwalk.stages import Stages

STAGES = {
    "paper": ("bins", "vectors", "matrices", "tree", "encoder", "walks", "skipgram"),
    "deepwalk": ("walks", "skipgram"),
}


@dataclass(frozen=True, slots=True, eq=False)
class Run:
    """A finished run: the embedding, the settings as resolved, and every stage's value and account.

    Stage values speak of the vertices that took part; `taking_part` has their ids in the graph.
    """

    embedding: Embedding
    settings: Settings
    stages: Stages
    taking_part: NDArray[np.int64]

    @property
    def walks(self) -> Walks:
        """The walks that the vectors were trained on."""
        return cast(Walks, self.stages.values["walks"])


def run(graph: Graph, settings: Settings, stages: Stages | None = None) -> Run:
    """Run the protocol on the graph; isolated vertices take no part and get the zero vector."""
    check_graph(graph)
    active, taking_part = graph.active()
    settings = settings.resolve(active.vertices)
    for remark in _remarks(graph, settings):
        warnings.warn(remark, FedWalkWarning, stacklevel=2)
    stages = stages if stages is not None else Stages()
    walks = stages.get("walks") if stages.has("walks") else PROTOCOLS[settings.protocol](active, settings, stages)
    vectors = stages.run("skipgram", partial(_train, walks, active.vertices, settings))
    full = np.zeros((graph.vertices, settings.dim), np.float32)
    full[taking_part] = vectors
    return Run(Embedding(graph.names, full), settings, stages, taking_part)


def _remarks(graph: Graph, settings: Settings) -> Iterator[str]:
    """What is unusual about this run, but no reason to refuse it."""
    if graph.isolated:
        who = "1 isolated vertex takes" if graph.isolated == 1 else f"{graph.isolated} isolated vertices take"
        yield f"{who} no part: no walks, zero vectors."
    custom = max(1.0, math.log(graph.vertices - graph.isolated))
    if settings.protocol == "paper" and (settings.bins or 1) > custom:
        yield f"bins = {settings.bins} is more than ln n = {custom:.1f}, the most that the paper uses."


def check_graph(graph: Graph) -> None:
    """Refuse graphs on which no walk can take a step."""
    if graph.vertices < 2:
        raise InputError(f"the graph has {graph.vertices} vertex: an embedding needs at least two, joined by an edge.")
    if graph.edges == 0:
        raise InputError(f"the graph has {graph.vertices} vertices and no edges: no walk can take a step.")


def _paper(graph: Graph, settings: Settings, stages: Stages) -> Walks:
    """FedWalk: Algorithm 2, then Algorithm 1."""
    assert settings.bins is not None
    threads = settings.threads or 1
    server = Server(graph.vertices, settings.bins, float(settings.epsilon))
    runtime = runtimes()[settings.runtime](graph, server, settings, stages.transcript)

    def bins(_: Report) -> NDArray[np.int32]:
        return server.group_plan(SimulatedRandomness(settings.seed)).bins

    plan = GroupPlan(stages.run("bins", bins), server.k, server.epsilon)
    vectors = stages.run("vectors", lambda report: runtime.vectors(plan, report))
    if not (stages.has("tree") and stages.has("encoder")):
        matrices = stages.run("matrices", lambda report: runtime.matrices(vectors, report), keep=False)

    def tree(report: Report) -> Tree:
        return server.build_tree(matrices, settings.tree, settings.seed, threads, report)

    def encoder(report: Report) -> EncoderTable:
        return server.encoder_table(matrices, stages.values["tree"], settings.encoder, threads, report)

    table = TreeTable(stages.run("tree", tree), stages.run("encoder", encoder), settings.predictor, settings.burst)
    stages.values.pop("matrices", None)
    return stages.run("walks", lambda report: runtime.walks(plan, vectors, table, report))


def _deepwalk(graph: Graph, settings: Settings, stages: Stages) -> Walks:
    """The centralised baseline: somebody holds the whole graph, and nothing is sent."""
    return stages.run("walks", partial(plain, graph, settings))


def plain(graph: Graph, settings: Settings, report: Report) -> Walks:
    """Uniform walks that begin with their start vertex."""
    count = graph.vertices * settings.walks
    sequences = np.empty((count, settings.walk_length), np.int32)
    pieces = ranges(count, -(-count // WALKS_PER_TASK))
    tasks = [
        partial(plain_walks, graph.indptr, graph.indices, settings.seed, make_lanes(), a, b, sequences[a:b])
        for a, b in pieces
    ]
    run_tasks(tasks, settings.threads or 1, report, [b - a for a, b in pieces])
    return Walks(sequences, 0)


PROTOCOLS: dict[str, Callable[[Graph, Settings, Stages], Walks]] = {"paper": _paper, "deepwalk": _deepwalk}


def _train(walks: Walks, vertices: int, settings: Settings, report: Report) -> NDArray[np.float32]:
    return train(
        walks.sequences,
        vertices,
        dim=settings.dim,
        window=settings.window,
        negative=settings.negative,
        seed=settings.seed,
        threads=settings.threads or 1,
        progress=report,
    )
