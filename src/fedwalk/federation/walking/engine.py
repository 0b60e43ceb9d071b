"""The walk engine: moves tokens over one holder's own devices. It has no socket, no clock and no event loop.

A token that arrives from a peer is checked before anything else. It then walks as long as it stays on this holder's
devices. When it leaves them it is returned, to be sent to the next holder; otherwise its walk ends here. One thread may
advance tokens while another one receives.
"""

import threading
from collections import Counter, deque
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from fedwalk.errors import ProtocolError
from fedwalk.federation.holder.neighbour_lists import OwnNeighbours
from fedwalk.federation.walking.losses import REFUSED, STRANDED, UNDELIVERED, GivenUp
from fedwalk.federation.walking.plan import read_plan
from fedwalk.federation.wire.questions import WalksQuestion
from fedwalk.federation.wire.token_batches import BatchError, Receipt, TokenBatch
from fedwalk.kernels.random import WALK
from fedwalk.kernels.token_batches import VERDICTS, judge, packed, spread
from fedwalk.kernels.visits import Keys, Pool, Tokens, make_lanes, visits_with, walk_keys, words_at_most
from fedwalk.privacy.randomness import Randomness, SimulatedRandomness

MAX_ROOM = 1 << 24
"""Entries for which space is allocated at once (64 MB), however long the walks are."""
WORDS_PER_TOKEN, MAX_WORDS = 4, 1 << 17
"""How many random words are drawn at once: about as many as the tokens will use, and at most a megabyte."""


