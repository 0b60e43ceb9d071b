"""Ledger files: what the same devices released in several runs, as JSON.

A simulation has one file for all its devices; in a federation each device keeps its own ledger (`ReportDevice.state`).
"""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from fedwalk._version import __version__
from fedwalk.errors import RunFolderError
from fedwalk.privacy.ledger import Ledger
from fedwalk.run.folder import PROGRESS, RESULTS, write_text
from fedwalk.util.files import try_lock

FORMAT = 2
"""Format 1 had no number, and other names for releases: it was written before 0.1.0 was released."""
LOCK_TIMEOUT = 30.0
"""Seconds to wait for another run that is writing the same ledger."""


def read_ledger(path: Path) -> Ledger:
    """Read a ledger; an empty one if the file doesn't exist yet."""
    if not path.exists():
        return Ledger()
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise RunFolderError(
            f"{path}: can't be read as a ledger ({error}). Restore it from a backup; name another file only for "
            "devices that have released nothing."
        ) from error
    if isinstance(content, dict) and "releases" in content and content.get("format") != FORMAT:
        raise RunFolderError(
            f"{path}: was written by fedwalk {content.get('fedwalk', '0.1.0 before its release')} in format "
            f"{content.get('format', 1)!s:.20}; fedwalk {__version__} reads format {FORMAT}. Keep "
            "it: it lists what was released. Use that version for these devices, or name another file for devices that "
            "have released nothing."
        )
    return Ledger.from_dict(content, str(path))


def update_ledger(path: Path, enter: Callable[[Ledger], Ledger]) -> None:
    """Replace the ledger by what `enter` returns for it. The file is locked meanwhile, and replaced atomically."""
    path = path.resolve()
    with _locked(path):
        head = {"fedwalk": __version__, "format": FORMAT, "simulation": True}
        content = {**head, **enter(read_ledger(path)).as_dict()}
        write_text(path, json.dumps(content, indent=2, ensure_ascii=False) + "\n")


def check_ledger_path(path: Path | None, run: Path) -> None:
    """Raise RunFolderError for a file that the run would overwrite or remove, and for a folder that doesn't exist."""
    if path is None:
        return
    inside = path.resolve().parent in (run.resolve(), (run / PROGRESS).resolve())
    if path.is_dir() or (inside and path.name in (*RESULTS, PROGRESS)) or path.resolve().parent.name == PROGRESS:
        raise RunFolderError(f"{path}: a ledger can't be there. Name a file that isn't one of the run's own.")
    if not inside and not path.resolve().parent.is_dir():
        raise RunFolderError(f"{path}: there is no such folder. Make it, or name another file for the ledger.")


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Lock the ledger while it is read and written; the operating system releases the lock if this process dies."""
    lock = path.with_name(path.name + ".lock")
    try:
        with try_lock(lock, LOCK_TIMEOUT) as free:
            if not free:
                raise RunFolderError(f"{path}: another run has been writing it for {LOCK_TIMEOUT:g} s. Try again.")
            yield
    except PermissionError as error:
        raise RunFolderError(f"{lock}: can't be opened: {error.strerror}. Name another file.") from error
