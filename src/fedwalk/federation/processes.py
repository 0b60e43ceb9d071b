"""Starting and stopping Flower's processes, all of them.

A SuperLink starts a process that starts the ServerApp's, in sessions of their own, and a parent that dies takes a
moment to be missed. So whatever is ours carries a tag in its environment, and is found by it whoever its parent is by
then.
"""

import os
import secrets
import signal
import socket
import subprocess
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import psutil

TAG = "FEDWALK_PROCESS"
GRACE = 15.0
"""Seconds between asking a process to end and ending it."""


@dataclass(frozen=True, slots=True)
class Started:
    """A process that we started, and the tag of everything that it starts in turn."""

    process: subprocess.Popen[bytes]
    tag: str

    @property
    def running(self) -> bool:
        """Whether the first process is still there."""
        return self.process.poll() is None


def start(command: Sequence[str], environment: dict[str, str], log: Path) -> Started:
    """Start a command in a session of its own, with this environment alone, its output going to a private file."""
    tag = secrets.token_hex(8)
    output = os.open(log, os.O_CREAT | os.O_APPEND | os.O_WRONLY, 0o600)
    try:
        os.fchmod(output, 0o600)
        process = subprocess.Popen(
            list(command), env={**environment, TAG: tag}, stdin=subprocess.DEVNULL, stdout=output,
            stderr=subprocess.STDOUT, start_new_session=True, umask=0o077,
        )  # fmt: skip
    finally:
        os.close(output)
    return Started(process, tag)


def tagged(tag: str) -> list[psutil.Process]:
    """Every process with this tag that is alive."""
    found = []
    for process in psutil.process_iter():
        with suppress(psutil.Error, OSError):
            if process.environ().get(TAG) == tag and process.status() != psutil.STATUS_ZOMBIE:
                found.append(process)
    return found


def stop(started: Started, grace: float = GRACE) -> None:
    """End the process and all that it started: first by asking, after `grace` seconds for good."""
    if started.running:
        with suppress(ProcessLookupError):
            started.process.send_signal(signal.SIGTERM)
    stop_tagged(started.tag, grace)
    started.process.wait()


def stop_tagged(tag: str, grace: float = GRACE) -> int:
    """The same by tag alone, for processes that somebody else of us started; returns how many there were."""
    seen: set[int] = set()
    deadline = time.monotonic() + grace
    while alive := tagged(tag):
        for process in alive:
            with suppress(psutil.NoSuchProcess):
                if time.monotonic() > deadline:
                    process.kill()
                elif process.pid not in seen:
                    process.terminate()
        seen |= {process.pid for process in alive}
        psutil.wait_procs(alive, timeout=0.2)
    return len(seen)


def is_alive(pid: int) -> bool:
    """Whether this process runs; one that has ended and that nobody has noticed yet doesn't."""
    try:
        return bool(psutil.Process(pid).status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False


def is_free(address: str) -> bool:
    """Whether nobody listens on this machine at an address's port."""
    host, _, port = address.rpartition(":")
    with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host.strip("[]"), int(port)))
        except OSError:
            return False
    return True


def free_port() -> int:
    """A port of this machine that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
