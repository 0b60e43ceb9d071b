"""Commands in processes of their own, with the signal handling that a test asks for.

A process inherits which signals are ignored: shells ignore SIGINT in background jobs, `nohup` ignores SIGHUP. Without
this module a test that sends SIGINT would pass in a terminal and wait for nothing in a background job.
"""

import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import IO

import psutil

SOON = 100.0
"""Seconds after which a command counts as hanging. Less than a test's limit, so the test can say what it waited for."""
WRAPPER = """
import os, signal, sys
ignored = [int(number) for number in sys.argv[1].split(",") if number]
for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
    signal.signal(number, signal.SIG_IGN if number in ignored else signal.SIG_DFL)
os.execv(sys.argv[2], sys.argv[2:])
"""


def helper_command(name: str, *arguments: object) -> list[str]:
    """The command that runs one of these helpers as a program in a process of its own."""
    tests = Path(__file__).parents[1]
    run = f"import runpy, sys; sys.path.insert(0, {str(tests)!r}); runpy.run_module('helpers.{name}', {{}}, '__main__')"
    return [sys.executable, "-c", run, *map(str, arguments)]


def with_signals(command: Iterable[object], ignoring: Iterable[signal.Signals] = ()) -> list[str]:
    """A command that ignores exactly these of SIGINT, SIGTERM and SIGHUP from its start."""
    ignored = ",".join(str(int(number)) for number in ignoring)
    return [sys.executable, "-c", WRAPPER, ignored, *map(str, command)]


def start_command(
    *arguments: object, ignoring: Iterable[signal.Signals] = (), stderr: int | IO[str] | None = None
) -> "subprocess.Popen[str]":
    """Start `fedwalk` with these arguments, its output in a pipe; it ignores exactly the given signals."""
    command = with_signals([sys.executable, "-m", "fedwalk", *arguments], ignoring)
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=stderr, text=True)
    # Signals sent earlier would end the wrapper, not the command.
    wait_until(lambda: "-m" in psutil.Process(process.pid).cmdline()[:2], process)
    return process


def wait_until(condition: Callable[[], bool], process: "subprocess.Popen[str] | None" = None) -> None:
    """Return when the condition holds; fail if the process ends before that, or after `SOON` seconds."""
    end = time.monotonic() + SOON
    while not condition():
        assert process is None or process.poll() is None, f"the command ended: {process.communicate()}"
        assert time.monotonic() < end, f"nothing has happened in {SOON:g} s"
        time.sleep(0.02)


def processes_of(path: Path) -> list[list[str]]:
    """The command lines of all processes that have this path in their arguments or environment."""
    return [command for command in map(_command_about(path), psutil.process_iter()) if command]


def _command_about(path: Path) -> Callable[[psutil.Process], list[str]]:
    def command(process: psutil.Process) -> list[str]:
        try:
            words = [*process.cmdline(), *process.environ().values()]
            alive = process.status() != psutil.STATUS_ZOMBIE
            return process.cmdline() if alive and any(str(path) in word for word in words) else []
        except (psutil.Error, OSError):
            return []

    return command
