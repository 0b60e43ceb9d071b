"""`load_graph`: Python objects, the choice of the format, and missing files."""

import warnings
from pathlib import Path
from random import Random
from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedwalk.errors import FedWalkWarning, InputError
from fedwalk.graph import load_graph
from helpers.graph_files import Pairs, edge_lists, named_edges, neighbour_lists, reference, same_graph


@given(edge_lists(), st.sampled_from([nx.Graph, nx.MultiGraph]))
def test_networkx_graphs_keep_isolated_nodes(pairs: Pairs, kind: Any) -> None:
    source = kind()
    source.add_nodes_from(range(12))
    source.add_edges_from(pairs)
    graph = load_graph(source)
    assert graph.names.tolist() == list(range(12))
    assert neighbour_lists(graph) == reference(pairs, 12).neighbours


@given(edge_lists(), st.sampled_from([nx.DiGraph, nx.MultiDiGraph]))
def test_directed_networkx_graphs_are_made_undirected_with_a_warning(pairs: Pairs, kind: Any) -> None:
    source = kind(pairs)
    with pytest.warns(FedWalkWarning, match="directed edges were made undirected"):
        graph = load_graph(source)
    assert named_edges(graph) == {frozenset(map(str, pair)) for pair in pairs if pair[0] != pair[1]}
    assert graph.cleaning.directed


def test_parallel_edges_of_a_multigraph_are_counted() -> None:
    assert load_graph(nx.MultiGraph([(1, 2), (2, 1), (1, 2), (2, 3)])).cleaning.repeated_edges == 2


nodes_of_python = st.one_of(st.integers(-9, 9), st.text("ab1", min_size=1), st.tuples(st.integers(0, 3), st.text("xy")))


@given(st.lists(nodes_of_python, min_size=2, unique_by=str), st.randoms())
def test_nodes_keep_their_order_and_type(nodes: list[Any], random: Random) -> None:
    source = nx.Graph()
    source.add_nodes_from(nodes)
    for _ in nodes:
        source.add_edge(random.choice(nodes), random.choice(nodes))
    graph = load_graph(source)
    assert graph.nodes == list(source)
    assert list(map(type, graph.nodes)) == list(map(type, source))
    assert graph.names.tolist() == nodes if graph.objects is None else [str(node) for node in nodes]
    for vertex, node in enumerate(nodes):
        assert {nodes[other] for other in graph.neighbours(vertex)} == set(source[node]) - {node}


def test_text_that_looks_like_a_number_stays_text() -> None:
    assert load_graph([("10", "9"), ("9", "1")]).nodes == ["10", "9", "1"]


def test_weights_in_networkx_are_kept_unless_all_are_one() -> None:
    source = nx.Graph()
    source.add_weighted_edges_from([(3, 2, 1.0), (2, 1, 4)])
    graph = load_graph(source)
    assert graph.weights is not None
    assert (graph.nodes, graph.weights.tolist()) == ([3, 2, 1], [1.0, 1.0, 4.0, 4.0])
    source[2][1]["weight"] = 1
    assert load_graph(source).weights is None


@pytest.mark.parametrize("weight", ["heavy", None, float("nan"), float("inf"), -1])
def test_a_senseless_weight_in_networkx_names_the_edge(weight: Any) -> None:
    with pytest.raises(InputError, match="the edge 'a' – 'b' has the weight"):
        load_graph(nx.Graph([("a", "b", {"weight": weight})]))


def test_two_vertices_with_one_name_are_refused() -> None:
    with pytest.raises(InputError, match="1 and '1' are both called '1'"):
        load_graph(nx.Graph([(1, "1")]))
    with pytest.raises(InputError, match="both called '1'"):
        load_graph([(1, 2), ("1", 2)])


@pytest.mark.parametrize("name", ["", "a\0", "x" * 2000])
def test_names_that_an_array_cannot_hold_are_refused(name: str) -> None:
    with pytest.raises(InputError, match="name"):
        load_graph(nx.Graph([(name, "b")]))


def test_a_networkx_graph_without_nodes_is_refused_but_one_without_edges_is_a_graph() -> None:
    with pytest.raises(InputError, match="no nodes"):
        load_graph(nx.Graph())
    assert load_graph(nx.empty_graph(3)).isolated == 3


