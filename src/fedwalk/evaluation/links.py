"""Link prediction: how well an embedding of part of the edges tells the other edges from non-edges.

A random share of the edges is held out, and the remaining graph, the training graph, is embedded. Held-out edges and
as many random non-edges are scored by the vectors of their ends: by cosine or dot product, or by a logistic regression
on one of node2vec's operators, trained on training edges and other non-edges. No edge of a random spanning forest is
held out, so the training graph has the same components as the whole graph, and every vertex keeps an edge.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.csgraph import minimum_spanning_tree

from fedwalk.embedding import Embedding
from fedwalk.errors import InputError, SettingsError
from fedwalk.evaluation.coverage import check_all_embedded
from fedwalk.graph import Graph
from fedwalk.graph.build import from_edges
from fedwalk.graph.graph import edge_pairs, edge_weights
from fedwalk.graph.pairs import Pairs, num_pairs, numbered_pairs, pair_numbers
from fedwalk.util.parallel import ranges

Values = NDArray[np.float64]

MAX_TRAINING = 50_000
"""The largest number of training edges, and of training non-edges: ample for one weight per dimension."""
_CHUNK = 1 << 14
"""Pairs scored at a time, which bounds the memory for their features."""


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
    """

    training: Graph
    held_out: Pairs
    non_edges: Pairs
    train_edges: Pairs
    train_non_edges: Pairs

    def __post_init__(self) -> None:
        for name in ("held_out", "non_edges", "train_edges", "train_non_edges"):
            object.__setattr__(self, name, _pairs(name, getattr(self, name), self.training.vertices))
        edges = pair_numbers(edge_pairs(self.training))
        # No pair may be trained on and tested, and no non-edge may be an edge.
        disjoint = [edges, *map(pair_numbers, (self.held_out, self.non_edges, self.train_non_edges))]
        if len(np.unique(np.concatenate(disjoint))) < sum(map(len, disjoint)):
            kinds = "the training graph's edges, held_out, non_edges and train_non_edges"
            raise InputError(f"links: a pair occurs twice among {kinds}; it may occur in one of them, once.")
        if not np.isin(pair_numbers(self.train_edges), edges).all():
            raise InputError("links: train_edges holds a pair that is no edge of the training graph.")


@dataclass(frozen=True, slots=True)
class LinkScore:
    """How well held-out edges were told from non-edges.

    `pairs` is the number of both together. If half of them are edges, chance gives ½ for either score.
    """

    auc: float
    average_precision: float
    method: str
    pairs: int


