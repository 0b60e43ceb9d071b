"""The walk phase as the server runs it (Algorithm 1): ask each holder to walk, then ask again for walks that were lost.

The server sees no hop. What comes back are finished sequences, and for walks that were given up the reason. Walks that
are missing were lost with a holder, on the way to one, or at one that refused them; they are asked for again from the
holders that are left. Every walk ends as finished, or as lost for a stated reason.
"""

import hashlib
import hmac
import json
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fedwalk.errors import ProtocolError
from fedwalk.federation.account import WalkCount
from fedwalk.federation.checked_json import parse_json
from fedwalk.federation.connection_limits import NOT_AUTHENTICATED, TOO_MANY_PER_PARTY, TOO_MANY_UNKNOWN
from fedwalk.federation.coordinator import Coordinator
from fedwalk.federation.naming import is_name
from fedwalk.federation.parcels import WalksAnswer, WalksQuestion
from fedwalk.federation.walk_losses import MAX_REASON, REFUSED, STRANDED, UNDELIVERED, LostWalks
from fedwalk.federation.walk_plan import session_digest
from fedwalk.kernels.threads import Report
from fedwalk.protocol.messages import Sequence, Start, Token, TreeTable
from fedwalk.protocol.walk import Walks
from fedwalk.settings import Settings

