"""Label files: separators, repeated and unknown vertices, and files without labels for the graph."""

import gzip
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fedwalk.errors import FedWalkWarning, InputError
from fedwalk.graph import load_graph, load_labels

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
