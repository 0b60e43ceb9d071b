"""Parsing JSON that may be damaged or hostile: its size is limited before it is parsed, and only plain values pass.

`json.loads` accepts values that cause errors later: NaN, infinities, integers too large for any other number type,
repeated names in an object, and text with lone surrogates, which can't be encoded again. And it raises RecursionError
for deep nesting, which isn't a ValueError.
"""

import json
import math
import re
from pathlib import Path
from typing import Any, NoReturn

MAX_BYTES = 32 << 20
"""Largest file that a person sends or edits: enough for a million devices."""
MAX_DEPTH = 32
"""Far more levels than our files have, and far fewer than Python's recursion limit, so values can be written again."""
MAX_DIGITS = 20
"""Most digits of an integer: Flower's node ids have 20."""
PIECE = 1 << 20
"""Bytes to read at a time."""
MAX_REASON = 200
"""Most characters of a reason."""
TOO_DEEP = "nested too deeply"

_NESTED = (dict, list)
_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")
_LONG_NUMBER = re.compile(rb"[0-9]{%d}" % (MAX_DIGITS + 1))


def parse_json(data: bytes, max_bytes: int = MAX_BYTES) -> Any:
    """Parse JSON; ValueError says what is wrong with it.

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
    # Calling a function for each integer is slow, so it is done only if one of them may be too long.
    parse_int = _short_integer if _LONG_NUMBER.search(data) else None
    try:
        value = json.loads(
            data.decode(), parse_constant=_no_constant, parse_float=_finite, parse_int=parse_int,
            object_pairs_hook=_unique,
        )  # fmt: skip
        _check_depth(value)
        # JSON can escape a lone surrogate, which no encoding of text can represent.
        if _SURROGATE.search(data):
            json.dumps(value, ensure_ascii=False).encode()
    except UnicodeError as error:
        raise ValueError("not UTF-8 text") from error
    except (RecursionError, MemoryError) as error:
        raise ValueError(TOO_DEEP) from error
    return value


def read_json(path: Path, max_bytes: int = MAX_BYTES) -> Any:
    """Read and parse a JSON file of at most `max_bytes`; ValueError if it is invalid, OSError if it can't be read."""
    return parse_json(read_bounded(path, max_bytes), max_bytes)


def read_bounded(path: Path, max_bytes: int = MAX_BYTES) -> bytes:
    """Read a file; ValueError if it is larger than `max_bytes`, of which no more is read."""
    data = bytearray()
    with path.open("rb") as file:
        # In pieces: `read(n)` allocates n bytes at once, even for a small file.
        while len(data) <= max_bytes and (piece := file.read(min(PIECE, max_bytes + 1))):
            data += piece
    if len(data) > max_bytes:
        raise ValueError(_too_large(max_bytes))
    return bytes(data)


def reason(error: Exception) -> str:
    """Why a file can't be read, in a few words: without the path of an OSError, limited in length, and printable.

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
    return f"larger than {bound}, the maximum"


def _check_depth(value: Any) -> None:
    """Raise ValueError beyond MAX_DEPTH levels. Goes level by level, without recursion."""
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
        raise ValueError(f"{text[:40]} is too large for a number")
    return number


def _short_integer(text: str) -> int:
    if len(text.lstrip("-")) > MAX_DIGITS:
        raise ValueError(f"an integer of more than {MAX_DIGITS} digits")
    return int(text)


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} isn't a number")


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    content: dict[str, Any] = {}
    for name, value in pairs:
        if name in content:
            raise ValueError(f"the name {name[:40]!r} occurs twice in one object")
        content[name] = value
    return content
