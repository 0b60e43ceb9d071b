"""Processes: everything that was started is ended, and no other process is."""

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from fedwalk.federation.deploy.ports import free_port, is_free
from fedwalk.federation.deploy.processes import TAG, Started, start, stop, stop_tagged, tagged

FAMILY = """
import signal, subprocess, sys, time
stubborn, depth = sys.argv[1] == "stubborn", int(sys.argv[2])
if stubborn:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
child = None
if depth:
    child = subprocess.Popen([sys.executable, "-c", sys.argv[3], sys.argv[1], str(depth - 1), sys.argv[3]],
                             start_new_session=True, stdout=subprocess.PIPE)
    child.stdout.readline()
print("ready", flush=True)
time.sleep(600)
"""
"""A process with a chain of descendants, each in a session of its own; it says when all of them are there."""


def family(folder: Path, kind: str = "meek", depth: int = 2) -> Started:
    """Start a family, and return when it is complete."""
    log = folder / f"{kind}.log"
    started = start([sys.executable, "-c", FAMILY, kind, str(depth), FAMILY], {"GREETING": "hello"}, log)
    while started.running and b"ready" not in log.read_bytes():
        psutil.wait_procs([psutil.Process(started.process.pid)], timeout=0.02)
    assert started.running, log.read_text()
    return started


@pytest.fixture
def families() -> Iterator[list[Started]]:
    """The processes that a test starts; they are killed after it."""
    made: list[Started] = []
    yield made
    for one in made:
        for process in tagged(one.tag):
            process.kill()
        one.process.kill()
        one.process.wait()


@pytest.fixture
def bystander() -> Iterator[subprocess.Popen[bytes]]:
    """A process with another tag, which must not be ended."""
    command = [sys.executable, "-c", "import time; time.sleep(600)"]
    process = subprocess.Popen(command, env={**os.environ, TAG: "another tag"})
    yield process
    process.kill()
    process.wait()


def test_all_descendants_are_ended(families: list[Started], bystander: subprocess.Popen[bytes], tmp_path: Path) -> None:
    one, other = family(tmp_path), family(tmp_path, "also", depth=1)
    families += [one, other]
    members = tagged(one.tag)
    assert len(members) == 3
    assert len({os.getsid(process.pid) for process in members}) == 3
    stop(one)
    assert tagged(one.tag) == []
    assert not any(process.is_running() and process.status() != psutil.STATUS_ZOMBIE for process in members)
    assert not one.running
    assert len(tagged(other.tag)) == 2
    assert bystander.poll() is None


def test_a_process_that_ignores_sigterm_is_killed(families: list[Started], tmp_path: Path) -> None:
    families.append(family(tmp_path, "stubborn", depth=1))
    (one,) = families
    stop(one, grace=0.3)
    assert tagged(one.tag) == []
    assert not one.running


def test_descendants_are_found_when_the_first_was_killed(
    families: list[Started], bystander: subprocess.Popen[bytes], tmp_path: Path
) -> None:
    families.append(family(tmp_path))
    (one,) = families
    one.process.kill()
    one.process.wait()
    assert len(tagged(one.tag)) == 2
    assert stop_tagged(one.tag) == 2
    assert tagged(one.tag) == []
    assert bystander.poll() is None


def test_stopping_twice_or_what_ended_by_itself_is_no_error(families: list[Started], tmp_path: Path) -> None:
    done = start([sys.executable, "-c", "print('done')"], {}, tmp_path / "log")
    families.append(done)
    assert done.process.wait() == 0
    for _ in range(2):
        stop(done)
    assert stop_tagged(done.tag) == 0
    assert stop_tagged("an unused tag") == 0
    assert (tmp_path / "log").read_text() == "done\n"


def test_a_process_gets_its_environment_and_a_tag_of_its_own(families: list[Started], tmp_path: Path) -> None:
    families += [family(tmp_path, depth=0), family(tmp_path, "also", depth=0)]
    environments = [psutil.Process(one.process.pid).environ() for one in families]
    assert [environment[TAG] for environment in environments] == [one.tag for one in families]
    assert families[0].tag != families[1].tag
    assert environments[0]["GREETING"] == "hello"
    assert TAG not in os.environ


def test_output_is_added_to_the_log(tmp_path: Path, families: list[Started]) -> None:
    for text in ("one", "two"):
        families.append(start([sys.executable, "-c", f"import sys; sys.exit({text!r})"], {}, tmp_path / "log"))
        assert families[-1].process.wait() == 1
    assert (tmp_path / "log").read_text() == "one\ntwo\n"


def test_a_free_port_is_free_until_a_process_listens_there() -> None:
    address = f"127.0.0.1:{free_port()}"
    assert is_free(address)
    with socket.create_server(("127.0.0.1", int(address.rpartition(":")[2]))):
        assert not is_free(address)
    assert is_free(address)
