"""The answer store: what a holder must keep between its processes, since every question is answered by a new process.

A holder that is asked the same question again must give the same answer: drawing noise a second time would be a second
release. So an answer, and the state of the `ldp` devices, is on the disk before the answer is sent, and a file that
can't be read is an error, never a reason to start with an empty store. Within a run all phases use the neighbour lists
as they were at the roll call.

    lock                                     held by the process that uses the store
    names.json                               the name of each vertex id, from the roll calls; kept forever
    devices.json                             format number, ledgers and reports of the `ldp` devices; kept forever
    runs/<number>-<run>/snapshot.npz         the neighbour lists at the roll call; kept for the last runs, as are:
    runs/<number>-<run>/<phase>-<key>.npz    answers
    runs/<number>-<run>/<phase>-<key>.begun  marks of questions that a process has begun to answer
"""

import hashlib
import json
import re
import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from fedwalk import __version__
from fedwalk.errors import FedWalkError, ProtocolError, RunFolderError
from fedwalk.federation.holder.answer_file import from_bytes, to_bytes
from fedwalk.federation.holder.neighbour_lists import KnownNeighbours
from fedwalk.federation.wire.questions import Fields, pack
from fedwalk.privacy.ledger import Ledger
from fedwalk.privacy.randomness import Randomness
from fedwalk.protocols.ldp.device import ReportDevice
from fedwalk.util.checked_json import parse_json, read_bounded, reason
from fedwalk.util.files import RETRY, make_private_folder, try_lock, write_private

T = TypeVar("T")

FORMAT = 2
"""Number of the store's format, in devices.json. Increase it whenever a file of the store changes its name or meaning.
Format 1 had no number."""
NAMES, DEVICES = "names.json", "devices.json"
"""The store's files of vertex names and of the devices' states."""
MAX_RUNS = 16
"""Runs whose answers are kept."""
MAX_ANSWERS = 64
"""Answers in one run. It stops a server that keeps asking slightly different questions."""

MAX_FILE = 8 << 30
"""Bytes of a file that is read back. No answer is as large, because it couldn't be sent."""

# A vertex id as a key of devices.json, and the name that `_new_run` gives to a folder.
_ID, _RUN = re.compile("[0-9]{1,10}"), re.compile("[0-9]{8}-[0-9a-f]{32}")
UNREADABLE = (ArithmeticError, AttributeError, LookupError, MemoryError, TypeError, ValueError, FedWalkError)
"""The exceptions that `ReportDevice.restore` may raise for a state with values of the wrong types."""
NEW_HOLDER = (
    "Make a new holder in another folder: `fedwalk federate enrol`. Do not delete the old folder, which holds what the "
    "devices have already released. The new holder doesn't know it: lower its --budget."
)
"""What to do about the answer store of an older format."""
NEVER = (
    "Don't start with an empty store: devices that have released something would release it again with new noise, and "
    "the record of what that cost would be lost."
)


