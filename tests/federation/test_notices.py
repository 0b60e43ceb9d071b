"""What reaches a holder's owner of a log that many processes write."""

import io
import sys
import time
from contextlib import redirect_stderr
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedwalk.federation.notices import MARK, Changes, Notices, Tally, say


def append(log: Path, text: str) -> None:
    with log.open("a", encoding="utf-8") as file:
        file.write(text)


def test_only_the_owners_lines_come_and_none_from_before(tmp_path: Path) -> None:
    log = tmp_path / "holder.log"
    log.write_text("fedwalk: of yesterday\n")
    notices = Notices(log)
    append(log, "INFO: Flower says hello\nfedwalk: connected\nfedwalked: no\n")
    assert notices.new() == ["connected"]
    assert notices.new() == []


def test_a_line_that_is_half_written_waits_for_its_end(tmp_path: Path) -> None:
    log = tmp_path / "holder.log"
    notices = Notices(log)
    assert notices.new() == []
    append(log, "fedwalk: one\nfedwalk: tw")
    assert notices.new() == ["one"]
    append(log, "o\n")
    assert notices.new() == ["two"]


def test_a_log_that_was_put_away_is_read_from_its_new_beginning(tmp_path: Path) -> None:
    log = tmp_path / "holder.log"
    log.write_text("fedwalk: long ago\n" * 9)
    notices = Notices(log)
    log.write_text("fedwalk: new\n")
    assert notices.new() == ["new"]


def test_who_knocks_every_other_second_is_heard_once(capsys: pytest.CaptureFixture[str]) -> None:
    changes = Changes()
    for line in ("not yet", "not yet", "in", "not yet"):
        changes.say(line)
    assert capsys.readouterr().err.splitlines() == ["fedwalk: not yet", "fedwalk: in", "fedwalk: not yet"]


def test_a_flood_is_one_line_per_kind_and_minute(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    tally = Tally("dropped")
    for now in (1000.0, 1001.0, 1059.0, 1060.0, 1061.0):
        monkeypatch.setattr(time, "monotonic", now.__float__)
        tally.count("too many")
    tally.count("too slow")
    tally.finish()
    tally.finish()
    lines = ["1, too many", "3, too many", "1, too slow", "1, too many"]
    assert capsys.readouterr().err.splitlines() == [f"fedwalk: dropped: {line}" for line in lines]


def test_what_is_refused_every_day_is_heard_every_day(tmp_path: Path) -> None:
    log = tmp_path / "holder.log"
    notices = Notices(log)
    append(log, "fedwalk: refused\n")
    assert notices.new() == ["refused"]
    append(log, "fedwalk: refused\n")
    assert notices.new() == ["refused"]


def test_a_full_disk_ends_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    with Path("/dev/full").open("w") as full:
        monkeypatch.setattr(sys, "stderr", full)
        say("the disk is full")
        monkeypatch.undo()
        with pytest.raises(OSError, match="No space left"):
            full.close()


@given(st.text(min_size=1))
def test_whatever_is_said_is_one_line(text: str) -> None:
    said = io.StringIO()
    with redirect_stderr(said):
        say(text)
    assert said.getvalue().startswith(MARK)
    assert said.getvalue().splitlines(keepends=True) == [said.getvalue()]


def test_what_a_server_sends_moves_no_cursor(tmp_path: Path) -> None:
    log = tmp_path / "holder.log"
    notices = Notices(log)
    append(log, "fedwalk: refused: \x1b[2J\x07an app\n")
    assert notices.new() == ["refused: [2Jan app"]
