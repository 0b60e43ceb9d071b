"""The status of a federation as its folders show it, and services with a sleeping process in place of Flower."""

import json
import re
import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from conftest import Command
from fedwalk.errors import InputError
from fedwalk.federation.deploy.processes import Started, start, stop, tagged
from fedwalk.federation.deploy.services import (
    ServiceError,
    _running_process,
    await_listening,
    is_running,
    log_tail,
    read_tag,
    state_file,
    stop_service,
)
from fedwalk.federation.deploy.status import federation_status, holder_status, is_federation, terms_text
from fedwalk.federation.holder.terms import Terms
from fedwalk.federation.membership.admission import remove_holder
from fedwalk.federation.membership.folders import FederationFolder
from fedwalk.federation.membership.requests import read_request
from fedwalk.settings import Settings
from helpers.enrolment import dated_pass
from helpers.local_holders import InProcessFederation, make_in_process_federation
from helpers.simulation import GRAPHS

CHOSEN: dict[str, Any] = {"num_walks": 2, "walk_length": 6, "dim": 4, "threads": 1}
RUN_REQUEST = {
    "federation": "fed",
    "output": "run",
    "patience": 5.0,
    "keep_walks": False,
    "min_holders": 1,
    "settings": {},
}
SLEEP = [sys.executable, "-c", "import time; time.sleep(600)"]


@pytest.fixture
def federation(tmp_path: Path) -> InProcessFederation:
    return make_in_process_federation(tmp_path, GRAPHS["karate"], 2, seed=None)


@pytest.fixture
def server(federation: InProcessFederation, tmp_path: Path) -> FederationFolder:
    return FederationFolder(tmp_path / "server")


@pytest.fixture
def process(tmp_path: Path) -> Iterator[Started]:
    """A process that runs until it is stopped."""
    started = start(SLEEP, {}, tmp_path / "log")
    try:
        yield started
    finally:
        stop(started)


def test_a_current_run_is_shown_until_its_process_has_ended(
    server: FederationFolder, process: Started, tmp_path: Path
) -> None:
    output = tmp_path / "run"
    output.mkdir()
    assert federation_status(server.path)["run"] is None
    (server.path / "run-request-1.json").write_text(json.dumps({**RUN_REQUEST, "output": str(output)}))
    assert federation_status(server.path)["run"] is None
    events = output / "progress.jsonl"
    events.write_text(json.dumps({"pid": process.process.pid}) + "\n")
    assert federation_status(server.path)["run"] == {"output": str(output)}
    with events.open("a") as file:
        file.write(json.dumps({"stage": "walks", "done": 7, "total": 9}) + "\n")
    assert federation_status(server.path)["run"] == {"output": str(output), "stage": "walks", "done": 7, "total": 9}
    stop(process, grace=0)
    assert federation_status(server.path)["run"] is None


def test_a_federation_that_is_not_running_shows_its_members(server: FederationFolder) -> None:
    remove_holder(server, "holder-1")
    status = federation_status(server.path)
    assert status["running"] is False
    assert status["vertices"] == 34
    assert [one["state"] for one in status["holders"]] == ["unknown: the server isn't running", "removed"]
    assert [one["devices"] for one in status["holders"]] == [17, 17]
    assert status["address"] == server.settings().address
    assert status["certificate_end"] > "2026"
    json.dumps(status)


def test_a_failing_flower_command_is_shown_as_a_problem_and_not_as_unregistered_holders(
    server: FederationFolder, process: Started
) -> None:
    """The process isn't Flower's, so Flower's command fails and the holders' states are unknown."""
    assert federation_status(server.path)["problem"] is None
    server.state.write_text(json.dumps({"pid": process.process.pid, "tag": process.tag, "log": ""}), encoding="utf-8")
    status = federation_status(server.path)
    assert status["problem"].startswith("can't ask Flower which holders are online: flwr supernode list")
    assert {one["state"] for one in status["holders"]} == {f"unknown: {status['problem']}"}


def test_an_expired_certificate_is_shown_for_its_holder(server: FederationFolder, tmp_path: Path) -> None:
    request = read_request((tmp_path / "holder-0" / "request.json").read_bytes())
    begin = datetime.now(UTC) - timedelta(days=5)
    dated_pass(server, request, begin, days=2).replace(server.pass_file("holder-0"))
    server.pass_file("holder-1").unlink()
    ends = [one["certificate_end"] for one in federation_status(server.path)["holders"]]
    assert ends == [(begin + timedelta(days=2)).replace(microsecond=0).isoformat(), None]


def test_a_holder_shows_what_it_has_released(federation: InProcessFederation, tmp_path: Path) -> None:
    folder = federation.folders["holder-0"]
    fresh = holder_status(folder.path)
    assert fresh["released"] == "nothing yet"
    assert fresh["numbering"] is None
    assert fresh["walking"] is None
    assert fresh["running"] is False
    federation.run(federation.holders(), Settings(protocol="ldp", epsilon=3.0, **CHOSEN), tmp_path / "ldp")
    assert holder_status(folder.path)["released"] == "epsilon 3 per edge, over all runs"
    federation.run(federation.holders(), Settings(protocol="ldp", epsilon=2.0, **CHOSEN), tmp_path / "again")
    assert holder_status(folder.path)["released"] == "epsilon 5 per edge, over all runs"
    federation.run(federation.holders(), Settings(**CHOSEN), tmp_path / "paper")
    assert holder_status(folder.path)["released"] == "without a bound: protocol paper"
    json.dumps(holder_status(folder.path))


