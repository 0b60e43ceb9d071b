"""The walk phase as the server runs it (Algorithm 1): asks the holders to walk, and reissues the walks that were lost.

The server sees no hop. It receives the finished sequences, and a reason for each walk that a holder gave up. A missing
walk was lost with a holder, on the way to a holder, or at a holder that refused its token. Missing walks are reissued
to the holders that are left. In the end every walk is finished, or lost for a stated reason.
"""

import hashlib
import hmac
import json
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fedwalk.errors import ProtocolError
from fedwalk.federation.names import is_name
from fedwalk.federation.server.coordinator import Coordinator
from fedwalk.federation.server.statistics import WalkCount
from fedwalk.federation.walking.losses import MAX_REASON, REFUSED, STRANDED, UNDELIVERED, LostWalks
from fedwalk.federation.walking.plan import session_digest
from fedwalk.federation.wire.connection_limits import NOT_AUTHENTICATED, TOO_MANY_PER_PARTY, TOO_MANY_UNKNOWN
from fedwalk.federation.wire.questions import WALKS_PHASE, WalksAnswer, WalksQuestion
from fedwalk.kernels.token_batches import VERDICTS
from fedwalk.protocols.paper.messages import Sequence, Start, Token, TreeTable
from fedwalk.protocols.walks import Walks
from fedwalk.settings import Settings
from fedwalk.util.checked_json import parse_json
from fedwalk.util.parallel import Progress

MAX_ATTEMPTS = 4
"""How often a walk is issued in total."""
MAX_COUNT = 2**53
"""The largest count that a holder may report: readers of JSON may lose precision above it."""
REASONS = {
    "malformed", "too large", "too slow", "other run", "another session", "unknown sender", "sent twice",
    "after the end", NOT_AUTHENTICATED, TOO_MANY_UNKNOWN, TOO_MANY_PER_PARTY,
    # All but the first, ACCEPTED.
    *VERDICTS[1:],
}  # fmt: skip
"""The reasons for which a holder refuses calls and tokens of another one."""
MAX_REFUSALS = 1 << 20
"""Bytes of a holder's counts of refusals: enough for ten thousand senders."""


