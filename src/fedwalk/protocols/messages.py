"""What a message is: anything that crosses a boundary between parties, with its size and its observers.

Each protocol declares its own kinds of messages (`paper/messages.py`, `ldp/messages.py`), each kind once. Sizes are
those of a plain binary encoding: 4 bytes for an id, a count or a released number, 8 for a parameter or a walk's number,
as few bytes as hold a bin.
"""

from typing import ClassVar, Protocol

ID, NUMBER, PARAMETER = 4, 4, 8
"""The number of bytes of each."""
EVERYONE = ("server", "every device")


class Message(Protocol):
    """One message of one phase. The class states its route and its observers."""

    phase: ClassVar[str]
    route: ClassVar[str]
    observers: ClassVar[tuple[str, ...]]

    @property
    def nbytes(self) -> int:
        """Bytes on the wire."""
        ...
