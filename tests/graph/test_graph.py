"""`Graph` and `Labels` as values: their properties, their invariants, and arrays that break them."""

import dataclasses
import subprocess
import sys
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array

from fedwalk.errors import InputError
from fedwalk.graph import Graph, Labels, load_graph
from fedwalk.graph.build import from_edges
from helpers.graph_files import Pairs, edge_lists, neighbour_lists

# 0 – 1 – 3, with 2 and 4 isolated
NAMES = np.array(["a", "b", "c", "d", "e"])


def small() -> Graph:
    labels = Labels(csr_array(np.array([[1, 0], [0, 1], [1, 1], [0, 0], [1, 0]])), ("x", "y"))
    return from_edges(np.array([0, 3]), np.array([1, 1]), NAMES, labels=labels)


def test_counts_degrees_and_neighbours_describe_the_graph() -> None:
    graph = small()
    assert (graph.vertices, graph.edges, graph.isolated) == (5, 2, 2)
    assert graph.degrees.tolist() == [1, 2, 0, 1, 0]
    assert graph.neighbours(1).tolist() == [0, 3]
    assert (graph.indptr.dtype.name, graph.indices.dtype.name) == ("int64", "int32")
    assert repr(graph) == "Graph(5 vertices, 2 edges, 2 labels)"


def test_neighbours_is_a_view_and_refuses_a_vertex_that_is_not_there() -> None:
    graph = small()
    assert np.shares_memory(graph.neighbours(1), graph.indices)
    for vertex in (-1, 5):
        with pytest.raises(IndexError, match="0 … 4"):
            graph.neighbours(vertex)


def test_nothing_in_a_graph_can_be_written() -> None:
    graph = small()
    assert graph.labels is not None
    for array in (graph.indptr, graph.indices, graph.names, graph.neighbours(0), graph.labels.indicator.data):
        with pytest.raises(ValueError, match="read-only"):
            array[:] = 0
    with pytest.raises(dataclasses.FrozenInstanceError):
        graph.notes = ()  # type: ignore[misc]


def test_the_callers_arrays_stay_writable() -> None:
    indptr, indices, names = np.array([0, 1, 2]), np.array([1, 0], np.int32), np.array([5, 6])
    Graph(indptr, indices, names)
    assert indptr.flags.writeable
    assert indices.flags.writeable
    assert names.flags.writeable


def test_active_drops_isolated_vertices_with_their_names_and_labels() -> None:
    active, kept = small().active()
    assert kept.tolist() == [0, 1, 3]
    assert neighbour_lists(active) == [[1], [0, 2], [1]]
    assert active.names.tolist() == ["a", "b", "d"]
    assert active.labels is not None
    assert active.labels.indicator.toarray().tolist() == [[1, 0], [0, 1], [0, 0]]


def test_active_returns_the_graph_itself_when_nothing_is_isolated() -> None:
    graph = load_graph(np.array([[0, 1], [1, 2]]))
    active, kept = graph.active()
    assert active is graph
    assert kept.tolist() == [0, 1, 2]


def test_active_of_a_graph_without_edges_is_an_error() -> None:
    graph = from_edges(np.array([], np.int64), np.array([], np.int64), np.array([1, 2]))
    assert (graph.edges, graph.isolated) == (0, 2)
    with pytest.raises(InputError, match="no vertices"):
        graph.active()


@given(edge_lists(), st.randoms())
def test_a_graph_can_be_arranged_in_any_order_of_its_names(pairs: Pairs, random: Random) -> None:
    weights = np.arange(1.0, 1.0 + len(pairs))
    ends, labels = np.array(pairs), Labels(csr_array(np.eye(12)), tuple(map(str, range(12))))
    graph = from_edges(ends[:, 0], ends[:, 1], np.arange(12), weights=weights, labels=labels)
    names = random.sample(range(12), 12)
    arranged = graph.arranged(np.array(list(map(str, names))))
    assert arranged.labels is not None
    assert [arranged.labels.of(v) for v in range(12)] == [(str(name),) for name in names]
    assert weighted_edges(arranged) == weighted_edges(graph)
    assert arranged.arranged(graph.names).fingerprint() == graph.fingerprint()


def weighted_edges(graph: Graph) -> set[tuple[str, str, float]]:
    names, weights = graph.names.astype(str)[graph.indices], graph.weights
    owners = np.repeat(graph.names.astype(str), graph.degrees)
    values = np.ones(graph.indices.size) if weights is None else weights
    return set(zip(owners.tolist(), names.tolist(), values.tolist(), strict=True))