ATTEMPTS = 4
"""How often a lost walk is asked for, all in all."""
MOST = 2**53
"""Of anything that a holder counts: as far as JSON's readers can count."""
REASONS = {
    "malformed", "too large", "too slow", "other run", "another session", "unknown sender", "sent twice",
    "out of order", "not my device", "unknown walk", "wrong length", "id out of range", "replayed", "after the end",
    NOT_AUTHENTICATED, TOO_MANY_UNKNOWN, TOO_MANY_PER_PARTY,
}  # fmt: skip
"""For which a holder refuses what another one sends."""
MAX_REFUSALS = 1 << 20
"""Bytes of a holder's count of refusals: by sender and reason, for ten thousand holders."""


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
        lost = LostWalks(count, [holder.name for holder in self.coordinator.roster.holders])
        # A server that comes back counts this phase anew.
        account.walks = WalkCount(asked=count)
        for attempt in range(ATTEMPTS):
            questions = self._questions(attempt, np.flatnonzero(sequences[:, 0] < 0))
            if not questions:
                break
            more_hops, ended = self._attempt(questions, sequences, lost, report)
            hops += more_hops
            missing = np.flatnonzero(sequences[:, 0] < 0)
            account.walks.finished, account.walks.lost = count - missing.size, int(missing.size)
            account.walks.reasons = lost.reasons(missing)
            # Asking again is pointless for walks that came to a device without a living neighbour.
            if not missing.size or (not ended and lost.all_stranded(missing)):
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
        sessions = {name: self._session(attempt, name) for name in holders}
        return {name: self._question(attempt, sessions, name, owner, alive, walks) for name, walks in starts.items()}

    def _session(self, attempt: int, holder: str) -> str:
        """A holder's session in an attempt: the same if a server that comes back asks again, known to no one else."""
        secret = bytes.fromhex(self.coordinator.account.secret)
        return hmac.digest(secret, f"{attempt} {holder}".encode(), "sha256").hex()[:32]

    def _question(
        self, attempt: int, sessions: dict[str, str], holder: str, owner: NDArray[np.int32], alive: NDArray[np.bool_],
        walks: NDArray[np.int64],
    ) -> WalksQuestion:  # fmt: skip
        run, table, settings = self.coordinator.account.run, self.table, self.settings
        key = hashlib.sha256(f"{run} walks {attempt}".encode()).hexdigest()[:32]
        encoder = {f"encoder_{name}": array for name, array in table.encoder.arrays._asdict().items()}
        return WalksQuestion(
            run=run, key=key, session=sessions[holder], sessions=[session_digest(one) for one in sessions.values()],
            predictor=table.predictor, burst=table.burst, length=settings.walk_length,
            count=self.participants.size * settings.walks, epsilon=float(settings.epsilon),
            predict=float(settings.predict), patience=self.coordinator.account.patience, holders=list(sessions),
            addresses=[holder.address for holder in self.coordinator.roster.holders], participants=self.participants,
            owner=owner, alive=alive, walks=walks.astype(np.int64), bins=self.bins, vectors=self.vectors,
            joins=table.tree.linkage[:, :2].astype(np.int32), **encoder,
        )  # fmt: skip

    def _attempt(
        self, questions: dict[str, WalksQuestion], sequences: NDArray[np.int32], lost: LostWalks, report: Report
    ) -> tuple[int, list[str]]:
        """Ask, and put every sequence that came to its place; what is reported are walks.

        Returns the hops, and the holders that ended in the attempt: lost, or interrupted and back.
        """
        account, count = self.coordinator.account, len(sequences)
        account.walks.started += sum(question.walks.size for question in questions.values())
        lost.asked(np.concatenate([question.walks for question in questions.values()]))
        done = count - int((sequences[:, 0] < 0).sum())
        report(done, count)

        def check(holder: str, answer: WalksAnswer) -> None:
            nonlocal done
            self._check(holder, answer, sequences.shape)
            done = min(count, done + answer.walks.size)
            report(done, count)

        answers = self.coordinator.ask("walks", questions, WalksAnswer, check, lambda done, total: None)
        for answer in answers.values():
            fresh = sequences[answer.walks, 0] < 0
            sequences[answer.walks[fresh]] = answer.entries[fresh]
            account.walks.repeated += int(np.count_nonzero(~fresh))
            lost.given_up(answer.given_up, answer.given_up_reasons, answer.given_up_at)
            self._count(answer, questions)
        ended = [name for name in questions if name not in answers or answers[name].interrupted]
        account.interrupted.update(name for name in ended if name in answers)
        lost.unreported(ended)
        account.wire.seconds += max((answer.seconds for answer in answers.values()), default=0.0)
        self.coordinator.transcript.tally(Token, 0, 4 * sum(answer.carried for answer in answers.values()))
        return sum(answer.hops for answer in answers.values()), ended

    def _count(self, answer: WalksAnswer, questions: dict[str, WalksQuestion]) -> None:
        """Add what an answer says of tokens, batches and other holders."""
        account = self.coordinator.account
        kinds = np.bincount(np.minimum(answer.given_up_reasons, REFUSED), minlength=3).tolist()
        account.walks.stranded += kinds[STRANDED]
        account.walks.undelivered += kinds[UNDELIVERED]
        account.walks.refused += kinds[REFUSED]
        account.wire.batches += answer.batches
        account.wire.bytes += answer.sent_bytes
        account.refused_by_holders.update(json.loads(answer.refused))
        account.unreachable.update(questions.keys() & set(answer.unreachable))

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
        self._check_given_up(holder, answer, count)
        # A peer that sends a walk again and again can make these as many as the walk has entries.
        counts = (answer.hops, answer.batches, answer.carried, answer.sent_bytes)
        if min(counts) < 0 or max(answer.hops, answer.batches) > count * length:
            raise ProtocolError(f"{holder}: reported impossible counts ({_shown(answer)}).")
        if answer.carried > answer.hops * length or answer.sent_bytes > MOST:
            raise ProtocolError(f"{holder}: reported impossible counts ({_shown(answer)}).")
        if not 0.0 <= answer.seconds <= MOST:
            raise ProtocolError(f"{holder}: says that it took {answer.seconds:g} seconds.")
        check_refusals(holder, answer.refused)

    def _check_given_up(self, holder: str, answer: WalksAnswer, count: int) -> None:
        """Refuse reports that name walks, reasons or holders that there aren't."""
        walks, reasons, at = answer.given_up, answer.given_up_reasons, answer.given_up_at
        if not walks.size == reasons.size == at.size:
            raise ProtocolError(f"{holder}: each walk that it gave up needs a reason and a holder.")
        if walks.size and (walks.min() < 0 or walks.max() >= count or (np.diff(walks) <= 0).any()):
            raise ProtocolError(f"{holder}: gave up a walk twice, or one outside 0 … {count - 1}.")
        holders = len(self.coordinator.roster.holders)
        known = at.size == 0 or (at.min() >= 0 and at.max() < holders)
        if not known or (reasons.size and (reasons.min() < 0 or reasons.max() > MAX_REASON)):
            raise ProtocolError(f"{holder}: gave up a walk for a reason, or to a holder, that doesn't exist.")

    def _tally(self, hops: int) -> None:
        transcript, walks, n = self.coordinator.transcript, self.coordinator.account.walks, self.participants.size
        transcript.tally(TreeTable, n, n * self.table.nbytes)
        transcript.tally(Start, walks.started, walks.started * Start.size())
        transcript.tally(Token, hops, hops * Token.size(0))
        transcript.tally(Sequence, walks.finished, walks.finished * Sequence.size(self.settings.walk_length))


def _shown(answer: WalksAnswer) -> str:
    """The counts of an answer, for an error; a hostile one may be long."""
    names = ("hops", "carried", "batches", "sent_bytes")
    return ", ".join(f"{name}={str(getattr(answer, name))[:24]}" for name in names)


def check_refusals(holder: str, text: str) -> None:
    """Check a holder's count of refusals: a JSON object of how often each reason, with the sender where it is known."""
    try:
        refused = parse_json(text.encode(), MAX_REFUSALS)
    except ValueError:
        refused = None
    if not isinstance(refused, dict) or not all(map(_is_refusal, refused)):
        raise ProtocolError(f"{holder}: its count of refusals can't be read.")
    if not all(type(n) is int and 0 <= n <= MOST for n in refused.values()):
        raise ProtocolError(f"{holder}: its count of refusals isn't one of counts.")


def _is_refusal(text: str) -> bool:
    """One of our reasons, alone or after a holder's name."""
    sender, colon, reason = text.rpartition(": ")
    return reason in REASONS and (not colon or is_name(sender))
