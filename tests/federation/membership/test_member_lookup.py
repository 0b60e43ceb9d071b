"""Looking up members at the server's port, over real TLS with a holder's certificate."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from fedwalk.federation.deploy.local_federation import LocalFederation, make_federation
from fedwalk.federation.deploy.ports import free_port
from fedwalk.federation.flower_guards.listening import LimitedServer, server_context, uvicorn_config
from fedwalk.federation.flower_guards.request_limits import RequestLimits
from fedwalk.federation.membership.admission import remove_holder
from fedwalk.federation.membership.member_lookup import look_up_members
from fedwalk.federation.membership.members import Members, write_members
from fedwalk.federation.membership.roster import Roster
from fedwalk.federation.wire.connection_limits import ConnectionLimits
from fedwalk.graph import social_network
from helpers.asgi_requests import Inner, members, node_key

GRAPH = social_network(vertices=20, mean_degree=4, communities=2, seed=1)


@pytest.fixture
def federation(tmp_path: Path) -> LocalFederation:
    return make_federation(tmp_path, GRAPH, 3)


@contextmanager
def listening(federation: LocalFederation) -> Iterator[str]:
    """The server's public port, in front of an app that is never asked."""
    folder = federation.server
    write_members(folder.members, Roster.load(folder.roster))
    inner = Inner()
    limits = RequestLimits(inner, Members(folder.members), 1 << 20)
    config = uvicorn_config(limits, "127.0.0.1", free_port(), lifespan="off", log_level="critical")
    names = ("server.pem", "server.key", "authority.pem")
    server = LimitedServer(config, server_context(*(str(folder.path / name) for name in names)), ConnectionLimits())
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        while not server.started:
            thread.join(0.02)
            assert thread.is_alive()
        yield f"127.0.0.1:{config.port}"
    finally:
        server.should_exit = True
        thread.join(30)
        assert inner.scopes == []


def test_a_member_sees_the_members_and_at_once_that_one_was_removed(federation: LocalFederation) -> None:
    holder, server = federation.holders[0], federation.server
    with listening(federation) as address:
        assert look_up_members(holder, address) == {"holder-0", "holder-1", "holder-2"}
        remove_holder(server, "holder-1")
        write_members(server.members, Roster.load(server.roster))
        assert look_up_members(holder, address) == {"holder-0", "holder-2"}
        assert look_up_members(federation.holders[1], address) is None


def test_an_unreachable_server_removes_no_holder(federation: LocalFederation, tmp_path: Path) -> None:
    holder = federation.holders[0]
    assert look_up_members(holder, f"127.0.0.1:{free_port()}") is None
    stranger = make_federation(tmp_path / "another", GRAPH, 1)
    with listening(stranger) as address:
        assert look_up_members(holder, address) is None


def test_names_are_those_of_the_members_only(tmp_path: Path) -> None:
    assert members(tmp_path, "ann", "bob").names() == ["ann", "bob"]
    assert node_key("ann") != node_key("bob")
