"""Limits on requests at the server's public port, checked before Flower reads them.

The public port serves holders, and only Flower's Fleet API. Flower checks the sender of a request after it has read all
of it, and has no bound on its size. Here the sender is known from its certificate before that: it must be a member of
the federation and use the node key of the roster. Bytes are counted as they arrive, for each request, each holder and
all holders together, and a body must arrive at a minimum rate.
"""

import asyncio
import json
import time
from base64 import b64decode
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from pathlib import Path
from typing import Any

from fedwalk.federation.membership.member_lookup import MEMBERS
from fedwalk.federation.membership.members import Members
from fedwalk.util.files import replace_file

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

FLEET = "/v1/fleet/"
"""Flower's API for holders, and fedwalk's own: the members' names, for holders that walk (`member_lookup`)."""
PUBLIC_KEY_HEADER = b"flwr-public-key"
"""In each request of Flower's: the sender's node key (PEM) in base64."""
MAX_BODY = 16 << 20
"""Bytes. Flower splits an array into chunks of 5 MB and sends each in a request of its own."""
MAX_IN_FLIGHT, MAX_IN_FLIGHT_PER_HOLDER = 256 << 20, 64 << 20
"""Bytes of requests that are being read or answered. One holder can't use all of it."""
BODY_SECONDS, BODY_BYTES_PER_SECOND = 20.0, 64 << 10
"""A body may take this many seconds, and one more for each `BODY_BYTES_PER_SECOND` that have arrived."""

REMOVED = "this holder isn't a member of the federation"
TOO_LARGE = "larger than this federation allows"


class RefusedError(Exception):
    """A request was refused, before or while it was read: the HTTP status and the reason."""

    def __init__(self, status: int, reason: str) -> None:
        super().__init__(reason)
        self.status, self.reason = status, reason


