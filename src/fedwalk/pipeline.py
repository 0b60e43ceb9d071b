"""From a graph to its vectors: the flow of the stages, for every protocol.

bins → vectors → matrices → tree → encoder → walks → skipgram for `paper`; lists → posterior → softening → spectral,
or walks → skipgram, for `ldp`; walks → skipgram for `deepwalk`. Each arrow is a plain value that can be kept, looked at
and passed in again. What a stage releases stands in the ledger before the stage runs.
"""

import hashlib
import math
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import cast

import numpy as np
from numpy.typing import NDArray

from fedwalk._version import __version__
from fedwalk.embedding import Embedding
from fedwalk.embedding.skipgram import train
from fedwalk.embedding.spectral import spectral
from fedwalk.errors import FedWalkWarning, InputError
from fedwalk.graph import Graph
from fedwalk.kernels.threads import Report, ranges, run_tasks
from fedwalk.kernels.walk import make_lanes, plain_walks
from fedwalk.kernels.weighted_walk import alias_rows, weighted_walks
from fedwalk.privacy.accounts import list_release, open_release, paper_releases
from fedwalk.privacy.ledger import Ledger, Release
from fedwalk.privacy.mechanisms import RandomisedResponse
from fedwalk.privacy.posterior import WeightedGraph, decode
from fedwalk.privacy.reports import Reports
from fedwalk.privacy.softening import softening
from fedwalk.protocol.degree import DegreeMatrices
from fedwalk.protocol.encoder import EncoderTable
from fedwalk.protocol.messages import GroupPlan, ListPlan, TreeTable
from fedwalk.protocol.randomness import SimulatedRandomness
from fedwalk.protocol.server import Server
from fedwalk.protocol.tree import Tree
from fedwalk.protocol.walk import Walks
from fedwalk.runtime import runtimes
from fedwalk.runtime.local import WALKS_PER_TASK
from fedwalk.settings import Settings
from fedwalk.stages import Stages

Vectors = NDArray[np.float32]

PAPER_RELEASES_DEPEND_ON = ("bins", "walk_length", "walks", "predict", "predictor", "burst", "tree", "encoder")

STAGES = {
    "paper": ("bins", "vectors", "matrices", "tree", "encoder", "walks", "skipgram"),
    "ldp": ("lists", "posterior", "softening", "spectral"),
    "deepwalk": ("walks", "skipgram"),
}
"""By protocol, for its default embedding."""


@dataclass(frozen=True, slots=True, eq=False)
class Run:
    """A finished run: the embedding, the settings as resolved, and every stage's value and account.

    Stage values speak of the vertices that took part; `taking_part` has their ids in the graph.
    """

    embedding: Embedding
    settings: Settings
    stages: Stages
    taking_part: NDArray[np.int64]
    ledger: Ledger

    @property
    def walks(self) -> Walks:
        """The walks that the vectors were trained on; none for a spectral embedding."""
        none = Walks(np.empty((0, self.settings.walk_length), np.int32), 0)
        return cast(Walks, self.stages.values.get("walks", none))


def run(graph: Graph, settings: Settings, stages: Stages | None = None, earlier: Ledger | None = None) -> Run:
    """Run the protocol on the graph; isolated vertices take no part and get the zero vector.

    In `ldp` they do take part: that a list is empty is as private as what is in it. `earlier` is what the devices have
    released before; the budget is for both.
    """
    check_graph(graph)
    active, taking_part = participants(graph, settings)
    settings = settings.resolve(active.vertices)
    for remark in _remarks(graph, settings):
        warnings.warn(remark, FedWalkWarning, stacklevel=2)
    stages = stages if stages is not None else Stages()
    ledger = enter_releases(graph, settings, earlier)
    vectors = PROTOCOLS[settings.protocol](active, settings, stages)
    full = np.zeros((graph.vertices, settings.dim), np.float32)
    full[taking_part] = vectors
    return Run(Embedding(graph.names, full), settings, stages, taking_part, ledger)


def participants(graph: Graph, settings: Settings) -> tuple[Graph, NDArray[np.int64]]:
    """The graph of the vertices that take part, and their ids."""
    return (graph, np.arange(graph.vertices)) if settings.protocol == "ldp" else graph.active()


def enter_releases(graph: Graph, settings: Settings, earlier: Ledger | None = None) -> Ledger:
    """The ledger with all that the run will release, or BudgetError; nothing is sent before this."""
    ledger = Ledger(settings.budget, dict(earlier.releases) if earlier else {})
    for name, release in _releases(graph, settings):
        ledger.spend(name, release)
    return ledger


def _releases(graph: Graph, settings: Settings) -> list[tuple[str, Release]]:
    """What the run will release, each under a name that the same run would use again."""
    asked = [__version__, graph.fingerprint(), settings.seed, settings.epsilon]
    if settings.protocol == "paper":
        asked += [getattr(settings, name) for name in PAPER_RELEASES_DEPEND_ON]
    run_name = hashlib.sha256(repr(asked).encode()).hexdigest()[:16]
    entries: list[tuple[str, Release]]
    if settings.protocol == "ldp":
        entries = [("lists", list_release(RandomisedResponse.of(settings.epsilon)))]
    elif settings.protocol == "paper":
        entries = list(paper_releases(settings.epsilon, settings.walks, settings.walk_length))
    else:
        entries = [open_release()]
    return [(f"{settings.protocol} {run_name} {phase}", release) for phase, release in entries]


def _remarks(graph: Graph, settings: Settings) -> Iterator[str]:
    """What is unusual about this run, but no reason to refuse it."""
    if graph.isolated and settings.protocol != "ldp":
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


