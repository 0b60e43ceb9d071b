"""`fedwalk federate`: keys and admission, services that can be stopped whatever happened to their starter, the demo."""

import json
import os
import pty
import queue
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from commands import SOON, start_command
from conftest import Command
from enrolling import authority_of, dated_pass, with_fingerprint
from fedwalk.federation.flower import flwr
from fedwalk.federation.folders import FederationFolder, HolderFolder, write_settings
from fedwalk.federation.identity import authority_fingerprint, read_request, server_certificate
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
    found = fedwalk("federate", "admit", federation, *with_fingerprint(holder / "request.json"))
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


def test_a_holder_of_ldp_alone_needs_no_address_until_it_allows_paper(
    fedwalk: Command, federation: Path, tmp_path: Path
) -> None:
    lists, path = tmp_path / "lists.adj", tmp_path / "clinic"
    lists.write_text("ada bob carol\ndan bob\n")
    found = fedwalk("federate", "enrol", path, "--name", "clinic", "--lists", lists)
    assert found.code == 0
    assert "It needs no open port." in found.out
    assert (HolderFolder(path).settings().address, HolderFolder(path).settings().listen) == ("", "")
    assert fedwalk("federate", "admit", federation, *with_fingerprint(path / "request.json")).code == 0
    assert "none: ldp alone" in fedwalk("federate", "status", federation).out
    assert "none: ldp alone" in fedwalk("federate", "status", path).out
    refused = fedwalk("federate", "enrol", path, "--allow", "paper")
    assert refused.code == 2
    assert "--address HOST:PORT" in refused.err
    assert fedwalk("federate", "enrol", path, "--allow", "paper", "--address", "192.0.2.5:7000").code == 0
    assert HolderFolder(path).settings().listen == "0.0.0.0:7000"


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


def test_a_new_authority_is_shown_with_what_is_left_to_do(fedwalk: Command, federation: Path, holder: Path) -> None:
    admit = ("federate", "admit", federation, *with_fingerprint(holder / "request.json"))
    assert fedwalk(*admit).code == 0
    found = fedwalk("federate", "renew", federation, "--authority")
    assert found.code == 0
    fingerprint = authority_fingerprint((federation / "authority.pem").read_bytes())
    assert f"Its fingerprint: {fingerprint}" in found.out
    assert "The old authority is trusted until" in found.out
    assert "send each its new pass" in found.out
    shown = fedwalk("federate", "status", federation).out
    assert fingerprint in shown
    assert "trusted, good for 30 days; passes by it: clinic" in " ".join(shown.split())
    assert fedwalk(*admit).code == 0
    assert "no pass is by it" in " ".join(fedwalk("federate", "status", federation).out.split())
    found = fedwalk("federate", "renew", federation, "--authority", "--overlap", "0")
    assert "move its authority.pem away" in found.out
    assert "not trusted; passes by it: clinic" in " ".join(fedwalk("federate", "status", federation).out.split())


def test_new_keys_of_a_holder_are_shown_with_what_is_left_to_do(
    fedwalk: Command, federation: Path, holder: Path
) -> None:
    assert fedwalk("federate", "admit", federation, *with_fingerprint(holder / "request.json")).code == 0
    found = fedwalk("federate", "renew", holder)
    assert found.code == 0
    request, _, fingerprint = with_fingerprint(holder / "request.json")
    assert f"Its fingerprint, to be read out by phone: {fingerprint}" in found.out
    assert f"fedwalk federate holder {holder} --pass FILE" in found.out
    assert "wait for the operator's pass" in fedwalk("federate", "status", holder).out
    assert fedwalk("federate", "admit", federation, request, "--fingerprint", fingerprint).code == 0


def test_keys_that_were_lost_are_replaced_by_the_operators_decision(
    fedwalk: Command, federation: Path, holder: Path
) -> None:
    assert fedwalk("federate", "admit", federation, *with_fingerprint(holder / "request.json")).code == 0
    (holder / "node.key").unlink()
    assert fedwalk("federate", "enrol", holder).code == 0
    admit = ("federate", "admit", federation, *with_fingerprint(holder / "request.json"))
    refused = fedwalk(*admit)
    assert refused.code == 2
    assert "--new-keys" in refused.err
    assert fedwalk(*admit, "--new-keys").code == 0


def test_what_has_ended_is_refused_with_the_way_out(fedwalk: Command, federation: Path, holder: Path) -> None:
    folder, begin = FederationFolder(federation), datetime.now(UTC) - timedelta(days=5)
    request = read_request((holder / "request.json").read_bytes())
    ended = dated_pass(folder, request, begin, days=2)
    found = fedwalk("federate", "holder", holder, "--pass", ended)
    assert found.code == 2
    assert "3 days ago. Ask the federation's operator for a new pass" in found.err
    made = server_certificate(authority_of(folder), ["127.0.0.1"], 2, begin)
    (federation / "server.pem").write_bytes(made.certificate)
    found = fedwalk("federate", "server", federation)
    assert found.code == 2
    assert f"3 days ago. Renew it: fedwalk federate renew {federation}" in found.err
    shown = " ".join(fedwalk("federate", "status", federation).out.split())
    assert "ended 3 days ago: every other party refuses it; renew it" in shown


def test_nothing_private_is_in_the_request(holder: Path) -> None:
    text = (holder / "request.json").read_text()
    assert "ada" in text
    assert "bob" not in text
    assert "carol" not in text
    assert "PRIVATE" not in text
    assert (holder / "holder.key").stat().st_mode & 0o77 == 0
    assert (holder / "node.key").stat().st_mode & 0o77 == 0


