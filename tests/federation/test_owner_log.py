"""The owner log: lines for the owner in a file that many processes write."""

import io
import sys
import time
from contextlib import redirect_stderr
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedwalk.federation.owner_log import MARK, ChangeLogger, EventCounter, OwnerLogReader, log_for_owner


def append(log: Path, text: str) -> None:
    with log.open("a", encoding="utf-8") as file:
        file.write(text)


def test_only_the_owners_new_lines_are_read(tmp_path: Path) -> None:
    log = tmp_path / "holder.log"
    log.write_text("fedwalk: of yesterday\n")
    owner_log = OwnerLogReader(log)
    append(log, "INFO: Flower says hello\nfedwalk: connected\nfedwalked: no\n")
    assert owner_log.new_lines() == ["connected"]
    assert owner_log.new_lines() == []


def test_an_incomplete_line_is_read_once_it_is_complete(tmp_path: Path) -> None:
    log = tmp_path / "holder.log"
    owner_log = OwnerLogReader(log)
    assert owner_log.new_lines() == []
    append(log, "fedwalk: one\nfedwalk: tw")
    assert owner_log.new_lines() == ["one"]
    append(log, "o\n")
    assert owner_log.new_lines() == ["two"]


def test_a_truncated_log_is_read_from_its_start(tmp_path: Path) -> None:
    log = tmp_path / "holder.log"
    log.write_text("fedwalk: long ago\n" * 9)
    owner_log = OwnerLogReader(log)
    log.write_text("fedwalk: new\n")
    assert owner_log.new_lines() == ["new"]


def test_a_repeated_line_is_logged_once(capsys: pytest.CaptureFixture[str]) -> None:
    changes = ChangeLogger()
    for line in ("not yet", "not yet", "in", "not yet"):
        changes.log(line)
    assert capsys.readouterr().err.splitlines() == ["fedwalk: not yet", "fedwalk: in", "fedwalk: not yet"]


def test_many_events_give_one_line_per_kind_and_minute(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    counter = EventCounter("dropped")
    for now in (1000.0, 1001.0, 1059.0, 1060.0, 1061.0):
        monkeypatch.setattr(time, "monotonic", now.__float__)
        counter.count("too many")
    counter.count("too slow")
    counter.finish()
    counter.finish()
    lines = ["1, too many", "3, too many", "1, too slow", "1, too many"]
    assert capsys.readouterr().err.splitlines() == [f"fedwalk: dropped: {line}" for line in lines]


def test_equal_lines_are_all_read(tmp_path: Path) -> None:
    log = tmp_path / "holder.log"
    owner_log = OwnerLogReader(log)
    append(log, "fedwalk: refused\n")
    assert owner_log.new_lines() == ["refused"]
    append(log, "fedwalk: refused\n")
    assert owner_log.new_lines() == ["refused"]


def test_logging_to_a_full_disk_raises_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    with Path("/dev/full").open("w") as full:
        monkeypatch.setattr(sys, "stderr", full)
        log_for_owner("the disk is full")
        monkeypatch.undo()
        with pytest.raises(OSError, match="No space left"):
            full.close()


@given(st.text(min_size=1))
def test_any_text_is_logged_as_one_line(text: str) -> None:
    said = io.StringIO()
    with redirect_stderr(said):
        log_for_owner(text)
    assert said.getvalue().startswith(MARK)
    assert said.getvalue().splitlines(keepends=True) == [said.getvalue()]


def test_control_characters_are_removed(tmp_path: Path) -> None:
    log = tmp_path / "holder.log"
    owner_log = OwnerLogReader(log)
    append(log, "fedwalk: refused: \x1b[2J\x07an app\n")
    assert owner_log.new_lines() == ["refused: [2Jan app"]