class AnswerStore:
    """A holder's answers and the states of its devices, in a folder. Use it only within `locked`.

    >>> import tempfile
    >>> from fedwalk.federation.wire.questions import ReportsQuestion
    >>> folder = Path(tempfile.mkdtemp(), "answers")
    >>> with AnswerStore(folder).locked(timeout=10) as store:
    ...     key = question_key(ReportsQuestion("run 1", 3, 4.0, 0))
    ...     store.keep("reports", key, {"hops": 3, "walks": np.arange(2)})
    >>> with AnswerStore(folder).locked(timeout=10) as store:
    ...     store.recall("reports", key)
    {'hops': 3, 'walks': array([0, 1])}
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._names, self._devices, self._runs = folder / NAMES, folder / DEVICES, folder / "runs"

    @contextmanager
    def locked(self, timeout: float) -> Iterator["AnswerStore"]:
        """Lock the store; raises RunFolderError if another process still holds it after `timeout` seconds."""
        make_private_folder(self.folder)
        lock = self.folder / "lock"
        with ExitStack() as stack:
            try:
                free = stack.enter_context(try_lock(lock, timeout))
            except OSError as error:
                raise RunFolderError(f"{lock}: can't be opened ({reason(error)}). Move it away.") from error
            if not free:
                raise RunFolderError(
                    f"{self.folder}: another process of this holder has used it for more than {timeout:g} s. "
                    "Wait for it to end, or stop it, and try again."
                )
            self._begin()
            yield self

    def pin_names(self, names: list[str]) -> None:
        """Store the name of each vertex id; refuse names that contradict those of an earlier roll call.

        Answers and states are stored by id. Under a new id, a device would release what it has released before.
        """
        known = read_names(self._names) if self._names.exists() else []
        # Devices have released something, so there was a roll call, and it wrote the names.
        if not known and self._states():
            raise _damaged(self._names, "it is missing or empty")
        # Vertices are only ever added, so the shorter list must be the beginning of the longer one.
        for vertex, (before, now) in enumerate(zip(known, names, strict=False)):
            if before != now:
                raise ProtocolError(
                    f"RollQuestion.names: vertex {vertex} is {now!r}, but had another name before. A vertex keeps its "
                    "id forever; for another federation, use another folder for the holder."
                )
        # Never replaced by a shorter list: the names of the later ids would be lost.
        if len(names) > len(known):
            write_private(self._names, json.dumps(names).encode())

    def snapshot(self, run: str) -> KnownNeighbours | None:
        """The neighbour lists at the run's roll call; None if there was none."""
        return self._read(_digest(run), "snapshot", lambda fields: KnownNeighbours(**fields))

    def keep_snapshot(self, run: str, neighbours: KnownNeighbours) -> KnownNeighbours:
        """Store the neighbour lists for the run's later phases; if the run has some already, those are returned."""
        earlier = self.snapshot(run)
        # A repeated roll call must not replace the snapshot: the run's answers would mix two versions of the neighbour
        # lists.
        if earlier is None:
            self._write(_digest(run), "snapshot", pack(neighbours))
        return earlier or neighbours

    def recall(self, phase: str, key: str) -> Fields | None:
        """The stored answer to this question; None if there is none. Refuses questions beyond MAX_ANSWERS."""
        run, _, question = key.partition("-")
        stored = self._read(run, f"{phase}-{question}", lambda fields: fields)
        folder = self._run_folder(run)
        # The pattern leaves out snapshot.npz, which isn't an answer.
        if stored is None and folder is not None and len(list(folder.glob("*-*.npz"))) >= MAX_ANSWERS:
            raise ProtocolError(
                f"{phase}: this holder has answered {MAX_ANSWERS} questions of the run. Start another run."
            )
        return stored

    def answered(self, phase: str, run: str) -> int:
        """The number of questions of this phase that were answered in the run, or begun."""
        folder = self._run_folder(_digest(run))
        # A question may have two files, .begun and .npz. Their stems are the same, so it counts once.
        return 0 if folder is None else len({path.stem for path in folder.glob(f"{phase}-*")})

    def begin(self, phase: str, key: str) -> bool:
        """Mark that this process begins to answer a question; returns False if an earlier process has done so."""
        run, _, question = key.partition("-")
        mark = (self._run_folder(run) or self._new_run(run)) / f"{phase}-{question}.begun"
        if mark.exists():
            return False
        # On the disk before the work begins, so that a process that starts after a crash finds it.
        write_private(mark, b"")
        return True

    def keep(self, phase: str, key: str, fields: Fields) -> None:
        """Store an answer. Call this before the answer is sent."""
        run, _, question = key.partition("-")
        self._write(run, f"{phase}-{question}", fields)

    def report_devices(
        self, neighbours: KnownNeighbours, randomness: Randomness, budget: float | None
    ) -> dict[int, ReportDevice]:
        """The `ldp` devices by id, each with its ledger and the reports that it has given."""
        states = self._states()
        devices = {
            v: ReportDevice(v, neighbours.of(row), randomness, Ledger(budget))
            for row, v in enumerate(neighbours.devices.tolist())
        }
        # JSON keys are text. A device without a state has released nothing, and keeps its empty ledger.
        for v in devices.keys() & set(map(int, states)):
            try:
                devices[v].restore(states[str(v)])
            except UNREADABLE as error:
                raise _damaged(self._devices, error) from error
        return devices

    def keep_devices(self, devices: dict[int, ReportDevice]) -> None:
        """Store the devices' states; those of other devices stay as they are. Call this before an answer is sent."""
        # The file also has the states of devices that aren't in the owner's file at the moment: they may come back.
        states = self._states() | {str(v): device.state() for v, device in devices.items()}
        self._write_states(states)

    def _begin(self) -> None:
        """Create the files of an empty store. If only devices.json is missing, the store is damaged."""
        if not self._devices.exists():
            # A new store writes devices.json before anything else, so a store with other files must have had it.
            if self._names.exists() or self._runs.exists():
                raise _damaged(self._devices, "it is missing")
            self._write_states({})
        make_private_folder(self._runs)

    def _states(self) -> dict[str, Any]:
        return read_states(self._devices)

    def _write_states(self, states: dict[str, Any]) -> None:
        text = json.dumps(states)
        content = f'{{"format": {FORMAT}, "sha256": "{_checksum(text)}", "devices": {text}}}'
        write_private(self._devices, content.encode(), advice=f"Nothing was sent. {RETRY}")

    def _run_folder(self, run: str) -> Path | None:
        # `run` is a digest, so it has no characters with a meaning in a glob pattern.
        return next(self._runs.glob(f"*-{run}"), None)

    def _read(self, run: str, name: str, make: Callable[[Fields], T]) -> T | None:
        folder = self._run_folder(run)
        path = folder / f"{name}.npz" if folder is not None else None
        if path is None or not path.exists():
            return None
        try:
            return make(from_bytes(read_bounded(path, MAX_FILE)))
        # zipfile, numpy and json raise all kinds of exceptions for a damaged file.
        except Exception as error:
            raise _damaged(path, error) from error

    def _write(self, run: str, name: str, fields: Fields) -> None:
        folder = self._run_folder(run) or self._new_run(run)
        write_private(folder / f"{name}.npz", to_bytes(fields))

    def _new_run(self, run: str) -> Path:
        """Create a folder for the run, and delete those of the oldest runs."""
        # Other folders are left alone: fedwalk deletes only what it has created.
        earlier = sorted(folder for folder in self._runs.iterdir() if _RUN.fullmatch(folder.name))
        for folder in earlier[: max(0, len(earlier) + 1 - MAX_RUNS)]:
            shutil.rmtree(folder)
        # The number keeps the folders in the order in which the runs began; times of files could be changed by a copy.
        number = int(earlier[-1].name.partition("-")[0]) + 1 if earlier else 0
        folder = self._runs / f"{number:08d}-{run}"
        make_private_folder(folder)
        return folder