def test_another_fingerprint_is_refused_and_the_right_one_not_told(
    fedwalk: Command, federation: Path, holder: Path
) -> None:
    _, _, right = with_fingerprint(holder / "request.json")
    for wrong in ("0000 1111", "", str(right)[:-1], f"{right}0"):
        found = fedwalk("federate", "admit", federation, holder / "request.json", "--fingerprint", wrong)
        assert found.code == 2
        assert "This isn't the request that you were told of" in found.err
        assert str(right) not in found.out + found.err
    assert json.loads(fedwalk("federate", "status", federation, "--json").out)["holders"] == []


def test_without_a_terminal_the_fingerprint_must_be_given(fedwalk: Command, federation: Path, holder: Path) -> None:
    found = fedwalk("federate", "admit", federation, holder / "request.json")
    assert found.code == 2
    assert "there is no terminal to ask for it" in found.err
    assert "--fingerprint" in found.err
    assert json.loads(fedwalk("federate", "status", federation, "--json").out)["holders"] == []


def at_terminal(*words: object, typed: str) -> tuple[int, str, str]:
    """A command with a terminal as its input: its code, what it showed before a line was typed, and after."""
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "fedwalk", *map(str, words)]
    with subprocess.Popen(command, stdin=theirs, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as process:
        assert process.stdout is not None
        before = b""
        while not before.endswith(b"read to you: "):
            piece = process.stdout.read(1)
            assert piece, before
            before += piece
        os.write(ours, typed.encode() + b"\n")
        after = process.stdout.read()
    os.close(ours)
    os.close(theirs)
    return process.returncode, before.decode(), after.decode()


def test_at_a_terminal_the_fingerprint_is_asked_for_and_compared(federation: Path, holder: Path) -> None:
    admit = ("federate", "admit", federation, holder / "request.json")
    right = str(with_fingerprint(holder / "request.json")[2])
    code, before, after = at_terminal(*admit, typed="0000" + right[4:])
    assert code == 2
    assert "clinic, 2 devices, 127.0.0.1:" in before
    assert right not in before + after
    assert "has another fingerprint than the one given" in after
    code, before, after = at_terminal(*admit, typed=f" {right.upper().replace(' ', '  ')} ")
    assert code == 0
    assert right not in before
    assert "Admitted clinic with 2 devices" in after


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
        (("renew", elsewhere), "is neither a federation nor a holder"),
        (("renew", federation, "--overlap", "3"), "--overlap goes with --authority"),
        (("renew", federation, "--authority", "--address", address), "one after the other"),
        (("renew", federation, "--authority", "--overlap", "999"), "The overlap can't be 999 days"),
        (("renew", holder, "--days", "3"), "is a holder, for which `renew` makes new keys and takes no options"),
        (("holder", holder, "--older-pass"), "--older-pass goes with --pass FILE"),
        (("enrol", elsewhere, "--name", "ward"), "is no holder yet. To make one, give --lists too"),
        (("enrol", elsewhere, "--allow", "paper"), "give --name, --lists, --address too"),
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
    assert fedwalk("federate", "admit", federation, *with_fingerprint(holder / "request.json")).code == 0
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


def test_a_holder_connects_with_new_keys_and_then_by_either_authority(
    fedwalk: Command, federation: Path, holder: Path, tmp_path: Path, processes: list[subprocess.Popen[str]]
) -> None:
    passport = federation / "passes" / "clinic.json"

    def admit() -> None:
        assert fedwalk("federate", "admit", federation, *with_fingerprint(holder / "request.json")).code == 0

    def connects(*more: str) -> "queue.Queue[str]":
        command = [sys.executable, "-m", "fedwalk", "federate", "holder", str(holder), *more]
        processes.append(subprocess.Popen(command, stdout=subprocess.PIPE, text=True))
        lines = listen(processes[-1])
        hear(lines, "connected to the server")
        return lines

    def stop() -> None:
        assert fedwalk("federate", "down", holder).code == 0
        processes[-1].wait()

    admit()
    serve(federation, processes)
    connects("--pass", str(passport))
    assert fedwalk("federate", "renew", holder).code == 0
    admit()
    refused = fedwalk("federate", "holder", holder, "--pass", passport)
    assert refused.code == 2
    assert "runs already" in refused.err
    stop()
    connects("--pass", str(passport))
    stop()
    assert fedwalk("federate", "renew", federation, "--authority").code == 0
    assert fedwalk("federate", "down", federation).code == 0
    serve(federation, processes)
    connects()
    stop()
    admit()
    lines = connects("--pass", str(passport))
    run = ("federate", "run", federation, "-o", tmp_path / "run", "--protocol", "ldp", "--epsilon", "5")
    found = fedwalk(*run)
    assert found.code == 0, found.err
    hear(lines, "lists: answered")


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
    admit = ("federate", "admit", federation, *with_fingerprint(holder / "request.json"))
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
    fedwalk("federate", "admit", federation, *with_fingerprint(holder / "request.json"))
    serve(federation, processes)
    flwr(folder, "supernode", "unregister", str(json.loads(folder.nodes.read_text())["clinic"]))
    (tmp_path / "ward.adj").write_text("eve bob\n")
    given = ("--name", "ward", "--lists", tmp_path / "ward.adj", "--address", f"127.0.0.1:{free_port()}")
    assert fedwalk("federate", "enrol", tmp_path / "ward", *given).code == 0
    found = fedwalk("federate", "admit", federation, *with_fingerprint(tmp_path / "ward" / "request.json"))
    assert found.code == 2
    assert "Admitted ward" in found.out
    assert "didn't register clinic (" in found.err
    assert list(json.loads(folder.nodes.read_text())) == ["ward"]
    shown = json.loads(fedwalk("federate", "status", federation, "--json").out)
    assert [(one["name"], one["state"]) for one in shown["holders"]] == [
        ("clinic", "not registered"),
        ("ward", "registered"),
    ]


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
