"""Embedding into a folder: what it writes, what it records, what resuming does."""

import json
import math
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from conftest import SETTINGS
from fedwalk.embedding import Embedding
from fedwalk.errors import FedWalkWarning, InputError, RunFolderError, SettingsError
from fedwalk.estimators import DeepWalk, FedWalk
from fedwalk.graph import Graph, load_graph
from fedwalk.protocols.paper.stages import STAGES
from fedwalk.protocols.paper.walks import expected_hops
from fedwalk.run.execute import embed_to_folder
from fedwalk.run.record import read_run
from fedwalk.run.stages import peak_rss_bytes
from fedwalk.settings import Settings, load_settings

NAMES = tuple(stage.name for stage in STAGES)
PHASES = ("plan", "vectors", "dictionary", "matrices", "tree", "hops", "sequences")


def embed(graph: Graph, path: Path, **options: Any) -> dict[str, Any]:
    settings = Settings(**{**SETTINGS, **options.pop("settings", {})})
    return embed_to_folder(graph, settings, path, **options).as_dict()


def files(path: Path) -> dict[str, bytes]:
    return {str(p.relative_to(path)): p.read_bytes() for p in sorted(path.rglob("*")) if p.is_file()}


def test_a_run_writes_its_results_and_nothing_else(network: Graph, tmp_path: Path) -> None:
    record = embed(network, tmp_path / "deep" / "run")
    assert sorted(files(tmp_path / "deep" / "run")) == ["embedding.npz", "run.json", "settings.toml", "tree.npz"]
    assert read_run(tmp_path / "deep" / "run").as_dict() == record
    assert load_settings(tmp_path / "deep" / "run" / "settings.toml") == Settings(
        **SETTINGS, num_bins=4, embed="skipgram"
    )


def test_the_embedding_is_that_of_the_estimator(network: Graph, tmp_path: Path) -> None:
    embed(network, tmp_path)
    with np.load(tmp_path / "embedding.npz") as arrays:
        assert sorted(arrays) == ["nodes", "origin", "vectors"]
        assert arrays["vectors"].dtype == np.float32
        assert arrays["nodes"].tolist() == network.names.tolist()
        assert arrays["vectors"].tobytes() == FedWalk(**SETTINGS).fit_transform(network).vectors.tobytes()


def test_the_tree_is_a_linkage_with_its_leaves_named(network: Graph, tmp_path: Path) -> None:
    embed(network, tmp_path)
    model = FedWalk(**SETTINGS)
    model.fit(network)
    with np.load(tmp_path / "tree.npz") as arrays:
        assert arrays["linkage"].shape == (network.vertices - 1, 4)
        assert np.array_equal(arrays["linkage"], model.tree_.linkage)
        assert arrays["nodes"].tolist() == network.names.tolist()


def test_the_record_has_graph_time_messages_and_walks(network: Graph, tmp_path: Path) -> None:
    record = embed(network, tmp_path, load_seconds=0.5)
    assert {k: record["graph"][k] for k in ("vertices", "edges", "isolated")} == {
        "vertices": 60, "edges": network.edges, "isolated": 0,
    }  # fmt: skip
    assert set(record["seconds"]) == {"load", *NAMES, "total"}
    assert record["seconds"]["total"] >= sum(t for stage, t in record["seconds"].items() if stage != "total")
    assert set(PHASES) <= set(record["messages"])
    assert record["messages"]["vectors"]["count"] == record["messages"]["matrices"]["count"] == 60
    assert record["messages"]["sequences"]["count"] == record["walks"]["count"] == 180
    assert record["messages"]["hops"]["count"] == round(record["walks"]["hops_per_walk"] * 180)
    assert all(record["messages"][phase]["bytes"] > record["messages"][phase]["count"] for phase in PHASES)
    assert record["walks"]["length"] == 12
    assert record["walks"]["expected_hops_per_walk"] == expected_hops(12, 0.2)
    assert record["nominal_epsilon"] == 2.0
    assert record["peak_rss_bytes"] > 10**7
    by_stage = list(record["peak_rss_by_stage"].values())
    assert by_stage == sorted(by_stage)
    assert by_stage[-1] <= record["peak_rss_bytes"]


