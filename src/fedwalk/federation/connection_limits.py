"""How many connections a listening port keeps open, and which one goes when there are too many.

A connection is *unknown* until its other end has authenticated itself, then it belongs to a *known* party. The two are
bounded apart, so strangers can't take the room of known parties. A new connection is always let in: if that makes too
many unknown ones, the oldest unknown connection of the address that has most of them is dropped. So one address that
opens thousands of connections only drops its own, and an authentication that takes a moment wins against a flood.

Pure: no socket, no event loop. The caller closes what it is told to drop.
"""

from collections import Counter
from collections.abc import Hashable
from dataclasses import dataclass, field

MAX_UNKNOWN, MAX_UNKNOWN_PER_ADDRESS = 256, 64
"""Connections of parties that haven't authenticated themselves yet. Python's TLS takes 256 kB for each."""
MAX_PER_PARTY = 32
"""Connections of one known party: Flower's client and gRPC each need a few."""
TOO_MANY_UNKNOWN = "too many connections before authentication"
TOO_MANY_PER_PARTY = "too many connections of one holder"
NOT_AUTHENTICATED = "not authenticated in time"
"""Why connections are dropped."""


@dataclass(slots=True)
class ConnectionLimits:
    """Keeps count of a port's connections. A connection is any hashable handle that the caller chooses.

    Examples
    --------
    >>> limits = ConnectionLimits(max_unknown=2, max_unknown_per_address=2, max_per_party=1)
    >>> limits.opened("a", "198.51.100.1"), limits.opened("b", "198.51.100.1"), limits.opened("c", "192.0.2.7")
    ([], [], ['a'])
    >>> limits.authenticated("c", "clinic"), limits.opened("d", "192.0.2.7"), limits.authenticated("d", "clinic")
    ([], [], ['c'])
    """

    max_unknown: int = MAX_UNKNOWN
    max_unknown_per_address: int = MAX_UNKNOWN_PER_ADDRESS
    max_per_party: int = MAX_PER_PARTY
    dropped: Counter[str] = field(default_factory=Counter)
    _unknown: dict[Hashable, str] = field(default_factory=dict)
    _known: dict[str, dict[Hashable, None]] = field(default_factory=dict)
    _party: dict[Hashable, str] = field(default_factory=dict)

    def opened(self, connection: Hashable, address: str) -> list[Hashable]:
        """Count a new connection from this address; returns the connections to drop."""
        self._unknown[connection] = address
        counts = Counter(self._unknown.values())
        if counts[address] > self.max_unknown_per_address:
            return [self._drop_oldest(address)]
        if len(self._unknown) > self.max_unknown:
            return [self._drop_oldest(counts.most_common(1)[0][0])]
        return []

    def authenticated(self, connection: Hashable, party: str) -> list[Hashable]:
        """The connection belongs to a known party from now on; returns the connections to drop, the party's oldest."""
        if self._unknown.pop(connection, None) is None:
            return []
        own = self._known.setdefault(party, {})
        own[connection] = None
        self._party[connection] = party
        if len(own) <= self.max_per_party:
            return []
        oldest = next(iter(own))
        self.closed(oldest)
        self.dropped[TOO_MANY_PER_PARTY] += 1
        return [oldest]

    def closed(self, connection: Hashable) -> None:
        """Forget a connection that has ended; one that was dropped before is forgotten already."""
        self._unknown.pop(connection, None)
        party = self._party.pop(connection, None)
        if party is not None:
            self._known[party].pop(connection, None)
            if not self._known[party]:
                del self._known[party]

    def is_unknown(self, connection: Hashable) -> bool:
        """Whether this connection is open and hasn't been authenticated."""
        return connection in self._unknown

    def of(self, party: str) -> list[Hashable]:
        """The connections of a known party, oldest first."""
        return list(self._known.get(party, ()))

    def __len__(self) -> int:
        return len(self._unknown) + len(self._party)

    def _drop_oldest(self, address: str) -> Hashable:
        oldest = next(connection for connection, where in self._unknown.items() if where == address)
        del self._unknown[oldest]
        self.dropped[TOO_MANY_UNKNOWN] += 1
        return oldest
