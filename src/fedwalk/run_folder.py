"""The folder of a run: finished stages while it goes on, results when it is done.

Every file is written beside its place and moved there when complete, so a full disk or an interrupt never leaves half
a file under a final name. `run.json` comes last: where it stands, the run is finished.

Stages hold degree matrices, reports and walks: only the owner of the run may read them, whatever the umask. Results
follow the umask.
"""

import errno
import json
import os
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any, BinaryIO, cast

import numpy as np
from numpy.typing import NDArray

from fedwalk import __version__
from fedwalk.errors import RunFolderError
from fedwalk.kernels.encoder import EncoderArrays
from fedwalk.privacy.posterior import WeightedGraph
from fedwalk.privacy.reports import Reports
from fedwalk.protocol.degree import DegreeMatrices
from fedwalk.protocol.encoder import EncoderTable
from fedwalk.protocol.transcript import Transcript
from fedwalk.protocol.tree import Tree
from fedwalk.protocol.walk import Walks
from fedwalk.settings import Settings
from fedwalk.stages import Account

RESULTS = ("embedding.npz", "tree.npz", "walks.npy", "settings.toml", "run.json", "report.html", "audit.json")
PROGRESS = "stages"
STAGE_FILES = ("manifest.json", "federation.json", "roll.npy", "matrices.npz", "answers.npz",
               "bins.npy", "vectors.npy", "tree.npz", "encoder.npz", "hops.npy", "walks.npy",
               "skipgram.npy", "lists.npz", "posterior.npz", "softening.npy", "spectral.npy")  # fmt: skip
SIMULATION = "# A simulation: all devices ran in one process, their noise drawn from the seed.\n"
FREE_TO_CHANGE = ("threads", "budget")
"""Settings that may differ when a run is resumed: nothing up to the walks depends on them."""


def write_atomically(path: Path, write: Callable[[BinaryIO], object], *, private: bool = False) -> None:
    """Write a file under another name and move it into place once it is whole.

    A private file can be read by its owner alone; any other follows the caller's umask.
    """
    partial = path.with_name(path.name + ".partial")
    try:
        with open(partial, "wb", opener=_open_private if private else None) as file:
            write(file)
            file.flush()
            os.fsync(file.fileno())
        partial.replace(path)
    except BaseException as error:
        with suppress(OSError):
            partial.unlink(missing_ok=True)
        if not isinstance(error, OSError):
            raise
        full = error.errno in (errno.ENOSPC, errno.EDQUOT)
        advice = "The disk is full: free some space, then" if full else "Mend that, then"
        raise RunFolderError(
            f"{path}: can't be written: {error.strerror or error}. {advice} run the same command with --resume; "
            "the stages finished so far are kept."
        ) from error


def _open_private(path: str, flags: int) -> int:
    """Open a file for its owner alone, even if it was there before with another mode."""
    descriptor = os.open(path, flags, 0o600)
    os.fchmod(descriptor, 0o600)
    return descriptor


def write_arrays(path: Path, content: NDArray[Any] | dict[str, NDArray[Any]], *, private: bool = False) -> None:
    """`write_atomically` for one array (.npy) or several by name (.npz)."""

    def write(file: BinaryIO) -> None:
        if isinstance(content, dict):
            np.savez(file, allow_pickle=False, **content)
        else:
            # Given a file proper, numpy writes past Python and loses the reason when the disk is full.
            np.save(cast(Any, SimpleNamespace(write=file.write)), content, False)

    write_atomically(path, write, private=private)


def write_text(path: Path, text: str, *, private: bool = False) -> None:
    """`write_atomically` for text."""
    write_atomically(path, lambda file: file.write(text.encode()), private=private)


