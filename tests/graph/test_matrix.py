"""Sparse matrices, `.npz` and `.mat` files."""

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.io import savemat

from fedwalk.errors import FedWalkWarning, InputError
from fedwalk.graph import Graph, load_graph
from helpers.graph_files import Pairs, edge_lists, neighbour_lists, reference

FORMATS = ["csr", "csc", "coo", "lil", "dok", "dia", "bsr"]
one_folder = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])


def symmetric(pairs: Pairs, n: int = 12) -> Any:
    dense = np.zeros((n, n))
    for u, v in pairs:
        dense[u, v] = dense[v, u] = 1
    return sparse.csr_array(dense)


def saved(path: Path, matrix: Any, **others: Any) -> Path:
    savemat(path, {"network": matrix, **others})
    return path


def check(graph: Graph, pairs: Pairs) -> None:
    unique = {(min(pair), max(pair)) for pair in pairs}
    expected = reference(unique, 12)
    assert neighbour_lists(graph) == expected.neighbours
    assert graph.names.tolist() == list(range(12))
    assert (graph.cleaning.self_loops, graph.cleaning.repeated_edges) == (expected.self_loops, 0)


@one_folder
@given(edge_lists(), st.sampled_from(FORMATS))
def test_every_kind_of_matrix_holds_the_same_graph(tmp_path: Path, pairs: Pairs, kind: str) -> None:
    matrix = symmetric(pairs)
    check(load_graph(matrix.asformat(kind)), pairs)
    check(load_graph(saved(tmp_path / "graph.mat", sparse.csc_matrix(matrix))), pairs)
    check(load_graph(saved(tmp_path / "dense.mat", matrix.toarray())), pairs)
    sparse.save_npz(tmp_path / "graph.npz", matrix.asformat("csr"))
    check(load_graph(tmp_path / "graph.npz"), pairs)


@given(edge_lists())
def test_an_asymmetric_matrix_is_made_undirected_with_a_warning(pairs: Pairs) -> None:
    pairs = [*pairs, (0, 1)]
    dense = np.zeros((12, 12), dtype=bool)
    for u, v in pairs:
        dense[u, v] = True
    dense[1, 0] = False
    with pytest.warns(FedWalkWarning, match="directed edges were made undirected"):
        graph = load_graph(sparse.csr_array(dense))
    assert neighbour_lists(graph) == reference(pairs, 12).neighbours
    assert (graph.cleaning.directed, graph.cleaning.repeated_edges) == (True, 0)


def test_explicit_zeros_are_no_edges_and_repeated_entries_are_counted() -> None:
    entries = ([1, 1, 1, 1, 0, 0], ([0, 0, 1, 1, 1, 2], [1, 1, 0, 0, 2, 1]))
    graph = load_graph(sparse.coo_array(entries, shape=(3, 3)))
    assert neighbour_lists(graph) == [[1], [0], []]
    assert graph.cleaning.repeated_edges == 1


def test_a_symmetric_matrix_gives_its_weights_and_another_one_the_sums_of_both_directions() -> None:
    graph = load_graph(sparse.csr_array(np.array([[0, 2], [2, 0]])))
    assert (graph.edges, graph.weights.tolist() if graph.weights is not None else None) == (1, [2.0, 2.0])
    with pytest.warns(FedWalkWarning, match="directed edges"):
        directed = load_graph(sparse.csr_array(np.array([[0, 2], [3, 0]])))
    assert directed.weights is not None
    assert directed.weights.tolist() == [5.0, 5.0]


