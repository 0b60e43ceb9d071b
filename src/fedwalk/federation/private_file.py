"""Files that only their owner may read: whole or not there, and on the disk before anybody is told.

Everything in an operator's and a holder's folder is kept like this, whatever the caller's umask: keys, neighbour lists
and answers because they are private, the rest because no other user needs it. The name is durable too, since a file
that a crash loses after its content was sent is worse than none.
"""

import os
from contextlib import suppress
from pathlib import Path

from fedwalk.errors import RunFolderError


def make_private_folder(path: Path) -> None:
    """Make the folder and those above it; this one is for its owner alone, even if it was there before."""
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        path.chmod(0o700)
        sync_folder(path.parent)
    except OSError as error:
        raise _failure(path, error) from error


def write_private(path: Path, data: bytes) -> None:
    """Replace the file by these bytes, in one step that survives a crash."""
    try:
        store(path, data, replace=True)
    except OSError as error:
        raise _failure(path, error) from error


def write_text(path: Path, text: str) -> None:
    """`write_private` for text."""
    write_private(path, text.encode())


def store(path: Path, data: bytes, *, replace: bool) -> None:
    """Write the file, or FileExistsError if there is one that isn't to be replaced; other OSErrors as they come."""
    target = path.with_name(path.name + ".partial") if replace else path
    if replace:
        target.unlink(missing_ok=True)  # its permissions might be others
    descriptor = os.open(target, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        target.replace(path)
    except BaseException:
        with suppress(OSError):
            target.unlink(missing_ok=True)
        raise
    sync_folder(path.parent)


def sync_folder(path: Path) -> None:
    """Wait until the names in this folder are on the disk."""
    folder = os.open(path, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def _failure(path: Path, error: OSError) -> RunFolderError:
    return RunFolderError(
        f"{path}: can't be written: {error.strerror or error}. Nothing was sent. Fix the problem and try again."
    )
