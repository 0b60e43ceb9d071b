"""What Flower's SuperLink leaves open, closed at its door.

All of a SuperLink's APIs are on one port. A holder needs the Fleet API; through the Control API, which asks nobody who
they are, anyone who can reach the port could start an app of their own. And no request has a bound on its size, though
Flower asks who sends it only when it has read all of it. So: other APIs than the Fleet's are for this machine only; a
body has a bound, and so have all bodies that are on their way at one time, and what one holder sends in one run.
"""

import json
from base64 import b64decode
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from pathlib import Path
from typing import Any

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

THIS_MACHINE = ("127.0.0.1", "::1")
FLEET, START_RUN = "/v1/fleet/", "/v1/control/start-run"
LARGEST_BODY = 16 << 20
"""Flower cuts an array into chunks of 5 MB and sends each by itself."""
MOST_IN_FLIGHT = 256 << 20
"""Bytes of all requests to the Fleet API that are being read or answered."""
LARGEST_LOCAL_BODY = 512 << 20
"""Of the server's own processes, which the operator trusts."""


class TooLargeError(Exception):
    """A body went beyond its bound while it was read."""


class Doorkeeper:
    """ASGI middleware, outermost: looks at a request before anything else does."""

    def __init__(self, app: App, largest_answer: int, notes: Path | None = None) -> None:
        self._app, self._largest_answer, self._notes = app, largest_answer, notes
        self._sent: dict[bytes, int] = {}
        self._in_flight = 0
        self.refused: Counter[str] = Counter()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let the request pass, or answer it here."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":
            await send({"type": "websocket.close"})
            return
        local = scope["client"] is not None and scope["client"][0] in THIS_MACHINE
        fleet = scope["path"].startswith(FLEET)
        if not (fleet or local):
            await self._refuse(send, 403, "this API is for the server's own machine")
            return
        if scope["path"] == START_RUN:
            self._sent.clear()
            self._note(Counter())
        sender = _sender(scope["headers"]) if fleet else b""
        if sender is None:
            await self._refuse(send, 400, "a request has one sender")
            return
        bound = min(LARGEST_BODY, self._largest_answer - self._sent.get(sender, 0)) if fleet else LARGEST_LOCAL_BODY
        length = _length(scope["headers"], bound)
        if length is None or length > bound:
            await self._refuse(send, 413, "larger than this federation allows")
            return
        await self._reserved(scope, receive, send, sender, bound, length if fleet else 0)

    async def _reserved(
        self, scope: Scope, receive: Receive, send: Send, sender: bytes, bound: int, length: int
    ) -> None:
        """Keep room for the whole body from the start; where there is none, Flower's clients try again later."""
        if self._in_flight + length > MOST_IN_FLIGHT:
            await self._refuse(send, 503, "too much at once")
            return
        self._in_flight += length
        try:
            await self._bounded(scope, receive, send, sender, bound)
        finally:
            self._in_flight -= length

    async def _bounded(self, scope: Scope, receive: Receive, send: Send, sender: bytes, bound: int) -> None:
        """Pass the body on up to its bound."""
        read, status = 0, 0

        async def counted() -> MutableMapping[str, Any]:
            nonlocal read
            message = await receive()
            read += len(message.get("body", b""))
            if read > bound:
                raise TooLargeError
            return message

        async def watched(message: MutableMapping[str, Any]) -> None:
            nonlocal status
            if not status and read > bound:
                return
            # Only what was accepted counts, so that nobody can use up another's allowance; and it counts at once.
            if not status and message.get("status") == 200:
                self._sent[sender] = self._sent.get(sender, 0) + read
            status = message.get("status", status)
            await send(message)

        try:
            await self._app(scope, counted, watched)
        except Exception:
            # A body that was cut off may have become any error on its way through Flower's layers.
            if read <= bound:
                raise
        if read > bound and not status:
            await self._refuse(send, 413, "larger than this federation allows")

    async def _refuse(self, send: Send, status: int, reason: str) -> None:
        """Answer here, and count it."""
        self._note(self.refused + Counter([reason]))
        body = f"fedwalk: refused: {reason}\n".encode()
        headers = [(b"content-type", b"text/plain"), (b"content-length", str(len(body)).encode())]
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": body})

    def _note(self, refused: Counter[str]) -> None:
        """Keep the count where the run finds it, whole at any time."""
        self.refused = refused
        if self._notes is not None:
            partial = self._notes.with_name(self._notes.name + ".partial")
            partial.write_text(json.dumps(refused), encoding="utf-8")
            # Not kept safe from a power cut: that would let strangers keep the disk busy.
            partial.replace(self._notes)


def _length(headers: Iterable[tuple[bytes, bytes]], bound: int) -> int | None:
    """The length that a body claims; of one in chunks, all that it may have. None if the claim is no number."""
    found = dict(headers)
    claimed = found.get(b"content-length")
    if claimed is not None and not (claimed.isdigit() and len(claimed) <= 18):
        return None
    return max(bound, 0) if claimed is None or b"transfer-encoding" in found else int(claimed)


def _sender(headers: Iterable[tuple[bytes, bytes]]) -> bytes | None:
    """The key that Flower checks the sender by, as bytes: base64 has several spellings. None if it is ambiguous."""
    keys = [value for name, value in headers if name == b"flwr-public-key"]
    if len(keys) > 1:
        return None
    try:
        return b64decode(keys[0], validate=True) if keys else b""
    except ValueError:
        return None
