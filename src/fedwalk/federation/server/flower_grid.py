"""Reaches the holders through Flower's Grid, and identifies them by their registered keys.

In Flower a node id belongs to a registered public key, and here each key belongs to a holder, so only that holder is
given its questions. For a reply Flower checks that some registered key has sent it, and that it names the question's id
and the node that was asked. It does not check that the key belongs to that node. That an answer is the holder's own
therefore also rests on this: the node id, which is random, and the question's id are known only to that holder and to
the server.

Flower gives a question up when its node misses two heartbeats. Here a holder that is away, because its connection is
cut, its machine sleeps or its process was restarted, is asked again when it is back, within the run's patience. Asking
again costs no privacy: a holder stores its answers and gives the same one again.
"""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from flwr.app import Message
from flwr.serverapp import Grid

from fedwalk.errors import ProtocolError
from fedwalk.federation.flower_guards.grid_errors import CLIENT_APP_CRASHED, NODE_UNAVAILABLE, GridError
from fedwalk.federation.server.coordinator import Failure
from fedwalk.federation.wire.flower_records import MAX_BYTES, REFUSAL, fields_from_records, to_records
from fedwalk.federation.wire.questions import WALKS_PHASE, Fields

MAX_WALK_SECONDS = 7 * 86400.0
"""How long a walk phase may take, and therefore how long Flower keeps a question."""
STRAGGLER_FACTOR = 6
"""How many times `patience` the other holders may walk on when half of them have answered. More than the five after
which a holder without work stops by itself (`walking.session.IDLE_FACTOR`)."""
POLL = 0.5
"""Seconds between two polls for answers. Flower has no notification."""
MAX_SENDS, MAX_CRASHES = 8, 2
"""How often a holder is sent the same question, and how often its process may crash on it. A holder that comes and goes
must not keep the others waiting without end."""


@dataclass(slots=True)
class _Pending:
    """A question without an answer. `since` is when the holder was last asked, or was found to be away.

    `sent` has the ids of the messages that may still be answered, `times` counts all that were sent.
    """

    question: Any
    since: float
    sent: list[str] = field(default_factory=list)
    times: int = 0
    crashes: int = 0
    # Until it is seen online, so that the first question is sent in the same way as a repeated one.
    away: bool = True
    rejected: bool = False


