"""A port with limits, over real sockets and TLS: clients without a certificate can't fill it."""

import http.client
import socket
import ssl
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from fedwalk.federation.deploy.ports import free_port
from fedwalk.federation.flower_guards import listening
from fedwalk.federation.flower_guards.listening import LimitedServer, server_context, uvicorn_config
from fedwalk.federation.membership.authority_succession import successor
from fedwalk.federation.membership.certificates import Authority
from fedwalk.federation.membership.keys import Credentials, certificate_end, new_authority
from fedwalk.federation.wire.connection_limits import ConnectionLimits
from helpers.walking_holders import authority, certified, credentials

SOON = 30.0


async def who(scope: Any, receive: Any, send: Any) -> None:
    """An app that answers with the caller's name."""
    body = str(scope["state"]["holder"]).encode()
    headers = [(b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": body})


def files(path: Path, made: Credentials) -> tuple[str, str, str]:
    """A party's certificate, key and authority as files."""
    path.mkdir(exist_ok=True)
    contents = {"own.pem": made.certificate, "own.key": made.key, "authority.pem": made.authority}
    for name, content in contents.items():
        (path / name).write_bytes(content)
    return str(path / "own.pem"), str(path / "own.key"), str(path / "authority.pem")


@contextmanager
def listens(
    path: Path, limits: ConnectionLimits | None = None, trusted: Authority | None = None, host: str = "127.0.0.1"
) -> Iterator[LimitedServer]:
    """A server for certified clients, which shows ann's certificate; it runs while the block does."""
    config = uvicorn_config(who, host, free_port(), lifespan="off", log_level="critical")
    bundle = (trusted or authority()).certificate
    context = server_context(*files(path / "server", replace(credentials("ann"), authority=bundle)))
    server = LimitedServer(config, context, ConnectionLimits() if limits is None else limits, bundle)
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        wait_until(lambda: server.started)
        yield server
    finally:
        server.should_exit = True
        thread.join(SOON)
        assert not thread.is_alive()


def wait_until(condition: Any) -> None:
    end = time.monotonic() + SOON
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)


def client_context(path: Path, made: Credentials | None) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.load_verify_locations(cadata=credentials("ann").authority.decode())
    if made is not None:
        certificate, key, _ = files(path / "client", made)
        context.load_cert_chain(certificate, key)
    return context


def ask(server: LimitedServer, context: ssl.SSLContext) -> str:
    """What the server answers; OSError if it doesn't."""
    connection = http.client.HTTPSConnection("127.0.0.1", server.config.port, timeout=SOON, context=context)
    try:
        connection.request("GET", "/")
        return connection.getresponse().read().decode()
    finally:
        connection.close()


def test_a_holder_is_known_by_its_certificate_before_it_sends_a_byte(tmp_path: Path) -> None:
    with listens(tmp_path) as server:
        assert ask(server, client_context(tmp_path, credentials("bob"))) == "bob"
        wait_until(lambda: len(server.limits) == 0)
        assert server.failed == {}


@pytest.mark.parametrize(("made", "reason"), [
    (lambda: None, "no certificate"),
    (lambda: certified(new_authority("other", 2), "bob"), "a foreign certificate"),
    (lambda: certified_by_begin(-2), "an expired certificate"),
    (lambda: certified_by_begin(1), "a certificate that isn't valid yet"),
])  # fmt: skip
def test_a_missing_foreign_or_expired_certificate_fails_in_the_handshake(
    tmp_path: Path, made: Any, reason: str
) -> None:
    with listens(tmp_path) as server:
        with pytest.raises((OSError, http.client.HTTPException)):
            ask(server, client_context(tmp_path, made()))
        wait_until(lambda: server.failed == {reason: 1})
        assert ask(server, client_context(tmp_path, credentials("bob"))) == "bob"


def test_a_server_on_all_ipv6_addresses_is_reached_by_ipv4_too(tmp_path: Path) -> None:
    """`await_listening` connects to 127.0.0.1."""
    with listens(tmp_path, host="::") as server:
        assert ask(server, client_context(tmp_path, credentials("bob"))) == "bob"


def certified_by_begin(days: float) -> Credentials:
    """Bob's certificate, for one day that begins so many days from now."""
    return certified(authority(), "bob", datetime.now(UTC) + timedelta(days=days))


def test_plain_text_fails_in_the_handshake(tmp_path: Path) -> None:
    with listens(tmp_path) as server:
        with socket.create_connection(("127.0.0.1", server.config.port), timeout=SOON) as client:
            client.sendall(b"POST /v1/control/start-run HTTP/1.1\r\nHost: x\r\n\r\n")
            assert read_to_end(client)[:9] != b"HTTP/1.1 "
        wait_until(lambda: server.failed == {"no TLS handshake": 1})


def read_to_end(connection: socket.socket) -> bytes:
    """All that comes until the other side closes; a reset is an end too."""
    received = b""
    try:
        while piece := connection.recv(4096):
            received += piece
    except ConnectionError:
        pass
    return received


def test_a_holder_gets_in_beside_1300_idle_connections(tmp_path: Path) -> None:
    """Without a limit they use up all file descriptors of the process."""
    mine = client_context(tmp_path, credentials("bob"))
    with listens(tmp_path) as server, ExitStack() as stack:
        before = descriptors()
        for _ in range(26):
            idle = [socket.create_connection(("127.0.0.1", server.config.port), timeout=SOON) for _ in range(50)]
            for one in idle:
                stack.enter_context(one)
            assert ask(server, mine) == "bob"
        assert len(server.limits) <= server.limits.max_unknown_per_address + 1
        # This process has the other ends of these connections open too.
        wait_until(lambda: descriptors() - before < 1300 + server.limits.max_unknown_per_address + 20)
        assert server.limits.dropped["too many connections before authentication"] >= 1300 - 2 * 64


def descriptors() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


def test_a_handshake_that_stalls_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listening, "HANDSHAKE_TIMEOUT", 0.3)
    with listens(tmp_path) as server:
        with socket.create_connection(("127.0.0.1", server.config.port), timeout=SOON) as client:
            client.sendall(b"\x16\x03\x01\x02\x00\x01")
            assert read_to_end(client) == b""
        wait_until(lambda: len(server.limits) == 0)
        assert server.failed == {"no TLS handshake": 1}