def read_names(path: Path) -> list[str]:
    """Read the names of the vertices in the order of their ids."""
    names = _read_json(path)
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise _damaged(path, "it isn't a list of names")
    return names


def read_states(path: Path) -> dict[str, Any]:
    """Read the states of the `ldp` devices by id. `ReportDevice.restore` interprets a state."""
    content = _read_json(path)
    if not isinstance(content, dict):
        raise _damaged(path, "it isn't an object")
    _check_format(path, content)
    if content.keys() != {"format", "sha256", "devices"}:
        raise _damaged(path, "its fields aren't those that fedwalk writes")
    states = content["devices"]
    if not isinstance(states, dict) or not all(_ID.fullmatch(v) and isinstance(s, dict) for v, s in states.items()):
        raise _damaged(path, "it has something other than states of devices")
    # Dumping the parsed states reproduces the text that was hashed: JSON keeps order and floats round-trip.
    if content["sha256"] != _checksum(json.dumps(states)):
        raise _damaged(path, "its checksum is wrong")
    return states


def _check_format(path: Path, content: dict[str, Any]) -> None:
    """Refuse the states of a store of another format, which would seem to be damaged."""
    # Format 1 had just these two fields.
    number = 1 if content.keys() == {"sha256", "devices"} else content.get("format")
    # Not isinstance: `true` is an int, too.
    if type(number) is not int:
        raise _damaged(path, "it has no format number")
    if number != FORMAT:
        advice = NEW_HOLDER if number < FORMAT else "Install the newer fedwalk."
        raise RunFolderError(
            f"{path}: belongs to an answer store of format {str(number)[:20]}; this fedwalk ({__version__}) reads "
            f"format {FORMAT}. {advice}"
        )


def question_key(question: Any) -> str:
    """A key that identifies a question: the run's digest, and one over the question's kind, fields, types and bytes."""
    # Each field is hashed after its name, type and length, so different questions never hash the same bytes.
    digest = hashlib.sha256(type(question).__name__.encode())
    for name, value in pack(question).items():
        if isinstance(value, np.ndarray):
            kind, data = f"{value.dtype.str} {value.shape}", value.tobytes()
        else:
            kind, data = type(value).__name__, json.dumps(value).encode()
        digest.update(f"\n{name} {kind} {len(data)}\n".encode())
        digest.update(data)
    return f"{_digest(question.run)}-{digest.hexdigest()}"


def _digest(run: str) -> str:
    """What stands for a run in file names. Its own name comes from the server, so it must not become part of a path."""
    return _checksum(run)[:32]


def _checksum(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _read_json(path: Path) -> Any:
    try:
        return parse_json(read_bounded(path, MAX_FILE), MAX_FILE)
    except (OSError, ValueError) as error:
        raise _damaged(path, error) from error


def _damaged(path: Path, why: Exception | str) -> RunFolderError:
    text = why if isinstance(why, str) else reason(why)
    return RunFolderError(f"{path}: can't be read back ({text}). Restore it from a backup. {NEVER}")
