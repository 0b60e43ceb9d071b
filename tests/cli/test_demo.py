"""`fedwalk demo`: both protocols on a generated network, scored, with files for further commands."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from conftest import Command
from fedwalk.evaluation import Score, evaluate
from fedwalk.graph import load_graph, social_network

QUICK = ("--vertices", "100", "--num-walks", "2", "--threads", "1")


def test_the_demo_scores_both_protocols(fedwalk: Command, tmp_path: Path) -> None:
    outcome = fedwalk("demo", "-o", tmp_path, *QUICK, "--json")
    assert outcome.code == 0
    record = json.loads(outcome.out)
    assert set(record) == {"paper", "deepwalk"}
    for entry in record.values():
        assert 0 < entry["macro_f1"] <= entry["micro_f1"] <= 1
        assert entry["graph"]["vertices"] == 100
    for protocol in ("paper", "deepwalk"):
        assert (tmp_path / protocol / "embedding.npz").exists()


def test_the_demo_scores_with_its_threads_and_names_every_stage(
    fedwalk: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scored_with: list[object] = []

    def recorded(*given: Any, threads: int | None = None, **options: Any) -> list[Score]:
        scored_with.append(threads)
        return evaluate(*given, threads=threads, **options)

    monkeypatch.setattr("fedwalk.evaluation.evaluate", recorded)
    outcome = fedwalk("demo", "-o", tmp_path, *QUICK)
    assert scored_with == [1, 1]
    assert sum(line.startswith("  evaluate ") for line in outcome.err.splitlines()) == 2


def test_the_command_that_the_demo_suggests_works(fedwalk: Command, tmp_path: Path) -> None:
    outcome = fedwalk("demo", "-o", tmp_path, *QUICK)
    (line,) = (line for line in outcome.out.splitlines() if line.startswith("Next:"))
    suggested = line.removeprefix("Next:").split()
    assert suggested.pop(0) == "fedwalk"
    assert fedwalk(*suggested, "--splits", 1, "--train-ratio", "0.5").code == 0
    again = fedwalk("embed", "--config", tmp_path / "paper" / "settings.toml", "-o", tmp_path / "again")
    assert again.code == 0
    assert (tmp_path / "again" / "embedding.npz").read_bytes() == (tmp_path / "paper" / "embedding.npz").read_bytes()


def test_the_files_hold_the_network(fedwalk: Command, tmp_path: Path) -> None:
    fedwalk("demo", "-o", tmp_path, *QUICK, "--seed", 3)
    original = social_network(vertices=100, seed=3)
    loaded = load_graph(tmp_path / "graph.edges", labels=tmp_path / "labels.txt")
    loaded = loaded.arranged(original.names)
    assert loaded.fingerprint() == original.fingerprint()
    assert loaded.labels is not None
    assert original.labels is not None
    assert loaded.labels.names == tuple(sorted(original.labels.names))
    order = [original.labels.names.index(name) for name in loaded.labels.names]
    assert np.array_equal(loaded.labels.indicator.toarray(), original.labels.indicator.toarray()[:, order])


def test_the_demo_can_be_run_twice(fedwalk: Command, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    outputs = [json.loads(fedwalk("demo", "-o", tmp_path, *QUICK, "--json").out) for _ in range(2)]
    assert outputs[0]["paper"]["micro_f1"] == outputs[1]["paper"]["micro_f1"]
    assert (tmp_path / "notes.txt").read_text() == "mine"


def test_a_network_too_small_is_refused_with_the_demos_own_error(fedwalk: Command, tmp_path: Path) -> None:
    outcome = fedwalk("demo", "-o", tmp_path / "demo", "--vertices", 79)
    assert outcome.code == 2
    assert outcome.err == "fedwalk: error: vertices = 79: the demo's network needs at least 80.\n"
    assert not (tmp_path / "demo").exists()
    assert fedwalk("demo", "-o", tmp_path / "demo", *QUICK, "--seed", -1).code == 2
    assert fedwalk("demo", "-o", tmp_path / "demo", *QUICK, "--num-walks", 0).code == 2
