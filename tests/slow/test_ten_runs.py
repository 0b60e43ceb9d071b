"""Ten runs by the real commands: neither folders nor processes grow from the third run to the tenth."""

import re
import signal
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from fedwalk import social_network
from fedwalk.federation.deploy.follow_run import run
from fedwalk.federation.deploy.local_federation import LocalFederation, make_federation
from fedwalk.federation.deploy.processes import tagged
from fedwalk.federation.deploy.services import read_tag
from fedwalk.settings import Settings
from helpers.commands import SOON, processes_of, start_command

pytestmark = pytest.mark.slow
EARLY, LATE = 3, 10
SETTINGS = Settings(protocol="ldp", epsilon=5.0, num_walks=2, walk_length=10, dim=8, threads=1)
MORE_MEMORY, MORE_DISK = 16 << 20, 64 << 10
"""Bytes that may come on top from one measurement to the other: per long-lived process, and per folder."""


@contextmanager
def serving(federation: LocalFederation) -> Iterator[None]:
    """Server and holders by their commands."""
    commands = [("server", federation.server.path), *(("holder", holder.path) for holder in federation.holders)]
    with ExitStack() as stack:
        for command, path in commands:
            process = stack.enter_context(start_command("federate", command, path))
            stack.callback(process.wait, SOON)
            stack.callback(process.send_signal, signal.SIGTERM)
            assert process.stdout is not None
            assert re.search("listens on|is running", process.stdout.readline())
        yield


def disk(path: Path) -> int:
    """Bytes of a folder, without what has bounds of its own: answers to the last runs, SQLite's write-ahead log."""
    files = [file for file in path.rglob("*") if file.is_file() and "runs" not in file.relative_to(path).parts]
    return sum(file.stat().st_size for file in files if not file.name.endswith(("-wal", "-shm")))


def memory(federation: LocalFederation) -> dict[int, int]:
    """Resident bytes of each process that lives from run to run."""
    states = [federation.server.state, *(holder.state for holder in federation.holders)]
    processes = [process for state in states for process in tagged(read_tag(state) or "")]
    return {process.pid: process.memory_info().rss for process in processes}


def test_neither_folders_nor_processes_grow(tmp_path: Path) -> None:
    graph = social_network(vertices=80, mean_degree=8, communities=3, seed=1)
    federation = make_federation(tmp_path / "federation", graph, 2)
    folders = [federation.server.path, *(holder.path for holder in federation.holders)]
    measured: dict[int, tuple[list[int], dict[int, int]]] = {}
    with serving(federation):
        for i in range(1, LATE + 1):
            run(federation.server, SETTINGS, tmp_path / f"run-{i}", patience=60)
            measured[i] = [disk(folder) for folder in folders], memory(federation)
            print(f"run {i}: {measured[i][0]} bytes on disk, {sum(measured[i][1].values()) >> 20} MB of memory")
    (early_disk, early), (late_disk, late) = measured[EARLY], measured[LATE]
    assert all(after - before < MORE_DISK for before, after in zip(early_disk, late_disk, strict=True))
    lasting = early.keys() & late.keys()
    assert len(lasting) >= 2 * len(folders), "a SuperLink or SuperNode and its SuperExec each"
    assert all(late[pid] - early[pid] < MORE_MEMORY for pid in lasting)
    assert len(late) <= len(early) + 2
    for holder in federation.holders:
        assert len(list((holder.answer_store / "runs").iterdir())) <= 16
    assert processes_of(tmp_path) == []