def test_deepwalk_sends_nothing_and_builds_no_tree(network: Graph, tmp_path: Path) -> None:
    record = embed(network, tmp_path, settings={"protocol": "deepwalk"})
    assert record["messages"] == {}
    assert record["nominal_epsilon"] is None
    assert not (tmp_path / "tree.npz").exists()
    vectors = DeepWalk(**SETTINGS).fit_transform(network).vectors
    assert Embedding.load(tmp_path / "embedding.npz").vectors.tobytes() == vectors.tobytes()


def test_kept_walks_are_rows_of_the_embedding(tmp_path: Path) -> None:
    graph = load_graph(np.array([[0, 0], [1, 2], [2, 3], [3, 1], [4, 4], [5, 1]]))
    with pytest.warns(FedWalkWarning, match="2 isolated vertices take no part"):
        record = embed(graph, tmp_path, keep_walks=True)
    walks = np.load(tmp_path / "walks.npy")
    assert walks.shape == (3 * 4, 12) == (record["walks"]["count"], record["walks"]["length"])
    assert set(np.unique(walks)) == {1, 2, 3, 5}
    embedding = Embedding.load(tmp_path / "embedding.npz")
    assert not embedding[0].any()
    assert not embedding[4].any()
    assert all(embedding[name].any() for name in (1, 2, 3, 5))
    with np.load(tmp_path / "tree.npz") as arrays:
        assert arrays["nodes"].tolist() == [1, 2, 3, 5]


def test_a_folder_with_a_run_is_refused_and_unchanged(network: Graph, tmp_path: Path) -> None:
    embed(network, tmp_path)
    before = files(tmp_path)
    with pytest.raises(RunFolderError, match="already holds a run"):
        embed(network, tmp_path, settings={"seed": 9})
    assert files(tmp_path) == before


def test_force_replaces_the_run_and_keeps_other_files(network: Graph, tmp_path: Path) -> None:
    embed(network, tmp_path, keep_walks=True)
    (tmp_path / "notes.txt").write_text("mine")
    (tmp_path / "stages").mkdir()
    (tmp_path / "stages" / "notes.txt").write_text("mine too")
    record = embed(network, tmp_path, force=True, settings={"seed": 9})
    assert record["settings"]["seed"] == 9
    assert sorted(files(tmp_path)) == [
        "embedding.npz", "notes.txt", "run.json", "settings.toml", "stages/notes.txt", "tree.npz",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("graph", "settings", "error"),
    [
        ([[0, 0]], {}, InputError),
        ([[0, 0], [1, 1]], {}, InputError),
        ([[0, 1], [1, 2]], {"num_bins": 4}, SettingsError),
    ],
)
def test_bad_input_loses_nothing_even_with_force(
    graph: Any, settings: dict[str, Any], error: type[Exception], network: Graph, tmp_path: Path
) -> None:
    embed(network, tmp_path)
    before = files(tmp_path)
    with pytest.raises(error):
        embed(load_graph(graph), tmp_path, force=True, settings=settings)
    assert files(tmp_path) == before


def interrupted(graph: Graph, path: Path, stage: str) -> None:
    """Interrupt a run when a stage begins."""

    def interrupt(name: str, done: int, total: int) -> None:
        if name == stage:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        embed(graph, path, on_progress=interrupt)


@pytest.mark.parametrize("stage", NAMES)
def test_a_run_interrupted_at_any_stage_resumes_to_the_same_result(stage: str, network: Graph, tmp_path: Path) -> None:
    whole = embed(network, tmp_path / "whole", keep_walks=True)
    interrupted(network, tmp_path / "run", stage)
    kept = json.loads((tmp_path / "run" / "stages" / "manifest.json").read_text())["stages"]
    assert tuple(kept) == NAMES[: NAMES.index(stage)]
    record = embed(network, tmp_path / "run", resume=True, keep_walks=True)
    assert record["messages"] == whole["messages"]
    assert record["walks"] == whole["walks"]
    assert {name: record["seconds"][name] for name in kept} == {name: entry["seconds"] for name, entry in kept.items()}
    for name in ("embedding.npz", "tree.npz"):
        with np.load(tmp_path / "whole" / name) as ours, np.load(tmp_path / "run" / name) as theirs:
            assert all(ours[key].tobytes() == theirs[key].tobytes() for key in ours)
    assert (tmp_path / "whole" / "walks.npy").read_bytes() == (tmp_path / "run" / "walks.npy").read_bytes()
    assert sorted(files(tmp_path / "run")) == sorted(files(tmp_path / "whole"))