def split_edges(graph: Graph, share: float = 0.2, seed: int = 0) -> LinkSplit:
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

    Examples
    --------
    >>> import fedwalk
    >>> split = split_edges(fedwalk.social_network(vertices=200, mean_degree=10, communities=4, seed=7), share=0.3)
    >>> split.training, len(split.held_out), len(split.non_edges)
    (Graph(200 vertices, 700 edges, 4 labels), 300, 300)
    """
    if not 0 < share < 1:
        raise SettingsError(f"held-out share = {share}: must lie between 0 and 1, e.g. 0.2.")
    if seed < 0:
        raise SettingsError(f"seed = {seed}: at least 0.")
    rng = np.random.default_rng(seed)
    edges = edge_pairs(graph)
    held = _choose(edges, graph.vertices, share, rng)
    kept = edges[~held]
    weights = None if (all_weights := edge_weights(graph)) is None else all_weights[~held]
    training = from_edges(kept[:, 0], kept[:, 1], graph.names, weights=weights, labels=graph.labels)
    training = replace(training, notes=graph.notes, cleaning=graph.cleaning)
    test, train = _draw_non_edges(graph, int(held.sum()), len(kept), rng)
    return LinkSplit(training, edges[held], test, kept, train)


def score_links(embedding: Embedding, split: LinkSplit, method: str = "hadamard", seed: int = 0) -> LinkScore:
    """Score an embedding of the training graph by how well it tells held-out edges from non-edges.

    Parameters
    ----------
    embedding
        Vectors for the vertices of `split.training`, matched by name and trained without the held-out edges.
    method
        `cosine` or `dot`, which need no training; or `hadamard`, `l1`, `l2` or `average` of the two vectors as the
        features of a logistic regression.
    seed
        Chooses the training pairs of the regression if there are more than 50,000 of a kind.

    Examples
    --------
    >>> import fedwalk
    >>> graph = fedwalk.social_network(vertices=300, mean_degree=12, communities=6, mixing=0.1, seed=1)
    >>> split = split_edges(graph)
    >>> score = score_links(fedwalk.DeepWalk(num_walks=10, dim=16, threads=1).fit(split.training), split)
    >>> 0.7 < score.auc < 1, score.pairs
    (True, 720)
    """
    if method not in METHODS:
        raise SettingsError(f"method = {method!r}: choose from {', '.join(METHODS)}.")
    if seed < 0:
        raise SettingsError(f"seed = {seed}: at least 0.")
    vectors = _vectors(embedding, split.training)
    combine = (OPERATORS | SIMILARITIES)[method]

    def combined(pairs: Pairs) -> Values:
        return combine(*vectors[pairs.T].astype(np.float64))

    if method in SIMILARITIES:
        return _score(split, method, combined)
    model = _trained(combined, split, np.random.default_rng(seed))
    return _score(split, method, lambda pairs: np.asarray(model.decision_function(combined(pairs))))


def score_baseline(split: LinkSplit, method: str) -> LinkScore:
    """Score a baseline that needs no vectors, only the training graph: `degree product` or `common neighbours`.

    >>> import fedwalk
    >>> split = split_edges(fedwalk.social_network(vertices=200, communities=3, seed=1))
    >>> score_baseline(split, "degree product").auc > 0.6
    True
    """
    if method not in BASELINES:
        raise SettingsError(f"baseline = {method!r}: choose from {', '.join(BASELINES)}.")
    return _score(split, method, partial(BASELINES[method], split.training))


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


def _dot(a: Values, b: Values) -> Values:
    return np.asarray(np.einsum("ij,ij->i", a, b))


def _cosine(a: Values, b: Values) -> Values:
    """The cosine of each pair of rows; zero if either row is zero."""
    lengths = np.linalg.norm(a, axis=1) * np.linalg.norm(b, axis=1)
    return np.asarray(np.divide(_dot(a, b), lengths, out=np.zeros(len(a)), where=lengths > 0))


def _degree_product(graph: Graph, pairs: Pairs) -> Values:
    return np.asarray(graph.degrees[pairs].astype(np.float64).prod(axis=1))


def _common_neighbours(graph: Graph, pairs: Pairs) -> Values:
    ones = np.ones(len(graph.indices), np.int32)
    matrix = sparse.csr_array((ones, graph.indices, graph.indptr), shape=(graph.vertices, graph.vertices))
    return np.asarray(matrix[pairs[:, 0]].multiply(matrix[pairs[:, 1]]).sum(axis=1), np.float64)


OPERATORS: dict[str, Callable[[Values, Values], Values]] = {
    "hadamard": lambda a, b: a * b,
    "l1": lambda a, b: np.abs(a - b),
    "l2": lambda a, b: (a - b) ** 2,
    "average": lambda a, b: (a + b) / 2,
}
SIMILARITIES = {"cosine": _cosine, "dot": _dot}
METHODS = (*OPERATORS, *SIMILARITIES)
BASELINES = {"degree product": _degree_product, "common neighbours": _common_neighbours}


def _trained(features: Callable[[Pairs], Values], split: LinkSplit, rng: np.random.Generator) -> Any:
    """A logistic regression on standardised features, trained on as many edges as non-edges."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    kinds = (split.train_edges, split.train_non_edges)
    size = min(MAX_TRAINING, *map(len, kinds))
    pairs = np.concatenate([kind[np.sort(rng.choice(len(kind), size, replace=False))] for kind in kinds])
    model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))
    return model.fit(features(pairs), np.repeat([1, 0], size))


def _score(split: LinkSplit, method: str, judge: Callable[[Pairs], Values]) -> LinkScore:
    """Score every tested pair with `judge`, and compare the ranking with the truth."""
    from sklearn.metrics import average_precision_score, roc_auc_score

    pairs = np.concatenate((split.held_out, split.non_edges))
    chunks = ranges(len(pairs), -(-len(pairs) // _CHUNK))
    values = np.concatenate([judge(pairs[begin:end]) for begin, end in chunks])
    truth = np.arange(len(pairs)) < len(split.held_out)
    auc, precision = (float(rate(truth, values)) for rate in (roc_auc_score, average_precision_score))
    return LinkScore(auc, precision, method, len(pairs))


def _vectors(embedding: Embedding, graph: Graph) -> NDArray[np.float32]:
    """The vectors, in the order of the graph's vertices."""
    check_all_embedded(embedding, graph, "Embed the split's training graph.")
    return np.stack([embedding[name] for name in graph.names.tolist()])


def _pairs(name: str, given: Pairs, vertices: int) -> Pairs:
    """The pairs as a read-only array, the lower id first; InputError unless they are pairs of different vertices."""
    pairs = np.sort(np.asarray(given, np.int64), axis=-1)
    if pairs.ndim != 2 or pairs.shape[1] != 2 or len(pairs) == 0:
        raise InputError(f"links: {name} must have at least one row of two vertex ids; its shape is {pairs.shape}.")
    if pairs.min() < 0 or pairs.max() >= vertices or np.any(pairs[:, 0] == pairs[:, 1]):
        raise InputError(f"links: {name} must be pairs of different vertices from 0 to {vertices - 1}.")
    pairs.flags.writeable = False
    return pairs
