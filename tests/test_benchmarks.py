"""Benchmarks: what their published sections rely on. The measurements themselves aren't tested."""

from argparse import Namespace
from pathlib import Path
from typing import cast

import layout
import load
import numpy as np
import pytest
import scale
import walks
from scipy import sparse

import federation
from fedwalk.graph import Labels, load_graph
from fedwalk.protocols.walks import Walks


@pytest.mark.parametrize(
    ("settings", "reported"),
    [({"num_walks": 1, "dim": 4}, "entries, "), ({"protocol": "ldp", "dim": 4}, "bytes from each device")],
    ids=["paper", "ldp"],
)
def test_a_run_of_each_protocol_can_be_described(settings: dict[str, object], reported: str) -> None:
    record = scale.run(120, 6.0, 3, **settings)
    assert f"{record['edges']} edges, 3 labels, " in scale.describe(record, "Small")
    assert reported in scale.describe(record, "Small")


def test_every_way_that_fedwalk_walks_takes_part_with_weights_and_without(tmp_path: Path) -> None:
    graph = tmp_path / "graph.edges"
    graph.write_text("".join(f"{v} {(v + step) % 12}\n" for v in range(12) for step in (1, 2)))
    contenders = walks.fedwalk_contenders(walks.weighted_graph(str(graph)), 2, 1)
    made = {name: cast(Walks, job()).sequences for name, job in contenders.items()}
    assert {sequences.shape for sequences in made.values()} == {(24, walks.LENGTH)}
    plain = [name for name in made if not name.endswith(walks.WEIGHTED)]
    assert len(plain) == 3
    assert all(not np.array_equal(made[name], made[name + walks.WEIGHTED]) for name in plain)


@pytest.mark.parametrize(("graph", "flag"), [(None, ""), (Path("data/blogcatalog.mat"), " --graph blogcatalog.mat")])
def test_the_published_command_names_a_graph_only_if_a_file_was_given(graph: Path | None, flag: str) -> None:
    options = Namespace(graph=graph, num_walks=10, holders=4)
    assert federation.command(options) == f"python benchmarks/federation.py{flag} --num-walks 10 --holders 4"


def test_label_agreement_is_the_share_of_the_nearest_with_a_common_label() -> None:
    indicator = np.zeros((33, 2))
    indicator[:11, 0] = indicator[11:22, 1] = 1
    labels = Labels(sparse.csr_array(indicator), ("a", "b"))
    centres = np.repeat([[0.0, 0.0], [50.0, 0.0], [0.0, 50.0]], 11, axis=0)
    clouds = centres + np.random.default_rng(0).normal(size=(33, 2))
    # The last eleven have no label, and don't count.
    assert layout.agreement(clouds, labels) == 1
    assert layout.agreement(np.repeat(clouds[:11], 3, axis=0), labels) < 0.8


def test_the_benchmark_of_loading_writes_one_graph_in_two_formats(tmp_path: Path) -> None:
    files = load.write_files(tmp_path, 500, 100)
    assert load_graph(files["csv"]).fingerprint() == load_graph(files["parquet"]).fingerprint()


def test_the_table_of_loading_compares_with_csv() -> None:
    seconds = {load.OURS: [2.0], "other": [5.0]}
    assert "| other | 5.0 s | 2.5× | 3.00 GB |" in load.describe(seconds, {load.OURS: [1], "other": [3 * 10**9]})
