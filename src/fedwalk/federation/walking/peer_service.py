"""The called side between holders: a gRPC service that trusts no caller.

A call passes these checks before its body is read:

1. TLS accepts only certificates that the federation's authority has signed.
2. The name in the certificate must be a holder of the plan.
3. The call must show the attempt's key, and the caller's session. The server sends the session to the holder itself, as
   part of the question, so a process with a copy of the holder's certificate doesn't have it.
4. The caller must have no other call of the same kind open.

The body may have a few megabytes and has half a minute to arrive. A refused call is counted by sender and reason, and
the caller is told the reason. Connections are limited in front of gRPC (`peer_port`).

There are four calls, all on plain bytes:

- `Deliver`: a batch of tokens, answered by a receipt.
- `Probe`: asks for this holder's status, answered as soon as it is passive or after a short timeout.
- `Conclude`: says that the walks have ended, provided that this holder's status is still the one in the call.
- `Release`: says that the leader has received this holder's agreement to the end, so that it needn't wait any longer.
"""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from hmac import compare_digest
from typing import Any, Protocol

import grpc

from fedwalk.errors import ProtocolError
from fedwalk.federation.membership.keys import Credentials
from fedwalk.federation.names import is_name
from fedwalk.federation.owner_log import EventCounter, log_for_owner
from fedwalk.federation.walking.leader import AGREED, DISAGREED
from fedwalk.federation.walking.peer_client import KEY_FIELD, METHODS, SERVICE, SESSION_FIELD
from fedwalk.federation.walking.peer_port import AUTHENTICATION_TIMEOUT, HolderPort, holder_descriptors
from fedwalk.federation.walking.plan import session_digest
from fedwalk.federation.walking.termination import HolderStatus
from fedwalk.federation.wire.descriptors import raise_descriptor_limit, shortage
from fedwalk.federation.wire.token_batches import MAX_BATCH_BYTES, Receipt

BODY_TIMEOUT = 30.0
"""Seconds that a body has to arrive: enough for a batch of a megabyte at 35 kB/s."""
TOO_SLOW = "too slow"
_OPTIONS = [
    ("grpc.server_handshake_timeout_ms", int(AUTHENTICATION_TIMEOUT * 1000)),
    ("grpc.max_receive_message_length", MAX_BATCH_BYTES),
    # A peer makes at most four calls at a time, one of each kind; the others leave room for calls that were broken off.
    ("grpc.max_concurrent_streams", 8),
    # Bit 0 alone: no compression. A few compressed kilobytes could expand to gigabytes.
    ("grpc.compression_enabled_algorithms_bitset", 1),
    ("grpc.keepalive_time_ms", 10_000),
    ("grpc.keepalive_timeout_ms", 5_000),
    # By default gRPC closes a connection with more than one ping in five minutes; peers send one in ten seconds.
    ("grpc.http2.min_ping_interval_without_data_ms", 5_000),
]


class PeerHandler(Protocol):
    """What handles the accepted calls: the walking holder behind the service."""

    refused: Counter[str]
    ended: bool

    def receive(self, sender: int, data: bytes) -> Receipt:
        """Take in a batch of tokens."""
        ...

    async def probed(self, sender: int) -> HolderStatus:
        """The status of this holder, for a peer that leads a wave."""
        ...

    def conclude(self, sender: int, status: HolderStatus) -> bool:
        """Whether the walks have ended for this holder, too."""
        ...

    def release(self, sender: int) -> None:
        """Note that the leader knows that the walks have ended here."""
        ...


