"""Replacing several files of a folder at once: after a crash either all are old or all are new.

Keys, certificates and the pass must match: a holder with a new certificate and an old key can't connect. The new files
are written to a subfolder, and renaming the subfolder commits the change. After that the files are moved to their
places. If a crash interrupts the moves, the next command that needs the files completes them (`finish_install`).
"""

import shutil
from pathlib import Path

from fedwalk.errors import InputError
from fedwalk.util.files import make_private_folder, sync_folder, write_private

STAGED, COMMITTED = "install.partial", "install"
"""Names of the subfolder before and after the change is committed."""


def install(folder: Path, files: dict[str, bytes]) -> None:
    """Replace the files of these names, all of them or none."""
    finish_install(folder)
    staged = folder / STAGED
    # From an install that was interrupted before it was committed.
    shutil.rmtree(staged, ignore_errors=True)
    make_private_folder(staged)
    for name, content in files.items():
        write_private(staged / name, content)
    try:
        staged.rename(folder / COMMITTED)
        sync_folder(folder)
    except OSError as error:
        raise _failure(folder, error) from error
    finish_install(folder)


def finish_install(folder: Path) -> None:
    """Complete an `install` that was committed and interrupted; does nothing if there is none."""
    committed = folder / COMMITTED
    if not committed.is_dir():
        return
    try:
        for file in sorted(committed.iterdir()):
            file.replace(folder / file.name)
        sync_folder(folder)
        committed.rmdir()
    except FileNotFoundError:
        # Another process is completing the same install.
        return
    except OSError as error:
        raise _failure(folder, error) from error


def _failure(folder: Path, error: OSError) -> InputError:
    return InputError(
        f"{folder}: its keys and certificates can't be replaced ({error.strerror or error}). Fix the problem and run "
        "the command again: it completes the change."
    )
