"""What a holder must not forget between processes: every question is answered by a new one.

Asked the same again, a holder gives the same answer: another draw would be another release. So an answer is on the disk
before it leaves, the state of the `ldp` devices too, and a file that can't be read is never replaced by a new
beginning. Within a run all phases speak of the lists as they were at its roll call.

An answer's file is an .npz archive followed by a SHA-256 of all of it: a zip's own checksums leave out the names of its
members, so that a field could change its name unnoticed. numpy still reads the file.

    lock, names.json, lists.json           the devices' ledgers and answers, for good
    runs/<number>-<run>/snapshot.npz       the lists
    runs/<number>-<run>/<phase>-<key>.npz  answers; for the last runs only
    runs/<number>-<run>/<phase>-<key>.begun  marks of questions that a process has begun to answer
"""

import fcntl
import hashlib
import json
import os
import re
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from fedwalk.errors import FedWalkError, ProtocolError, RunFolderError
from fedwalk.federation.checked_json import parse_json, read_bounded, reason
from fedwalk.federation.lists import KnownLists
from fedwalk.federation.parcels import Fields, pack
from fedwalk.federation.private_file import make_private_folder, write_private
from fedwalk.privacy.device import ListDevice
from fedwalk.privacy.ledger import Ledger
from fedwalk.protocol.randomness import Randomness

T = TypeVar("T")

MOST_RUNS = 16
MOST_ANSWERS = 64
"""In one run: a server that asks on and on, each time a little different, is not answered for ever."""

MAX_FILE = 8 << 30
"""Bytes of a file that is read back: more than any answer has, since no more could be sent."""

ARRAY, PLAIN = "array ", "plain"
_ID, _RUN = re.compile("[0-9]{1,10}"), re.compile("[0-9]{8}-[0-9a-f]{32}")
SEAL = b"\nfedwalk sha256 "
"""Separates an archive from its digest."""
UNREADABLE = (ArithmeticError, AttributeError, LookupError, MemoryError, TypeError, ValueError, FedWalkError)
"""What a kept state of the wrong types makes of the code that restores it."""
NEVER = "Never start afresh with devices that have released something: they would draw again, and what it cost is lost."


