"""When the walking is over, and who says so: holders see only their own work, and any of them may die.

A holder is *passive* when it has no token to work on and every token it handed on has been acknowledged. Tokens only
come from tokens, and a token under way keeps its sender from being passive. So once all holders are passive at the same
moment, nothing will ever happen again. Nobody can see such a moment, but it can be inferred: each holder counts its
activity, and taking in a token adds to the count. A leader asks everybody, and when all have answered, asks everybody
again. If all are passive both times and no count has changed, then every holder was passive all the way from its first
answer to its second, and the moment between the two waves is the one looked for (the two waves of Mattern, "Algorithms
for distributed termination detection", 1987, with acknowledgements instead of counts of messages).

The lead falls to the lowest of those who can be heard. Two leaders at a time do no harm: each relies on its own waves.
"""

import struct
from collections.abc import Iterable
from dataclasses import dataclass

from fedwalk.errors import ProtocolError

_STANDING = struct.Struct("<?Q")


@dataclass(frozen=True, slots=True)
class Standing:
    """A holder's answer to a leader: is it passive, and how much has it done so far?

    Examples
    --------
    >>> Standing.from_bytes(Standing(True, 12).to_bytes())
    Standing(passive=True, activity=12)
    """

    passive: bool
    activity: int

    def to_bytes(self) -> bytes:
        """As it goes over the wire."""
        return _STANDING.pack(self.passive, self.activity)

    @staticmethod
    def from_bytes(data: bytes) -> "Standing":
        """Read it back; ProtocolError if it isn't one."""
        if len(data) != _STANDING.size:
            raise ProtocolError(f"A standing has {_STANDING.size} bytes, not {len(data)}.")
        return Standing(*_STANDING.unpack(data))


class Waves:
    """What a leader remembers from one wave to the next."""

    def __init__(self) -> None:
        self._last: dict[int, Standing] = {}

    def over(self, wave: dict[int, Standing]) -> bool:
        """Whether nothing has happened since the wave before, which must have been complete before this one began.

        Examples
        --------
        >>> waves, quiet = Waves(), {0: Standing(True, 5), 2: Standing(True, 7)}
        >>> waves.over(quiet), waves.over({**quiet, 2: Standing(True, 8)}), waves.over({**quiet, 2: Standing(True, 8)})
        (False, False, True)
        """
        unchanged = wave == self._last
        self._last = dict(wave)
        return unchanged and all(standing.passive for standing in wave.values())


class Succession:
    """Who leads, as one holder sees it: the lowest that has asked within `patience`, or else itself.

    Times are seconds of the caller's clock. At the start every lower member is given the benefit of the doubt.

    Examples
    --------
    >>> third = Succession(2, [0, 1, 2, 3], patience=10.0, now=100.0)
    >>> third.heard(1, now=105.0)
    >>> third.leader(now=109.0), third.leader(now=111.0), third.leader(now=116.0)
    (0, 1, 2)
    """

    def __init__(self, me: int, members: Iterable[int], patience: float, now: float) -> None:
        self._me, self._patience = me, patience
        self._asked = {member: now for member in members if member < me}

    def heard(self, holder: int, now: float) -> None:
        """A holder leads a wave; those that come after this one have no say."""
        if holder in self._asked:
            self._asked[holder] = now

    def leader(self, now: float) -> int:
        """The present leader."""
        return min((holder for holder, asked in self._asked.items() if now < asked + self._patience), default=self._me)

    def turn(self) -> float:
        """When this holder will lead if no lower one asks before that."""
        return max(self._asked.values(), default=float("-inf")) + self._patience
