"""The calling side between holders: a connection to each peer, and a sender that delivers tokens over it.

A sender has at most one batch on its way. Batches are numbered 0, 1, 2 and so on; tokens that are queued meanwhile go
with the next batch. A call that fails on its way is repeated with the same batch, which the receiver recognises by its
number. A peer that has not answered within the plan's `patience` counts as unreachable for the rest of the attempt, and
its tokens are given up. So are the tokens that a peer refuses, which are marked in its receipt.

Each call shows the caller's session, which the server gave to this holder alone. A call that shows a copy of the
certificate without the session is refused, so a copied certificate can't be used to take over the batch numbers.
"""

import asyncio
from collections.abc import Callable
from contextlib import suppress

import grpc

from fedwalk.errors import ProtocolError
from fedwalk.federation.membership.keys import Credentials
from fedwalk.federation.wire.token_batches import MAX_RECEIPT_BYTES, Receipt, TokenBatch

SERVICE = "fedwalk.Peers"
KEY_FIELD, SESSION_FIELD = "fedwalk-key", "fedwalk-session"
METHODS = ("Deliver", "Probe", "Conclude", "Release")
BATCH_BYTES = 1 << 20
"""Approximate size of a batch: large enough to be worth a call, and a quarter of what receivers accept."""

RETRY_PAUSE = 0.1
"""Seconds before a failed call is repeated."""

_OPTIONS = [
    # gRPC's default backoff grows to two minutes, so a peer that is back could remain unused for long.
    ("grpc.initial_reconnect_backoff_ms", 100),
    ("grpc.min_reconnect_backoff_ms", 1_000),
    ("grpc.max_reconnect_backoff_ms", 1_000),
    # Without keepalive, a connection that the network cut silently would look open for minutes.
    ("grpc.keepalive_time_ms", 10_000),
    ("grpc.keepalive_timeout_ms", 5_000),
    ("grpc.max_receive_message_length", MAX_RECEIPT_BYTES),
    # Calls are repeated by `PeerClient.ask`, which counts their failures; gRPC must not repeat them on its own.
    ("grpc.enable_retries", 0),
    # Holders connect directly; gRPC would otherwise use a proxy that the environment names.
    ("grpc.enable_http_proxy", 0),
]
_FINAL = {
    grpc.StatusCode.PERMISSION_DENIED,
    grpc.StatusCode.INVALID_ARGUMENT,
    grpc.StatusCode.FAILED_PRECONDITION,
    grpc.StatusCode.UNIMPLEMENTED,
}
"""Status codes that will be the same next time. All others may come from a peer that is about to start."""


class UnreachableError(Exception):
    """The peer no longer answers, or refuses this holder's calls."""


