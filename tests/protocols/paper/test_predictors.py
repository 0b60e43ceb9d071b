"""Every predictor draws from the vertices, and with the probabilities, that its definition gives."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

import reference
from fedwalk.errors import SettingsError
from fedwalk.protocols.paper.predictors import Broadcast, degree, find_predictor, predictors, tree, triad
from fedwalk.protocols.paper.tree import Tree
from helpers.simulation import GRAPHS, federation, random_linkage

NO_NEIGHBOURS = np.empty(0, np.int32)
LAST = np.uint64(2**64 - 1)
ZERO = np.uint64(0)


def at(place: int, total: int) -> np.uint64:
    """Bits that `below` turns into `place` of `total`."""
    return np.uint64(int((place + 0.5) / total * 2**64))


def random_broadcast(n: int, k: int, seed: int) -> Broadcast:
    rng = np.random.default_rng(seed)
    plan = rng.permutation(np.arange(n) % k).astype(np.int32)
    vectors = rng.normal(1.5, 3, (n, k)).astype(np.float32)
    return Broadcast(plan, vectors, Tree(random_linkage(n, seed)))


@settings(deadline=None)
@given(st.integers(2, 24), st.integers(1, 5), st.integers(0, 2**32))
def test_tree_pools_match_brute_force(n: int, k: int, seed: int) -> None:
    broadcast = random_broadcast(n, min(k, n), seed)
    pools = tree.prepare(broadcast)
    for u in range(n):
        members = tree.pool(pools, u)
        assert len(members) == len(set(members))
        assert set(members) == reference.pool(u, broadcast.vectors, broadcast.plan, broadcast.tree.linkage)


@settings(deadline=None)
@given(st.integers(2, 24), st.integers(1, 5), st.integers(0, 2**32))
def test_tree_predictor_draws_every_member_of_the_pool_with_one_place_each(n: int, k: int, seed: int) -> None:
    pools = tree.prepare(random_broadcast(n, min(k, n), seed))
    for u in range(n):
        members = tree.pool(pools, u)
        drawn = [tree.extend(pools, NO_NEIGHBOURS, u, at(i, len(members)), ZERO) for i in range(len(members))]
        assert drawn == members


def test_tree_predictor_has_no_answer_for_an_empty_pool() -> None:
    broadcast = Broadcast(np.zeros(2, np.int32), np.full((2, 1), 0.4, np.float32), Tree(np.array([[0, 1, 1.0, 2]])))
    assert tree.extend(tree.prepare(broadcast), NO_NEIGHBOURS, 0, LAST, ZERO) == -1


def test_degree_predictor_follows_its_formula() -> None:
    # Chi-square with a false-alarm rate of 1e-3 per vertex, fixed draws.
    broadcast = random_broadcast(15, 3, seed=4)
    tables = degree.prepare(broadcast)
    rng = np.random.default_rng(0)
    tested = 0
    for u in range(15):
        expected = reference.degree_prediction(u, broadcast.vectors, broadcast.plan)
        if not np.isclose(expected.sum(), 1):
            continue
        bits = rng.integers(0, 2**64, (6000, 2), np.uint64)
        draws = np.array([degree.extend(tables, NO_NEIGHBOURS, u, a, b) for a, b in bits])
        counts = np.bincount(draws, minlength=15)
        assert counts[expected == 0].sum() == 0
        possible = expected > 0
        if possible.sum() > 1:
            assert stats.chisquare(counts[possible], 6000 * expected[possible]).pvalue > 1e-3
            tested += 1
    assert tested >= 8


def test_degree_predictor_never_returns_the_vertex_itself_or_one_with_weight_zero() -> None:
    plan, flat = np.zeros(3, np.int32), Tree(np.array([[0, 1, 1.0, 2], [2, 3, 2.0, 3]]))
    tables = degree.prepare(Broadcast(plan, np.array([[5], [-1], [-2]], np.float32), flat))
    assert {degree.extend(tables, NO_NEIGHBOURS, 0, bits, more) for bits in (ZERO, LAST) for more in (ZERO, LAST)} == {
        -1
    }
    tables = degree.prepare(Broadcast(plan, np.array([[5], [-1], [2]], np.float32), flat))
    assert {degree.extend(tables, NO_NEIGHBOURS, 0, bits, more) for bits in (ZERO, LAST) for more in (ZERO, LAST)} == {
        2
    }
    assert degree.extend(tables, NO_NEIGHBOURS, 1, ZERO, ZERO) == -1


@given(st.sets(st.integers(0, 99), min_size=1, max_size=20), st.data())
def test_triad_draws_every_other_neighbour_with_one_place_each(neighbours: set[int], data: st.DataObject) -> None:
    own = np.array(sorted(neighbours), np.int32)
    last = data.draw(st.sampled_from(sorted(neighbours)))
    others = [v for v in sorted(neighbours) if v != last]
    tables = triad.NoTables(100)
    if not others:
        assert triad.extend(tables, own, last, ZERO, ZERO) == -1
    else:
        assert [triad.extend(tables, own, last, at(i, len(others)), ZERO) for i in range(len(others))] == others


def test_predictors_are_found_by_name_or_an_error_lists_them() -> None:
    assert list(predictors())[:3] == ["tree", "degree", "triad"]
    with pytest.raises(SettingsError, match="tree, degree, triad"):
        find_predictor("oracle")


def test_every_device_prepares_the_same_tables() -> None:
    fed = federation(GRAPHS["karate"])
    broadcast = Broadcast(fed.plan.bins, fed.vectors, fed.tree)
    for predictor in predictors().values():
        first, second = predictor.prepare(broadcast), predictor.prepare(broadcast)
        assert [np.asarray(a).tobytes() for a in first] == [np.asarray(b).tobytes() for b in second]