class FlowerChannel:
    """A `HolderChannel` over Flower.

    Parameters
    ----------
    grid, nodes
        Flower's grid, and the node id of each holder.
    patience
        Seconds that a holder may be away, and that it may take to answer. Walks have no such limit to answer: they take
        as long as the graph requires, and Flower itself notices a holder that has disconnected.
    max_bytes
        The maximum size of the arrays in an answer, in bytes.
    is_member
        Whether a holder is still a member. A holder that the operator has removed is no longer waited for.
    """

    def __init__(
        self,
        grid: Grid,
        nodes: dict[str, int],
        patience: float,
        max_bytes: int,
        is_member: Callable[[str], bool] = lambda holder: True,
    ) -> None:
        self._grid, self._nodes, self._patience, self._max_bytes = grid, nodes, patience, max_bytes
        self._is_member = is_member

    def ask(self, questions: dict[str, Any]) -> Iterator[tuple[str, Fields | Failure]]:
        """Send all questions, repeatedly if necessary; yield the outcomes as they arrive."""
        now = time.monotonic()
        pending = {holder: _Pending(question, now) for holder, question in questions.items()}
        walks = any(question.phase == WALKS_PHASE.name for question in questions.values())
        able, answered, end = len(pending), 0, float("inf")
        while pending:
            for holder, outcome in self._poll(pending, walks=walks):
                del pending[holder]
                failed = isinstance(outcome, Failure)
                able, answered = able - failed, answered + (not failed)
                # Walks end for all holders at the same time, so once half of those that haven't failed have answered,
                # the others must follow soon. A few early answers or failures say nothing about the rest.
                if walks and 0 < able <= 2 * answered:
                    end = min(end, time.monotonic() + STRAGGLER_FACTOR * self._patience)
                yield holder, outcome
            if time.monotonic() > end:
                yield from ((holder, Failure("no answer, long after the other holders")) for holder in pending)
                return
            if pending:
                time.sleep(POLL)

    def _poll(self, pending: dict[str, _Pending], *, walks: bool) -> list[tuple[str, Fields | Failure]]:
        """Send the questions of holders that are online again, and collect the outcomes that have arrived."""
        # A request to the SuperLink, so it is only made while some holder is away.
        online = set(self._grid.get_node_ids()) if any(one.away for one in pending.values()) else set[int]()
        outcomes = []
        for holder, one in pending.items():
            if one.away and self._nodes.get(holder) in online and one.times < MAX_SENDS:
                self._send(holder, one)
                one.away, one.since = False, time.monotonic()
            outcome = self._outcome(holder, one, walks=walks)
            if outcome is not None:
                outcomes.append((holder, outcome))
        return outcomes

    def _send(self, holder: str, one: _Pending) -> None:
        kind = f"query.{one.question.phase}"
        records = to_records(one.question)
        message = Message(records, dst_node_id=self._nodes[holder], message_type=kind, ttl=MAX_WALK_SECONDS)
        # For a message that the SuperLink rejects, Flower returns no id, or None.
        sent = next(iter(self._grid.push_messages([message])), None)
        one.times += 1
        one.sent += [] if sent is None else [sent]
        one.rejected = sent is None

    def _outcome(self, holder: str, one: _Pending, *, walks: bool) -> Fields | Failure | None:
        """The holder's answer, or why there is none; None while an answer may still arrive."""
        if not self._is_member(holder):
            return Failure("removed by the operator")
        if holder not in self._nodes:
            return Failure("not registered with the server")
        if one.rejected:
            return Failure("Flower's server rejected the question")
        # A copy, because answered messages are removed in the loop.
        for sent in list(one.sent):
            for reply in self._pull(sent):
                one.sent.remove(sent)
                code = _error_code(reply)
                one.crashes += code == CLIENT_APP_CRASHED
                # An older message of the same question may still be answered, so the other ids stay in `sent`.
                if code not in _ASK_AGAIN or one.crashes > MAX_CRASHES:
                    return read_reply(reply, self._nodes[holder], self._max_bytes)
        if not one.away and not one.sent:
            one.away, one.since = True, time.monotonic()
        return self._late(holder, one, walks=walks)

    def _late(self, holder: str, one: _Pending, *, walks: bool) -> Failure | None:
        """Why the holder is no longer waited for, or None. A holder that stays silent is sent the question again.

        A process that is restarted between two heartbeats has lost the question without Flower noticing it.
        """
        silent, asked = time.monotonic() - one.since, len(one.sent)
        if one.away:
            why = f"was away for {self._patience:g} s" if one.times else f"was not online within {self._patience:g} s"
            return Failure(why) if silent > self._patience or one.times >= MAX_SENDS else None
        if not walks and silent > self._patience:
            return Failure(f"no answer in {self._patience:g} s")
        # Walks can take long, so the pause before each repetition doubles; other questions are repeated at half of
        # `patience`.
        again = self._patience * 2 ** (asked - 1) if walks else asked * self._patience / 2
        if silent > again and one.times < MAX_SENDS:
            self._send(holder, one)
        return None

    def _pull(self, sent: str) -> list[Message | Failure]:
        """The answer, if it has arrived. A hostile holder can make Flower's decoding fail with any exception."""
        try:
            return list(self._grid.pull_messages([sent]))
        # The server itself is unreachable: that isn't the holder's fault.
        except GridError:
            raise
        except ProtocolError as error:
            return [Failure(str(error), invalid=True)]
        except Exception as error:
            return [Failure(f"the answer can't be decoded ({type(error).__name__})", invalid=True)]


_ASK_AGAIN = {NODE_UNAVAILABLE, CLIENT_APP_CRASHED}
"""Flower's errors for a holder that is away, and for a holder's process that ended before it answered."""


def _error_code(reply: Message | Failure) -> int | None:
    """Flower's error code, or None if this is a reply of the holder."""
    return reply.error.code if not isinstance(reply, Failure) and reply.has_error() else None


def read_reply(reply: Message | Failure, node: int, max_bytes: int = MAX_BYTES) -> Fields | Failure:
    """The fields of an answer, or why there are none. The fields are unchecked: the coordinator validates them."""
    if isinstance(reply, Failure):
        return reply
    if reply.has_error():
        return Failure(f"Flower: {str(reply.error.reason)[:300]}")
    # Flower checks this, too. An answer of another holder must not pass, even if a version of Flower doesn't.
    if reply.metadata.src_node_id != node:
        return Failure("the answer came from another node", invalid=True)
    try:
        fields = fields_from_records(reply.content, max_bytes)
    except ProtocolError as error:
        return Failure(str(error), invalid=True)
    # A holder may refuse a question; that doesn't count as an invalid answer.
    if fields.keys() == {REFUSAL}:
        return Failure(f"refused: {str(fields[REFUSAL])[:300]}")
    return fields
