"""The mill: one holder's walking, from tokens in to tokens out. Pure: no socket, no clock, no event loop.

A token that arrives is judged before anything is done with it. While it is here it walks as far as it stays on own
devices; then it is handed on, or its walk has ended here. One thread may grind while another one receives.
"""

import threading
from collections import Counter, deque
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from fedwalk.errors import ProtocolError
from fedwalk.federation.lists import OwnLists
from fedwalk.federation.parcels import WalksQuestion
from fedwalk.federation.tokens import BatchError, Receipt, TokenBatch
from fedwalk.federation.walk_losses import REFUSED, STRANDED, UNDELIVERED, GivenUp
from fedwalk.federation.walk_plan import read_plan
from fedwalk.kernels.batches import VERDICTS, judge, packed, spread
from fedwalk.kernels.random import WALK
from fedwalk.kernels.visits import Keys, Pool, Tokens, make_lanes, visits_with, walk_keys, words_at_most
from fedwalk.protocol.randomness import Randomness, SimulatedRandomness

MOST_ROOM = 1 << 24
"""Entries that there is room for in one go, however long the walks are: 64 MB."""
WORDS_PER_TOKEN, MOST_WORDS = 4, 1 << 17
"""Fresh words are drawn about as many as will be needed, and at most a megabyte at once."""


