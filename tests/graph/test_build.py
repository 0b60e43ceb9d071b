"""Neighbour lists built from edges: compared with a plain Python reference, cleaned, or refused."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedwalk.errors import InputError
from fedwalk.graph import Cleaning, Graph
from fedwalk.graph.build import from_edges
from helpers.graph_files import Pairs, edge_lists, neighbour_lists, reference


def build(pairs: Pairs, n: int, directed: bool | None = False, weights: list[float] | None = None) -> Graph:
    ends = np.array(pairs, np.int64).reshape(-1, 2)
    given_weights = None if weights is None else np.array(weights)
    return from_edges(ends[:, 0], ends[:, 1], np.arange(n), directed=directed, weights=given_weights)


@given(edge_lists(), st.booleans())
def test_neighbour_lists_and_counts_match_the_reference(pairs: Pairs, directed: bool) -> None:
    graph = build(pairs, 12, directed=directed)
    expected = reference(pairs, 12, directed)
    assert neighbour_lists(graph) == expected.neighbours
    assert graph.cleaning == Cleaning(expected.self_loops, expected.repeats, directed, False)


@given(edge_lists())
def test_edges_of_unknown_kind_are_directed_if_some_come_in_both_directions(pairs: Pairs) -> None:
    arcs = {(u, v) for u, v in pairs if u != v}
    reversed_too = sum((v, u) in arcs for u, v in arcs)
    graph, same = (build(pairs, 12, directed) for directed in (None, 0 < reversed_too < len(arcs)))
    assert (graph.cleaning, graph.notes, graph.fingerprint()) == (same.cleaning, same.notes, same.fingerprint())


def test_an_arc_of_weight_0_is_no_reverse_of_another() -> None:
    arcs = [(0, 1), (1, 0), (1, 2), (2, 1)]
    assert build(arcs, 3, None, [2, 2, 3, 0]).cleaning == Cleaning(directed=True, weighted=True, zero_weights=1)
    assert build(arcs, 3, None, [2, 2, 3, 5]).cleaning == Cleaning(weighted=True)


@given(edge_lists())
def test_order_and_direction_of_edges_do_not_matter(pairs: Pairs) -> None:
    turned = [(v, u) for u, v in reversed(pairs)]
    assert build(pairs, 12).fingerprint() == build(turned, 12).fingerprint()


@given(edge_lists())
def test_every_edge_in_both_directions_is_a_note_and_not_a_count(pairs: Pairs) -> None:
    once = sorted({(min(pair), max(pair)) for pair in pairs if pair[0] != pair[1]})
    graph = build(once + [(v, u) for u, v in once], 12)
    assert graph.cleaning.repeated_edges == 0
    assert graph.notes == (("every edge is listed in both directions",) if once else ())


def test_notes_say_what_was_cleaned() -> None:
    graph = build([(0, 0), (1, 1), (0, 1), (1, 0), (0, 1), (1, 2)], 3)
    assert graph.notes == ("2 self-loops dropped", "2 repeated edges dropped")
    weighted = build([(0, 1), (1, 0), (0, 1), (1, 2), (0, 2)], 3, weights=[1, 2, 3, 4, 0])
    assert weighted.notes == ("1 edge of weight 0 dropped", "2 repeated edges merged, their weights added up")
    arcs = build([(0, 1), (1, 0), (0, 1), (1, 2)], 3, directed=True)
    assert arcs.notes == ("the edges were directed; their direction was ignored", "1 repeated edge dropped")


weights_of_edges = st.integers(0, 4).map(lambda quarter: quarter / 4)


@given(st.lists(st.tuples(st.integers(0, 7), st.integers(0, 7), weights_of_edges)), st.booleans())
def test_weights_of_repeated_edges_add_up(edges: list[tuple[int, int, float]], directed: bool) -> None:
    graph = build([(u, v) for u, v, _ in edges], 8, directed, [weight for _, _, weight in edges])
    kept = [(u, v, weight) for u, v, weight in edges if u != v and weight > 0]
    total: dict[tuple[int, int], float] = {}
    for u, v, weight in kept:
        for pair in ((u, v), (v, u)):
            total[pair] = total.get(pair, 0.0) + weight
    if all(weight == 1 for _, _, weight in kept):
        assert graph.weights is None
        return
    arcs = {(u, v) for u, v, _ in kept}
    # A list that has every edge in both directions has each weight twice.
    halved = 0.5 if kept and not directed and arcs == {(v, u) for u, v in arcs} else 1.0
    assert graph.weights is not None
    found = {
        (u, int(v)): float(weight)
        for u in range(8)
        for v, weight in zip(graph.neighbours(u), graph.weights[graph.indptr[u] : graph.indptr[u + 1]], strict=True)
    }
    assert found == {pair: halved * weight for pair, weight in total.items()}
    assert graph.cleaning.zero_weights == sum(u != v and weight == 0 for u, v, weight in edges)


@pytest.mark.parametrize("weights", [[1.0, -1.0], [np.nan, 1.0], [1.0, np.inf], [1.0]])
def test_weights_that_are_not_finite_numbers_above_zero_are_refused(weights: list[float]) -> None:
    with pytest.raises(InputError, match="weights: "):
        build([(0, 1), (1, 2)], 3, weights=weights)


def test_one_vertex_and_no_edges_are_a_graph() -> None:
    assert (build([], 1).vertices, build([(0, 0)], 1).edges) == (1, 0)


@pytest.mark.parametrize(("pairs", "n"), [([(0, 2)], 2), ([(-1, 0)], 2), ([], 0)])
def test_endpoints_outside_the_vertices_are_refused(pairs: Pairs, n: int) -> None:
    with pytest.raises(InputError):
        build(pairs, n)


def test_sources_and_targets_must_match() -> None:
    with pytest.raises(InputError, match="shape"):
        from_edges(np.array([0, 1]), np.array([1]), np.arange(2))
