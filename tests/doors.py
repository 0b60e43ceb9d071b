"""Requests at the doorkeeper's door, as an ASGI server would bring them, and an app behind it."""

import asyncio
import base64
from dataclasses import dataclass, field
from typing import Any

PULL, CONTROL, START = "/v1/fleet/pull-messages", "/v1/control/list-runs", "/v1/control/start-run"
HERE, THERE = ("127.0.0.1", 4000), ("192.0.2.9", 4000)
ANN, BOB = base64.b64encode(b"key of ann "), base64.b64encode(b"key of bob ")


@dataclass
class Inner:
    """An app that reads all of a body, as Flower's do, and says with what status it liked it."""

    status: int = 200
    bodies: list[bytes] = field(default_factory=list)
    scopes: list[str] = field(default_factory=list)

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        self.scopes.append(scope["type"])
        if scope["type"] != "http":
            return
        body, more = b"", True
        while more:
            message = await receive()
            body, more = body + message["body"], message.get("more_body", False)
        self.bodies.append(body)
        await send({"type": "http.response.start", "status": self.status, "headers": []})
        await send({"type": "http.response.body", "body": b"done"})


@dataclass
class Call:
    """A request, given to an ASGI app by hand; `read` is how many pieces of its body were taken."""

    path: str = PULL
    client: tuple[str, int] | None = THERE
    pieces: tuple[bytes, ...] = (b"",)
    headers: tuple[tuple[bytes, bytes], ...] = ((b"flwr-public-key", ANN),)
    kind: str = "http"
    read: int = 0
    sent: list[dict[str, Any]] = field(default_factory=list)

    async def receive(self) -> dict[str, Any]:
        piece, self.read = self.pieces[self.read], self.read + 1
        return {"type": "http.request", "body": piece, "more_body": self.read < len(self.pieces)}

    async def send(self, message: Any) -> None:
        self.sent.append(dict(message))

    @property
    def status(self) -> int:
        return int(self.sent[0]["status"])

    @property
    def reason(self) -> str:
        return bytes(self.sent[1]["body"]).decode()


def scope_of(call: Call) -> dict[str, Any]:
    return {"type": call.kind, "path": call.path, "client": call.client, "headers": list(call.headers)}


def ask(app: Any, path: str = PULL, **how: Any) -> Call:
    call = Call(path, **how)
    asyncio.run(app(scope_of(call), call.receive, call.send))
    return call


def length(claimed: int | str) -> tuple[tuple[bytes, bytes], ...]:
    return ((b"flwr-public-key", ANN), (b"content-length", str(claimed).encode()))
