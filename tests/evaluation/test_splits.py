"""What a split may and may not do to a graph: edges held out, non-edges drawn, validation pairs set aside."""

from itertools import combinations

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedwalk.errors import FedWalkError, InputError, SettingsError
from fedwalk.evaluation import (
    LinkSplit,
    split_edges,
)
from fedwalk.graph import Graph
from fedwalk.graph.build import from_edges
from fedwalk.graph.graph import edge_pairs, edge_weights
from fedwalk.graph.pairs import pair_numbers
from helpers.link_cases import Case, as_set, graph_of, networkx, possible_cases, room, some_edges


@given(possible_cases())
def test_held_out_and_training_edges_are_the_graphs_edges_each_in_one_of_them(case: Case) -> None:
    graph, share, seed = case
    split = split_edges(graph, share, seed)
    held, kept = as_set(split.held_out), as_set(edge_pairs(split.training))
    assert (held | kept, held & kept) == (as_set(edge_pairs(graph)), set())
    assert len(held) == len(split.held_out) == max(1, round(share * graph.edges))
    assert as_set(split.train_edges) == kept


@given(possible_cases())
def test_the_training_graph_has_the_components_of_the_whole(case: Case) -> None:
    graph, share, seed = case
    training = split_edges(graph, share, seed).training
    parts = [sorted(map(sorted, nx.connected_components(networkx(g)))) for g in (graph, training)]
    assert parts[0] == parts[1]
    assert np.array_equal(training.degrees == 0, graph.degrees == 0)
    assert training.names.tolist() == graph.names.tolist()


@given(possible_cases())
def test_non_edges_join_vertices_that_no_edge_of_the_whole_graph_does(case: Case) -> None:
    graph, share, seed = case
    split = split_edges(graph, share, seed)
    drawn = np.concatenate((split.non_edges, split.train_non_edges))
    assert not as_set(drawn) & as_set(edge_pairs(graph))
    assert len(as_set(drawn)) == len(drawn)
    assert (graph.degrees[drawn] > 0).all()
    assert len(split.non_edges) == len(split.held_out)
    assert len(split.train_non_edges) == min(len(split.train_edges), room(graph)[1] - len(split.held_out))


@given(st.integers(2, 12), st.floats(0.01, 0.99), st.data())
def test_only_what_is_impossible_is_refused(n: int, share: float, data: st.DataObject) -> None:
    graph = graph_of(data.draw(some_edges(n)), n)
    (spare, others), count = room(graph), max(1, round(share * graph.edges))
    if count <= spare and 2 * count <= others:
        split_edges(graph, share)
    else:
        with pytest.raises(FedWalkError):
            split_edges(graph, share)


@given(possible_cases())
def test_the_seed_decides_the_split(case: Case) -> None:
    first, again = split_edges(*case), split_edges(*case)
    for name in ("held_out", "non_edges", "train_edges", "train_non_edges"):
        assert np.array_equal(getattr(first, name), getattr(again, name))


def test_another_seed_makes_another_split_and_labels_stay(network: Graph) -> None:
    splits = [split_edges(network, 0.2, seed) for seed in (0, 1)]
    assert as_set(splits[0].held_out) != as_set(splits[1].held_out)
    assert as_set(splits[0].non_edges) != as_set(splits[1].non_edges)
    assert splits[0].training.labels is network.labels


def test_training_edges_keep_their_weights(network: Graph) -> None:
    edges = edge_pairs(network)
    weights = np.random.default_rng(3).random(len(edges)) + 0.5
    graph = from_edges(edges[:, 0], edges[:, 1], network.names, weights=weights)
    training = split_edges(graph, 0.3).training
    kept = edge_weights(training)
    assert kept is not None
    weight_of = dict(zip(map(tuple, edges.tolist()), weights.tolist(), strict=True))
    assert [weight_of[tuple(pair)] for pair in edge_pairs(training).tolist()] == kept.tolist()
    assert split_edges(network, 0.3).training.weights is None