@dataclass(slots=True)
class RunFolder:
    """One run's files; also the store that its stages are kept in."""

    path: Path
    fingerprint: str

    @property
    def _progress(self) -> Path:
        return self.path / PROGRESS

    @property
    def _manifest(self) -> Path:
        return self._progress / "manifest.json"

    def finished(self) -> dict[str, Account]:
        """The stages done so far, from the manifest."""
        if not self._manifest.exists():
            return {}
        entries = self._read_manifest()["stages"]
        try:
            return {name: _account(entry) for name, entry in entries.items()}
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
            raise RunFolderError(
                f"{self._manifest}: isn't what fedwalk wrote ({error!r}). Start again with --force."
            ) from error

    def has(self, stage: str) -> bool:
        """Whether the stage's value lies here and is listed as finished."""
        return stage in self.finished() and any(self._progress.glob(f"{stage}.np[yz]"))

    def load(self, stage: str) -> Any:
        """The stage's value; the walks stay on disk and are mapped into memory."""
        try:
            return _LOADERS[stage](self._progress)
        except Exception as error:  # whatever a damaged file makes of zipfile and numpy
            raise RunFolderError(
                f"{self._progress}: stage {stage} can't be read back ({error}). Start again with --force."
            ) from error

    def save(self, stage: str, value: Any, account: Account) -> None:
        """Write the value, then list the stage as finished."""
        _make(self._progress, private=True)
        if value is not None:
            for name, content in _FILES[stage](value).items():
                write_arrays(self._progress / name, content, private=True)
        manifest = self._read_manifest()
        manifest["stages"][stage] = {
            "seconds": account.seconds,
            "messages": account.transcript.as_dict(),
            "peak_rss_bytes": account.peak_rss_bytes,
        }
        write_text(self._manifest, json.dumps(manifest, indent=1), private=True)

    def begin(self, settings: Settings, inputs: dict[str, str | None] | None = None, origin: str = SIMULATION) -> None:
        """Set up an empty manifest and write down the settings and where the graph came from."""
        _make(self._progress, private=True)
        write_text(self.path / "settings.toml", origin + settings.to_toml(**(inputs or {})))
        start = {"fedwalk": __version__, "graph": self.fingerprint, "stages": {}}
        write_text(self._manifest, json.dumps(start, indent=1), private=True)

    def check_resumable(self, settings: Settings) -> None:
        """Refuse to go on with another graph, other settings or another version than the run began with."""
        manifest = self._read_manifest()
        if manifest["fedwalk"] != __version__:
            raise RunFolderError(
                f"{self.path}: the run began with fedwalk {manifest['fedwalk']}, this is {__version__}. "
                "Use --force to start again."
            )
        self.check_same(manifest["graph"], Settings.load(self.path / "settings.toml"), settings)

    def check_same(self, fingerprint: str, began: Settings, settings: Settings) -> None:
        """Refuse a graph or settings other than the folder's run began with."""
        if fingerprint != self.fingerprint:
            raise RunFolderError(f"{self.path}: the run began with another graph. Use --force to start again.")
        for name in Settings.__slots__:
            old, new = getattr(began, name), getattr(settings, name)
            if old != new and name not in FREE_TO_CHANGE:
                raise RunFolderError(
                    f"{self.path}: the run began with {name} = {old}, now it is {new}. Resume with the old value, "
                    "or use --force to start again."
                )

    def drop_progress(self) -> None:
        """Remove the stages of a finished run."""
        _clear_progress(self.path)

    def _read_manifest(self) -> dict[str, Any]:
        return read_record(self._manifest, ("fedwalk", "graph", "stages"))


def check_free(path: Path, *, force: bool, resume: bool) -> None:
    """Refuse a folder that holds a run, unless it is to be replaced or resumed."""
    if path.exists() and not path.is_dir():
        raise RunFolderError(f"{path}: is a file. Name a folder for the run.")
    holds = [name for name in (*RESULTS, PROGRESS) if (path / name).exists()]
    if holds and not (force or resume):
        raise RunFolderError(
            f"{path}: already holds a run ({', '.join(holds)}). Use --resume to go on with it, --force to replace it, "
            "or name another folder."
        )
    results = [name for name in holds if name not in ("settings.toml", PROGRESS)]
    if resume and results and not any((path / name).exists() for name in ("run.json", f"{PROGRESS}/manifest.json")):
        raise RunFolderError(
            f"{path}: holds {', '.join(results)}, but neither a finished run nor one to go on with. "
            "Use --force to replace them, or name another folder."
        )


def open_run_folder(path: Path, *, force: bool, resume: bool) -> bool:
    """Prepare the folder; True if there is a broken-off run in it to resume."""
    check_free(path, force=force, resume=resume)
    if force:
        clear(path)
    _make(path)
    return resume and (path / PROGRESS / "manifest.json").exists()


def clear(path: Path) -> None:
    """Remove a run's own files, and nothing else that may lie in the folder."""
    _clear_progress(path)
    for name in RESULTS:
        _remove(path / name)