def test_a_head_that_arrives_too_slowly_is_cut_off(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listening, "HEAD_TIMEOUT", 0.3)
    monkeypatch.setattr(listening, "KEEP_ALIVE", 1)
    context = client_context(tmp_path, credentials("bob"))
    heads = (b"", b"GET / HTTP/1.1\r\nHost: x\r\nSlow: ", b"GET / HTTP/1.1\r\nHost: x\r\n\r\nGET / HT")
    with listens(tmp_path) as server:
        for head in heads:
            plain = socket.create_connection(("127.0.0.1", server.config.port), timeout=SOON)
            with context.wrap_socket(plain) as holder:
                holder.sendall(head)
                read_to_end(holder)
        wait_until(lambda: len(server.limits) == 0)
        assert ask(server, context) == "bob"


def test_a_connection_ends_with_its_certificate(tmp_path: Path) -> None:
    short = certified_by_begin(-1 + 4 / 86400)
    with listens(tmp_path) as server:
        plain = socket.create_connection(("127.0.0.1", server.config.port), timeout=SOON)
        with client_context(tmp_path, short).wrap_socket(plain) as holder:
            holder.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
            assert holder.recv(4096).startswith(b"HTTP/1.1 200")
            ended = ssl.cert_time_to_seconds(_end(short))
            read_to_end(holder)
            assert time.time() >= ended - 1
        with pytest.raises((OSError, http.client.HTTPException)):
            ask(server, client_context(tmp_path, short))


@pytest.mark.slow
def test_a_connection_ends_with_the_authority_that_signed_its_certificate(tmp_path: Path) -> None:
    overlap = datetime.now(UTC) - timedelta(days=1) + timedelta(seconds=4)
    new, _ = successor(authority(), 2, 1, overlap)
    context = client_context(tmp_path, credentials("bob"))
    with listens(tmp_path, trusted=new) as server:
        plain = socket.create_connection(("127.0.0.1", server.config.port), timeout=SOON)
        with context.wrap_socket(plain) as holder:
            holder.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
            assert holder.recv(4096).startswith(b"HTTP/1.1 200")
            read_to_end(holder)
            assert time.time() >= (overlap + timedelta(days=1)).timestamp() - 1
        with pytest.raises((OSError, http.client.HTTPException)):
            ask(server, context)


def _end(made: Credentials) -> str:
    return certificate_end(made.certificate).strftime("%b %d %H:%M:%S %Y GMT")


def test_one_holder_with_many_connections_drops_its_own(tmp_path: Path) -> None:
    mine, others = credentials("bob"), credentials("cyd")
    with listens(tmp_path, ConnectionLimits(max_per_party=4)) as server, ExitStack() as stack:
        context = client_context(tmp_path, mine)
        for _ in range(12):
            plain = socket.create_connection(("127.0.0.1", server.config.port), timeout=SOON)
            holder = stack.enter_context(context.wrap_socket(plain))
            holder.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
            assert holder.recv(4096).startswith(b"HTTP/1.1 200")
        assert len(server.limits.of("bob")) == 4
        assert ask(server, client_context(tmp_path, others)) == "cyd"
        assert server.limits.dropped == {"too many connections of one holder": 8}