def test_every_spare_edge_and_every_non_edge_is_drawn_equally_often() -> None:
    # A ring: each edge is as often the one outside the forest as any other, and so is each chord a non-edge.
    n, times = 6, 1500
    graph = graph_of([(v, (v + 1) % n) for v in range(n)], n)
    splits = [split_edges(graph, 0.1, seed) for seed in range(times)]
    for name, kinds in (("held_out", n), ("non_edges", n * (n - 1) // 2 - n)):
        drawn = pair_numbers(np.concatenate([getattr(split, name) for split in splits]))
        counts = np.unique(drawn, return_counts=True)[1]
        spread = np.sqrt(times / kinds * (1 - 1 / kinds))
        assert len(counts) == kinds
        assert np.abs(counts - times / kinds).max() < 4 * spread


@given(possible_cases(), st.floats(0.01, 0.99))
def test_validation_pairs_are_held_out_pairs_set_aside(case: Case, share: float) -> None:
    whole = split_edges(*case)
    if len(whole.held_out) < 2:
        with pytest.raises(SettingsError, match="a single edge is held out"):
            split_edges(*case, validation=share)
        return
    split = split_edges(*case, validation=share)
    assert as_set(edge_pairs(split.training)) == as_set(edge_pairs(whole.training))
    assert as_set(split.train_non_edges) == as_set(whole.train_non_edges)
    for test, validation, both in (
        (split.held_out, split.validation_edges, whole.held_out),
        (split.non_edges, split.validation_non_edges, whole.non_edges),
    ):
        assert len(test) > 0 < len(validation)
        assert len(test) + len(validation) == len(both)
        assert as_set(test) | as_set(validation) == as_set(both)


PAIRS = list(combinations(range(10), 2))


RING = [(v, (v + 1) % 10) for v in range(10)]


@pytest.mark.parametrize(
    ("edges", "share", "error", "message"),
    [
        *((RING, share, SettingsError, "share = .*between 0 and 1") for share in (0.0, 1.0, -0.2, float("nan"))),
        (RING[:-1], 0.2, InputError, "no edge can be held out: the graph's 9 edges form a forest"),
        (RING, 0.2, SettingsError, r"only 1 of the graph's 10 can be removed.*Hold out at most 0\.1\."),
        (PAIRS[8:], 0.2, InputError, "8 pairs of .* are no edges, but 7 held-out edges need 14"),
    ],
)
def test_a_refusal_says_what_stands_in_the_way(
    edges: list[tuple[int, int]], share: float, error: type[FedWalkError], message: str
) -> None:
    with pytest.raises(error, match=message):
        split_edges(graph_of(edges, 10), share)


def test_the_last_non_edges_of_a_nearly_complete_graph_are_found() -> None:
    split = split_edges(graph_of(PAIRS[2:], 10), 0.02)
    assert as_set(np.concatenate((split.non_edges, split.train_non_edges))) == set(PAIRS[:2])


def test_a_split_of_ones_own_is_checked_for_leaks() -> None:
    ring = graph_of([(0, 1), (1, 2), (2, 3), (3, 0)], 5)

    def own(*parts: object) -> LinkSplit:
        return LinkSplit(ring, *map(np.array, parts))

    assert own([[2, 0]], [[4, 1]], [[0, 1]], [[0, 4]]).held_out.tolist() == [[0, 2]]
    for message, *parts in (
        ("a pair occurs twice", [[1, 0]], [[1, 4]], [[0, 1]], [[0, 4]]),
        ("a pair occurs twice", [[0, 2]], [[1, 4]], [[0, 1]], [[4, 1]]),
        ("train_edges holds a pair that is no edge", [[0, 2]], [[1, 4]], [[1, 3]], [[0, 4]]),
        ("non_edges must be pairs of different vertices", [[0, 2]], [[1, 5]], [[0, 1]], [[0, 4]]),
        ("held_out must have at least one row of two vertex ids", [0, 2], [[1, 4]], [[0, 1]], [[0, 4]]),
        ("a pair occurs twice", [[0, 2]], [[1, 4]], [[0, 1]], [[0, 4]], [[0, 2]], [[1, 3]]),
        ("validation_non_edges must have at least one", [[0, 2]], [[1, 4]], [[0, 1]], [[0, 4]], [[1, 3]], []),
    ):
        with pytest.raises(InputError, match=message):
            own(*parts)