def _clear_progress(path: Path) -> None:
    """Remove the stages' files; the folder stays if anything else lies in it."""
    folder = path / PROGRESS
    if folder.is_dir():
        for name in STAGE_FILES:
            _remove(folder / name)
        with suppress(OSError):
            folder.rmdir()


def _remove(path: Path) -> None:
    """Remove a file and what an interrupt may have left of writing it."""
    try:
        path.unlink(missing_ok=True)
        path.with_name(path.name + ".partial").unlink(missing_ok=True)
    except OSError as error:
        raise RunFolderError(f"{path}: can't be removed: {error.strerror}. Name another folder.") from error


def _make(path: Path, *, private: bool = False) -> None:
    """Make a folder and those above it; a private one is for its owner alone, even if it was there before."""
    try:
        path.mkdir(mode=0o700 if private else 0o777, parents=True, exist_ok=True)
        if private:
            path.chmod(0o700)
    except OSError as error:
        raise RunFolderError(f"{path}: can't be made: {error.strerror}. Name another folder.") from error


def read_record(path: Path, keys: tuple[str, ...]) -> dict[str, Any]:
    """A JSON file of this folder, which must have these keys."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise RunFolderError(f"{path}: can't be read ({error}). Start again with --force.") from error
    if not isinstance(content, dict) or any(key not in content for key in keys):
        raise RunFolderError(f"{path}: isn't what fedwalk wrote ({', '.join(keys)}). Start again with --force.")
    return content


def _account(entry: dict[str, Any]) -> Account:
    """What a finished stage took, from the manifest; any of several exceptions if that isn't what it says."""
    peak = entry.get("peak_rss_bytes")
    return Account(
        float(entry["seconds"]), Transcript.from_dict(entry["messages"]), None if peak is None else int(peak)
    )


def _read_arrays(path: Path) -> dict[str, NDArray[Any]]:
    """The arrays of an .npz file, which is closed again even if it is damaged."""
    with path.open("rb") as file, np.load(file) as arrays:
        return dict(arrays)


_FILES: dict[str, Callable[[Any], dict[str, Any]]] = {
    "roll": lambda ids: {"roll.npy": ids},
    "matrices": lambda stacked: {"matrices.npz": {"starts": stacked.starts, "rows": stacked.rows}},
    "answers": lambda arrays: {"answers.npz": arrays},
    "bins": lambda bins: {"bins.npy": bins},
    "vectors": lambda vectors: {"vectors.npy": vectors},
    "tree": lambda tree: {"tree.npz": {"linkage": tree.linkage}},
    "encoder": lambda table: {"encoder.npz": table.arrays._asdict()},
    "walks": lambda walks: {"hops.npy": np.array(walks.hops), "walks.npy": walks.sequences},
    "skipgram": lambda vectors: {"skipgram.npy": vectors},
    "spectral": lambda vectors: {"spectral.npy": vectors},
    "softening": lambda power: {"softening.npy": np.array(power)},
    "lists": lambda reports: {"lists.npz": {"starts": reports.starts, "ids": reports.ids}},
    "posterior": lambda graph: {"posterior.npz": {name: getattr(graph, name) for name in WeightedGraph.__slots__}},
}

_LOADERS: dict[str, Callable[[Path], Any]] = {
    "roll": lambda folder: np.load(folder / "roll.npy"),
    "matrices": lambda folder: DegreeMatrices(**_read_arrays(folder / "matrices.npz")),
    "answers": lambda folder: _read_arrays(folder / "answers.npz"),
    "bins": lambda folder: np.load(folder / "bins.npy"),
    "vectors": lambda folder: np.load(folder / "vectors.npy"),
    "tree": lambda folder: Tree(_read_arrays(folder / "tree.npz")["linkage"]),
    "encoder": lambda folder: EncoderTable(EncoderArrays(**_read_arrays(folder / "encoder.npz"))),
    "walks": lambda folder: Walks(np.load(folder / "walks.npy", mmap_mode="r"), int(np.load(folder / "hops.npy"))),
    "skipgram": lambda folder: np.load(folder / "skipgram.npy"),
    "spectral": lambda folder: np.load(folder / "spectral.npy"),
    "softening": lambda folder: float(np.load(folder / "softening.npy")),
    "lists": lambda folder: Reports(**_read_arrays(folder / "lists.npz")),
    "posterior": lambda folder: WeightedGraph(**_read_arrays(folder / "posterior.npz")),
}
