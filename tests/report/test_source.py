"""Reading a run and its graph: the right graph or none, and an error that names what is damaged."""

import json
from pathlib import Path

import numpy as np
import pytest

from fedwalk.errors import InputError, RunFolderError, SettingsError
from fedwalk.graph import Graph, load_graph
from fedwalk.graph.save import save_edge_list
from fedwalk.report.source import read_source
from helpers.pages import data_of, quick
from helpers.run_folders import embed, federated, record_of, rewrite


def test_another_graph_under_the_same_name_is_not_taken_for_the_runs(network: Graph, tmp_path: Path) -> None:
    file = tmp_path / "graph.edges"
    run = embed(network, tmp_path / "run", origin=file)
    file.write_text("0 1\n1 2\n", encoding="utf-8")
    assert "the graph of this run (" in quick(run)
    with pytest.raises(InputError, match="isn't the graph of this run"):
        quick(run, graph=str(file))


def test_labels_without_a_graph_are_an_error(network: Graph, labels_file: Path, tmp_path: Path) -> None:
    run = embed(network, tmp_path / "run")
    with pytest.raises(InputError, match="doesn't name the graph's file"):
        quick(run, labels=str(labels_file))


def test_the_edges_file_is_enough_to_find_the_graph_again(network: Graph, tmp_path: Path) -> None:
    save_edge_list(network, tmp_path / "copy.edges")
    run = embed(network, tmp_path / "run")
    assert data_of(quick(run, graph=str(tmp_path / "copy.edges")))["degrees"] == network.degrees.tolist()


def test_vertices_may_be_called_anything(tmp_path: Path) -> None:
    path = tmp_path / "graph.edges"
    path.write_text("añil\t日本\n日本\tالعربية\nالعربية\tañil\n", encoding="utf-8")
    run = embed(load_graph(path), tmp_path / "run", origin=path)
    assert sorted(data_of(quick(run))["names"]) == sorted(["añil", "日本", "العربية"])


@pytest.mark.parametrize(
    ("part", "missing"),
    [("graph", "vertices"), ("settings", "protocol"), ("seconds", "total"), ("walks", "count")],
)
def test_a_record_that_lacks_something_is_named(part: str, missing: str, network: Graph, tmp_path: Path) -> None:
    run = embed(network, tmp_path)
    rewrite(run, **{part: {}})
    with pytest.raises(RunFolderError, match=rf"run\.json: .*has no '{missing}' in '{part}'"):
        quick(run)


@pytest.mark.parametrize("file", ["tree.npz", "walks.npy", "embedding.npz"])
@pytest.mark.parametrize("content", [b"", b"nonsense"])
def test_a_damaged_file_is_named(file: str, content: bytes, network: Graph, tmp_path: Path) -> None:
    run = embed(network, tmp_path)
    (run / file).write_bytes(content)
    with pytest.raises((RunFolderError, InputError), match=file):
        quick(run)


def test_a_tree_of_other_vertices_is_noticed(network: Graph, tmp_path: Path) -> None:
    run = embed(network, tmp_path)
    with np.load(run / "tree.npz") as arrays:
        linkage, nodes = arrays["linkage"], arrays["nodes"]
    np.savez(run / "tree.npz", linkage=linkage, nodes=nodes[1:])
    with pytest.raises(RunFolderError, match="60 leaves and 59 names"):
        quick(run)


def test_a_leaf_that_the_embedding_lacks_is_noticed_unless_a_federation_lost_it(network: Graph, tmp_path: Path) -> None:
    run = federated(network, tmp_path, lost=20)
    assert read_source(run).leaves.tolist() == [-1] * 20 + list(range(40))
    record = record_of(run)
    del record["federation"]
    (run / "run.json").write_text(json.dumps(record), encoding="utf-8")
    with pytest.raises(RunFolderError, match=r"tree\.npz: .*a vertex that isn't in embedding\.npz"):
        read_source(run)


def test_an_embedding_of_another_graph_is_noticed(network: Graph, network_file: Path, tmp_path: Path) -> None:
    run = embed(network, tmp_path, origin=network_file)
    np.savez(run / "embedding.npz", nodes=np.arange(60) + 7, vectors=np.ones((60, 2), np.float32))
    (run / "tree.npz").unlink()
    assert "the graph of this run (it has other vertices than the vectors)" in quick(run)


@pytest.mark.parametrize(("option", "value"), [("layout", "force"), ("splits", 0), ("threads", 0)])
def test_bad_settings_are_refused_at_once(option: str, value: object, tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=f"{option} = "):
        quick(tmp_path, **{option: value})
