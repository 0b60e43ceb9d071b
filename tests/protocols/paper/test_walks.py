"""Walks of protocol `paper`: the number of hops (Theorem 2, corrected), and which vertices they visit."""

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import reference
from fedwalk.estimators import FedWalk
from fedwalk.graph import Graph, social_network
from fedwalk.protocols.paper.predictors import Broadcast, tree
from fedwalk.protocols.paper.walks import expected_hops, printed_theorem_2


@given(st.integers(1, 60), st.floats(0, 1))
def test_expected_hops_solve_the_papers_recurrence(length: int, p: float) -> None:
    assert expected_hops(length, p) == pytest.approx(reference.hops_by_recurrence(length, p))
    if length > 1:
        assert expected_hops(length, p) == pytest.approx(reference.hops_closed_form(length, p))


@given(st.integers(1, 60), st.integers(1, 60))
def test_at_p_one_a_burst_of_b_needs_one_hop_per_b_entries(length: int, burst: int) -> None:
    assert expected_hops(length, 1.0, burst, min_remaining=2) == -(-length // burst) - 1


def test_papers_printed_closed_form_is_another_number() -> None:
    chances = (0, 0.1, 0.2, 0.3, 0.4)
    # The paper gives its "measured" hops with two digits, cut or rounded: they are its formula's.
    assert [printed_theorem_2(40, p) for p in chances] == pytest.approx([39, 35.35, 32.30, 29.72, 27.49], abs=0.01)
    assert [expected_hops(40, p) for p in chances] == pytest.approx([39, 35.537, 32.639, 30.178, 28.061], abs=5e-4)


@pytest.fixture(scope="module")
def graph() -> Graph:
    """Every device has two neighbours or more, and no pool is empty at this ε."""
    graph = social_network(vertices=300, mean_degree=16, communities=4, seed=0)
    assert graph.degrees.min() >= 2
    return graph


def hops(graph: Graph, **settings: Any) -> tuple[float, float]:
    """Hops per walk of a run, and the standard error of their mean if a walk's hops vary by at most l/2."""
    model = FedWalk(dim=1, window=1, negative=1, threads=1, epsilon=50, **settings)
    model.fit(graph)
    walks = model.walks_
    assert walks.sequences.shape[1] == model.settings.walk_length
    assert walks.sequences.min() >= 0
    assert walks.sequences.max() < graph.vertices
    return walks.hops_per_walk, model.settings.walk_length / 4 / np.sqrt(len(walks.sequences))


@pytest.mark.parametrize("length", [3, 4, 11, 40])
@pytest.mark.parametrize("p", [0.0, 0.1, 0.4, 0.7, 1.0])
def test_walk_messages_follow_corrected_theorem_2(graph: Graph, length: int, p: float) -> None:
    measured, error = hops(graph, num_walks=10, walk_length=length, predict=p)
    assert abs(measured - expected_hops(length, p)) < 4 * error
    if p in (0.0, 1.0):
        assert measured == expected_hops(length, p)


@pytest.mark.parametrize("p", [0.2, 0.4])
def test_walk_messages_do_not_follow_the_printed_theorem_2(graph: Graph, p: float) -> None:
    measured, error = hops(graph, num_walks=80, walk_length=40, predict=p)
    assert abs(measured - expected_hops(40, p)) < 4 * error
    assert abs(measured - printed_theorem_2(40, p)) > 4 * error


@pytest.mark.parametrize("burst", [1, 2, 3, 4, 10, 40, 99])
@pytest.mark.parametrize("p", [0.3, 1.0])
def test_triad_messages_follow_the_expected_number_for_any_burst(graph: Graph, burst: int, p: float) -> None:
    measured, error = hops(graph, num_walks=20, predictor="triad", burst=burst, predict=p)
    assert abs(measured - expected_hops(40, p, burst, min_remaining=2)) < 4 * error
    if p == 1.0:
        assert measured == max(0, -(-40 // burst) - 1)


def test_degree_messages_follow_the_expected_number(graph: Graph) -> None:
    measured, error = hops(graph, num_walks=20, predictor="degree", predict=0.5)
    assert abs(measured - expected_hops(40, 0.5)) < 4 * error


def test_walks_without_predictor_and_encoder_follow_edges(graph: Graph) -> None:
    model = FedWalk(dim=1, num_walks=3, walk_length=12, predict=0, encoder="identity", threads=1)
    model.fit(graph)
    for walk, row in enumerate(model.walks_.sequences):
        path = [walk % graph.vertices, *row.tolist()]
        assert all(v in graph.neighbours(u) for u, v in itertools.pairwise(path))


def test_triad_entries_of_one_visit_are_neighbours_of_one_device_and_never_repeat(graph: Graph) -> None:
    model = FedWalk(
        dim=1, num_walks=2, walk_length=12, predict=1, predictor="triad", burst=4, encoder="identity", threads=1
    )
    model.fit(graph)
    for walk, row in enumerate(model.walks_.sequences.tolist()):
        device = walk % graph.vertices
        for visit in (row[0:4], row[4:8], row[8:12]):
            assert set(visit) <= set(graph.neighbours(device).tolist())
            assert all(a != b for a, b in itertools.pairwise(visit))
            device = visit[-1]


def test_a_prediction_writes_the_two_hop_vertex_and_skips_no_other_vertex(graph: Graph) -> None:
    # At p = 1 entries come in twos: a neighbour u of the device, then a vertex of u's pool, which is visited next.
    model = FedWalk(dim=1, num_walks=2, walk_length=13, predict=1, encoder="identity", epsilon=50, threads=1)
    model.fit(graph)
    pools = tree.prepare(Broadcast(model.bins_, model.degree_vectors_, model.tree_))
    for walk, row in enumerate(model.walks_.sequences.tolist()):
        device = walk % graph.vertices
        for u, beyond in zip(row[0:12:2], row[1:12:2], strict=True):
            assert u in graph.neighbours(device)
            assert beyond in tree.pool(pools, u)
            device = beyond
        assert row[12] in graph.neighbours(device)
