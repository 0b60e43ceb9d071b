"""A uvicorn server with limits on connections and on time.

uvicorn waits without end for a TLS handshake and for a request's head, and accepts connections until the process has no
file descriptor left. Here each new connection is counted (`connection_limits`), has a few seconds for its handshake,
and a few more for the head of each request. If the server asks for client certificates, the name in the certificate is
known before a byte of a request is read, and a connection is closed when its certificate expires.
"""

import asyncio
import ssl
import time
from collections import Counter
from collections.abc import Callable
from typing import Any

import h11
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from fedwalk.federation.membership.authority_succession import chain_end
from fedwalk.federation.wire.connection_limits import ConnectionLimits

HANDSHAKE_TIMEOUT = 10.0
"""Seconds that a TLS handshake may take."""
HEAD_TIMEOUT = 10.0
"""Seconds that the head of a request may take to arrive."""
KEEP_ALIVE = 20
"""Seconds between two requests. Flower's clients close after five, so they never use a connection that we closed."""
MAX_TIMER = 86400.0
"""Seconds. A timer is set no further ahead than this, so a certificate's end is checked again every day."""


class LimitedServer(uvicorn.Server):
    """A uvicorn server with limits on its connections; `failed` counts failed handshakes by reason.

    `authority` has the authorities (PEM) that the context trusts, if it asks for client certificates.
    """

    def __init__(
        self, config: uvicorn.Config, context: ssl.SSLContext, limits: ConnectionLimits, authority: bytes = b""
    ) -> None:
        super().__init__(config)
        self.context, self.limits, self.failed = context, limits, Counter[str]()
        self.authority = authority

    async def startup(self, sockets: Any = None) -> None:
        """Accept connections with `Connection` in place of uvicorn's own protocol class."""
        await self.lifespan.startup()
        if self.lifespan.should_exit:
            self.should_exit = True
            return
        # Like uvicorn's own method, but without TLS, which `Connection` begins after it has counted the connection.
        loop, config = asyncio.get_running_loop(), self.config
        # For asyncio "::" means IPv6 only; None means all addresses of both IPv4 and IPv6.
        host = None if config.host == "::" else config.host
        listening = await loop.create_server(
            lambda: Connection(self), host, config.port, backlog=config.backlog, start_serving=True
        )
        self.servers = [listening]
        self.started = True

    async def serve_without_signals(self) -> None:
        """Serve beside another server, which handles the signals."""
        await self._serve()


class Connection(asyncio.Protocol):
    """A new connection: it is counted, then TLS begins, then HTTP."""

    def __init__(self, server: LimitedServer) -> None:
        self._server, self._early, self._ended = server, bytearray(), False
        self._transport: asyncio.Transport | None = None
        self._securing: asyncio.Task[None] | None = None
        self._name = ""

    def connection_made(self, transport: Any) -> None:
        """Count the connection and begin the handshake."""
        # Until start_tls has taken over, bytes must stay in the kernel: this protocol can't decrypt them.
        transport.pause_reading()
        self._transport = transport
        address = (transport.get_extra_info("peername") or ("",))[0]
        self._drop(self._server.limits.opened(self, address))
        # The limits may have dropped this very connection.
        if not self._ended:
            self._securing = asyncio.get_running_loop().create_task(self._secure(transport))

    async def _secure(self, transport: asyncio.Transport) -> None:
        loop, server = asyncio.get_running_loop(), self._server
        try:
            secured = await loop.start_tls(
                transport, self, server.context, server_side=True, ssl_handshake_timeout=HANDSHAKE_TIMEOUT
            )
        except (OSError, ssl.SSLError) as error:
            # start_tls has closed the transport, so only the counts are updated.
            server.failed[_handshake_problem(error)] += 1
            self.connection_lost(None)
            return
        # The connection was dropped or closed during the handshake.
        if secured is None or self._ended:
            self.abort()
            return
        self._transport = secured
        tls = secured.get_extra_info("ssl_object")
        self._name = _common_name(tls.getpeercert() or {})
        if self._name:
            self.known(self._name)
            self._end_at(chain_end(tls.getpeercert(binary_form=True), server.authority).timestamp())
        self._begin_http(secured)

    def _begin_http(self, secured: Any) -> None:
        """Switch to HTTP, and pass on the bytes that have arrived already."""
        state = {"holder": self._name, "known": self.known}
        http = TimedHttp(self._server.config, self._server.server_state, state, self.connection_lost)
        secured.set_protocol(http)
        http.connection_made(secured)
        if self._early:
            http.data_received(bytes(self._early))

    def known(self, party: str) -> None:
        """Count the connection for this party from now on, apart from those of unknown parties."""
        self._drop(self._server.limits.authenticated(self, party))

    def _end_at(self, end: float) -> None:
        """Close the connection when its certificate expires, or the authority's that signed it."""
        # Computed again by each timer, because asyncio's clock doesn't follow changes of the wall clock.
        left = end - time.time()
        if left <= 0:
            self.abort()
        elif not self._ended:
            asyncio.get_running_loop().call_later(min(left, MAX_TIMER), self._end_at, end)

    def data_received(self, data: bytes) -> None:
        """Keep bytes of a request that arrive together with the end of the handshake."""
        self._early += data

    def connection_lost(self, error: Exception | None) -> None:
        """Stop counting the connection."""
        self._ended = True
        self._server.limits.closed(self)

    def abort(self) -> None:
        """Close the connection at once."""
        if self._transport is not None:
            self._transport.abort()
        # The transport reports its end only later, and until then the connection would be counted.
        self.connection_lost(None)

    def _drop(self, connections: list[Any]) -> None:
        for connection in connections:
            connection.abort()


