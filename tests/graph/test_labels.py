"""Labels from files and Python objects, and labels that can't be those of the graph."""

import gzip
import re
import subprocess
from pathlib import Path
from typing import Any

import igraph
import networkx as nx
import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.preprocessing import LabelBinarizer
from sklearn.utils.validation import column_or_1d

from fedwalk.embedding import Embedding
from fedwalk.errors import FedWalkWarning, InputError
from fedwalk.evaluation import evaluate
from fedwalk.graph import Graph, Labels, load_graph, load_labels, social_network

PATH_OF_FOUR = np.array([[1, 2], [2, 3], [3, 4]])


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.dictionaries(st.integers(1, 4), st.sets(st.integers(0, 20), min_size=1), min_size=1),
    st.sampled_from([" ", "\t", ",", ";"]),
    st.booleans(),
)
def test_labels_are_read_whatever_the_separator(
    tmp_path: Path, assigned: dict[int, set[int]], separator: str, packed: bool
) -> None:
    path = tmp_path / "labels.txt"
    text = "# groups\n" + "\n".join(separator.join(map(str, [v, *found])) for v, found in assigned.items())
    path.write_bytes(gzip.compress(text.encode()) if packed else text.encode())
    labels = load_labels(path, load_graph(PATH_OF_FOUR))
    assert labels.names == tuple(map(str, sorted(set().union(*assigned.values()))))
    for vertex in range(4):
        assert set(labels.of(vertex)) == set(map(str, assigned.get(vertex + 1, set())))


def test_a_vertex_may_come_several_times_and_have_labels_with_spaces(tmp_path: Path) -> None:
    path = tmp_path / "labels.tsv"
    path.write_text("1\tboard games\n2\tgo\n1\tgo\tgo\n3\n")
    labels = load_labels(path, load_graph(PATH_OF_FOUR))
    assert labels.names == ("board games", "go")
    assert labels.indicator.toarray().tolist() == [[1, 1], [0, 1], [0, 0], [0, 0]]


def test_vertices_the_graph_does_not_know_are_counted_in_a_warning(tmp_path: Path) -> None:
    path = tmp_path / "labels.csv"
    path.write_text("vertex,label\n1,a\n9,b\n9,c\n")
    with pytest.warns(FedWalkWarning, match="1 vertex not in the graph skipped, such as '9'"):
        labels = load_labels(path, load_graph(PATH_OF_FOUR))
    assert labels.names == ("a",)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("v1 a\nv2 b\n", r"labels\.txt: none of its vertices .* like 'v1', the graph has names like '1'"),
        ("# nothing\n", r"labels\.txt, line 1: the file has no labels"),
        ("1\n2\n", r"labels\.txt: no vertex has a label"),
        ("1,a\n2,,b\n", r"labels\.txt, line 2: an empty vertex or label"),
    ],
)
def test_files_without_labels_for_the_graph_are_refused(tmp_path: Path, text: str, problem: str) -> None:
    path = tmp_path / "labels.txt"
    path.write_text(text)
    with pytest.raises(InputError, match=problem):
        load_labels(path, load_graph(PATH_OF_FOUR))


def test_load_graph_attaches_labels_from_a_file_or_a_value(tmp_path: Path) -> None:
    path = tmp_path / "labels.txt"
    path.write_text("1 a\n4 b\n")
    graph = load_graph(PATH_OF_FOUR, labels=path)
    assert graph.labels is not None
    assert graph.labels.of(3) == ("b",)
    assert load_graph(PATH_OF_FOUR, labels=graph.labels).labels is graph.labels


def test_a_missing_label_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such file"):
        load_graph(PATH_OF_FOUR, labels=tmp_path / "absent.txt")


NAMED = load_graph([("ann", "bob"), ("bob", "cy"), ("cy", "dan")])
EXPECTED = {"ann": ("chess",), "bob": ("chess", "go"), "cy": (), "dan": ("go",)}


def assigned(labels: Labels, graph: Graph = NAMED) -> dict[Any, tuple[str, ...]]:
    return {node: labels.of(vertex) for vertex, node in enumerate(graph.nodes)}


@pytest.mark.parametrize(
    "source",
    [
        {"ann": "chess", "bob": ["chess", "go"], "dan": {"go"}},
        {"dan": ("go",), "cy": None, "bob": np.array(["go", "chess"]), "ann": frozenset({"chess"})},
        pd.Series({"ann": "chess", "bob": ["chess", "go"], "cy": float("nan"), "dan": "go"}),
        pd.Series(["chess", "go", "chess", "go"], index=["ann", "bob", "bob", "dan"]),
        ["chess", ["chess", "go"], None, "go"],
        ("chess", {"chess", "go"}, [], "go"),
        pl.Series([["chess"], ["chess", "go"], [], ["go"]]),
    ],
    ids=["dict", "containers", "pandas", "repeated", "list", "tuple", "polars"],
)
def test_labels_of_every_kind_are_the_same(source: Any) -> None:
    assert assigned(load_labels(source, NAMED)) == EXPECTED
    attached = NAMED.with_labels(source).labels
    assert attached is not None
    assert assigned(attached) == EXPECTED
    loaded = load_graph([("ann", "bob"), ("bob", "cy"), ("cy", "dan")], labels=source).labels
    assert loaded is not None
    assert assigned(loaded) == EXPECTED


