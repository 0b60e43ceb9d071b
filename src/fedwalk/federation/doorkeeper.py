"""What Flower's SuperLink leaves open, closed at its door.

All of a SuperLink's APIs are on one port. A holder needs the Fleet API; through the Control API, which asks nobody who
they are, anyone who can reach the port could start an app of their own. And no request has a bound on its size. So:
other APIs than the Fleet's are for this machine only, a body has a bound, and so has what one holder sends in one run.
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
LARGEST_LOCAL_BODY = 512 << 20
"""Of the server's own processes, which the operator trusts."""


class TooLargeError(Exception):
    """A body went beyond its bound while it was read."""


class Doorkeeper:
    """ASGI middleware, outermost: looks at a request before anything else does."""

    def __init__(self, app: App, largest_answer: int, notes: Path | None = None) -> None:
        self._app, self._largest_answer, self._notes = app, largest_answer, notes
        self._sent: dict[bytes, int] = {}
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
        await self._bounded(scope, receive, send, sender, bound)

    async def _bounded(self, scope: Scope, receive: Receive, send: Send, sender: bytes, bound: int) -> None:
        """Pass the body on up to its bound; a length that is beyond it is refused before a byte is read."""
        claimed = dict(scope["headers"]).get(b"content-length", b"0")
        if not claimed.isdigit() or len(claimed) > 18 or int(claimed) > bound:
            await self._refuse(send, 413, "larger than this federation allows")
            return
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
        """Keep the count where the run finds it."""
        self.refused = refused
        if self._notes is not None:
            self._notes.write_text(json.dumps(refused), encoding="utf-8")


def _sender(headers: Iterable[tuple[bytes, bytes]]) -> bytes | None:
    """The key that Flower checks the sender by, as bytes: base64 has several spellings. None if it is ambiguous."""
    keys = [value for name, value in headers if name == b"flwr-public-key"]
    if len(keys) > 1:
        return None
    try:
        return b64decode(keys[0], validate=True) if keys else b""
    except ValueError:
        return None
