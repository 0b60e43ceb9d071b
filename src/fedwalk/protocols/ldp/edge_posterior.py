"""Decode the reports: the probability that each reported pair is an edge. No privacy cost (PROOFS.md, 4).

1. Estimate degrees from the number of reported pairs of each vertex.
2. Weight every reported pair by the posterior that degrees alone (Chung–Lu) give.
3. Compute the weighted paths of two edges between the ends of every reported pair.
4. Fit a prior to degrees and paths, and apply Bayes' rule with the likelihood ratio hit / q of a report.
"""

from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from fedwalk.kernels.ldp.paths import two_edge_paths
from fedwalk.kernels.random import DECODING, draws
from fedwalk.protocols.ldp.degree_estimate import estimated_degrees
from fedwalk.protocols.ldp.edge_prior import Prior, features, fit_prior
from fedwalk.protocols.ldp.mechanism import RandomisedResponse
from fedwalk.protocols.ldp.reports import Reports
from fedwalk.util.parallel import Progress, ranges, run_tasks, silent

Longs = NDArray[np.int64]
Floats = NDArray[np.float64]

SAMPLE = 500_000
"""Limit on the reported pairs that the prior is fitted to, and on the unreported ones: enough for five coefficients."""
TASKS = 64


@dataclass(frozen=True, slots=True, eq=False)
class WeightedGraph:
    """Both directions of every reported pair, rows ascending, each with the probability that it is an edge."""

    indptr: NDArray[np.int64]
    indices: NDArray[np.int32]
    weights: NDArray[np.float32]

    @classmethod
    def of_pairs(cls, vertices: int, first: Longs, second: Longs, weights: Floats) -> "WeightedGraph":
        """Make a graph from pairs that are each given once."""
        ends, others = np.concatenate([first, second]), np.concatenate([second, first])
        order = np.lexsort((others, ends))
        indptr = np.concatenate([[0], np.cumsum(np.bincount(ends, minlength=vertices))]).astype(np.int64)
        both = np.concatenate([weights, weights])
        return cls(indptr, others[order].astype(np.int32), both[order].astype(np.float32))

    @property
    def vertices(self) -> int:
        """The number of vertices."""
        return self.indptr.size - 1

    @property
    def strengths(self) -> Floats:
        """The sum of each row: a vertex's expected degree among its reported pairs."""
        row = np.repeat(np.arange(self.vertices), np.diff(self.indptr))
        return np.bincount(row, self.weights, self.vertices).astype(np.float64)


def decode(
    reports: Reports, mechanism: RandomisedResponse, seed: int, threads: int = 1, on_progress: Progress = silent
) -> WeightedGraph:
    """Compute the posterior of every reported pair."""
    first, second = reports.pairs()
    if first.size == 0:
        return WeightedGraph.of_pairs(reports.vertices, first, second, np.empty(0))
    on_progress(0, 4)
    counts = reports.counts()
    degrees = estimated_degrees(counts, mechanism.hit, mechanism.flip)
    # A pair's own report must not enter its prior: without it, each end has one reported pair fewer.
    apart = estimated_degrees(counts, mechanism.hit, mechanism.flip, at=counts - 1)
    rough = posterior(_chung_lu(apart, first, second), mechanism)
    graph = WeightedGraph.of_pairs(reports.vertices, first, second, rough)
    on_progress(1, 4)
    shown = features(apart[first], apart[second], degrees.sum(), paths(graph, first, second, threads))
    on_progress(2, 4)
    others = _sample_pairs(reports, seed)
    if others[0].size == 0:
        # Every pair was reported: there is nothing to fit a prior to.
        return graph
    prior = _fit(graph, degrees, shown, others, mechanism, threads)
    on_progress(3, 4)
    return WeightedGraph.of_pairs(reports.vertices, first, second, posterior(prior(shown), mechanism))


