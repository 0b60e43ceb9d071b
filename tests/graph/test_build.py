"""Neighbour lists built from edges: compared with a plain Python reference, cleaned, or refused."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedwalk.errors import InputError
from fedwalk.graph import Cleaning, Graph
from fedwalk.graph.build import from_edges
from helpers.graph_files import Pairs, edge_lists, neighbour_lists, reference


def build(pairs: Pairs, n: int, directed: bool = False, weighted: bool = False) -> Graph:
    ends = np.array(pairs, np.int64).reshape(-1, 2)
    return from_edges(ends[:, 0], ends[:, 1], np.arange(n), directed=directed, weighted=weighted)


@given(edge_lists(), st.booleans())
def test_neighbour_lists_and_counts_match_the_reference(pairs: Pairs, directed: bool) -> None:
    graph = build(pairs, 12, directed=directed)
    expected = reference(pairs, 12, directed)
    assert neighbour_lists(graph) == expected.neighbours
    assert graph.cleaning == Cleaning(expected.self_loops, expected.repeats, directed, False)


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
    graph = build([(0, 0), (1, 1), (0, 1), (1, 0), (0, 1), (1, 2)], 3, weighted=True)
    assert graph.notes == (
        "the edges had weights; they were ignored",
        "2 self-loops dropped",
        "2 repeated edges dropped",
    )
    arcs = build([(0, 1), (1, 0), (0, 1), (1, 2)], 3, directed=True)
    assert arcs.notes == ("the edges were directed; their direction was ignored", "1 repeated edge dropped")


def test_one_vertex_and_no_edges_are_a_graph() -> None:
    assert (build([], 1).vertices, build([(0, 0)], 1).edges) == (1, 0)


@pytest.mark.parametrize(("pairs", "n"), [([(0, 2)], 2), ([(-1, 0)], 2), ([], 0)])
def test_endpoints_outside_the_vertices_are_refused(pairs: Pairs, n: int) -> None:
    with pytest.raises(InputError):
        build(pairs, n)


def test_sources_and_targets_must_match() -> None:
    with pytest.raises(InputError, match="shape"):
        from_edges(np.array([0, 1]), np.array([1]), np.arange(2))
