"""The channel over Flower: answers are identified by their node, and no holder is waited for without a limit."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, cast

import numpy as np
import pytest
from flwr.app import Error, Message, RecordDict
from flwr.common.constant import ErrorCode
from flwr.serverapp import Grid

from fedwalk.federation.server import flower_grid as grid_module
from fedwalk.federation.server.coordinator import Failure
from fedwalk.federation.server.flower_grid import MAX_CRASHES, MAX_SENDS, STRAGGLER_FACTOR, FlowerChannel, read_reply
from fedwalk.federation.wire.flower_records import REFUSAL, fields_to_records, to_records
from fedwalk.federation.wire.questions import RollAnswer, RollQuestion, WalksQuestion
from helpers.local_holders import carried
from helpers.question_samples import SAMPLES

NODES = {"ada": 11, "ben": 12, "cyd": 13}
QUESTION = SAMPLES[RollQuestion]
MAX_BATCH_BYTES = 10_000


@dataclass
class Clock:
    """A clock that advances only in `sleep`."""

    now: float = 0.0

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds


@dataclass
class Nodes:
    """A grid in memory: `answers` has what each node sends back, `late` after how many looks it does, `at` when.

    Questions in `lost` are never answered.
    """

    online: set[int] = field(default_factory=lambda: set(NODES.values()))
    answers: dict[int, Any] = field(default_factory=dict)
    late: dict[int, int] = field(default_factory=dict)
    at: dict[int, float] = field(default_factory=dict)
    clock: Clock = field(default_factory=Clock)
    ids: list[Any] | None = None
    lost: set[str] = field(default_factory=set)
    pushed: dict[str, Message] = field(default_factory=dict)
    looks: int = 0

    def get_node_ids(self) -> Iterable[int]:
        return self.online

    def push_messages(self, messages: Iterable[Message]) -> Iterable[Any]:
        if self.ids is not None:
            return self.ids
        made = {f"message {len(self.pushed)}": message for message in messages}
        self.pushed |= made
        return list(made)

    def pull_messages(self, ids: Iterable[str]) -> Iterable[Message]:
        self.looks += 1
        for message in (self.pushed[name] for name in ids if name not in self.lost):
            node = message.metadata.dst_node_id
            due = self.looks > self.late.get(node, 0) and self.clock.now >= self.at.get(node, 0.0)
            if node in self.answers and due:
                yield Message(self.answers[node], reply_to=message)


@pytest.fixture(autouse=True)
def hurry(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(grid_module, "POLL", 0.001)


def ask(nodes: Nodes, question: Any = QUESTION, patience: float = 0.05) -> dict[str, Any]:
    channel = FlowerChannel(cast(Grid, nodes), NODES, patience, MAX_BATCH_BYTES)
    return dict(channel.ask(dict.fromkeys(NODES, question)))


def roll(holder: str, *devices: int) -> RecordDict:
    return carried(to_records(RollAnswer(holder, np.array(devices, np.int32))))


def test_each_holder_is_asked_and_gives_its_own_answer() -> None:
    nodes = Nodes(answers={node: roll(name, node) for name, node in NODES.items()}, late={12: 5})
    outcomes = ask(nodes, patience=20)
    assert {name: fields["devices"].tolist() for name, fields in outcomes.items()} == {
        "ada": [11],
        "ben": [12],
        "cyd": [13],
    }
    assert list(outcomes)[-1] == "ben"
    assert {message.metadata.message_type for message in nodes.pushed.values()} == {"query.roll"}


def test_a_holder_that_is_not_registered_is_not_waited_for() -> None:
    nodes = Nodes(online={11}, answers={11: roll("ada", 1)})
    channel = FlowerChannel(cast(Grid, nodes), {"ada": 11}, 20, MAX_BATCH_BYTES)
    outcomes = dict(channel.ask(dict.fromkeys(["cyd", "ada"], QUESTION)))
    assert outcomes["cyd"] == Failure("not registered with the server")
    assert len(nodes.pushed) == 1


def test_a_holder_that_is_not_online_within_patience_fails_without_being_asked() -> None:
    nodes = Nodes(online={11, 13}, answers={11: roll("ada", 1), 13: roll("cyd", 3)})
    assert ask(nodes)["ben"] == Failure("was not online within 0.05 s")
    assert {message.metadata.dst_node_id for message in nodes.pushed.values()} == {11, 13}


def test_a_holder_that_does_not_answer_in_time_fails() -> None:
    outcomes = ask(Nodes(answers={11: roll("ada", 1)}))
    assert outcomes["ben"] == outcomes["cyd"] == Failure("no answer in 0.05 s")


@dataclass
class Absences(Nodes):
    """A grid whose nodes are away at times: `away` has for a node from when to when."""

    away: dict[int, tuple[float, float]] = field(default_factory=dict)

    def _is_away(self, node: int) -> bool:
        begin, end = self.away.get(node, (0.0, 0.0))
        return begin <= self.clock.now < end

    def get_node_ids(self) -> Iterable[int]:
        return {node for node in self.online if not self._is_away(node)}

    def pull_messages(self, ids: Iterable[str]) -> Iterable[Message]:
        for name in ids:
            message = self.pushed[name]
            node = message.metadata.dst_node_id
            if self._is_away(node):
                yield Message(Error(ErrorCode.NODE_UNAVAILABLE, "no heartbeat"), reply_to=message)
            elif self.clock.now >= self.at.get(node, 0.0) and node in self.answers:
                yield Message(self.answers[node], reply_to=message)


def ask_by_clock(nodes: Nodes, question: Any, patience: float, patch: pytest.MonkeyPatch) -> dict[str, Any]:
    patch.setattr(grid_module, "time", nodes.clock)
    patch.setattr(grid_module, "POLL", 1.0)
    return ask(nodes, question, patience)


@pytest.mark.parametrize("question", [QUESTION, SAMPLES[WalksQuestion]], ids=["roll", "walks"])
@pytest.mark.parametrize("away", [(0.0, 35.0), (3.0, 38.0)], ids=["at first", "while it is asked"])
def test_a_holder_that_is_away_for_less_than_patience_is_asked_again_when_it_is_back(
    question: Any, away: tuple[float, float], monkeypatch: pytest.MonkeyPatch
) -> None:
    nodes = Absences(answers={node: roll(name, node) for name, node in NODES.items()}, at={12: 40.0}, away={12: away})
    outcomes = ask_by_clock(nodes, question, 120.0, monkeypatch)
    assert not any(isinstance(outcome, Failure) for outcome in outcomes.values())
    times = [message.metadata.dst_node_id for message in nodes.pushed.values()].count(12)
    assert times == (1 if away[0] == 0 else 2)
    assert nodes.clock.now < 45


def test_a_holder_that_is_away_for_longer_is_lost_when_patience_is_over(monkeypatch: pytest.MonkeyPatch) -> None:
    answers = {node: roll(name, node) for name, node in NODES.items()}
    nodes = Absences(answers=answers, at={12: 10.0}, away={12: (3.0, 500.0)})
    assert ask_by_clock(nodes, QUESTION, 120.0, monkeypatch)["ben"] == Failure("was away for 120 s")
    assert 122 <= nodes.clock.now <= 126


def test_a_holder_that_comes_and_goes_is_asked_a_limited_number_of_times(monkeypatch: pytest.MonkeyPatch) -> None:
    class Flickering(Absences):
        def _is_away(self, node: int) -> bool:
            return node == 12 and int(self.clock.now) % 4 < 2

    nodes = Flickering(answers={11: roll("ada", 1), 13: roll("cyd", 3)})
    assert isinstance(ask_by_clock(nodes, SAMPLES[WalksQuestion], 60.0, monkeypatch)["ben"], Failure)
    assert len(nodes.pushed) == 2 + MAX_SENDS


def test_a_question_that_was_lost_with_a_process_is_asked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Between two heartbeats: Flower doesn't notice that the process that had the question is gone."""
    nodes = Nodes(answers={11: roll("ada", 1), 12: roll("ben", 2), 13: roll("cyd", 3)}, lost={"message 1"})
    outcomes = ask_by_clock(nodes, QUESTION, 20.0, monkeypatch)
    assert not any(isinstance(outcome, Failure) for outcome in outcomes.values())
    assert len(nodes.pushed) == 4


