"""Batches of tokens that one holder sends to another, and the receipts that come back: as values and as bytes.

A batch on the wire is a header (magic, key of the attempt, number of the batch, counts of tokens and entries) and four
little-endian arrays: 16 bytes per token and 4 per entry. The key keeps tokens of earlier attempts out of this one. The
number is counted per pair of sender and receiver and identifies a batch that is sent again.

A receipt has the counts of accepted and refused tokens and, if any was refused, the verdict on each, so that the sender
knows which walks to report as lost.

Bytes come from other holders and aren't trusted: both decoders check all lengths before they use them.
"""

import re
import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fedwalk.errors import InputError, ProtocolError
from fedwalk.kernels.token_batches import ACCEPTED, OUT_OF_ORDER, VERDICTS

MAGIC = b"fedwalk1"
# Magic, key, number, tokens, entries: "<" means little-endian without padding.
HEADER = struct.Struct("<8s16sQQQ")
KEY_BYTES = 16
# A token is its walk (int64), device and count of entries (int32 each).
TOKEN_BYTES, ENTRY_BYTES = 16, 4
MAX_BATCH_BYTES = 4 << 20
"""Size of the largest batch that a holder accepts."""
RECEIPT = struct.Struct("<QQQ")
# One byte per token of the largest batch, for its verdict.
MAX_RECEIPT_BYTES = RECEIPT.size + MAX_BATCH_BYTES // TOKEN_BYTES


class BatchError(ProtocolError):
    """A batch that can't be decoded; `reason` is the label under which the receiver counts it."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason


@dataclass(frozen=True, slots=True, eq=False)
class TokenBatch:
    """Tokens as columns.

    Parameters
    ----------
    device
        For each token, the place of the device that receives it.
    walk
        For each token, the number of its walk.
    written
        For each token, how many entries it carries.
    entries
        The entries of all tokens, concatenated in the order of the tokens.

    Examples
    --------
    >>> batch = TokenBatch(np.int32([3, 5]), np.int64([0, 7]), np.int32([1, 2]), np.int32([9, 8, 8]))
    >>> data = batch.to_bytes(key=bytes(16), number=4)
    >>> number, again = TokenBatch.from_bytes(data, key=bytes(16))
    >>> number, len(again), again.entries.tolist()
    (4, 2, [9, 8, 8])
    """

    device: NDArray[np.int32]
    walk: NDArray[np.int64]
    written: NDArray[np.int32]
    entries: NDArray[np.int32]

    def __post_init__(self) -> None:
        if not self.device.size == self.walk.size == self.written.size:
            raise InputError("tokens: every token needs a device, a walk and a number of entries.")
        # Summed as int64, so that forged counts can't overflow to the expected number.
        if (self.written < 0).any() or self.written.sum(dtype=np.int64) != self.entries.size:
            raise InputError("tokens: the number of entries isn't the sum of the tokens' own numbers.")

    def __len__(self) -> int:
        return self.device.size

    def to_bytes(self, key: bytes, number: int) -> bytes:
        """Encode the batch, as the `number`-th from its sender to its receiver."""
        header = HEADER.pack(MAGIC, key, number, len(self), self.entries.size)
        return b"".join([header, *(array.astype(kind, copy=False).tobytes() for array, kind in self._columns())])

    def _columns(self) -> tuple[tuple[NDArray[Any], str], ...]:
        # The widest column first: then each one starts at a multiple of its item size.
        return (self.walk, "<i8"), (self.device, "<i4"), (self.written, "<i4"), (self.entries, "<i4")

    @staticmethod
    def from_bytes(data: bytes | memoryview, key: bytes) -> tuple[int, "TokenBatch"]:
        """Decode a batch; returns its number and the batch. BatchError if the bytes aren't a batch of this attempt."""
        if len(data) > MAX_BATCH_BYTES:
            raise BatchError("too large", f"batch: {len(data)} bytes, more than {MAX_BATCH_BYTES}.")
        if len(data) < HEADER.size:
            raise BatchError("malformed", f"batch: {len(data)} bytes, fewer than a header has.")
        magic, sent_key, number, count, total = HEADER.unpack_from(data)
        if magic != MAGIC:
            raise BatchError("malformed", "batch: doesn't start like a batch of this version.")
        if sent_key != key:
            raise BatchError("other run", "batch: belongs to another run, or to another attempt of this one.")
        # Python's integers don't overflow, so forged counts can't pass this check.
        if len(data) != HEADER.size + TOKEN_BYTES * count + ENTRY_BYTES * total:
            raise BatchError("malformed", f"batch: {len(data)} bytes for {count} tokens with {total} entries.")
        return number, _read(bytearray(data), count, total)

    @staticmethod
    def join(batches: Sequence["TokenBatch"]) -> "TokenBatch":
        """Concatenate batches."""
        # The empty arrays set the dtypes if there is no batch at all.
        return TokenBatch(
            np.concatenate([np.empty(0, np.int32), *(batch.device for batch in batches)]),
            np.concatenate([np.empty(0, np.int64), *(batch.walk for batch in batches)]),
            np.concatenate([np.empty(0, np.int32), *(batch.written for batch in batches)]),
            np.concatenate([np.empty(0, np.int32), *(batch.entries for batch in batches)]),
        )

    def split(self, tokens: int) -> tuple["TokenBatch", "TokenBatch"]:
        """The first `tokens` tokens, and the rest."""
        device, walk, written, entries = self.device, self.walk, self.written, self.entries
        at = int(written[:tokens].sum(dtype=np.int64))
        first = TokenBatch(device[:tokens], walk[:tokens], written[:tokens], entries[:at])
        return first, TokenBatch(device[tokens:], walk[tokens:], written[tokens:], entries[at:])

    def where(self, chosen: NDArray[np.bool_]) -> "TokenBatch":
        """The chosen tokens."""
        entries = self.entries[np.repeat(chosen, self.written)]
        return TokenBatch(self.device[chosen], self.walk[chosen], self.written[chosen], entries)

    def pieces(self, size: int) -> Iterator["TokenBatch"]:
        """Cut the batch into pieces of at most `size` bytes on the wire, with at least one token each."""
        rest = self
        while len(rest):
            ends = HEADER.size + np.cumsum(TOKEN_BYTES + ENTRY_BYTES * rest.written.astype(np.int64))
            # ends[i] is the size of a batch with tokens 0 … i, so the search counts the tokens that fit.
            piece, rest = rest.split(max(1, int(np.searchsorted(ends, size, side="right"))))
            yield piece


