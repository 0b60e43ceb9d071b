"""Questions and answers as Flower's records and back: arrays in an ArrayRecord, numbers and texts in a ConfigRecord.

Records come from machines that aren't trusted. So the header of each array is checked before the array is made (its
bytes must be exactly as many as the header says), and the total size of all arrays is limited.
"""

import math
from io import BytesIO
from tokenize import TokenError
from typing import Any, TypeVar

import numpy as np
from flwr.app import Array, ArrayRecord, ConfigRecord, RecordDict
from numpy.lib import format as npy
from numpy.typing import NDArray

from fedwalk.errors import ProtocolError
from fedwalk.federation.wire.questions import Fields, pack, unpack

M = TypeVar("M")
ARRAYS, VALUES = "arrays", "values"
MAX_BYTES = 8 << 30
"""Largest total size of the arrays in one question or answer."""
MAX_FIELDS = 64
"""Far more fields than any question or answer has."""
REFUSAL = "refusal"
"""The only field of a reply in place of an answer: the reason why there is none."""
VERSION = "fedwalk 1"
"""Version of these records. A server and a holder of different versions refuse each other with a clear error."""

UNREADABLE = (ValueError, TypeError, OverflowError, SyntaxError, RecursionError, MemoryError, TokenError)
"""What numpy and Python's parser, which numpy calls for headers, raise on malformed arrays."""


def to_records(message: Any) -> RecordDict:
    """A question or answer as Flower's records."""
    return fields_to_records(pack(message))


def fields_to_records(content: Fields) -> RecordDict:
    """The fields of a question or answer as Flower's records."""
    # A transposed array would be stored in Fortran order, which `_array` refuses.
    arrays = {name: Array(np.ascontiguousarray(value)) for name, value in content.items() if _is_array(value)}
    values = {name: value for name, value in content.items() if not _is_array(value)}
    return RecordDict({ARRAYS: ArrayRecord(arrays), VALUES: ConfigRecord({**values, "version": VERSION})})


def from_records(kind: type[M], records: RecordDict) -> M:
    """The question or answer of this kind; ProtocolError if the records don't contain one."""
    return unpack(kind, fields_from_records(records))


def fields_from_records(records: RecordDict, max_bytes: int = MAX_BYTES) -> Fields:
    """The fields in the records; ProtocolError if they are malformed, or their arrays exceed `max_bytes` in all."""
    arrays, values = records.get(ARRAYS), records.get(VALUES)
    if not isinstance(arrays, ArrayRecord) or not isinstance(values, ConfigRecord) or len(records) != 2:
        raise ProtocolError(f"records: expected one of arrays and one of values; got {', '.join(records) or 'none'}.")
    if len(arrays) + len(values) > MAX_FIELDS:
        raise ProtocolError(f"records: {len(arrays) + len(values)} fields, which is more than {MAX_FIELDS}.")
    content = {name: _plain(name, value) for name, value in values.items()}
    # Before the arrays are decoded: the error should name the versions, not an array that another version encodes.
    version = content.pop("version", None)
    if version != VERSION:
        raise ProtocolError(
            f"records: version {version!r}, and this is {VERSION!r}. Install the same fedwalk on all machines."
        )
    # Flower sends an array that has many names only once, so the size on the wire says little about the size here.
    if sum(len(value.data) for value in arrays.values()) > max_bytes:
        raise ProtocolError(f"records: arrays of more than {max_bytes >> 20} MB in all.")
    return content | {name: _array(name, value) for name, value in arrays.items()}


def _is_array(value: Any) -> bool:
    return isinstance(value, np.ndarray)


def _plain(name: str, value: Any) -> Any:
    if not isinstance(value, bool | int | float | str | list):
        raise ProtocolError(f"{name}: a {type(value).__name__} isn't allowed in a question or answer.")
    return value


def _array(name: str, array: Array) -> NDArray[Any]:
    """Decode an array. Its bytes must match its header exactly, and object arrays (pickles) are refused."""
    file = BytesIO(array.data)
    try:
        # `np.load` would allocate what the header declares before it misses the bytes. So only the header is parsed.
        if npy.read_magic(file) != (1, 0):
            raise ValueError("another version of the .npy format")
        shape, fortran, dtype = npy.read_array_header_1_0(file)
        # Python's integers don't overflow, so a forged shape can't wrap around to the right size.
        declared = math.prod(shape) * dtype.itemsize
        if dtype.hasobject or fortran or min(shape, default=0) < 0 or declared != len(array.data) - file.tell():
            raise ValueError("its bytes don't match its header")
        # Copied, because an array over `bytes` is read-only.
        return np.frombuffer(array.data, dtype, offset=file.tell()).reshape(shape).copy()
    except UNREADABLE as error:
        raise ProtocolError(f"{name}: isn't an array ({str(error)[:100]}).") from None
