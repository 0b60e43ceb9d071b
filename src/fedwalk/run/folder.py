"""The folder of a run: finished stages during the run, results after it.

Every file is written under a temporary name and moved when it is complete, so a full disk or an interrupt never leaves
an incomplete file under its final name. `run.json` (`record.py`) is written last and marks the run as finished.

Stages contain degree matrices, reports and walks, so only the owner of the run may read them, regardless of the umask.
Results follow the umask.
"""

import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any, BinaryIO, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from fedwalk._version import __version__
from fedwalk.embedding.files import EMBEDDING_FILE as EMBEDDING_FILE
from fedwalk.errors import RunFolderError
from fedwalk.protocols.registry import package_of
from fedwalk.protocols.stages import Stage
from fedwalk.protocols.transcript import Transcript
from fedwalk.run.stages import Account
from fedwalk.settings import Settings, load_settings
from fedwalk.util import files
from fedwalk.util.files import PARTIAL, make_private_folder, partial_of, write_file

TREE_FILE = "tree.npz"
WALKS_FILE = "walks.npy"
SETTINGS_FILE = "settings.toml"
RECORD_FILE = "run.json"
REPORT_FILE = "report.html"
AUDIT_FILE = "audit.json"
RESULTS = (EMBEDDING_FILE, TREE_FILE, WALKS_FILE, SETTINGS_FILE, RECORD_FILE, REPORT_FILE, AUDIT_FILE)
PROGRESS = "stages"
"""The folder of the finished stages in the folder of the run."""
MANIFEST = "manifest.json"
STATISTICS_FILE = "federation.json"
"""In the folder of the stages of a federated run: the statistics so far."""
FORMAT = 3
"""The format of manifest, settings and stages' files. Formats before 3 were written before 0.1.0 was released."""
SIMULATION = "# A simulation: all devices ran in one process, their noise drawn from the seed.\n"
RESUME = "Fix the problem, then run the same command with --resume; the stages finished so far are kept."
ANOTHER_FOLDER = "Name another folder."
FREE_TO_CHANGE = ("threads", "budget")
"""Settings that may differ when a run is resumed: no value up to the walks depends on them."""

T = TypeVar("T")


def write_arrays(path: Path, content: NDArray[Any] | dict[str, NDArray[Any]], *, private: bool = False) -> None:
    """Write one array (.npy) or several by name (.npz), whole or not at all."""

    def write(file: BinaryIO) -> None:
        if isinstance(content, dict):
            np.savez(file, allow_pickle=False, **content)
        else:
            # Given a real file, numpy writes past Python and loses the reason when the disk is full.
            np.save(cast(Any, SimpleNamespace(write=file.write)), content, False)

    write_file(path, write, private=private, advice=RESUME)


def write_text(path: Path, text: str, *, private: bool = False) -> None:
    """Write text, whole or not at all."""
    files.write_text(path, text, private=private, advice=RESUME)


