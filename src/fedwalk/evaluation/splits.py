"""Splits for link prediction: a training graph, and pairs of vertices to train, to choose and to test a scoring.

A random share of the edges is held out, and the remaining graph, the training graph, is embedded. No edge of a random
spanning forest is held out, so the training graph has the same components as the whole graph, and every vertex keeps an
edge. Part of the held-out edges can be set aside as validation pairs, on which a scoring is chosen; the others test it.
"""

import math
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.csgraph import minimum_spanning_tree

from fedwalk.errors import InputError, SettingsError
from fedwalk.graph import Graph
from fedwalk.graph.build import from_edges
from fedwalk.graph.graph import edge_pairs, edge_weights
from fedwalk.graph.pairs import Pairs, num_pairs, numbered_pairs, pair_numbers


def _no_pairs() -> Pairs:
    return np.empty((0, 2), np.int64)


@dataclass(frozen=True, slots=True, eq=False)
class LinkSplit:
    """A graph split for link prediction. Pairs are rows of two vertex ids, the lower one first.

    Parameters
    ----------
    training : Graph
        The graph to embed: all vertices of the whole graph with their ids, names and labels, but not all edges.
    held_out, non_edges : int64[k, 2]
        The tested pairs: edges of the whole graph that `training` lacks, and pairs without an edge.
    train_edges, train_non_edges : int64[k, 2]
        The pairs that train a classifier: edges of `training`, and other pairs without an edge.
    validation_edges, validation_non_edges : int64[k, 2], optional
        The pairs on which a scoring is chosen: more edges that `training` lacks, and pairs without an edge.
    """

    training: Graph
    held_out: Pairs
    non_edges: Pairs
    train_edges: Pairs
    train_non_edges: Pairs
    validation_edges: Pairs = field(default_factory=_no_pairs)
    validation_non_edges: Pairs = field(default_factory=_no_pairs)

    def __post_init__(self) -> None:
        for name in ("held_out", "non_edges", "train_edges", "train_non_edges"):
            object.__setattr__(self, name, _pairs(name, getattr(self, name), self.training.vertices))
        if len(self.validation_edges) or len(self.validation_non_edges):
            for name in ("validation_edges", "validation_non_edges"):
                object.__setattr__(self, name, _pairs(name, getattr(self, name), self.training.vertices))
        edges = pair_numbers(edge_pairs(self.training))
        # No pair may be trained on and tested, and no non-edge may be an edge.
        names = ("held_out", "non_edges", "train_non_edges", "validation_edges", "validation_non_edges")
        disjoint = [edges, *(pair_numbers(getattr(self, name)) for name in names)]
        if len(np.unique(np.concatenate(disjoint))) < sum(map(len, disjoint)):
            kinds = f"the training graph's edges, {', '.join(names[:-1])} and {names[-1]}"
            raise InputError(f"links: a pair occurs twice among {kinds}; it may occur in one of them, once.")
        if not np.isin(pair_numbers(self.train_edges), edges).all():
            raise InputError("links: train_edges holds a pair that is no edge of the training graph.")


def split_edges(graph: Graph, share: float = 0.2, seed: int = 0, validation: float = 0.0) -> LinkSplit:
    """Hold out a random share of a graph's edges, and draw as many non-edges.

    Parameters
    ----------
    graph
        The whole graph. Isolated vertices stay in the training graph, but no pair includes them: their vectors are
        zero.
    share
        The share of the edges to hold out, between 0 and 1; at least one edge is held out. It is an error if too few
        edges lie outside a spanning forest.
    seed
        The same seed gives the same split.
    validation
        The share of the held-out edges and of their non-edges to set aside as validation pairs, from 0 to below 1.
        `score_links(…, scoring="best")` needs some. The training graph doesn't depend on it.

    Examples
    --------
    >>> import fedwalk
    >>> graph = fedwalk.social_network(vertices=200, mean_degree=10, communities=4, seed=7)
    >>> split = split_edges(graph, share=0.3, validation=0.25)
    >>> split.training, len(split.held_out), len(split.non_edges), len(split.validation_edges)
    (Graph(200 vertices, 700 edges, 4 labels), 225, 225, 75)
    """
    if not 0 < share < 1:
        raise SettingsError(f"held-out share = {share}: must lie between 0 and 1, e.g. 0.2.")
    if not 0 <= validation < 1:
        raise SettingsError(f"validation share = {validation}: must be at least 0 and below 1, e.g. 0.25.")
    if seed < 0:
        raise SettingsError(f"seed = {seed}: at least 0.")
    rng = np.random.default_rng(seed)
    edges = edge_pairs(graph)
    held = _choose(edges, graph.vertices, share, rng)
    kept = edges[~held]
    weights = None if (all_weights := edge_weights(graph)) is None else all_weights[~held]
    training = from_edges(
        kept[:, 0], kept[:, 1], graph.names, nodes=graph.objects, weights=weights, labels=graph.labels
    )
    training = replace(training, notes=graph.notes, cleaning=graph.cleaning)
    test, train = _draw_non_edges(graph, int(held.sum()), len(kept), rng)
    aside = _draw_validation(int(held.sum()), validation, rng)
    return LinkSplit(training, edges[held][~aside], test[~aside], kept, train, edges[held][aside], test[aside])