class WalkEngine:
    """The tokens at one holder in one attempt, and the walks that have ended there.

    Parameters
    ----------
    question, me
        The plan, and this holder's index in its `holders`. Raises ProtocolError if the plan is invalid.
    neighbours
        This holder's neighbour lists among the participants.
    randomness
        Where the random words come from; with a seed the walks are those of a simulation, bit for bit.

    `refused` counts refusals by sender and reason: tokens, or whole batches if a batch is at fault. `given_up` has the
    walks that can't continue from here, each with its reason. `accepted` counts the tokens taken in from peers.
    """

    def __init__(self, question: WalksQuestion, neighbours: OwnNeighbours, me: int, randomness: Randomness) -> None:
        plan = read_plan(question, neighbours, me)
        self.refused: Counter[str] = Counter()
        self.hops = self.carried = self.finished = self.accepted = 0
        self.given_up = GivenUp()
        self.key, self._me, self._names, self._holders = plan.key, me, question.holders, len(question.holders)
        # A holder without a living device never has a token to send.
        self._senders = set(question.owner[question.alive].tolist()) - {me}
        self._plan, self._randomness, self._lock = plan, randomness, threading.Lock()
        self._visits = visits_with(plan.predictor.extend, isinstance(randomness, SimulatedRandomness))
        self._need = words_at_most(question.burst, question.length)
        self._pool = Pool(np.empty(0, np.uint64), np.zeros(1, np.int64))
        self._queue: deque[TokenBatch] = deque()
        self._ended: list[tuple[NDArray[np.int64], NDArray[np.int32]]] = []
        # Against replays: a token is accepted only with more entries than its walk had when it last left this holder.
        # While a walk is here, or once it has ended here, that is its whole length, so no token of it is accepted.
        self._known = np.zeros(plan.count, np.int32)
        self._known[plan.walks] = question.length
        # By sender: how many batches were taken in, and the receipt of the last one.
        self._taken = [0] * self._holders
        self._receipts = [Receipt.refusing(0)] * self._holders

    def begin(self) -> None:
        """Queue the walks that start here."""
        walks = self._plan.walks
        no_entries = np.zeros(walks.size, np.int32)
        # The server numbers walks so that walk w starts at place w mod n.
        start = (walks % self._plan.mine.size).astype(np.int32)
        if walks.size:
            self._queue.append(TokenBatch(start, walks, no_entries, np.empty(0, np.int32)))

    @property
    def passive(self) -> bool:
        """Whether no token is queued."""
        return not self._queue

    def receive(self, sender: int, data: bytes) -> Receipt:
        """Check a peer's batch and queue the tokens that are accepted.

        If a receipt was lost, the peer sends the same batch again, and gets the same receipt. Data that isn't a batch
        of this attempt is counted, and raises ProtocolError.
        """
        with self._lock:
            if sender not in self._senders:
                self._refuse(sender, "unknown sender")
                raise ProtocolError(f"batch: holder number {sender} isn't one of the others in this attempt.")
            try:
                number, batch = TokenBatch.from_bytes(data, self.key)
            except BatchError as error:
                self._refuse(sender, error.reason)
                raise
            if number != self._taken[sender]:
                return self._not_next(sender, number, batch)
            self._taken[sender] += 1
            self._receipts[sender] = self._admit(sender, batch)
            return self._receipts[sender]

    def _refuse(self, sender: int, reason: str, times: int = 1) -> None:
        named = 0 <= sender < self._holders
        self.refused[f"{self._names[sender]}: {reason}" if named else reason] += times

    def _not_next(self, sender: int, number: int, batch: TokenBatch) -> Receipt:
        """Answer a batch whose number isn't the next. An honest sender repeats only its last batch."""
        self._refuse(sender, "sent twice" if number < self._taken[sender] else "out of order")
        return self._receipts[sender] if number == self._taken[sender] - 1 else Receipt.refusing(len(batch))

    def _admit(self, sender: int, batch: TokenBatch) -> Receipt:
        verdicts = judge(
            batch.device, batch.walk, batch.written, batch.entries,
            self._plan.mine, self._known, self._plan.job.length,
        )  # fmt: skip
        counts = np.bincount(verdicts, minlength=len(VERDICTS)).tolist()
        for reason, n in zip(VERDICTS[1:], counts[1:], strict=True):
            if n:
                self._refuse(sender, reason, n)
        self.accepted += counts[0]
        if counts[0]:
            self._queue.append(batch if counts[0] == len(batch) else batch.where(verdicts == 0))
        return Receipt(verdicts.astype(np.uint8))

    def advance(self, max_tokens: int = 65536) -> dict[int, TokenBatch]:
        """Let up to `max_tokens` queued tokens walk on own devices; returns those that leave, by next holder."""
        # A walk has at most 2¹⁸ entries (`plan.MAX_ENTRIES`), so the limit is never below 64 tokens.
        batch = self._next(min(max_tokens, MAX_ROOM // self._plan.job.length))
        rows = np.empty((len(batch), self._plan.job.length), np.int32)
        spread(batch.written, batch.entries, rows)
        tokens = Tokens(batch.device, batch.written, rows)
        # Without the lock, so that peers can deliver meanwhile: these tokens are no longer in the queue.
        hops, carried = self._walk(tokens, batch.walk)
        # A token stops when its walk is complete, at a device of another holder, or at an own device without a living
        # neighbour, where it is stranded.
        done = tokens.written == self._plan.job.length
        lost = ~done & self._plan.mine[tokens.device]
        with self._lock:
            self.hops += hops
            self.carried += carried
            self.finished += int(np.count_nonzero(done))
            if lost.any():
                self.given_up.add(batch.walk[lost], STRANDED, self._me)
            if done.any():
                self._ended.append((batch.walk[done], rows[done]))
            leaving = np.flatnonzero(~done & ~lost)
            # Set before the tokens are sent, because they may come back at any time after that.
            self._known[batch.walk[leaving]] = tokens.written[leaving]
        return dict(self._by_holder(tokens, batch.walk, leaving))

    def _next(self, limit: int) -> TokenBatch:
        """Remove up to `limit` tokens from the front of the queue; the arrays returned may be written to."""
        parts: list[TokenBatch] = []
        with self._lock:
            while self._queue and limit > 0:
                part, rest = self._queue.popleft().split(limit)
                parts.append(part)
                limit -= len(part)
                if len(rest):
                    self._queue.appendleft(rest)
        return TokenBatch.join(parts)

    def _walk(self, tokens: Tokens, walks: NDArray[np.int64]) -> tuple[int, int]:
        """Make all visits that the tokens can make here; returns the hops, and the entries that were carried."""
        hops = carried = 0
        job, lanes = self._plan.job, make_lanes()
        # The kernel also stops when the pool may run short of words; the next round continues with a new pool.
        while (pending := self._pending(tokens)).size:
            source = self._source(pending.size, walks)
            more = self._visits(self._plan.tables, job, source, tokens, pending, self._need, lanes)
            hops, carried = hops + more[0], carried + more[1]
        return hops, carried

    def _pending(self, tokens: Tokens) -> NDArray[np.int64]:
        """The tokens whose walk isn't complete and that are at an own device with a living neighbour."""
        indptr = self._plan.job.indptr
        return np.flatnonzero(
            (tokens.written < self._plan.job.length) & (indptr[tokens.device] < indptr[tokens.device + 1])
        )

    def _source(self, tokens: int, walks: NDArray[np.int64]) -> Keys | Pool:
        """The random words for the next visits: from seed and walk in a simulation, else a pool of fresh ones."""
        if isinstance(self._randomness, SimulatedRandomness):
            # Each token has a key, pending or not: the kernel indexes the keys by token.
            return Keys(walk_keys(self._randomness.seed, walks))
        if self._pool.words.size - self._pool.used[0] < self._need:
            size = self._need + min(WORDS_PER_TOKEN * tokens, MAX_WORDS)
            self._pool = Pool(self._randomness.words(WALK, 0, np.arange(size)), np.zeros(1, np.int64))
        return self._pool

    def _by_holder(
        self, tokens: Tokens, walks: NDArray[np.int64], leaving: NDArray[np.int64]
    ) -> Iterator[tuple[int, TokenBatch]]:
        """The tokens that leave, grouped by the holder of the device that each goes to."""
        owner = self._plan.owner[tokens.device[leaving]]
        leaving = leaving[np.argsort(owner, kind="stable")]
        # Sorted by holder, each holder's tokens are one slice, and ends[h] is where the slice of holder h ends.
        ends = np.cumsum(np.bincount(owner, minlength=self._holders))
        for holder in np.unique(owner).tolist():
            part = leaving[ends[holder - 1] if holder else 0 : ends[holder]]
            written = tokens.written[part]
            entries = packed(tokens.rows, part, written)
            yield holder, TokenBatch(tokens.device[part], walks[part], written, entries)

    def undeliverable(self, holder: int, batch: TokenBatch) -> None:
        """Give these walks up, because the holder can't be reached."""
        with self._lock:
            self.given_up.add(batch.walk, UNDELIVERED, holder)

    def delivered(self, holder: int, batch: TokenBatch, receipt: Receipt) -> None:
        """Give up the walks whose tokens the holder has refused; the server may reissue them."""
        if receipt.refused:
            chosen = receipt.verdicts > 0
            with self._lock:
                self.given_up.add(batch.walk[chosen], REFUSED + receipt.verdicts[chosen].astype(np.int32), holder)

    def sequences(self) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
        """The walks that ended here, in ascending order, and their entries."""
        length = self._plan.job.length
        walks = np.concatenate([np.empty(0, np.int64), *(walks for walks, _ in self._ended)])
        entries = np.concatenate([np.empty((0, length), np.int32), *(rows for _, rows in self._ended)])
        # Walks end in an order that depends on timing; the answer must not.
        order = np.argsort(walks)
        return walks[order], entries[order]