@dataclass(slots=True)
class WalkPhase:
    """Collects the sequences of all attempts. Vertices are numbered by their places among `participants`.

    Walk w starts at vertex w mod n, so the walks of all vertices together are numbered 0 … n·walks − 1.
    """

    coordinator: Coordinator
    settings: Settings
    participants: NDArray[np.int32]
    bins: NDArray[np.int32]
    vectors: NDArray[np.float32]
    table: TreeTable

    def run(self, on_progress: Progress) -> Walks:
        """Issue walks until all are finished, can't be finished, or were issued MAX_ATTEMPTS times."""
        count = self.participants.size * self.settings.num_walks
        # Row w is walk w. A first entry of −1 means that the walk hasn't finished.
        sequences = np.full((count, self.settings.walk_length), -1, np.int32)
        statistics, hops = self.coordinator.statistics, 0
        lost = LostWalks(count, [holder.name for holder in self.coordinator.roster.holders])
        # A restarted server repeats this phase from the beginning, and counts it from zero.
        statistics.walks = WalkCount(asked=count)
        for attempt in range(MAX_ATTEMPTS):
            questions = self._questions(attempt, np.flatnonzero(sequences[:, 0] < 0))
            if not questions:
                break
            more_hops, ended = self._attempt(questions, sequences, lost, on_progress)
            hops += more_hops
            missing = np.flatnonzero(sequences[:, 0] < 0)
            statistics.walks.finished, statistics.walks.lost = count - missing.size, int(missing.size)
            statistics.walks.reasons = lost.reasons(missing)
            # If no holder was lost, a walk that is stranded at a device without a living neighbour would strand again.
            if not missing.size or (not ended and lost.all_stranded(missing)):
                break
        self._tally(hops)
        return Walks(sequences[sequences[:, 0] >= 0], hops)

    def _questions(self, attempt: int, missing: NDArray[np.int64]) -> dict[str, WalksQuestion]:
        """The question to each remaining holder: to walk those missing walks that start at its devices.

        Holders without such a walk are asked too, since the others' tokens visit their devices. Returns nothing if no
        remaining holder can start a missing walk.
        """
        coordinator, n = self.coordinator, self.participants.size
        holders = [holder.name for holder in coordinator.roster.holders]
        owner = coordinator.roster.owner()[self.participants].astype(np.int32)
        living = coordinator.statistics.living()
        alive = np.isin(owner, [holders.index(name) for name in living])
        # A holder may answer the roll call without a device that takes part: all of them may be isolated.
        walking = [name for name in living if (owner == holders.index(name)).any()]
        starts = {name: missing[owner[missing % n] == holders.index(name)] for name in walking}
        if not any(walks.size for walks in starts.values()):
            return {}
        if attempt:
            coordinator.statistics.walks.reissued += sum(walks.size for walks in starts.values())
        # For lost holders, too: a holder must have the same index in `holders`, `addresses` and `sessions`.
        sessions = {name: self._session(attempt, name) for name in holders}
        return {name: self._question(attempt, sessions, name, owner, alive, walks) for name, walks in starts.items()}

    def _session(self, attempt: int, holder: str) -> str:
        """The secret by which a holder proves to the others that a call is its own.

        It is derived, not drawn: a restarted server must send the same question again, so that holders recognise it.
        """
        secret = bytes.fromhex(self.coordinator.statistics.secret)
        return hmac.digest(secret, f"{attempt} {holder}".encode(), "sha256").hex()[:32]

    def _question(
        self, attempt: int, sessions: dict[str, str], holder: str, owner: NDArray[np.int32], alive: NDArray[np.bool_],
        walks: NDArray[np.int64],
    ) -> WalksQuestion:  # fmt: skip
        run, table, settings = self.coordinator.statistics.run, self.table, self.settings
        # Each attempt has its own key, so that holders refuse late tokens of an earlier attempt.
        key = hashlib.sha256(f"{run} {WALKS_PHASE.name} {attempt}".encode()).hexdigest()[:32]
        encoder = {f"encoder_{name}": array for name, array in table.encoder.arrays._asdict().items()}
        return WalksQuestion(
            run=run, key=key, session=sessions[holder], sessions=[session_digest(one) for one in sessions.values()],
            predictor=table.predictor, burst=table.burst, length=settings.walk_length,
            count=self.participants.size * settings.num_walks, epsilon=float(settings.epsilon),
            predict=float(settings.predict), patience=self.coordinator.statistics.patience, holders=list(sessions),
            addresses=[holder.address for holder in self.coordinator.roster.holders], participants=self.participants,
            owner=owner, alive=alive, walks=walks.astype(np.int64), bins=self.bins, vectors=self.vectors,
            joins=table.tree.linkage[:, :2].astype(np.int32), **encoder,
        )  # fmt: skip

    def _attempt(
        self, questions: dict[str, WalksQuestion], sequences: NDArray[np.int32], lost: LostWalks, on_progress: Progress
    ) -> tuple[int, list[str]]:
        """Ask the holders once, and store each sequence that arrives in its row of `sequences`.

        Returns the number of hops, and the holders whose process ended in the attempt, whether they were lost or came
        back. Progress is counted in walks.
        """
        statistics, count = self.coordinator.statistics, len(sequences)
        statistics.walks.started += sum(question.walks.size for question in questions.values())
        lost.begin_attempt(np.concatenate([question.walks for question in questions.values()]))
        done = count - int((sequences[:, 0] < 0).sum())
        on_progress(done, count)

        def check(holder: str, answer: WalksAnswer) -> None:
            nonlocal done
            self._check(holder, answer, sequences.shape)
            # Two holders may both send the same walk, so the sum could exceed the count.
            done = min(count, done + answer.walks.size)
            on_progress(done, count)

        # The coordinator counts holders; `check` reports the progress in walks instead.
        answers = self.coordinator.ask(WALKS_PHASE, questions, check, lambda done, total: None)
        for answer in answers.values():
            # The first sequence of a walk is kept: a hostile holder must not replace those of others.
            new = sequences[answer.walks, 0] < 0
            sequences[answer.walks[new]] = answer.entries[new]
            statistics.walks.repeated += int(np.count_nonzero(~new))
            lost.given_up(answer.given_up, answer.given_up_reasons, answer.given_up_at)
            self._count(answer, questions)
        ended = [name for name in questions if name not in answers or answers[name].interrupted]
        statistics.interrupted.update(name for name in ended if name in answers)
        lost.end_attempt(ended)
        statistics.wire.seconds += max((answer.seconds for answer in answers.values()), default=0.0)
        # Only the carried entries, 4 bytes each; `_tally` counts the messages and their fixed part.
        self.coordinator.transcript.tally(Token, 0, 4 * sum(answer.carried for answer in answers.values()))
        return sum(answer.hops for answer in answers.values()), ended

    def _count(self, answer: WalksAnswer, questions: dict[str, WalksQuestion]) -> None:
        """Add the counts in an answer to the statistics."""
        statistics = self.coordinator.statistics
        kinds = np.bincount(np.minimum(answer.given_up_reasons, REFUSED), minlength=3).tolist()
        statistics.walks.stranded += kinds[STRANDED]
        statistics.walks.undelivered += kinds[UNDELIVERED]
        statistics.walks.refused += kinds[REFUSED]
        statistics.wire.batches += answer.batches
        statistics.wire.bytes += answer.sent_bytes
        statistics.refused_by_holders.update(json.loads(answer.refused))
        # Only holders of this attempt: a hostile holder may put any name into its answer.
        statistics.unreachable.update(questions.keys() & set(answer.unreachable))

    def _check(self, holder: str, answer: WalksAnswer, shape: tuple[int, int]) -> None:
        """Refuse an answer that no honest holder would send."""
        count, length = shape
        walks, entries = answer.walks, answer.entries
        if entries.shape != (walks.size, length):
            raise ProtocolError(f"{holder}: {walks.size} walks must have {length} entries each.")
        if walks.size and (walks.min() < 0 or walks.max() >= count or np.unique(walks).size != walks.size):
            raise ProtocolError(f"{holder}: finished a walk twice, or one outside 0 … {count - 1}.")
        if entries.size and (entries.min() < 0 or entries.max() >= self.participants.size):
            raise ProtocolError(f"{holder}: a sequence names a vertex outside 0 … {self.participants.size - 1}.")
        self._check_given_up(holder, answer, count)
        # A hostile peer can send the same walk to an honest holder again and again, each time with one more entry. So
        # even an honest holder may count as many hops as the walk has entries, but never more.
        counts = (answer.hops, answer.batches, answer.carried, answer.sent_bytes)
        if min(counts) < 0 or max(answer.hops, answer.batches) > count * length:
            raise ProtocolError(f"{holder}: reported impossible counts ({_shown(answer)}).")
        # A hop carries at most the whole walk.
        if answer.carried > answer.hops * length or answer.sent_bytes > MAX_COUNT:
            raise ProtocolError(f"{holder}: reported impossible counts ({_shown(answer)}).")
        if not 0.0 <= answer.seconds <= MAX_COUNT:
            raise ProtocolError(f"{holder}: reported an impossible duration ({answer.seconds:g} seconds).")
        check_refusals(holder, answer.refused)

    def _check_given_up(self, holder: str, answer: WalksAnswer, count: int) -> None:
        """Refuse given-up walks with numbers, reasons or holders that don't exist."""
        walks, reasons, at = answer.given_up, answer.given_up_reasons, answer.given_up_at
        if not walks.size == reasons.size == at.size:
            raise ProtocolError(f"{holder}: every walk that it gave up needs a reason and a holder.")
        if walks.size and (walks.min() < 0 or walks.max() >= count or (np.diff(walks) <= 0).any()):
            raise ProtocolError(f"{holder}: gave up a walk twice, or one outside 0 … {count - 1}.")
        holders = len(self.coordinator.roster.holders)
        known = at.size == 0 or (at.min() >= 0 and at.max() < holders)
        if not known or (reasons.size and (reasons.min() < 0 or reasons.max() > MAX_REASON)):
            raise ProtocolError(f"{holder}: gave up a walk for a reason, or to a holder, that doesn't exist.")

    def _tally(self, hops: int) -> None:
        transcript, walks, n = self.coordinator.transcript, self.coordinator.statistics.walks, self.participants.size
        # Once per device, as in line 1 of Algorithm 1, although each question has one copy for all devices of a holder.
        transcript.tally(TreeTable, n, n * self.table.nbytes)
        transcript.tally(Start, walks.started, walks.started * Start.size())
        transcript.tally(Token, hops, hops * Token.size(0))
        transcript.tally(Sequence, walks.finished, walks.finished * Sequence.size(self.settings.walk_length))


def _shown(answer: WalksAnswer) -> str:
    """The counts of an answer for an error message, shortened because a hostile holder may send very long ones."""
    names = ("hops", "carried", "batches", "sent_bytes")
    return ", ".join(f"{name}={str(getattr(answer, name))[:24]}" for name in names)


def check_refusals(holder: str, text: str) -> None:
    """Check a holder's counts of refusals: a JSON object from "reason" or "sender: reason" to a count."""
    try:
        refused = parse_json(text.encode(), MAX_REFUSALS)
    except ValueError:
        refused = None
    if not isinstance(refused, dict) or not all(map(_is_refusal, refused)):
        raise ProtocolError(f"{holder}: its counts of refusals can't be read.")
    if not all(type(n) is int and 0 <= n <= MAX_COUNT for n in refused.values()):
        raise ProtocolError(f"{holder}: its counts of refusals aren't all counts.")


def _is_refusal(text: str) -> bool:
    """Whether this is one of REASONS, alone or after a holder's name."""
    sender, colon, reason = text.rpartition(": ")
    return reason in REASONS and (not colon or is_name(sender))