@pytest.mark.parametrize("kind", [np.array, sparse.csr_array, sparse.coo_matrix])
@pytest.mark.parametrize("dtype", [bool, int, float])
def test_an_indicator_matrix_has_a_row_for_each_node(kind: Any, dtype: Any) -> None:
    matrix = np.array([[1, 0], [1, 1], [0, 0], [0, 1]]).astype(dtype)
    labels = load_labels(kind(matrix), NAMED)
    assert (labels.names, labels.indicator.toarray().tolist()) == (("0", "1"), matrix.astype(int).tolist())


def test_one_label_per_node_in_an_array_and_nodes_of_any_type() -> None:
    assert load_labels(np.array([3, 1, 3, 1]), NAMED).names == ("1", "3")
    assert load_labels(np.array([3.0, 1.0, np.nan, 1.0]), NAMED).per_vertex.tolist() == [1, 1, 0, 1]
    graph = load_graph([((0, 1), (0, 2))])
    assert assigned(load_labels({(0, 2): "x"}, graph), graph) == {(0, 1): (), (0, 2): ("x",)}
    numbers = load_graph(PATH_OF_FOUR)
    assert load_labels({1: "a", np.int64(4): "b"}, numbers).per_vertex.tolist() == [1, 0, 0, 1]


@pytest.mark.parametrize(
    "values", [[0, 1, 1, 0], [3, 1, 3, 1], ["chess", "go", "go", "chess"], [True, False, True, True]]
)
def test_an_array_with_one_column_has_the_label_of_each_node_as_in_scikit_learn(values: list[Any]) -> None:
    column = np.array(values).reshape(-1, 1)
    expected = LabelBinarizer().fit(column_or_1d(column))
    labels = load_labels(column, NAMED)
    assert labels.names == tuple(map(str, expected.classes_.tolist()))
    assert [labels.of(vertex) for vertex in range(4)] == [(str(value),) for value in values]


def test_nodes_are_looked_up_by_equality_before_their_text() -> None:
    # Equal sets list their members in different orders, and so have different texts.
    node, same = frozenset([1, 9]), frozenset([9, 1])
    assert node == same
    assert str(node) != str(same)
    graph = load_graph([(node, "b"), ("b", 7)])
    index = pd.Index([same, "b", 7.0], tupleize_cols=False)
    for source in ({same: "x", "b": "y", 7.0: "z"}, pd.Series(["x", "y", "z"], index)):
        assert assigned(load_labels(source, graph), graph) == {node: ("x",), "b": ("y",), 7: ("z",)}
    assert assigned(load_labels({str(node): "x", "7": "z"}, graph), graph) == {node: ("x",), "b": (), 7: ("z",)}


def test_a_truth_value_is_not_the_node_1() -> None:
    with pytest.warns(FedWalkWarning, match="1 vertex not in the graph skipped, such as 'True'"):
        labels = load_labels({True: "x", 2: "y"}, load_graph(PATH_OF_FOUR))
    assert labels.per_vertex.tolist() == [0, 1, 0, 0]