class PeerService:
    """Serves the peers' calls during one attempt.

    Parameters
    ----------
    handler
        Handles the calls that are accepted.
    holders, others
        The names of all holders of the plan, and the indices of those that may call.
    key, sessions
        The attempt's key, and the SHA-256 of each holder's session.

    `impostors` counts for each holder the calls that showed its certificate but not its session.
    """

    def __init__(
        self, handler: PeerHandler, holders: list[str], others: Iterable[int], key: str, sessions: list[str]
    ) -> None:
        self._handler, self._holders, self._others, self._key = handler, holders, set(others), key
        self._sessions, self.impostors = sessions, Counter[int]()
        self._open_calls: set[tuple[int, str]] = set()
        self._dropped = EventCounter("connections to this holder's port that were dropped")
        self._port = HolderPort(self._on_drop)
        self._server = grpc.aio.server(options=_OPTIONS)
        calls = dict(zip(METHODS, (self._deliver, self._probe, self._conclude, self._release), strict=True))
        handlers = {
            name: grpc.stream_unary_rpc_method_handler(self._guarded(name, call)) for name, call in calls.items()
        }
        self._server.add_generic_rpc_handlers([grpc.method_handlers_generic_handler(SERVICE, handlers)])

    async def open(self, listen: str, credentials: Credentials, timeout: float) -> None:
        """Listen; if an earlier process of this holder still uses the address, wait for it, up to `timeout` seconds."""
        raise_descriptor_limit()
        if warning := shortage(holder_descriptors(len(self._others))):
            log_for_owner(warning)
        pair = credentials.key, credentials.certificate
        tls = grpc.ssl_server_credentials([pair], credentials.authority, require_client_auth=True)
        self._server.add_secure_port(f"unix:{self._port.inner}", tls)
        # gRPC before the port: an accepted connection is passed on as soon as its first bytes arrive.
        await self._server.start()
        await self._port.open(listen, timeout)

    def remove(self, holder: int) -> None:
        """Refuse this holder's calls from now on."""
        self._others.discard(holder)

    async def close(self, grace: float) -> None:
        """Accept no more calls; open ones have `grace` seconds to be answered."""
        self._port.stop_accepting()
        # gRPC before the port: the last answers still have to pass through the port.
        await self._server.stop(grace)
        await self._port.close(grace)
        self._dropped.finish()

    def _on_drop(self, reason: str) -> None:
        self._handler.refused[reason] += 1
        self._dropped.count(reason)

    def _guarded(self, name: str, call: Callable[[int, bytes], Awaitable[bytes]]) -> Any:
        """Wrap a call so that its caller is checked first.

        The call is declared as a stream of bodies although it has only one: gRPC would otherwise read the body before
        the handler runs.
        """

        async def handle(bodies: AsyncIterator[bytes], context: Any) -> Any:
            try:
                with self._admitted(context, name) as caller:
                    return await call(caller, await self._read(bodies, context))
            except _RefusedError as refusal:
                self._handler.refused.update(refusal.counted())
                return await context.abort(refusal.status, refusal.message)

        return handle

    async def _read(self, bodies: AsyncIterator[bytes], context: Any) -> bytes:
        """Read the body. If it doesn't arrive in time, drop the connection: gRPC would go on reading from it."""
        try:
            async with asyncio.timeout(BODY_TIMEOUT):
                async for body in bodies:
                    return body
        except TimeoutError:
            self._port.drop(context.peer())
            raise _RefusedError(grpc.StatusCode.DEADLINE_EXCEEDED, TOO_SLOW) from None
        # gRPC ends the stream without a body if the body exceeds max_receive_message_length.
        raise _RefusedError(grpc.StatusCode.RESOURCE_EXHAUSTED, "too large")

    @contextmanager
    def _admitted(self, context: Any, name: str) -> Iterator[int]:
        """Check the caller of a call of this name; yields its index while the call is open."""
        caller = self._caller(context)
        # This bounds the bodies in memory. The caller tries again, since its earlier call may have been broken off.
        if (caller, name) in self._open_calls:
            raise _RefusedError(grpc.StatusCode.RESOURCE_EXHAUSTED, message="only one call of a kind at a time")
        self._open_calls.add((caller, name))
        try:
            yield caller
        except _RefusedError as refusal:
            refusal.sender = refusal.sender or self._holders[caller]
            raise
        finally:
            self._open_calls.discard((caller, name))

    def _caller(self, context: Any) -> int:
        """Check the caller's certificate, key and session; returns its index."""
        names = [name.decode(errors="replace") for name in context.auth_context().get("x509_common_name", [])]
        if len(names) != 1 or names[0] not in self._holders:
            # The name is shown to the owner and to the server, so only well-formed names are used.
            sender = names[0] if len(names) == 1 and is_name(names[0]) else ""
            raise _RefusedError(grpc.StatusCode.PERMISSION_DENIED, "unknown sender", sender=sender)
        name, shown = names[0], dict(context.invocation_metadata())
        # UNAVAILABLE makes the caller try again: it may have begun the next attempt before this process did.
        if shown.get(KEY_FIELD) != self._key:
            raise _RefusedError(grpc.StatusCode.UNAVAILABLE, "other run", sender=name)
        caller = self._holders.index(name)
        if caller not in self._others:
            raise _RefusedError(grpc.StatusCode.PERMISSION_DENIED, "unknown sender", sender=name)
        # In constant time, so that the duration doesn't tell a caller how much of its guess is right.
        if not compare_digest(session_digest(str(shown.get(SESSION_FIELD, ""))), self._sessions[caller]):
            self.impostors[caller] += 1
            raise _RefusedError(grpc.StatusCode.PERMISSION_DENIED, "another session", sender=name)
        # Only after the session was checked: a process with a copy of the certificate must not use up the connections
        # that are reserved for the holder.
        self._port.authenticated(context.peer(), name)
        return caller

    async def _deliver(self, caller: int, body: bytes) -> bytes:
        if self._handler.ended:
            # A token could no longer walk here. This status is final, so the sender gives the token up and reports it.
            raise _RefusedError(grpc.StatusCode.FAILED_PRECONDITION, "after the end")
        try:
            receipt = self._handler.receive(caller, body)
        except ProtocolError as error:
            raise _RefusedError(grpc.StatusCode.INVALID_ARGUMENT, message=str(error)) from error
        return replace(receipt, impostors=self.impostors[caller]).to_bytes()

    async def _probe(self, caller: int, body: bytes) -> bytes:
        return (await self._handler.probed(caller)).to_bytes()

    async def _conclude(self, caller: int, body: bytes) -> bytes:
        try:
            return AGREED if self._handler.conclude(caller, HolderStatus.from_bytes(body)) else DISAGREED
        except ProtocolError as error:
            raise _RefusedError(grpc.StatusCode.INVALID_ARGUMENT, "malformed", str(error)) from error

    async def _release(self, caller: int, body: bytes) -> bytes:
        self._handler.release(caller)
        return b""


class _RefusedError(Exception):
    """A refused call: what the caller is told, and the reason under which it is counted.

    Without a reason it isn't counted here, either because the handler has counted it or because it does no harm.
    """

    def __init__(self, status: grpc.StatusCode, reason: str = "", message: str = "", sender: str = "") -> None:
        self.status, self.message = status, message or reason
        self.reason, self.sender = reason, sender

    def counted(self) -> list[str]:
        """The reason to count, after the sender's name if that is known; empty if there is none."""
        named = f"{self.sender}: {self.reason}" if self.sender else self.reason
        return [named] if self.reason else []
