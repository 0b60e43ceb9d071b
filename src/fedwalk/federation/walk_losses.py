"""Why a walk has no sequence: each holder says which walks it gave up and why, and the server accounts for the rest.

A holder gives a walk up when it comes to a device without a living neighbour (*stranded*), when the next holder can't
be reached (*undelivered*), or when that holder refuses its token (*refused*). Walks that no holder reports were lost
with a holder that ended in the attempt, or swallowed. So every walk that was asked for is finished, or lost for one
reason: the counts add up.

Pure: the holder's part collects, the server's part adds up.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from fedwalk.kernels.batches import VERDICTS

STRANDED, UNDELIVERED, REFUSED = 0, 1, 2
"""Codes of the reasons. A token that was refused has the code REFUSED plus the receiver's verdict on it."""
MAX_REASON = REFUSED + len(VERDICTS) - 1
UNACCOUNTED = "unaccounted for: no holder reported them, and none was lost"


@dataclass(slots=True)
class GivenUp:
    """One holder's: the walks that it gave up in an attempt, each with a reason and the holder concerned.

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
        """Give these walks up, for one reason or one each; `at` is the index of the holder concerned."""
        self._walks.append(walks.astype(np.int64))
        self._reasons.append(np.broadcast_to(np.asarray(reasons, np.int32), walks.shape).copy())
        self._at.append(np.full(walks.size, at, np.int32))

    def count(self, reason: int) -> int:
        """How many were given up for this reason; all refusals count as REFUSED."""
        return sum(int(np.count_nonzero(np.minimum(part, REFUSED) == reason)) for part in self._reasons)

    def columns(self) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.int32]]:
        """Walks, ascending and each once (a forged token can bring one back), with its first reason and holder."""
        walks = np.concatenate([np.empty(0, np.int64), *self._walks])
        unique, first = np.unique(walks, return_index=True)
        reasons = np.concatenate([np.empty(0, np.int32), *self._reasons])[first]
        return unique, reasons, np.concatenate([np.empty(0, np.int32), *self._at])[first]


class LostWalks:
    """The server's: for each walk of the run why it is missing, by the last attempt in which it was asked for.

    Examples
    --------
    >>> lost = LostWalks(5, ["ada", "ben"])
    >>> lost.asked(np.arange(5))
    >>> lost.given_up(np.int64([1]), np.int32([STRANDED]), np.int32([0]))
    >>> lost.given_up(np.int64([2]), np.int32([UNDELIVERED]), np.int32([1]))
    >>> lost.unreported(["ben"])
    >>> lost.reasons(np.int64([1, 2, 4]))
    {'stranded: no neighbour of the device is left': 1, 'undelivered to ben': 1, 'lost with ben': 1}
    """

    def __init__(self, count: int, holders: Sequence[str]) -> None:
        self._texts = ["", "stranded: no neighbour of the device is left"]
        self._why = np.zeros(count, np.int32)
        self._holders = list(holders)
        self._open = np.empty(0, np.int64)

    def asked(self, walks: NDArray[np.int64]) -> None:
        """An attempt begins, with these walks: what is known of earlier attempts doesn't count any more."""
        self._why[walks] = 0
        self._open = walks

    def given_up(self, walks: NDArray[np.int64], reasons: NDArray[np.int32], at: NDArray[np.int32]) -> None:
        """A holder's report."""
        for reason, holder in {*zip(reasons.tolist(), at.tolist(), strict=True)}:
            chosen = walks[(reasons == reason) & (at == holder)]
            self._why[chosen] = self._text(reason, self._holders[holder])

    def unreported(self, ended: Sequence[str]) -> None:
        """The attempt is over, these holders ended in it: they account for the walks that no holder reported."""
        text = f"lost with {' or '.join(ended)}" if ended else UNACCOUNTED
        unknown = self._open[self._why[self._open] == 0]
        self._why[unknown] = self._number(text)

    def all_stranded(self, missing: NDArray[np.int64]) -> bool:
        """Whether each of these that the attempt asked for came to a device without a living neighbour."""
        return bool((self._why[np.intersect1d(missing, self._open)] == 1).all())

    def reasons(self, missing: NDArray[np.int64]) -> dict[str, int]:
        """How many of these walks are missing for which reason; the counts add up to all of them."""
        counts = np.bincount(self._why[missing], minlength=len(self._texts))
        return {self._texts[i]: int(counts[i]) for i in np.flatnonzero(counts).tolist()}

    def _text(self, reason: int, holder: str) -> int:
        if reason == STRANDED:
            return 1
        if reason == UNDELIVERED:
            return self._number(f"undelivered to {holder}")
        return self._number(f"refused by {holder}: {VERDICTS[reason - REFUSED]}")

    def _number(self, text: str) -> int:
        if text not in self._texts:
            self._texts.append(text)
        return self._texts.index(text)
