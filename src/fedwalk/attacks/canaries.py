"""Canaries: pairs for which a fair coin decides whether they are edges. The better they are guessed, the larger ε is.

They are planted in a copy of the graph, the protocol runs on the copy, and an attack guesses them from a view.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fedwalk.attacks.epsilon import CONFIDENCE, one_run_bound
from fedwalk.graph import Graph
from fedwalk.graph.build import from_edges
from fedwalk.graph.graph import edge_pairs, edge_weights
from fedwalk.graph.pairs import Pairs, among, numbered_pairs

CANARY_ATTACK = "canaries"
"""The name of the attack whose finding has the measured ε of an audit, as its metric `epsilon`."""

Guesses = NDArray[np.int8]
"""1 for an edge, −1 for none, 0 for an abstention."""


@dataclass(frozen=True, slots=True, eq=False)
class Canaries:
    """A graph with planted pairs, and which of these are edges of it."""

    graph: Graph
    pairs: Pairs
    real: NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Bound:
    """A lower bound on ε and the guesses behind it."""

    epsilon: float
    right: int
    guesses: int


def plant(graph: Graph, count: int, seed: int) -> Canaries:
    """Copy the graph, and let fair coins decide for `count` random pairs (at most all) whether they are edges.

    >>> from fedwalk.graph import load_graph
    >>> canaries = plant(load_graph([[0, 1], [1, 2], [2, 3]]), count=100, seed=0)
    >>> len(canaries.pairs), canaries.graph.edges == int(canaries.real.sum())
    (6, True)
    """
    rng = np.random.default_rng(seed)
    all_pairs = graph.vertices * (graph.vertices - 1) // 2
    # All pairs are equally likely, edges or not; the coin alone decides what a canary is in the copy.
    pairs = numbered_pairs(rng.choice(all_pairs, min(count, all_pairs), replace=False), graph.vertices)
    return with_pairs(graph, pairs, rng.random(len(pairs)) < 0.5)


def with_pairs(graph: Graph, pairs: Pairs, real: NDArray[np.bool_]) -> Canaries:
    """The graph in which `real` decides which of these pairs are edges, regardless of what they were before.

    In a weighted graph each planted edge has the median weight.
    """
    edges, weights = edge_pairs(graph), edge_weights(graph)
    stays = ~among(edges, pairs)
    first, second = np.concatenate([edges[stays], pairs[real]]).T
    if weights is not None:
        median = np.quantile(weights, 0.5, method="lower") if weights.size else 1.0
        weights = np.concatenate([weights[stays], np.full(np.count_nonzero(real), median)])
    return Canaries(from_edges(first, second, graph.names, nodes=graph.objects, weights=weights), pairs, real)


def bound_of(guesses: Guesses, canaries: Canaries, confidence: float = CONFIDENCE) -> Bound:
    """The one-run bound on ε from guesses about the canaries."""
    # The bound counts only guesses that were made: an abstention is neither right nor wrong.
    made = guesses != 0
    right = int(((guesses > 0) == canaries.real)[made].sum())
    return Bound(one_run_bound(right, int(made.sum()), confidence), right, int(made.sum()))


def as_guesses(edge: NDArray[np.bool_]) -> Guesses:
    """A guess for each canary, without abstaining."""
    return np.where(edge, 1, -1).astype(np.int8)