@dataclass(slots=True)
class RunFolder:
    """The files of one run; it is also the store of the run's stages.

    The manifest lists the finished stages, and every file that was ever created in the folder of the stages, so that
    exactly these files are removed when the run is finished or replaced.
    """

    path: Path
    fingerprint: str

    @property
    def _progress(self) -> Path:
        return self.path / PROGRESS

    @property
    def _manifest(self) -> Path:
        return self._progress / MANIFEST

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

    def has(self, stage: Stage[Any]) -> bool:
        """Whether the stage is listed as finished and its files exist."""
        return stage.name in self.finished() and all((self._progress / name).exists() for name in stage.files)

    def load(self, stage: Stage[T]) -> T:
        """The stage's value; a single array is memory-mapped."""
        try:
            return stage.unpack({name: _read_content(self._progress / name) for name in stage.files})
        except Exception as error:  # a damaged file makes zipfile, numpy and the value itself raise all kinds
            raise RunFolderError(
                f"{self._progress}: stage {stage.name} can't be read back ({error}). Start again with --force."
            ) from error

    def save(self, stage: Stage[T], value: T | None, account: Account) -> None:
        """Write the value, then list the stage as finished."""
        make_private_folder(self._progress, ANOTHER_FOLDER)
        if value is not None:
            self.claim(*stage.files)
            for name, content in stage.pack(value).items():
                write_arrays(self._progress / name, content, private=True)
        manifest = self._read_manifest()
        manifest["stages"][stage.name] = {
            "seconds": account.seconds,
            "messages": account.transcript.as_dict(),
            "peak_rss_bytes": account.peak_rss_bytes,
        }
        write_text(self._manifest, json.dumps(manifest, indent=1), private=True)

    def claim(self, *names: str) -> None:
        """List files in the manifest before they are written to the folder of the stages."""
        manifest = self._read_manifest()
        if new := [name for name in names if name not in manifest["files"]]:
            manifest["files"] += new
            write_text(self._manifest, json.dumps(manifest, indent=1), private=True)

    def begin(self, settings: Settings, inputs: dict[str, str | None] | None = None, origin: str = SIMULATION) -> None:
        """Write an empty manifest, the settings, and the origin of the graph."""
        make_private_folder(self._progress, ANOTHER_FOLDER)
        write_text(self.path / SETTINGS_FILE, origin + settings.to_toml(**(inputs or {})))
        start = {
            "fedwalk": __version__, "format": FORMAT, "package": package_of(settings.protocol),
            "graph": self.fingerprint, "stages": {}, "files": [],
        }  # fmt: skip
        write_text(self._manifest, json.dumps(start, indent=1), private=True)

    def check_resumable(self, settings: Settings) -> None:
        """Raise RunFolderError unless graph, settings and version are those that the run began with."""
        manifest = self._read_manifest()
        if manifest["fedwalk"] != __version__:
            raise RunFolderError(
                f"{self.path}: the run began with fedwalk {manifest['fedwalk']}, this is {__version__}. "
                "Use --force to start again."
            )
        self.check_same(manifest["graph"], manifest["package"], load_settings(self.path / SETTINGS_FILE), settings)

    def check_same(self, fingerprint: str, package: str, began: Settings, settings: Settings) -> None:
        """Raise RunFolderError unless graph, the protocol's package and settings are those of the run in the folder."""
        if fingerprint != self.fingerprint:
            raise RunFolderError(f"{self.path}: the run began with another graph. Use --force to start again.")
        if began.protocol == settings.protocol and package != (now := package_of(settings.protocol)):
            raise RunFolderError(
                f"{self.path}: the run began with the protocol {settings.protocol} of {package or 'fedwalk'}, now it "
                f"is that of {now or 'fedwalk'}. Install that version, or use --force to start again."
            )
        before = began.as_dict()
        for name, new in settings.as_dict().items():
            old = before.get(name)
            if old != new and name not in FREE_TO_CHANGE:
                raise RunFolderError(
                    f"{self.path}: the run began with {name} = {old}, now it is {new}. Resume with the old value, "
                    "or use --force to start again."
                )

    def drop_progress(self) -> None:
        """Remove the stages of a finished run."""
        _clear_progress(self.path)

    def _read_manifest(self) -> dict[str, Any]:
        content = read_json_object(self._manifest, ("fedwalk", "graph", "stages"))
        if content.get("format") != FORMAT:
            raise RunFolderError(
                f"{self.path}: the run began with fedwalk {written_by(content)} in format "
                f"{content.get('format', 1)!s:.20}; fedwalk {__version__} continues format {FORMAT}. Use that version, "
                "or --force to start again."
            )
        kinds = {"package": str, "graph": str, "stages": dict, "files": list}
        wrong = [name for name, kind in kinds.items() if not isinstance(content.get(name), kind)]
        if wrong or not all(isinstance(name, str) for name in content["files"]):
            named = ", ".join(wrong or ["files"])
            raise RunFolderError(f"{self._manifest}: isn't what fedwalk wrote ({named}). Start again with --force.")
        return content


def written_by(content: Mapping[str, Any]) -> str:
    """The version that wrote a file of another format."""
    version = str(content.get("fedwalk", "of an unknown version"))
    # A released version writes one format, so this file is from the time when that version was being made.
    return f"{version} before its release" if version == __version__ else version


