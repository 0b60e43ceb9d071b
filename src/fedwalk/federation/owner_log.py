"""The owner log: lines that a holder's processes write for its owner, and that the `holder` command prints.

They are the lines of the holder's log file that start with `MARK`. Flower's own lines have no mark and stay in the
file. Nothing of the log leaves the holder's machine.
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


def log_for_owner(text: str) -> None:
    """Write one line to the owner log (stderr, which the deployment redirects to the log file)."""
    # One write per line: several processes append to the same file. A full disk must not end a walk, hence `suppress`.
    with suppress(OSError):
        # Line breaks become spaces: a second line would lack the mark, or could carry a forged one.
        sys.stderr.write(MARK + " ".join(text.split()) + "\n")
        sys.stderr.flush()


class ChangeLogger:
    """Logs a line only if it differs from the previous one, for loops that retry."""

    def __init__(self) -> None:
        self._last = ""

    def log(self, text: str) -> None:
        """Log the line unless the previous call logged the same."""
        if text != self._last:
            self._last = text
            log_for_owner(text)


class EventCounter:
    """Logs how often events happened: at most one line per minute for each kind, and the remaining counts at the end.

    A peer that opens thousands of connections must not fill the log.
    """

    def __init__(self, subject: str) -> None:
        self._subject = subject
        self._pending: Counter[str] = Counter()
        self._last: dict[str, float] = {}

    def count(self, kind: str) -> None:
        """Count one event of this kind, and log the count if the last line is a minute old."""
        self._pending[kind] += 1
        # The default makes the first event of each kind due at once.
        if time.monotonic() >= self._last.get(kind, -MINUTE) + MINUTE:
            self._log(kind)

    def finish(self) -> None:
        """Log the counts that no line has reported yet."""
        for kind in list(self._pending):
            self._log(kind)

    def _log(self, kind: str) -> None:
        self._last[kind] = time.monotonic()
        log_for_owner(f"{self._subject}: {self._pending.pop(kind):,}, {kind}")


class OwnerLogReader:
    """Reads the owner's lines that are appended to a log file after the reader was made."""

    def __init__(self, log: Path) -> None:
        self._log = log
        self._offset = log.stat().st_size if log.exists() else 0

    def new_lines(self) -> list[str]:
        """The owner's complete lines since the last call, without their mark."""
        try:
            with self._log.open("rb") as file:
                # A file that is shorter than what was read has been truncated by `shrink_log`: read it from its start.
                self._offset = self._offset if file.seek(0, SEEK_END) >= self._offset else 0
                file.seek(self._offset)
                arrived = file.read()
        except OSError:
            return []
        # An incomplete last line stays for the next call.
        complete = arrived[: arrived.rfind(b"\n") + 1]
        self._offset += len(complete)
        return [text for text in map(_owner_text, complete.split(b"\n")) if text]


def _owner_text(line: bytes) -> str:
    """The line without its mark; empty if it isn't for the owner."""
    text = line.decode("utf-8", "replace")
    # Parts of a line can come from the server. Without control characters it can't move the cursor of a terminal.
    return "".join(c for c in text.removeprefix(MARK) if c.isprintable()) if text.startswith(MARK) else ""
