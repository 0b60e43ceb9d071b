"""Tokens on their way to one holder, and the receipt that comes back: as values, and as bytes that are not trusted.

A batch on the wire is a header (magic, the attempt's key, the batch's number, tokens, entries) and four arrays, little
endian: 16 bytes per token and 4 per entry. The key keeps an earlier attempt's tokens out of this one; the number,
counted per sender and receiver, tells a repetition from news.

A receipt says how many tokens were accepted and refused and, if any was refused, the verdict on each. So the sender
knows which walks it has to report as lost.
"""

import re
import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fedwalk.errors import InputError, ProtocolError
from fedwalk.kernels.batches import OUT_OF_ORDER, VERDICTS, WELCOME

MAGIC = b"fedwalk1"
HEADER = struct.Struct("<8s16sQQQ")
KEY_BYTES = 16
TOKEN_BYTES, ENTRY_BYTES = 16, 4
LARGEST = 4 << 20
"""Bytes of the largest batch that anybody accepts."""
RECEIPT = struct.Struct("<QQQ")
LARGEST_RECEIPT = RECEIPT.size + LARGEST // TOKEN_BYTES


class BatchError(ProtocolError):
    """A batch that can't be read, with the reason under which it is counted."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason


@dataclass(frozen=True, slots=True, eq=False)
class TokenBatch:
    """Tokens one after the other.

    Parameters
    ----------
    device
        The place that each is handed to.
    walk
        Its walk.
    written
        How many entries it carries.
    entries
        All tokens' entries, in the order of the tokens.

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
        if (self.written < 0).any() or self.written.sum(dtype=np.int64) != self.entries.size:
            raise InputError("tokens: the entries aren't as many as the tokens say.")

    def __len__(self) -> int:
        return self.device.size

    def to_bytes(self, key: bytes, number: int) -> bytes:
        """The batch on the wire, as number `number` from its sender to its receiver."""
        header = HEADER.pack(MAGIC, key, number, len(self), self.entries.size)
        return b"".join([header, *(array.astype(kind, copy=False).tobytes() for array, kind in self._columns())])

    def _columns(self) -> tuple[tuple[NDArray[Any], str], ...]:
        return (self.walk, "<i8"), (self.device, "<i4"), (self.written, "<i4"), (self.entries, "<i4")

    @staticmethod
    def from_bytes(data: bytes | memoryview, key: bytes) -> tuple[int, "TokenBatch"]:
        """The batch's number and the batch. Raises BatchError, a ProtocolError, for whatever isn't a batch."""
        if len(data) > LARGEST:
            raise BatchError("too large", f"batch: {len(data)} bytes, more than {LARGEST}.")
        if len(data) < HEADER.size:
            raise BatchError("malformed", f"batch: {len(data)} bytes are less than a header.")
        magic, sent_key, number, count, total = HEADER.unpack_from(data)
        if magic != MAGIC:
            raise BatchError("malformed", "batch: doesn't begin as one of this version does.")
        if sent_key != key:
            raise BatchError("other run", "batch: belongs to another run, or to another attempt of this one.")
        if len(data) != HEADER.size + TOKEN_BYTES * count + ENTRY_BYTES * total:
            raise BatchError("malformed", f"batch: {len(data)} bytes for {count} tokens with {total} entries.")
        return number, _read(bytearray(data), count, total)

    @staticmethod
    def join(batches: Sequence["TokenBatch"]) -> "TokenBatch":
        """Several batches as one, in their order."""
        return TokenBatch(
            np.concatenate([np.empty(0, np.int32), *(batch.device for batch in batches)]),
            np.concatenate([np.empty(0, np.int64), *(batch.walk for batch in batches)]),
            np.concatenate([np.empty(0, np.int32), *(batch.written for batch in batches)]),
            np.concatenate([np.empty(0, np.int32), *(batch.entries for batch in batches)]),
        )

    def split(self, tokens: int) -> tuple["TokenBatch", "TokenBatch"]:
        """The first so many tokens, and the rest."""
        device, walk, written, entries = self.device, self.walk, self.written, self.entries
        at = int(written[:tokens].sum(dtype=np.int64))
        first = TokenBatch(device[:tokens], walk[:tokens], written[:tokens], entries[:at])
        return first, TokenBatch(device[tokens:], walk[tokens:], written[tokens:], entries[at:])

    def where(self, chosen: NDArray[np.bool_]) -> "TokenBatch":
        """The chosen tokens."""
        entries = self.entries[np.repeat(chosen, self.written)]
        return TokenBatch(self.device[chosen], self.walk[chosen], self.written[chosen], entries)

    def pieces(self, size: int) -> Iterator["TokenBatch"]:
        """The batch in pieces of at most so many bytes on the wire, but at least one token each."""
        rest = self
        while len(rest):
            ends = HEADER.size + np.cumsum(TOKEN_BYTES + ENTRY_BYTES * rest.written.astype(np.int64))
            piece, rest = rest.split(max(1, int(np.searchsorted(ends, size, side="right"))))
            yield piece


@dataclass(frozen=True, slots=True, eq=False)
class Receipt:
    """What became of a batch: a verdict on each token (see `kernels.batches`).

    `impostors` counts the calls that came under the sender's certificate but not from its session: another process has
    a copy of the sender's key, which the sender's owner should know.

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
        """How many tokens were accepted."""
        return int(np.count_nonzero(self.verdicts == WELCOME))

    @property
    def refused(self) -> int:
        """How many were not."""
        return self.verdicts.size - self.accepted

    @staticmethod
    def refusing(tokens: int) -> "Receipt":
        """The receipt for a batch that is refused as a whole, for its number."""
        return Receipt(np.full(tokens, OUT_OF_ORDER, np.uint8))

    def to_bytes(self) -> bytes:
        """The receipt on the wire; the verdicts are left out if all are the same: welcome."""
        return RECEIPT.pack(self.accepted, self.refused, self.impostors) + (
            self.verdicts.tobytes() if self.refused else b""
        )

    @staticmethod
    def from_bytes(data: bytes, tokens: int) -> "Receipt":
        """The receipt for a batch of so many tokens; ProtocolError if it can't be that."""
        if len(data) < RECEIPT.size:
            raise ProtocolError(f"receipt: {len(data)} bytes are too few.")
        accepted, refused, impostors = RECEIPT.unpack_from(data)
        verdicts = np.frombuffer(data, np.uint8, offset=RECEIPT.size) if refused else np.zeros(tokens, np.uint8)
        receipt = Receipt(verdicts, impostors)
        fits = verdicts.size == tokens and (receipt.accepted, receipt.refused) == (accepted, refused)
        if not fits or int(verdicts.max(initial=0)) >= len(VERDICTS) or (not refused and len(data) > RECEIPT.size):
            raise ProtocolError(f"receipt: {accepted} accepted and {refused} refused of {tokens} tokens can't be.")
        return receipt


def _read(data: bytearray, count: int, total: int) -> TokenBatch:
    """The four arrays, over memory of their own."""
    at, columns = HEADER.size, []
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
    """The key that a question names, as it stands in every batch: 32 hexadecimal digits, 16 bytes."""
    if not re.fullmatch(f"[0-9a-f]{{{2 * KEY_BYTES}}}", text):
        raise ProtocolError(f"WalksQuestion.key: must be {2 * KEY_BYTES} hexadecimal digits, in lower case.")
    return bytes.fromhex(text)
