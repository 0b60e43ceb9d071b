"""What a holder's processes tell its owner: lines of its log with a mark, which the `holder` command repeats.

Flower's own lines stay in the log alone. Nothing of this is sent to anybody.
"""

import sys
import time
from collections import Counter
from contextlib import suppress
from io import SEEK_END
from pathlib import Path

MARK = "fedwalk: "
MINUTE = 60.0
"""Seconds between two lines about the same kind of event."""


def say(text: str) -> None:
    """A line for the owner, in one piece: others write to the same log. A full disk is no reason to fail."""
    with suppress(OSError):
        sys.stderr.write(MARK + " ".join(text.split()) + "\n")
        sys.stderr.flush()


class Changes:
    """Says what is new, and nothing twice in a row: for whoever tries again and again."""

    def __init__(self) -> None:
        self._last = ""

    def say(self, text: str) -> None:
        """A line, unless it was the last one."""
        if text != self._last:
            self._last = text
            say(text)


class Tally:
    """Says how often something happened: per kind at most one line a minute, and the rest at the end."""

    def __init__(self, subject: str) -> None:
        self._subject = subject
        self._unsaid: Counter[str] = Counter()
        self._last: dict[str, float] = {}

    def count(self, kind: str) -> None:
        """It happened once more."""
        self._unsaid[kind] += 1
        if time.monotonic() >= self._last.get(kind, -MINUTE) + MINUTE:
            self._say(kind)

    def finish(self) -> None:
        """Say what hasn't been said."""
        for kind in list(self._unsaid):
            self._say(kind)

    def _say(self, kind: str) -> None:
        self._last[kind] = time.monotonic()
        say(f"{self._subject}: {self._unsaid.pop(kind):,}, {kind}")


class Notices:
    """The owner's lines of a log, from now on."""

    def __init__(self, log: Path) -> None:
        self._log = log
        self._read = log.stat().st_size if log.exists() else 0

    def new(self) -> list[str]:
        """Whole lines since the last call."""
        try:
            with self._log.open("rb") as file:
                # A log that has become shorter was begun anew (`log_file`).
                self._read = self._read if file.seek(0, SEEK_END) >= self._read else 0
                file.seek(self._read)
                arrived = file.read()
        except OSError:
            return []
        whole = arrived[: arrived.rfind(b"\n") + 1]
        self._read += len(whole)
        return [line for line in map(_words, whole.split(b"\n")) if line]


def _words(line: bytes) -> str:
    """The line without its mark; nothing if it isn't the owner's. No control character reaches a terminal."""
    text = line.decode("utf-8", "replace")
    return "".join(c for c in text.removeprefix(MARK) if c.isprintable()) if text.startswith(MARK) else ""
