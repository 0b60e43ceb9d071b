"""The local ports of a server or holder: a request without the folder's secret is refused before it is read."""

from collections.abc import Callable

from fedwalk.federation.flower_guards.local_secret import HEADER, is_secret
from fedwalk.federation.flower_guards.request_limits import (
    FLEET,
    TOO_LARGE,
    App,
    Receive,
    RefusedError,
    Scope,
    Send,
    claimed_length,
    refuse,
)
from fedwalk.federation.wire.connection_limits import MAX_UNKNOWN, ConnectionLimits

START_RUN = "/v1/control/start-run"
MAX_LOCAL_BODY = 512 << 20
"""Bytes. A wide bound, because a process that has the secret belongs to the owner."""
OWNER = "the owner's own processes"
LOCAL_LIMITS = ConnectionLimits(max_unknown=MAX_UNKNOWN, max_unknown_per_address=MAX_UNKNOWN)
"""All users of a machine share one address, so a bound per address would let one of them keep the owner out."""


class LocalRequests:
    """ASGI middleware in front of everything at a local port."""

    def __init__(self, app: App, secret: str, on_start_run: Callable[[], None] = lambda: None) -> None:
        self._app, self._secret, self._on_start_run = app, secret, on_start_run

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on requests that carry the secret; refuse the others."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
        elif scope["type"] == "http":
            try:
                self._check(scope)
            except RefusedError as refusal:
                await refuse(send, refusal)
                return
            await self._app(scope, receive, send)

    def _check(self, scope: Scope) -> None:
        shown = [value for name, value in scope["headers"] if name == HEADER.encode()]
        if len(shown) != 1 or not is_secret(shown[0], self._secret):
            raise RefusedError(403, "this API is for its owner's own processes")
        # From here on connections without the secret can't displace this one.
        scope["state"]["known"](OWNER)
        # Flower's app serves all APIs at each port; holders must go through the public port, where they are checked.
        if scope["path"].startswith(FLEET):
            raise RefusedError(403, "holders use the public port")
        if claimed_length(scope["headers"]) > MAX_LOCAL_BODY:
            raise RefusedError(413, TOO_LARGE)
        if scope["path"] == START_RUN:
            self._on_start_run()
