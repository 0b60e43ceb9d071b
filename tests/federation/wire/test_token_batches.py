"""A batch of tokens as bytes: the round trip, and refusal of all other bytes."""

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedwalk.errors import InputError, ProtocolError
from fedwalk.federation.wire.token_batches import (
    ENTRY_BYTES,
    HEADER,
    MAGIC,
    MAX_BATCH_BYTES,
    TOKEN_BYTES,
    BatchError,
    TokenBatch,
    batch_key,
)

KEY = bytes(range(16))
IDS, WALKS = st.integers(-(2**31), 2**31 - 1), st.integers(-(2**63), 2**63 - 1)
TOKENS = st.lists(st.tuples(IDS, WALKS, st.lists(IDS, max_size=9)), max_size=12)


def batch_of(tokens: list[tuple[int, int, list[int]]]) -> TokenBatch:
    return TokenBatch(
        np.array([device for device, _, _ in tokens], np.int32),
        np.array([walk for _, walk, _ in tokens], np.int64),
        np.array([len(entries) for _, _, entries in tokens], np.int32),
        np.array([entry for _, _, entries in tokens for entry in entries], np.int32),
    )


def content(batch: TokenBatch) -> list[tuple[int, int, list[int]]]:
    parts = np.split(batch.entries, np.cumsum(batch.written))
    return [(int(d), int(w), p.tolist()) for d, w, p in zip(batch.device, batch.walk, parts, strict=False)]


SAMPLE = batch_of([(3, 7, [1, 2]), (4, 2**40, [5]), (3, 0, [6, 6, 6])])


@given(TOKENS, st.integers(0, 2**64 - 1))
def test_a_batch_survives_the_wire(tokens: list[tuple[int, int, list[int]]], number: int) -> None:
    data = batch_of(tokens).to_bytes(KEY, number)
    for form in (data, memoryview(data)):
        again_number, again = TokenBatch.from_bytes(form, KEY)
        assert (again_number, content(again)) == (number, tokens)


def test_a_token_costs_sixteen_bytes_and_an_entry_four() -> None:
    assert len(SAMPLE.to_bytes(KEY, 0)) == HEADER.size + 3 * TOKEN_BYTES + 6 * ENTRY_BYTES


def header(count: int, total: int, magic: bytes = MAGIC) -> bytes:
    return HEADER.pack(magic, KEY, 0, count, total)


BODY = SAMPLE.to_bytes(KEY, 0)[HEADER.size :]
WRITTEN_AT = 3 * (8 + 4)


def written(*counts: int) -> bytes:
    """The sample's body with other counts of entries."""
    return BODY[:WRITTEN_AT] + np.array(counts, "<i4").tobytes() + BODY[WRITTEN_AT + 12 :]


@pytest.mark.parametrize(
    ("data", "reason", "problem"),
    [
        (b"", "malformed", "fewer than a header has"),
        (header(3, 6)[:-1], "malformed", "fewer than a header has"),
        (header(3, 6, b"fedwalk0") + BODY, "malformed", "doesn't start"),
        (header(3, 6) + BODY[:-1], "malformed", "bytes for 3 tokens"),
        (header(3, 6) + BODY + b"\0", "malformed", "bytes for 3 tokens"),
        (header(2, 6) + BODY, "malformed", "bytes for 2 tokens"),
        (header(3, 5) + BODY, "malformed", "with 5 entries"),
        (header(2**64 - 1, 2**64 - 1) + BODY, "malformed", "bytes for"),
        (header(3, 6) + written(2, 1, 4), "malformed", "isn't the sum"),
        (header(3, 6) + written(8, 1, -3), "malformed", "isn't the sum"),
        (header(3, 6) + written(2**31 - 1, 2**31 - 1, 8), "malformed", "isn't the sum"),
        (bytes(MAX_BATCH_BYTES + 1), "too large", f"more than {MAX_BATCH_BYTES}"),
    ],
    ids=range(12),
)
def test_bytes_that_are_no_batch_are_refused_with_the_reason(data: bytes, reason: str, problem: str) -> None:
    with pytest.raises(BatchError, match=problem) as caught:
        TokenBatch.from_bytes(data, KEY)
    assert caught.value.reason == reason


def test_another_attempts_batch_is_refused() -> None:
    with pytest.raises(BatchError, match="another run") as caught:
        TokenBatch.from_bytes(SAMPLE.to_bytes(bytes(16), 0), KEY)
    assert caught.value.reason == "other run"


@given(st.binary(max_size=200), st.booleans())
def test_arbitrary_bytes_are_a_batch_or_a_protocol_error(data: bytes, begin_well: bool) -> None:
    try:
        TokenBatch.from_bytes((header(1, 2) if begin_well else b"") + data, KEY)
    except ProtocolError:
        return
    assert begin_well
    assert len(data) == TOKEN_BYTES + 2 * ENTRY_BYTES


@given(TOKENS, st.integers(0, 400))
def test_pieces_fit_and_join_to_the_whole(tokens: list[tuple[int, int, list[int]]], size: int) -> None:
    pieces = list(batch_of(tokens).pieces(size))
    assert content(TokenBatch.join(pieces)) == tokens
    assert all(len(piece) == 1 or (len(piece) and len(piece.to_bytes(KEY, 0)) <= size) for piece in pieces)


@given(TOKENS, st.integers(0, 14))
def test_a_split_loses_nothing(tokens: list[tuple[int, int, list[int]]], at: int) -> None:
    first, rest = batch_of(tokens).split(at)
    assert (content(first), content(rest)) == (tokens[:at], tokens[at:])


def test_chosen_tokens_keep_their_entries() -> None:
    assert content(SAMPLE.where(np.array([True, False, True]))) == [(3, 7, [1, 2]), (3, 0, [6, 6, 6])]


@pytest.mark.parametrize(
    "make",
    [
        lambda: TokenBatch(np.zeros(1, np.int32), np.zeros(2, np.int64), np.zeros(1, np.int32), np.zeros(0, np.int32)),
        lambda: TokenBatch(np.zeros(1, np.int32), np.zeros(1, np.int64), np.ones(1, np.int32), np.zeros(0, np.int32)),
    ],
)
def test_a_batch_that_contradicts_itself_is_refused(make: Callable[[], TokenBatch]) -> None:
    with pytest.raises(InputError, match="tokens"):
        make()


@pytest.mark.parametrize("text", ["", "00" * 15, "00" * 17, "0G" * 16, "AB" * 16, "00 " * 16, "00" * 16 + "\n"])
def test_a_key_is_sixteen_bytes_in_hexadecimal(text: str) -> None:
    assert batch_key("0f" * 16) == b"\x0f" * 16
    with pytest.raises(ProtocolError, match=r"WalksQuestion\.key"):
        batch_key(text)
