"""The encoder's sparse table, compared with the dense formula over all vertices."""

import numpy as np
import pytest
from scipy import stats

import reference
from fedwalk.graph import load_graph, social_network
from fedwalk.kernels.dtw import dtw
from fedwalk.protocols.paper.encoder import EncoderTable, exponential, identity
from helpers.simulation import GRAPHS, Federation, federation


def dense(table: EncoderTable, n: int) -> np.ndarray:
    full = np.zeros((n, n))
    for v in range(n):
        for u, probability in table.probabilities(v).items():
            full[v, u] = probability
    return full


@pytest.mark.parametrize("name", ["communities", "karate", "star", "path", "pair"])
@pytest.mark.parametrize("epsilon", [0.001, 0.05, 2.0])
def test_encoder_matches_dense_formula(name: str, epsilon: float) -> None:
    fed = federation(GRAPHS[name], epsilon=2.0)
    matrices = [fed.matrices[v] for v in range(len(fed.matrices))]
    table = exponential(fed.matrices, fed.tree, epsilon)
    expected = reference.encoder_probabilities(matrices, fed.tree.linkage, epsilon)
    np.testing.assert_allclose(dense(table, len(matrices)), expected, rtol=1e-9, atol=1e-15)


@pytest.fixture(scope="module")
def larger() -> Federation:
    """Large enough for candidates beyond the subtrees that are scanned leaf by leaf."""
    return federation(social_network(vertices=900, mean_degree=3, communities=6, mixing=0.9, seed=3), num_bins=2)


@pytest.mark.parametrize("epsilon", [0.002, 0.5])
def test_no_candidate_far_away_in_the_tree_is_missed(larger: Federation, epsilon: float) -> None:
    matrices, tree = larger.matrices, larger.tree
    table = exponential(matrices, tree, epsilon, threads=2)
    scratch, starts = np.empty(int(matrices.lengths.max()) + 1), matrices.starts
    for v in range(0, 900, 60):
        exponents = np.array(
            [
                dtw(matrices.rows, starts[v], starts[v + 1], starts[u], starts[u + 1], np.inf, scratch)
                * tree.common_leaves(v, u)
                for u in range(900)
            ]
        )
        weights = np.exp(-epsilon * exponents)
        assert set(table.probabilities(v)) == set(np.flatnonzero(weights).tolist())
        expected = weights / weights.sum()
        for u, probability in table.probabilities(v).items():
            assert probability == pytest.approx(expected[u], rel=1e-9, abs=1e-15)


def test_draws_follow_the_table() -> None:
    # Chi-square with a false-alarm rate of 1e-3 per vertex, fixed draws.
    fed = federation(GRAPHS["star"])
    table = exponential(fed.matrices, fed.tree, 2.0)
    rng = np.random.default_rng(0)
    for v in (0, 1, 5):
        shares = table.probabilities(v)
        draws = [table.encode(v, x) for x in rng.random(4000)]
        counts = np.array([draws.count(u) for u in shares])
        assert counts.sum() == len(draws)
        assert len(shares) == 1 or stats.chisquare(counts, 4000 * np.array(list(shares.values()))).pvalue > 1e-3


def test_twins_are_returned_for_each_other_with_equal_chance() -> None:
    fed = federation(GRAPHS["star"])
    shares = exponential(fed.matrices, fed.tree, 2.0).probabilities(3)
    assert set(shares) == set(range(1, 12))
    np.testing.assert_allclose(list(shares.values()), 1 / 11)


def test_the_table_stays_small_around_a_hub_with_many_pendants() -> None:
    star = load_graph(np.array([[0, i] for i in range(1, 2000)]))
    fed = federation(star)
    table = exponential(fed.matrices, fed.tree, 2.0)
    assert table.outputs.size < 2 * star.vertices
    assert table.nbytes < 100 * star.vertices
    assert len(table.probabilities(5)) == 1999


def test_an_encoder_with_no_privacy_left_returns_its_input() -> None:
    fed = federation(GRAPHS["karate"])
    table = identity(fed.matrices, fed.tree, 2.0)
    assert all(table.encode(v, x) == v for v in range(34) for x in (0.0, 0.5, 1 - 2**-53))


def test_table_does_not_depend_on_the_number_of_threads(larger: Federation) -> None:
    one, two = (exponential(larger.matrices, larger.tree, 0.01, threads=t) for t in (1, 2))
    assert one.outputs.tobytes() == two.outputs.tobytes()
    assert one.cumulative.tobytes() == two.cumulative.tobytes()
