"""DeepWalk (Perozzi et al., KDD '14), the centralised baseline: the same trainer on plain walks.

One party holds the whole graph, so that nothing is sent, and nothing is private.
"""

from collections.abc import Iterator
from functools import partial

import numpy as np
from numpy.typing import NDArray

from fedwalk.graph.graph import Graph
from fedwalk.kernels.alias import alias_entries
from fedwalk.kernels.walk import make_lanes, plain_walks, plain_weighted_walks
from fedwalk.privacy.ledger import Release
from fedwalk.privacy.mechanisms import Unprotected
from fedwalk.protocols.base import PrivacyStatement, Protocol
from fedwalk.protocols.embed import check_steps, embed_weighted, train_walks, walk_alone
from fedwalk.protocols.settings import Settings
from fedwalk.protocols.stages import SKIPGRAM, SPECTRAL, WALKS, Stages, Vectors
from fedwalk.protocols.walks import Walks
from fedwalk.util.parallel import Progress


def simulate(graph: Graph, settings: Settings, stages: Stages) -> Vectors:
    """Walks and SkipGram, or the spectral embedding of the graph."""
    if settings.embed == SPECTRAL.name:
        return stages.run(SPECTRAL, partial(embed_weighted, graph.indptr, graph.indices, _weights(graph), settings))
    walks = stages.run(WALKS, partial(walk, graph, settings))
    return stages.run(SKIPGRAM, partial(train_walks, walks, graph.vertices, settings))


def _weights(graph: Graph) -> NDArray[np.float32]:
    """The weights for the spectral embedding, which doesn't depend on their scale; the largest is 1."""
    if graph.weights is None:
        return np.ones(graph.indices.size, np.float32)
    return np.asarray(graph.weights / graph.weights.max(), np.float32)


def walk(graph: Graph, settings: Settings, on_progress: Progress) -> Walks:
    """Walks that begin with their start vertex and step to neighbours in proportion to the weights."""
    kernel = partial(plain_walks, graph.indptr, graph.indices, settings.seed)
    if graph.weights is not None:
        entries = alias_entries(graph.indptr, graph.indices, graph.weights)
        kernel = partial(plain_weighted_walks, graph.indptr, entries, settings.seed)
    return walk_alone(graph.vertices, settings, on_progress, lambda: partial(kernel, make_lanes()))


def releases(settings: Settings) -> Iterator[tuple[str, Release]]:
    """The graph itself."""
    why = "the whole graph is held by one party"
    yield "graph", Release.of(Unprotected(why), "the graph itself", why, by="the party that holds the graph", ends=2)


def privacy(settings: Settings, simulated: bool) -> PrivacyStatement:
    """No privacy."""
    return PrivacyStatement(
        "none: one party holds the whole graph.",
        nominal=("There is no ε: no noise is added anywhere.",),
        proved=("Nothing.",),
        leaks=("The whole graph is held by one party, which sees all of it.",),
    )


PROTOCOL = Protocol(
    name="deepwalk",
    title="DeepWalk, the centralised baseline",
    summary="the centralised baseline: one party holds the whole graph",
    reads=("budget", "embed", "walk_length", "num_walks", "dim", "window", "negative", "seed", "threads"),
    stages=(WALKS, SKIPGRAM, SPECTRAL),
    releases=releases,
    privacy=privacy,
    simulate=simulate,
    check=check_steps,
    embeddings=(SKIPGRAM.name, SPECTRAL.name),
    uses_weights=True,
    centralised=True,
    accepts=(WALKS,),
)
