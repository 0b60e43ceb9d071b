"""One book for every message of a run: kind, route, count, bytes, observers.

Communication figures, and whatever asks what an observer saw, read it; nothing is counted elsewhere.
"""

from dataclasses import dataclass, field
from typing import Any

from fedwalk.protocol.messages import KINDS, Message


@dataclass(slots=True)
class Traffic:
    """All messages of one phase together."""

    count: int = 0
    bytes: int = 0


@dataclass(slots=True)
class Transcript:
    """Messages and bytes per phase, in the protocol's order; a phase with no message stands at zero.

    >>> from fedwalk.protocol.messages import Sequence
    >>> transcript = Transcript()
    >>> transcript.record(Sequence(walk=0, entries=(3, 1, 2)))
    >>> transcript.traffic["sequences"]
    Traffic(count=1, bytes=20)
    """

    traffic: dict[str, Traffic] = field(default_factory=lambda: {kind.phase: Traffic() for kind in KINDS})

    def record(self, message: Message) -> None:
        """Count one message."""
        self.tally(type(message), 1, message.nbytes)

    def tally(self, kind: type[Message], count: int, size: int) -> None:
        """Count many messages of a kind, `size` bytes in all."""
        entry = self.traffic[kind.phase]
        entry.count += count
        entry.bytes += size

    def since(self, earlier: "Transcript") -> "Transcript":
        """What has been counted after `earlier` was copied from this one."""
        rest = Transcript()
        for phase, entry in self.traffic.items():
            old = earlier.traffic[phase]
            rest.traffic[phase] = Traffic(entry.count - old.count, entry.bytes - old.bytes)
        return rest

    def add(self, other: "Transcript") -> None:
        """Count another transcript's messages too."""
        for phase, entry in other.traffic.items():
            self.traffic[phase].count += entry.count
            self.traffic[phase].bytes += entry.bytes

    def as_dict(self) -> dict[str, Any]:
        """Per phase: count, bytes, route, observers."""
        return {
            kind.phase: {
                "count": self.traffic[kind.phase].count,
                "bytes": self.traffic[kind.phase].bytes,
                "route": kind.route,
                "observers": list(kind.observers),
            }
            for kind in KINDS
        }

    @classmethod
    def from_dict(cls, phases: dict[str, Any]) -> "Transcript":
        """The transcript that `as_dict` described."""
        transcript = cls()
        for phase, entry in phases.items():
            traffic = transcript.traffic[phase]
            traffic.count, traffic.bytes = int(entry["count"]), int(entry["bytes"])
        return transcript
