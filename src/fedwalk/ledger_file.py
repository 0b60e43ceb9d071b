"""A ledger that outlives its run: what the same devices have released before, kept as JSON.

One file stands for all devices of a simulation; in a deployment each device keeps its own (`ListDevice.state`).
"""

import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from fedwalk.errors import RunFolderError
from fedwalk.privacy.ledger import Ledger
from fedwalk.run_folder import PROGRESS, RESULTS, write_text


def read_ledger(path: Path) -> Ledger:
    """The ledger of this file, or an empty one if there is no such file yet."""
    if not path.exists():
        return Ledger()
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise RunFolderError(f"{path}: is no readable ledger ({error}). Restore it, or name another file.") from error
    return Ledger.from_dict(content, str(path))


def update_ledger(path: Path, enter: Callable[[Ledger], Ledger]) -> None:
    """Write down what `enter` makes of the ledger as it is now, whole or not at all, with nobody else in between."""
    path = path.resolve()
    with _locked(path):
        content = {"simulation": True, **enter(read_ledger(path)).as_dict()}
        write_text(path, json.dumps(content, indent=2, ensure_ascii=False) + "\n")


def check_ledger_path(path: Path | None, run: Path) -> None:
    """Refuse a file that the run itself would overwrite or clear away, and a folder that isn't there."""
    if path is None:
        return
    inside = path.resolve().parent in (run.resolve(), (run / PROGRESS).resolve())
    if path.is_dir() or (inside and path.name in (*RESULTS, PROGRESS)) or path.resolve().parent.name == PROGRESS:
        raise RunFolderError(f"{path}: no ledger can be there. Name a file outside the run's own.")
    if not inside and not path.resolve().parent.is_dir():
        raise RunFolderError(f"{path}: there is no such folder. Make it, or name another file for the ledger.")


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Hold the ledger for the moment of reading and writing."""
    lock = path.with_name(path.name + ".lock")
    try:
        os.close(os.open(lock, os.O_CREAT | os.O_EXCL | os.O_WRONLY))
    except FileExistsError:
        raise RunFolderError(
            f"{path}: another run is writing it. Try again; if there is none, remove {lock} and try again."
        ) from None
    except OSError as error:
        raise RunFolderError(f"{path}: can't be written: {error.strerror}. Name another file.") from error
    try:
        yield
    finally:
        lock.unlink(missing_ok=True)
