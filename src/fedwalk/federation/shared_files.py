"""Readers of the small files through which the processes of one folder exchange their state.

fedwalk writes these files, but a failing disk, an editor or another program can damage them. So their size is limited
before they are parsed, and all types are checked after. An InputError names the file and says what to do.
"""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from fedwalk.errors import InputError
from fedwalk.util.checked_json import parse_json, read_bounded, reason

T = TypeVar("T")

MAX_BYTES = 16 << 20
"""Largest file that is read; a federation of a hundred thousand holders needs less."""
MAX_PID = 2**31 - 1
"""Process ids are signed 32-bit integers."""
COUNTS = ("begun", "finished", "handed", "received", "refused", "bytes")
"""The counters in a holder's progress file."""
_STAGE = re.compile("[a-z][a-z0-9 _-]{0,39}")
RUN_REQUEST = {
    "federation": str,
    "output": str,
    "patience": float,
    "keep_walks": bool,
    "min_holders": int,
    "settings": dict,
}
"""The fields of a run request, with their types."""


def read_nodes(path: Path) -> dict[str, int]:
    """Read Flower's node ids of the registered holders, by name."""
    return _read(path, _nodes, "Restart the server: it writes the file again.")


def read_run_request(path: Path) -> dict[str, Any]:
    """Read the run request that `fedwalk federate run` wrote for the server app."""
    return _read(path, _run_request, "Start the run again.")


def read_progress(path: Path) -> dict[str, Any]:
    """Read the progress of a holder's walks: its counters, and when the walks began and the file was last written."""
    return _read(path, _progress, "Delete it: the next walk phase writes it again.")


def read_events(path: Path, start: int = 0) -> tuple[list[dict[str, Any]], int]:
    """Read a run's events from the offset `start` on; returns them and the offset of the next event."""
    try:
        with path.open("rb") as file:
            file.seek(start)
            # What exceeds this is read by the next call, from the offset that is returned.
            arrived = file.read(MAX_BYTES)
        # The last line may be incomplete while the server app is writing it.
        complete = arrived[: arrived.rfind(b"\n") + 1]
        if not complete and len(arrived) == MAX_BYTES:
            raise ValueError(f"a line of more than {MAX_BYTES >> 20} MB")
        return [_event(parse_json(line)) for line in complete.splitlines()], start + len(complete)
    # The server app makes the file when it begins the run.
    except FileNotFoundError:
        return [], start
    except (OSError, ValueError) as error:
        raise _unreadable(path, error, "Run the same command with --resume.") from error


def read_refusals(path: Path) -> dict[str, int]:
    """Read the counts of requests that the server's port refused in the last run; empty if there is no file."""
    try:
        return _read(path, _refusals, "Delete it: the server writes it again.")
    except InputError as error:
        # `_read` turns every error into an InputError, with the original as its cause.
        if isinstance(error.__cause__, FileNotFoundError):
            return {}
        raise


def read_run_id(path: Path) -> str:
    """Read Flower's id of a run."""
    try:
        text = read_bounded(path, 100).decode("ascii").strip()
        # The id becomes an argument of Flower's command line, where other text could be taken for an option.
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
    require(isinstance(content, dict), "it isn't an object")
    # Flower's node ids are unsigned 64-bit integers.
    require(
        all(type(node) is int and 0 <= node < 1 << 64 for node in content.values()), "a node id isn't a 64-bit number"
    )
    return dict(content)


def _run_request(content: Any) -> dict[str, Any]:
    require(isinstance(content, dict) and content.keys() == RUN_REQUEST.keys(), f"it needs {', '.join(RUN_REQUEST)}")
    for name, kind in RUN_REQUEST.items():
        require(type(content[name]) is kind, f"{name} isn't of type {kind.__name__}")
    # Otherwise the first use of the path would fail, with an error that doesn't name this file.
    require("\0" not in content["federation"] + content["output"], "a path has a null character")
    return dict(content)


def _progress(content: Any) -> dict[str, Any]:
    require(isinstance(content, dict), "it isn't an object")
    for name in COUNTS:
        require(is_count(content.get(name)), f"{name} isn't a count")
    for name in ("began", "now"):
        require(type(content.get(name)) in (int, float), f"{name} isn't a time")
    return dict(content)


def _event(content: Any) -> dict[str, Any]:
    """Check an event, which has one of four forms: a stage's progress, a process id, an error, or the end."""
    require(isinstance(content, dict), "an event isn't an object")
    if "stage" in content:
        # The stage is printed, and the pattern keeps control characters out of the terminal.
        named = isinstance(content["stage"], str) and _STAGE.fullmatch(content["stage"]) is not None
        fits = named and is_count(content.get("done")) and is_count(content.get("total"))
        require(fits, "an event has an invalid stage, done or total")
    elif "pid" in content:
        require(is_count(content["pid"]) and 1 <= content["pid"] <= MAX_PID, "an event has an invalid process id")
    else:
        require(isinstance(content.get("error"), str) or content.get("ended") is True, "an event of unknown kind")
    return dict(content)


def _refusals(content: Any) -> dict[str, int]:
    require(isinstance(content, dict) and all(map(is_count, content.values())), "it isn't an object of counts")
    return dict(content)


def is_count(value: Any) -> bool:
    """Whether this is a whole number of at least 0."""
    # Not isinstance: bool is a subclass of int.
    return type(value) is int and value >= 0


def require(holds: bool, problem: str) -> None:
    """Raise ValueError with this text unless the condition holds."""
    if not holds:
        raise ValueError(problem)