def _paper(graph: Graph, settings: Settings, stages: Stages) -> Vectors:
    """FedWalk: Algorithm 2, then Algorithm 1, then SkipGram."""
    walks = stages.get("walks") if stages.has("walks") else _paper_walks(graph, settings, stages)
    return stages.run("skipgram", partial(train_walks, walks, graph.vertices, settings))


def _paper_walks(graph: Graph, settings: Settings, stages: Stages) -> Walks:
    assert settings.bins is not None
    server = Server(graph.vertices, settings.bins, float(settings.epsilon))
    runtime = runtimes()[settings.runtime](graph, server, settings, stages.transcript)

    def bins(_: Report) -> NDArray[np.int32]:
        return server.group_plan(SimulatedRandomness(settings.seed)).bins

    plan = GroupPlan(stages.run("bins", bins), server.k, server.epsilon)
    vectors = stages.run("vectors", lambda report: runtime.vectors(plan, report))
    matrices: DegreeMatrices | None = None
    if not (stages.has("tree") and stages.has("encoder")):
        matrices = stages.run("matrices", lambda report: runtime.matrices(vectors, report), keep=False)
    table = build_tables(server, matrices, settings, stages)
    stages.values.pop("matrices", None)
    return stages.run("walks", lambda report: runtime.walks(plan, vectors, table, report))


def build_tables(server: Server, matrices: DegreeMatrices | None, settings: Settings, stages: Stages) -> TreeTable:
    """Tree and encoder from the matrices, which may be gone if both are at hand: what every device receives."""
    threads = settings.threads or 1

    def tree(report: Report) -> Tree:
        assert matrices is not None
        return server.build_tree(matrices, settings.tree, settings.seed, threads, report)

    def encoder(report: Report) -> EncoderTable:
        assert matrices is not None
        return server.encoder_table(matrices, stages.values["tree"], settings.encoder, threads, report)

    return TreeTable(stages.run("tree", tree), stages.run("encoder", encoder), settings.predictor, settings.burst)


def _ldp(graph: Graph, settings: Settings, stages: Stages) -> Vectors:
    """Owned pairs by randomised response, decoded; from there on the server is alone with what was reported."""
    plan = ListPlan(graph.vertices, settings.epsilon)
    server = Server(graph.vertices, settings.bins or 1, settings.epsilon)
    runtime = runtimes()[settings.runtime](graph, server, settings, stages.transcript)
    reports = stages.run("lists", lambda report: runtime.lists(plan, report))
    return decode_and_embed(reports, settings, stages)


def decode_and_embed(reports: Reports, settings: Settings, stages: Stages) -> Vectors:
    """What the server of `ldp` makes of the reports, by itself."""
    mechanism, threads = RandomisedResponse.of(settings.epsilon), settings.threads or 1
    likely = stages.run("posterior", lambda report: decode(reports, mechanism, settings.seed, threads, report))
    if settings.embed == "spectral":
        power = stages.run("softening", partial(_soften, likely, settings))
        return stages.run("spectral", partial(_spectral, likely, power, settings))
    walks = stages.run("walks", partial(weighted, likely, settings))
    return stages.run("skipgram", partial(train_walks, walks, likely.vertices, settings))


def _deepwalk(graph: Graph, settings: Settings, stages: Stages) -> Vectors:
    """The centralised baseline: somebody holds the whole graph, and nothing is sent."""
    if settings.embed == "spectral":
        whole = WeightedGraph(graph.indptr, graph.indices, np.ones(graph.indices.size, np.float32))
        return stages.run("spectral", partial(_spectral, whole, 1.0, settings))
    walks = stages.run("walks", partial(plain, graph, settings))
    return stages.run("skipgram", partial(train_walks, walks, graph.vertices, settings))


def plain(graph: Graph, settings: Settings, report: Report) -> Walks:
    """Uniform walks that begin with their start vertex."""
    # Lanes are a task's own: threads must not share them.
    return _walks(graph.vertices, settings, report, lambda: partial(
        plain_walks, graph.indptr, graph.indices, settings.seed, make_lanes()
    ))  # fmt: skip


def weighted(graph: WeightedGraph, settings: Settings, report: Report) -> Walks:
    """Walks over the decoded graph, by the server alone."""
    rows = alias_rows(graph.indptr, graph.indices, graph.weights)
    return _walks(graph.vertices, settings, report, lambda: partial(weighted_walks, rows, settings.seed))


def _walks(vertices: int, settings: Settings, report: Report, kernel: Callable[[], Callable[..., None]]) -> Walks:
    """γ walks from every vertex where one party holds the graph: a kernel for each task takes (begin, end, out)."""
    count = vertices * settings.walks
    sequences = np.empty((count, settings.walk_length), np.int32)
    pieces = ranges(count, -(-count // WALKS_PER_TASK))
    tasks = [partial(kernel(), a, b, sequences[a:b]) for a, b in pieces]
    run_tasks(tasks, settings.threads or 1, report, [b - a for a, b in pieces])
    return Walks(sequences, 0)


PROTOCOLS: dict[str, Callable[[Graph, Settings, Stages], Vectors]] = {
    "paper": _paper, "ldp": _ldp, "deepwalk": _deepwalk,
}  # fmt: skip


def _soften(graph: WeightedGraph, settings: Settings, report: Report) -> float:
    return softening(graph, dim=settings.dim, seed=settings.seed, report=report)


def _spectral(graph: WeightedGraph, power: float, settings: Settings, report: Report) -> Vectors:
    return spectral(
        graph.indptr, graph.indices, graph.weights**power, dim=settings.dim, seed=settings.seed, report=report
    )


def train_walks(walks: Walks, vertices: int, settings: Settings, report: Report) -> Vectors:
    """SkipGram with the run's settings."""
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
