"""Pairs of vertices, against slow and obvious versions of each operation."""

from collections import Counter
from itertools import combinations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from fedwalk.graph.build import from_edges
from fedwalk.graph.graph import edge_pairs
from fedwalk.graph.pairs import among, by_frequency, distinct_pairs, num_pairs, numbered_pairs, pair_numbers

MAX_ID = 2**31 - 1
EMPTY = np.empty((0, 2), np.int64)

rows = st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), max_size=30)


def as_array(pairs: list[tuple[int, int]]) -> NDArray[np.int64]:
    return np.array(pairs, np.int64).reshape(-1, 2)


def ordered(pairs: list[tuple[int, int]]) -> list[tuple[int, int]]:
    return [(min(pair), max(pair)) for pair in pairs if pair[0] != pair[1]]


@given(rows)
def test_distinct_pairs_ascend_and_leave_out_loops(pairs: list[tuple[int, int]]) -> None:
    assert distinct_pairs(*as_array(pairs).T).tolist() == [list(pair) for pair in sorted(set(ordered(pairs)))]


@given(st.lists(rows, max_size=4))
def test_pairs_are_counted_across_groups_and_ties_ascend(groups: list[list[tuple[int, int]]]) -> None:
    counts = Counter(pair for group in groups for pair in ordered(group))
    expected = [list(pair) for pair in sorted(counts, key=lambda pair: (-counts[pair], pair))]
    assert (
        by_frequency((first, second) for first, second in (as_array(group).T for group in groups)).tolist() == expected
    )


@given(rows, rows)
def test_membership_ignores_the_order_of_the_ids(pairs: list[tuple[int, int]], others: list[tuple[int, int]]) -> None:
    known = {frozenset(pair) for pair in others}
    assert among(as_array(pairs), as_array(others)).tolist() == [frozenset(pair) in known for pair in pairs]


def test_no_pairs_and_the_largest_ids_are_handled() -> None:
    assert among(EMPTY, np.array([[0, 1]])).tolist() == []
    assert among(np.array([[2, 1]]), EMPTY).tolist() == [False]
    assert by_frequency([]).shape == distinct_pairs(*EMPTY.T).shape == (0, 2)
    assert distinct_pairs(np.array([MAX_ID]), np.array([0])).tolist() == [[0, MAX_ID]]
    assert distinct_pairs(np.array([MAX_ID - 1], np.int32), np.array([MAX_ID], np.int32)).tolist() == [
        [MAX_ID - 1, MAX_ID]
    ]


@given(st.integers(0, 12))
def test_numbers_have_no_gaps_and_lead_back_to_their_pairs(n: int) -> None:
    every = as_array(list(combinations(range(n), 2)))
    assert sorted(pair_numbers(every).tolist()) == list(range(num_pairs(n)))
    assert np.array_equal(numbered_pairs(pair_numbers(every), n), every)


def test_numbers_stay_exact_beyond_what_a_float_can_hold() -> None:
    high = 200_000_000
    numbers = pair_numbers(np.array([[0, high], [high - 1, high]]))
    assert numbers.tolist() == [high * (high - 1) // 2, high * (high - 1) // 2 + high - 1]
    assert numbers.max() > 2**53


@given(st.integers(1, 8), st.data())
def test_the_edges_of_a_graph_come_once_each_in_the_order_of_their_numbers(n: int, data: st.DataObject) -> None:
    possible = list(combinations(range(n), 2))
    edges = data.draw(st.lists(st.sampled_from(possible), unique=True)) if possible else []
    source, target = as_array(edges).T
    pairs = edge_pairs(from_edges(source, target, np.arange(n)))
    assert pairs.dtype == np.int64
    assert {tuple(pair) for pair in pairs.tolist()} == set(edges)
    assert (np.diff(pair_numbers(pairs)) > 0).all()
