"""Slow, obvious versions of every formula, written from the paper and used only by the tests."""

from itertools import product

import numpy as np
from numpy.typing import NDArray

from fedwalk.graph import Graph


def dtw(a: NDArray[np.floating], b: NDArray[np.floating]) -> float:
    """Eq. 6 and 7: the recurrence as printed, local cost L1."""
    cost = np.full((len(a) + 1, len(b) + 1), np.inf)
    cost[0, 0] = 0.0
    for i, j in product(range(len(a)), range(len(b))):
        local = np.abs(a[i].astype(np.float64) - b[j].astype(np.float64)).sum()
        cost[i + 1, j + 1] = local + min(cost[i, j + 1], cost[i + 1, j], cost[i, j])
    return float(cost[-1, -1])


def step_probabilities(graph: Graph) -> NDArray[np.float64]:
    """Row u has the chance of each vertex to be the next after u: its edge's weight over the sum of u's weights."""
    chances = np.zeros((graph.vertices, graph.vertices))
    for u in range(graph.vertices):
        for place in range(graph.indptr[u], graph.indptr[u + 1]):
            chances[u, graph.indices[place]] = 1.0 if graph.weights is None else graph.weights[place]
        chances[u] /= sum(sorted(chances[u]))
    return chances


def leaf_sets(linkage: NDArray[np.float64]) -> list[set[int]]:
    """The leaves below every node, leaves first, then internal nodes in row order."""
    n = len(linkage) + 1
    sets = [{v} for v in range(n)]
    for left, right, _, _ in linkage:
        sets.append(sets[int(left)] | sets[int(right)])
    return sets


def common_leaves(linkage: NDArray[np.float64], u: int, v: int) -> int:
    """|leaves(T[u ∨ v])|: the smallest leaf set that contains both."""
    return min(len(leaves) for leaves in leaf_sets(linkage) if {u, v} <= leaves)


def leaf_order(linkage: NDArray[np.float64]) -> list[int]:
    """The dendrogram's leaves from left to right."""
    n = len(linkage) + 1

    def below(node: int) -> list[int]:
        if node < n:
            return [node]
        left, right = linkage[node - n, :2].astype(int)
        return below(left) + below(right)

    return below(2 * n - 2)


def encoder_probabilities(
    matrices: list[NDArray[np.float32]], linkage: NDArray[np.float64], epsilon: float
) -> NDArray[np.float64]:
    """Eq. 12, dense: row v1 holds Pr[v2 | v1] for every v2."""
    n = len(matrices)
    weights = np.empty((n, n))
    for v1, v2 in product(range(n), range(n)):
        score = dtw(matrices[v1], matrices[v2]) * common_leaves(linkage, v1, v2)
        weights[v1, v2] = np.exp(-epsilon * score)
    return np.asarray(weights / weights.sum(axis=1, keepdims=True))


def pool(u: int, vectors: NDArray[np.float32], plan: NDArray[np.int32], linkage: NDArray[np.float64]) -> set[int]:
    """The two-hop pool of u: for each bin the max(0, round(c_u[i])) vertices nearest to u in T."""
    order = leaf_order(linkage)
    position = {v: order.index(v) for v in order}
    chosen: set[int] = set()
    for i, count in enumerate(vectors[u]):
        candidates = [v for v in range(len(plan)) if plan[v] == i and v != u]
        candidates.sort(key=lambda v: (common_leaves(linkage, u, v), abs(position[v] - position[u]), position[v]))
        chosen.update(candidates[: max(0, round(float(count)))])
    return chosen


def degree_prediction(u: int, vectors: NDArray[np.float32], plan: NDArray[np.int32]) -> NDArray[np.float64]:
    """Predictor `degree`: the probability of each vertex to follow u, if every bin has another vertex."""
    bins = np.maximum(0.0, vectors[u].astype(np.float64))
    probability = np.zeros(len(plan))
    if not bins.any():
        return probability
    for i, share in enumerate(bins / bins.sum()):
        weights = np.array(
            [
                max(0.0, float(vectors[v].astype(np.float64).sum())) if plan[v] == i and v != u else 0.0
                for v in range(len(plan))
            ]
        )
        if weights.sum() > 0:
            probability += share * weights / weights.sum()
    return probability


def hops_by_recurrence(length: int, p: float) -> float:
    """Theorem 2's own recurrence: E_1 = 0, E_2 = 1, E_l = p(E_{l−2} + 1) + (1 − p)(E_{l−1} + 1)."""
    expected = {1: 0.0, 2: 1.0}
    for n in range(3, length + 1):
        expected[n] = p * (expected[n - 2] + 1) + (1 - p) * (expected[n - 1] + 1)
    return expected[length]


def hops_closed_form(length: int, p: float) -> float:
    """The closed form that solves the recurrence."""
    return float((length - 1) / (1 + p) + p * (1 - (-p) ** (length - 1)) / (1 + p) ** 2)
