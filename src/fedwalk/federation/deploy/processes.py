"""Starts processes, and stops them together with every process that they started.

A SuperLink starts a process that starts the ServerApp's process, each in a session of its own, and a child notices only
after a moment that its parent has died. So each process gets a tag in its environment, which its children inherit, and
the tag identifies all of them, whatever their parent is by then.
"""

import os
import secrets
import signal
import subprocess
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import psutil

TAG = "FEDWALK_PROCESS"
"""The environment variable with the tag."""
GRACE = 15.0
"""Seconds between asking a process to end (SIGTERM) and killing it (SIGKILL)."""


@dataclass(frozen=True, slots=True)
class Started:
    """A process that was started, and the tag that it shares with all processes that it starts."""

    process: subprocess.Popen[bytes]
    tag: str

    @property
    def running(self) -> bool:
        """Whether the first process is still running."""
        return self.process.poll() is None


def start(command: Sequence[str], environment: dict[str, str], log: Path) -> Started:
    """Start a command in a session of its own with this environment; append its output to a private log file."""
    tag = secrets.token_hex(8)
    # O_APPEND: after `shrink_log` has truncated the file, the next line is written at its start.
    output = os.open(log, os.O_CREAT | os.O_APPEND | os.O_WRONLY, 0o600)
    try:
        # The mode in os.open counts only for a new file, and the umask narrows it.
        os.fchmod(output, 0o600)
        process = subprocess.Popen(
            list(command), env={**environment, TAG: tag}, stdin=subprocess.DEVNULL, stdout=output,
            stderr=subprocess.STDOUT, start_new_session=True, umask=0o077,
        )  # fmt: skip
    finally:
        os.close(output)
    return Started(process, tag)


def tagged(tag: str) -> list[psutil.Process]:
    """Every running process with this tag."""
    processes = []
    for process in psutil.process_iter():
        # A process may end while it is looked at, and those of other users can't be read.
        with suppress(psutil.Error, OSError):
            if process.environ().get(TAG) == tag and process.status() != psutil.STATUS_ZOMBIE:
                processes.append(process)
    return processes


def stop(started: Started, grace: float = GRACE) -> None:
    """End the process and all that it started: ask them first, and kill what still runs after `grace` seconds."""
    if started.running:
        with suppress(ProcessLookupError):
            started.process.send_signal(signal.SIGTERM)
    stop_tagged(started.tag, grace)
    # Otherwise the process would stay a zombie until this command ends.
    started.process.wait()


def stop_tagged(tag: str, grace: float = GRACE) -> int:
    """End all processes with this tag, also those that another process of fedwalk started; returns their number."""
    seen: set[int] = set()
    deadline = time.monotonic() + grace
    # Repeated, because a process may start another one while it is being stopped.
    while alive := tagged(tag):
        for process in alive:
            with suppress(psutil.NoSuchProcess):
                if time.monotonic() > deadline:
                    process.kill()
                # SIGTERM once: a second one could interrupt the process's own cleanup.
                elif process.pid not in seen:
                    process.terminate()
        seen |= {process.pid for process in alive}
        psutil.wait_procs(alive, timeout=0.2)
    return len(seen)


def is_alive(pid: int) -> bool:
    """Whether this process runs; a zombie, which has ended but wasn't waited for, doesn't."""
    try:
        return bool(psutil.Process(pid).status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False
