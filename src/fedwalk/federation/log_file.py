"""A log that several processes append to, kept within bounds.

The processes hold the file open for as long as they run, so it can't be moved away. They append (O_APPEND): when the
file is cut to nothing in place, the next line becomes its first.
"""

import os
import shutil
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

MAX_LOG = 16 << 20
"""Bytes of a log, and of the one before it."""


def older(log: Path) -> Path:
    """Where the lines before the last cut are."""
    return log.with_name(log.name + ".old")


def shrink_log(log: Path) -> None:
    """If the log has become too large, keep it as the older one and begin anew.

    A line that is written at that very moment can be lost. A full disk is no reason to fail, but one to make room.
    """
    with suppress(OSError):
        if log.stat().st_size <= MAX_LOG:
            return
        try:
            with log.open("rb") as source, _create(older(log)) as target:
                shutil.copyfileobj(source, target, 1 << 20)
        finally:
            os.truncate(log, 0)


def _create(path: Path) -> BinaryIO:
    """An empty file for its owner alone, in place of an earlier one."""
    path.unlink(missing_ok=True)
    return os.fdopen(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "wb")
