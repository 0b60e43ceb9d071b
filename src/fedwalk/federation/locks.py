"""Locks between processes, which the system frees when a process ends, however that happens."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def held(path: Path) -> Iterator[bool]:
    """Hold a lock for the block, if it is free: whether it was. The system frees it when the process ends."""
    lock = os.open(path, os.O_CREAT | os.O_RDWR, 0o600)
    try:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            free = True
        except BlockingIOError:
            free = False
        yield free
    finally:
        os.close(lock)


def is_busy(path: Path) -> bool:
    """Whether somebody holds this lock."""
    with held(path) as free:
        return not free