def _choose(edges: Pairs, vertices: int, share: float, rng: np.random.Generator) -> NDArray[np.bool_]:
    """A mask of the held-out edges: a share of all edges, drawn from those outside a random spanning forest.

    With distinct random weights, the minimum spanning tree is a random spanning forest, and the weights in it identify
    its edges.
    """
    rank = rng.permutation(len(edges)) + 1
    weights = sparse.csr_array((rank.astype(np.float64), (edges[:, 0], edges[:, 1])), shape=(vertices, vertices))
    spare = np.flatnonzero(~np.isin(rank, minimum_spanning_tree(weights).data.astype(np.int64)))
    count = max(1, round(share * len(edges)))
    if len(spare) == 0:
        forest = f"the graph's {len(edges):,} edges form a forest, and removing any of them would disconnect it"
        raise InputError(f"no edge can be held out: {forest}. Link prediction needs a graph with cycles.")
    if count > len(spare):
        largest = len(spare) / len(edges)
        raise SettingsError(
            f"held-out share = {share:g}: {count:,} edges, but only {len(spare):,} of the graph's {len(edges):,} can "
            f"be removed without disconnecting it. Hold out at most {math.floor(largest * 1e4) / 1e4 or largest:g}."
        )
    held = np.zeros(len(edges), bool)
    held[rng.choice(spare, count, replace=False)] = True
    return held


def _draw_non_edges(graph: Graph, test: int, train: int, rng: np.random.Generator) -> tuple[Pairs, Pairs]:
    """Draw distinct non-edges uniformly at random: `test` of them, and up to `train` others."""
    active, ids = graph.active()
    taken = pair_numbers(edge_pairs(active))
    available = num_pairs(active.vertices) - len(taken)
    if available < 2 * test:
        raise InputError(
            f"only {available:,} pairs of the graph's vertices are no edges, but {test:,} held-out edges need "
            f"{2 * test:,} such pairs, to train and to test. Hold out a smaller share, or use a sparser graph."
        )
    places = rng.choice(available, min(available, test + train), replace=False)
    # The number of non-edge r is r plus the number of edges before it, which are the edges with at most r non-edges
    # before them. Rejection sampling would be slow in a nearly complete graph; this isn't.
    numbers = places + np.searchsorted(taken - np.arange(len(taken)), places, side="right")
    pairs = ids[numbered_pairs(numbers, active.vertices)]
    return pairs[:test], pairs[test:]


def _draw_validation(held: int, share: float, rng: np.random.Generator) -> NDArray[np.bool_]:
    """A mask of the held-out edges to set aside: a share of them, but at least one, and not all."""
    aside = np.zeros(held, bool)
    if share > 0:
        if held < 2:
            raise SettingsError(
                "a single edge is held out, which can't be split into a validation and a test part. Hold out more "
                "edges, or choose a scoring instead of comparing them on validation pairs."
            )
        aside[rng.choice(held, min(held - 1, max(1, round(share * held))), replace=False)] = True
    return aside


def _pairs(name: str, given: Pairs, vertices: int) -> Pairs:
    """The pairs as a read-only array, the lower id first; InputError unless they are pairs of different vertices."""
    pairs = np.sort(np.asarray(given, np.int64), axis=-1)
    if pairs.ndim != 2 or pairs.shape[1] != 2 or len(pairs) == 0:
        raise InputError(f"links: {name} must have at least one row of two vertex ids; its shape is {pairs.shape}.")
    if pairs.min() < 0 or pairs.max() >= vertices or np.any(pairs[:, 0] == pairs[:, 1]):
        raise InputError(f"links: {name} must be pairs of different vertices from 0 to {vertices - 1}.")
    pairs.flags.writeable = False
    return pairs