def test_a_holder_whose_process_crashed_is_asked_again_a_limited_number_of_times(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    crashed = Error(ErrorCode.CLIENT_APP_CRASHED, "ClientApp stopped responding.")
    nodes = Nodes(answers={11: roll("ada", 1), 12: crashed, 13: roll("cyd", 3)})
    outcomes = ask_by_clock(nodes, SAMPLES[WalksQuestion], 60.0, monkeypatch)
    assert outcomes["ben"] == Failure("Flower: ClientApp stopped responding.")
    assert [message.metadata.dst_node_id for message in nodes.pushed.values()].count(12) == 1 + MAX_CRASHES


def test_a_holder_that_the_operator_removes_is_waited_for_no_longer(monkeypatch: pytest.MonkeyPatch) -> None:
    nodes = Nodes(answers={11: roll("ada", 1), 13: roll("cyd", 3)}, at={13: 50.0})
    monkeypatch.setattr(grid_module, "time", nodes.clock)
    monkeypatch.setattr(grid_module, "POLL", 1.0)
    removed = FlowerChannel(
        cast(Grid, nodes), NODES, 1000.0, MAX_BATCH_BYTES, lambda name: name != "ben" or nodes.clock.now < 30
    )
    outcomes = list(removed.ask(dict.fromkeys(NODES, SAMPLES[WalksQuestion])))
    assert [name for name, _ in outcomes] == ["ada", "ben", "cyd"]
    assert outcomes[1][1] == Failure("removed by the operator")


def test_walks_have_no_time_limit_while_all_holders_walk() -> None:
    question = SAMPLES[WalksQuestion]
    nodes = Nodes(
        answers={node: roll(name, node) for name, node in NODES.items()}, late=dict.fromkeys(NODES.values(), 60)
    )
    assert not any(isinstance(one, Failure) for one in ask(nodes, question, patience=0.0).values())


def walk(nodes: Nodes, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Ask for walks with a patience of 10 seconds, of the grid's own clock."""
    monkeypatch.setattr(grid_module, "time", nodes.clock)
    monkeypatch.setattr(grid_module, "POLL", 1.0)
    return ask(nodes, SAMPLES[WalksQuestion], patience=10.0)


EARLY = {
    "an error of Flower's": Error(3, "the node is gone"),
    "a refusal": fields_to_records({REFUSAL: "not with me"}),
    "what can't be read": RecordDict(),
    "an answer": roll("ada", 1),
}


@pytest.mark.parametrize("early", list(EARLY.values()), ids=list(EARLY))
def test_one_early_reply_does_not_cut_off_the_holders_that_still_walk(
    early: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    nodes = Nodes(answers={11: early, 12: roll("ben", 2), 13: roll("cyd", 3)}, at={12: 5000.0, 13: 5050.0})
    outcomes = walk(nodes, monkeypatch)
    assert not isinstance(outcomes["ben"], Failure)
    assert not isinstance(outcomes["cyd"], Failure)


@pytest.mark.parametrize("first", [roll("ada", 1), Error(3, "the node is gone")], ids=["answer", "fail"])
def test_a_holder_that_walks_long_after_all_others_is_given_up(first: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    nodes = Nodes(answers={11: first, 12: roll("ben", 2)}, at={12: 5000.0})
    assert walk(nodes, monkeypatch)["cyd"] == Failure("no answer, long after the other holders")
    assert 0 <= nodes.clock.now - (5000 + STRAGGLER_FACTOR * 10) <= 2


def test_a_failure_after_an_answer_starts_the_deadline_of_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    nodes = Nodes(answers={11: roll("ada", 1), 12: Error(3, "the node is gone")}, at={11: 100.0, 12: 3000.0})
    assert walk(nodes, monkeypatch)["cyd"] == Failure("no answer, long after the other holders")
    assert 0 <= nodes.clock.now - (3000 + STRAGGLER_FACTOR * 10) <= 2


def test_an_answer_beyond_the_federations_bound_is_refused() -> None:
    outcomes = ask(Nodes(answers={node: roll(name, *range(5000)) for name, node in NODES.items()}))
    assert set(outcomes.values()) == {Failure("records: arrays of more than 0 MB in all.", invalid=True)}


@pytest.mark.parametrize("ids", [[], [None]])
def test_a_question_that_flower_rejects_affects_its_holder_only(ids: list[Any]) -> None:
    assert set(ask(Nodes(ids=ids)).values()) == {Failure("Flower's server rejected the question")}


def reply(content: Any, node: int = 11) -> Message:
    asked = Message(RecordDict(), dst_node_id=node, message_type="query.roll")
    return Message(content, reply_to=asked)


def test_an_answer_from_another_node_is_refused() -> None:
    assert read_reply(reply(roll("ada", 1), node=12), 11, MAX_BATCH_BYTES) == Failure(
        "the answer came from another node", invalid=True
    )


def test_an_error_from_flower_is_a_failure_and_not_a_refusal() -> None:
    failure = read_reply(reply(Error(3, "x" * 9999)), 11, MAX_BATCH_BYTES)
    assert isinstance(failure, Failure)
    assert not failure.invalid
    assert failure.reason.startswith("Flower: xxx")
    assert len(failure.reason) < 400


def test_a_holder_that_refuses_is_quoted() -> None:
    failure = read_reply(reply(fields_to_records({REFUSAL: "not with me"})), 11, MAX_BATCH_BYTES)
    assert failure == Failure("refused: not with me")


def test_records_that_cannot_be_read_are_refused() -> None:
    failure = read_reply(reply(RecordDict()), 11, MAX_BATCH_BYTES)
    assert isinstance(failure, Failure)
    assert failure.invalid
    assert "expected one of arrays" in failure.reason
