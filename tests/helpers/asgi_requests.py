"""ASGI requests, and an app that answers them."""

import asyncio
import base64
import json
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives.serialization import load_ssh_private_key

from fedwalk.federation.membership.certificates import as_private, ssh_line
from fedwalk.federation.membership.keys import new_node_key
from fedwalk.federation.membership.members import Members, node_key_pem

PULL, CONTROL, START = "/v1/fleet/pull-messages", "/v1/control/list-runs", "/v1/control/start-run"


@cache
def node_key(holder: str) -> str:
    """A holder's node key, as the roster has it."""
    return ssh_line(as_private(load_ssh_private_key(new_node_key(), None)).public_key())


def shown_key(holder: str) -> bytes:
    """The key as a request's header has it."""
    return base64.b64encode(node_key_pem(node_key(holder)))


def members(path: Path, *names: str) -> Members:
    """Write a federation's file of members."""
    (path / "members.json").write_text(json.dumps({name: node_key(name) for name in names}))
    return Members(path / "members.json")


@dataclass
class Inner:
    """An app that reads a whole body, as Flower's do, and answers with a given status."""

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
    """One request to an ASGI app; `read` counts the parts of its body that the app has read."""

    path: str = PULL
    holder: str = "ann"
    pieces: tuple[bytes, ...] = (b"",)
    headers: tuple[tuple[bytes, bytes], ...] | None = None
    kind: str = "http"
    read: int = 0
    sent: list[dict[str, Any]] = field(default_factory=list)
    known: list[str] = field(default_factory=list)

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
    headers = ((b"flwr-public-key", shown_key(call.holder)),) if call.headers is None else call.headers
    state = {"holder": call.holder, "known": call.known.append}
    return {"type": call.kind, "path": call.path, "headers": list(headers), "state": state}


def ask(app: Any, path: str = PULL, **how: Any) -> Call:
    call = Call(path, **how)
    asyncio.run(app(scope_of(call), call.receive, call.send))
    return call


def length(claimed: int | str) -> tuple[tuple[bytes, bytes], ...]:
    return ((b"flwr-public-key", shown_key("ann")), (b"content-length", str(claimed).encode()))
