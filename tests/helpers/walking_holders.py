"""A pool of holders that walk in their own processes, on loopback, each with its certificate."""

import json
import os
import pickle
import queue
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Any, cast

from fedwalk.federation.membership.certificates import Authority
from fedwalk.federation.membership.keys import Credentials, new_authority, new_node_key, new_tls_key
from fedwalk.federation.membership.requests import holder_certificate, holder_request, read_request
from fedwalk.graph import Graph
from fedwalk.settings import Settings
from helpers.commands import helper_command
from helpers.peer_process import Job, Outcome, WatchedEngine
from helpers.simulation import GRAPHS
from helpers.walk_questions import KEY, own_neighbours, random_owners, walk_question

NAMES = ["ann", "bob", "cyd", "dan"]
SOON = 60.0
"""Seconds to wait for a process before it counts as hanging."""


@cache
def authority() -> Authority:
    return new_authority("test", days=2)


@cache
def credentials(name: str) -> Credentials:
    return certified(authority(), name)


def certified(by: Authority, name: str, begin: datetime | None = None) -> Credentials:
    """Credentials of a holder that trusts the tests' authority and was admitted by the authority `by`."""
    key = new_tls_key()
    request = read_request(holder_request(name, "127.0.0.1:1", ["device"], key, new_node_key()))
    return Credentials(authority().certificate, holder_certificate(by, request, 1, begin), key)


def free_addresses(count: int) -> list[str]:
    """Unused addresses on loopback."""
    with ExitStack() as stack:
        listening = [stack.enter_context(socket.create_server(("127.0.0.1", 0))) for _ in range(count)]
        return [f"127.0.0.1:{one.getsockname()[1]}" for one in listening]


def make_jobs(graph: Graph, settings: Settings, patience: float, owner: Any = None, **how: Any) -> list[Job]:
    """A job for each of the holders NAMES, which walk on this graph."""
    owner = random_owners(graph, len(NAMES)) if owner is None else owner
    addresses = free_addresses(len(NAMES))
    return [
        Job(
            walk_question(graph, settings, owner, NAMES, addresses, me, patience),
            own_neighbours(graph, owner, me), me, settings.seed, credentials(name), addresses[me], **how,
        )
        for me, name in enumerate(NAMES)
    ]  # fmt: skip


@dataclass
class Worker:
    """A process that walks as one holder."""

    process: subprocess.Popen[str]
    events: "queue.Queue[dict[str, Any]]"
    listener: threading.Thread
    folder: Path
    job: Path = Path()
    busy: bool = False

    def begin(self, job: Job) -> None:
        """Start a job; returns when the process is about to open its peer service."""
        self.job = self.folder / f"{job.question.holders[job.me]}-{len(list(self.folder.iterdir()))}"
        self.job.write_bytes(pickle.dumps(job))
        assert self.process.stdin is not None
        print(self.job, file=self.process.stdin, flush=True)
        self.busy = True
        self.wait_for("begin")

    def wait_for(self, event: str, timeout: float = SOON, **minimum: int) -> dict[str, Any]:
        """The next event of this kind whose counts are at least these."""
        limit = time.monotonic() + timeout
        while True:
            arrived = self.events.get(timeout=max(0.0, limit - time.monotonic()))
            if arrived["event"] == event and all(arrived[name] >= number for name, number in minimum.items()):
                return arrived
            assert arrived["event"] not in ("done", "died"), arrived

    def outcome(self) -> Outcome:
        # Longer than for an event: under a flood on a busy machine, a walk phase can take a minute.
        self.wait_for("done", timeout=3 * SOON)
        self.busy = False
        return cast(Outcome, pickle.loads(self.job.with_suffix(".outcome").read_bytes()))

    def kill(self) -> None:
        """Send SIGKILL, and wait until the process has ended."""
        assert self.process.stdin is not None
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()
        self.process.stdin.close()
        self.listener.join()

    def peak_memory(self) -> int:
        """The peak memory of the process, in bytes."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return 1024 * int(status.split("VmHWM:")[1].split()[0])


class WorkerPool:
    """Worker processes that are reused from test to test; killed or still busy ones are replaced."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._workers = folder, dict[int, Worker]()

    def workers(self, count: int) -> list[Worker]:
        """Return `count` idle workers."""
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
    command = helper_command("peer_process")
    # A killed process leaves the folder of its port behind.
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
    """Compile the kernels in this process, so that no holder's patience is spent on it."""
    graph = GRAPHS["karate"]
    jobs = make_jobs(graph, Settings(num_walks=1, walk_length=10).resolve(graph.vertices), 1.0)
    first, second = WatchedEngine(jobs[0]), WatchedEngine(jobs[1])
    first.begin()
    second.receive(0, first.advance()[1].to_bytes(bytes.fromhex(KEY), 0))
    second.advance()


@contextmanager
def worker_pool(folder: Path) -> Iterator[WorkerPool]:
    """A pool that is stopped when the block ends."""
    compile_kernels()
    pool = WorkerPool(folder)
    try:
        yield pool
    finally:
        pool.stop()


def walk_all(workers: Sequence[Worker], jobs: Sequence[Job]) -> list[Outcome]:
    """Let all workers walk from the beginning to the end."""
    for worker, job in zip(workers, jobs, strict=True):
        worker.begin(job)
    return [worker.outcome() for worker in workers]
