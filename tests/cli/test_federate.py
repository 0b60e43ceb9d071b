"""`fedwalk federate`: keys and admission, services that can be stopped whatever happened to their starter, the demo."""

import json
import os
import queue
import signal
import subprocess
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from commands import SOON, start_command
from conftest import Command
from fedwalk.federation.flower import flwr
from fedwalk.federation.folders import FederationFolder, HolderFolder, write_settings
from fedwalk.federation.identity import authority_fingerprint
from fedwalk.federation.processes import free_port, stop_tagged, tagged
from fedwalk.federation.registration import register_holders
from fedwalk.federation.service import read_tag


@pytest.fixture
def address() -> str:
    return f"127.0.0.1:{free_port()}"


@pytest.fixture
def federation(fedwalk: Command, tmp_path: Path, address: str) -> Path:
    path = tmp_path / "fed"
    assert fedwalk("federate", "init", path, "--address", address, "--listen", address).code == 0
    return path


@pytest.fixture
def holder(fedwalk: Command, tmp_path: Path) -> Path:
    lists = tmp_path / "lists.adj"
    lists.write_text("ada bob carol\ndan bob\n")
    path = tmp_path / "clinic"
    given = ("--name", "clinic", "--lists", lists, "--address", f"127.0.0.1:{free_port()}", "--budget", "8")
    found = fedwalk("federate", "enrol", path, *given)
    assert found.code == 0
    assert "2 devices" in found.out
    assert "ldp, at most epsilon 8 per edge over all runs" in found.out
    return path


def test_a_holder_is_admitted_by_its_request_and_takes_its_pass(
    fedwalk: Command, federation: Path, holder: Path
) -> None:
    found = fedwalk("federate", "admit", federation, holder / "request.json")
    assert found.code == 0
    assert "Admitted clinic with 2 devices" in found.out
    assert authority_fingerprint((federation / "authority.pem").read_bytes()) in found.out
    shown = json.loads(fedwalk("federate", "status", federation, "--json").out)
    assert shown["vertices"] == 2
    assert [(h["name"], h["devices"]) for h in shown["holders"]] == [("clinic", 2)]
    assert shown["running"] is False
    mine = fedwalk("federate", "status", holder)
    assert "the operator's pass is missing" in mine.out
    assert "nothing yet" in mine.out


def test_enrolling_again_changes_what_is_given_and_nothing_else(fedwalk: Command, holder: Path, tmp_path: Path) -> None:
    folder = HolderFolder(holder)
    terms = replace(folder.settings().terms, protocols=("ldp", "paper"), most_walks=5)
    edited = replace(folder.settings(), terms=terms, simulation_seed=3, listen="127.0.0.1:1234")
    write_settings(folder.settings_file, edited)
    with (tmp_path / "lists.adj").open("a") as lists:
        lists.write("eve bob\n")
    found = fedwalk("federate", "enrol", holder)
    assert found.code == 0
    assert "Holder clinic with 3 devices" in found.out
    assert "ldp and paper, at most epsilon 8 per edge over all runs, at most 5 walks per device" in found.out
    assert "the seed 3, which protects nothing" in found.out
    assert folder.settings() == edited
    given = ("--name", "clinic", "--address", "192.0.2.5:7000", "--budget", "4", "--allow", "ldp")
    assert "it listens on 127.0.0.1:1234" in fedwalk("federate", "enrol", holder, *given).out
    terms = replace(terms, protocols=("ldp",), budget=4.0)
    assert folder.settings() == replace(edited, address="192.0.2.5:7000", terms=terms)


def test_a_bound_port_that_was_the_addresss_follows_it(fedwalk: Command, holder: Path) -> None:
    assert fedwalk("federate", "enrol", holder, "--address", "192.0.2.5:7000").code == 0
    assert HolderFolder(holder).settings().listen == "0.0.0.0:7000"


def test_renewing_says_what_is_left_to_do(fedwalk: Command, federation: Path, address: str) -> None:
    found = fedwalk("federate", "renew", federation, "--days", "30")
    assert found.code == 0
    assert f"for {address}, until" in found.out
    assert f"fedwalk federate server {federation}" in found.out
    assert "admit" not in found.out
    moved = fedwalk("federate", "renew", federation, "--address", "192.0.2.9:9443")
    assert "it listens on 127.0.0.1:9443" in moved.out
    assert "every holder's request again" in moved.out


