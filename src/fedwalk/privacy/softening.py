"""How much to trust the posteriors: a power that flattens them, chosen by the reports themselves (free, PROOFS.md, 4).

Posteriors are as good as the prior's idea of a graph. Where degrees are more uneven than it expects, the surest pairs
are those of hubs, which tell least, and a power below one is better; where the idea fits, it is worse. So some reported
pairs are held out, the rest is embedded with each power, and the one is taken whose vectors tell the held-out pairs
best from strangers. No label plays a part.
"""

import numpy as np
from numpy.typing import NDArray

from fedwalk.embedding.spectral import spectral
from fedwalk.kernels.random import DECODING, draws
from fedwalk.kernels.threads import Report, silent
from fedwalk.privacy.posterior import WeightedGraph, is_among

Longs = NDArray[np.int64]
Floats = NDArray[np.float64]

POWERS = (1.0, 0.75, 0.5)
HELD_OUT = 0.2
MOST_HELD_OUT = 200_000
LEAST_HELD_OUT = 100
"""Fewer pairs than this can't tell one power from another: the posteriors then stay as they are."""
CHUNK = 50_000


def softening(graph: WeightedGraph, *, dim: int, seed: int, report: Report = silent) -> float:
    """The power of POWERS whose spectral embedding predicts held-out reports best."""
    first, second, weights = _pairs(graph)
    share = min(HELD_OUT, MOST_HELD_OUT / max(1, first.size))
    held = draws(seed, DECODING, 1, np.arange(first.size)) * 2.0**-64 < share
    strangers = _strangers(first[held], second[held], graph, seed)
    if np.count_nonzero(held) < LEAST_HELD_OUT or strangers[0].size < LEAST_HELD_OUT:
        return POWERS[0]
    quality, strengths = {}, graph.strengths
    for done, power in enumerate(POWERS):
        report(done, len(POWERS))
        rest = WeightedGraph.of_pairs(graph.vertices, first[~held], second[~held], weights[~held] ** power)
        vectors = spectral(rest.indptr, rest.indices, rest.weights, dim=dim, seed=seed)
        quality[power] = _quality(vectors, (first[held], second[held], weights[held]), strangers, strengths)
    return max(POWERS, key=lambda power: quality[power])


def _pairs(graph: WeightedGraph) -> tuple[Longs, Longs, Floats]:
    """Every reported pair once, with its posterior."""
    row = np.repeat(np.arange(graph.vertices), np.diff(graph.indptr))
    once = row < graph.indices
    return row[once], graph.indices[once].astype(np.int64), graph.weights[once].astype(np.float64)


def _strangers(first: Longs, second: Longs, graph: WeightedGraph, seed: int) -> tuple[Longs, Longs]:
    """The held-out pairs' ends, joined anew at random, without what was reported."""
    a = first[np.argsort(draws(seed, DECODING, 2, np.arange(first.size)))]
    b = second[np.argsort(draws(seed, DECODING, 3, np.arange(first.size)))]
    row = np.repeat(np.arange(graph.vertices), np.diff(graph.indptr))
    fresh = (a != b) & ~is_among(a * graph.vertices + b, row * graph.vertices + graph.indices)
    return a[fresh], b[fresh]


def _quality(
    vectors: NDArray[np.float32], held: tuple[Longs, Longs, Floats], strangers: tuple[Longs, Longs], strengths: Floats
) -> float:
    """AUC of inner products: a held-out pair counts by its posterior, and every vertex about equally."""
    from sklearn.metrics import roc_auc_score

    first, second, weights = held
    size = np.sqrt(np.maximum(strengths, 1e-9))
    real, fake = weights / (size[first] * size[second]), 1 / (size[strangers[0]] * size[strangers[1]])
    scores = np.concatenate([_products(vectors, first, second), _products(vectors, *strangers)])
    truth = np.repeat([1, 0], [first.size, strangers[0].size])
    return float(roc_auc_score(truth, scores, sample_weight=np.concatenate([real / real.sum(), fake / fake.sum()])))


def _products(vectors: NDArray[np.float32], first: Longs, second: Longs) -> Floats:
    """The inner product of each pair, a chunk at a time."""
    out = np.empty(first.size)
    for i in range(0, first.size, CHUNK):
        a, b = vectors[first[i : i + CHUNK]], vectors[second[i : i + CHUNK]]
        out[i : i + CHUNK] = np.einsum("ij,ij->i", a, b)
    return out
