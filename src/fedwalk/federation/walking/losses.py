"""Why walks are lost: each holder reports the walks that it gave up, and the server accounts for all that are missing.

A holder gives a walk up when its token is at a device without a living neighbour (*stranded*), when the next holder
can't be reached (*undelivered*), or when that holder refuses the token (*refused*). A missing walk that no holder
reports was lost with a holder whose process ended during the attempt, or was dropped by a faulty or hostile holder. So
every walk is either finished or lost for exactly one reason, and the counts add up.

`GivenUp` is the holder's part, `LostWalks` the server's.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from fedwalk.kernels.token_batches import VERDICTS

STRANDED, UNDELIVERED, REFUSED = 0, 1, 2
"""Codes of the reasons on the wire. A refused token has the code REFUSED plus the receiver's verdict on it."""
MAX_REASON = REFUSED + len(VERDICTS) - 1
STRANDED_TEXT = "stranded: no neighbour of the device is left"
UNACCOUNTED = "unaccounted for: no holder reported them, although no holder was lost"


@dataclass(slots=True)
class GivenUp:
    """The walks that one holder gave up in an attempt, each with the reason and the holder concerned.

    Examples
    --------
    >>> given_up = GivenUp()
    >>> given_up.add(np.int64([4, 7]), UNDELIVERED, at=2)
    >>> given_up.add(np.int64([7, 9]), STRANDED, at=0)
    >>> [column.tolist() for column in given_up.columns()]
    [[4, 7, 9], [1, 1, 0], [2, 2, 0]]
    """

    _walks: list[NDArray[np.int64]] = field(default_factory=list)
    _reasons: list[NDArray[np.int32]] = field(default_factory=list)
    _at: list[NDArray[np.int32]] = field(default_factory=list)

    def add(self, walks: NDArray[np.int64], reasons: NDArray[np.int32] | int, at: int) -> None:
        """Add walks, with one reason for all or one each; `at` is the index of the holder concerned."""
        self._walks.append(walks.astype(np.int64))
        self._reasons.append(np.broadcast_to(np.asarray(reasons, np.int32), walks.shape).copy())
        self._at.append(np.full(walks.size, at, np.int32))

    def count(self, reason: int) -> int:
        """The number of walks given up for this reason, where all refusals count as REFUSED."""
        # All codes from REFUSED on are refusals; they differ in the receiver's verdict.
        return sum(int(np.count_nonzero(np.minimum(part, REFUSED) == reason)) for part in self._reasons)

    def columns(self) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.int32]]:
        """The walks in ascending order, each with its first reason and holder.

        Each walk is listed once, although a forged token can make this holder give it up several times.
        """
        walks = np.concatenate([np.empty(0, np.int64), *self._walks])
        # `first` has the first occurrence of each walk, and the parts are in the order in which walks were given up.
        unique, first = np.unique(walks, return_index=True)
        reasons = np.concatenate([np.empty(0, np.int32), *self._reasons])[first]
        return unique, reasons, np.concatenate([np.empty(0, np.int32), *self._at])[first]


class LostWalks:
    """The server's record of why each walk is missing, from the last attempt in which the walk was issued.

    Examples
    --------
    >>> lost = LostWalks(5, ["ada", "ben"])
    >>> lost.begin_attempt(np.arange(5))
    >>> lost.given_up(np.int64([1]), np.int32([STRANDED]), np.int32([0]))
    >>> lost.given_up(np.int64([2]), np.int32([UNDELIVERED]), np.int32([1]))
    >>> lost.end_attempt(["ben"])
    >>> lost.reasons(np.int64([1, 2, 4]))
    {'stranded: no neighbour of the device is left': 1, 'undelivered: ben could not be reached': 1, 'lost with ben': 1}
    """

    def __init__(self, count: int, holders: Sequence[str]) -> None:
        # Each walk has the index of its reason in `_texts`; 0 means that no reason is known.
        self._texts = ["", STRANDED_TEXT]
        self._reason = np.zeros(count, np.int32)
        self._holders = list(holders)
        self._issued = np.empty(0, np.int64)

    def begin_attempt(self, walks: NDArray[np.int64]) -> None:
        """Begin an attempt that issues these walks, and discard their reasons from earlier attempts."""
        self._reason[walks] = 0
        self._issued = walks

    def given_up(self, walks: NDArray[np.int64], reasons: NDArray[np.int32], at: NDArray[np.int32]) -> None:
        """Add the walks that a holder reports as given up."""
        # The codes and indices come from a holder; `WalkPhase._check_given_up` has checked them.
        for reason, holder in {*zip(reasons.tolist(), at.tolist(), strict=True)}:
            chosen = walks[(reasons == reason) & (at == holder)]
            self._reason[chosen] = self._text(reason, self._holders[holder])

    def end_attempt(self, ended: Sequence[str]) -> None:
        """End an attempt. Walks that no holder reported count as lost with the holders whose processes ended in it."""
        # If several processes ended, it is unknown which of them had the token.
        text = f"lost with {' or '.join(ended)}" if ended else UNACCOUNTED
        unknown = self._issued[self._reason[self._issued] == 0]
        self._reason[unknown] = self._index(text)

    def all_stranded(self, missing: NDArray[np.int64]) -> bool:
        """Whether all of these walks that the attempt has issued were stranded."""
        stranded = self._texts.index(STRANDED_TEXT)
        # Walks that weren't issued start at lost holders, so no further attempt can finish them either.
        return bool((self._reason[np.intersect1d(missing, self._issued)] == stranded).all())

    def reasons(self, missing: NDArray[np.int64]) -> dict[str, int]:
        """The number of these walks by reason. The numbers add up to the number of walks."""
        counts = np.bincount(self._reason[missing], minlength=len(self._texts))
        return {self._texts[i]: int(counts[i]) for i in np.flatnonzero(counts).tolist()}

    def _text(self, reason: int, holder: str) -> int:
        """The index of the text for a reason's code and the holder concerned."""
        if reason == STRANDED:
            return self._index(STRANDED_TEXT)
        if reason == UNDELIVERED:
            return self._index(f"undelivered: {holder} could not be reached")
        return self._index(f"refused by {holder}: {VERDICTS[reason - REFUSED]}")

    def _index(self, text: str) -> int:
        if text not in self._texts:
            self._texts.append(text)
        return self._texts.index(text)
