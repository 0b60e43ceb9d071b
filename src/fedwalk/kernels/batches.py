"""Tokens as they arrive and leave: judged one by one, spread into rows to walk in, packed one after the other again."""

import numpy as np
from numpy.typing import NDArray

from fedwalk.kernels.jit import kernel

VERDICTS = (
    "welcome", "not my device", "unknown walk", "wrong length", "id out of range", "replayed", "out of order",
)  # fmt: skip
WELCOME, NOT_MINE, UNKNOWN_WALK, WRONG_LENGTH, OUT_OF_RANGE, REPLAYED, OUT_OF_ORDER = range(len(VERDICTS))
"""What a receiver says of a token. The last one is about its whole batch, which has a number that isn't the next."""


@kernel
def judge(
    device: NDArray[np.int32],
    walk: NDArray[np.int64],
    written: NDArray[np.int32],
    entries: NDArray[np.int32],
    mine: NDArray[np.bool_],
    known: NDArray[np.int32],
    length: int,
) -> NDArray[np.int64]:
    """What is wrong with each token, if anything; `known` has the entries that a token of each walk must exceed.

    A welcome token is in this holder's hands from now on, so until it leaves no other one of its walk can be true.
    """
    verdicts, end = np.empty(device.size, np.int64), 0
    for i in range(device.size):
        begin, end = end, end + written[i]
        if not 0 <= device[i] < mine.size or not mine[device[i]]:
            verdicts[i] = NOT_MINE
        elif not 0 <= walk[i] < known.size:
            verdicts[i] = UNKNOWN_WALK
        elif not 1 <= written[i] < length:
            verdicts[i] = WRONG_LENGTH
        elif not _within(entries[begin:end], mine.size):
            verdicts[i] = OUT_OF_RANGE
        elif written[i] <= known[walk[i]]:
            verdicts[i] = REPLAYED
        else:
            verdicts[i] = WELCOME
            known[walk[i]] = length
    return verdicts


@kernel
def _within(entries: NDArray[np.int32], size: int) -> bool:
    """Whether all are in 0 … size − 1. A negative number is a vast one without its sign, so the largest tells."""
    largest = np.uint32(0)
    for i in range(entries.size):
        largest = max(largest, np.uint32(entries[i]))
    return bool(largest < size)


@kernel
def spread(written: NDArray[np.int32], entries: NDArray[np.int32], rows: NDArray[np.int32]) -> None:
    """Each token's entries at the beginning of its row."""
    at = 0
    for i in range(written.size):
        rows[i, : written[i]] = entries[at : at + written[i]]
        at += written[i]


@kernel
def packed(rows: NDArray[np.int32], which: NDArray[np.int64], written: NDArray[np.int32]) -> NDArray[np.int32]:
    """The entries of some rows one after the other; `written` has the number of each of those."""
    entries, at = np.empty(written.sum(), np.int32), 0
    for i in range(which.size):
        entries[at : at + written[i]] = rows[which[i], : written[i]]
        at += written[i]
    return entries
