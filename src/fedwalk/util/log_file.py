"""Limiting the size of a log that several processes append to.

The processes keep the file open as long as they run, so renaming it would not start a new one. They append (O_APPEND):
after the file is truncated in place, the next line is written at its start.
"""

import os
import shutil
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

MAX_LOG = 16 << 20
"""Largest size of a log in bytes, checked each time `shrink_log` is called."""


def older(log: Path) -> Path:
    """The file with the lines from before the last truncation."""
    return log.with_name(log.name + ".old")


def shrink_log(log: Path) -> None:
    """If the log is too large, copy it to the older file and truncate it.

    Lines that are written between the two steps are lost. If the disk is full, the log is truncated without a copy,
    which frees space.
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
    """Create an empty private file in place of an earlier one."""
    # Unlinked first: an existing file would keep its mode.
    path.unlink(missing_ok=True)
    return os.fdopen(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "wb")