class Memory:
    """A holder's memory in a folder of its own. Use it under its lock.

    >>> import tempfile
    >>> from fedwalk.federation.parcels import ListsQuestion
    >>> folder = Path(tempfile.mkdtemp(), "memory")
    >>> with Memory(folder).locked(seconds=10) as memory:
    ...     key = question_key(ListsQuestion("run 1", 3, 4.0, 0))
    ...     memory.keep("lists", key, {"hops": 3, "walks": np.arange(2)})
    >>> with Memory(folder).locked(seconds=10) as memory:
    ...     memory.recall("lists", key)
    {'hops': 3, 'walks': array([0, 1])}
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._names, self._lists, self._runs = folder / "names.json", folder / "lists.json", folder / "runs"

    @contextmanager
    def locked(self, seconds: float) -> Iterator["Memory"]:
        """Hold the memory alone; RunFolderError if somebody else still has it after so many seconds."""
        make_private_folder(self.folder)
        lock = _open_lock(self.folder / "lock")
        try:
            _acquire(lock, self.folder, seconds)
            self._begin()
            yield self
        finally:
            os.close(lock)

    def pin_names(self, names: list[str]) -> None:
        """Refuse a numbering that contradicts an earlier one: under another id a device would answer again."""
        known = read_names(self._names) if self._names.exists() else []
        if not known and self._states():
            raise _damaged(self._names, "it is missing, or has no names")
        for vertex, (before, now) in enumerate(zip(known, names, strict=False)):
            if before != now:
                raise ProtocolError(
                    f"RollQuestion.names: vertex {vertex} is {now!r}, and had another name before. Ids are given once; "
                    "for another federation, use another folder for the holder."
                )
        if len(names) > len(known):
            write_private(self._names, json.dumps(names).encode())

    def snapshot(self, run: str) -> KnownLists | None:
        """The lists as they were at the run's roll call."""
        return self._read(_digest(run), "snapshot", lambda fields: KnownLists(**fields))

    def keep_snapshot(self, run: str, lists: KnownLists) -> KnownLists:
        """Keep the lists for the run's later phases; the first that are kept stand, and are returned."""
        earlier = self.snapshot(run)
        if earlier is None:
            self._write(_digest(run), "snapshot", pack(lists))
        return earlier or lists

    def recall(self, phase: str, key: str) -> Fields | None:
        """The answer that was given to this question, if there was one."""
        run, _, question = key.partition("-")
        found = self._read(run, f"{phase}-{question}", lambda fields: fields)
        folder = self._run_folder(run)
        if found is None and folder is not None and len(list(folder.glob("*-*.npz"))) >= MOST_ANSWERS:
            raise ProtocolError(
                f"{phase}: this holder has answered {MOST_ANSWERS} questions of the run. Start another run."
            )
        return found

    def answered(self, phase: str, run: str) -> int:
        """How many questions of this kind were answered in the run, or begun."""
        folder = self._run_folder(_digest(run))
        return 0 if folder is None else len({path.stem for path in folder.glob(f"{phase}-*")})

    def begin(self, phase: str, key: str) -> bool:
        """Mark that this process begins to answer a question; False if an earlier one did, and never finished."""
        run, _, question = key.partition("-")
        mark = (self._run_folder(run) or self._new_run(run)) / f"{phase}-{question}.begun"
        if mark.exists():
            return False
        write_private(mark, b"")
        return True

    def keep(self, phase: str, key: str, fields: Fields) -> None:
        """Keep an answer, before it leaves."""
        run, _, question = key.partition("-")
        self._write(run, f"{phase}-{question}", fields)

    def list_devices(self, lists: KnownLists, randomness: Randomness, budget: float | None) -> dict[int, ListDevice]:
        """The `ldp` devices by id, each with its ledger and the answers that it has given."""
        states = self._states()
        devices = {
            v: ListDevice(v, lists.neighbours(row), randomness, Ledger(budget))
            for row, v in enumerate(lists.devices.tolist())
        }
        for v in devices.keys() & set(map(int, states)):
            try:
                devices[v].restore(states[str(v)])
            except UNREADABLE as error:
                raise _damaged(self._lists, error) from error
        return devices

    def keep_devices(self, devices: dict[int, ListDevice]) -> None:
        """Keep the devices' states, before an answer leaves; those of other devices stay as they are."""
        states = self._states() | {str(v): device.state() for v, device in devices.items()}
        self._write_states(states)

    def _begin(self) -> None:
        """Set up an empty memory; one that has lost its most important file isn't empty."""
        if not self._lists.exists():
            if self._names.exists() or self._runs.exists():
                raise _damaged(self._lists, "it is missing")
            self._write_states({})
        make_private_folder(self._runs)

    def _states(self) -> dict[str, Any]:
        return read_states(self._lists)

    def _write_states(self, states: dict[str, Any]) -> None:
        text = json.dumps(states)
        write_private(self._lists, f'{{"sha256": "{_checksum(text)}", "devices": {text}}}'.encode())

    def _run_folder(self, run: str) -> Path | None:
        return next(self._runs.glob(f"*-{run}"), None)

    def _read(self, run: str, name: str, make: Callable[[Fields], T]) -> T | None:
        folder = self._run_folder(run)
        path = folder / f"{name}.npz" if folder is not None else None
        if path is None or not path.exists():
            return None
        try:
            return make(_from_bytes(read_bounded(path, MAX_FILE)))
        except Exception as error:  # whatever a damaged file makes of zipfile, numpy and json
            raise _damaged(path, error) from error

    def _write(self, run: str, name: str, fields: Fields) -> None:
        folder = self._run_folder(run) or self._new_run(run)
        write_private(folder / f"{name}.npz", _to_bytes(fields))

    def _new_run(self, run: str) -> Path:
        """A folder for the run, in place of the oldest."""
        earlier = sorted(folder for folder in self._runs.iterdir() if _RUN.fullmatch(folder.name))
        for folder in earlier[: max(0, len(earlier) + 1 - MOST_RUNS)]:
            shutil.rmtree(folder)
        number = int(earlier[-1].name.partition("-")[0]) + 1 if earlier else 0
        folder = self._runs / f"{number:08d}-{run}"
        make_private_folder(folder)
        return folder