def test_a_roll_call_alone_has_released_nothing_in_ldp(federation: InProcessFederation, tmp_path: Path) -> None:
    gone = {("reports", 0, name): 0 for name in federation.folders}
    with pytest.raises(Exception, match="0 devices are left"):
        federation.run(federation.holders(gone=gone), Settings(protocol="ldp", **CHOSEN), tmp_path / "run")
    assert holder_status(federation.folders["holder-0"].path)["released"] == "nothing yet"


def test_all_holders_show_the_same_numbering(federation: InProcessFederation, tmp_path: Path) -> None:
    federation.run(federation.holders(), Settings(**CHOSEN), tmp_path / "run")
    numberings = {holder_status(folder.path)["numbering"] for folder in federation.folders.values()}
    assert len(numberings) == 1
    assert re.fullmatch(r"([0-9a-f]{4} ){8}\(\d+ vertices\)", str(numberings.pop()))


def test_a_holder_without_a_pass_has_no_certificate_yet(federation: InProcessFederation) -> None:
    folder = federation.folders["holder-1"]
    (folder.path / "holder.pem").unlink()
    assert holder_status(folder.path)["certificate_end"] is None


def test_a_damaged_certificate_is_shown_as_one(federation: InProcessFederation) -> None:
    folder = federation.folders["holder-1"]
    (folder.path / "holder.pem").write_bytes(b"\xff")
    assert holder_status(folder.path)["certificate_end"].startswith("can't be read: ")


def test_walking_shows_how_far_it_is(federation: InProcessFederation) -> None:
    folder = federation.folders["holder-0"]
    walking = {
        "begun": 10,
        "finished": 3,
        "handed": 2,
        "received": 1,
        "refused": 0,
        "bytes": 90,
        "began": 1.5,
        "now": 2,
    }
    folder.progress.write_text(json.dumps(walking), encoding="utf-8")
    assert holder_status(folder.path)["walking"] == walking


def test_walks_and_tokens_are_shown_with_their_units(federation: InProcessFederation, fedwalk: Command) -> None:
    folder = federation.folders["holder-0"]
    walking = {"begun": 3, "finished": 2, "handed": 5, "received": 4, "refused": 1, "bytes": 90, "began": 1.5, "now": 2}
    folder.progress.write_text(json.dumps(walking), encoding="utf-8")
    shown = " ".join(fedwalk("federate", "status", folder.path).out.split())
    assert "3 walks started, 2 finished; 5 tokens sent, 4 received, 1 refused; 90 bytes sent" in shown


def test_terms_as_text() -> None:
    assert terms_text(Terms()) == "ldp"
    assert terms_text(Terms(())) == "nothing"
    both = Terms(("ldp", "paper"), 2.5, 10)
    assert terms_text(both) == "ldp and paper, at most epsilon 2.5 per edge over all runs, at most 10 walks per device"


def test_a_folder_is_the_operators_or_a_holders_or_neither(
    server: FederationFolder, federation: InProcessFederation, tmp_path: Path
) -> None:
    assert is_federation(server.path)
    assert not is_federation(federation.folders["holder-0"].path)
    assert state_file(federation.folders["holder-0"].path) == federation.folders["holder-0"].state
    with pytest.raises(InputError, match="is neither a federation nor a holder"):
        is_federation(tmp_path)


def test_a_folder_is_served_while_its_process_runs_and_stopping_ends_it(server: FederationFolder) -> None:
    assert not is_running(server.state)
    assert stop_service(server.path) == 0
    with _running_process(server.state, server.log, lambda: start(SLEEP, {}, server.log)) as started:
        assert is_running(server.state)
        assert read_tag(server.state) == started.tag
        with pytest.raises(ServiceError, match="is already running"):
            _running_process(server.state, server.log, lambda: pytest.fail("a second server")).__enter__()
        assert stop_service(server.path) == 1
        assert not started.running
        assert not is_running(server.state)
    assert not server.state.exists()


def test_a_block_that_fails_leaves_no_process_and_no_state(server: FederationFolder) -> None:
    seen: list[Started] = []

    def fail() -> None:
        with _running_process(server.state, server.log, lambda: start(SLEEP, {}, server.log)) as started:
            seen.append(started)
            raise InterruptedError

    with pytest.raises(InterruptedError):
        fail()
    assert tagged(seen[0].tag) == []
    assert not server.state.exists()


def test_processes_of_a_killed_command_can_be_stopped(server: FederationFolder, process: Started) -> None:
    server.state.write_text(json.dumps({"pid": 1, "tag": process.tag, "log": ""}), encoding="utf-8")
    assert is_running(server.state)
    assert stop_service(server.path) == 1
    assert not process.running


@pytest.mark.parametrize("text", ["", "{}", "[]", "null", '{"tag": null}', "\x00"])
def test_a_damaged_state_file_means_not_running_and_ends_no_process(
    server: FederationFolder, process: Started, text: str
) -> None:
    server.state.write_text(text, encoding="utf-8")
    assert not is_running(server.state)
    assert stop_service(server.path) == 0
    assert process.running
    assert not server.state.exists()


def test_a_server_that_ends_by_itself_is_an_error_with_the_end_of_its_log(server: FederationFolder) -> None:
    command = [sys.executable, "-c", "import sys; sys.exit('no room\\nat the port')"]
    started = start(command, {}, server.log)
    started.process.wait()
    with pytest.raises(ServiceError, match=r"ended with code 1: no room / at the port \(full log: "):
        await_listening(server, started)
    assert log_tail(server.path / "nothing").endswith("nothing)")
