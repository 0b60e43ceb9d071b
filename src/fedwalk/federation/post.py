"""Flower as the post: questions out through its Grid, answers in, holders told apart by their registered keys.

A node id of Flower's belongs to a registered public key, and the key to a holder: nobody else is given its questions.
Of a reply Flower checks that some registered key sent it, and that it names a question's id and the node that was
asked; not that the key is that node's. So that an answer is the holder's own rests also on this: the id of the node,
which is random, and that of the question are known to that holder and to the server alone.

Flower gives a question up when its node misses two heartbeats. Here a holder that is away, because its link is cut, its
machine sleeps or its process was restarted, is asked again when it is back, within the run's patience. That costs
nothing: a holder keeps its answers, and gives the same one again.
"""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import httpx
from flwr.app import Message
from flwr.common.constant import ErrorCode
from flwr.serverapp import Grid

from fedwalk.errors import ProtocolError
from fedwalk.federation.coordinator import Failure
from fedwalk.federation.parcels import Fields
from fedwalk.federation.records import MOST_BYTES, REFUSAL, fields_from_records, to_records

LONGEST = 7 * 86400.0
"""Seconds that a walk phase may take."""
LAGGARDS = 6
"""How many times `patience` a holder may walk on when half of them are done; ones left alone give up after five."""
POLL = 0.5
"""Seconds between two looks for answers: Flower has no way to be told."""
MAX_TIMES, MAX_CRASHES = 8, 2
"""How often a holder is asked the same, and how often its process may end on it: one that comes and goes must not keep
the others waiting without end."""


@dataclass(slots=True)
class _Pending:
    """A holder whose answer isn't there yet. `since` is when it was last asked, or seen to be away."""

    question: Any
    since: float
    sent: list[str] = field(default_factory=list)
    times: int = 0
    crashes: int = 0
    away: bool = True
    rejected: bool = False


