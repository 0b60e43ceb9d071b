"""Benchmarks: what their published sections rely on. The measurements themselves aren't tested."""

from argparse import Namespace
from pathlib import Path

import load
import pytest
import scale

import federation
from fedwalk.graph import load_graph


@pytest.mark.parametrize(
    ("settings", "reported"),
    [({"num_walks": 1, "dim": 4}, "entries, "), ({"protocol": "ldp", "dim": 4}, "bytes from each device")],
    ids=["paper", "ldp"],
)
def test_a_run_of_each_protocol_can_be_described(settings: dict[str, object], reported: str) -> None:
    record = scale.run(120, 6.0, 3, **settings)
    assert f"{record['edges']} edges, 3 labels, " in scale.describe(record, "Small")
    assert reported in scale.describe(record, "Small")


@pytest.mark.parametrize(("graph", "flag"), [(None, ""), (Path("data/blogcatalog.mat"), " --graph blogcatalog.mat")])
def test_the_published_command_names_a_graph_only_if_a_file_was_given(graph: Path | None, flag: str) -> None:
    options = Namespace(graph=graph, num_walks=10, holders=4)
    assert federation.command(options) == f"python benchmarks/federation.py{flag} --num-walks 10 --holders 4"


def test_the_benchmark_of_loading_writes_one_graph_in_two_formats(tmp_path: Path) -> None:
    files = load.write_files(tmp_path, 500, 100)
    assert load_graph(files["csv"]).fingerprint() == load_graph(files["parquet"]).fingerprint()


def test_the_table_of_loading_compares_with_csv() -> None:
    seconds = {load.OURS: [2.0], "other": [5.0]}
    assert "| other | 5.0 s | 2.5× | 3.00 GB |" in load.describe(seconds, {load.OURS: [1], "other": [3 * 10**9]})
