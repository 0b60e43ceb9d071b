"""`fedwalk federate`: keys and admission; services, which can be stopped even if their starter was killed; the demo."""

import json
import os
import pty
import queue
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from conftest import SETTINGS, Command
from fedwalk.cli import build_parser
from fedwalk.cli.federate.run import chosen_settings, federation_facts, show
from fedwalk.federation.deploy.flower_commands import flwr
from fedwalk.federation.deploy.ports import free_port
from fedwalk.federation.deploy.processes import stop_tagged, tagged
from fedwalk.federation.deploy.registration import register_holders
from fedwalk.federation.deploy.services import read_tag
from fedwalk.federation.deploy.status import terms_text
from fedwalk.federation.holder.terms import Terms
from fedwalk.federation.membership.folders import FederationFolder, HolderFolder, write_settings
from fedwalk.federation.membership.keys import authority_fingerprint, certificate_end, server_certificate
from fedwalk.federation.membership.requests import read_request
from fedwalk.federation.server.statistics import FederationFacts, RunStatistics, WalkCount
from fedwalk.graph import Graph
from fedwalk.run.execute import embed_to_folder
from fedwalk.settings import Settings
from helpers.commands import SOON, start_command
from helpers.enrolment import authority_of, dated_pass, with_fingerprint


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
    neighbours = tmp_path / "neighbours.adj"
    neighbours.write_text("ada bob carol\ndan bob\n")
    path = tmp_path / "clinic"
    given = ("--name", "clinic", "--neighbours", neighbours, "--address", f"127.0.0.1:{free_port()}", "--budget", "8")
    result = fedwalk("federate", "enrol", path, *given)
    assert result.code == 0
    assert "2 devices" in result.out
    assert "ldp, at most epsilon 8 per edge over all runs" in result.out
    return path


def test_a_holder_is_admitted_by_its_request_and_takes_its_pass(
    fedwalk: Command, federation: Path, holder: Path
) -> None:
    result = fedwalk("federate", "admit", federation, *with_fingerprint(holder / "request.json"))
    assert result.code == 0
    assert "Admitted clinic with 2 devices" in result.out
    assert authority_fingerprint((federation / "authority.pem").read_bytes()) in result.out
    shown = json.loads(fedwalk("federate", "status", federation, "--json").out)
    assert shown["vertices"] == 2
    assert [(h["name"], h["devices"]) for h in shown["holders"]] == [("clinic", 2)]
    assert shown["running"] is False
    mine = fedwalk("federate", "status", holder)
    assert "the operator's pass is missing" in mine.out
    assert "nothing yet" in mine.out


def test_enrolling_again_changes_only_the_options_that_are_given(
    fedwalk: Command, holder: Path, tmp_path: Path
) -> None:
    folder = HolderFolder(holder)
    terms = replace(folder.settings().terms, protocols=("ldp", "paper"), max_walks=5)
    edited = replace(folder.settings(), terms=terms, simulation_seed=3, listen="127.0.0.1:1234")
    write_settings(folder.settings_file, edited)
    with (tmp_path / "neighbours.adj").open("a") as neighbours:
        neighbours.write("eve bob\n")
    result = fedwalk("federate", "enrol", holder)
    assert result.code == 0
    assert "Holder clinic with 3 devices" in result.out
    assert "ldp and paper, at most epsilon 8 per edge over all runs, at most 5 walks per device" in result.out
    assert "the seed 3, which protects nothing" in result.out
    assert folder.settings() == edited
    given = ("--name", "clinic", "--address", "192.0.2.5:7000", "--budget", "4", "--allow", "ldp")
    assert "it listens on 127.0.0.1:1234" in fedwalk("federate", "enrol", holder, *given).out
    terms = replace(terms, protocols=("ldp",), budget=4.0)
    assert folder.settings() == replace(edited, address="192.0.2.5:7000", terms=terms)


