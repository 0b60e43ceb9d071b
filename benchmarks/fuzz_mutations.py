"""How the fuzzer damages an input: random changes of bytes, and JSON values that parse but mean something else.

Random bytes alone rarely get past a parser or a checksum. So a JSON sample is also parsed, changed in a few places and
written again, with its checksum recomputed where it has one (`Recipe.seal`).
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

DEEP = "@deep@"
"""Placeholder for a value that is nested too deeply for `json.dumps`; it is inserted into the text afterwards."""
VALUES: tuple[Any, ...] = (
    None, True, False, 0, -1, 1, 255, 2**31, -(2**31) - 1, 2**63, 2**64, 10**19, 10**25, 0.5, -0.0, 1e308, 5e-324,
    "", "a", "0", "-1", "NaN", "unbounded", "\ud800", "\u202e", "\x00", "\x1b[2J", "ä", "9" * 5000, "a" * 1001,
    [], [None], [0], [1, 0], [[]], ["a", "a"], {}, {"a": None}, {"": {}}, {"kind": 1}, DEEP,
)  # fmt: skip
TOKENS = (
    b"null", b"true", b"NaN", b"Infinity", b"-Infinity", b"1e999", b"-1", b"0", b"9" * 5000, b"1" + b"0" * 25,
    b'"', b"\\",
    rb"\ud800", rb"\u0000", b"[" * 50, b"[" * 2000, b'{"a":' * 2000, b"{}", b"[]", b",", b":", b"\n",
    b"\x00" * 8, b"\xff" * 8,
    b"\x80", b"\xed\xa0\x80", b"\xef\xbb\xbf", b"PK\x05\x06", b"\x93NUMPY", b"''''", b"[a.b]\n", b"a = 1\n",
    b"1979-05-27",
)  # fmt: skip


@dataclass(frozen=True)
class Recipe:
    """What to damage: valid samples, whether they are JSON, and how to give a changed one a valid checksum (`seal`).

    `open` takes a sealed sample and returns the part that the checksum covers, where that isn't the sample itself.
    """

    samples: Sequence[bytes]
    is_json: bool = False
    seal: Callable[[bytes], bytes] | None = None
    open: Callable[[bytes], bytes] | None = None


def spoiled(recipe: Recipe, random: Random) -> bytes:
    """An input: a sample changed in a few places, and in three of four cases sealed again."""
    data = random.choice(recipe.samples)
    sealing = recipe.seal is not None and random.random() < 0.75
    if sealing and recipe.open is not None:
        data = recipe.open(data)
    if recipe.is_json and (sealing or recipe.open is None) and random.random() < 0.6:
        data = _changed_json(data, random)
    else:
        for _ in range(random.choice((1, 1, 1, 2, 3, 8))):
            data = random.choice(_BYTES)(data, recipe.samples, random)
    return recipe.seal(data) if sealing and recipe.seal is not None else data


def _changed_json(data: bytes, random: Random) -> bytes:
    """The same JSON with other values in one to three places."""
    value = json.loads(data)
    for _ in range(random.choice((1, 1, 2, 3))):
        value = _changed(value, random)
    text = json.dumps(value)
    if DEEP in text:
        depth = random.choice((30, 40, 900, 100_000))
        text = text.replace(f'"{DEEP}"', "[" * depth + "]" * depth)
    return text.encode()


def _changed(value: Any, random: Random) -> Any:
    """Descend to a random place and change the value there."""
    if isinstance(value, dict) and value and random.random() < 0.8:
        return _changed_object(value, random)
    if isinstance(value, list) and value and random.random() < 0.8:
        place = random.randrange(len(value))
        action = random.random()
        if action < 0.1:
            return value[:place]
        if action < 0.2:
            return [*value, value[place]]
        return [*value[:place], _changed(value[place], random), *value[place + 1 :]]
    if isinstance(value, int) and random.random() < 0.3:
        return value + random.choice((-1, 1, 1 << 31, 1 << 53, -(1 << 63)))
    if isinstance(value, str) and value and random.random() < 0.3:
        place = random.randrange(len(value))
        return (
            value[:place]
            + random.choice(("\u200b", "\n", "\0", "\ud800", "ａ", "é", "/", " ", ""))
            + value[place + 1 :]
        )
    return random.choice(VALUES)


def _changed_object(value: dict[str, Any], random: Random) -> dict[str, Any]:
    name = random.choice(list(value))
    action = random.random()
    if action < 0.1:
        return {other: inner for other, inner in value.items() if other != name}
    if action < 0.2:
        return {**value, random.choice(("", "more", "\ud800", name.upper())): random.choice(VALUES)}
    if action < 0.3:
        return {**value, name: random.choice(list(value.values()))}
    return {**value, name: _changed(value[name], random)}


def _place(data: bytes, random: Random) -> int:
    return random.randrange(len(data) + 1)


def _flip(data: bytes, samples: Sequence[bytes], random: Random) -> bytes:
    if not data:
        return b"\0"
    changed = bytearray(data)
    changed[random.randrange(len(data))] ^= 1 << random.randrange(8)
    return bytes(changed)


def _insert(data: bytes, samples: Sequence[bytes], random: Random) -> bytes:
    place = _place(data, random)
    return data[:place] + random.randbytes(random.choice((1, 2, 8, 64))) + data[place:]


def _insert_token(data: bytes, samples: Sequence[bytes], random: Random) -> bytes:
    place = _place(data, random)
    return data[:place] + random.choice(TOKENS) + data[random.choice((place, place + 1, place + 8)) :]


def _delete(data: bytes, samples: Sequence[bytes], random: Random) -> bytes:
    place = _place(data, random)
    return data[:place] + data[place + random.choice((1, 2, 8, 64)) :]


def _cut(data: bytes, samples: Sequence[bytes], random: Random) -> bytes:
    return data[: _place(data, random)]


def _repeat(data: bytes, samples: Sequence[bytes], random: Random) -> bytes:
    first, last = sorted((_place(data, random), _place(data, random)))
    return data[:last] + data[first:last] * random.choice((1, 2)) + data[last:]


def _splice(data: bytes, samples: Sequence[bytes], random: Random) -> bytes:
    other = random.choice(samples)
    return data[: _place(data, random)] + other[_place(other, random) :]


def _number(data: bytes, samples: Sequence[bytes], random: Random) -> bytes:
    """Overwrite some bytes with another little-endian number, such as a length or a count."""
    size = random.choice((1, 2, 4, 8))
    number = random.choice((0, 1, 1 << (8 * size - 1), (1 << 8 * size) - 1, random.randrange(1 << 8 * size)))
    place = _place(data, random)
    return data[:place] + number.to_bytes(size, "little") + data[place + size :]


_BYTES = (_flip, _flip, _insert, _insert_token, _delete, _cut, _repeat, _splice, _number)
