"""Canaries: planted as they should be, and what they say of each protocol's ε."""

import numpy as np
import pytest

from fedwalk.attacks.canaries import bound_of, plant, with_pairs
from fedwalk.graph import load_graph, social_network
from fedwalk.graph.build import from_edges
from fedwalk.graph.graph import edge_pairs, edge_weights
from fedwalk.graph.pairs import among
from fedwalk.protocols.ldp.attacks.findings import guess_canaries as guess_from_reports
from fedwalk.protocols.ldp.attacks.repeats import repeat_pair
from fedwalk.protocols.ldp.messages import ReportPlan
from fedwalk.protocols.paper.attacks.evidence import guess_canaries as guess_from_matrices
from fedwalk.settings import Settings
from helpers.simulation import GRAPHS

NETWORK = social_network(vertices=300, mean_degree=8, communities=3, seed=1)


def test_canaries_are_what_their_coins_say_and_the_rest_of_the_graph_stays() -> None:
    planted = plant(NETWORK, 5_000, seed=4)
    assert np.array_equal(among(planted.pairs, edge_pairs(planted.graph)), planted.real)
    before, after = (edges[~among(edges, planted.pairs)] for edges in map(edge_pairs, (NETWORK, planted.graph)))
    assert before.tolist() == after.tolist()
    assert len(np.unique(planted.pairs, axis=0)) == 5_000
    assert abs(planted.real.mean() - 0.5) < 0.05


@pytest.mark.parametrize("epsilon", [1.0, 2.0, 4.0])
def test_ldp_shows_its_epsilon_and_no_more(epsilon: float) -> None:
    """99.9% confidence: over the seeds, a correct protocol would exceed its ε once in a thousand tests.

    It would miss the lower end even more rarely: at ε = 1, the widest of the three, the share of right guesses has a
    standard deviation of 0.0031 and would have to fall 7 of them short.
    """
    planted = plant(NETWORK, 20_000, seed=5)
    guesses = guess_from_reports(planted, Settings(protocol="ldp", epsilon=epsilon, threads=1))
    bound = bound_of(guesses, planted, confidence=0.999)
    assert 0.8 * epsilon <= bound.epsilon <= epsilon
    assert bound.guesses == 20_000


@pytest.mark.parametrize("epsilon", [1.0, 4.0])
def test_one_pair_of_ldp_repeated_shows_the_same(epsilon: float) -> None:
    """At 95% confidence a correct device exceeds its ε in at most one of twenty audits, over the seeds."""
    plan = ReportPlan(NETWORK.vertices, epsilon)
    bound = repeat_pair(NETWORK, (7, 99), plan, 2_000, seed=1)
    assert 0.8 * epsilon <= bound.epsilon <= epsilon


def test_the_papers_epsilon_is_refuted_by_all_canaries_being_right() -> None:
    planted = plant(NETWORK, 1_000, seed=6)
    bound = bound_of(guess_from_matrices(planted, Settings(epsilon=2, num_bins=5)), planted)
    assert bound.right == bound.guesses == 1_000
    assert bound.epsilon == pytest.approx(5.81, abs=0.01)


def test_vertices_left_without_edges_take_no_part_and_are_guessed_right() -> None:
    graph = GRAPHS["star"]
    pairs = edge_pairs(graph)
    planted = with_pairs(graph, pairs, np.arange(len(pairs)) < 3)
    assert bound_of(guess_from_matrices(planted, Settings(num_bins=8)), planted).right == len(pairs)


def test_edges_keep_their_weights_and_planted_ones_have_the_median() -> None:
    edges = np.array([[0, 1], [1, 2], [2, 3], [3, 4], [4, 0]])
    graph = from_edges(edges[:, 0], edges[:, 1], np.arange(5), weights=np.array([2.0, 3, 5, 7, 11]))
    planted = with_pairs(graph, np.array([[0, 1], [0, 2], [1, 2]]), np.array([True, True, False])).graph
    weights = edge_weights(planted)
    assert weights is not None
    assert dict(zip(map(tuple, edge_pairs(planted).tolist()), weights.tolist(), strict=True)) == {
        (0, 1): 5, (0, 2): 5, (2, 3): 5, (3, 4): 7, (0, 4): 11,
    }  # fmt: skip


@pytest.mark.parametrize("real", [True, False])
def test_a_single_pair_can_be_a_canary(real: bool) -> None:
    pair = load_graph([[0, 1]])
    planted = with_pairs(pair, np.array([[0, 1]]), np.array([real]))
    assert bound_of(guess_from_matrices(planted, Settings(num_bins=1)), planted).right == 1
