"""Holders and the server are killed in every phase: the run ends with the other devices, nothing is drawn twice."""

import json
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fedwalk import social_network
from fedwalk.embedding import Embedding
from fedwalk.federation.deploy.flower_commands import FlowerError
from fedwalk.federation.deploy.follow_run import RunError
from fedwalk.federation.membership.keys import new_node_key, write_secret
from fedwalk.federation.membership.roster import Roster
from fedwalk.federation.server.execute import EVENTS
from fedwalk.graph import Graph
from fedwalk.run.folder import write_text
from fedwalk.settings import Settings
from helpers.commands import SOON, start_command, wait_until
from helpers.flower_federation import CONNECTED, UNHURRIED, Running, once, running

pytestmark = pytest.mark.slow
CHOSEN: dict[str, Any] = {"num_walks": 4, "walk_length": 20, "dim": 16, "threads": 1}
LONG_WALKS = 150
"""Walks per device: enough that a process can be killed in the middle of them."""
ENDED = "the (server|run's process) has ended"
"""The processes are killed one after the other, and either may be noticed first."""


@pytest.fixture(scope="module")
def graph() -> Graph:
    return social_network(vertices=80, mean_degree=8, communities=3, seed=1)


@pytest.fixture(scope="module")
def up(graph: Graph, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """Four holders that draw from the operating system."""
    with running(tmp_path_factory.mktemp("deployed") / "federation", graph) as federation:
        yield federation


def embedded(run: Path) -> list[str]:
    return [str(node) for node in Embedding.load(run / "embedding.npz").nodes]


def devices_of(up: Running, *holders: str) -> list[str]:
    roster = Roster.load(up.federation.server.roster)
    living = {vertex for name in holders for vertex in roster.holder(name).devices}
    return [name for vertex, name in enumerate(roster.names) if vertex in living]


def when(condition: Callable[[], bool], act: Callable[[], None]) -> Callable[[], None]:
    """Starts a thread that acts as soon as the condition holds."""

    def wait() -> None:
        while not condition():
            time.sleep(0.02)
        act()

    return threading.Thread(target=wait, daemon=True).start


def test_holders_killed_before_during_and_after_the_walks_cost_their_own_devices_alone(
    up: Running, tmp_path: Path
) -> None:
    """One run, three deaths: holder-3 before the walks, holder-2 in the middle of them, holder-1 after them."""
    progress = up.folder("holder-2").progress

    def walking() -> bool:
        return progress.exists() and json.loads(progress.read_bytes())["handed"] > 0

    acts = [
        once("matrices", lambda: up.kill("holder-3")),
        once("walks", when(walking, lambda: up.kill("holder-2"))),
        once("skipgram", lambda: up.kill("holder-1")),
    ]

    def watch(stage: str, done: int, total: int) -> None:
        for act in acts:
            act(stage, done, total)

    record = up.run(Settings(**{**CHOSEN, "num_walks": LONG_WALKS}), tmp_path / "run", watch, patience=40.0)
    up.bring_back("holder-1", "holder-2", "holder-3")
    federation, walks = record["federation"], record["federation"]["walks"]
    assert json.loads((tmp_path / "run" / "run.json").read_text())["federation"] == federation
    assert {name: reason.split(":")[0] for name, reason in federation["lost"].items()} == {
        "holder-3": "matrices", "holder-2": "walks",
    }  # fmt: skip
    assert embedded(tmp_path / "run") == devices_of(up, "holder-0", "holder-1")
    assert federation["embedded"] == 40
    assert record["simulation"] is False
    assert federation["simulated"] == []
    # Of the three holders that were left, walks were asked for, and those lost with holder-2 once more.
    assert walks["asked"] == 60 * LONG_WALKS == walks["finished"] + walks["lost"]
    assert walks["started"] == walks["asked"] + walks["reissued"]
    assert walks["reissued"] > 0
    # What stays lost started at holder-2's devices, or came to a device whose neighbours are all gone.
    assert walks["lost"] <= 20 * LONG_WALKS + walks["stranded"]
    sequences = np.load(tmp_path / "run" / "walks.npy")
    assert len(sequences) == walks["finished"]
    assert sequences.min() >= 0
    assert sequences.max() < 60


def test_a_server_killed_in_the_walks_goes_on_from_there_and_nothing_is_drawn_again(
    up: Running, tmp_path: Path
) -> None:
    def answers() -> dict[str, bytes]:
        """Every answer that the holders keep."""
        files = (up.federation.server.path.parent).glob("holder-*/answers/runs/*/*.npz")
        return {str(path): path.read_bytes() for path in files}

    known = set(answers())
    with pytest.raises(RunError, match=ENDED):
        up.run(Settings(**CHOSEN), tmp_path / "run", once("walks", lambda: up.kill("server")), patience=UNHURRIED)
    drawn = {path: content for path, content in answers().items() if path not in known and "vectors-" in path}
    stage = tmp_path / "run" / "stages" / "vectors.npy"
    vectors = stage.read_bytes()
    up.start_server()
    record = up.run(Settings(**CHOSEN), tmp_path / "run", resume=True, patience=UNHURRIED)
    after = answers()
    assert len(drawn) == 4
    assert {path: after[path] for path in after if path not in known and "vectors-" in path} == drawn
    assert vectors[-16:] in b"".join(drawn.values())
    assert record["federation"]["lost"] == {}
    assert record["federation"]["walks"]["finished"] == 4 * 80
    assert record["messages"]["vectors"]["count"] == 80
    assert record["messages"]["sequences"]["count"] == 4 * 80


def test_a_server_killed_while_reports_are_on_their_way_causes_no_second_answer(up: Running, tmp_path: Path) -> None:
    chosen = Settings(**{**CHOSEN, "protocol": "ldp", "epsilon": 5.0})

    def kept() -> dict[str, Any]:
        return {holder.path.name: _devices(holder.answer_store / "devices.json") for holder in up.federation.holders}

    def answered() -> bool:
        return sum(bool(device["reports"]) for holder in kept().values() for device in holder.values()) == 80

    killing = once("collected_reports", when(answered, lambda: up.kill("server")))
    with pytest.raises(RunError, match=ENDED):
        up.run(chosen, tmp_path / "run", killing, patience=UNHURRIED)
    before = kept()
    up.start_server()
    said = interrupt_once("collected_reports", chosen, up.federation.server.path, tmp_path / "run")
    assert "The server has stopped the run. Finished phases are kept" in said
    record = up.run(chosen, tmp_path / "run", resume=True, patience=UNHURRIED)
    assert record["federation"]["embedded"] == 80
    assert kept() == before
    for holder in before.values():
        for device in holder.values():
            assert [entry for entry in device["ledger"]["releases"] if entry != "paper"] == list(device["reports"])
            assert len(device["reports"]) == 1


def interrupt_once(stage: str, settings: Settings, server: Path, run: Path) -> str:
    """Resume a run by the command and send SIGINT when it has reached this stage; returns what it prints."""
    config, events = run.with_suffix(".toml"), run / EVENTS
    write_text(config, settings.to_toml())
    given = [str(server), "-o", str(run), "--config", str(config), "--resume", "--patience", f"{UNHURRIED:g}"]
    with start_command("federate", "run", *given, stderr=subprocess.PIPE) as process:
        try:
            wait_until(lambda: events.exists() and f'"stage": "{stage}"' in events.read_text(), process)
            process.send_signal(signal.SIGINT)
            _, said = process.communicate(timeout=SOON)
        finally:
            process.kill()
    assert process.returncode == 130
    return said


def _devices(path: Path) -> dict[str, Any]:
    states: dict[str, Any] = json.loads(path.read_text())["devices"]
    return states


def test_an_app_that_is_not_our_own_is_not_started(up: Running, tmp_path: Path) -> None:
    spy = "\nopen('stolen', 'w').write('the neighbour lists')\n"
    client = up.federation.server.app / "fedwalk_app" / "client.py"
    honest = client.read_text()
    client.write_text(honest + spy)
    try:
        with pytest.raises(FlowerError, match="isn't this fedwalk's own"):
            up.run(Settings(**CHOSEN), tmp_path / "run", patience=10.0)
    finally:
        client.write_text(honest)
    for holder in up.federation.holders:
        assert all(spy not in path.read_text() for path in holder.flower.rglob("*.py"))
    assert not Path("stolen").exists()


def test_a_holder_with_an_unregistered_key_is_refused(up: Running, tmp_path: Path) -> None:
    folder = up.folder("holder-0")
    up.kill("holder-0")
    key = (folder.path / "node.key").read_bytes()
    write_secret(folder.path / "node.key", new_node_key(), replace=True)
    folder.log.unlink()
    up.start_holder("holder-0")
    try:
        record = up.run(Settings(**{**CHOSEN, "protocol": "ldp", "epsilon": 5.0}), tmp_path / "run", patience=30.0)
    finally:
        up.kill("holder-0")
        write_secret(folder.path / "node.key", key, replace=True)
    assert list(record["federation"]["lost"]) == ["holder-0"]
    assert record["federation"]["lost"]["holder-0"].startswith("roll: ")
    assert embedded(tmp_path / "run") == devices_of(up, "holder-1", "holder-2", "holder-3")
    assert CONNECTED not in folder.log.read_text()
    assert "hasn't accepted this holder" in folder.log.read_text()
