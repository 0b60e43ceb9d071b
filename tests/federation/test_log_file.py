"""A log within bounds: cut while processes write to it, and nothing that matters is lost."""

import sys
from pathlib import Path

import pytest

from fedwalk.federation import log_file
from fedwalk.federation.log_file import older, shrink_log
from fedwalk.federation.notices import Notices
from fedwalk.federation.processes import Started, start, stop
from fedwalk.federation.service import until_stopped

WRITER = """
import sys, time
for i in range(10000):
    sys.stderr.write(f"fedwalk: {i} {'x' * 80}\\n")
    sys.stderr.flush()
    if i % 100 == 0:
        time.sleep(0.03)
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


def test_a_large_log_becomes_the_older_one_for_its_owner_alone(tmp_path: Path) -> None:
    log = tmp_path / "holder.log"
    for size in (100_001, 200_000):
        log.write_bytes(bytes(size))
        shrink_log(log)
        assert log.stat().st_size == 0
        assert older(log).stat().st_size == size
        assert older(log).stat().st_mode & 0o777 == 0o600
    assert sorted(path.name for path in tmp_path.iterdir()) == ["holder.log", "holder.log.old"]


def test_a_disk_that_is_full_gets_room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = tmp_path / "holder.log"
    log.write_bytes(bytes(200_000))
    monkeypatch.setattr(log_file, "older", lambda log: tmp_path / "no such folder" / "old")
    shrink_log(log)
    assert log.stat().st_size == 0


def test_a_log_that_is_cut_while_a_process_writes_loses_few_lines_and_none_twice(tmp_path: Path) -> None:
    log = tmp_path / "holder.log"
    notices, lines, largest = Notices(log), list[str](), 0
    started = start([sys.executable, "-c", WRITER], {}, log)

    def meanwhile() -> None:
        nonlocal largest
        lines.extend(notices.new())
        largest = max(largest, log.stat().st_size)

    assert until_stopped(started, log, meanwhile) == 0
    numbers = [int(line.split()[0]) for line in lines]
    assert len(set(numbers)) == len(numbers)
    assert numbers == sorted(numbers)
    assert numbers[-1] == 9_999
    assert len(numbers) > 9_000
    assert older(log).exists()
    assert log.stat().st_size < largest


def test_a_log_is_cut_before_a_process_starts_too(tmp_path: Path) -> None:
    log = tmp_path / "server.log"
    log.write_bytes(bytes(200_000))
    shrink_log(log)
    started: Started = start([sys.executable, "-c", "print('first')"], {}, log)
    assert started.process.wait(60) == 0
    stop(started)
    assert log.read_text() == "first\n"
