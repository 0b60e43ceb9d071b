"""What a holder's processes tell its owner: lines of its log with a mark, which the `holder` command repeats.

Flower's own lines stay in the log alone. Nothing of this is sent to anybody.
"""

import sys
from io import SEEK_END
from pathlib import Path

MARK = "fedwalk: "


def say(text: str) -> None:
    """A line for the owner."""
    print(MARK + " ".join(text.split()), file=sys.stderr, flush=True)


class Notices:
    """The owner's lines of a log, from now on."""

    def __init__(self, log: Path) -> None:
        self._log = log
        self._read = log.stat().st_size if log.exists() else 0
        self._last = ""

    def new(self) -> list[str]:
        """Whole lines since the last call; one that only repeats the line before it is left out."""
        try:
            with self._log.open("rb") as file:
                # A log that has become shorter was begun anew.
                self._read = self._read if file.seek(0, SEEK_END) >= self._read else 0
                file.seek(self._read)
                arrived = file.read()
        except OSError:
            return []
        whole = arrived[: arrived.rfind(b"\n") + 1]
        self._read += len(whole)
        return [line for line in map(_words, whole.split(b"\n")) if line and self._is_new(line)]

    def _is_new(self, line: str) -> bool:
        before, self._last = self._last, line
        return line != before


def _words(line: bytes) -> str:
    """The line without its mark; nothing if it isn't the owner's. No control character reaches a terminal."""
    text = line.decode("utf-8", "replace")
    return "".join(c for c in text.removeprefix(MARK) if c.isprintable()) if text.startswith(MARK) else ""
