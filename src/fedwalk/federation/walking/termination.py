"""Detects that all walks of an attempt have ended, although a holder sees only its own work and any holder may crash.

A holder is *passive* when it has no token to work on and every token that it sent has been acknowledged. Each holder
counts its activity: every token that it starts with, sends or takes in adds 1 to the count.

Why the detection is correct:

1. A new token only comes from an existing one, and a token on its way keeps its sender from being passive. So once all
   holders are passive at the same moment, no token exists any more, and none ever will again.
2. No holder can observe such a moment, but a leader can infer it from two waves of probes. In the first wave it asks
   every holder for its status. Only when all have answered does it send the second wave, which asks all of them again.
3. A passive holder becomes active only by taking in a token, and that increases its count. So a holder that is passive
   in both of its answers, with the same count, was passive during the whole time between them.
4. If that is true for all holders, they were all passive at the moment between the two waves: after the last answer of
   the first wave and before the first probe of the second. By step 1, the walks have ended.

These are the two waves of Mattern, "Algorithms for distributed termination detection" (1987), with acknowledgements
instead of counts of messages.

The holder with the lowest index among those that are still sending probes is the leader. Two leaders at the same time
do no harm, because each of them draws its conclusion from its own two waves alone.
"""

import struct
from collections.abc import Iterable
from dataclasses import dataclass

from fedwalk.errors import ProtocolError

# Nine bytes: whether the holder is passive, and its activity as an unsigned 64-bit integer.
_STATUS = struct.Struct("<?Q")


@dataclass(frozen=True, slots=True)
class HolderStatus:
    """A holder's answer to a leader's probe: whether it is passive, and its activity count.

    Examples
    --------
    >>> HolderStatus.from_bytes(HolderStatus(True, 12).to_bytes())
    HolderStatus(passive=True, activity=12)
    """

    passive: bool
    activity: int

    def to_bytes(self) -> bytes:
        """Encode the status for the wire."""
        return _STATUS.pack(self.passive, self.activity)

    @staticmethod
    def from_bytes(data: bytes) -> "HolderStatus":
        """Decode a status; raises ProtocolError if the size is wrong."""
        if len(data) != _STATUS.size:
            raise ProtocolError(f"A holder's status must have {_STATUS.size} bytes, not {len(data)}.")
        return HolderStatus(*_STATUS.unpack(data))


class Waves:
    """Compares each wave of a leader with the one before."""

    def __init__(self) -> None:
        self._last: dict[int, HolderStatus] = {}

    def terminated(self, wave: dict[int, HolderStatus]) -> bool:
        """Whether the walks have ended: all holders are passive, and no status has changed since the last wave.

        The caller must not begin a wave before the last one is complete (step 2 of the proof above).

        Examples
        --------
        >>> waves, first = Waves(), {0: HolderStatus(True, 5), 2: HolderStatus(True, 7)}
        >>> later = {**first, 2: HolderStatus(True, 8)}
        >>> waves.terminated(first), waves.terminated(later), waves.terminated(later)
        (False, False, True)
        """
        # The set of holders is compared, too: when one is given up, the remaining ones need two new waves.
        unchanged = wave == self._last
        self._last = dict(wave)
        return unchanged and all(status.passive for status in wave.values())


class LeaderElection:
    """One holder's view of which holder leads: the lowest one that has sent it a probe within `patience`, else itself.

    Times are seconds of the caller's clock. At the start every lower holder counts as if it had just sent a probe, so
    that holder 0 leads unless it stays silent.

    Examples
    --------
    >>> election = LeaderElection(2, [0, 1, 2, 3], patience=10.0, now=100.0)
    >>> election.record_probe(1, now=105.0)
    >>> election.leader(now=109.0), election.leader(now=111.0), election.leader(now=116.0)
    (0, 1, 2)
    """

    def __init__(self, me: int, members: Iterable[int], patience: float, now: float) -> None:
        self._me, self._patience = me, patience
        # Only lower holders: in this holder's view, a higher one never leads.
        self._last_probe = {member: now for member in members if member < me}

    def record_probe(self, holder: int, now: float) -> None:
        """Note that a holder leads a wave. Higher holders are ignored: this holder takes precedence over them."""
        if holder in self._last_probe:
            self._last_probe[holder] = now

    def leader(self, now: float) -> int:
        """The index of the current leader."""
        # Each holder has its own clock and view, so two of them may disagree for a while; the proof allows that.
        recent = (holder for holder, last in self._last_probe.items() if now < last + self._patience)
        return min(recent, default=self._me)

    def turn(self) -> float:
        """The time at which this holder becomes the leader unless a lower one sends a probe before."""
        # −inf for the lowest holder, which leads from the beginning.
        return max(self._last_probe.values(), default=float("-inf")) + self._patience