class Mill:
    """One holder's walks under way, finished and refused.

    `me` is the holder's index in question.holders. Raises ProtocolError if the question makes no sense. `refused`
    counts by sender and reason: tokens where a token is at fault, else batches. `given_up` has the walks that can't go
    on from here, each with its reason; `accepted` counts the tokens taken in from others.
    """

    def __init__(self, question: WalksQuestion, lists: OwnLists, me: int, randomness: Randomness) -> None:
        plan = read_plan(question, lists, me)
        self.refused: Counter[str] = Counter()
        self.hops = self.carried = self.finished = self.accepted = 0
        self.given_up = GivenUp()
        self.key, self._me, self._names, self._holders = plan.key, me, question.holders, len(question.holders)
        self._senders = set(question.owner[question.alive].tolist()) - {me}
        self._plan, self._randomness, self._lock = plan, randomness, threading.Lock()
        self._visits = visits_with(plan.predictor.extend, isinstance(randomness, SimulatedRandomness))
        self._need = words_at_most(question.burst, question.length)
        self._pool = Pool(np.empty(0, np.uint64), np.zeros(1, np.int64))
        self._queue: deque[TokenBatch] = deque()
        self._ended: list[tuple[NDArray[np.int64], NDArray[np.int32]]] = []
        # The entries that a token of each walk must exceed to be news; a walk that is here, or ends here, has them all.
        self._known = np.zeros(plan.count, np.int32)
        self._known[plan.walks] = question.length
        # Per sender: how many batches have been taken, and what was answered to the last one.
        self._taken = [0] * self._holders
        self._receipts = [Receipt.refusing(0)] * self._holders

    def begin(self) -> None:
        """Queue the walks that start here."""
        walks = self._plan.walks
        nothing = np.zeros(walks.size, np.int32)
        start = (walks % self._plan.mine.size).astype(np.int32)
        if walks.size:
            self._queue.append(TokenBatch(start, walks, nothing, np.empty(0, np.int32)))

    @property
    def passive(self) -> bool:
        """Whether nothing is queued."""
        return not self._queue

    def receive(self, sender: int, data: bytes) -> Receipt:
        """Check a peer's batch and queue its good tokens.

        A batch may come again, if the receipt was lost: it gets the same receipt. What isn't a batch of this
        attempt at all is counted and a ProtocolError.
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
        """A sender has one batch on the way, so only the last one can be repeated in good faith."""
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

    def grind(self, most: int = 65536) -> dict[int, TokenBatch]:
        """Let up to `most` queued tokens walk while they stay on own devices; returns those to hand on, by holder."""
        batch = self._next(min(most, MOST_ROOM // self._plan.job.length))
        rows = np.empty((len(batch), self._plan.job.length), np.int32)
        spread(batch.written, batch.entries, rows)
        tokens = Tokens(batch.device, batch.written, rows)
        hops, carried = self._walk(tokens, batch.walk)
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
            gone = np.flatnonzero(~done & ~lost)
            self._known[batch.walk[gone]] = tokens.written[gone]
        return dict(self._sorted(tokens, batch.walk, gone))

    def _next(self, most: int) -> TokenBatch:
        """Up to so many tokens from the front of the queue, as arrays that may be written to."""
        parts: list[TokenBatch] = []
        with self._lock:
            while self._queue and most > 0:
                part, rest = self._queue.popleft().split(most)
                parts.append(part)
                most -= len(part)
                if len(rest):
                    self._queue.appendleft(rest)
        return TokenBatch.join(parts)

    def _walk(self, tokens: Tokens, walks: NDArray[np.int64]) -> tuple[int, int]:
        """Hops and entries carried, of as many visits as the tokens can make here."""
        hops = carried = 0
        job, lanes = self._plan.job, make_lanes()
        while (pending := self._pending(tokens)).size:
            source = self._source(pending.size, walks)
            more = self._visits(self._plan.tables, job, source, tokens, pending, self._need, lanes)
            hops, carried = hops + more[0], carried + more[1]
        return hops, carried

    def _pending(self, tokens: Tokens) -> NDArray[np.int64]:
        """The tokens that stand at a device with a list here."""
        indptr = self._plan.job.indptr
        return np.flatnonzero(
            (tokens.written < self._plan.job.length) & (indptr[tokens.device] < indptr[tokens.device + 1])
        )

    def _source(self, tokens: int, walks: NDArray[np.int64]) -> Keys | Pool:
        if isinstance(self._randomness, SimulatedRandomness):
            return Keys(walk_keys(self._randomness.seed, walks))
        if self._pool.words.size - self._pool.used[0] < self._need:
            size = self._need + min(WORDS_PER_TOKEN * tokens, MOST_WORDS)
            self._pool = Pool(self._randomness.words(WALK, 0, np.arange(size)), np.zeros(1, np.int64))
        return self._pool

    def _sorted(
        self, tokens: Tokens, walks: NDArray[np.int64], gone: NDArray[np.int64]
    ) -> Iterator[tuple[int, TokenBatch]]:
        """The tokens that leave, by the holder of the device that each goes to."""
        owner = self._plan.owner[tokens.device[gone]]
        gone = gone[np.argsort(owner, kind="stable")]
        ends = np.cumsum(np.bincount(owner, minlength=self._holders))
        for holder in np.unique(owner).tolist():
            part = gone[ends[holder - 1] if holder else 0 : ends[holder]]
            written = tokens.written[part]
            entries = packed(tokens.rows, part, written)
            yield holder, TokenBatch(tokens.device[part], walks[part], written, entries)

    def undeliverable(self, holder: int, batch: TokenBatch) -> None:
        """The holder can't be reached: these walks are given up."""
        with self._lock:
            self.given_up.add(batch.walk, UNDELIVERED, holder)

    def delivered(self, holder: int, batch: TokenBatch, receipt: Receipt) -> None:
        """The holder has answered: walks whose tokens it refused are given up, for the server to ask for again."""
        if receipt.refused:
            chosen = receipt.verdicts > 0
            with self._lock:
                self.given_up.add(batch.walk[chosen], REFUSED + receipt.verdicts[chosen].astype(np.int32), holder)

    def sequences(self) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
        """The walks that ended here, ascending, and the entries of each."""
        length = self._plan.job.length
        walks = np.concatenate([np.empty(0, np.int64), *(walks for walks, _ in self._ended)])
        entries = np.concatenate([np.empty((0, length), np.int32), *(rows for _, rows in self._ended)])
        order = np.argsort(walks)
        return walks[order], entries[order]
