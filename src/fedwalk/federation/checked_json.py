"""JSON from files and parties that may be damaged or hostile: bounded before it is parsed, and only plain values.

`json.loads` alone lets through what breaks later: NaN, names that occur twice in an object, text with lone surrogates
that can't be encoded again. And deep nesting ends in a RecursionError, which is no ValueError.
"""

import json
from pathlib import Path
from typing import Any, NoReturn

MAX_BYTES = 32 << 20
"""Of a file that a person sends or edits: a million devices fit."""


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
        raise ValueError(f"larger than {max_bytes >> 20} MB")
    try:
        value = json.loads(data.decode(), parse_constant=_no_constant, object_pairs_hook=_unique)
        # A lone surrogate can be written as an escape, and can't be encoded.
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeError as error:
        raise ValueError("not UTF-8 text") from error
    except (RecursionError, MemoryError) as error:
        raise ValueError("nested too deeply") from error
    return value


def read_json(path: Path, max_bytes: int = MAX_BYTES) -> Any:
    """The same for a file, of which no more than `max_bytes` are read; OSError as it comes."""
    return parse_json(read_bounded(path, max_bytes), max_bytes)


def read_bounded(path: Path, max_bytes: int = MAX_BYTES) -> bytes:
    """A file's content; ValueError if it is larger than so many bytes, which are then not read."""
    with path.open("rb") as file:
        data = file.read(max_bytes + 1)
    if len(data) > max_bytes:
        raise ValueError(f"larger than {max_bytes >> 20} MB")
    return data


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no number")


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in pairs:
        if name in found:
            raise ValueError(f"the name {name[:40]!r} occurs twice in one object")
        found[name] = value
    return found
