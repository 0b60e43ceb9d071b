"""Parcels as Flower's records and back: arrays in an ArrayRecord, numbers and texts in a ConfigRecord.

An answer comes from a machine that nobody vouches for, so an array is looked at before it is made: what its header
promises must be exactly what is there, and all of them together have a bound.
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
from fedwalk.federation.parcels import Fields, pack, unpack

P = TypeVar("P")
ARRAYS, VALUES = "arrays", "values"
MOST_BYTES = 8 << 30
MOST_FIELDS = 64
"""Far more than any parcel has."""
REFUSAL = "refusal"
"""In place of an answer: the one field that says why there is none."""
VERSION = "fedwalk 1"
"""Of these records: a holder and a server of different versions say so, in place of misunderstanding each other."""

UNREADABLE = (ValueError, TypeError, OverflowError, SyntaxError, RecursionError, MemoryError, TokenError)
"""What a header can make of Python's own parser, and a shape of numpy."""


def to_records(parcel: Any) -> RecordDict:
    """A parcel as Flower carries it."""
    return fields_to_records(pack(parcel))


def fields_to_records(content: Fields) -> RecordDict:
    """The same for a parcel's fields."""
    arrays = {name: Array(np.ascontiguousarray(value)) for name, value in content.items() if _is_array(value)}
    values = {name: value for name, value in content.items() if not _is_array(value)}
    return RecordDict({ARRAYS: ArrayRecord(arrays), VALUES: ConfigRecord({**values, "version": VERSION})})


def from_records(kind: type[P], records: RecordDict) -> P:
    """The parcel of this kind, or ProtocolError."""
    return unpack(kind, fields_from_records(records))


def fields_from_records(records: RecordDict, most: int = MOST_BYTES) -> Fields:
    """The fields of whatever came, if their arrays are of no more than so many bytes in all."""
    arrays, values = records.get(ARRAYS), records.get(VALUES)
    if not isinstance(arrays, ArrayRecord) or not isinstance(values, ConfigRecord) or len(records) != 2:
        raise ProtocolError(f"records: expected one of arrays and one of values; got {', '.join(records) or 'none'}.")
    if len(arrays) + len(values) > MOST_FIELDS:
        raise ProtocolError(f"records: {len(arrays) + len(values)} fields, which is more than {MOST_FIELDS}.")
    content = {name: _plain(name, value) for name, value in values.items()}
    version = content.pop("version", None)
    if version != VERSION:
        raise ProtocolError(f"records: of version {version!r}, this is {VERSION!r}. Install one fedwalk everywhere.")
    # One array under many names is one on the way, and many here.
    if sum(len(value.data) for value in arrays.values()) > most:
        raise ProtocolError(f"records: arrays of more than {most >> 20} MB in all.")
    return content | {name: _array(name, value) for name, value in arrays.items()}


def _is_array(value: Any) -> bool:
    return isinstance(value, np.ndarray)


def _plain(name: str, value: Any) -> Any:
    if not isinstance(value, bool | int | float | str | list):
        raise ProtocolError(f"{name}: a {type(value).__name__} has no place in a parcel.")
    return value


def _array(name: str, array: Array) -> NDArray[Any]:
    """The array, if its bytes are what its header says: no object, no more and no less."""
    file = BytesIO(array.data)
    try:
        if npy.read_magic(file) != (1, 0):
            raise ValueError("written in another version of the format")
        shape, fortran, dtype = npy.read_array_header_1_0(file)
        promised = math.prod(shape) * dtype.itemsize
        if dtype.hasobject or fortran or min(shape, default=0) < 0 or promised != len(array.data) - file.tell():
            raise ValueError("its bytes are not what it says they are")
        return np.frombuffer(array.data, dtype, offset=file.tell()).reshape(shape).copy()
    except UNREADABLE as error:
        raise ProtocolError(f"{name}: isn't an array ({str(error)[:100]}).") from None
