"""No process of a test outlives it: pytest runs on tests made for this, and ends in every way there is."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

from helpers.commands import SOON, wait_until, with_signals

TESTS = Path(__file__).parent
STUBBORN = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print(flush=True); time.sleep(600)"
MODULE = f"""
import os, signal, subprocess, sys, time
from pathlib import Path
import pytest

def start_processes(folder, name):
    \"\"\"One process that inherits the environment, and one that has an environment of its own, as Flower's do.\"\"\"
    for environment in (None, {{"FLWR_HOME": str(folder / "flower")}}):
        process = subprocess.Popen(
            [sys.executable, "-c", {STUBBORN!r}], env=environment, stdout=subprocess.PIPE, start_new_session=True
        )
        process.stdout.readline()
        with Path(os.environ["STARTED"]).open("a") as file:
            print(name, process.pid, file=file)

def test_fails(tmp_path):
    start_processes(tmp_path, "fails")
    assert False

@pytest.mark.timeout(2)
def test_takes_too_long(tmp_path):
    start_processes(tmp_path, "takes_too_long")
    time.sleep(600)

@pytest.mark.timeout(2)
def test_is_stuck(tmp_path):
    start_processes(tmp_path, "is_stuck")
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGALRM])
    time.sleep(600)

def test_waits(tmp_path):
    start_processes(tmp_path, "waits")
    time.sleep(600)
"""


class InnerRun:
    """A run of pytest in a process of its own, with this suite's settings and fixtures."""

    def __init__(self, folder: Path, *tests: str) -> None:
        self._started = folder / "started"
        (folder / "test_inner.py").write_text(MODULE)
        command = [
            sys.executable, "-m", "pytest", "-c", TESTS.parent / "pyproject.toml", "-p", "conftest",
            "-p", "no:cacheprovider", "--basetemp", folder / "inner", *(f"{folder}/test_inner.py::{t}" for t in tests),
        ]  # fmt: skip
        environment = {**os.environ, "PYTHONPATH": str(TESTS), "STARTED": str(self._started)}
        self.process = subprocess.Popen(
            with_signals(command), env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )

    def started(self) -> list[int]:
        """The ids of the processes that its tests have started so far."""
        lines = self._started.read_text().splitlines() if self._started.exists() else []
        return [int(line.split()[1]) for line in lines]

    def alive(self) -> list[int]:
        """Those of them that are still running."""
        return [pid for pid in self.started() if _is_alive(pid)]


def _is_alive(pid: int) -> bool:
    try:
        return bool(psutil.Process(pid).status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False


@contextmanager
def inner_run(folder: Path, *tests: str) -> Iterator[InnerRun]:
    run = InnerRun(folder, *tests)
    try:
        yield run
    finally:
        run.process.kill()
        run.process.communicate()


@pytest.mark.parametrize(
    "number",
    [signal.SIGTERM, *(pytest.param(other, marks=pytest.mark.slow) for other in (signal.SIGINT, signal.SIGKILL))],
)
def test_a_run_that_is_ended_by_a_signal_leaves_nothing(number: signal.Signals, tmp_path: Path) -> None:
    with inner_run(tmp_path, "test_waits") as run:
        wait_until(lambda: len(run.alive()) == 2, run.process)
        run.process.send_signal(number)
        run.process.wait(SOON)
        wait_until(lambda: not run.alive())


@pytest.mark.slow
def test_tests_that_fail_or_reach_their_limit_leave_nothing_and_the_run_goes_on(tmp_path: Path) -> None:
    with inner_run(tmp_path, "test_fails", "test_takes_too_long") as run:
        out, _ = run.process.communicate(timeout=SOON)
        assert "2 failed" in out
        assert "Timeout (>2.0s)" in out
        assert "These processes of this module's tests had to be killed" in out
        assert len(run.started()) == 4
        assert run.alive() == []


@pytest.mark.slow
def test_a_test_that_can_not_be_failed_ends_pytest_with_a_traceback_and_leaves_nothing(tmp_path: Path) -> None:
    with inner_run(tmp_path, "test_is_stuck") as run:
        out, _ = run.process.communicate(timeout=SOON)
        assert run.process.returncode == 1
        assert "in test_is_stuck" in out
        wait_until(lambda: not run.alive())
        assert len(run.started()) == 2