def read_names(path: Path) -> list[str]:
    """The vertices' names in the order of their ids, as a roll call has pinned them."""
    names = _read_json(path)
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise _damaged(path, "it is no list of names")
    return names


def read_states(path: Path) -> dict[str, Any]:
    """The kept states of the `ldp` devices by id; only `ListDevice.restore` knows what is in one of them."""
    content = _read_json(path)
    if not isinstance(content, dict) or content.keys() != {"sha256", "devices"}:
        raise _damaged(path, "it has other fields than fedwalk writes")
    states = content["devices"]
    if not isinstance(states, dict) or not all(_ID.fullmatch(v) and isinstance(s, dict) for v, s in states.items()):
        raise _damaged(path, "it has something else than states of devices")
    if content["sha256"] != _checksum(json.dumps(states)):
        raise _damaged(path, "its checksum is wrong")
    return states


def question_key(question: Any) -> str:
    """The name of a question with all that is in it: the run's digest, then that of kind, fields, types and bytes."""
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
    """The run's name as part of a file's: the server chose it, so it isn't used as it is."""
    return _checksum(run)[:32]


def _checksum(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _to_bytes(fields: Fields) -> bytes:
    arrays = {ARRAY + name: value for name, value in fields.items() if isinstance(value, np.ndarray)}
    plain = {name: value for name, value in fields.items() if not isinstance(value, np.ndarray)}
    file = BytesIO()
    np.savez(file, allow_pickle=False, **arrays, **{PLAIN: np.frombuffer(json.dumps(plain).encode(), np.uint8)})
    return file.getvalue() + _seal(file.getvalue())


def _from_bytes(data: bytes) -> Fields:
    """The fields, if the file is whole; a damaged one raises whatever its parsers do."""
    size = len(data) - len(_seal(b""))
    content = data[: max(0, size)]
    if data[max(0, size) :] != _seal(content):
        raise ValueError("its checksum is wrong")
    with np.load(BytesIO(content), allow_pickle=False) as archive:
        plain: Fields = parse_json(archive[PLAIN].tobytes())
        if not isinstance(plain, dict) or not all(map(_is_plain, plain.values())):
            raise ValueError("it has something else than fields")
        return plain | {name.removeprefix(ARRAY): archive[name] for name in archive.files if name.startswith(ARRAY)}


def _is_plain(value: Any) -> bool:
    """Whether a field may be so: a number that Flower can carry, a text, or a list of texts."""
    if isinstance(value, int):
        return -(1 << 63) <= value < 1 << 63
    return isinstance(value, float | str) or (isinstance(value, list) and all(isinstance(text, str) for text in value))


def _seal(content: bytes) -> bytes:
    """What follows an archive; of one length, whatever the content is."""
    return SEAL + hashlib.sha256(content).hexdigest().encode() + b"\n"


def _read_json(path: Path) -> Any:
    try:
        return parse_json(read_bounded(path, MAX_FILE), MAX_FILE)
    except (OSError, ValueError) as error:
        raise _damaged(path, error) from error


def _damaged(path: Path, why: Exception | str) -> RunFolderError:
    said = why if isinstance(why, str) else reason(why)
    return RunFolderError(f"{path}: can't be read back ({said}). Restore it from a copy. {NEVER}")


def _open_lock(path: Path) -> int:
    try:
        return os.open(path, os.O_CREAT | os.O_RDWR, 0o600)
    except OSError as error:
        raise RunFolderError(f"{path}: can't be opened ({reason(error)}). Move away what is there.") from error


def _acquire(lock: int, folder: Path, seconds: float) -> None:
    """Take the lock as soon as it is free; the kernel frees it when its process ends, however that happens."""
    end = time.monotonic() + seconds
    while True:
        try:
            return fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= end:
                raise RunFolderError(
                    f"{folder}: another process of this holder has used it for more than {seconds:g} s. "
                    "Wait for it to end, or stop it; then ask again."
                ) from None
        time.sleep(0.05)
