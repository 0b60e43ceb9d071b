"""Untrusted JSON: plain values, or a ValueError that says what is wrong."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedwalk.util.checked_json import parse_json, read_json


@pytest.mark.parametrize(("data", "reason"), [
    (b"[" * 100_000, "nested too deeply"),
    (b'{"a":' * 100_000, "nested too deeply"),
    (rb'"\ud800"', "not UTF-8"),
    (rb'{"\udfff": 1}', "not UTF-8"),
    (b"\xff", "not UTF-8"),
    (b"NaN", "NaN isn't a number"),
    (b"-Infinity", "-Infinity isn't a number"),
    (b'{"a": 1, "a": 2}', "'a' occurs twice"),
    (b"9" * 5000, "more than 20 digits"),
    (b"[-100000000000000000000]", "more than 20 digits"),
    (b"1e400", "1e400 is too large for a number"),
    (b"[" * 40 + b"]" * 40, "nested too deeply"),
    (b"", "Expecting value"),
    (b'"' + b"a" * 100 + b'"', "larger than 100 bytes"),
])  # fmt: skip
def test_values_that_would_cause_errors_later_are_refused(data: bytes, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        parse_json(data, 100 if reason.startswith("larger") else 1 << 20)


@pytest.mark.parametrize("value", [2**64 - 1, -(2**63), "9" * 30, "\U0001f600", [[[{"a": [1.5]}]]], 1.7e308])
def test_large_and_rare_values_are_read(value: object) -> None:
    assert parse_json(json.dumps(value).encode()) == value


@given(st.binary(max_size=64))
def test_any_bytes_are_a_value_or_a_value_error(data: bytes) -> None:
    try:
        parse_json(data)
    except ValueError:
        return


def test_no_more_of_a_file_is_read_than_allowed(tmp_path: Path) -> None:
    path = tmp_path / "sparse.json"
    with path.open("wb") as file:
        file.truncate(1 << 40)
    with pytest.raises(ValueError, match="larger than 1 MB"):
        read_json(path, 1 << 20)
