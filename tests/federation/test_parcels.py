"""Parcels: only what has the declared shape becomes one."""

from dataclasses import fields
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedwalk.errors import ProtocolError
from fedwalk.federation.parcels import (
    ListsAnswer,
    ListsQuestion,
    MatricesAnswer,
    MatricesQuestion,
    RollAnswer,
    RollQuestion,
    VectorsAnswer,
    VectorsQuestion,
    WalksAnswer,
    WalksQuestion,
    pack,
    unpack,
)
from parcel_samples import SAMPLES

JUNK: list[Any] = [
    None, True, 3, -1.5, "text", b"bytes", [1], ["a"], {"a": 1},
    np.zeros(2, np.int32), np.zeros(2, np.int64), np.zeros(2, np.float64), np.zeros(2, ">i4"), np.zeros(2, ">f8"),
    np.zeros((2, 2), np.int32), np.zeros((2, 2), np.float32), np.zeros((2, 2), np.float64), np.zeros((2, 2, 2), "f4"),
    np.zeros((), np.int32), np.zeros(2, np.bool_), np.zeros(2, np.uint8), np.zeros(2, np.complex128),
    np.array(["a"]), np.array([object()]), np.zeros(2, "i4,f4"),
]  # fmt: skip
KINDS = [
    RollQuestion, RollAnswer, ListsQuestion, ListsAnswer, VectorsQuestion, VectorsAnswer, MatricesQuestion,
    MatricesAnswer, WalksQuestion, WalksAnswer,
]  # fmt: skip


def shape(value: Any) -> Any:
    """What unpack looks at."""
    if isinstance(value, list):
        return {type(item) for item in value}
    return (value.dtype, value.ndim) if isinstance(value, np.ndarray) else type(value)


@pytest.mark.parametrize("kind", KINDS)
def test_a_parcel_is_its_fields_and_back(kind: type[Any]) -> None:
    parcel = SAMPLES[kind]
    again = unpack(kind, pack(parcel))
    assert all(getattr(again, f.name) is getattr(parcel, f.name) for f in fields(parcel))


@pytest.mark.parametrize("kind", KINDS)
def test_no_field_takes_what_it_does_not_declare(kind: type[Any]) -> None:
    content = pack(SAMPLES[kind])
    for name, value in content.items():
        for junk in JUNK:
            if shape(junk) != shape(value):
                with pytest.raises(ProtocolError, match=f"{kind.__name__}.{name}: must be"):
                    unpack(kind, {**content, name: junk})


@pytest.mark.parametrize("kind", KINDS)
def test_a_field_that_is_missing_or_one_too_many_is_named(kind: type[Any]) -> None:
    content = pack(SAMPLES[kind])
    for name in content:
        with pytest.raises(ProtocolError, match=f"{kind.__name__}: field '{name}' is missing"):
            unpack(kind, {other: value for other, value in content.items() if other != name})
    with pytest.raises(ProtocolError, match="field 'zz' is missing, or doesn't belong here"):
        unpack(kind, {**content, "zz": 1})


def test_an_answer_of_another_phase_is_refused() -> None:
    with pytest.raises(ProtocolError, match="VectorsAnswer: field"):
        unpack(VectorsAnswer, pack(SAMPLES[MatricesAnswer]))


@given(st.dictionaries(st.sampled_from(["holder", "devices", "starts", "ids", ""]), st.sampled_from(JUNK)))
def test_junk_becomes_a_parcel_only_if_it_has_its_shape(content: dict[str, Any]) -> None:
    for kind in (RollAnswer, ListsAnswer):
        try:
            parcel: Any = unpack(kind, content)
        except ProtocolError:
            continue
        assert {name: shape(value) for name, value in pack(parcel).items()} == {
            name: shape(value) for name, value in pack(SAMPLES[kind]).items()
        }
