"""The calling side between holders: a connection to each peer, and a courier that takes tokens there.

A courier has at most one batch under way, numbered 0, 1, 2 and so on; what gathers meanwhile goes with the next. A call
that fails on its way is made again with the same batch, and the receiver knows it by its number. A peer that has not
answered within the plan's patience is gone for good: its tokens are given up. Tokens that a peer refuses are in its
receipt, and are given up too.

Each call shows the sender's session, which the server gave to this holder alone: with a copy of the certificate but
without the session a call is refused, so it can't take over the numbers of the batches.
"""

import asyncio
from collections.abc import Callable

import grpc

from fedwalk.errors import ProtocolError
from fedwalk.federation.identity import Credentials
from fedwalk.federation.tokens import LARGEST_RECEIPT, Receipt, TokenBatch

SERVICE = "fedwalk.Peers"
KEY_FIELD, SESSION_FIELD = "fedwalk-key", "fedwalk-session"
METHODS = ("Hand", "Probe", "Conclude")
PIECE = 1 << 20
"""Bytes of a batch, about: large enough to be worth a call, a quarter of what receivers accept."""

PAUSE = 0.1
"""Seconds before a failed call is made again."""

_OPTIONS = [
    ("grpc.initial_reconnect_backoff_ms", 100),
    ("grpc.min_reconnect_backoff_ms", 1_000),
    ("grpc.max_reconnect_backoff_ms", 1_000),
    ("grpc.keepalive_time_ms", 10_000),
    ("grpc.keepalive_timeout_ms", 5_000),
    ("grpc.max_receive_message_length", LARGEST_RECEIPT),
    ("grpc.enable_retries", 0),
    ("grpc.enable_http_proxy", 0),
]
_FINAL = {
    grpc.StatusCode.PERMISSION_DENIED,
    grpc.StatusCode.INVALID_ARGUMENT,
    grpc.StatusCode.FAILED_PRECONDITION,
    grpc.StatusCode.UNIMPLEMENTED,
}
"""Answers that won't be different next time; all others may come from a peer that is about to start."""


class UnreachableError(Exception):
    """The peer doesn't answer any more, or won't have us."""


class Peer:
    """Another holder, as far as calls to it go. `why` says why it is gone, or what failed last."""

    def __init__(
        self, name: str, address: str, credentials: Credentials, key: str, session: str, patience: float
    ) -> None:
        self.gone, self.why = False, ""
        self._failing: dict[str, tuple[float, float]] = {}  # since when, and when last
        self._patience, self._metadata = patience, ((KEY_FIELD, key), (SESSION_FIELD, session))
        tls = grpc.ssl_channel_credentials(credentials.authority, credentials.key, credentials.certificate)
        options = [*_OPTIONS, ("grpc.ssl_target_name_override", f"{name}.holder.fedwalk")]
        self._channel = grpc.aio.secure_channel(address, tls, options)
        self._calls = {method: self._channel.unary_unary(f"/{SERVICE}/{method}") for method in METHODS}

    async def ask(self, method: str, data: bytes) -> bytes:
        """The peer's answer; UnreachableError if there is none, however often the peer is called."""
        while not self.gone:
            answer = await self.call(method, data, self._patience)
            if answer is not None:
                return answer
            await asyncio.sleep(PAUSE)
        raise UnreachableError

    async def call(self, method: str, data: bytes, timeout: float) -> bytes | None:
        """The peer's answer to one call; None if there is none, and after `patience` of that the peer is gone."""
        clock = asyncio.get_running_loop().time
        began, last = self._failing.get(method, (clock(), clock()))
        if clock() - last > self._patience:  # nobody has tried for so long that it says nothing about now
            began = clock()
        left = max(0.0, began + self._patience - clock())
        try:
            answer: bytes = await self._calls[method](
                data, timeout=min(timeout, left), metadata=self._metadata, wait_for_ready=True
            )
        except grpc.aio.AioRpcError as error:
            self._failing[method] = began, clock()
            if error.code() in _FINAL or clock() >= began + self._patience:
                self.leave(str(error.details() or error.code().name)[:200])
            return None
        self._failing.pop(method, None)
        return answer

    def leave(self, why: str) -> None:
        """Don't call it any more."""
        self.gone, self.why = True, self.why or why

    async def close(self) -> None:
        """Hang up."""
        await self._channel.close()


class Courier:
    """Takes tokens to one peer, in batches.

    Parameters
    ----------
    peer, key
        Where to, and the key that every batch bears.
    give_up
        What is to be done with tokens that can't be delivered.
    delivered
        Called with each batch that was delivered, and its receipt.
    rested
        Called whenever nothing is under way any more.
    """

    def __init__(
        self,
        peer: Peer,
        key: bytes,
        give_up: Callable[[TokenBatch], None],
        delivered: Callable[[TokenBatch, Receipt], None],
        rested: Callable[[], None],
    ) -> None:
        self.batches = self.sent_bytes = self.impostors = 0
        self.idle = True
        self._peer, self._key, self._give_up, self._rested = peer, key, give_up, rested
        self._delivered = delivered
        self._waiting: list[TokenBatch] = []
        self._filled = asyncio.Event()
        self._number = 0

    def take(self, batch: TokenBatch) -> None:
        """Accept tokens for delivery."""
        self._waiting.append(batch)
        self.idle = False
        self._filled.set()

    async def run(self) -> None:
        """Deliver for ever."""
        while True:
            await self._filled.wait()
            load, self._waiting = TokenBatch.join(self._waiting), []
            self._filled.clear()
            for piece in load.pieces(PIECE):
                await self._deliver(piece)
            if not self._waiting:
                self.idle = True
                self._rested()

    async def _deliver(self, piece: TokenBatch) -> None:
        data = piece.to_bytes(self._key, self._number)
        try:
            receipt = self._read(await self._peer.ask("Hand", data), len(piece))
        except UnreachableError:
            self._give_up(piece)
        else:
            self._number += 1
            self.batches += 1
            self.sent_bytes += len(data)
            self.impostors = max(self.impostors, receipt.impostors)
            self._delivered(piece, receipt)

    def _read(self, data: bytes, tokens: int) -> Receipt:
        """The receipt. A peer whose receipts make no sense is called no more: its tokens are better asked for again."""
        try:
            return Receipt.from_bytes(data, tokens)
        except ProtocolError as error:
            self._peer.leave(str(error))
            raise UnreachableError from error
