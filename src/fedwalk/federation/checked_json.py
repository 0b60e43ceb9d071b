"""JSON from files and parties that may be damaged or hostile: bounded before it is parsed, and only plain values.

`json.loads` alone lets through what breaks later: NaN, infinities, integers that no other number type can hold, names
that occur twice in an object, text with lone surrogates that can't be encoded again. And deep nesting ends in a
RecursionError, which is no ValueError.
"""

import json
import math
import re
from pathlib import Path
from typing import Any, NoReturn

MAX_BYTES = 32 << 20
"""Of a file that a person sends or edits: a million devices fit."""
MAX_DEPTH = 32
"""Far more than any file of ours has, and far less than Python's recursion limit: the value can be written again."""
MAX_DIGITS = 20
"""Of an integer: Flower's node ids have as many."""
PIECE = 1 << 20
"""Bytes that are read at a time."""
MAX_REASON = 200
"""Characters of a reason."""
TOO_DEEP = "nested too deeply"

_NESTED = (dict, list)
_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")
_LONG_NUMBER = re.compile(rb"[0-9]{%d}" % (MAX_DIGITS + 1))


def parse_json(data: bytes, max_bytes: int = MAX_BYTES) -> Any:
    """The value in these bytes; ValueError says what is wrong with them.

    Examples
    --------
    >>> parse_json(b'{"name": "clinic"}')
    {'name': 'clinic'}
    >>> parse_json(b'{"name": 1, "name": 2}')
    Traceback (most recent call last):
    ValueError: the name 'name' occurs twice in one object
    """
    if len(data) > max_bytes:
        raise ValueError(_too_large(max_bytes))
    # A function for each integer takes its time, so it is used only where one of them may be too long.
    parse_int = _short_integer if _LONG_NUMBER.search(data) else None
    try:
        value = json.loads(
            data.decode(), parse_constant=_no_constant, parse_float=_finite, parse_int=parse_int,
            object_pairs_hook=_unique,
        )  # fmt: skip
        _check_depth(value)
        # A lone surrogate can be written as an escape, and can't be encoded.
        if _SURROGATE.search(data):
            json.dumps(value, ensure_ascii=False).encode()
    except UnicodeError as error:
        raise ValueError("not UTF-8 text") from error
    except (RecursionError, MemoryError) as error:
        raise ValueError(TOO_DEEP) from error
    return value


def read_json(path: Path, max_bytes: int = MAX_BYTES) -> Any:
    """The same for a file, of which no more than `max_bytes` are read; OSError as it comes."""
    return parse_json(read_bounded(path, max_bytes), max_bytes)


def read_bounded(path: Path, max_bytes: int = MAX_BYTES) -> bytes:
    """A file's content; ValueError if it is larger than so many bytes, which are then not read."""
    data = bytearray()
    with path.open("rb") as file:
        # In pieces: Python would set aside as much memory as it is asked to read.
        while len(data) <= max_bytes and (piece := file.read(min(PIECE, max_bytes + 1))):
            data += piece
    if len(data) > max_bytes:
        raise ValueError(_too_large(max_bytes))
    return bytes(data)


def reason(error: Exception) -> str:
    """Why a file can't be read, in a few words: an OSError's own would repeat the path, and a value can be long.

    Examples
    --------
    >>> reason(IsADirectoryError(21, "Is a directory", "roster.json"))
    'Is a directory'
    >>> reason(KeyError("tag"))
    "KeyError: 'tag'"
    """
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    text = str(error) if isinstance(error, ValueError) else f"{type(error).__name__}: {error}"
    return "".join(letter if letter.isprintable() else "?" for letter in text[:MAX_REASON])


def _too_large(max_bytes: int) -> str:
    bound = f"{max_bytes >> 20} MB" if max_bytes >= 1 << 20 else f"{max_bytes:,} bytes"
    return f"larger than {bound}, which is the most that is read"


def _check_depth(value: Any) -> None:
    """ValueError beyond MAX_DEPTH levels; level by level, so that the depth costs no recursion."""
    level = [value]
    for _ in range(MAX_DEPTH + 1):
        containers = [item.values() if isinstance(item, dict) else item for item in level if isinstance(item, _NESTED)]
        level = [child for container in containers for child in container if isinstance(child, _NESTED)]
        if not level:
            return
    raise ValueError(TOO_DEEP)


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"{text[:40]} is beyond what a number can be")
    return number


def _short_integer(text: str) -> int:
    if len(text.lstrip("-")) > MAX_DIGITS:
        raise ValueError(f"an integer of more than {MAX_DIGITS} digits")
    return int(text)


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no number")


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in pairs:
        if name in found:
            raise ValueError(f"the name {name[:40]!r} occurs twice in one object")
        found[name] = value
    return found
