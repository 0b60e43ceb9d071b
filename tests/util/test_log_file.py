"""A log is truncated while processes write to it, and few lines are lost."""

import sys
from pathlib import Path

import pytest

from fedwalk.federation.deploy.processes import Started, start, stop
from fedwalk.federation.deploy.services import wait_until_stopped
from fedwalk.federation.owner_log import OwnerLogReader
from fedwalk.util import log_file
from fedwalk.util.log_file import older, shrink_log

WRITER = """
import os, sys, time

def write(i):
    sys.stderr.write(f"fedwalk: {i} {'x' * 80}\\n")
    sys.stderr.flush()

for i in range(10000):
    write(i)
    if i % 100 == 0:
        time.sleep(0.03)
# A line that is written just before the log is truncated may be lost. The last one is written to a short log.
while os.fstat(2).st_size > 50_000:
    i += 1
    write(i)
    time.sleep(0.01)
write(1_000_000)
"""


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log_file, "MAX_LOG", 100_000)


def test_a_small_log_is_left_alone_and_a_missing_one_is_no_error(tmp_path: Path) -> None:
    log = tmp_path / "holder.log"
    shrink_log(log)
    log.write_bytes(bytes(100_000))
    shrink_log(log)
    assert list(tmp_path.iterdir()) == [log]
    assert log.stat().st_size == 100_000


def test_a_large_log_is_moved_to_a_private_older_file(tmp_path: Path) -> None:
    log = tmp_path / "holder.log"
    for size in (100_001, 200_000):
        log.write_bytes(bytes(size))
        shrink_log(log)
        assert log.stat().st_size == 0
        assert older(log).stat().st_size == size
        assert older(log).stat().st_mode & 0o777 == 0o600
    assert sorted(path.name for path in tmp_path.iterdir()) == ["holder.log", "holder.log.old"]


def test_a_log_on_a_full_disk_is_truncated_without_a_copy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = tmp_path / "holder.log"
    log.write_bytes(bytes(200_000))
    monkeypatch.setattr(log_file, "older", lambda log: tmp_path / "no such folder" / "old")
    shrink_log(log)
    assert log.stat().st_size == 0


def test_a_stop_signal_during_the_first_output_is_a_request_to_stop(tmp_path: Path) -> None:
    log = tmp_path / "holder.log"
    started = start([sys.executable, "-c", "import time; time.sleep(60)"], {}, log)

    def interrupted() -> None:
        raise KeyboardInterrupt

    try:
        assert wait_until_stopped(started, log, on_start=interrupted) == 0
    finally:
        started.process.kill()
        started.process.wait()


def test_truncating_during_writes_loses_few_lines_and_repeats_none(tmp_path: Path) -> None:
    log = tmp_path / "holder.log"
    owner_log, lines, largest = OwnerLogReader(log), list[str](), 0
    started = start([sys.executable, "-c", WRITER], {}, log)

    def meanwhile() -> None:
        nonlocal largest
        lines.extend(owner_log.new_lines())
        largest = max(largest, log.stat().st_size)

    assert wait_until_stopped(started, log, meanwhile) == 0
    numbers = [int(line.split()[0]) for line in lines]
    assert len(set(numbers)) == len(numbers)
    assert numbers == sorted(numbers)
    assert numbers[-1] == 1_000_000
    assert len(numbers) > 9_000
    assert older(log).exists()
    assert log.stat().st_size < largest


def test_a_log_is_also_truncated_before_a_process_starts(tmp_path: Path) -> None:
    log = tmp_path / "server.log"
    log.write_bytes(bytes(200_000))
    shrink_log(log)
    started: Started = start([sys.executable, "-c", "print('first')"], {}, log)
    assert started.process.wait(60) == 0
    stop(started)
    assert log.read_text() == "first\n"
