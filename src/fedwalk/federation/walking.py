"""The walk phase as the server sees it: it says which walks to start, then waits for sequences (Algorithm 1).

It sees no hop. What it learns is which walks came to an end; the rest were lost with a holder, or on the way to one,
and are asked for again from those who are left.
"""

import hashlib
import json
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fedwalk.errors import ProtocolError
from fedwalk.federation.account import WalkCount
from fedwalk.federation.connection_limits import NOT_AUTHENTICATED, TOO_MANY_PER_PARTY, TOO_MANY_UNKNOWN
from fedwalk.federation.coordinator import Coordinator
from fedwalk.federation.parcels import WalksAnswer, WalksQuestion
from fedwalk.kernels.threads import Report
from fedwalk.protocol.messages import Sequence, Start, Token, TreeTable
from fedwalk.protocol.walk import Walks
from fedwalk.settings import Settings

ATTEMPTS = 4
"""How often a lost walk is asked for, all in all."""
MOST = 2**53
"""Of anything that a holder counts: as far as JSON's readers can count."""
REASONS = {
    "malformed", "too large", "other run", "unknown sender", "sent twice", "out of order", "not my device",
    "unknown walk", "wrong length", "id out of range", "replayed", "after the end",
    "too slow", NOT_AUTHENTICATED, TOO_MANY_UNKNOWN, TOO_MANY_PER_PARTY,
}  # fmt: skip
"""For which a holder refuses what another one sends."""