@given(edge_lists(), st.sampled_from([np.int8, np.uint16, np.int32, np.int64, np.uint64, object]))
def test_edge_arrays_of_every_type_hold_the_same_graph(pairs: Pairs, dtype: Any) -> None:
    graph, as_text = load_graph(np.array(pairs).astype(dtype)), load_graph(np.array(pairs).astype(str))
    appearance = list(dict.fromkeys(end for pair in pairs for end in pair))
    positions = dtype is not object and sorted(appearance) == list(range(len(appearance)))
    assert graph.names.tolist() == (sorted(appearance) if positions else appearance)
    assert load_graph(pairs).names.tolist() == appearance
    assert as_text.names.tolist() == list(map(str, appearance))
    for other in (as_text, load_graph(pairs)):
        assert same_graph(other.arranged(graph.names), graph)


@pytest.mark.parametrize(
    ("source", "problem"),
    [
        (np.array([[0, 1, 5], [1, 2, 3], [2, 0, 7]]), "3 × 3 array that isn't symmetric.*csr_array.*DataFrame"),
        (np.zeros((5, 3), int), "two columns.*DataFrame"),
        (np.zeros((5, 4), int), "two columns.*adjacency matrix is square"),
        (np.zeros((2, 2)), "astype.*csr_array"),
        (np.zeros((2, 5)), "transpose"),
        (np.full((2, 5), "a"), "transpose"),
        (np.array([[0, 1, 10**12], [1, 2, 3]]), "indices of nodes.*transpose"),
        (np.array([[0, 1, -1], [1, 2, 3]]), "negative entry -1"),
        (np.zeros(4, int), "two columns"),
        (np.zeros((3, 2)), "integers or strings"),
        (np.zeros((3, 2), bool), "integers or strings"),
        (np.zeros((0, 2), int), "no vertices"),
        ([(1, 2), (1, 2, 3)], "edge 1 is"),
        ([(1, 2), (1, 2.5)], "edge 1: 2.5 can't be a vertex"),
        ([], "no vertices"),
        ({}, "dictionary is empty"),
        ({1: 2}, "neighbours of 1 are 2"),
        ({1: "ab"}, "neighbours of 1 are 'ab'"),
        ({1: [2.5]}, "2.5 can't be a vertex"),
        ({1: {2: {"weight": -1}}}, "the edge 1 – 2 has the weight -1"),
        (7, "can't read a graph from a int"),
    ],
)
def test_objects_that_are_no_graph_are_refused(source: Any, problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        load_graph(source)


def test_a_graph_is_returned_as_it_is_and_warns_only_once() -> None:
    with pytest.warns(FedWalkWarning):
        graph = load_graph(nx.DiGraph([(1, 2)]))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert load_graph(graph) is graph


@pytest.mark.parametrize("suffix", [".txt", ".edges", ".edgelist", ".csv", ".tsv", ".el", ".ungraph", ".TXT"])
def test_suffixes_of_edge_lists(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"graph{suffix}"
    path.write_text("1,2\n2,3\n")
    assert load_graph(str(path)).edges == 2


def test_format_overrules_the_suffix(tmp_path: Path) -> None:
    path = tmp_path / "graph.txt"
    path.write_text("1 2 3 4\n")
    assert load_graph(path, format="adjlist").edges == 3


def test_files_that_cannot_be_read_are_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"absent\.txt: no such file"):
        load_graph(tmp_path / "absent.txt")
    with pytest.raises(InputError, match="a folder, not a file"):
        load_graph(tmp_path)
    (tmp_path / "graph.txt").write_text("1 2")
    with pytest.raises(InputError, match="unknown graph format 'dot'; the formats are edgelist, csv, adjlist"):
        load_graph(tmp_path / "graph.txt", format="dot")
    with pytest.raises(InputError, match="says how to read a file"):
        load_graph([(1, 2)], format="edgelist")
    (tmp_path / "graph.mat.gz").write_bytes(b"")
    with pytest.raises(InputError, match="not a gzip file"):
        load_graph(tmp_path / "graph.mat.gz")


def test_the_warning_points_at_the_caller() -> None:
    with pytest.warns(FedWalkWarning) as caught:
        load_graph(nx.DiGraph([(1, 2)]))
    assert caught[0].filename == __file__
