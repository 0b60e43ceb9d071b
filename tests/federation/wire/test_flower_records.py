"""Records: arrays are made only from bytes that match their header, and never from pickles."""

import pickle
import struct
import tracemalloc
from io import BytesIO
from typing import Any

import numpy as np
import pytest
from flwr.app import Array, ArrayRecord, ConfigRecord, MetricRecord, RecordDict
from hypothesis import given
from hypothesis import strategies as st
from numpy.lib import format as npy

from fedwalk.errors import ProtocolError
from fedwalk.federation.wire.flower_records import MAX_FIELDS, VERSION, fields_from_records, from_records, to_records
from fedwalk.federation.wire.questions import ReportsAnswer, RollAnswer, VectorsAnswer, pack
from helpers.local_holders import carried
from helpers.question_samples import SAMPLES


def header(text: str) -> bytes:
    """The start of an .npy file with this header."""
    padded = text.encode() + b" " * (-(len(text) + 11) % 64) + b"\n"
    return npy.magic(1, 0) + struct.pack("<H", len(padded)) + padded


def described(descr: object, shape: object, order: object = False) -> bytes:
    return header(repr({"descr": descr, "fortran_order": order, "shape": shape}))


def with_array(data: bytes) -> RecordDict:
    """The records of a RollAnswer whose devices are these bytes."""
    arrays = ArrayRecord({"devices": Array(dtype="int32", shape=(1,), stype="numpy.ndarray", data=data)})
    return RecordDict({"arrays": arrays, "values": ConfigRecord({"holder": "ada", "version": VERSION})})


def saved(array: np.ndarray[Any, Any]) -> bytes:
    file = BytesIO()
    np.save(file, array)
    return file.getvalue()


@pytest.mark.parametrize("kind", list(SAMPLES))
def test_a_question_or_answer_travels_as_records(kind: type[Any]) -> None:
    sent, again = pack(SAMPLES[kind]), pack(from_records(kind, carried(to_records(SAMPLES[kind]))))
    for name, value in sent.items():
        if isinstance(value, np.ndarray):
            assert again[name].dtype == value.dtype
            assert np.array_equal(again[name], value)
            assert again[name].flags.writeable
        else:
            assert again[name] == value


def test_empty_arrays_travel_too() -> None:
    sent = ReportsAnswer(np.empty(0, np.int32), np.zeros(1, np.int64), np.empty(0, np.int32))
    assert from_records(ReportsAnswer, carried(to_records(sent))).ids.shape == (0,)
    rows = VectorsAnswer(np.empty(0, np.int32), np.empty((0, 5), np.float32))
    assert from_records(VectorsAnswer, carried(to_records(rows))).vectors.shape == (0, 5)


def test_a_slice_travels_as_what_it_shows() -> None:
    sent = VectorsAnswer(np.arange(6, dtype=np.int32)[::2], np.ones((6, 4), np.float32)[::2, ::2])
    assert from_records(VectorsAnswer, carried(to_records(sent))).devices.tolist() == [0, 2, 4]


@pytest.mark.parametrize(
    "data",
    [
        described("<i4", (250_000_000_000,)),
        described("<i4", (2**62,)),
        described("<i4", (2**40, 2**40)) + bytes(400),
        described("<f8", (10**9,)) + bytes(8 * 100),
        described("|V1000000000000", (1,)),
        described("<U2000000000", (1,)),
    ],
    ids=["a terabyte", "beyond any memory", "beyond 64 bits", "a little of it", "one vast item", "a vast text"],
)
def test_a_header_that_declares_missing_bytes_is_refused_without_allocating_them(data: bytes) -> None:
    tracemalloc.start()
    try:
        with pytest.raises(ProtocolError, match=r"^devices: isn't an array"):
            fields_from_records(with_array(data))
        assert tracemalloc.get_traced_memory()[1] < 1_000_000
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\x93NUMPY",
        b"not an array at all",
        npy.magic(2, 0) + bytes(100),
        npy.magic(9, 9) + bytes(100),
        saved(np.arange(6, dtype=np.int32))[:-1],
        saved(np.arange(6, dtype=np.int32)) + b"x",
        saved(np.asfortranarray(np.arange(6, dtype=np.int32).reshape(2, 3))),
        saved(np.array([{"a": 1}, None], object)),
        described("|O", (0,)),
        described([("a", "|O"), ("b", "<i4")], (0,)),
        described("<i4", (-1, -1)) + bytes(4),
        described("<i4", (-1,)),
        described("<i4", (0, 2**62)),
        described("<i4", (1,) * 70) + bytes(4),
        described("<i4", 3) + bytes(12),
        described("<i4", (1.0,)) + bytes(4),
        described("<i4", ("1",)) + bytes(4),
        described("|S0", (1,)),
        described("|V0", (5,)),
        described("no such type", (1,)),
        described({"a": 1}, (1,)),
        described(None, (1,)),
        described("<i4", (1,), "maybe") + bytes(4),
        header("{'descr': '<i4'}"),
        header("[1, 2]"),
        header("__import__('os').abort()"),
        header("{" * 5000),
        header("(" * 200 + ")" * 200),
        header("-" * 9000 + "1"),
        header("'" + "x" * 9000),
        header("\x00"),
        header(" " * 20_000),
        pickle.dumps([1, 2, 3]),
    ],
)
@pytest.mark.filterwarnings("ignore:Reading `.npy`:UserWarning")
def test_other_bytes_than_a_plain_array_are_refused(data: bytes) -> None:
    with pytest.raises(ProtocolError, match=r"^devices: isn't an array"):
        fields_from_records(carried(with_array(data)))


