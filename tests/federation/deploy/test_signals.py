"""Each command of a federation ends on SIGTERM at any moment, and leaves no process."""

import re
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from fedwalk import social_network
from fedwalk.federation.deploy.local_federation import LocalFederation, make_federation
from fedwalk.federation.deploy.services import is_running
from fedwalk.federation.server.execute import EVENTS
from fedwalk.util.files import is_locked
from fedwalk.util.signals import STOP_SIGNALS, interruptible, postponed, undisturbed
from helpers.commands import SOON, processes_of, start_command, wait_until

BACKGROUND = (signal.SIGINT, signal.SIGHUP)
"""What a job in the background of a shell script ignores, under `nohup`."""
END_TIMEOUT = 60.0
"""Seconds for the slowest command to end on a busy machine; most take less than five."""


@pytest.fixture(autouse=True)
def _own_signals() -> Iterator[None]:
    """Leave the tests' own handlers as they were."""
    before = {number: signal.getsignal(number) for number in STOP_SIGNALS}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


def test_a_request_to_end_and_a_lost_terminal_are_interrupts() -> None:
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)
        with interruptible(), pytest.raises(KeyboardInterrupt):
            signal.raise_signal(number)
        assert signal.getsignal(number) == signal.SIG_DFL


def test_ignored_signals_stay_ignored_except_the_request_to_end() -> None:
    for number in STOP_SIGNALS:
        signal.signal(number, signal.SIG_IGN)
    with interruptible():
        signal.raise_signal(signal.SIGHUP)
        signal.raise_signal(signal.SIGINT)
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGTERM)
    assert [signal.getsignal(number) for number in STOP_SIGNALS] == [signal.SIG_IGN] * 3


def test_a_postponed_signal_comes_at_the_end_and_ignored_ones_never() -> None:
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    steps: list[str] = []
    with interruptible():
        with postponed():
            signal.raise_signal(signal.SIGHUP)
        for failing in (False, True):
            with pytest.raises(KeyboardInterrupt):
                take_two_steps(steps, failing)
    assert steps == ["one", "two", "one", "two"]


def take_two_steps(steps: list[str], failing: bool) -> None:
    with postponed():
        steps.append("one")
        signal.raise_signal(signal.SIGTERM)
        steps.append("two")
        if failing:
            raise OSError("and it failed")


def test_stopping_is_not_interrupted() -> None:
    signal.signal(signal.SIGINT, signal.default_int_handler)
    with interruptible(), undisturbed():
        for number in STOP_SIGNALS:
            signal.raise_signal(number)


@contextmanager
def background(*arguments: object) -> Iterator["subprocess.Popen[str]"]:
    """A command in the background of a script; it is killed after the block."""
    process = start_command(*arguments, ignoring=BACKGROUND, stderr=subprocess.PIPE)
    try:
        yield process
    finally:
        process.kill()
        process.communicate(timeout=SOON)


def end(process: "subprocess.Popen[str]", folder: Path) -> tuple[str, str]:
    """SIGINT and SIGHUP change nothing, SIGTERM ends it; what it printed. No process of this folder is left."""
    for number in (*BACKGROUND, signal.SIGTERM):
        process.send_signal(number)
    printed = process.communicate(timeout=END_TIMEOUT)
    assert processes_of(folder) == []
    return printed


@pytest.fixture
def federation(tmp_path: Path) -> LocalFederation:
    graph = social_network(vertices=40, mean_degree=6, communities=2, seed=1)
    return make_federation(tmp_path / "federation", graph, 2)


def test_a_server_in_the_background_ends_when_asked(federation: LocalFederation) -> None:
    with background("federate", "server", federation.server.path) as server:
        assert server.stdout is not None
        assert "The server listens on" in server.stdout.readline()
        out, _ = end(server, federation.server.path)
    assert server.returncode == 0
    assert "Stopped; no process is left." in out


@pytest.mark.slow
def test_a_holder_in_the_background_ends_when_asked(federation: LocalFederation) -> None:
    """The server isn't running, so the holder waits for it."""
    folder = federation.holders[0]
    with background("federate", "holder", folder.path) as holder:
        assert holder.stdout is not None
        while "can't be reached yet" not in (line := holder.stdout.readline()):
            assert line, "the command has ended"
        out, _ = end(holder, folder.path)
    assert holder.returncode == 0
    assert "Stopped; no process is left." in out


@pytest.mark.slow
@pytest.mark.parametrize("action", ["server", "holder"])
def test_a_command_that_is_starting_ends_when_asked(federation: LocalFederation, action: str) -> None:
    """Before it handles signals, while it imports, when its first process is about to start, and right after that."""
    folder = federation.server if action == "server" else federation.holders[0]

    def secret() -> bool:
        return (folder.flower / "secret").exists()

    moments: list[Callable[[], bool]] = [lambda: True, after(0.5), secret, folder.state.exists, after(2.0)]
    for moment in moments:
        (folder.flower / "secret").unlink(missing_ok=True)
        with background("federate", action, folder.path) as process:
            wait_until(moment, process)
            end(process, folder.path)
        # Python ends by SIGINT if the interrupt came inside `exec` of a text, as dataclasses do when they are imported.
        assert process.returncode in (-signal.SIGTERM, -signal.SIGINT, 0, 130)
        assert not folder.state.exists()


def after(seconds: float) -> Callable[[], bool]:
    """True when this many seconds have passed since the first call."""
    began: list[float] = []

    def passed() -> bool:
        began.append(time.monotonic())
        return began[-1] - began[0] >= seconds

    return passed


@pytest.mark.slow
def test_a_run_in_the_background_is_stopped_on_the_server_when_asked(
    federation: LocalFederation, tmp_path: Path
) -> None:
    output = tmp_path / "run"
    arguments = ("federate", "run", federation.server.path, "-o", output, "--protocol", "ldp", "--num-walks", "500")
    with interruptible(), federation.up():
        # As it is being handed to the server, and in the middle of it.
        for moment in (run_request(federation), stage_began(output)):
            with background(*arguments, "--force") as run:
                wait_until(moment, run)
                run.send_signal(signal.SIGTERM)
                _, said = run.communicate(timeout=END_TIMEOUT)
            assert run.returncode == 130, said
            assert "The server has stopped the run" in said
            assert not federation.server.flower_run.exists()
            wait_until(lambda: not is_locked(federation.server.run_lock))
        assert is_running(federation.server.state)
    assert processes_of(tmp_path) == []


def run_request(federation: LocalFederation) -> Callable[[], bool]:
    """The run request is there: Flower's command is about to be called."""
    return lambda: any(federation.server.path.glob("run-request-*.json"))


def stage_began(output: Path) -> Callable[[], bool]:
    """The run's process has begun a stage."""

    def began() -> bool:
        events = output / EVENTS
        return events.exists() and '"stage"' in events.read_text()

    return began


@pytest.mark.slow
def test_a_demo_in_the_background_ends_when_asked(tmp_path: Path) -> None:
    output = tmp_path / "demo"
    moments = {
        "starting": lambda: (output / "server" / "server.json").exists(),
        "running": stage_began(output / "run"),
    }
    for when, moment in moments.items():
        with background("federate", "demo", "--holders", "2", "--vertices", "100", "-o", output) as demo:
            wait_until(moment, demo)
            _, said = end(demo, tmp_path)
        assert demo.returncode == 130, (when, said)
        assert re.search("fedwalk: interrupted", said)
