"""A transcript counts every message of a run: kind, route, count, bytes, observers.

All communication figures, and the tests of what an observer can see, read it; nothing is counted elsewhere.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any

from fedwalk.protocols.messages import Message
from fedwalk.util.html import html_table
from fedwalk.util.text import counted


@dataclass(slots=True)
class Traffic:
    """All messages of one phase together."""

    route: str
    observers: tuple[str, ...]
    count: int = 0
    bytes: int = 0


@dataclass(slots=True)
class Transcript:
    """Messages and bytes per phase, in the protocol's order; a phase that sent nothing may be missing or at zero.

    >>> from fedwalk.protocols.paper.messages import Sequence
    >>> transcript = Transcript()
    >>> transcript.record(Sequence(walk=0, entries=(3, 1, 2)))
    >>> transcript.count("sequences"), transcript.traffic["sequences"].bytes, transcript.count("hops")
    (1, 20, 0)
    """

    traffic: dict[str, Traffic] = field(default_factory=dict)

    @classmethod
    def of(cls, kinds: Iterable[type[Message]]) -> "Transcript":
        """An empty transcript that lists these kinds of messages in this order."""
        return cls({kind.phase: Traffic(kind.route, kind.observers) for kind in kinds})

    def __repr__(self) -> str:
        count, size = (sum(getattr(entry, name) for entry in self.traffic.values()) for name in ("count", "bytes"))
        return f"Transcript({counted(count, 'message', 'messages')}, {counted(size, 'byte', 'bytes')})"

    def _repr_html_(self) -> str:
        rows = [
            [phase, entry.route, f"{entry.count:,}", f"{entry.bytes:,}", ", ".join(entry.observers)]
            for phase, entry in self.traffic.items()
        ]
        return html_table(repr(self), ["phase", "route", "messages", "bytes", "seen by"], rows)

    def record(self, message: Message) -> None:
        """Count one message."""
        self.tally(type(message), 1, message.nbytes)

    def tally(self, kind: type[Message], count: int, size: int) -> None:
        """Count many messages of a kind, `size` bytes in all."""
        entry = self.traffic.setdefault(kind.phase, Traffic(kind.route, kind.observers))
        entry.count += count
        entry.bytes += size

    def count(self, phase: str) -> int:
        """How many messages the phase has sent."""
        return self.traffic[phase].count if phase in self.traffic else 0

    def since(self, earlier: "Transcript") -> "Transcript":
        """The messages counted since `earlier` was copied from this transcript."""
        rest = {}
        for phase, entry in self.traffic.items():
            # A phase that is new since the copy counts from zero.
            old = earlier.traffic.get(phase, Traffic(entry.route, entry.observers))
            rest[phase] = replace(entry, count=entry.count - old.count, bytes=entry.bytes - old.bytes)
        return Transcript(rest)

    def add(self, other: "Transcript") -> None:
        """Add the counts of another transcript."""
        for phase, more in other.traffic.items():
            entry = self.traffic.setdefault(phase, Traffic(more.route, more.observers))
            entry.count += more.count
            entry.bytes += more.bytes

    def as_dict(self) -> dict[str, Any]:
        """For JSON, per phase: count, bytes, route, observers."""
        return {
            phase: {
                "count": entry.count, "bytes": entry.bytes, "route": entry.route, "observers": list(entry.observers),
            }
            for phase, entry in self.traffic.items()
        }  # fmt: skip

    @classmethod
    def from_dict(cls, phases: dict[str, Any]) -> "Transcript":
        """The transcript that `as_dict` described; KeyError or TypeError if it isn't one."""
        return cls({phase: _traffic(phase, entry) for phase, entry in phases.items()})


def _traffic(phase: str, entry: dict[str, Any]) -> Traffic:
    route, observers, count, size = (entry[name] for name in ("route", "observers", "count", "bytes"))
    whole = type(count) is int and type(size) is int
    if not (whole and type(route) is str and type(observers) is list and all(type(name) is str for name in observers)):
        raise TypeError(f"phase {phase!r} has a value of the wrong type")
    return Traffic(route, tuple(observers), count, size)
