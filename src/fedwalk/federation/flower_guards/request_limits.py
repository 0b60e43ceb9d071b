"""What one request may do at a server's or a holder's ports, settled before Flower reads it.

The public port is for holders and for the Fleet API alone. Flower asks who sends a request only when it has read all of
it, and knows no bound on its size. Here the sender is known from its certificate before that: it has to be in the
roster, and to use the node key of the roster. Bytes are counted as they arrive, for each request, each holder and all
holders together, and a body has to keep a certain pace.
"""

import asyncio
import json
import time
from base64 import b64decode
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from pathlib import Path
from typing import Any

from fedwalk.federation.members import Members

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

FLEET, MEMBERS = "/v1/fleet/", "/fedwalk/members"
"""Flower's API for holders, and our own: the names of the members, for holders that walk (`member_lookup`)."""
MAX_BODY = 16 << 20
"""Flower cuts an array into chunks of 5 MB and sends each by itself."""
MAX_IN_FLIGHT, MAX_IN_FLIGHT_PER_HOLDER = 256 << 20, 64 << 20
"""Bytes of requests that are being read or answered: the second leaves room for others."""
BODY_SECONDS, BODY_PACE = 20.0, 64 << 10
"""A body may take this long, and a second more for each so many bytes that have arrived."""

REMOVED = "this holder isn't a member of the federation"
TOO_LARGE = "larger than this federation allows"


class RefusedError(Exception):
    """A request that isn't passed on, or not to its end: an HTTP status and the reason."""

    def __init__(self, status: int, reason: str) -> None:
        super().__init__(reason)
        self.status, self.reason = status, reason


class RequestLimits:
    """ASGI middleware in front of everything at the public port.

    `max_answer` is what one holder may send in one run. What is refused is counted in the file `notes`; `strangers` are
    connections that never became a request, counted by the port.
    """

    def __init__(self, app: App, members: Members, max_answer: int, notes: Path | None = None) -> None:
        self._app, self._members, self._max_answer, self._notes = app, members, max_answer, notes
        self._sent = Counter[str]()
        self._in_flight = Counter[str]()
        self.refused, self.strangers = Counter[str](), Counter[str]()

    def new_run(self) -> None:
        """From now on count anew what each holder has sent, and what was refused."""
        for counts in (self._sent, self.refused, self.strangers):
            counts.clear()
        self.note()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, or answer it here."""
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
            self.note()
            if not answer.status:
                await refuse(send, refusal)

    def _check(self, scope: Scope, holder: str) -> None:
        """What can be said before a byte of the body has arrived."""
        key = self._members.node_key(holder)
        if key is None:
            # 503: on any other refusal Flower's SuperNode would end, and could not come back when it is admitted again.
            raise RefusedError(503, REMOVED)
        if scope["path"] == MEMBERS:
            return
        if not scope["path"].startswith(FLEET):
            raise RefusedError(403, "this API is for the server's own processes")
        if _claimed_key(scope["headers"]) != key:
            raise RefusedError(503, "another node key than the roster's; take the newest pass")
        if claimed_length(scope["headers"]) > self._bound(holder):
            raise RefusedError(413, TOO_LARGE)

    def _bound(self, holder: str) -> int:
        return min(MAX_BODY, self._max_answer - self._sent[holder])

    async def _bounded(self, scope: Scope, receive: Receive, answer: "_Answer", holder: str) -> None:
        """Pass the body on while it keeps to its bounds."""
        body = _Body(receive, self._bound(holder), lambda size: self._arrived(holder, size))

        async def send(message: MutableMapping[str, Any]) -> None:
            if body.refusal is not None and not answer.status:
                return
            # Only what was accepted counts, and before its sender can send more.
            if message.get("status") == 200:
                self._sent[holder] += body.size
            await answer.send(message)

        try:
            await self._app(scope, body.receive, send)
        except Exception:
            # A body that was cut off may have become any error on its way through Flower's layers.
            if body.refusal is None:
                raise
        finally:
            self._in_flight[holder] -= body.size
        if body.refusal is not None:
            raise body.refusal

    def _arrived(self, holder: str, size: int) -> None:
        self._in_flight[holder] += size
        if self._in_flight[holder] > MAX_IN_FLIGHT_PER_HOLDER or self._in_flight.total() > MAX_IN_FLIGHT:
            raise RefusedError(503, "too much at once")

    def note(self) -> None:
        """Keep the counts where the run finds them, whole at any time."""
        if self._notes is not None:
            partial = self._notes.with_name(self._notes.name + ".partial")
            partial.write_text(json.dumps(self.refused + self.strangers), encoding="utf-8")
            # Not synced to the disk: that would let a holder keep the disk busy.
            partial.replace(self._notes)


class _Body:
    """A request's body on its way in: counted, bounded, and in time."""

    def __init__(self, receive: Receive, bound: int, arrived: Callable[[int], None]) -> None:
        self._receive, self._bound, self._arrived = receive, bound, arrived
        self._began = time.monotonic()
        self.size = 0
        self.refusal: RefusedError | None = None

    async def receive(self) -> MutableMapping[str, Any]:
        """The next piece."""
        try:
            return await self._next()
        except RefusedError as refusal:
            self.refusal = refusal
            raise

    async def _next(self) -> MutableMapping[str, Any]:
        left = self._began + BODY_SECONDS + self.size / BODY_PACE - time.monotonic()
        try:
            message = await asyncio.wait_for(self._receive(), max(0.0, left))
        except TimeoutError:
            raise RefusedError(408, "a body that arrives too slowly") from None
        size = len(message.get("body", b""))
        self.size += size
        self._arrived(size)
        if self.size > self._bound:
            raise RefusedError(413, TOO_LARGE)
        return message


class _Answer:
    """An answer on its way out; its status is 0 until it begins to leave."""

    def __init__(self, send: Send) -> None:
        self._send, self.status = send, 0

    async def send(self, message: MutableMapping[str, Any]) -> None:
        """Pass a piece of the answer on."""
        self.status = message.get("status", self.status)
        await self._send(message)


async def refuse(send: Send, refusal: RefusedError) -> None:
    """Answer with the reason, and close the connection: the rest of the body isn't read."""
    await reply(send, refusal.status, f"fedwalk: refused: {refusal.reason}\n".encode())


async def reply(send: Send, status: int, body: bytes) -> None:
    """Answer without Flower, and close the connection."""
    headers = [
        (b"content-type", b"text/plain"), (b"content-length", str(len(body)).encode()), (b"connection", b"close"),
    ]  # fmt: skip
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


def claimed_length(headers: Iterable[tuple[bytes, bytes]]) -> int:
    """The length that a body claims; 0 if it claims none, for what arrives is counted in any case."""
    claimed = dict(headers).get(b"content-length", b"0")
    if not (claimed.isdigit() and len(claimed) <= 18):
        raise RefusedError(400, "a length that is no number")
    return int(claimed)


def _claimed_key(headers: Iterable[tuple[bytes, bytes]]) -> bytes | None:
    """The node key by which Flower will check the sender; None if there isn't exactly one."""
    keys = [value for name, value in headers if name == b"flwr-public-key"]
    try:
        return b64decode(keys[0], validate=True) if len(keys) == 1 else None
    except ValueError:
        return None