@pytest.mark.parametrize(
    ("matrix", "problem"),
    [
        (np.ones((2, 3)), r"square.*\(2, 3\)"),
        (np.array([[0, np.nan], [1, 0]]), "nan in row 0, column 1"),
        (np.array([[0, 1], [np.inf, 0]]), "inf in row 1, column 0"),
        (np.array([[0, -1], [-1, 0]]), "2 negative entries"),
        (np.array([[0, 1j], [1j, 0]]), "complex"),
    ],
)
def test_matrices_that_are_no_graph_are_refused(matrix: Any, problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        load_graph(sparse.csr_array(matrix))


def test_a_matrix_without_rows_and_one_with_a_single_row() -> None:
    with pytest.raises(InputError, match="no vertices"):
        load_graph(sparse.csr_array((0, 0)))
    assert load_graph(sparse.csr_array((1, 1))).vertices == 1
    with pytest.raises(InputError, match="at most"):
        load_graph(sparse.coo_array((2**40, 2**40)))


def test_an_index_outside_the_matrix_is_refused() -> None:
    matrix = sparse.csr_array(np.array([[0, 1], [1, 0]]))
    matrix.indices[0] = 7
    with pytest.raises(InputError, match="damaged"):
        load_graph(matrix)


def test_labels_of_a_mat_file_are_attached(tmp_path: Path) -> None:
    group = sparse.csc_matrix(np.array([[1, 0, 0], [1, 0, 2], [0, 0, 0]]))
    graph = load_graph(saved(tmp_path / "graph.mat", symmetric([(0, 1), (1, 2)], 3).tocsc(), group=group))
    assert graph.labels is not None
    assert graph.labels.names == ("0", "1", "2")
    assert graph.labels.indicator.toarray().tolist() == [[1, 0, 0], [1, 0, 1], [0, 0, 0]]


def test_labels_of_another_size_are_refused(tmp_path: Path) -> None:
    path = saved(tmp_path / "graph.mat", symmetric([(0, 1)], 3).tocsc(), group=np.ones((4, 2)))
    with pytest.raises(InputError, match=r"group: shape \(4, 2\), expected one row for each of 3"):
        load_graph(path)


def test_a_mat_file_without_a_network_lists_what_it_has(tmp_path: Path) -> None:
    savemat(tmp_path / "graph.mat", {"A": np.eye(2), "labels": np.eye(2)})
    with pytest.raises(InputError, match=r"no variable 'network'.*there is: A, labels"):
        load_graph(tmp_path / "graph.mat")


def test_a_mat_file_with_text_for_a_network_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="network: a numeric matrix is expected"):
        load_graph(saved(tmp_path / "graph.mat", "none"))


@pytest.mark.parametrize("suffix", [".mat", ".npz"])
@pytest.mark.parametrize("content", [b"", b"not at all", b"\x00" * 200, b"PK\x03\x04 broken"])
def test_a_file_that_is_something_else_is_refused(tmp_path: Path, suffix: str, content: bytes) -> None:
    path = tmp_path / f"graph{suffix}"
    path.write_bytes(content)
    with pytest.raises(InputError, match=f"graph{suffix}: (not a|the suffix {suffix} means)"):
        load_graph(path)


@pytest.mark.parametrize("kept", [0.2, 0.5, 0.9])
def test_a_truncated_file_is_refused(tmp_path: Path, kept: float) -> None:
    matrix = symmetric([(0, 1), (1, 2), (3, 4)]).tocsc()
    sparse.save_npz(tmp_path / "graph.npz", matrix)
    saved(tmp_path / "graph.mat", matrix)
    for path in (tmp_path / "graph.npz", tmp_path / "graph.mat"):
        data = path.read_bytes()
        path.write_bytes(data[: int(kept * len(data))])
        with pytest.raises(InputError):
            load_graph(path)


def test_nothing_is_unpickled_from_an_npz_file(tmp_path: Path) -> None:
    marker = tmp_path / "executed"
    payload = np.array([_Payload(marker)], dtype=object)
    np.savez(tmp_path / "graph.npz", format=payload, data=payload, allow_pickle=True)
    with pytest.raises(InputError):
        load_graph(tmp_path / "graph.npz")
    assert not marker.exists()


class _Payload:
    def __init__(self, marker: Path) -> None:
        self.marker = marker

    def __reduce__(self) -> tuple[Any, ...]:
        return Path.touch, (self.marker,)


@pytest.mark.slow
@pytest.mark.skipif("FEDWALK_BLOGCATALOG" not in os.environ, reason="FEDWALK_BLOGCATALOG doesn't name blogcatalog.mat")
def test_blogcatalog_has_its_published_size() -> None:
    graph = load_graph(os.environ["FEDWALK_BLOGCATALOG"])
    assert (graph.vertices, graph.edges, graph.isolated) == (10312, 333983, 0)
    assert graph.notes == ()
    assert graph.labels is not None
    assert graph.labels.count == 39
    assert int(graph.degrees.max()) == 3992
