"""`fedwalk` as a process of its own, with signals as a test wants them and not as the tests' own starter left them."""

import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import IO

import psutil

SOON = 120.0
"""Seconds after which a command that doesn't do what is waited for counts as hanging."""
WRAPPER = """
import os, signal, sys
ignored = [int(number) for number in sys.argv[1].split(",") if number]
for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
    signal.signal(number, signal.SIG_IGN if number in ignored else signal.SIG_DFL)
os.execv(sys.executable, [sys.executable, "-m", "fedwalk", *sys.argv[2:]])
"""
"""Shells ignore SIGINT in background jobs, and `nohup` SIGHUP; processes inherit that, also those that tests start."""


def start_command(
    *arguments: object, ignoring: Iterable[signal.Signals] = (), stderr: int | IO[str] | None = None
) -> "subprocess.Popen[str]":
    """Start `fedwalk` with these arguments, its output in a pipe, ignoring these signals alone, from its beginning."""
    ignored = ",".join(str(int(number)) for number in ignoring)
    command = [sys.executable, "-c", WRAPPER, ignored, *map(str, arguments)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=stderr, text=True)
    wait_until(lambda: "-m" in psutil.Process(process.pid).cmdline(), process)
    return process


def wait_until(condition: Callable[[], bool], process: "subprocess.Popen[str] | None" = None) -> None:
    """Return when the condition holds; fail when the process has ended, or after a while."""
    end = time.monotonic() + SOON
    while not condition():
        assert process is None or process.poll() is None, "the command has ended"
        assert time.monotonic() < end, "nothing has happened"
        time.sleep(0.02)


def processes_of(path: Path) -> list[list[str]]:
    """The command lines of all processes that have this path in their arguments or environment."""
    return [command for command in map(_about(path), psutil.process_iter()) if command]


def _about(path: Path) -> Callable[[psutil.Process], list[str]]:
    def command(process: psutil.Process) -> list[str]:
        try:
            words = [*process.cmdline(), *process.environ().values()]
            alive = process.status() != psutil.STATUS_ZOMBIE
            return process.cmdline() if alive and any(str(path) in word for word in words) else []
        except (psutil.Error, OSError):
            return []

    return command
