"""Holders in this process: real folders, real answers, Flower's records; only the sockets are missing.

`Holders` is a post. Walks hop between mills in memory. A test says who is gone when, and what an answer is turned into
on its way.
"""

import json
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from flwr.app import Context, Message, RecordDict
from flwr.common.serde import recorddict_from_proto, recorddict_to_proto
from flwr.supercore.task_identity import TaskIdentity

from fedwalk.federation.client_app import handle, randomness
from fedwalk.federation.coordinator import Failure
from fedwalk.federation.demo import make_federation
from fedwalk.federation.folders import HolderFolder
from fedwalk.federation.job import federate_to_folder
from fedwalk.federation.memory import Memory, question_key
from fedwalk.federation.mill import Mill
from fedwalk.federation.parcels import Fields, WalksAnswer, WalksQuestion, pack
from fedwalk.federation.post import read_reply
from fedwalk.federation.records import fields_to_records, from_records, to_records
from fedwalk.federation.roster import Roster
from fedwalk.graph import Graph
from fedwalk.settings import Settings

NODE = 7
# Without one, Flower makes no messages.
TaskIdentity.run_id, TaskIdentity.node_id, TaskIdentity.task_id = 1, 1, 1
Spoil = Callable[[str, int, str, Fields], Any]
"""From phase, attempt, holder and its answer to what arrives: fields, records or a Failure."""


class BrokenOffError(Exception):
    """The server was stopped."""


@dataclass
class Holders:
    """The post, and everybody whom it reaches.

    `gone` has (phase, attempt, holder) of those who never answer, with the rounds of walking that they take part in
    before. `stop_at` is the phase in which the server stops, with one answer in its hands. `asked` is what was asked.
    With `last_first` answers arrive in the order opposite to the questions'.
    """

    folders: dict[str, HolderFolder]
    spoil: Spoil = lambda phase, attempt, holder, fields: fields
    gone: dict[tuple[str, int, str], int] = field(default_factory=dict)
    stop_at: str = ""
    last_first: bool = False
    asked: list[tuple[str, dict[str, Any]]] = field(default_factory=list)

    def phases(self) -> list[str]:
        return [phase for phase, _ in self.asked]

    def ask(self, questions: dict[str, Any]) -> Iterator[tuple[str, Fields | Failure]]:
        phase = type(next(iter(questions.values()))).__name__.removesuffix("Question").lower()
        attempt = self.phases().count(phase)
        self.asked.append((phase, questions))
        outcomes = self._walk(questions, attempt) if phase == "walks" else self._answers(phase, attempt, questions)
        arriving = reversed(outcomes.items()) if self.last_first else outcomes.items()
        for number, (holder, outcome) in enumerate(arriving):
            if phase == self.stop_at and number == 1:
                raise BrokenOffError(phase)
            yield holder, outcome

    def _answers(self, phase: str, attempt: int, questions: dict[str, Any]) -> dict[str, Fields | Failure]:
        outcomes: dict[str, Fields | Failure] = {}
        for holder, question in questions.items():
            outcomes[holder] = Failure("gone")
            if (phase, attempt, holder) not in self.gone:
                found = read_reply(handle(phase, _message(phase, to_records(question)), self._context(holder)), NODE)
                outcomes[holder] = self._arrived(phase, attempt, holder, found)
        return outcomes

    def _arrived(self, phase: str, attempt: int, holder: str, found: Fields | Failure) -> Fields | Failure:
        """What the server makes of it, once the test has had its way."""
        sent = found if isinstance(found, Failure) else self.spoil(phase, attempt, holder, found)
        if isinstance(sent, Failure):
            return sent
        records = sent if isinstance(sent, RecordDict) else fields_to_records(sent)
        return read_reply(Message(carried(records), reply_to=_message(phase, RecordDict())), NODE)

    def _context(self, holder: str) -> Context:
        return Context(1, NODE, {"folder": str(self.folders[holder].path)}, RecordDict(), {})

    def _walk(self, questions: dict[str, WalksQuestion], attempt: int) -> dict[str, Fields | Failure]:
        """Let all tokens hop until none is left; who has answered before answers the same, and walks no more."""
        found: dict[str, Fields] = {}
        mills: dict[int, Mill] = {}
        names = next(iter(questions.values())).holders
        leaving = {names.index(h): n for (phase, a, h), n in self.gone.items() if (phase, a) == ("walks", attempt)}
        for holder, question in questions.items():
            me = names.index(holder)
            known = self._memory(holder, question, None)
            if known is not None:
                found[holder] = known
            elif leaving.get(me) != 0:
                mills[me] = self._mill(holder, from_records(WalksQuestion, carried(to_records(question))))
        here = hop(mills, leaving)
        for holder, question in questions.items():
            if (me := names.index(holder)) in here:
                missing = [names[i] for i in set(question.owner[question.alive].tolist()) - here.keys()]
                found[holder] = pack(walks_answer(here[me], missing))
                self._memory(holder, question, found[holder])
        return {
            holder: self._arrived("walks", attempt, holder, found[holder]) if holder in found else Failure("gone")
            for holder in questions
        }

    def _mill(self, holder: str, question: WalksQuestion) -> Mill:
        folder = self.folders[holder]
        with Memory(folder.memory).locked(10) as memory:
            lists = memory.snapshot(question.run)
        assert lists is not None
        own = lists.restrict(question.participants)
        return Mill(question, own, question.holders.index(holder), randomness(folder.settings()))

    def _memory(self, holder: str, question: WalksQuestion, answer: Fields | None) -> Fields | None:
        """What the holder has answered; or keep what it answers now."""
        with Memory(self.folders[holder].memory).locked(10) as memory:
            if answer is None:
                return memory.recall("walks", question_key(question))
            memory.keep("walks", question_key(question), answer)
            return answer


