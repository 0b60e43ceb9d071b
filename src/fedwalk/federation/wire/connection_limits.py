"""How many connections a listening port keeps open, and which one it drops when there are too many.

A connection is *unknown* until its other end has authenticated itself; then it belongs to a *known* party. The two
kinds have separate limits, so unknown connections can't displace those of known parties. A new connection is always
accepted: if that makes too many unknown ones, the oldest unknown connection of the address with the most of them is
dropped. So an address that opens thousands of connections displaces only its own, and a party that authenticates
promptly succeeds even during a flood.

This module only counts: it uses no socket and no event loop. The caller closes the connections that it returns.
"""

from collections import Counter
from collections.abc import Hashable
from dataclasses import dataclass, field

MAX_UNKNOWN, MAX_UNKNOWN_PER_ADDRESS = 256, 64
"""Connections that haven't authenticated yet, in all and per address. Python's TLS needs 256 kB for each."""
MAX_PER_PARTY = 32
"""Connections of one known party: Flower's client and gRPC each need a few."""
TOO_MANY_UNKNOWN = "too many connections before authentication"
TOO_MANY_PER_PARTY = "too many connections of one holder"
NOT_AUTHENTICATED = "not authenticated in time"
"""Why connections are dropped."""


@dataclass(slots=True)
class ConnectionLimits:
    """Counts the connections of a port. A connection is any hashable handle that the caller chooses.

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
    # Unknown connections, oldest first, with their addresses.
    _unknown: dict[Hashable, str] = field(default_factory=dict)
    # Each party's connections, oldest first: a dictionary without values is an ordered set.
    _known: dict[str, dict[Hashable, None]] = field(default_factory=dict)
    _party: dict[Hashable, str] = field(default_factory=dict)

    def opened(self, connection: Hashable, address: str) -> list[Hashable]:
        """Add a new connection from this address; returns the connections to drop."""
        self._unknown[connection] = address
        # Cheap to count again each time: there are at most `max_unknown` + 1 of them.
        counts = Counter(self._unknown.values())
        # Each call adds one connection, so dropping one restores both limits.
        if counts[address] > self.max_unknown_per_address:
            return [self._drop_oldest(address)]
        if len(self._unknown) > self.max_unknown:
            return [self._drop_oldest(counts.most_common(1)[0][0])]
        return []

    def authenticated(self, connection: Hashable, party: str) -> list[Hashable]:
        """Assign the connection to a known party; returns the connections to drop, the party's oldest."""
        # It may have been dropped while it was authenticating.
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
        """Remove a connection that has ended; nothing happens if it was dropped before."""
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
        # Dictionaries keep the order of insertion, so the first match is the oldest.
        oldest = next(connection for connection, where in self._unknown.items() if where == address)
        del self._unknown[oldest]
        self.dropped[TOO_MANY_UNKNOWN] += 1
        return oldest