def posterior(prior: Floats, mechanism: RandomisedResponse) -> Floats:
    """The probability of an edge, given that the pair was reported."""
    edge, other = prior * mechanism.hit, (1 - prior) * mechanism.flip
    return np.asarray(edge / (edge + other))


def paths(graph: WeightedGraph, first: Longs, second: Longs, threads: int) -> Floats:
    """Weighted paths of two edges between the ends of each pair.

    The kernel writes one end's row into a dense array and reads the other's. The longer row is the one written, once
    for all pairs that share it.
    """
    shares = (1 / np.maximum(graph.strengths, 1.0)).astype(np.float32)
    length = np.diff(graph.indptr)
    swap = length[first] < length[second]
    spread, read = np.where(swap, second, first), np.where(swap, first, second)
    order = np.argsort(spread, kind="stable")
    spread, read = spread[order], read[order]
    kernel = partial(two_edge_paths, graph.indptr, graph.indices, graph.weights, shares)
    pieces = ranges(spread.size, TASKS if threads > 1 else 1)
    sums = run_tasks([partial(kernel, spread[a:b], read[a:b]) for a, b in pieces], threads)
    result = np.empty(spread.size)
    result[order] = np.concatenate(sums)
    return result


def _chung_lu(degrees: Floats, first: Longs, second: Longs) -> Floats:
    """The probability of an edge from degrees alone; the expected number is taken as odds, so it stays below one."""
    expected = degrees[first] * degrees[second] / degrees.sum()
    return np.asarray(expected / (1 + expected))


def _fit(
    graph: WeightedGraph,
    degrees: Floats,
    shown: Floats,
    others: tuple[Longs, Longs, Floats],
    mechanism: RandomisedResponse,
    threads: int,
) -> Prior:
    """Fit the prior to at most SAMPLE reported pairs and a sample of unreported ones."""
    step = max(1, -(-len(shown) // SAMPLE))
    a, b, stands_for = others
    rows = features(degrees[a], degrees[b], degrees.sum(), paths(graph, a, b, threads))
    return fit_prior(shown[::step], step, rows, stands_for, mechanism.hit, mechanism.flip)


def _sample_pairs(reports: Reports, seed: int) -> tuple[Longs, Longs, Floats]:
    """Unreported pairs, and how many each one stands for: all of them, or a sample if there are too many.

    The sample prefers vertices in many reported pairs, because uniform pairs of a sparse graph are almost all alike.
    The weights (inverse sampling probabilities) undo that.
    """
    if reports.vertices * (reports.vertices - 1) // 2 <= SAMPLE:
        a, b = np.triu_indices(reports.vertices, 1)
        return _unreported(reports, a, b, np.ones(a.size))
    counts = np.sqrt(reports.counts() + 1.0)
    edges = np.cumsum(counts) / counts.sum()
    words = draws(seed, DECODING, 0, np.arange(2 * SAMPLE))
    a, b = np.minimum(np.searchsorted(edges, words * 2.0**-64, "right"), counts.size - 1).reshape(2, -1)
    share = counts / counts.sum()
    return _unreported(reports, a, b, 1 / (2 * share[a] * share[b] * SAMPLE))


def _unreported(reports: Reports, a: Longs, b: Longs, stands_for: Floats) -> tuple[Longs, Longs, Floats]:
    """Those of the pairs that weren't reported."""
    # A pair as one integer, so that sorted arrays can be searched.
    owner, other = reports.pairs()
    reported = np.unique(np.minimum(owner, other) * reports.vertices + np.maximum(owner, other))
    fresh = (a != b) & ~is_among(np.minimum(a, b) * reports.vertices + np.maximum(a, b), reported)
    return a[fresh], b[fresh], stands_for[fresh]


def is_among(codes: Longs, ascending: Longs) -> NDArray[np.bool_]:
    """Which of the codes occur in the ascending array."""
    if ascending.size == 0:
        return np.zeros(codes.size, np.bool_)
    return np.asarray(ascending[np.minimum(np.searchsorted(ascending, codes), ascending.size - 1)] == codes)