def test_nothing_in_a_pickle_is_ever_run(tmp_path: Any) -> None:
    class Trap:
        def __reduce__(self) -> tuple[Any, ...]:
            return (tmp_path.joinpath("sprung").touch, ())

    with pytest.raises(ProtocolError, match="isn't an array"):
        fields_from_records(with_array(saved(np.array([Trap()], object))))
    assert not (tmp_path / "sprung").exists()


@pytest.mark.filterwarnings("ignore:Reading `.npy`:UserWarning")
@given(st.data())
def test_no_array_is_larger_than_its_bytes(data: st.DataObject) -> None:
    good = bytearray(saved(np.arange(50, dtype=np.int32)))
    for _ in range(data.draw(st.integers(1, 6))):
        place = data.draw(st.integers(0, len(good) - 1))
        good[place : place + data.draw(st.integers(0, 3))] = data.draw(st.binary(max_size=6))
    try:
        array = fields_from_records(with_array(bytes(good)))["devices"]
    except ProtocolError:
        return
    assert array.nbytes <= len(good)
    assert not array.dtype.hasobject


@pytest.mark.parametrize(
    "records",
    [
        RecordDict(),
        RecordDict({"arrays": ArrayRecord({})}),
        RecordDict({"arrays": ConfigRecord({}), "values": ConfigRecord({"version": VERSION})}),
        RecordDict({"arrays": ArrayRecord({}), "values": MetricRecord({"version": 1})}),
        RecordDict(
            {"arrays": ArrayRecord({}), "values": ConfigRecord({"version": VERSION}), "more": ConfigRecord({"a": 1})}
        ),
    ],
)
def test_other_records_than_the_two_are_refused(records: RecordDict) -> None:
    with pytest.raises(ProtocolError, match="records: expected one of arrays and one of values"):
        fields_from_records(carried(records))


@pytest.mark.parametrize("version", ["fedwalk 0", "", 1, 1.0, ["fedwalk 1"]])
def test_records_of_another_version_are_refused(version: Any) -> None:
    records = to_records(SAMPLES[RollAnswer])
    records["values"] = ConfigRecord({"holder": "ada", "version": version})
    with pytest.raises(ProtocolError, match=r"version .*Install the same fedwalk on all machines"):
        fields_from_records(carried(records))


def test_bytes_are_refused_among_the_values() -> None:
    records = to_records(SAMPLES[RollAnswer])
    records["values"] = ConfigRecord({"holder": b"ada", "version": VERSION})
    with pytest.raises(ProtocolError, match="holder: a bytes isn't allowed in a question or answer"):
        fields_from_records(carried(records))


def test_a_field_in_both_records_is_still_checked_as_one() -> None:
    records = to_records(SAMPLES[RollAnswer])
    records["values"] = ConfigRecord({"holder": "ada", "devices": 3, "simulated": False, "version": VERSION})
    assert from_records(RollAnswer, carried(records)).devices.tolist() == [0, 1, 2]


def many(arrays: int, values: int, data: bytes) -> RecordDict:
    """Records with one array under many names, and so many values beside it, the version among them."""
    one = Array(dtype="uint8", shape=(1,), stype="numpy.ndarray", data=data)
    plain = {f"value-{i}": i for i in range(values - 1)}
    return RecordDict(
        {
            "arrays": ArrayRecord({f"array-{i}": one for i in range(arrays)}),
            "values": ConfigRecord({**plain, "version": VERSION}),
        }
    )


def test_an_array_under_many_names_counts_once_per_name_and_is_not_copied_first() -> None:
    data = saved(np.zeros(1_000_000, np.uint8))
    assert len(fields_from_records(many(40, 1, data), max_bytes=40 * len(data))) == 40
    records = many(40, 1, data)
    tracemalloc.start()
    try:
        with pytest.raises(ProtocolError, match="records: arrays of more than 38 MB in all"):
            fields_from_records(records, max_bytes=40 * len(data) - 1)
        assert tracemalloc.get_traced_memory()[1] < 500_000
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(("arrays", "values"), [(MAX_FIELDS, 1), (1, MAX_FIELDS), (MAX_FIELDS // 2 + 1,) * 2])
def test_more_fields_than_any_question_or_answer_has_are_refused(arrays: int, values: int) -> None:
    data = saved(np.zeros(1, np.uint8))
    assert len(fields_from_records(many(MAX_FIELDS // 2, MAX_FIELDS // 2, data))) == MAX_FIELDS - 1
    with pytest.raises(ProtocolError, match=rf"records: {arrays + values} fields, which is more than {MAX_FIELDS}"):
        fields_from_records(many(arrays, values, data))
