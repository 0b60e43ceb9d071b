"""Scores of guesses against the true graph, which the attacks themselves never read."""

import numpy as np
from numpy.typing import NDArray

from fedwalk.graph.graph import Graph, edge_pairs
from fedwalk.graph.pairs import Pairs, among, numbered_pairs, pair_numbers

Metrics = dict[str, float]

MAX_PAIRS = 50_000
"""Most edges, and most other pairs, that scores are computed from."""


def density(graph: Graph) -> float:
    """The share of all pairs that are edges."""
    return graph.edges / (graph.vertices * (graph.vertices - 1) / 2)


def score_pairs(graph: Graph, guesses: Pairs) -> Metrics:
    """`recall`, the share of the edges that were guessed, and `precision`, the share of the guesses that are edges.

    Without a guess there is no precision.

    >>> from fedwalk.graph import load_graph
    >>> score_pairs(load_graph([[0, 1], [1, 2], [2, 3]]), np.array([[0, 1], [0, 2]]))
    {'recall': 0.3333333333333333, 'precision': 0.5, 'guesses': 2}
    """
    right = int(among(guesses, edge_pairs(graph)).sum())
    precision = {"precision": right / len(guesses)} if len(guesses) else {}
    return {"recall": right / graph.edges, **precision, "guesses": len(guesses)}


def score_at_random(graph: Graph, guesses: int) -> Metrics:
    """The expected scores of as many different pairs drawn at random."""
    share = density(graph)
    return {"recall": guesses * share / graph.edges, "precision": share}


def sample_pairs(graph: Graph, seed: int) -> tuple[Pairs, Pairs]:
    """Edges and non-edges to be told apart, at most MAX_PAIRS of each, drawn at random."""
    rng = np.random.default_rng(seed)
    edges = edge_pairs(graph)
    if len(edges) > MAX_PAIRS:
        edges = edges[rng.choice(len(edges), MAX_PAIRS, replace=False)]
    # Twice as many as needed, because repeats and edges are dropped. In a dense graph fewer may remain.
    drawn = np.unique(rng.integers(0, graph.vertices * (graph.vertices - 1) // 2, 2 * len(edges)))
    # Shuffled, because np.unique sorts: cutting the sorted numbers would keep only pairs with small ids.
    others = rng.permutation(np.setdiff1d(drawn, pair_numbers(edge_pairs(graph)), assume_unique=True))
    return edges, numbered_pairs(others[: len(edges)], graph.vertices)


def area_under_curve(positive: NDArray[np.float64], negative: NDArray[np.float64]) -> float:
    """The chance that an edge scores above a non-edge, a tie counting half.

    >>> area_under_curve(np.array([0.9, 0.4]), np.array([0.1, 0.4]))
    0.875
    """
    # Each edge counts the non-edges that score below it, and half of those that score the same.
    ordered = np.sort(negative)
    above, level = np.searchsorted(ordered, positive), np.searchsorted(ordered, positive, "right")
    return float((above + level).mean() / (2 * negative.size))


def score_ranks(guess: NDArray[np.int64], truth: NDArray[np.int64]) -> Metrics:
    """`rank_correlation` (Spearman's), if both have more than one value.

    >>> score_ranks(np.array([1, 5, 3]), np.array([10, 30, 20]))
    {'rank_correlation': 1.0}
    >>> score_ranks(np.array([1, 1, 1]), np.array([10, 30, 20]))
    {}
    """
    # Half a second to import. A protocol's value names its attacks, so this module is loaded by every command.
    from scipy.stats import rankdata

    if np.unique(guess).size < 2 or np.unique(truth).size < 2:
        return {}
    return {"rank_correlation": float(np.corrcoef(rankdata(guess), rankdata(truth))[0, 1])}


def score_named(graph: Graph, neighbours: NDArray[np.int64]) -> Metrics:
    """`named`, the share of the vertices of degree 1 whose neighbour was guessed; left out if there are none."""
    victims = np.flatnonzero(graph.degrees == 1)
    # The only neighbour of such a vertex is at the beginning of its row.
    right = neighbours[victims] == graph.indices[graph.indptr[victims]]
    return {**({"named": float(right.mean())} if victims.size else {}), "victims": victims.size}
