"""A protocol of another package: installed by pip, then used through every command and in Python.

`examples/sampled_protocol` is built and installed into a folder of its own, as a user's package would be; fedwalk finds
it there through the entry point group `fedwalk.protocols`.
"""

import importlib.util
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fedwalk.embedding import Embedding
from fedwalk.graph import social_network
from fedwalk.graph.save import save_edge_list
from fedwalk.privacy.randomness import SimulatedRandomness
from helpers.commands import SOON, start_command

SOURCE = Path(__file__).parents[2] / "examples" / "sampled_protocol"
SMALL = ("--num-walks", "3", "--walk-length", "12", "--dim", "8", "--threads", "1", "--seed", "5")
SAMPLED = ("--protocol", "sampled", "--keep", "0.7")


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder into which pip installed the package, offline and without its dependencies."""
    target = tmp_path_factory.mktemp("installed")
    options = ["--quiet", "--no-index", "--no-deps", "--no-build-isolation", "--disable-pip-version-check"]
    subprocess.run(
        [sys.executable, "-m", "pip", "install", *options, "--target", str(target), str(SOURCE)],
        check=True,
        timeout=200,
    )
    return target


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("graph") / "graph.edges"
    save_edge_list(social_network(vertices=80, mean_degree=8, communities=3, seed=2), path)
    return path


def fedwalk(installed: Path | None, *arguments: object) -> subprocess.CompletedProcess[str]:
    """The command in a process of its own, with the package on its path or without it."""
    environment = {**os.environ, "PYTHONPATH": str(installed)} if installed else None
    command = [sys.executable, "-m", "fedwalk", *map(str, arguments)]
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=200, check=False)


@pytest.fixture(scope="module")
def run(installed: Path, graph: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished run of the protocol, audited."""
    path = tmp_path_factory.mktemp("runs") / "run"
    ledger = ("--ledger", path.with_name("ledger.json"))
    done = fedwalk(installed, "embed", graph, "-o", path, *SMALL, *SAMPLED, *ledger)
    assert done.returncode == 0, done.stderr
    path.with_name("printed").write_text(done.stdout, encoding="utf-8")
    done = fedwalk(installed, "audit", path, "--canaries", "100")
    assert done.returncode == 0, done.stderr
    return path


def record_of(run: Path) -> dict[str, Any]:
    record: dict[str, Any] = json.loads((run / "run.json").read_text(encoding="utf-8"))
    return record


def test_embed_writes_its_stages_messages_settings_and_ledger(run: Path) -> None:
    record = record_of(run)
    assert record["protocol"] == "sampled"
    assert record["settings"]["keep"] == 0.7
    assert [stage for stage in record["seconds"] if stage not in ("load", "total")] == ["samples", "walks", "skipgram"]
    assert record["messages"]["samples"]["count"] == 80
    assert record["messages"]["samples"]["observers"] == ["server"]
    assert record["ledger"]["per_edge"] == "unbounded"
    assert "exact degree" in record["privacy"]
    assert record["details"]["sent_ids"] == 2 * record["graph"]["edges"]
    assert "keep = 0.7" in (run / "settings.toml").read_text(encoding="utf-8")
    assert Embedding.load(run / "embedding.npz").vectors.shape == (80, 8)


def test_the_written_settings_reproduce_the_run_for_which_nothing_is_added(installed: Path, run: Path) -> None:
    ledger, again = run.with_name("ledger.json"), run.with_name("again")
    done = fedwalk(installed, "embed", "--config", run / "settings.toml", "-o", again, "--ledger", ledger)
    assert done.returncode == 0, done.stderr
    first, second = (Embedding.load(path / "embedding.npz").vectors for path in (run, again))
    assert first.tobytes() == second.tobytes()
    (name,) = json.loads(ledger.read_text(encoding="utf-8"))["releases"]
    assert name.startswith("sampled ")


def test_the_command_shows_its_ledger_and_its_own_facts(run: Path) -> None:
    printed = run.with_name("printed").read_text(encoding="utf-8")
    assert "sample of the neighbour list" in printed
    assert "named pairs" in printed


def test_no_budget_allows_a_release_without_a_bound(installed: Path, graph: Path, tmp_path: Path) -> None:
    done = fedwalk(installed, "embed", graph, "-o", tmp_path / "run", *SMALL, *SAMPLED, "--budget", "5")
    assert done.returncode == 2
    assert "the privacy loss of protocol sampled is unbounded" in done.stderr
    assert not (tmp_path / "run").exists()


def test_its_settings_are_checked_and_shown_by_help(installed: Path, graph: Path, tmp_path: Path) -> None:
    done = fedwalk(installed, "embed", graph, "-o", tmp_path / "run", "--protocol", "sampled", "--keep", "1.5")
    assert (done.returncode, "keep = 1.5: must be a probability" in done.stderr) == (2, True)
    done = fedwalk(installed, "embed", graph, "-o", tmp_path / "run", "--protocol", "paper", "--keep", "0.5")
    assert (done.returncode, "there is no setting 'keep'" in done.stderr) == (2, True)
    shown = fedwalk(installed, "embed", "--help").stdout
    assert "--keep" in shown
    assert "sampled" in shown