def check_free(path: Path, *, force: bool, resume: bool) -> None:
    """Raise RunFolderError if the folder contains a run that is neither to be replaced nor to be resumed."""
    if path.exists() and not path.is_dir():
        raise RunFolderError(f"{path}: is a file. Name a folder for the run.")
    holds = [name for name in (*RESULTS, PROGRESS) if (path / name).exists()]
    if holds and not (force or resume):
        raise RunFolderError(
            f"{path}: already holds a run ({', '.join(holds)}). Use --resume to continue it, --force to replace it, "
            "or name another folder."
        )
    results = [name for name in holds if name not in (SETTINGS_FILE, PROGRESS)]
    if resume and results and not holds_run(path):
        raise RunFolderError(
            f"{path}: holds {', '.join(results)}, but neither a finished run nor one to continue. "
            "Use --force to replace them, or name another folder."
        )


def holds_run(path: Path) -> bool:
    """Whether the folder contains a finished run, or one that can be resumed."""
    return (path / RECORD_FILE).exists() or (path / PROGRESS / MANIFEST).exists()


def open_run_folder(path: Path, *, force: bool, resume: bool) -> bool:
    """Prepare the folder; returns True if it contains an interrupted run to resume."""
    check_free(path, force=force, resume=resume)
    if force:
        clear(path)
    make_folder(path)
    return resume and (path / PROGRESS / MANIFEST).exists()


def clear(path: Path) -> None:
    """Remove the files of the run, and no others in the folder."""
    _clear_progress(path)
    for name in RESULTS:
        _remove(path / name)


def _clear_progress(path: Path) -> None:
    """Remove the stages' files; the folder stays if it contains others."""
    folder = path / PROGRESS
    if folder.is_dir():
        # The manifest is removed last: after an interrupt, it still lists the remaining files.
        for name in (*_claimed(folder), MANIFEST):
            _remove(folder / name)
        with suppress(OSError):
            folder.rmdir()


def _claimed(folder: Path) -> list[str]:
    """The files that the manifest lists; if it can't be read, all files whose names look like a stage's."""
    try:
        names = read_json_object(folder / MANIFEST, ("files",))["files"]
        return [Path(name).name for name in names]
    except (RunFolderError, TypeError):
        arrays = [path.name for pattern in ("*.npy", "*.npz") for path in folder.glob(pattern)]
        partial = [path.name.removesuffix(PARTIAL) for path in folder.glob(f"*.np?{PARTIAL}")]
        return [*arrays, *partial, STATISTICS_FILE]


def _remove(path: Path) -> None:
    """Remove a file, and its temporary file if writing it was interrupted."""
    try:
        path.unlink(missing_ok=True)
        partial_of(path).unlink(missing_ok=True)
    except OSError as error:
        raise RunFolderError(f"{path}: can't be removed: {error.strerror}. {ANOTHER_FOLDER}") from error


def make_folder(path: Path) -> None:
    """Make a folder and its parents."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise RunFolderError(f"{path}: can't be made: {error.strerror}. {ANOTHER_FOLDER}") from error


def read_json_object(path: Path, keys: tuple[str, ...] = ()) -> dict[str, Any]:
    """A JSON object from a file of this folder, which must have these keys."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise RunFolderError(f"{path}: can't be read ({error}). Start again with --force.") from error
    if not isinstance(content, dict) or any(key not in content for key in keys):
        raise RunFolderError(f"{path}: isn't what fedwalk wrote ({', '.join(keys)}). Start again with --force.")
    return content


def _account(entry: dict[str, Any]) -> Account:
    """The account of a finished stage, from the manifest; raises one of several exceptions if it is damaged."""
    peak = entry.get("peak_rss_bytes")
    return Account(
        float(entry["seconds"]), Transcript.from_dict(entry["messages"]), None if peak is None else int(peak)
    )


def _read_content(path: Path) -> Any:
    """The content of a stage's file: a memory-mapped array (.npy), or several arrays by name (.npz)."""
    if path.suffix == ".npy":
        return np.load(path, mmap_mode="r")
    # The file is closed again even if it is damaged.
    with path.open("rb") as file, np.load(file) as arrays:
        return dict(arrays)