def test_a_holder_of_ldp_alone_needs_no_address_until_it_allows_paper(
    fedwalk: Command, federation: Path, tmp_path: Path
) -> None:
    neighbours, path = tmp_path / "neighbours.adj", tmp_path / "clinic"
    neighbours.write_text("ada bob carol\ndan bob\n")
    result = fedwalk("federate", "enrol", path, "--name", "clinic", "--neighbours", neighbours)
    assert result.code == 0
    assert "It needs no open port." in result.out
    assert (HolderFolder(path).settings().address, HolderFolder(path).settings().listen) == ("", "")
    assert fedwalk("federate", "admit", federation, *with_fingerprint(path / "request.json")).code == 0
    assert "none: ldp only" in fedwalk("federate", "status", federation).out
    assert "none: ldp only" in fedwalk("federate", "status", path).out
    refused = fedwalk("federate", "enrol", path, "--allow", "paper")
    assert refused.code == 2
    assert "--address HOST:PORT" in refused.err
    assert fedwalk("federate", "enrol", path, "--allow", "paper", "--address", "192.0.2.5:7000").code == 0
    assert HolderFolder(path).settings().listen == "0.0.0.0:7000"


def test_a_listening_port_taken_from_the_address_changes_with_the_address(fedwalk: Command, holder: Path) -> None:
    assert fedwalk("federate", "enrol", holder, "--address", "192.0.2.5:7000").code == 0
    assert HolderFolder(holder).settings().listen == "0.0.0.0:7000"


def test_renewing_says_what_is_left_to_do(fedwalk: Command, federation: Path, address: str) -> None:
    result = fedwalk("federate", "renew", federation, "--days", "30")
    assert result.code == 0
    assert f"for {address}, until" in result.out
    assert f"fedwalk federate server {federation}" in result.out
    assert "admit" not in result.out
    moved = fedwalk("federate", "renew", federation, "--address", "192.0.2.9:9443")
    assert "it listens on 127.0.0.1:9443" in moved.out
    assert "every holder's request again" in moved.out


def test_a_new_authority_is_shown_with_what_is_left_to_do(fedwalk: Command, federation: Path, holder: Path) -> None:
    admit = ("federate", "admit", federation, *with_fingerprint(holder / "request.json"))
    assert fedwalk(*admit).code == 0
    result = fedwalk("federate", "renew", federation, "--authority")
    assert result.code == 0
    fingerprint = authority_fingerprint((federation / "authority.pem").read_bytes())
    assert f"Its fingerprint: {fingerprint}" in result.out
    assert "The old authority is trusted until" in result.out
    assert "send each its new pass" in result.out
    shown = fedwalk("federate", "status", federation).out
    assert fingerprint in shown
    assert "trusted, valid for 30 days; passes signed by it: clinic" in " ".join(shown.split())
    assert fedwalk(*admit).code == 0
    assert "no pass signed by it" in " ".join(fedwalk("federate", "status", federation).out.split())
    result = fedwalk("federate", "renew", federation, "--authority", "--overlap", "0")
    assert "move its authority.pem away" in result.out
    assert "not trusted; passes signed by it: clinic" in " ".join(fedwalk("federate", "status", federation).out.split())


def test_new_keys_of_a_holder_are_shown_with_what_is_left_to_do(
    fedwalk: Command, federation: Path, holder: Path
) -> None:
    assert fedwalk("federate", "admit", federation, *with_fingerprint(holder / "request.json")).code == 0
    result = fedwalk("federate", "renew", holder)
    assert result.code == 0
    request, _, fingerprint = with_fingerprint(holder / "request.json")
    assert f"Its fingerprint, to be read out by phone: {fingerprint}" in result.out
    assert f"fedwalk federate holder {holder} --pass FILE" in result.out
    assert "come into use with the operator's next pass" in fedwalk("federate", "status", holder).out
    assert fedwalk("federate", "admit", federation, request, "--fingerprint", fingerprint).code == 0