@pytest.mark.parametrize("names", [["a", "b"], ["a", "b", "c", "d", "x"], ["a", "b", "c", "d", "d"]])
def test_names_of_another_graph_arrange_nothing(names: list[str]) -> None:
    graph = small()
    assert graph.arranged(np.array(names)) is graph


def test_fingerprint_sees_structure_names_order_and_weights_and_nothing_else() -> None:
    pairs = np.array([[0, 1], [1, 2]])
    graph = load_graph(pairs)
    assert graph.fingerprint() == load_graph(pairs[:, ::-1][:, ::-1]).fingerprint()
    assert graph.fingerprint() == graph.with_labels(None).fingerprint()
    weighted = dataclasses.replace(graph, weights=np.array([1.0, 1.0, 2.0, 2.0]))
    others = [load_graph(np.array([[0, 1], [0, 2]])), load_graph(pairs + 1), load_graph(pairs[::-1].tolist()), weighted]
    others.append(load_graph(pairs.astype("U2")))
    prints = {graph.fingerprint(), *(other.fingerprint() for other in others)}
    assert len(prints) == 6


@pytest.mark.parametrize("weights", [[1.0, 2.0, 1.0, 1.0], [1.0, 1.0, 0.0, 0.0], [1.0], [np.inf, np.inf, 1.0, 1.0]])
def test_weights_must_be_positive_finite_and_symmetric(weights: list[float]) -> None:
    graph = load_graph(np.array([[0, 1], [1, 2]]))
    with pytest.raises(InputError, match="weight"):
        dataclasses.replace(graph, weights=np.array(weights))


@pytest.mark.parametrize(
    ("indptr", "indices", "names", "complaint"),
    [
        ([0], [], [], "no vertices"),
        ([0, 1], [1, 0], [7], "indptr"),
        ([0, 2, 1], [0], [7, 8], "indptr"),
        ([0, 1, 2], [1, 2], [7, 8], "outside"),
        ([0, 1, 2], [0, 0], [7, 8], "own neighbour"),
        ([0, 2, 3, 4], [2, 1, 0, 0], [7, 8, 9], "ascend"),
        ([0, 2, 3], [1, 1, 0], [7, 8], "ascend"),
        ([0, 1, 1], [1], [7, 8], "vertex 0 has neighbour 1, but 1 doesn't have 0"),
        ([0, 1, 3, 4], [1, 0, 2, 0], [7, 8, 9], "vertex 1 has neighbour 2, but 2 doesn't have 1"),
        ([0, 1, 2], [1, 0], [7, 7], "distinct names"),
        ([0, 1, 2], [1, 0], [7, 8, 9], "distinct names"),
        ([0, 1, 2], [1, 0], [0.5, 1.5], "distinct names"),
    ],
)
def test_arrays_that_are_no_graph_are_refused(
    indptr: list[int], indices: list[int], names: list[int], complaint: str
) -> None:
    with pytest.raises(InputError, match=complaint):
        Graph(np.array(indptr), np.array(indices, np.int32), np.array(names))


def test_labels_answer_by_vertex_and_by_label() -> None:
    labels = small().labels
    assert labels is not None
    assert (labels.vertices, labels.count) == (5, 2)
    assert labels.per_vertex.tolist() == [1, 1, 2, 0, 1]
    assert labels.per_label.tolist() == [3, 2]
    assert (labels.of(2), labels.of(3)) == (("x", "y"), ())
    assert repr(labels) == "Labels(2 labels, 5 assignments, 5 vertices)"


def test_labels_keep_only_what_is_there() -> None:
    indicator = csr_array((np.array([3.0, 0.0, 2.0]), np.array([1, 0, 0]), np.array([0, 2, 3])), shape=(2, 2))
    labels = Labels(indicator, ("x", "y"))
    assert labels.indicator.toarray().tolist() == [[0, 1], [1, 0]]
    assert labels.indicator.dtype == np.uint8
    assert labels.indicator.nnz == 2


def test_labels_that_do_not_fit_are_refused() -> None:
    with pytest.raises(InputError, match="1 names"):
        Labels(csr_array(np.eye(2)), ("x",))
    with pytest.raises(InputError, match="labels for 2 vertices"):
        small().with_labels(Labels(csr_array(np.eye(2)), ("x", "y")))


def test_importing_the_package_loads_nothing_heavy() -> None:
    heavy = "{'scipy.io', 'networkx', 'sklearn', 'numba'}"
    code = f"import sys, fedwalk.graph; print(sorted({heavy} & set(sys.modules)))"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "[]"
