"""A port that survives strangers: uvicorn behind our own accepting, with limits on connections and on time.

uvicorn waits for a TLS handshake and for a request's head as long as the other end likes, and accepts until the process
has no descriptor left. Here each new connection is counted (`connection_limits`), has a few seconds for its handshake,
and a few more for the head of each request. With a context that asks for client certificates, the other end is known by
the name in its certificate before a byte of a request is read, and its connections end when the certificate does.
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

from fedwalk.federation.connection_limits import ConnectionLimits
from fedwalk.federation.succession import chain_end

OnLost = Callable[[Exception | None], None]
HANDSHAKE = 10.0
"""Seconds that a TLS handshake may take."""
HEAD = 10.0
"""Seconds that the head of a request may take to arrive."""
KEEP_ALIVE = 20
"""Seconds between two requests; Flower's clients hang up after five, so they never meet a closed connection."""
LONGEST_WAIT = 86400.0
"""Seconds: how far ahead the end of a certificate is waited for; those that end later are looked at again then."""


class LimitedServer(uvicorn.Server):
    """A uvicorn server whose connections are limited; `failed` counts handshakes that came to nothing.

    `authority` has the authorities (PEM) that the context trusts, if it asks for client certificates.
    """

    def __init__(
        self, config: uvicorn.Config, context: ssl.SSLContext, limits: ConnectionLimits, authority: bytes = b""
    ) -> None:
        super().__init__(config)
        self.context, self.limits, self.failed = context, limits, Counter[str]()
        self.authority = authority

    async def startup(self, sockets: Any = None) -> None:
        """Listen with our own accepting in place of uvicorn's."""
        await self.lifespan.startup()
        if self.lifespan.should_exit:
            self.should_exit = True
            return
        loop, config = asyncio.get_running_loop(), self.config
        listening = await loop.create_server(
            lambda: Arrival(self), config.host, config.port, backlog=config.backlog, start_serving=True
        )
        self.servers = [listening]
        self.started = True

    async def serve_quietly(self) -> None:
        """Serve beside another server, which hears the signals."""
        await self._serve()


class Arrival(asyncio.Protocol):
    """A connection from its first moment: counted, then TLS, then HTTP."""

    def __init__(self, server: LimitedServer) -> None:
        self._server, self._early, self._ended = server, bytearray(), False
        self._transport: asyncio.Transport | None = None
        self._securing: asyncio.Task[None] | None = None
        self._name = ""

    def connection_made(self, transport: Any) -> None:
        """Count it, and begin the handshake."""
        transport.pause_reading()
        self._transport = transport
        address = (transport.get_extra_info("peername") or ("",))[0]
        self._drop(self._server.limits.opened(self, address))
        if not self._ended:
            self._securing = asyncio.get_running_loop().create_task(self._secure(transport))

    async def _secure(self, transport: asyncio.Transport) -> None:
        loop, server = asyncio.get_running_loop(), self._server
        try:
            secured = await loop.start_tls(
                transport, self, server.context, server_side=True, ssl_handshake_timeout=HANDSHAKE
            )
        except (OSError, ssl.SSLError) as error:
            server.failed[_handshake_problem(error)] += 1
            self.connection_lost(None)
            return
        if secured is None or self._ended:
            self.abort()
            return
        self._transport = secured
        tls = secured.get_extra_info("ssl_object")
        self._name = _common_name(tls.getpeercert() or {})
        if self._name:
            self.known(self._name)
            self._end_at(chain_end(tls.getpeercert(binary_form=True), server.authority).timestamp())
        self._speak_http(secured)

    def _speak_http(self, secured: Any) -> None:
        """Hand over to HTTP, with what has arrived meanwhile."""
        state = {"holder": self._name, "known": self.known}
        http = TimedHttp(self._server.config, self._server.server_state, state, self.connection_lost)
        secured.set_protocol(http)
        http.connection_made(secured)
        if self._early:
            http.data_received(bytes(self._early))

    def known(self, party: str) -> None:
        """The other end has shown who it is: its connections are counted apart from those of strangers."""
        self._drop(self._server.limits.authenticated(self, party))

    def _end_at(self, end: float) -> None:
        """Close the connection when its certificate ends, or the authority that signed it."""
        left = end - time.time()
        if left <= 0:
            self.abort()
        elif not self._ended:
            asyncio.get_running_loop().call_later(min(left, LONGEST_WAIT), self._end_at, end)

    def data_received(self, data: bytes) -> None:
        """A request may arrive with the last bytes of the handshake."""
        self._early += data

    def connection_lost(self, error: Exception | None) -> None:
        """Forget it."""
        self._ended = True
        self._server.limits.closed(self)

    def abort(self) -> None:
        """Close it at once."""
        if self._transport is not None:
            self._transport.abort()
        self.connection_lost(None)

    def _drop(self, connections: list[Any]) -> None:
        for connection in connections:
            connection.abort()


class TimedHttp(H11Protocol):
    """uvicorn's HTTP with a limit on the time that a request's head may take."""

    def __init__(
        self, config: Any, server_state: Any, app_state: Any, lost: Callable[[Exception | None], None]
    ) -> None:
        super().__init__(config, server_state, app_state)
        self._lost = lost
        self._head: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        """The first head is awaited."""
        super().connection_made(transport)
        self._await_head()

    def data_received(self, data: bytes) -> None:
        """Stop the clock when a head is complete; start it when another one begins."""
        super().data_received(data)
        if self.conn.their_state is not h11.IDLE:
            self._stop_clock()
        elif self._head is None and self.timeout_keep_alive_task is None:
            self._await_head()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the clock, and tell who counts connections."""
        self._stop_clock()
        super().connection_lost(exc)
        self._lost(exc)

    def _await_head(self) -> None:
        self._head = self.loop.call_later(HEAD, self.transport.abort)

    def _stop_clock(self) -> None:
        if self._head is not None:
            self._head.cancel()
            self._head = None


def _common_name(certificate: Any) -> str:
    """The name in a verified certificate; none without one."""
    names = [value for pairs in certificate.get("subject", ()) for key, value in pairs if key == "commonName"]
    return names[0] if len(names) == 1 else ""


def _handshake_problem(error: Exception) -> str:
    """Why a handshake failed, in few words: counted by reason."""
    text = str(error)
    if "PEER_DID_NOT_RETURN_A_CERTIFICATE" in text:
        return "no certificate"
    if "certificate has expired" in text:
        return "an ended certificate"
    if "certificate is not yet valid" in text:
        return "a certificate that isn't valid yet"
    return "a foreign certificate" if "CERTIFICATE_VERIFY_FAILED" in text else "no TLS handshake"


def server_context(certificate: str, key: str, authority: str | None = None) -> ssl.SSLContext:
    """TLS 1.3 with this certificate; with an authority, only for clients that it has certified."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    context.load_cert_chain(certificate, key)
    # A resumed session would not look at the certificate again.
    context.num_tickets = 0
    if authority is not None:
        context.verify_mode = ssl.CERT_REQUIRED
        context.load_verify_locations(authority)
    return context


def uvicorn_config(app: Any, host: str, port: int, **options: Any) -> uvicorn.Config:
    """uvicorn's settings: no proxy is believed, no line is written per request, no websockets."""
    return uvicorn.Config(
        app, host=host, port=port, http="h11", ws="none", loop="asyncio", proxy_headers=False, server_header=False,
        access_log=False, timeout_keep_alive=KEEP_ALIVE, timeout_graceful_shutdown=5, **options,
    )  # fmt: skip
