"""The graph of an experiment: datasets, generated graphs, files, and where its labels come from."""

from pathlib import Path

import numpy as np
import pytest
from scipy import sparse
from scipy.io import savemat

from fedwalk.errors import InputError
from fedwalk.experiments.setup import Setup, set_up
from fedwalk.graph.graph import edge_pairs


def test_flickr_is_offered_as_a_generated_graph_where_it_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FEDWALK_DATA", str(tmp_path))
    with pytest.raises(InputError, match=r"fedwalk data get flickr.*flickr-like, a generated graph"):
        set_up("flickr")


def test_a_graph_without_labels_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "graph.edges"
    path.write_text("0 1\n1 2\n2 0\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"has no labels.*--labels FILE"):
        set_up(str(path))


def test_labels_may_come_from_a_file(unlabelled: tuple[Path, Path]) -> None:
    graph, labels = unlabelled
    setup = set_up(str(graph), labels=labels)
    assert setup.graph.labels is not None
    assert (setup.title, setup.graph.labels.names) == ("graph.edges", ("a", "b"))


def test_other_labels_are_named_and_make_a_dataset_another_graph(
    small: Setup, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # No checksum of Flickr is published, so any file can take its place.
    monkeypatch.setenv("FEDWALK_DATA", str(tmp_path))
    assert small.graph.labels is not None
    ends = np.concatenate((edge_pairs(small.graph), edge_pairs(small.graph)[:, ::-1])).T
    matrix = sparse.coo_array((np.ones(ends.shape[1]), tuple(ends)))
    savemat(tmp_path / "flickr.mat", {"network": matrix.tocsc(), "group": small.graph.labels.indicator.tocsc()})
    labels = tmp_path / "mine.txt"
    setup = set_up("flickr")
    labels.write_text(f"{setup.graph.names[0]} a\n", encoding="utf-8")
    assert (setup.title, setup.dataset) == ("Flickr", "flickr")
    other = set_up("flickr", labels=labels)
    assert (other.title, other.dataset) == ("Flickr, labels from mine.txt", None)


def test_generated_graphs_say_so_in_their_title() -> None:
    setup = set_up("citation-like", num_walks=10)
    assert "generated" in setup.title
    assert setup.dataset is None
    assert setup.walks == (10,)
    assert np.array_equal(setup.graph.indices, set_up("citation-like").graph.indices)
