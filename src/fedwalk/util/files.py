"""Every atomic write and every lock between processes.

`replace_file` writes a file under another name first and renames it when it is complete and on the disk. A crash, a
full disk or an interrupt leaves the old file or the new one, never half of either. All other writers here except
`create_private` call it. A private file is readable by its owner only, regardless of the umask.

All locks are `flock` on a lock file. The operating system releases them when the process ends, even after a crash, so
no lock goes stale.
"""

import errno
import fcntl
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from fedwalk.errors import InputError, RunFolderError

RETRY = "Fix the problem and try again."
PARTIAL = ".partial"
"""Suffix of the name under which a file is written before it is complete."""
POLL_SECONDS = 0.05
"""Seconds between two attempts to take a lock."""

Write = Callable[[BinaryIO], object]


def replace_file(path: Path, write: Write, *, private: bool = False, sync: bool = True) -> None:
    """Write a file atomically; OSError if that fails, with the old file still in place.

    Without `sync` the file is always complete too, but a crash of the machine may lose the new one.
    """
    partial = partial_of(path)
    try:
        with _open_partial(partial, private) as file:
            write(file)
            if sync:
                file.flush()
                os.fsync(file.fileno())
        partial.replace(path)
    # Also on KeyboardInterrupt: a partial file is never left behind.
    except BaseException:
        with suppress(OSError):
            partial.unlink(missing_ok=True)
        raise
    # The renaming itself is on the disk only when the folder is.
    if sync:
        sync_folder(path.parent)


def partial_of(path: Path) -> Path:
    """The path under which `replace_file` writes the file before it is complete."""
    return path.with_name(path.name + PARTIAL)


def _open_partial(partial: Path, private: bool) -> BinaryIO:
    return partial.open("wb") if not private else open(partial, "wb", opener=_open_private)


def _open_private(path: str, flags: int) -> int:
    """Open a file with mode 0600, also if a killed process left it with another mode."""
    descriptor = os.open(path, flags, 0o600)
    os.fchmod(descriptor, 0o600)
    return descriptor


def write_file(path: Path, write: Write, *, private: bool = False, advice: str = RETRY) -> None:
    """`replace_file` with a RunFolderError that says what is wrong and what to do."""
    try:
        replace_file(path, write, private=private)
    except OSError as error:
        raise write_failure(path, error, advice) from error


def write_text(path: Path, text: str, *, private: bool = False, advice: str = RETRY) -> None:
    """`write_file` for text."""
    write_file(path, lambda file: file.write(text.encode()), private=private, advice=advice)


def write_private(path: Path, data: bytes | str, advice: str = RETRY) -> None:
    """`write_file` for private bytes or text."""
    content = data.encode() if isinstance(data, str) else data
    write_file(path, lambda file: file.write(content), private=True, advice=advice)


def create_private(path: Path, data: bytes) -> None:
    """Write a private file that must not exist yet: FileExistsError if it does, or another OSError."""
    # O_EXCL also refuses a symbolic link, which could direct a secret to another place.
    descriptor = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
    except BaseException:
        with suppress(OSError):
            path.unlink(missing_ok=True)
        raise
    sync_folder(path.parent)


def make_private_folder(path: Path, advice: str = RETRY) -> None:
    """Make a folder and its parents. The folder itself gets mode 0700, even if it existed before."""
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        path.chmod(0o700)
        sync_folder(path.parent)
    except OSError as error:
        raise write_failure(path, error, advice) from error


def sync_folder(path: Path) -> None:
    """Wait until changes of names in this folder are on the disk."""
    folder = os.open(path, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def write_failure(path: Path, error: OSError, advice: str) -> RunFolderError:
    """The error for a file that can't be written: the reason, and what to do."""
    full = "The disk is full: free some space first. " if error.errno in (errno.ENOSPC, errno.EDQUOT) else ""
    return RunFolderError(f"{path}: can't be written: {error.strerror or error}. {full}{advice}")


@contextmanager
def try_lock(path: Path, timeout: float = 0.0) -> Iterator[bool]:
    """Lock the file `path` for the block if it becomes free within `timeout` seconds; yields whether it did.

    OSError if the lock file can't be opened.
    """
    descriptor = os.open(path, os.O_CREAT | os.O_RDWR, 0o600)
    try:
        yield _acquire(descriptor, time.monotonic() + timeout)
    finally:
        # Closing the file releases the lock.
        os.close(descriptor)


def _acquire(descriptor: int, end: float) -> bool:
    # flock waits either without limit or not at all, so a wait with a timeout has to poll.
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        except BlockingIOError:
            if time.monotonic() >= end:
                return False
            time.sleep(POLL_SECONDS)


def is_locked(path: Path) -> bool:
    """Whether another process, or another block of this one, holds the lock now."""
    with try_lock(path) as free:
        return not free


@contextmanager
def lock_folder(folder: Path) -> Iterator[None]:
    """Lock the folder (the file `lock` in it) for the block; other processes wait until it is released."""
    try:
        descriptor = os.open(folder / "lock", os.O_CREAT | os.O_RDWR, 0o600)
    except OSError as error:
        raise InputError(
            f"{folder}: can't be changed ({error.strerror}). Check the path and its permissions."
        ) from error
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)
