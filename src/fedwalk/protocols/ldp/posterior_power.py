"""Choose the posterior power: how far the posteriors are flattened before embedding. No privacy cost (PROOFS.md, 4).

Posteriors are only as good as the prior's model of a graph. Where degrees are more uneven than the model expects, the
most certain pairs are those of hubs, which carry the least information, and a power below one is better. Where the
model fits, it is worse. So some reported pairs are held out, the rest is embedded with each power, and the power is
chosen whose vectors best distinguish the held-out pairs from random ones. No labels are used.
"""

import numpy as np
from numpy.typing import NDArray

from fedwalk.embedding.spectral import spectral
from fedwalk.kernels.random import DECODING, draws
from fedwalk.protocols.ldp.edge_posterior import WeightedGraph, is_among
from fedwalk.util.parallel import Progress, silent

Longs = NDArray[np.int64]
Floats = NDArray[np.float64]

POWERS = (1.0, 0.75, 0.5)
HELD_OUT = 0.2
MAX_HELD_OUT = 200_000
MIN_HELD_OUT = 100
"""With fewer held-out pairs the powers can't be compared: the posteriors then stay as they are."""
CHUNK = 50_000


def choose_power(graph: WeightedGraph, *, dim: int, seed: int, on_progress: Progress = silent) -> float:
    """The power of POWERS whose spectral embedding predicts held-out reported pairs best."""
    first, second, weights = _pairs(graph)
    share = min(HELD_OUT, MAX_HELD_OUT / max(1, first.size))
    # Streams 1 … 3 of this purpose; stream 0 is for the sample that the prior is fitted to.
    held = draws(seed, DECODING, 1, np.arange(first.size)) * 2.0**-64 < share
    unreported = _unreported(first[held], second[held], graph, seed)
    if np.count_nonzero(held) < MIN_HELD_OUT or unreported[0].size < MIN_HELD_OUT:
        return POWERS[0]
    quality, strengths = {}, graph.strengths
    for done, power in enumerate(POWERS):
        on_progress(done, len(POWERS))
        rest = WeightedGraph.of_pairs(graph.vertices, first[~held], second[~held], weights[~held] ** power)
        vectors = spectral(rest.indptr, rest.indices, rest.weights, dim=dim, seed=seed)
        quality[power] = _quality(vectors, (first[held], second[held], weights[held]), unreported, strengths)
    return max(POWERS, key=lambda power: quality[power])


def _pairs(graph: WeightedGraph) -> tuple[Longs, Longs, Floats]:
    """Every reported pair once, with its posterior."""
    row = np.repeat(np.arange(graph.vertices), np.diff(graph.indptr))
    once = row < graph.indices
    return row[once], graph.indices[once].astype(np.int64), graph.weights[once].astype(np.float64)


def _unreported(first: Longs, second: Longs, graph: WeightedGraph, seed: int) -> tuple[Longs, Longs]:
    """Unreported pairs for comparison: the ends of the held-out pairs, paired again at random.

    So vertices are as frequent among them as among the held-out pairs, and degrees alone can't tell the two apart.
    """
    a = first[np.argsort(draws(seed, DECODING, 2, np.arange(first.size)))]
    b = second[np.argsort(draws(seed, DECODING, 3, np.arange(first.size)))]
    row = np.repeat(np.arange(graph.vertices), np.diff(graph.indptr))
    fresh = (a != b) & ~is_among(a * graph.vertices + b, row * graph.vertices + graph.indices)
    return a[fresh], b[fresh]


def _quality(
    vectors: NDArray[np.float32], held: tuple[Longs, Longs, Floats], unreported: tuple[Longs, Longs], strengths: Floats
) -> float:
    """The AUC of inner products, with held-out pairs weighted by their posteriors, and all vertices about equally."""
    from sklearn.metrics import roc_auc_score

    first, second, weights = held
    size = np.sqrt(np.maximum(strengths, 1e-9))
    # Division by √(strength·strength) keeps a few hubs from deciding the score.
    real, fake = weights / (size[first] * size[second]), 1 / (size[unreported[0]] * size[unreported[1]])
    scores = np.concatenate([_products(vectors, first, second), _products(vectors, *unreported)])
    truth = np.repeat([1, 0], [first.size, unreported[0].size])
    return float(roc_auc_score(truth, scores, sample_weight=np.concatenate([real / real.sum(), fake / fake.sum()])))


def _products(vectors: NDArray[np.float32], first: Longs, second: Longs) -> Floats:
    """The inner product of each pair, a chunk at a time: the rows of all pairs together wouldn't fit into memory."""
    out = np.empty(first.size)
    for i in range(0, first.size, CHUNK):
        a, b = vectors[first[i : i + CHUNK]], vectors[second[i : i + CHUNK]]
        out[i : i + CHUNK] = np.einsum("ij,ij->i", a, b)
    return out