@dataclass(frozen=True, slots=True, eq=False)
class Receipt:
    """The receiver's reply to a batch: a verdict on each token (see `kernels.token_batches`).

    `impostors` counts calls with the sender's certificate but without its session secret: another process has a copy of
    the sender's key, and the sender's owner should know.

    Examples
    --------
    >>> receipt = Receipt(np.uint8([0, 5, 0]), impostors=2)
    >>> receipt.accepted, receipt.refused
    (2, 1)
    >>> Receipt.from_bytes(receipt.to_bytes(), tokens=3).verdicts.tolist()
    [0, 5, 0]
    """

    verdicts: NDArray[np.uint8]
    impostors: int = 0

    @property
    def accepted(self) -> int:
        """Number of accepted tokens."""
        return int(np.count_nonzero(self.verdicts == ACCEPTED))

    @property
    def refused(self) -> int:
        """Number of refused tokens."""
        return self.verdicts.size - self.accepted

    @staticmethod
    def refusing(tokens: int) -> "Receipt":
        """The receipt for a batch that is refused as a whole because its number is out of order."""
        return Receipt(np.full(tokens, OUT_OF_ORDER, np.uint8))

    def to_bytes(self) -> bytes:
        """Encode the receipt. The verdicts are left out if all tokens were accepted, which is the usual case."""
        return RECEIPT.pack(self.accepted, self.refused, self.impostors) + (
            self.verdicts.tobytes() if self.refused else b""
        )

    @staticmethod
    def from_bytes(data: bytes, tokens: int) -> "Receipt":
        """Decode the receipt for a batch of `tokens` tokens; ProtocolError if the bytes aren't one."""
        if len(data) < RECEIPT.size:
            raise ProtocolError(f"receipt: {len(data)} bytes, fewer than a header has.")
        accepted, refused, impostors = RECEIPT.unpack_from(data)
        # A receipt without verdicts means that all tokens were accepted: ACCEPTED is 0.
        verdicts = np.frombuffer(data, np.uint8, offset=RECEIPT.size) if refused else np.zeros(tokens, np.uint8)
        receipt = Receipt(verdicts, impostors)
        # Counts and verdicts must agree: the sender reports walks as lost by these verdicts.
        fits = verdicts.size == tokens and (receipt.accepted, receipt.refused) == (accepted, refused)
        if not fits or int(verdicts.max(initial=0)) >= len(VERDICTS) or (not refused and len(data) > RECEIPT.size):
            raise ProtocolError(
                f"receipt: impossible counts ({accepted} accepted, {refused} refused of {tokens} tokens)."
            )
        return receipt


def _read(data: bytearray, count: int, total: int) -> TokenBatch:
    """Make the four arrays as views of `data`; a bytearray makes them writable."""
    at, columns = HEADER.size, []
    # The order of `TokenBatch._columns`.
    for kind, items in (("<i8", count), ("<i4", count), ("<i4", count), ("<i4", total)):
        columns.append(np.frombuffer(data, kind, items, at))
        at += columns[-1].nbytes
    walk, device, written, entries = columns
    try:
        return TokenBatch(
            device.astype(np.int32, copy=False),
            walk.astype(np.int64, copy=False),
            written.astype(np.int32, copy=False),
            entries.astype(np.int32, copy=False),
        )
    except InputError as error:
        raise BatchError("malformed", f"batch: {error}") from error


def batch_key(text: str) -> bytes:
    """Decode the attempt's key from a question (32 hexadecimal digits) to the 16 bytes in the header of batches."""
    if not re.fullmatch(f"[0-9a-f]{{{2 * KEY_BYTES}}}", text):
        raise ProtocolError(f"WalksQuestion.key: must be {2 * KEY_BYTES} hexadecimal digits, in lower case.")
    return bytes.fromhex(text)