@dataclass(slots=True)
class WalkPhase:
    """Collects sequences over attempts. Vertices are numbered by their places among `participants`."""

    coordinator: Coordinator
    settings: Settings
    participants: NDArray[np.int32]
    bins: NDArray[np.int32]
    vectors: NDArray[np.float32]
    table: TreeTable

    def run(self, report: Report) -> Walks:
        """Walk until every walk is finished, or can't be."""
        count = self.participants.size * self.settings.walks
        sequences = np.full((count, self.settings.walk_length), -1, np.int32)
        account, hops = self.coordinator.account, 0
        # A server that comes back counts this phase anew.
        account.walks = WalkCount(asked=count)
        for attempt in range(ATTEMPTS):
            before = len(account.lost), account.walks.undelivered
            questions = self._questions(attempt, np.flatnonzero(sequences[:, 0] < 0))
            if not questions:
                break
            hops += self._attempt(questions, sequences, report)
            missing = int((sequences[:, 0] < 0).sum())
            account.walks.finished, account.walks.lost = count - missing, missing
            # With nobody gone and no token given up, what is missing came to a device without a living neighbour.
            if not missing or (len(account.lost), account.walks.undelivered) == before:
                break
        self._tally(hops)
        return Walks(sequences[sequences[:, 0] >= 0], hops)

    def _questions(self, attempt: int, missing: NDArray[np.int64]) -> dict[str, WalksQuestion]:
        """For each living holder its walks among the missing ones; none at all if nobody has any."""
        coordinator, n = self.coordinator, self.participants.size
        holders = [holder.name for holder in coordinator.roster.holders]
        owner = coordinator.roster.owner()[self.participants].astype(np.int32)
        living = coordinator.account.living()
        alive = np.isin(owner, [holders.index(name) for name in living])
        walking = [name for name in living if (owner == holders.index(name)).any()]
        starts = {name: missing[owner[missing % n] == holders.index(name)] for name in walking}
        if not any(walks.size for walks in starts.values()):
            return {}
        if attempt:
            coordinator.account.walks.reissued += sum(walks.size for walks in starts.values())
        return {name: self._question(attempt, holders, owner, alive, walks) for name, walks in starts.items()}

    def _question(
        self, attempt: int, holders: list[str], owner: NDArray[np.int32], alive: NDArray[np.bool_],
        walks: NDArray[np.int64],
    ) -> WalksQuestion:  # fmt: skip
        run, table, settings = self.coordinator.account.run, self.table, self.settings
        key = hashlib.sha256(f"{run} walks {attempt}".encode()).hexdigest()[:32]
        encoder = {f"encoder_{name}": array for name, array in table.encoder.arrays._asdict().items()}
        return WalksQuestion(
            run=run, key=key, predictor=table.predictor, burst=table.burst, length=settings.walk_length,
            count=self.participants.size * settings.walks, epsilon=float(settings.epsilon),
            predict=float(settings.predict), patience=self.coordinator.account.patience, holders=holders,
            addresses=[holder.address for holder in self.coordinator.roster.holders], participants=self.participants,
            owner=owner, alive=alive, walks=walks.astype(np.int64), bins=self.bins, vectors=self.vectors,
            joins=table.tree.linkage[:, :2].astype(np.int32), **encoder,
        )  # fmt: skip

    def _attempt(self, questions: dict[str, WalksQuestion], sequences: NDArray[np.int32], report: Report) -> int:
        """Ask, and put every sequence that came to its place; returns the hops. What is reported are walks."""
        account, count = self.coordinator.account, len(sequences)
        account.walks.started += sum(question.walks.size for question in questions.values())
        ended = count - int((sequences[:, 0] < 0).sum())
        report(ended, count)

        def check(holder: str, answer: WalksAnswer) -> None:
            nonlocal ended
            self._check(holder, answer, sequences.shape)
            ended = min(count, ended + answer.walks.size)
            report(ended, count)

        answers = self.coordinator.ask("walks", questions, WalksAnswer, check, lambda done, total: None)
        for answer in answers.values():
            fresh = sequences[answer.walks, 0] < 0
            sequences[answer.walks[fresh]] = answer.entries[fresh]
            account.walks.repeated += int(np.count_nonzero(~fresh))
            account.walks.stranded += answer.stranded
            account.walks.undelivered += answer.undelivered
            account.wire.batches += answer.batches
            account.wire.bytes += answer.sent_bytes
            account.refused_by_holders.update(json.loads(answer.refused))
            account.unreachable.update(questions.keys() & set(answer.unreachable))
        account.wire.seconds += max((answer.seconds for answer in answers.values()), default=0.0)
        self.coordinator.transcript.tally(Token, 0, 4 * sum(answer.carried for answer in answers.values()))
        return sum(answer.hops for answer in answers.values())

    def _check(self, holder: str, answer: WalksAnswer, shape: tuple[int, int]) -> None:
        """Refuse sequences that no honest holder sends."""
        count, length = shape
        walks, entries = answer.walks, answer.entries
        if entries.shape != (walks.size, length):
            raise ProtocolError(f"{holder}: {walks.size} walks must have {length} entries each.")
        if walks.size and (walks.min() < 0 or walks.max() >= count or np.unique(walks).size != walks.size):
            raise ProtocolError(f"{holder}: finished a walk twice, or one outside 0 … {count - 1}.")
        if entries.size and (entries.min() < 0 or entries.max() >= self.participants.size):
            raise ProtocolError(f"{holder}: a sequence names a vertex outside 0 … {self.participants.size - 1}.")
        # A peer that sends a walk again and again can make these as many as the walk has entries.
        per_walk = (answer.hops, answer.stranded, answer.undelivered, answer.batches)
        if min(*per_walk, answer.carried, answer.sent_bytes) < 0 or max(per_walk) > count * length:
            raise ProtocolError(f"{holder}: counts that can't be.")
        if answer.carried > answer.hops * length or answer.sent_bytes > MOST:
            raise ProtocolError(f"{holder}: counts that can't be.")
        if not 0.0 <= answer.seconds <= MOST:
            raise ProtocolError(f"{holder}: says that it took {answer.seconds:g} seconds.")
        check_refusals(holder, answer.refused)

    def _tally(self, hops: int) -> None:
        transcript, walks, n = self.coordinator.transcript, self.coordinator.account.walks, self.participants.size
        transcript.tally(TreeTable, n, n * self.table.nbytes)
        transcript.tally(Start, walks.started, walks.started * Start.size())
        transcript.tally(Token, hops, hops * Token.size(0))
        transcript.tally(Sequence, walks.finished, walks.finished * Sequence.size(self.settings.walk_length))


def check_refusals(holder: str, text: str) -> None:
    """A holder's count of refusals, which is to be a small JSON object: how often each of our reasons."""
    try:
        refused = json.loads(text) if len(text) < 10_000 else None
    except (ValueError, RecursionError):
        refused = None
    if not isinstance(refused, dict) or not refused.keys() <= REASONS:
        raise ProtocolError(f"{holder}: its count of refusals can't be read.")
    if not all(type(n) is int and 0 <= n <= MOST for n in refused.values()):
        raise ProtocolError(f"{holder}: its count of refusals isn't one of counts.")