def test_nothing_private_is_in_the_request(holder: Path) -> None:
    text = (holder / "request.json").read_text()
    assert "ada" in text
    assert "bob" not in text
    assert "carol" not in text
    assert "PRIVATE" not in text
    assert (holder / "holder.key").stat().st_mode & 0o77 == 0
    assert (holder / "node.key").stat().st_mode & 0o77 == 0


def test_another_fingerprint_is_refused(fedwalk: Command, federation: Path, holder: Path) -> None:
    found = fedwalk("federate", "admit", federation, holder / "request.json", "--fingerprint", "0000 1111")
    assert found.code == 2
    assert "This isn't the request that you were told of" in found.err
    assert json.loads(fedwalk("federate", "status", federation, "--json").out)["holders"] == []


def test_mistakes_are_named(fedwalk: Command, federation: Path, holder: Path, tmp_path: Path, address: str) -> None:
    elsewhere, baseline = tmp_path / "elsewhere", tmp_path / "baseline.toml"
    baseline.write_text('protocol = "deepwalk"\n')
    for words, complaint in (
        (("server", elsewhere), "federation.toml: is not there"),
        (("holder", elsewhere), "holder.toml: is not there"),
        (("holder", holder), "authority.pem: is not there. It comes with the operator's pass"),
        (("status", elsewhere), "is neither a federation nor a holder"),
        (("down", elsewhere), "is neither a federation nor a holder"),
        (("init", federation, "--address", address), "is a federation already"),
        (("init", elsewhere, "--address", address, "--listen", "192.0.2.1:9"), "can't listen on 192.0.2.1:9 alone"),
        (("admit", federation, holder / "holder.toml"), "holder.toml"),
        (("remove", elsewhere, "clinic"), "federation.toml: is not there"),
        (("renew", elsewhere), "federation.toml: is not there"),
        (("enrol", elsewhere, "--name", "ward"), "is no holder yet. To make one, give --lists, --address too"),
        (("enrol", holder, "--name", "ward"), "is the holder 'clinic', which can't be renamed"),
        (("remove", federation, "nobody"), "No holder is called 'nobody'"),
        (("run", federation, "-o", elsewhere), "its server isn't running"),
        (("run", federation, "-o", elsewhere, "--config", baseline), "nobody holds the graph"),
        (("run", federation, "-o", elsewhere, "--protocol", "deepwalk"), "invalid choice: 'deepwalk'"),
        (("demo", "-o", tmp_path), "isn't an earlier demo's"),
    ):
        found = fedwalk("federate", *words)
        assert found.code == 2, words
        assert complaint in found.err, words
        assert "Traceback" not in found.err


@pytest.fixture
def processes(federation: Path, tmp_path: Path) -> Iterator[list[subprocess.Popen[str]]]:
    """What a test starts; ended whatever happens."""
    started: list[subprocess.Popen[str]] = []
    try:
        yield started
    finally:
        for process in started:
            process.kill()
            process.wait()
            if process.stdout:
                process.stdout.close()
        for state in (FederationFolder(federation).state, HolderFolder(tmp_path / "clinic").state):
            if tag := read_tag(state):
                stop_tagged(tag, grace=0)


def serve(federation: Path, processes: list[subprocess.Popen[str]]) -> tuple[subprocess.Popen[str], str]:
    """A server by the command, listening; and the tag of its processes."""
    server = start_command("federate", "server", federation)
    processes.append(server)
    assert server.stdout is not None
    assert "The server listens on" in server.stdout.readline()
    tag = read_tag(FederationFolder(federation).state)
    assert tag is not None
    assert tagged(tag)
    return server, tag


def test_a_server_stops_when_asked_and_leaves_nothing(
    fedwalk: Command, federation: Path, processes: list[subprocess.Popen[str]]
) -> None:
    server, tag = serve(federation, processes)
    again = fedwalk("federate", "server", federation)
    assert again.code == 2
    assert "runs already" in again.err
    server.send_signal(signal.SIGINT)
    out, _ = server.communicate(timeout=SOON)
    assert server.returncode == 0
    assert "Stopped; no process is left." in out
    assert tagged(tag) == []


