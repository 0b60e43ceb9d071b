"""The posterior power is chosen by held-out reports, reproducibly, and the choice depends on the weights."""

import numpy as np
import pytest

from fedwalk.graph import Graph, social_network
from fedwalk.protocols.ldp.edge_posterior import WeightedGraph
from fedwalk.protocols.ldp.posterior_power import POWERS, _unreported, choose_power


def weighted(graph: Graph, weights: np.ndarray) -> WeightedGraph:
    owner = np.repeat(np.arange(graph.vertices), graph.degrees)
    once = owner < graph.indices
    return WeightedGraph.of_pairs(graph.vertices, owner[once], graph.indices[once].astype(np.int64), weights)


@pytest.fixture(scope="module")
def communities() -> Graph:
    return social_network(vertices=500, mean_degree=14, communities=5, mixing=0.2, overlap=0.0, seed=4)


def test_weights_that_distinguish_edges_from_fakes_keep_power_one(communities: Graph) -> None:
    rng = np.random.default_rng(0)
    fakes = rng.integers(0, communities.vertices, (2, 6000))
    owner = np.repeat(np.arange(communities.vertices), communities.degrees)
    once = owner < communities.indices
    first = np.concatenate([owner[once], fakes.min(axis=0)])
    second = np.concatenate([communities.indices[once].astype(np.int64), fakes.max(axis=0)])
    weights = np.concatenate([np.full(once.sum(), 0.9), np.full(6000, 0.02)])
    _, place = np.unique(first * communities.vertices + second, return_index=True)
    place = place[first[place] != second[place]]
    likely = WeightedGraph.of_pairs(communities.vertices, first[place], second[place], weights[place])
    assert choose_power(likely, dim=8, seed=0) == 1.0


def test_random_weights_get_the_smallest_power(communities: Graph) -> None:
    rng = np.random.default_rng(1)
    noise = np.exp(rng.normal(0, 3, communities.edges))
    likely = weighted(communities, noise / noise.max())
    assert choose_power(likely, dim=8, seed=0) == min(POWERS)


def test_the_choice_depends_on_the_seed_alone(communities: Graph) -> None:
    likely = weighted(communities, np.linspace(0.1, 1, communities.edges))
    assert choose_power(likely, dim=8, seed=3) == choose_power(likely, dim=8, seed=3)


def test_with_too_few_pairs_the_power_is_one() -> None:
    pair = WeightedGraph.of_pairs(2, np.array([0]), np.array([1]), np.array([0.5]))
    empty = WeightedGraph.of_pairs(3, np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0))
    assert choose_power(pair, dim=4, seed=0) == choose_power(empty, dim=4, seed=0) == 1.0


def test_comparison_pairs_were_never_reported(communities: Graph) -> None:
    likely = weighted(communities, np.ones(communities.edges))
    owner = np.repeat(np.arange(communities.vertices), communities.degrees)
    first, second = _unreported(owner, communities.indices.astype(np.int64), likely, 0)
    assert first.size > 1000
    for a, b in zip(first.tolist(), second.tolist(), strict=True):
        assert a != b
        assert b not in communities.neighbours(a)
