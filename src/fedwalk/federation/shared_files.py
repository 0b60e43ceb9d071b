"""Small files by which the processes of one folder tell each other how things stand, read with care.

They are written by fedwalk, but a disk, an editor or another program can leave anything in them. Each is bounded before
it is parsed and checked for types after; what is wrong is an InputError that names the file and says what to do.
"""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from fedwalk.errors import InputError
from fedwalk.federation.checked_json import parse_json, read_bounded, reason

T = TypeVar("T")

MAX_BYTES = 16 << 20
"""Of any of these files: a federation of a hundred thousand holders has less."""
MAX_PID = 2**31 - 1
COUNTS = ("begun", "finished", "handed", "received", "refused", "bytes")
"""What a holder counts while it walks."""
_STAGE = re.compile("[a-z][a-z0-9 _-]{0,39}")
JOB = {"federation": str, "output": str, "patience": float, "keep_walks": bool, "need": int, "settings": dict}


def read_nodes(path: Path) -> dict[str, int]:
    """Flower's node id of each registered holder."""
    return _read(path, _nodes, "Start the server again: it writes the file anew.")


def read_job(path: Path) -> dict[str, Any]:
    """What `fedwalk federate run` asks the server's part to do."""
    return _read(path, _job, "Start the run again.")


def read_progress(path: Path) -> dict[str, Any]:
    """How far a holder's walks are: its counts, and when they began and were last written."""
    return _read(path, _progress, "Delete it: the next walks write it anew.")


def read_events(path: Path, start: int = 0) -> tuple[list[dict[str, Any]], int]:
    """A run's events beyond this place in the file, and the place where the next one will begin."""
    try:
        with path.open("rb") as file:
            file.seek(start)
            arrived = file.read(MAX_BYTES)
        whole = arrived[: arrived.rfind(b"\n") + 1]
        if not whole and len(arrived) == MAX_BYTES:
            raise ValueError(f"a line of more than {MAX_BYTES >> 20} MB")
        return [_event(parse_json(line)) for line in whole.splitlines()], start + len(whole)
    except FileNotFoundError:
        return [], start
    except (OSError, ValueError) as error:
        raise _unreadable(path, error, "Run the same command with --resume.") from error


def read_refusals(path: Path) -> dict[str, int]:
    """What the server's port refused in the last run, and how often; nothing if there is no such file."""
    try:
        return _read(path, _refusals, "Delete it: the server writes it anew.")
    except InputError as error:
        if isinstance(error.__cause__, FileNotFoundError):
            return {}
        raise


def read_run_id(path: Path) -> str:
    """Flower's id of a run."""
    try:
        text = read_bounded(path, 100).decode("ascii").strip()
        if not text.isdecimal():
            raise ValueError("it isn't a number")
    except (OSError, ValueError) as error:
        raise _unreadable(path, error, "Delete it.") from error
    return text


def _read(path: Path, check: Callable[[Any], T], advice: str) -> T:
    try:
        return check(parse_json(read_bounded(path, MAX_BYTES)))
    except (OSError, ValueError) as error:
        raise _unreadable(path, error, advice) from error


def _unreadable(path: Path, error: Exception, advice: str) -> InputError:
    return InputError(f"{path}: can't be read ({reason(error)}). {advice}")


def _nodes(content: Any) -> dict[str, int]:
    _require(isinstance(content, dict), "it isn't an object")
    _require(all(type(node) is int and 0 <= node < 1 << 64 for node in content.values()), "a node id isn't one")
    return dict(content)


def _job(content: Any) -> dict[str, Any]:
    _require(isinstance(content, dict) and content.keys() == JOB.keys(), f"it needs {', '.join(JOB)}")
    for name, kind in JOB.items():
        _require(type(content[name]) is kind, f"{name} isn't of type {kind.__name__}")
    _require("\0" not in content["federation"] + content["output"], "a path has a null character")
    return dict(content)


def _progress(content: Any) -> dict[str, Any]:
    _require(isinstance(content, dict), "it isn't an object")
    for name in COUNTS:
        _require(is_count(content.get(name)), f"{name} isn't a count")
    for name in ("began", "now"):
        _require(type(content.get(name)) in (int, float), f"{name} isn't a time")
    return dict(content)


def _event(content: Any) -> dict[str, Any]:
    """An event has one of four forms, and nothing else is shown or acted on."""
    _require(isinstance(content, dict), "an event isn't an object")
    if "stage" in content:
        named = isinstance(content["stage"], str) and _STAGE.fullmatch(content["stage"]) is not None
        fits = named and is_count(content.get("done")) and is_count(content.get("total"))
        _require(fits, "an event's stage, done or total isn't one")
    elif "pid" in content:
        _require(is_count(content["pid"]) and 1 <= content["pid"] <= MAX_PID, "an event's pid isn't one")
    else:
        _require(isinstance(content.get("error"), str) or content.get("ended") is True, "an event of no known kind")
    return dict(content)


def _refusals(content: Any) -> dict[str, int]:
    _require(isinstance(content, dict) and all(map(is_count, content.values())), "it isn't an object of counts")
    return dict(content)


def is_count(value: Any) -> bool:
    """Whether this is a whole number from 0 on, and no truth value."""
    return type(value) is int and value >= 0


def _require(holds: bool, problem: str) -> None:
    if not holds:
        raise ValueError(problem)
