"""A company of holders in processes of their own, on loopback, each with its certificate."""

import json
import os
import pickle
import queue
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Any, cast

import peer_process
from fedwalk.federation.identity import (
    Authority,
    Credentials,
    admit,
    holder_request,
    new_authority,
    new_keys,
    new_node_key,
    read_request,
)
from fedwalk.graph import Graph
from fedwalk.settings import Settings
from mills import KEY, deal, own_lists, walk_question
from peer_process import Job, Outcome, WatchedMill
from simulation import GRAPHS

NAMES = ["ann", "bob", "cyd", "dan"]
SOON = 60.0
"""Seconds after which a process that doesn't do what is waited for counts as hanging."""


@cache
def authority() -> Authority:
    return new_authority("test", days=2)


@cache
def credentials(name: str) -> Credentials:
    return certified(authority(), name)


def certified(by: Authority, name: str, begin: datetime | None = None) -> Credentials:
    """Credentials of a holder that trusts the tests' authority and was admitted by one."""
    key = new_keys()
    request = read_request(holder_request(name, "127.0.0.1:1", ["device"], key, new_node_key()))
    return Credentials(authority().certificate, admit(by, request, 1, begin), key)


def free_addresses(count: int) -> list[str]:
    """Addresses on loopback where nobody listens."""
    with ExitStack() as stack:
        listening = [stack.enter_context(socket.create_server(("127.0.0.1", 0))) for _ in range(count)]
        return [f"127.0.0.1:{one.getsockname()[1]}" for one in listening]


def make_jobs(graph: Graph, settings: Settings, patience: float, owner: Any = None, **how: Any) -> list[Job]:
    """A job for every holder of a company that walks on this graph."""
    owner = deal(graph, len(NAMES)) if owner is None else owner
    addresses = free_addresses(len(NAMES))
    return [
        Job(
            walk_question(graph, settings, owner, NAMES, addresses, me, patience),
            own_lists(graph, owner, me), me, settings.seed, credentials(name), addresses[me], **how,
        )
        for me, name in enumerate(NAMES)
    ]  # fmt: skip


@dataclass
class Worker:
    """A process that walks."""

    process: subprocess.Popen[str]
    events: "queue.Queue[dict[str, Any]]"
    listener: threading.Thread
    folder: Path
    job: Path = Path()
    busy: bool = False

    def begin(self, job: Job) -> None:
        """Start it on a job; returns when it is about to open its endpoint."""
        self.job = self.folder / f"{job.question.holders[job.me]}-{len(list(self.folder.iterdir()))}"
        self.job.write_bytes(pickle.dumps(job))
        assert self.process.stdin is not None
        print(self.job, file=self.process.stdin, flush=True)
        self.busy = True
        self.wait_for("begin")

    def wait_for(self, event: str, **least: int) -> dict[str, Any]:
        """The next event of this kind whose counts are at least these."""
        limit = time.monotonic() + SOON
        while True:
            found = self.events.get(timeout=max(0.0, limit - time.monotonic()))
            if found["event"] == event and all(found[name] >= number for name, number in least.items()):
                return found
            assert found["event"] not in ("done", "died"), found

    def outcome(self) -> Outcome:
        self.wait_for("done")
        self.busy = False
        return cast(Outcome, pickle.loads(self.job.with_suffix(".outcome").read_bytes()))

    def kill(self) -> None:
        """SIGKILL, and wait until it is gone."""
        assert self.process.stdin is not None
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()
        self.process.stdin.close()
        self.listener.join()

    def most_memory(self) -> int:
        """The most bytes that it has ever used."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return 1024 * int(status.split("VmHWM:")[1].split()[0])


class Company:
    """Workers that are kept from run to run; those that a test has killed, or left in the middle, are replaced."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._workers = folder, dict[int, Worker]()

    def workers(self, count: int) -> list[Worker]:
        """So many of them, all idle."""
        for worker in self._workers.values():
            if worker.busy:
                worker.kill()
        missing = [i for i in range(count) if i not in self._workers or self._workers[i].process.poll() is not None]
        self._workers |= {i: _start(self._folder) for i in missing}
        for i in missing:
            self._workers[i].wait_for("ready")
        return [self._workers[i] for i in range(count)]

    def stop(self) -> None:
        for worker in self._workers.values():
            worker.kill()


def _start(folder: Path) -> Worker:
    command = [sys.executable, peer_process.__file__]
    # A process that is killed leaves the folder of its port.
    (folder / "tmp").mkdir(exist_ok=True)
    environment = {**os.environ, "TMPDIR": str(folder / "tmp")}
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment)
    events: queue.Queue[dict[str, Any]] = queue.Queue()
    listener = threading.Thread(target=_listen, args=(process, events), daemon=True)
    listener.start()
    return Worker(process, events, listener, folder)


def _listen(process: subprocess.Popen[str], events: "queue.Queue[dict[str, Any]]") -> None:
    assert process.stdout is not None
    with process.stdout:
        for line in process.stdout:
            events.put(json.loads(line))
    events.put({"event": "died"})


@cache
def compile_kernels() -> None:
    """So that nobody's patience is spent on compiling: hand a batch from one mill to another in this process."""
    graph = GRAPHS["karate"]
    jobs = make_jobs(graph, Settings(walks=1, walk_length=10).resolve(graph.vertices), 1.0)
    first, second = WatchedMill(jobs[0]), WatchedMill(jobs[1])
    first.begin()
    second.receive(0, first.grind()[1].to_bytes(bytes.fromhex(KEY), 0))
    second.grind()


@contextmanager
def hired(folder: Path) -> Iterator[Company]:
    """A company that is gone when the block ends."""
    compile_kernels()
    company = Company(folder)
    try:
        yield company
    finally:
        company.stop()


def walk_all(workers: Sequence[Worker], jobs: Sequence[Job]) -> list[Outcome]:
    """One run, from the beginning to the end."""
    for worker, job in zip(workers, jobs, strict=True):
        worker.begin(job)
    return [worker.outcome() for worker in workers]
