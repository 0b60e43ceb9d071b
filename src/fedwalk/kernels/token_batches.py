"""Kernels on token batches: check each token that arrives, unpack the entries into rows, and pack them again.

In a batch the entries of all tokens lie one after the other. While walking, each token has a row for a whole walk.
"""

import numpy as np
from numpy.typing import NDArray

from fedwalk.kernels.jit import kernel

# Receipts carry these numbers to other holders, so the order is part of the wire format.
VERDICTS = (
    "accepted", "not the receiver's device", "unknown walk", "wrong length", "id out of range", "replayed",
    "out of order",
)  # fmt: skip
ACCEPTED, WRONG_DEVICE, UNKNOWN_WALK, WRONG_LENGTH, OUT_OF_RANGE, REPLAYED, OUT_OF_ORDER = range(len(VERDICTS))
"""The result of checking a token. OUT_OF_ORDER concerns its whole batch, whose number isn't the next one."""


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
    """Check each token; returns a verdict for each.

    `known` has one number per walk: a genuine token of that walk has more entries than this. While an accepted token
    is with this holder no other token of its walk can be genuine, so its walk's number becomes the full length.
    """
    verdicts, end = np.empty(device.size, np.int64), 0
    # The order matters: each check makes the array reads of the next ones safe. Peers may send anything.
    for i in range(device.size):
        # TokenBatch has checked that these numbers aren't negative and add up to entries.size.
        begin, end = end, end + written[i]
        if not 0 <= device[i] < mine.size or not mine[device[i]]:
            verdicts[i] = WRONG_DEVICE
        elif not 0 <= walk[i] < known.size:
            verdicts[i] = UNKNOWN_WALK
        # A token leaves a device with at least one entry, and a complete walk goes to the server, not to a peer.
        elif not 1 <= written[i] < length:
            verdicts[i] = WRONG_LENGTH
        elif not _within(entries[begin:end], mine.size):
            verdicts[i] = OUT_OF_RANGE
        elif written[i] <= known[walk[i]]:
            verdicts[i] = REPLAYED
        else:
            verdicts[i] = ACCEPTED
            # Set at once, so that a second copy in the same batch is refused as well.
            known[walk[i]] = length
    return verdicts


@kernel
def _within(entries: NDArray[np.int32], size: int) -> bool:
    """Whether all entries are in 0 … size − 1."""
    # A negative number read as unsigned is larger than any id, so one maximum checks both ends, and is vectorised.
    largest = np.uint32(0)
    for i in range(entries.size):
        largest = max(largest, np.uint32(entries[i]))
    return bool(largest < size)


@kernel
def spread(written: NDArray[np.int32], entries: NDArray[np.int32], rows: NDArray[np.int32]) -> None:
    """Copy each token's entries to the beginning of its row."""
    at = 0
    for i in range(written.size):
        rows[i, : written[i]] = entries[at : at + written[i]]
        at += written[i]


@kernel
def packed(rows: NDArray[np.int32], which: NDArray[np.int64], written: NDArray[np.int32]) -> NDArray[np.int32]:
    """The entries of the rows named by `which`, one after the other; `written` has the number of entries of each."""
    entries, at = np.empty(written.sum(), np.int32), 0
    for i in range(which.size):
        entries[at : at + written[i]] = rows[which[i], : written[i]]
        at += written[i]
    return entries
