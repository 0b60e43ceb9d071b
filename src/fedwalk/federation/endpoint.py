"""The called side between holders: a gRPC endpoint that trusts no caller.

TLS lets in only those whom the federation's authority has certified; the name in the certificate must be in the plan,
and the call must bear the attempt's key and the caller's session. A copy of a holder's certificate has no session: the
server gives it to the holder itself, as part of the question. Only then is the body read, one call of a kind per caller
at a time, and never more than a few megabytes, nor for longer than half a minute. What is wrong with a call is counted
by sender and reason, and the caller is told. Connections are limited in front of gRPC (`holder_port`).

Three calls, all on plain bytes: `Hand` (a batch of tokens, answered by a receipt), `Probe` (how do you stand? answered
when passive, or after a moment), `Conclude` (it is over, if you still stand as you said).
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
from fedwalk.federation.couriers import KEY_FIELD, SERVICE, SESSION_FIELD
from fedwalk.federation.descriptors import raise_descriptor_limit, shortage
from fedwalk.federation.holder_port import AUTHENTICATION, HolderPort, holder_descriptors
from fedwalk.federation.identity import Credentials
from fedwalk.federation.leading import AGREED, DISAGREED
from fedwalk.federation.naming import is_name
from fedwalk.federation.notices import Tally, say
from fedwalk.federation.termination import Standing
from fedwalk.federation.tokens import LARGEST, Receipt
from fedwalk.federation.walk_plan import session_digest

BODY = 30.0
"""Seconds that a body may take to arrive: a batch of a megabyte at 35 kB a second."""
TOO_SLOW = "too slow"
_OPTIONS = [
    ("grpc.server_handshake_timeout_ms", int(AUTHENTICATION * 1000)),
    ("grpc.max_receive_message_length", LARGEST),
    ("grpc.max_concurrent_streams", 8),
    ("grpc.compression_enabled_algorithms_bitset", 1),  # none: a few compressed kilobytes can be gigabytes
    ("grpc.keepalive_time_ms", 10_000),
    ("grpc.keepalive_timeout_ms", 5_000),
    ("grpc.http2.min_ping_interval_without_data_ms", 5_000),
]


class Host(Protocol):
    """What the endpoint calls upon: the walking holder behind it."""

    refused: Counter[str]
    ended: bool

    def receive(self, sender: int, data: bytes) -> Receipt:
        """Take a batch in."""
        ...

    async def asked(self, sender: int) -> Standing:
        """How the holder stands, for one who leads."""
        ...

    def conclude(self, sender: int, standing: Standing) -> bool:
        """Whether the walking is over for this holder, too."""
        ...


class Endpoint:
    """One attempt's endpoint: of all the plan's holders, the `others` by their indices may call.

    `sessions` has the SHA-256 of each holder's session. `impostors` counts, by holder, the calls under its certificate
    that didn't show it.
    """

    def __init__(self, host: Host, holders: list[str], others: Iterable[int], key: str, sessions: list[str]) -> None:
        self._host, self._holders, self._others, self._key = host, holders, set(others), key
        self._sessions, self.impostors = sessions, Counter[int]()
        self._present: set[tuple[int, str]] = set()
        self._dropped = Tally("connections to this holder's port that were dropped")
        self._port = HolderPort(self._on_drop)
        self._server = grpc.aio.server(options=_OPTIONS)
        calls = {"Hand": self._hand, "Probe": self._probe, "Conclude": self._conclude}
        handlers = {
            name: grpc.stream_unary_rpc_method_handler(self._guarded(name, call)) for name, call in calls.items()
        }
        self._server.add_generic_rpc_handlers([grpc.method_handlers_generic_handler(SERVICE, handlers)])

    async def open(self, listen: str, credentials: Credentials, patience: float) -> None:
        """Listen, waiting for an earlier process of the same holder to leave the address if need be."""
        raise_descriptor_limit()
        if warning := shortage(holder_descriptors(len(self._others))):
            say(warning)
        pair = credentials.key, credentials.certificate
        tls = grpc.ssl_server_credentials([pair], credentials.authority, require_client_auth=True)
        self._server.add_secure_port(f"unix:{self._port.inner}", tls)
        await self._server.start()
        await self._port.open(listen, patience)

    def remove(self, holder: int) -> None:
        """Refuse this holder's calls from now on."""
        self._others.discard(holder)

    async def close(self, grace: float) -> None:
        """Take no more calls, and let the answers to those that have come leave, for at most so many seconds."""
        self._port.stop_accepting()
        await self._server.stop(grace)
        await self._port.close(grace)
        self._dropped.finish()

    def _on_drop(self, reason: str) -> None:
        self._host.refused[reason] += 1
        self._dropped.count(reason)

    def _guarded(self, name: str, call: Callable[[int, bytes], Awaitable[bytes]]) -> Any:
        """The call for those who may make it. Declared as a stream, so that this is settled before a body is read."""

        async def handle(bodies: AsyncIterator[bytes], context: Any) -> Any:
            try:
                with self._let_in(context, name) as caller:
                    return await call(caller, await self._read(bodies, context))
            except _RefusedError as refusal:
                self._host.refused.update(refusal.counted())
                return await context.abort(refusal.status, refusal.message)

        return handle

    async def _read(self, bodies: AsyncIterator[bytes], context: Any) -> bytes:
        """The body, if it arrives in time; else the connection is dropped, for gRPC would go on reading from it."""
        try:
            async with asyncio.timeout(BODY):
                async for body in bodies:
                    return body
        except TimeoutError:
            self._port.drop(context.peer())
            raise _RefusedError(grpc.StatusCode.DEADLINE_EXCEEDED, TOO_SLOW) from None
        raise _RefusedError(grpc.StatusCode.RESOURCE_EXHAUSTED, "too large")

    @contextmanager
    def _let_in(self, context: Any, name: str) -> Iterator[int]:
        """The index of the caller, by its certificate, while it makes a call of this name."""
        caller = self._caller(context)
        if (caller, name) in self._present:
            raise _RefusedError(grpc.StatusCode.RESOURCE_EXHAUSTED, message="one call of a kind at a time")
        self._present.add((caller, name))
        try:
            yield caller
        except _RefusedError as refusal:
            refusal.sender = refusal.sender or self._holders[caller]
            raise
        finally:
            self._present.discard((caller, name))

    def _caller(self, context: Any) -> int:
        """A holder that calls for another attempt may be ahead of this process, so it is told to come back."""
        names = [name.decode(errors="replace") for name in context.auth_context().get("x509_common_name", [])]
        if len(names) != 1 or names[0] not in self._holders:
            sender = names[0] if len(names) == 1 and is_name(names[0]) else ""
            raise _RefusedError(grpc.StatusCode.PERMISSION_DENIED, "unknown sender", sender=sender)
        name, shown = names[0], dict(context.invocation_metadata())
        if shown.get(KEY_FIELD) != self._key:
            raise _RefusedError(grpc.StatusCode.UNAVAILABLE, "other run", sender=name)
        caller = self._holders.index(name)
        if caller not in self._others:
            raise _RefusedError(grpc.StatusCode.PERMISSION_DENIED, "unknown sender", sender=name)
        if not compare_digest(session_digest(str(shown.get(SESSION_FIELD, ""))), self._sessions[caller]):
            self.impostors[caller] += 1
            raise _RefusedError(grpc.StatusCode.PERMISSION_DENIED, "another session", sender=name)
        # Only now: a copy of the certificate must not take the connections that are kept for the holder.
        self._port.authenticated(context.peer(), name)
        return caller

    async def _hand(self, caller: int, body: bytes) -> bytes:
        if self._host.ended:
            raise _RefusedError(grpc.StatusCode.FAILED_PRECONDITION, "after the end")
        try:
            receipt = self._host.receive(caller, body)
        except ProtocolError as error:
            raise _RefusedError(grpc.StatusCode.INVALID_ARGUMENT, message=str(error)) from error
        return replace(receipt, impostors=self.impostors[caller]).to_bytes()

    async def _probe(self, caller: int, body: bytes) -> bytes:
        return (await self._host.asked(caller)).to_bytes()

    async def _conclude(self, caller: int, body: bytes) -> bytes:
        try:
            return AGREED if self._host.conclude(caller, Standing.from_bytes(body)) else DISAGREED
        except ProtocolError as error:
            raise _RefusedError(grpc.StatusCode.INVALID_ARGUMENT, "malformed", str(error)) from error


class _RefusedError(Exception):
    """What a caller is told, and the reason under which it is counted, unless it has been counted already."""

    def __init__(self, status: grpc.StatusCode, reason: str = "", message: str = "", sender: str = "") -> None:
        self.status, self.message = status, message or reason
        self.reason, self.sender = reason, sender

    def counted(self) -> list[str]:
        """The reason with its sender, as far as that is known."""
        named = f"{self.sender}: {self.reason}" if self.sender else self.reason
        return [named] if self.reason else []
