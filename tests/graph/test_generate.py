"""Generated networks have the size, degrees, labels and mixing that their arguments ask for."""

from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from fedwalk.errors import SettingsError
from fedwalk.graph import Graph, Labels, social_network


def labels_of(graph: Graph) -> Labels:
    assert graph.labels is not None
    return graph.labels


def matrix(graph: Graph) -> Any:
    ones = np.ones(len(graph.indices))
    return csr_array((ones, graph.indices, graph.indptr), shape=(graph.vertices, graph.vertices))


def test_the_same_seed_gives_the_same_graph_and_another_one_does_not() -> None:
    first, again, other = (social_network(500, 10, 5, seed=seed) for seed in (3, 3, 4))
    assert first.fingerprint() == again.fingerprint() != other.fingerprint()
    assert np.array_equal(labels_of(first).indicator.indices, labels_of(again).indicator.indices)


@pytest.mark.parametrize(
    ("vertices", "mean_degree", "communities", "mixing"),
    [
        (2000, 20, 12, 0.5),
        (2000, 2, 12, 0.25),
        (300, 75, 10, 0.0),
        (40, 10, 10, 0.0),
        (4000, 6, 1, 1.0),
        (8, 2, 2, 0.0),
    ],
)
def test_the_number_of_edges_is_met_and_no_vertex_is_isolated(
    vertices: int, mean_degree: float, communities: int, mixing: float
) -> None:
    for seed in range(3):
        graph = social_network(vertices, mean_degree, communities, mixing=mixing, seed=seed)
        assert abs(graph.edges - vertices * mean_degree / 2) <= max(1, 0.005 * vertices * mean_degree)
        assert graph.isolated == 0
        assert graph.notes == ()


def test_degrees_have_a_heavy_tail_with_a_cap() -> None:
    degrees = np.sort(social_network(4000, 20, 12, seed=1).degrees)
    assert degrees[-1] > 15 * np.median(degrees)
    assert degrees[-40:].sum() > 0.1 * degrees.sum()
    assert degrees[-1] < 0.3 * 4000


def test_a_higher_exponent_means_smaller_hubs() -> None:
    largest = [social_network(2000, 20, 12, exponent=exponent).degrees.max() for exponent in (2.2, 3.0, 6.0)]
    assert largest[0] > largest[1] > largest[2]


def test_labels_overlap_and_differ_in_size() -> None:
    labels = labels_of(social_network(overlap=0.3))
    assert (labels.count, int(labels.per_vertex.min()), int(labels.per_vertex.max())) == (12, 1, 3)
    assert 1.2 < labels.per_vertex.mean() < 1.5
    assert labels.per_label.max() > 3 * labels.per_label.min()
    assert labels_of(social_network(overlap=0.0)).per_vertex.max() == 1


def test_every_community_has_at_least_two_members() -> None:
    for seed in range(5):
        assert labels_of(social_network(120, 4, 30, overlap=0, seed=seed)).per_label.min() >= 2


@pytest.mark.parametrize("mixing", [0.0, 0.3, 0.7])
def test_mixing_is_the_share_of_edges_that_ignore_communities(mixing: float) -> None:
    graph = social_network(4000, 20, 20, mixing=mixing, seed=5)
    indicator = labels_of(graph).indicator.astype(np.int64)
    adjacency = matrix(graph)
    inside = (adjacency * ((indicator @ indicator.T) > 0)).sum() / adjacency.sum()
    by_chance = matrix(social_network(4000, 20, 20, mixing=1.0, seed=5))
    baseline = (by_chance * ((indicator @ indicator.T) > 0)).sum() / by_chance.sum()
    assert inside == pytest.approx(1 - mixing + mixing * baseline, abs=0.03)


def test_nearly_all_vertices_are_in_one_component() -> None:
    graph = social_network()
    _, component = connected_components(matrix(graph), directed=False)
    assert np.bincount(component).max() > 0.99 * graph.vertices


@pytest.mark.parametrize(
    "arguments",
    [
        {"vertices": 40, "communities": 11},
        {"communities": 0},
        {"mean_degree": 1.9},
        {"vertices": 100, "mean_degree": 26},
        {"mean_degree": float("nan")},
        {"mixing": -0.1},
        {"mixing": 1.1},
        {"exponent": 2.0},
        {"exponent": float("inf")},
        {"overlap": 2},
        {"seed": -1},
        {"vertices": 2000.5},
        {"vertices": 2**32},
    ],
)
def test_arguments_that_no_graph_can_meet_are_refused(arguments: dict[str, Any]) -> None:
    with pytest.raises(SettingsError, match="social_network: "):
        social_network(**arguments)