class PeerClient:
    """Calls one other holder. Once it counts as `unreachable` it isn't called again, and `reason` says why."""

    def __init__(
        self, name: str, address: str, credentials: Credentials, key: str, session: str, patience: float
    ) -> None:
        self.unreachable, self.reason = False, ""
        # By method: the times of the first and of the last call in the current run of failures.
        self._failing: dict[str, tuple[float, float]] = {}
        self._patience, self._metadata = patience, ((KEY_FIELD, key), (SESSION_FIELD, session))
        tls = grpc.ssl_channel_credentials(credentials.authority, credentials.key, credentials.certificate)
        # Certificates carry the holder's name, not its address, which may change.
        options = [*_OPTIONS, ("grpc.ssl_target_name_override", f"{name}.holder.fedwalk")]
        self._channel = grpc.aio.secure_channel(address, tls, options)
        self._calls = {method: self._channel.unary_unary(f"/{SERVICE}/{method}") for method in METHODS}

    async def ask(self, method: str, data: bytes) -> bytes:
        """Call until the peer answers; raises UnreachableError once it counts as unreachable."""
        while not self.unreachable:
            answer = await self.call(method, data, self._patience)
            if answer is not None:
                return answer
            await asyncio.sleep(RETRY_PAUSE)
        raise UnreachableError

    async def call(self, method: str, data: bytes, timeout: float) -> bytes | None:
        """The answer to a single call, or None if it fails; after `patience` seconds of failures give the peer up."""
        clock = asyncio.get_running_loop().time
        began, last = self._failing.get(method, (clock(), clock()))
        # A failure that is older than `patience` says nothing about the peer now: no call was made since.
        if clock() - last > self._patience:
            began = clock()
        left = max(0.0, began + self._patience - clock())
        try:
            # wait_for_ready: wait for a peer whose port isn't open yet, instead of failing at once.
            answer: bytes = await self._calls[method](
                data, timeout=min(timeout, left), metadata=self._metadata, wait_for_ready=True
            )
        except grpc.aio.AioRpcError as error:
            self._failing[method] = began, clock()
            if error.code() in _FINAL or clock() >= began + self._patience:
                # The text comes from the peer, so its length is limited.
                self.give_up(str(error.details() or error.code().name)[:200])
            return None
        self._failing.pop(method, None)
        return answer

    async def notify(self, method: str, timeout: float) -> None:
        """Call once, and ignore a failure: the peer does without the call."""
        with suppress(grpc.aio.AioRpcError):
            await self._calls[method](b"", timeout=timeout, metadata=self._metadata)

    def give_up(self, reason: str) -> None:
        """Count the peer as unreachable for the rest of the attempt; the first reason is kept."""
        self.unreachable, self.reason = True, self.reason or reason

    async def close(self) -> None:
        """Close the connection."""
        await self._channel.close()


class PeerSender:
    """Delivers tokens to one peer, in batches.

    Parameters
    ----------
    peer, key
        The peer's client, and the attempt's key, which every batch carries.
    on_undeliverable
        Called with each batch that can't be delivered.
    on_delivered
        Called with each batch that was delivered, and its receipt.
    on_idle
        Called whenever no token is queued or on its way any more.
    """

    def __init__(
        self,
        peer: PeerClient,
        key: bytes,
        on_undeliverable: Callable[[TokenBatch], None],
        on_delivered: Callable[[TokenBatch, Receipt], None],
        on_idle: Callable[[], None],
    ) -> None:
        self.batches = self.sent_bytes = self.impostors = 0
        self.idle = True
        self._peer, self._key = peer, key
        self._on_undeliverable, self._on_delivered, self._on_idle = on_undeliverable, on_delivered, on_idle
        self._queue: list[TokenBatch] = []
        self._filled = asyncio.Event()
        self._number = 0

    def send(self, batch: TokenBatch) -> None:
        """Queue tokens for delivery."""
        self._queue.append(batch)
        self.idle = False
        self._filled.set()

    async def run(self) -> None:
        """Deliver what is queued until the task is cancelled."""
        while True:
            await self._filled.wait()
            queued, self._queue = TokenBatch.join(self._queue), []
            self._filled.clear()
            for batch in queued.pieces(BATCH_BYTES):
                await self._deliver(batch)
            # Tokens may have been queued during the calls.
            if not self._queue:
                self.idle = True
                self._on_idle()

    async def _deliver(self, batch: TokenBatch) -> None:
        data = batch.to_bytes(self._key, self._number)
        try:
            receipt = self._read_receipt(await self._peer.ask("Deliver", data), len(batch))
        except UnreachableError:
            # The peer isn't called again in this attempt, so the number of the batch no longer matters.
            self._on_undeliverable(batch)
        else:
            self._number += 1
            self.batches += 1
            self.sent_bytes += len(data)
            # Each receipt has the receiver's total so far.
            self.impostors = max(self.impostors, receipt.impostors)
            self._on_delivered(batch, receipt)

    def _read_receipt(self, data: bytes, tokens: int) -> Receipt:
        """Decode a receipt. A peer that sends a malformed one is given up: its walks are reissued without it."""
        try:
            return Receipt.from_bytes(data, tokens)
        except ProtocolError as error:
            self._peer.give_up(str(error))
            raise UnreachableError from error