class TimedHttp(H11Protocol):
    """uvicorn's HTTP protocol with a limit on the time that a request's head may take."""

    def __init__(
        self, config: Any, server_state: Any, app_state: Any, on_lost: Callable[[Exception | None], None]
    ) -> None:
        super().__init__(config, server_state, app_state)
        self._on_lost = on_lost
        self._head: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        """Start the timer for the first request's head."""
        super().connection_made(transport)
        self._await_head()

    def data_received(self, data: bytes) -> None:
        """Stop the timer when a head is complete; start it when another one begins."""
        super().data_received(data)
        # h11 leaves IDLE when it has parsed a complete head.
        if self.conn.their_state is not h11.IDLE:
            self._stop_timer()
        # uvicorn cancels its keep-alive timer when the next head begins to arrive, so this timer takes over.
        elif self._head is None and self.timeout_keep_alive_task is None:
            self._await_head()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the timer, and report the end to the connection that is counted."""
        self._stop_timer()
        super().connection_lost(exc)
        self._on_lost(exc)

    def _await_head(self) -> None:
        # abort, because close would wait for a peer that doesn't read.
        self._head = self.loop.call_later(HEAD_TIMEOUT, self.transport.abort)

    def _stop_timer(self) -> None:
        if self._head is not None:
            self._head.cancel()
            self._head = None


def _common_name(certificate: Any) -> str:
    """The name in a verified certificate; empty without a certificate."""
    names = [value for pairs in certificate.get("subject", ()) for key, value in pairs if key == "commonName"]
    return names[0] if len(names) == 1 else ""


def _handshake_problem(error: Exception) -> str:
    """Why a handshake failed, in few words, because failures are counted by this text."""
    text = str(error)
    if "PEER_DID_NOT_RETURN_A_CERTIFICATE" in text:
        return "no certificate"
    if "certificate has expired" in text:
        return "an expired certificate"
    if "certificate is not yet valid" in text:
        return "a certificate that isn't valid yet"
    return "a foreign certificate" if "CERTIFICATE_VERIFY_FAILED" in text else "no TLS handshake"


def server_context(certificate: str, key: str, authority: str | None = None) -> ssl.SSLContext:
    """A TLS 1.3 context with this certificate; given an authority, it accepts only clients that it has certified."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    # TLS 1.3 encrypts the clients' certificates, so an observer of the network doesn't see the holders' names.
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    context.load_cert_chain(certificate, key)
    # No session tickets: a resumed session doesn't check the client's certificate again.
    context.num_tickets = 0
    if authority is not None:
        context.verify_mode = ssl.CERT_REQUIRED
        context.load_verify_locations(authority)
    return context


def uvicorn_config(app: Any, host: str, port: int, **options: Any) -> uvicorn.Config:
    """uvicorn's settings: proxy headers are ignored, requests aren't logged, websockets are off."""
    return uvicorn.Config(
        app, host=host, port=port, http="h11", ws="none", loop="asyncio", proxy_headers=False, server_header=False,
        access_log=False, timeout_keep_alive=KEEP_ALIVE, timeout_graceful_shutdown=5, **options,
    )  # fmt: skip
