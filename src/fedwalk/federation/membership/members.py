"""The holders that may use the server's public port: names and node keys, in a small file beside the roster.

A running server checks the file for each request, so that a removal takes effect at once. The roster itself can have
millions of vertices and would take too long to read.
"""

import json
from dataclasses import dataclass, field
from pathlib import Path

from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from fedwalk.errors import FedWalkError
from fedwalk.federation.membership.keys import read_node_key
from fedwalk.federation.membership.roster import Roster
from fedwalk.util.checked_json import read_json
from fedwalk.util.files import write_private


def write_members(path: Path, roster: Roster) -> None:
    """Write the members of a roster, which are all holders that haven't been removed."""
    members = {holder.name: holder.node_key for holder in roster.holders if not holder.removed}
    write_private(path, json.dumps(members, indent=1).encode())


def node_key_pem(node_key: str) -> bytes:
    """A node key in PEM form."""
    return read_node_key(node_key).public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)


@dataclass(slots=True)
class Members:
    """The present members in the file at `path`, which is read again whenever it has changed."""

    path: Path
    _seen: tuple[int, int, int] = (0, 0, 0)
    _keys: dict[str, bytes] = field(default_factory=dict)

    def node_key(self, holder: str) -> bytes | None:
        """A member's node key; None if there is no member of this name."""
        self._refresh()
        return self._keys.get(holder)

    def names(self) -> list[str]:
        """The names of all members."""
        self._refresh()
        return list(self._keys)

    def _refresh(self) -> None:
        """Read the file if it has changed. If it can't be read, there are no members: the port fails closed."""
        try:
            now = self.path.stat()
            # A file that is replaced within the clock's resolution still has another inode.
            seen = (now.st_mtime_ns, now.st_ino, now.st_size)
            if seen != self._seen:
                content = read_json(self.path)
                self._keys = {str(name): node_key_pem(str(key)) for name, key in content.items()}
                self._seen = seen
        # AttributeError: the file has something other than an object.
        # No file has the state (0, 0, 0), so the next call reads it again.
        except (OSError, ValueError, AttributeError, FedWalkError):
            self._keys, self._seen = {}, (0, 0, 0)