@dataclass(frozen=True)
class Village:
    """A federation's folders."""

    roster: Roster
    folders: dict[str, HolderFolder]

    def holders(self, **how: Any) -> Holders:
        return Holders(self.folders, **how)

    def run(self, post: Holders, settings: Settings, path: Path, **how: Any) -> dict[str, Any]:
        return federate_to_folder(post, self.roster, settings, path, **{"patience": 5.0, "keep_walks": True, **how})

    def devices(self, *holders: str) -> list[int]:
        """The ids of these holders' devices."""
        return sorted(device for name in holders for device in self.roster.holder(name).devices)


def settle(path: Path, graph: Graph, holders: int, seed: int | None) -> Village:
    """Make a federation of a graph, cut into blocks; without a seed its noise is for real."""
    made = make_federation(path, graph, holders, seed)
    return Village(Roster.load(made.server.roster), {holder.path.name: holder for holder in made.holders})


def carried(records: RecordDict) -> RecordDict:
    """The records after they have been bytes."""
    proto = recorddict_to_proto(records)
    return recorddict_from_proto(type(proto).FromString(proto.SerializeToString()))


def _message(phase: str, records: RecordDict) -> Message:
    return Message(carried(records), dst_node_id=NODE, message_type=f"query.{phase}")


def hop(mills: dict[int, Mill], leaving: dict[int, int]) -> dict[int, Mill]:
    """Grind and deliver until nothing is under way; returns the mills of those who stayed to the end."""
    here, numbers, rounds = dict(mills), Counter[tuple[int, int]](), 0
    for mill in here.values():
        mill.begin()
    while not all(mill.passive for mill in here.values()):
        rounds += 1
        here = {me: mill for me, mill in here.items() if leaving.get(me, rounds) >= rounds}
        for me, mill in here.items():
            for other, batch in mill.grind(most=40).items():
                if other in here:
                    receipt = here[other].receive(me, batch.to_bytes(mill.key, numbers[me, other]))
                    mill.delivered(other, batch, receipt)
                    numbers[me, other] += 1
                else:
                    mill.undeliverable(other, batch)
    return {me: mill for me, mill in here.items() if me not in leaving}


def walks_answer(mill: Mill, unreachable: list[str]) -> WalksAnswer:
    walks, entries = mill.sequences()
    given_up, reasons, at = mill.given_up.columns()
    return WalksAnswer(
        hops=mill.hops, carried=mill.carried, batches=1, sent_bytes=100, seconds=0.5, interrupted=False,
        refused=json.dumps(mill.refused), unreachable=unreachable, given_up=given_up, given_up_reasons=reasons,
        given_up_at=at, walks=walks, entries=entries.astype(np.int32),
    )  # fmt: skip