@pytest.mark.parametrize(
    ("source", "problem"),
    [
        (["a", "b"], "2 values for 4 vertices; give one for each node in the order of graph.nodes"),
        ([[0, 1], [1, 0], [1, 1], [0, 0]], "lists of 0 and 1 are ambiguous; give an indicator matrix as a numpy array"),
        (sparse.csr_array([[1], [0], [1], [0]]), "a sparse matrix with one column could be one label, or"),
        ([[0, 1], [1, pd.NA], [1, None], [np.nan, 0]], "lists of 0 and 1 are ambiguous"),
        (np.zeros((3, 2)), r"shape \(3, 2\); a matrix of labels has 0 and 1, a row for each of 4 vertices"),
        (np.array([[1, 5], [2, 6], [3, 7], [4, 8]]), "only 0 and 1; give one label per node"),
        (np.array([["ann", "x"]] * 4), "a matrix of labels has 0 and 1"),
        ({}, "empty"),
        ({"ann": None}, "no vertex has a label"),
        ({"eve": "x"}, "none of its vertices is in the graph"),
        (7, "can't read labels from a int"),
        ("attribute:club", "read with the graph; give it to load_graph"),
    ],
)
def test_objects_that_are_no_labels_are_refused(source: Any, problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        load_labels(source, NAMED)


def test_labels_of_a_node_attribute() -> None:
    karate = nx.karate_club_graph()
    graph = load_graph(karate, labels="attribute:club")
    assert graph.labels is not None
    assert assigned(graph.labels, graph) == {node: (karate.nodes[node]["club"],) for node in karate}
    with pytest.raises(InputError, match="no node has the attribute 'team'; the node attributes are: 'club'"):
        load_graph(karate, labels="attribute:team")
    source = igraph.Graph(2, [(0, 1)])
    source.vs["kind"] = ["a", "b"]
    labels = load_graph(source, labels="attribute:kind").labels
    assert labels is not None
    assert labels.names == ("a", "b")


def test_a_header_of_a_label_file_is_skipped_unless_it_is_a_vertex(tmp_path: Path) -> None:
    path = tmp_path / "labels.csv"
    path.write_text("node,label\nann,x\nbob,y\n")
    assert load_labels(path, NAMED).names == ("x", "y")
    assert load_labels(path, load_graph([("node", "ann"), ("ann", "bob")])).names == ("label", "x", "y")


def test_a_list_of_communities_is_refused_with_the_command_that_turns_it_around(tmp_path: Path) -> None:
    graph = social_network(vertices=300, communities=6, seed=0)
    assert graph.labels is not None
    path = tmp_path / "communities.txt"
    members = [np.flatnonzero(column).tolist() for column in graph.labels.indicator.toarray().T]
    path.write_text("\n".join(" ".join(map(str, graph.names[row])) for row in members))
    with pytest.raises(
        InputError, match=r"vertices have .* are vertices of the graph: this looks like a list"
    ) as caught:
        load_labels(path, graph)
    command = re.search(r"awk '.*' \S+ > labels\.txt", str(caught.value))
    assert command is not None
    subprocess.run(command[0], shell=True, check=True, cwd=tmp_path)
    labels = load_labels(tmp_path / "labels.txt", graph)
    assert np.array_equal(labels.indicator.toarray(), graph.labels.indicator.toarray())
    with pytest.raises(InputError, match="turn it around"):
        load_labels({row[0]: row[1:] for row in graph.names[np.arange(60).reshape(3, 20)].tolist()}, graph)


def test_hundreds_of_labels_per_vertex_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "labels.txt"
    path.write_text("\n".join(f"{vertex} " + " ".join(f"label{n}" for n in range(200)) for vertex in (1, 2, 3)))
    with pytest.raises(InputError, match="200 labels per vertex on average"):
        load_labels(path, load_graph(PATH_OF_FOUR))


def test_labels_of_another_graph_are_refused_and_those_of_a_part_are_not(tmp_path: Path) -> None:
    path = tmp_path / "labels.txt"
    path.write_text("".join(f"{vertex} {vertex % 3}\n" for vertex in range(1, 101)))
    with pytest.raises(InputError, match=r"only 4 of its 100 vertices are in the graph .*labels of another graph"):
        load_labels(path, load_graph(PATH_OF_FOUR))
    large = load_graph([(vertex, vertex + 1) for vertex in range(5000)])
    assert load_labels(path, large).per_vertex.sum() == 100
    with pytest.warns(FedWalkWarning, match="49 vertices not in the graph"):
        load_labels(path, load_graph([(vertex, vertex + 1) for vertex in range(1, 51)]))


def test_the_warning_about_unknown_vertices_points_at_the_caller() -> None:
    with pytest.warns(FedWalkWarning) as caught:
        load_labels({"ann": "x", "eve": "y"}, NAMED)
    assert caught[0].filename == __file__


def test_evaluate_takes_labels_of_its_own() -> None:
    graph = load_graph([(v, (v + 1) % 20) for v in range(20)])
    rng = np.random.default_rng(0)
    embedding = Embedding(graph.names, rng.normal(size=(20, 4)).astype(np.float32))
    (score,) = evaluate(embedding, graph, labels=[v % 2 for v in range(20)], train_ratios=[0.5], splits=2)
    assert 0 <= score.micro_f1 <= 1


def test_a_missing_value_of_pandas_is_no_label() -> None:
    labels = load_labels(pd.Series([1, pd.NA, 2, 1], [1, 2, 3, 4], dtype="Int64"), load_graph(PATH_OF_FOUR))
    assert labels.indicator.toarray().tolist() == [[1, 0], [0, 0], [0, 1], [1, 0]]
    lists = [["go", pd.NA], ["go", "chess"], [0, 1], [pd.NA, pd.NA]]
    assert load_labels(lists, NAMED).per_vertex.tolist() == [1, 2, 2, 0]
