"""Who may use the server's public port: the members' names and node keys, as a small file beside the roster.

A running server looks the file up for each request, so that a removal counts at once. The roster itself can hold a
million vertices and would take too long to read.
"""

import json
from dataclasses import dataclass, field
from pathlib import Path

from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from fedwalk.errors import FedWalkError
from fedwalk.federation.checked_json import read_json
from fedwalk.federation.identity import read_node_key
from fedwalk.federation.private_file import write_private
from fedwalk.federation.roster import Roster


def write_members(path: Path, roster: Roster) -> None:
    """Write the members of a roster: those who are not removed."""
    members = {holder.name: holder.node_key for holder in roster.holders if not holder.removed}
    write_private(path, json.dumps(members, indent=1).encode())


def key_in_flower(node_key: str) -> bytes:
    """A node key as Flower writes it: PEM."""
    return read_node_key(node_key).public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)


@dataclass(slots=True)
class Members:
    """The members in the file at `path`, as they are now."""

    path: Path
    _seen: tuple[int, int, int] = (0, 0, 0)
    _keys: dict[str, bytes] = field(default_factory=dict)

    def node_key(self, holder: str) -> bytes | None:
        """A member's node key; None for every other name."""
        self._look()
        return self._keys.get(holder)

    def names(self) -> list[str]:
        """The names of all members."""
        self._look()
        return list(self._keys)

    def _look(self) -> None:
        """Read the file if it has changed. One that can't be read has no members: better closed than open."""
        try:
            now = self.path.stat()
            seen = (now.st_mtime_ns, now.st_ino, now.st_size)
            if seen != self._seen:
                content = read_json(self.path)
                self._keys = {str(name): key_in_flower(str(key)) for name, key in content.items()}
                self._seen = seen
        except (OSError, ValueError, AttributeError, FedWalkError):
            self._keys, self._seen = {}, (0, 0, 0)