class FlowerPost:
    """Carries questions to the holders of `nodes` (name → node id).

    `patience` is how long a holder may be away, and how long it may take to answer, except for walks: those take as
    long as they take, and Flower itself notices a holder that is gone. `largest` is how many bytes of arrays an answer
    may have. `is_member` says whether a holder is still one: one that the operator removes is waited for no longer.
    """

    def __init__(
        self,
        grid: Grid,
        nodes: dict[str, int],
        patience: float,
        largest: int,
        is_member: Callable[[str], bool] = lambda holder: True,
    ) -> None:
        self._grid, self._nodes, self._patience, self._largest = grid, nodes, patience, largest
        self._is_member = is_member

    def ask(self, questions: dict[str, Any]) -> Iterator[tuple[str, Fields | Failure]]:
        """Ask all holders, again if need be; yield the answers as they come."""
        now = time.monotonic()
        pending = {holder: _Pending(question, now) for holder, question in questions.items()}
        walks = any(_phase(question) == "walks" for question in questions.values())
        able, answered, end = len(pending), 0, float("inf")
        while pending:
            for holder, outcome in self._look(pending, walks=walks):
                del pending[holder]
                failed = isinstance(outcome, Failure)
                able, answered = able - failed, answered + (not failed)
                # Walks end for all holders at once: when half of those who can have answered, the others are due.
                # A few that fail, or answer before it is time, say nothing about the rest.
                if walks and 0 < able <= 2 * answered:
                    end = min(end, time.monotonic() + LAGGARDS * self._patience)
                yield holder, outcome
            if time.monotonic() > end:
                yield from ((holder, Failure("no answer, long after the others")) for holder in pending)
                return
            if pending:
                time.sleep(POLL)

    def _look(self, pending: dict[str, _Pending], *, walks: bool) -> list[tuple[str, Fields | Failure]]:
        """Ask those who can be asked, and collect what has come."""
        online = set(self._grid.get_node_ids()) if any(one.away for one in pending.values()) else set[int]()
        found = []
        for holder, one in pending.items():
            if one.away and self._nodes.get(holder) in online and one.times < MAX_TIMES:
                self._send(holder, one)
                one.away, one.since = False, time.monotonic()
            outcome = self._outcome(holder, one, walks=walks)
            if outcome is not None:
                found.append((holder, outcome))
        return found

    def _send(self, holder: str, one: _Pending) -> None:
        kind = f"query.{_phase(one.question)}"
        records = to_records(one.question)
        message = Message(records, dst_node_id=self._nodes[holder], message_type=kind, ttl=LONGEST)
        # Of what the SuperLink doesn't take, Flower returns no id, or None.
        sent = next(iter(self._grid.push_messages([message])), None)
        one.times += 1
        one.sent += [] if sent is None else [sent]
        one.rejected = sent is None

    def _outcome(self, holder: str, one: _Pending, *, walks: bool) -> Fields | Failure | None:
        """The holder's answer, or why there is none; None as long as it may still come."""
        if not self._is_member(holder):
            return Failure("removed by the operator")
        if holder not in self._nodes:
            return Failure("not registered with the server")
        if one.rejected:
            return Failure("the server couldn't take the question")
        for sent in list(one.sent):
            for reply in self._pull(sent):
                one.sent.remove(sent)
                code = _error_code(reply)
                one.crashes += code == ErrorCode.CLIENT_APP_CRASHED
                if code not in _ASK_AGAIN or one.crashes > MAX_CRASHES:
                    return read_reply(reply, self._nodes[holder], self._largest)
        if not one.away and not one.sent:
            one.away, one.since = True, time.monotonic()
        return self._late(holder, one, walks=walks)

    def _late(self, holder: str, one: _Pending, *, walks: bool) -> Failure | None:
        """Why the holder is waited for no longer, if so. One that stays silent is asked again.

        A process that is restarted between two heartbeats has lost the question, and Flower doesn't notice.
        """
        silent, asked = time.monotonic() - one.since, len(one.sent)
        if one.away:
            why = f"was away for {self._patience:g} s" if one.times else f"was not online within {self._patience:g} s"
            return Failure(why) if silent > self._patience or one.times >= MAX_TIMES else None
        if not walks and silent > self._patience:
            return Failure(f"no answer in {self._patience:g} s")
        again = self._patience * 2 ** (asked - 1) if walks else asked * self._patience / 2
        if silent > again and one.times < MAX_TIMES:
            self._send(holder, one)
        return None

    def _pull(self, sent: str) -> list[Message | Failure]:
        """The answer, if it is there. What a holder sent may fail to be put together in any way that there is."""
        try:
            return list(self._grid.pull_messages([sent]))
        except httpx.HTTPError:
            raise
        except ProtocolError as error:
            return [Failure(str(error), refused=True)]
        except Exception as error:
            return [Failure(f"the answer can't be put together ({type(error).__name__})", refused=True)]


def _phase(question: Any) -> str:
    return type(question).__name__.removesuffix("Question").lower()


_ASK_AGAIN = {ErrorCode.NODE_UNAVAILABLE, ErrorCode.CLIENT_APP_CRASHED}
"""Errors by which Flower says that the holder is away, or that the process ended that was to answer."""


def _error_code(reply: Message | Failure) -> int | None:
    """Flower's own code, if this is Flower's error and not the holder's reply."""
    return reply.error.code if not isinstance(reply, Failure) and reply.has_error() else None


def read_reply(reply: Message | Failure, node: int, largest: int = MOST_BYTES) -> Fields | Failure:
    """The fields of an answer, or why there are none; ones that can't be read are the reader's to refuse."""
    if isinstance(reply, Failure):
        return reply
    if reply.has_error():
        return Failure(f"Flower: {str(reply.error.reason)[:300]}")
    if reply.metadata.src_node_id != node:
        return Failure("the answer came from another node", refused=True)
    try:
        fields = fields_from_records(reply.content, largest)
    except ProtocolError as error:
        return Failure(str(error), refused=True)
    if fields.keys() == {REFUSAL}:
        return Failure(f"refused: {str(fields[REFUSAL])[:300]}")
    return fields
