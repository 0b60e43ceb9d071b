"""Canaries: pairs whose edge a coin decides, so that how well they can be guessed says how large ε must be.

They are planted in a copy of the graph, the protocol's own runtime runs on it, and an attack guesses them from a view.
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from fedwalk.audit.epsilon import CONFIDENCE, one_run_bound
from fedwalk.audit.evidence import list_view, matrix_view
from fedwalk.audit.lists import are_reported
from fedwalk.audit.pairs import Pairs, among
from fedwalk.audit.rows import match_rows
from fedwalk.evaluation.links import edge_pairs, numbered_pairs
from fedwalk.graph import Graph
from fedwalk.graph.build import from_edges
from fedwalk.settings import Settings

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
    """A copy of the graph in which `count` random pairs, or all there are, are edges or not by fair coins.

    >>> from fedwalk.graph import load_graph
    >>> canaries = plant(load_graph([[0, 1], [1, 2], [2, 3]]), count=100, seed=0)
    >>> len(canaries.pairs), canaries.graph.edges == int(canaries.real.sum())
    (6, True)
    """
    rng = np.random.default_rng(seed)
    all_pairs = graph.vertices * (graph.vertices - 1) // 2
    pairs = numbered_pairs(rng.choice(all_pairs, min(count, all_pairs), replace=False), graph.vertices)
    return with_pairs(graph, pairs, rng.random(len(pairs)) < 0.5)


def with_pairs(graph: Graph, pairs: Pairs, real: NDArray[np.bool_]) -> Canaries:
    """The graph with these pairs as edges or not, whatever they were before."""
    edges = edge_pairs(graph)
    kept = edges[~among(edges, pairs)]
    first, second = np.concatenate([kept, pairs[real]]).T
    return Canaries(from_edges(first, second, graph.names), pairs, real)


def bound_of(guesses: Guesses, canaries: Canaries, confidence: float = CONFIDENCE) -> Bound:
    """The one-run bound on ε from guesses about the canaries."""
    made = guesses != 0
    right = int(((guesses > 0) == canaries.real)[made].sum())
    return Bound(one_run_bound(right, int(made.sum()), confidence), right, int(made.sum()))


def guess_from_lists(canaries: Canaries, settings: Settings) -> Guesses:
    """Protocol `ldp`: a canary is taken for real if it was reported."""
    return as_guesses(are_reported(list_view(canaries.graph, settings), canaries.pairs))


def guess_from_matrices(canaries: Canaries, settings: Settings) -> Guesses:
    """Protocol `paper`: a canary is taken for real if a row names it; who takes no part has no edges at all."""
    if canaries.graph.edges == 0:
        return as_guesses(np.zeros(len(canaries.pairs), bool))
    active, taking_part = canaries.graph.active()
    bins = min(settings.bins or 1, active.vertices)
    found = match_rows(matrix_view(active, replace(settings, bins=bins)))
    return as_guesses(among(canaries.pairs, taking_part[found]))


def as_guesses(edge: NDArray[np.bool_]) -> Guesses:
    """A guess for each canary, without abstaining."""
    return np.where(edge, 1, -1).astype(np.int8)
