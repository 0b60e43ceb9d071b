"""Questions and answers: fields of other types than declared are refused."""

from dataclasses import fields
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedwalk.errors import ProtocolError
from fedwalk.federation.wire.questions import (
    MatricesAnswer,
    MatricesQuestion,
    ReportsAnswer,
    ReportsQuestion,
    RollAnswer,
    RollQuestion,
    VectorsAnswer,
    VectorsQuestion,
    WalksAnswer,
    WalksQuestion,
    pack,
    unpack,
)
from helpers.question_samples import SAMPLES

JUNK: list[Any] = [
    None, True, 3, -1.5, "text", b"bytes", [1], ["a"], {"a": 1},
    np.zeros(2, np.int32), np.zeros(2, np.int64), np.zeros(2, np.float64), np.zeros(2, ">i4"), np.zeros(2, ">f8"),
    np.zeros((2, 2), np.int32), np.zeros((2, 2), np.float32), np.zeros((2, 2), np.float64), np.zeros((2, 2, 2), "f4"),
    np.zeros((), np.int32), np.zeros(2, np.bool_), np.zeros(2, np.uint8), np.zeros(2, np.complex128),
    np.array(["a"]), np.array([object()]), np.zeros(2, "i4,f4"),
]  # fmt: skip
KINDS = [
    RollQuestion, RollAnswer, ReportsQuestion, ReportsAnswer, VectorsQuestion, VectorsAnswer, MatricesQuestion,
    MatricesAnswer, WalksQuestion, WalksAnswer,
]  # fmt: skip


def shape(value: Any) -> Any:
    """The properties that `unpack` checks."""
    if isinstance(value, list):
        return {type(item) for item in value}
    return (value.dtype, value.ndim) if isinstance(value, np.ndarray) else type(value)


@pytest.mark.parametrize("kind", KINDS)
def test_packing_and_unpacking_restores_every_field(kind: type[Any]) -> None:
    message = SAMPLES[kind]
    again = unpack(kind, pack(message))
    assert all(getattr(again, f.name) is getattr(message, f.name) for f in fields(message))


@pytest.mark.parametrize("kind", KINDS)
def test_a_field_of_another_type_is_refused(kind: type[Any]) -> None:
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
    with pytest.raises(ProtocolError, match="field 'zz' is missing or unknown"):
        unpack(kind, {**content, "zz": 1})


def test_an_answer_of_another_phase_is_refused() -> None:
    with pytest.raises(ProtocolError, match="VectorsAnswer: field"):
        unpack(VectorsAnswer, pack(SAMPLES[MatricesAnswer]))


@given(st.dictionaries(st.sampled_from(["holder", "devices", "starts", "ids", ""]), st.sampled_from(JUNK)))
def test_arbitrary_fields_are_accepted_only_with_the_declared_types(content: dict[str, Any]) -> None:
    for kind in (RollAnswer, ReportsAnswer):
        try:
            message: Any = unpack(kind, content)
        except ProtocolError:
            continue
        assert {name: shape(value) for name, value in pack(message).items()} == {
            name: shape(value) for name, value in pack(SAMPLES[kind]).items()
        }