def test_an_owner_hears_of_the_connection_and_of_every_question(
    fedwalk: Command, federation: Path, holder: Path, tmp_path: Path, processes: list[subprocess.Popen[str]]
) -> None:
    assert fedwalk("federate", "admit", federation, holder / "request.json").code == 0
    clinic = start_command("federate", "holder", holder, "--pass", federation / "passes" / "clinic.json")
    processes.append(clinic)
    lines = listen(clinic)
    hear(lines, "the server can't be reached yet")
    serve(federation, processes)
    hear(lines, "connected to the server")
    run = ("federate", "run", federation, "-o", tmp_path / "run", "--protocol", "ldp", "--epsilon", "5")
    found = fedwalk(*run)
    hear(lines, "not in the federation, and left out: 3 neighbours and 0 devices of the lists")
    hear(lines, "roll: answered")
    hear(lines, "lists: answered")
    assert found.code == 0, found.err
    found = fedwalk("federate", "run", federation, "-o", tmp_path / "dear", "--protocol", "ldp", "--epsilon", "6")
    assert found.code == 2
    hear(lines, "roll: refused: ")
    clinic.send_signal(signal.SIGINT)
    hear(lines, "Stopped; no process is left.")
    assert clinic.wait(SOON) == 0


def listen(process: subprocess.Popen[str]) -> "queue.Queue[str]":
    """What the process prints, line by line."""
    lines: queue.Queue[str] = queue.Queue()

    def pass_on() -> None:
        for line in process.stdout or ():
            lines.put(line)

    threading.Thread(target=pass_on, daemon=True).start()
    return lines


def hear(lines: "queue.Queue[str]", text: str) -> None:
    """Wait for a line with this text."""
    limit = time.monotonic() + 120
    while text not in lines.get(timeout=max(0.0, limit - time.monotonic())):
        pass


def test_down_ends_what_a_killed_command_left_behind(
    fedwalk: Command, federation: Path, processes: list[subprocess.Popen[str]]
) -> None:
    server, tag = serve(federation, processes)
    os.kill(server.pid, signal.SIGKILL)
    server.wait()
    assert tagged(tag)
    found = fedwalk("federate", "down", federation)
    assert found.code == 0
    assert "Ended" in found.out
    assert tagged(tag) == []
    assert "nothing was running" in fedwalk("federate", "down", federation).out


def test_a_running_server_keeps_a_holders_node_whatever_becomes_of_our_record(
    fedwalk: Command, federation: Path, holder: Path, processes: list[subprocess.Popen[str]]
) -> None:
    folder = FederationFolder(federation)
    admit = ("federate", "admit", federation, holder / "request.json")
    assert fedwalk(*admit).code == 0
    serve(federation, processes)
    nodes = json.loads(folder.nodes.read_text())
    assert list(nodes) == ["clinic"]
    assert fedwalk("federate", "remove", federation, "clinic").code == 0
    assert json.loads(folder.nodes.read_text()) == {}
    assert fedwalk(*admit).code == 0
    assert json.loads(folder.nodes.read_text()) == nodes
    folder.nodes.unlink()
    assert register_holders(folder) == nodes
    assert json.loads(folder.nodes.read_text()) == nodes


def test_a_holder_that_flower_turns_away_is_named_and_does_not_keep_others_out(
    fedwalk: Command, federation: Path, holder: Path, tmp_path: Path, processes: list[subprocess.Popen[str]]
) -> None:
    folder = FederationFolder(federation)
    fedwalk("federate", "admit", federation, holder / "request.json")
    serve(federation, processes)
    flwr(folder, "supernode", "unregister", str(json.loads(folder.nodes.read_text())["clinic"]))
    (tmp_path / "ward.adj").write_text("eve bob\n")
    given = ("--name", "ward", "--lists", tmp_path / "ward.adj", "--address", f"127.0.0.1:{free_port()}")
    assert fedwalk("federate", "enrol", tmp_path / "ward", *given).code == 0
    found = fedwalk("federate", "admit", federation, tmp_path / "ward" / "request.json")
    assert found.code == 2
    assert "Admitted ward" in found.out
    assert "didn't register clinic (" in found.err
    assert list(json.loads(folder.nodes.read_text())) == ["ward"]


def test_the_demo_goes_from_keys_to_vectors_and_leaves_no_process(fedwalk: Command, tmp_path: Path) -> None:
    path = tmp_path / "demo"
    found = fedwalk(
        "federate", "demo", "-o", path, "--holders", "2", "--vertices", "80", "--walks", "2", "--protocol", "ldp"
    )
    assert found.code == 0
    assert "2 of 2 to the end" in found.out
    assert "80 devices" in found.out
    assert "Privacy ledger" in found.out
    assert (path / "run" / "embedding.npz").exists()
    assert not list(path.glob("*/server.json"))
    assert not list(path.glob("*/holder.json"))
    shown = fedwalk("federate", "status", path / "holder-0")
    assert "epsilon 6 per edge, over all runs" in shown.out