def test_resuming_with_something_else_is_refused_and_keeps_the_stages(network: Graph, tmp_path: Path) -> None:
    interrupted(network, tmp_path, "walks")
    before = files(tmp_path)
    with pytest.raises(RunFolderError, match="another graph"):
        embed(load_graph([[0, 1], [1, 2]]), tmp_path, resume=True, settings={"num_bins": 2})
    with pytest.raises(RunFolderError, match=r"began with epsilon = 2.0, now it is 3.0"):
        embed(network, tmp_path, resume=True, settings={"epsilon": 3})
    with pytest.raises(RunFolderError, match="already holds a run"):
        embed(network, tmp_path)
    assert files(tmp_path) == before


def test_resuming_may_use_other_threads(network: Graph, tmp_path: Path) -> None:
    interrupted(network, tmp_path, "walks")
    record = embed(network, tmp_path, resume=True, settings={"threads": 2})
    assert record["settings"]["threads"] == 2


def test_resuming_a_finished_run_returns_its_record_and_changes_nothing(network: Graph, tmp_path: Path) -> None:
    record = embed(network, tmp_path)
    before = files(tmp_path)
    assert embed(network, tmp_path, resume=True) == record
    assert files(tmp_path) == before


def test_resuming_a_finished_run_with_something_else_is_refused(network: Graph, tmp_path: Path) -> None:
    embed(network, tmp_path)
    with pytest.raises(RunFolderError, match=r"began with epsilon = 2.0, now it is 3.0"):
        embed(network, tmp_path, resume=True, settings={"epsilon": 3})
    with pytest.raises(RunFolderError, match="another graph"):
        embed(load_graph([[0, 1], [1, 2]]), tmp_path, resume=True, settings={"num_bins": 2})


def test_resuming_in_an_empty_folder_starts(network: Graph, tmp_path: Path) -> None:
    assert embed(network, tmp_path, resume=True)["walks"]["count"] == 180


def test_stages_of_a_finished_run_are_removed(network: Graph, tmp_path: Path) -> None:
    interrupted(network, tmp_path / "other", "skipgram")
    embed(network, tmp_path / "run")
    (tmp_path / "other" / "stages").rename(tmp_path / "run" / "stages")
    embed(network, tmp_path / "run", resume=True)
    assert not (tmp_path / "run" / "stages").exists()


@pytest.mark.parametrize("content", ["", "[]", "{}", "{"])
def test_a_damaged_record_is_named(content: str, network: Graph, tmp_path: Path) -> None:
    embed(network, tmp_path)
    (tmp_path / "run.json").write_text(content)
    with pytest.raises(RunFolderError, match=r"run.json"):
        embed(network, tmp_path, resume=True)
    (tmp_path / "run.json").unlink()
    with pytest.raises(RunFolderError, match="holds no finished run"):
        read_run(tmp_path)


def test_the_record_is_strict_json(network: Graph, tmp_path: Path) -> None:
    embed(network, tmp_path, settings={"walk_length": 1, "predict": 0})

    def refuse(constant: str) -> None:
        raise AssertionError(constant)

    record = json.loads((tmp_path / "run.json").read_text(encoding="utf-8"), parse_constant=refuse)
    assert math.isfinite(record["walks"]["hops_per_walk"])


def test_peak_memory_is_in_bytes() -> None:
    assert 10**7 < (peak_rss_bytes() or 10**8) < 10**12


CHILD = "from fedwalk.run.stages import peak_rss_bytes; print(peak_rss_bytes())"
PARENT = f"""
import subprocess, sys
held = b"x" * 1_000_000_000
subprocess.run([sys.executable, "-c", {CHILD!r}], check=True)
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="other systems have no mark of the process's own")
def test_peak_memory_isnt_that_of_the_parent_process() -> None:
    done = subprocess.run([sys.executable, "-c", PARENT], capture_output=True, text=True, check=True)
    assert 10**7 < int(done.stdout) < 5 * 10**8
