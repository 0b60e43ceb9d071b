"""Holders in this process: real folders, real answers, Flower's records; only the sockets are missing.

`InProcessHolders` is a `HolderChannel`. Tokens hop between walk engines in memory. A test decides which holders don't
answer, and how an answer is changed on its way.
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

from fedwalk.federation.apps.client_app import handle, randomness
from fedwalk.federation.deploy.local_federation import make_federation
from fedwalk.federation.holder.answer_store import AnswerStore, question_key
from fedwalk.federation.membership.folders import HolderFolder
from fedwalk.federation.membership.roster import Roster
from fedwalk.federation.server.coordinator import Failure
from fedwalk.federation.server.execute import federate_to_folder
from fedwalk.federation.server.flower_grid import read_reply
from fedwalk.federation.walking.engine import WalkEngine
from fedwalk.federation.wire.flower_records import fields_to_records, from_records, to_records
from fedwalk.federation.wire.questions import Fields, WalksAnswer, WalksQuestion, pack
from fedwalk.graph import Graph
from fedwalk.settings import Settings

NODE = 7
# Without one, Flower makes no messages.
TaskIdentity.run_id, TaskIdentity.node_id, TaskIdentity.task_id = 1, 1, 1
Spoil = Callable[[str, int, str, Fields], Any]
"""From phase, attempt, holder and its answer to what arrives: fields, records or a Failure."""


class BrokenOffError(Exception):
    """The simulated server was stopped in the middle of a phase."""


@dataclass
class InProcessHolders:
    """A channel, and all the holders that it reaches.

    `gone` has the (phase, attempt, holder) in which a holder doesn't answer, with the number of rounds of walking that
    it takes part in before. `stop_at` is the phase in which the server stops after one answer. `asked` records the
    questions. With `last_first` the answers arrive in the reverse order of the questions.
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
        phase = next(iter(questions.values())).phase
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
                received = read_reply(handle(phase, _message(phase, to_records(question)), self._context(holder)), NODE)
                outcomes[holder] = self._arrived(phase, attempt, holder, received)
        return outcomes

    def _arrived(self, phase: str, attempt: int, holder: str, received: Fields | Failure) -> Fields | Failure:
        """What the server reads, after `spoil` has changed the answer."""
        sent = received if isinstance(received, Failure) else self.spoil(phase, attempt, holder, received)
        if isinstance(sent, Failure):
            return sent
        records = sent if isinstance(sent, RecordDict) else fields_to_records(sent)
        return read_reply(Message(carried(records), reply_to=_message(phase, RecordDict())), NODE)

    def _context(self, holder: str) -> Context:
        return Context(1, NODE, {"folder": str(self.folders[holder].path)}, RecordDict(), {})

    def _walk(self, questions: dict[str, WalksQuestion], attempt: int) -> dict[str, Fields | Failure]:
        """Let all tokens hop until none is left. A holder with a stored answer repeats it, and doesn't walk."""
        answers: dict[str, Fields] = {}
        engines: dict[int, WalkEngine] = {}
        names = next(iter(questions.values())).holders
        leaving = {names.index(h): n for (phase, a, h), n in self.gone.items() if (phase, a) == ("walks", attempt)}
        for holder, question in questions.items():
            me = names.index(holder)
            known = self._store(holder, question, None)
            if known is not None:
                answers[holder] = known
            elif leaving.get(me) != 0:
                engines[me] = self._engine(holder, from_records(WalksQuestion, carried(to_records(question))))
        here = hop(engines, leaving)
        for holder, question in questions.items():
            if (me := names.index(holder)) in here:
                missing = [names[i] for i in set(question.owner[question.alive].tolist()) - here.keys()]
                answers[holder] = pack(walks_answer(here[me], missing))
                self._store(holder, question, answers[holder])
        return {
            holder: self._arrived("walks", attempt, holder, answers[holder]) if holder in answers else Failure("gone")
            for holder in questions
        }

    def _engine(self, holder: str, question: WalksQuestion) -> WalkEngine:
        folder = self.folders[holder]
        with AnswerStore(folder.answer_store).locked(10) as store:
            neighbours = store.snapshot(question.run)
        assert neighbours is not None
        own = neighbours.restrict(question.participants)
        return WalkEngine(question, own, question.holders.index(holder), randomness(folder.settings()))

    def _store(self, holder: str, question: WalksQuestion, answer: Fields | None) -> Fields | None:
        """The holder's stored answer if `answer` is None; else store this one."""
        with AnswerStore(self.folders[holder].answer_store).locked(10) as store:
            if answer is None:
                return store.recall("walks", question_key(question))
            store.keep("walks", question_key(question), answer)
            return answer


@dataclass(frozen=True)
class InProcessFederation:
    """The folders of a federation whose holders run in this process."""

    roster: Roster
    folders: dict[str, HolderFolder]

    def holders(self, **how: Any) -> InProcessHolders:
        return InProcessHolders(self.folders, **how)

    def run(self, channel: InProcessHolders, settings: Settings, path: Path, **how: Any) -> dict[str, Any]:
        options = {"patience": 5.0, "keep_walks": True, **how}
        return federate_to_folder(channel, self.roster, settings, path, **options).as_dict()

    def devices(self, *holders: str) -> list[int]:
        """The ids of these holders' devices."""
        return sorted(device for name in holders for device in self.roster.holder(name).devices)


def make_in_process_federation(path: Path, graph: Graph, holders: int, seed: int | None) -> InProcessFederation:
    """Make a federation of a graph, cut into blocks. Without a seed, the noise comes from the operating system."""
    made = make_federation(path, graph, holders, seed)
    return InProcessFederation(Roster.load(made.server.roster), {holder.path.name: holder for holder in made.holders})


def carried(records: RecordDict) -> RecordDict:
    """The records after a round trip through bytes."""
    proto = recorddict_to_proto(records)
    return recorddict_from_proto(type(proto).FromString(proto.SerializeToString()))


def _message(phase: str, records: RecordDict) -> Message:
    return Message(carried(records), dst_node_id=NODE, message_type=f"query.{phase}")


def hop(engines: dict[int, WalkEngine], leaving: dict[int, int]) -> dict[int, WalkEngine]:
    """Advance and deliver tokens until none is left; returns the engines of the holders that stayed to the end."""
    here, numbers, rounds = dict(engines), Counter[tuple[int, int]](), 0
    for engine in here.values():
        engine.begin()
    while not all(engine.passive for engine in here.values()):
        rounds += 1
        here = {me: engine for me, engine in here.items() if leaving.get(me, rounds) >= rounds}
        for me, engine in here.items():
            for other, batch in engine.advance(max_tokens=40).items():
                if other in here:
                    receipt = here[other].receive(me, batch.to_bytes(engine.key, numbers[me, other]))
                    engine.delivered(other, batch, receipt)
                    numbers[me, other] += 1
                else:
                    engine.undeliverable(other, batch)
    return {me: engine for me, engine in here.items() if me not in leaving}


def walks_answer(engine: WalkEngine, unreachable: list[str]) -> WalksAnswer:
    walks, entries = engine.sequences()
    given_up, reasons, at = engine.given_up.columns()
    return WalksAnswer(
        hops=engine.hops, carried=engine.carried, batches=1, sent_bytes=100, seconds=0.5, interrupted=False,
        refused=json.dumps(engine.refused), unreachable=unreachable, given_up=given_up, given_up_reasons=reasons,
        given_up_at=at, walks=walks, entries=entries.astype(np.int32),
    )  # fmt: skip
