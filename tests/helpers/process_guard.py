"""End every process that a test run starts, however the run ends.

A process belongs to a run if its environment carries the run's mark, or if its FLWR_HOME lies in the run's temporary
folder. The mark reaches everything that inherits the environment of the tests. Flower's processes get an environment of
their own, without the mark, but with a FLWR_HOME in the folder of the test that started them.

A run that ends normally, or is interrupted, ends its processes itself. A run that is killed can't, so a guard watches
it: a process in a session of its own, which waits until the run is gone and then ends what the run has left.
"""

import os
import secrets
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import psutil

from helpers.commands import helper_command

VARIABLE = "FEDWALK_TEST_RUN"
POLL_SECONDS = 0.2
GRACE_SECONDS = 2.0
"""How long a process may take to end by itself after its test, as a browser's helpers do."""
ROUNDS = 50
"""How often processes are killed, for those that start another one meanwhile; a bound in case one can't be killed."""


@dataclass(frozen=True, slots=True)
class GuardedRun:
    """The processes of one test run, and how they are recognised."""

    mark: str
    folder: Path
    spared: tuple[int, ...]
    """Process ids that are never ended: the tests' own process and its guard."""

    def processes(self) -> list[psutil.Process]:
        """Every process of this run that is alive."""
        return [process for process in psutil.process_iter() if process.pid not in self.spared and self._owns(process)]

    def _owns(self, process: psutil.Process) -> bool:
        try:
            environment = process.environ()
            if process.status() == psutil.STATUS_ZOMBIE:
                return False
            flower = Path(environment.get("FLWR_HOME", "/"))
            # A run inside a test of this run has a longer mark, which begins with this one.
            return flower.is_relative_to(self.folder) or environment.get(VARIABLE, "").startswith(self.mark)
        except (psutil.Error, OSError):
            return False

    def end_processes(self, spare: frozenset[int] = frozenset()) -> list[str]:
        """Kill what is left of this run except the processes in `spare`; returns the command lines."""
        ended: dict[int, str] = {}
        for _ in range(ROUNDS):
            alive = [process for process in self.processes() if process.pid not in spare]
            if not alive:
                break
            for process in alive:
                with suppress(psutil.Error):
                    ended[process.pid] = " ".join(process.cmdline())
                    process.kill()
            psutil.wait_procs(alive, timeout=POLL_SECONDS)
        return list(ended.values())


@contextmanager
def guard_run(folder: Path) -> Iterator[GuardedRun]:
    """Mark this process's children as a test run; none of them is alive after the block, or after this process."""
    outer = os.environ.get(VARIABLE)
    mark = f"{outer or ''}/{secrets.token_hex(6)}"
    guard = subprocess.Popen(
        helper_command("process_guard", os.getpid(), mark, folder.resolve()), stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        start_new_session=True,  # Ctrl-C and a lost terminal end the tests, and must not end their guard
    )  # fmt: skip
    run = GuardedRun(mark, folder.resolve(), (os.getpid(), guard.pid))
    os.environ[VARIABLE] = mark
    try:
        yield run
    finally:
        run.end_processes()
        if outer is None:
            del os.environ[VARIABLE]
        else:
            os.environ[VARIABLE] = outer
        guard.kill()
        guard.wait()


def strays(run: GuardedRun, known: frozenset[int]) -> list[str]:
    """End the processes of a run other than `known` that don't end by themselves; returns their command lines."""
    end = time.monotonic() + GRACE_SECONDS
    while any(process.pid not in known for process in run.processes()) and time.monotonic() < end:
        time.sleep(POLL_SECONDS)
    return run.end_processes(spare=known)


def main() -> None:
    """Wait until the process that started this one is gone, then end what it has left."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    watched, mark, folder = int(sys.argv[1]), sys.argv[2], Path(sys.argv[3])
    while os.getppid() == watched:
        time.sleep(POLL_SECONDS)
    GuardedRun(mark, folder, (os.getpid(),)).end_processes()


if __name__ == "__main__":
    main()
