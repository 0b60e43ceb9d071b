"""Replace several files of a folder together, so that a crash leaves either all of the old ones or all of the new.

Keys, certificates and the pass belong together: a new certificate beside an old key is a holder that can't connect. The
new files are written into a folder beside the old ones, and renaming that folder decides. After it, each command that
needs the files first moves what hasn't been moved yet.
"""

import shutil
from pathlib import Path

from fedwalk.errors import InputError
from fedwalk.federation.private_file import make_private_folder, sync_folder, write_private

STAGED, DECIDED = "install.partial", "install"


def install(folder: Path, files: dict[str, bytes]) -> None:
    """Put these files in place of those of the same names, all of them or none."""
    finish_install(folder)
    staged = folder / STAGED
    shutil.rmtree(staged, ignore_errors=True)
    make_private_folder(staged)
    for name, content in files.items():
        write_private(staged / name, content)
    try:
        staged.rename(folder / DECIDED)
        sync_folder(folder)
    except OSError as error:
        raise _failure(folder, error) from error
    finish_install(folder)


def finish_install(folder: Path) -> None:
    """Complete what an interrupted `install` had decided; nothing if there is nothing to do."""
    decided = folder / DECIDED
    if not decided.is_dir():
        return
    try:
        for file in sorted(decided.iterdir()):
            file.replace(folder / file.name)
        sync_folder(folder)
        decided.rmdir()
    except FileNotFoundError:
        # Another process completes the same install.
        return
    except OSError as error:
        raise _failure(folder, error) from error


def _failure(folder: Path, error: OSError) -> InputError:
    return InputError(
        f"{folder}: its keys and certificates can't be replaced ({error.strerror or error}). Fix the problem and run "
        "the command again: it continues where it stopped."
    )