def test_an_interrupted_run_is_resumed(installed: Path, graph: Path, tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setenv("PYTHONPATH", str(installed))
    run = tmp_path / "run"
    slow = ("--num-walks", "8", "--dim", "256", "--window", "20", "--negative", "20", "--threads", "1", *SAMPLED)
    process = start_command("embed", graph, "-o", run, *slow)
    manifest, end = run / "stages" / "manifest.json", time.monotonic() + SOON
    while not (manifest.exists() and "walks" in json.loads(manifest.read_text())["stages"]):
        assert process.poll() is None, "the run ended before it could be interrupted"
        assert time.monotonic() < end
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=SOON)
    assert not (run / "run.json").exists()
    done = fedwalk(installed, "embed", graph, "-o", run, *slow, "--resume")
    assert done.returncode == 0, done.stderr
    whole = fedwalk(installed, "embed", graph, "-o", tmp_path / "whole", *slow)
    assert whole.returncode == 0
    resumed, at_once = (Embedding.load(path / "embedding.npz").vectors for path in (run, tmp_path / "whole"))
    assert resumed.tobytes() == at_once.tobytes()


def test_another_share_is_another_run(installed: Path, run: Path, graph: Path) -> None:
    done = fedwalk(installed, "embed", graph, "-o", run, *SMALL, "--protocol", "sampled", "--keep", "0.6", "--resume")
    assert done.returncode == 2
    assert "the run began with keep = 0.7, now it is 0.6" in done.stderr


def test_audit_runs_its_attack(run: Path) -> None:
    audit = json.loads((run / "audit.json").read_text(encoding="utf-8"))
    named, links = audit["findings"]
    assert (named["attack"], named["observer"], named["sees"]) == ("named pairs", "server", ["sample plan", "samples"])
    assert named["success"]["recall"] > 0.8 > named["baseline"]["recall"]
    assert links["attack"] == "close vectors"
    assert audit["settings"]["keep"] == 0.7


def test_report_shows_its_title_settings_messages_and_privacy(installed: Path, run: Path) -> None:
    done = fedwalk(installed, "report", run, "--layout", "pca", "--no-evaluate")
    assert done.returncode == 0, done.stderr
    page = (run / "report.html").read_text(encoding="utf-8")
    for text in (
        "Protocol sampled, an example",
        "keep",
        "sample plan",
        "Every exact degree, to the server",
        "named pairs",
    ):
        assert text in page


def test_report_of_a_protocol_that_is_not_installed_says_what_the_run_recorded(run: Path, tmp_path: Path) -> None:
    done = fedwalk(None, "report", run, "--layout", "pca", "--no-evaluate", "-o", tmp_path / "page.html")
    assert done.returncode == 0, done.stderr
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "Protocol sampled" in page
    assert "each device sends its exact degree" in page


def test_without_the_package_the_protocol_is_unknown(graph: Path, tmp_path: Path) -> None:
    done = fedwalk(None, "embed", graph, "-o", tmp_path / "run", "--protocol", "sampled")
    assert done.returncode == 2
    assert "sampled" in done.stderr


PROGRAM = """
import fedwalk
own = {{"keep": 0.7}}
model = fedwalk.FedWalk(protocol="sampled", options=own, num_walks=3, walk_length=12, dim=8, threads=1, seed=5)
embedding = model.fit_transform({graph!r})
print(embedding.vectors.shape, model.ledger_.per_edge, model.transcript_.traffic["samples"].count)
print(fedwalk.Settings(protocol="sampled", own=(("keep", 0.2),)).value("keep"))
"""


def test_it_works_in_python(installed: Path, graph: Path) -> None:
    program = PROGRAM.format(graph=str(graph))
    environment = {**os.environ, "PYTHONPATH": str(installed)}
    done = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True, timeout=200, check=False
    )
    assert (done.stderr, done.stdout) == ("", "(80, 8) inf 80\n0.2\n")


def test_a_package_that_can_not_be_imported_is_named(graph: Path, tmp_path: Path) -> None:
    info = tmp_path / "broken-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: broken\nVersion: 1.0\n", encoding="utf-8")
    (info / "entry_points.txt").write_text("[fedwalk.protocols]\nbroken = no_such_module:PROTOCOL\n", encoding="utf-8")
    assert "broken" in fedwalk(tmp_path, "embed", "--help").stdout
    done = fedwalk(tmp_path, "embed", graph, "-o", tmp_path / "other", "--protocol", "broken")
    assert done.returncode == 2
    assert "no_such_module:PROTOCOL can't be imported" in done.stderr
    assert "package broken" in done.stderr


def test_a_sample_keeps_the_degree_and_its_order_tells_nothing() -> None:
    spec = importlib.util.spec_from_file_location("fedwalk_sampled", SOURCE / "fedwalk_sampled.py")
    assert spec is not None
    assert spec.loader is not None
    example = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(example)
    neighbours, randomness = np.arange(0, 400, 2, dtype=np.int32), SimulatedRandomness(1)
    for keep, share in ((0.0, 0.5), (0.5, 0.75), (1.0, 1.0)):
        ids = example.draw_sample(example.SamplePlan(400, keep), 1, neighbours, randomness).ids
        assert ids.size == neighbours.size
        assert (np.diff(ids) >= 0).all()
        # A random id is even in half of the cases: five standard deviations of 200 draws are 0.18.
        assert abs(np.mean(ids % 2 == 0) - share) < 0.18