def test_keys_that_were_lost_are_replaced_only_with_the_operators_consent(
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


def test_expired_certificates_are_refused_with_what_to_do(fedwalk: Command, federation: Path, holder: Path) -> None:
    folder, begin = FederationFolder(federation), datetime.now(UTC) - timedelta(days=5)
    request = read_request((holder / "request.json").read_bytes())
    expired = dated_pass(folder, request, begin, days=2)
    result = fedwalk("federate", "holder", holder, "--pass", expired)
    assert result.code == 2
    assert "3 days ago. Ask the federation's operator for a new pass" in result.err
    made = server_certificate(authority_of(folder), ["127.0.0.1"], 2, begin)
    (federation / "server.pem").write_bytes(made.certificate)
    result = fedwalk("federate", "server", federation)
    assert result.code == 2
    assert f"3 days ago. Renew it: fedwalk federate renew {federation}" in result.err
    shown = " ".join(fedwalk("federate", "status", federation).out.split())
    assert "expired 3 days ago: every other party refuses it; renew it" in shown


def test_admission_shows_the_certificates_end_which_the_authoritys_end_limits(
    fedwalk: Command, federation: Path, holder: Path
) -> None:
    request, end = (
        with_fingerprint(holder / "request.json"),
        certificate_end((federation / "authority.pem").read_bytes()),
    )
    admitted = fedwalk("federate", "admit", federation, *request, "--days", "36500")
    assert f"Admitted clinic with 2 devices, until {end:%Y-%m-%d}." in admitted.out


def test_counts_of_holders_are_in_the_singular_for_one() -> None:
    statistics = RunStatistics("run", {"ann": 1}, interrupted=Counter(ann=1), unreachable=Counter(bob=1))
    facts = dict(federation_facts(FederationFacts(1, statistics), 0))
    assert facts["interrupted"] == "ann, 1 time: it returned, and its walks were reissued"
    assert facts["unreachable"] == "bob, for 1 other holder: check its port and its address"


def test_counts_of_walks_and_devices_are_in_the_singular_for_one() -> None:
    walks = WalkCount(asked=1, started=1, finished=1, lost=0, reissued=0)
    facts = dict(federation_facts(FederationFacts(1, RunStatistics("run", {"ann": 1}, walks=walks)), 0))
    assert facts["embedded"] == "1 device"
    assert facts["finished"] == "1 of 1 walk, 0 lost"
    assert terms_text(Terms(("ldp",), None, 1)) == "ldp, at most 1 walk per device"


def test_a_lost_holder_is_noted_in_the_singular(
    network: Graph, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    simulated = embed_to_folder(network, Settings(**{**SETTINGS, "walk_length": 1, "predict": 0}), tmp_path / "run")
    statistics = RunStatistics("run", {"ann": 1}, lost={"ann": "walks: no answer"})
    record = replace(simulated, graph=replace(simulated.graph, vertices=1, edges=None))
    show(replace(record, federation=FederationFacts(1, statistics).as_dict()), tmp_path / "run", as_json=False)
    printed = capsys.readouterr()
    assert "1 of 1 holder lost; 1 of 1 device embedded." in printed.err
    assert " 180 of 1 entry" in printed.out


def test_reissued_walks_are_not_shown_as_a_part_of_the_finished_ones() -> None:
    statistics = RunStatistics("run", {"ann": 1}, walks=WalkCount(asked=10, started=18, finished=9, lost=1, reissued=8))
    facts = dict(federation_facts(FederationFacts(1, statistics), 0))
    assert facts["finished"] == "9 of 10 walks, 1 lost; 8 reissues"


def test_a_federation_runs_ldp_unless_its_operator_names_another_protocol(tmp_path: Path) -> None:
    run = ["federate", "run", "fed", "-o", "run"]
    (tmp_path / "paper.toml").write_text('protocol = "paper"\npredict = 0.5\n')
    for flags, protocol in (
        ([], "ldp"), (["--epsilon", "5"], "ldp"), (["--protocol", "paper"], "paper"),
        (["--config", str(tmp_path / "paper.toml")], "paper"),
    ):  # fmt: skip
        assert chosen_settings(build_parser().parse_args([*run, *flags])).protocol == protocol
    assert build_parser().parse_args(["federate", "demo"]).protocol == "ldp"


@pytest.mark.parametrize(
    ("protocol", "known"),
    [("ldp", "the server gets noisy reports (epsilon = 4 per edge)"), ("paper", "not hidden from the server")],
)
def test_a_run_says_which_parties_know_the_edges(
    protocol: str, known: str, network: Graph, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    simulated = embed_to_folder(network, Settings(**SETTINGS, protocol=protocol, epsilon=4), tmp_path / "run")
    graph = replace(simulated.graph, edges=None, isolated=None)
    facts = FederationFacts(graph.vertices, RunStatistics("run", {"ann": graph.vertices})).as_dict()
    show(replace(simulated, graph=graph, federation=facts), tmp_path / "run", as_json=False)
    printed = " ".join(capsys.readouterr().out.split())
    assert f"edges each holder knows its own; {known}" in printed
    assert "unknown" not in printed
    # The ledger below it says the same.
    assert ("name every neighbour to the server" in printed) == (protocol == "paper")


def test_nothing_private_is_in_the_request(holder: Path) -> None:
    text = (holder / "request.json").read_text()
    assert "ada" in text
    assert "bob" not in text
    assert "carol" not in text
    assert "PRIVATE" not in text
    assert (holder / "holder.key").stat().st_mode & 0o77 == 0
    assert (holder / "node.key").stat().st_mode & 0o77 == 0


def test_a_wrong_fingerprint_is_refused_without_showing_the_right_one(
    fedwalk: Command, federation: Path, holder: Path
) -> None:
    _, _, right = with_fingerprint(holder / "request.json")
    for wrong in ("0000 1111", "", str(right)[:-1], f"{right}0"):
        result = fedwalk("federate", "admit", federation, holder / "request.json", "--fingerprint", wrong)
        assert result.code == 2
        assert "A digit is wrong, or this isn't the holder's request" in result.err
        assert str(right) not in result.out + result.err
    assert json.loads(fedwalk("federate", "status", federation, "--json").out)["holders"] == []


def test_without_a_terminal_the_fingerprint_must_be_given(fedwalk: Command, federation: Path, holder: Path) -> None:
    result = fedwalk("federate", "admit", federation, holder / "request.json")
    assert result.code == 2
    assert "there is no terminal to ask for it" in result.err
    assert "--fingerprint" in result.err
    assert json.loads(fedwalk("federate", "status", federation, "--json").out)["holders"] == []


def at_terminal(*words: object, typed: str) -> tuple[int, str, str]:
    """Run a command at a terminal: its exit code, and what it printed before and after a line was typed."""
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
        (("server", elsewhere), "federation.toml: does not exist"),
        (("holder", elsewhere), "holder.toml: does not exist"),
        (("holder", holder), "authority.pem: does not exist. It comes with the operator's pass"),
        (("status", elsewhere), "is neither a federation nor a holder"),
        (("down", elsewhere), "is neither a federation nor a holder"),
        (("init", federation, "--address", address), "is a federation already"),
        (("init", elsewhere, "--address", address, "--listen", "0.0.0.0:99999"), "0.0.0.0:99999': isn't host:port"),
        (("init", elsewhere, "--address", address, "--max-answer", "-1"), "max_answer: must be a number from"),
        (("enrol", holder, "--listen", "7443"), "listen = '7443': isn't host:port"),
        (("admit", federation, holder / "holder.toml"), "holder.toml"),
        (("remove", elsewhere, "clinic"), "federation.toml: does not exist"),
        (("renew", elsewhere), "is neither a federation nor a holder"),
        (("renew", federation, "--overlap", "3"), "--overlap can only be used with --authority"),
        (("renew", federation, "--authority", "--address", address), "--authority and --address can't be combined"),
        (("renew", federation, "--authority", "--overlap", "999"), "The overlap can't be 999 days"),
        (("renew", holder, "--days", "3"), "is a holder, for which `renew` has no options"),
        (("holder", holder, "--older-pass"), "--older-pass requires --pass FILE"),
        (("enrol", elsewhere, "--name", "ward"), "isn't a holder yet. To make one, also give --neighbours"),
        (("enrol", elsewhere, "--allow", "paper"), "also give --name, --neighbours, --address"),
        (("enrol", holder, "--name", "ward"), "is the holder 'clinic', which can't be renamed"),
        (("remove", federation, "unknown"), "No holder is called 'unknown'"),
        (("run", federation, "-o", elsewhere), "its server isn't running"),
        (("run", federation, "-o", elsewhere, "--config", baseline), "a federation runs paper or ldp"),
        (("run", federation, "-o", elsewhere, "--protocol", "deepwalk"), "invalid choice: 'deepwalk'"),
        (("demo", "-o", elsewhere, "--protocol", "deepwalk"), "invalid choice: 'deepwalk'"),
        (("enrol", elsewhere, "--allow", "deepwalk"), "invalid choice: 'deepwalk'"),
        (("demo", "-o", tmp_path), "isn't an earlier demo's"),
    ):
        result = fedwalk("federate", *words)
        assert result.code == 2, words
        assert complaint in result.err, words
        assert "Traceback" not in result.err


@pytest.fixture
def processes(federation: Path, tmp_path: Path) -> Iterator[list[subprocess.Popen[str]]]:
    """A list for the processes that a test starts; they are ended when the test is over."""
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
    """Start a server by its command; returns when it listens, with the tag of its processes."""
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
    assert "is already running" in again.err
    server.send_signal(signal.SIGINT)
    out, _ = server.communicate(timeout=SOON)
    assert server.returncode == 0
    assert "Stopped; no process is left." in out
    assert tagged(tag) == []


@pytest.mark.slow
def test_an_owner_is_told_of_the_connection_and_of_every_question(
    fedwalk: Command, federation: Path, holder: Path, tmp_path: Path, processes: list[subprocess.Popen[str]]
) -> None:
    assert fedwalk("federate", "admit", federation, *with_fingerprint(holder / "request.json")).code == 0
    clinic = start_command("federate", "holder", holder, "--pass", federation / "passes" / "clinic.json")
    processes.append(clinic)
    lines = read_lines(clinic)
    wait_for_line(lines, f"other holders reach it at {HolderFolder(holder).settings().address}.")
    wait_for_line(lines, "the server can't be reached yet")
    serve(federation, processes)
    wait_for_line(lines, "connected to the server")
    run = ("federate", "run", federation, "-o", tmp_path / "run", "--protocol", "ldp", "--epsilon", "5")
    result = fedwalk(*run)
    wait_for_line(lines, "left out, because they aren't in the federation: 3 neighbours and 0 devices")
    wait_for_line(lines, "roll: answered")
    wait_for_line(lines, "reports: answered")
    assert result.code == 0, result.err
    result = fedwalk("federate", "run", federation, "-o", tmp_path / "dear", "--protocol", "ldp", "--epsilon", "6")
    assert result.code == 2
    wait_for_line(lines, "roll: refused: ")
    clinic.send_signal(signal.SIGINT)
    wait_for_line(lines, "Stopped; no process is left.")
    assert clinic.wait(SOON) == 0


@pytest.mark.slow
def test_a_holder_connects_with_new_keys_and_then_by_either_authority(
    fedwalk: Command, federation: Path, holder: Path, tmp_path: Path, processes: list[subprocess.Popen[str]]
) -> None:
    pass_file = federation / "passes" / "clinic.json"

    def admit() -> None:
        assert fedwalk("federate", "admit", federation, *with_fingerprint(holder / "request.json")).code == 0

    def connects(*more: str) -> "queue.Queue[str]":
        command = [sys.executable, "-m", "fedwalk", "federate", "holder", str(holder), *more]
        processes.append(subprocess.Popen(command, stdout=subprocess.PIPE, text=True))
        lines = read_lines(processes[-1])
        wait_for_line(lines, "connected to the server")
        return lines

    def stop() -> None:
        assert fedwalk("federate", "down", holder).code == 0
        processes[-1].wait()

    admit()
    serve(federation, processes)
    connects("--pass", str(pass_file))
    assert fedwalk("federate", "renew", holder).code == 0
    admit()
    refused = fedwalk("federate", "holder", holder, "--pass", pass_file)
    assert refused.code == 2
    assert "is already running" in refused.err
    stop()
    connects("--pass", str(pass_file))
    stop()
    assert fedwalk("federate", "renew", federation, "--authority").code == 0
    assert fedwalk("federate", "down", federation).code == 0
    serve(federation, processes)
    connects()
    stop()
    admit()
    lines = connects("--pass", str(pass_file))
    run = ("federate", "run", federation, "-o", tmp_path / "run", "--protocol", "ldp", "--epsilon", "5")
    result = fedwalk(*run)
    assert result.code == 0, result.err
    wait_for_line(lines, "reports: answered")


def read_lines(process: subprocess.Popen[str]) -> "queue.Queue[str]":
    """A queue that gets every line that the process prints."""
    lines: queue.Queue[str] = queue.Queue()

    def pass_on() -> None:
        for line in process.stdout or ():
            lines.put(line)

    threading.Thread(target=pass_on, daemon=True).start()
    return lines


def wait_for_line(lines: "queue.Queue[str]", text: str) -> None:
    """Return when a line with this text is printed."""
    limit = time.monotonic() + SOON
    while text not in lines.get(timeout=max(0.0, limit - time.monotonic())):
        pass


def test_down_ends_the_processes_that_a_killed_command_left_behind(
    fedwalk: Command, federation: Path, processes: list[subprocess.Popen[str]]
) -> None:
    server, tag = serve(federation, processes)
    os.kill(server.pid, signal.SIGKILL)
    server.wait()
    assert tagged(tag)
    result = fedwalk("federate", "down", federation)
    assert result.code == 0
    assert "Ended" in result.out
    assert tagged(tag) == []
    assert "nothing was running" in fedwalk("federate", "down", federation).out


@pytest.mark.slow
def test_a_running_server_keeps_a_holders_node_when_our_record_of_it_is_lost(
    fedwalk: Command, federation: Path, holder: Path, processes: list[subprocess.Popen[str]]
) -> None:
    folder = FederationFolder(federation)
    admit = ("federate", "admit", federation, *with_fingerprint(holder / "request.json"))
    assert fedwalk(*admit).code == 0
    # The server's own processes don't need 127.0.0.1 on its public port.
    listen = folder.settings().listen.replace("127.0.0.1", "127.0.0.2")
    write_settings(folder.settings_file, replace(folder.settings(), listen=listen))
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


@pytest.mark.slow
def test_a_holder_that_flower_refuses_is_named_and_the_others_are_registered(
    fedwalk: Command, federation: Path, holder: Path, tmp_path: Path, processes: list[subprocess.Popen[str]]
) -> None:
    folder = FederationFolder(federation)
    fedwalk("federate", "admit", federation, *with_fingerprint(holder / "request.json"))
    serve(federation, processes)
    flwr(folder, "supernode", "unregister", str(json.loads(folder.nodes.read_text())["clinic"]))
    (tmp_path / "ward.adj").write_text("eve bob\n")
    given = ("--name", "ward", "--neighbours", tmp_path / "ward.adj", "--address", f"127.0.0.1:{free_port()}")
    assert fedwalk("federate", "enrol", tmp_path / "ward", *given).code == 0
    result = fedwalk("federate", "admit", federation, *with_fingerprint(tmp_path / "ward" / "request.json"))
    assert result.code == 2
    assert "Admitted ward" in result.out
    assert "didn't register clinic (" in result.err
    assert list(json.loads(folder.nodes.read_text())) == ["ward"]
    shown = json.loads(fedwalk("federate", "status", federation, "--json").out)
    assert [(one["name"], one["state"]) for one in shown["holders"]] == [
        ("clinic", "not registered"),
        ("ward", "registered"),
    ]


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (("--epsilon", "0"), "epsilon = 0"),
        (("--protocol", "ldp", "--epsilon", "1000"), "epsilon = 1000"),
        (("--num-walks", "0"), "walks = 0"),
        (("--num-walks", str(2**40), "--vertices", str(1000)), "walks = "),
        (("--patience", "0"), "patience = 0"),
        (("--holders", "0"), "holders = 0"),
        (("--holders", "401"), "holders = 401"),
        (("--seed", "-1"), "seed = -1"),
        (("--seed", str(2**63)), "seed = "),
        (("--vertices", "0"), "vertices"),
        (("--graph", "missing.edges"), "missing.edges"),
        (("--protocol", "deepwalk"), "deepwalk"),
    ],
)
def test_the_demo_checks_its_settings_before_it_deletes_an_earlier_one(
    fedwalk: Command, tmp_path: Path, words: tuple[str, ...], complaint: str
) -> None:
    mark = tmp_path / "demo" / "server" / "federation.toml"
    mark.parent.mkdir(parents=True)
    mark.touch()
    result = fedwalk("federate", "demo", "-o", tmp_path / "demo", *words)
    assert result.code == 2
    assert complaint in result.err
    assert mark.exists()


@pytest.mark.slow
def test_the_demo_goes_from_keys_to_vectors_and_leaves_no_process(fedwalk: Command, tmp_path: Path) -> None:
    path = tmp_path / "demo"
    result = fedwalk(
        "federate", "demo", "-o", path, "--holders", "2", "--vertices", "80", "--num-walks", "2", "--protocol", "ldp"
    )
    assert result.code == 0
    assert "2 of 2 completed the run" in result.out
    assert "80 devices" in result.out
    assert "Privacy ledger" in result.out
    assert (path / "run" / "embedding.npz").exists()
    assert not list(path.glob("*/server.json"))
    assert not list(path.glob("*/holder.json"))
    shown = fedwalk("federate", "status", path / "holder-0")
    assert "epsilon 6 per edge, over all runs" in shown.out
