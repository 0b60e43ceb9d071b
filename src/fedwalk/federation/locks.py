"""Locks between processes, which the system frees when a process ends, however that happens."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from fedwalk.errors import InputError


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


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """The folder for this process and thread alone, among all that ask like this; the others wait.

    The lock ends with the block, or with the process, however that ends.
    """
    try:
        descriptor = os.open(folder / "lock", os.O_CREAT | os.O_RDWR, 0o600)
    except OSError as error:
        raise InputError(
            f"{folder}: can't be changed ({error.strerror}). Is it the right folder, and yours?"
        ) from error
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)