class RequestLimits:
    """ASGI middleware in front of everything at the public port.

    `max_answer` is the number of bytes that one holder may send in one run. Refusals are counted, and the counts are
    saved in `counts_file`; `unknown` are connections that ended before they became a request, counted by the port.
    """

    def __init__(self, app: App, members: Members, max_answer: int, counts_file: Path | None = None) -> None:
        self._app, self._members, self._max_answer = app, members, max_answer
        self._counts_file = counts_file
        self._sent = Counter[str]()
        self._in_flight = Counter[str]()
        self.refused, self.unknown = Counter[str](), Counter[str]()

    def reset_counts(self) -> None:
        """Set all counts to zero, because a new run starts."""
        for counts in (self._sent, self.refused, self.unknown):
            counts.clear()
        self.save_counts()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, or answer it here."""
        # Neither websockets nor lifespan events: the local port starts and stops the app.
        if scope["type"] != "http":
            return
        holder = str(scope["state"]["holder"])
        answer = _Answer(send)
        try:
            self._check(scope, holder)
            if scope["path"] == MEMBERS:
                await reply(send, 200, json.dumps(self._members.names()).encode())
            else:
                await self._bounded(scope, receive, answer, holder)
        except RefusedError as refusal:
            self.refused[f"{holder}: {refusal.reason}"] += 1
            self.save_counts()
            # Once Flower's answer has begun, a second one can't be sent.
            if not answer.status:
                await refuse(send, refusal)

    def _check(self, scope: Scope, holder: str) -> None:
        """Refuse what can be refused before a byte of the body has arrived."""
        key = self._members.node_key(holder)
        if key is None:
            # 503: any other status would end Flower's SuperNode, and the holder couldn't return when admitted again.
            raise RefusedError(503, REMOVED)
        # This request has neither a node key nor a body.
        if scope["path"] == MEMBERS:
            return
        if not scope["path"].startswith(FLEET):
            raise RefusedError(403, "this API is for the server's own processes")
        # Flower checks only that the key is registered, not that it belongs to the certificate.
        if _claimed_key(scope["headers"]) != key:
            raise RefusedError(503, "not the node key of the roster; take the newest pass")
        if claimed_length(scope["headers"]) > self._bound(holder):
            raise RefusedError(413, TOO_LARGE)

    def _bound(self, holder: str) -> int:
        # Concurrent requests share this remainder, so together they may exceed it, but by no more than is in flight.
        return min(MAX_BODY, self._max_answer - self._sent[holder])

    async def _bounded(self, scope: Scope, receive: Receive, answer: "_Answer", holder: str) -> None:
        """Pass the body on while it stays within its bounds."""
        body = _Body(receive, self._bound(holder), lambda size: self._count_arrived(holder, size))

        async def send(message: MutableMapping[str, Any]) -> None:
            # Flower's answer to a body that was cut off; the refusal is sent in its place.
            if body.refusal is not None and not answer.status:
                return
            # Only accepted bytes count, and they are counted before the sender learns that it may send more.
            if message.get("status") == 200:
                self._sent[holder] += body.size
            await answer.send(message)

        try:
            await self._app(scope, body.receive, send)
        except Exception:
            # Flower's layers may turn the refusal of a body into any other error.
            if body.refusal is None:
                raise
        finally:
            self._in_flight[holder] -= body.size
        if body.refusal is not None:
            raise body.refusal

    def _count_arrived(self, holder: str, size: int) -> None:
        self._in_flight[holder] += size
        if self._in_flight[holder] > MAX_IN_FLIGHT_PER_HOLDER or self._in_flight.total() > MAX_IN_FLIGHT:
            raise RefusedError(503, "too many bytes at once")

    def save_counts(self) -> None:
        """Write the counts where the run reads them, by an atomic replacement of the file."""
        if self._counts_file is not None:
            counts = json.dumps(self.refused + self.unknown).encode()
            # Not synced to the disk: otherwise a holder could keep the disk busy with refused requests.
            replace_file(self._counts_file, lambda file: file.write(counts), private=True, sync=False)


class _Body:
    """A request's body as it arrives, with bounds on its size and its time."""

    def __init__(self, receive: Receive, bound: int, on_arrival: Callable[[int], None]) -> None:
        self._receive, self._bound, self._on_arrival = receive, bound, on_arrival
        self._began = time.monotonic()
        self.size = 0
        self.refusal: RefusedError | None = None

    async def receive(self) -> MutableMapping[str, Any]:
        """The next part of the body."""
        try:
            return await self._next()
        except RefusedError as refusal:
            self.refusal = refusal
            raise

    async def _next(self) -> MutableMapping[str, Any]:
        left = self._began + BODY_SECONDS + self.size / BODY_BYTES_PER_SECOND - time.monotonic()
        try:
            message = await asyncio.wait_for(self._receive(), max(0.0, left))
        except TimeoutError:
            raise RefusedError(408, "the body arrives too slowly") from None
        size = len(message.get("body", b""))
        # Before both checks: `_bounded` subtracts the whole size from the bytes in flight, also after a refusal.
        self.size += size
        self._on_arrival(size)
        if self.size > self._bound:
            raise RefusedError(413, TOO_LARGE)
        return message


class _Answer:
    """An answer as it is sent; `status` is 0 until the first part is sent."""

    def __init__(self, send: Send) -> None:
        self._send, self.status = send, 0

    async def send(self, message: MutableMapping[str, Any]) -> None:
        """Send a part of the answer."""
        self.status = message.get("status", self.status)
        await self._send(message)


async def refuse(send: Send, refusal: RefusedError) -> None:
    """Answer with the reason, and close the connection, so that the rest of the body isn't read."""
    await reply(send, refusal.status, f"fedwalk: refused: {refusal.reason}\n".encode())


async def reply(send: Send, status: int, body: bytes) -> None:
    """Answer without Flower, and close the connection."""
    headers = [
        (b"content-type", b"text/plain"), (b"content-length", str(len(body)).encode()), (b"connection", b"close"),
    ]  # fmt: skip
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


def claimed_length(headers: Iterable[tuple[bytes, bytes]]) -> int:
    """The length in a request's header; 0 without one, because bytes are counted as they arrive anyway."""
    claimed = dict(headers).get(b"content-length", b"0")
    # int() accepts signs and underscores, and is slow for very long texts.
    if not (claimed.isdigit() and len(claimed) <= 18):
        raise RefusedError(400, "the length isn't a number")
    return int(claimed)


def _claimed_key(headers: Iterable[tuple[bytes, bytes]]) -> bytes | None:
    """The node key with which Flower will check the request's signature; None unless there is exactly one."""
    # Of several keys, Flower might use another one than is checked here.
    keys = [value for name, value in headers if name == PUBLIC_KEY_HEADER]
    try:
        return b64decode(keys[0], validate=True) if len(keys) == 1 else None
    except ValueError:
        return None
