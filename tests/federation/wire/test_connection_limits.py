"""Which connections a port keeps: room for known parties, and floods that only drop their own connections."""

from collections.abc import Hashable

from hypothesis import given
from hypothesis import strategies as st

from fedwalk.federation.wire.connection_limits import ConnectionLimits


def small() -> ConnectionLimits:
    return ConnectionLimits(max_unknown=6, max_unknown_per_address=3, max_per_party=2)


def test_one_address_drops_only_its_own_connections() -> None:
    limits = small()
    assert limits.opened("honest", "192.0.2.1") == []
    dropped = [gone for i in range(1000) for gone in limits.opened(i, "198.51.100.9")]
    assert dropped == list(range(997))
    assert limits.authenticated("honest", "clinic") == []
    assert limits.of("clinic") == ["honest"]


def test_many_addresses_can_not_drop_a_known_party() -> None:
    limits = small()
    limits.opened("honest", "192.0.2.1")
    limits.authenticated("honest", "clinic")
    for i in range(1000):
        limits.opened(i, f"address {i}")
    assert limits.of("clinic") == ["honest"]
    assert len(limits) == 7
    assert limits.dropped["too many connections before authentication"] == 994


def test_a_party_with_too_many_connections_loses_its_oldest() -> None:
    limits = small()
    for i in range(4):
        limits.opened(i, "192.0.2.1")
        assert limits.authenticated(i, "clinic") == ([i - 2] if i >= 2 else [])
    limits.opened("other", "192.0.2.1")
    assert limits.authenticated("other", "ward") == []
    assert limits.of("clinic") == [2, 3]


def test_a_connection_that_was_dropped_can_not_be_authenticated() -> None:
    limits = small()
    gone = [gone for i in range(4) for gone in limits.opened(i, "192.0.2.1")]
    assert gone == [0]
    assert limits.authenticated(0, "clinic") == []
    assert limits.of("clinic") == []


Steps = st.lists(st.tuples(st.sampled_from("oac"), st.integers(0, 9), st.integers(0, 2)), max_size=200)


@given(Steps)
def test_the_bounds_hold_whatever_happens(steps: list[tuple[str, int, int]]) -> None:
    limits, opened = small(), dict[Hashable, str]()
    for i, (step, number, which) in enumerate(steps):
        if step == "o":
            opened[i] = f"address {which}"
            gone = limits.opened(i, opened[i])
        elif step == "a":
            gone = limits.authenticated(number, f"party {which}")
        else:
            limits.closed(number)
            gone = [number]
        for connection in gone:
            opened.pop(connection, None)
        assert len(limits) == len(opened)
        known = [limits.of(f"party {which}") for which in range(3)]
        assert max(map(len, known)) <= 2
        assert len(limits) - sum(map(len, known)) <= 6
