"""The power that flattens posteriors is chosen by held-out reports: repeatably, and it is a real choice."""

import numpy as np
import pytest

from fedwalk.graph import Graph, social_network
from fedwalk.privacy.posterior import WeightedGraph
from fedwalk.privacy.softening import POWERS, _strangers, softening


def weighted(graph: Graph, weights: np.ndarray) -> WeightedGraph:
    owner = np.repeat(np.arange(graph.vertices), graph.degrees)
    once = owner < graph.indices
    return WeightedGraph.of_pairs(graph.vertices, owner[once], graph.indices[once].astype(np.int64), weights)


@pytest.fixture(scope="module")
def communities() -> Graph:
    return social_network(vertices=500, mean_degree=14, communities=5, mixing=0.2, overlap=0.0, seed=4)


def test_weights_that_tell_edges_from_fakes_are_left_as_they_are(communities: Graph) -> None:
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
    assert softening(likely, dim=8, seed=0) == 1.0


def test_weights_that_mean_nothing_are_flattened(communities: Graph) -> None:
    rng = np.random.default_rng(1)
    noise = np.exp(rng.normal(0, 3, communities.edges))
    likely = weighted(communities, noise / noise.max())
    assert softening(likely, dim=8, seed=0) == min(POWERS)


def test_the_choice_depends_on_the_seed_alone(communities: Graph) -> None:
    likely = weighted(communities, np.linspace(0.1, 1, communities.edges))
    assert softening(likely, dim=8, seed=3) == softening(likely, dim=8, seed=3)


def test_a_handful_of_pairs_changes_nothing() -> None:
    pair = WeightedGraph.of_pairs(2, np.array([0]), np.array([1]), np.array([0.5]))
    nobody = WeightedGraph.of_pairs(3, np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0))
    assert softening(pair, dim=4, seed=0) == softening(nobody, dim=4, seed=0) == 1.0


def test_strangers_were_never_reported(communities: Graph) -> None:
    likely = weighted(communities, np.ones(communities.edges))
    owner = np.repeat(np.arange(communities.vertices), communities.degrees)
    first, second = _strangers(owner, communities.indices.astype(np.int64), likely, 0)
    assert first.size > 1000
    for a, b in zip(first.tolist(), second.tolist(), strict=True):
        assert a != b
        assert b not in communities.neighbours(a)
