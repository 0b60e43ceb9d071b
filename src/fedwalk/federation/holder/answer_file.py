"""The format of a stored answer: an .npz archive, followed by a SHA-256 of the whole archive.

A zip's own checksums don't cover the names of its members, so without the SHA-256 a damaged field name would go
unnoticed. numpy can read the file all the same.
"""

import hashlib
import json
from io import BytesIO
from typing import Any

import numpy as np

from fedwalk.federation.wire.questions import Fields
from fedwalk.util.checked_json import parse_json

ARRAY, PLAIN = "array ", "plain"
"""The names of an archive's members: a prefix for those with an array, and the one with all the other fields."""
SEAL = b"\nfedwalk sha256 "
"""Separates an archive from its checksum."""


def to_bytes(fields: Fields) -> bytes:
    """Encode fields: an array of the archive for each array, and one with all the other fields as JSON."""
    # The prefix keeps names of arrays apart from PLAIN, and from `file`, a parameter of np.savez itself.
    arrays = {ARRAY + name: value for name, value in fields.items() if isinstance(value, np.ndarray)}
    plain = {name: value for name, value in fields.items() if not isinstance(value, np.ndarray)}
    file = BytesIO()
    # As bytes in a uint8 array: numpy stores text with four bytes per character, and other objects as pickles.
    np.savez(file, allow_pickle=False, **arrays, **{PLAIN: np.frombuffer(json.dumps(plain).encode(), np.uint8)})
    return file.getvalue() + seal(file.getvalue())


def from_bytes(data: bytes) -> Fields:
    """The fields in a file. For a damaged file, the exceptions of the parsers are passed on."""
    size = len(data) - len(seal(b""))
    # If the file is shorter than a seal, the content is empty and the comparison below fails.
    content = data[: max(0, size)]
    if data[max(0, size) :] != seal(content):
        raise ValueError("its checksum is wrong")
    with np.load(BytesIO(content), allow_pickle=False) as archive:
        plain: Fields = parse_json(archive[PLAIN].tobytes())
        if not isinstance(plain, dict) or not all(map(_is_plain, plain.values())):
            raise ValueError("it has something other than fields")
        return plain | {name.removeprefix(ARRAY): archive[name] for name in archive.files if name.startswith(ARRAY)}


def _is_plain(value: Any) -> bool:
    """Whether a value can be a field: a number that Flower can carry, a text, or a list of texts."""
    if isinstance(value, int):
        return -(1 << 63) <= value < 1 << 63
    return isinstance(value, float | str) or (isinstance(value, list) and all(isinstance(text, str) for text in value))


def seal(content: bytes) -> bytes:
    """The bytes that follow an archive. Their length doesn't depend on the content."""
    return SEAL + hashlib.sha256(content).hexdigest().encode() + b"\n"
