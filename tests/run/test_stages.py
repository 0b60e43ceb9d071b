"""The stage runner: each stage is computed once, timed, counted, and taken from a store that has it."""

from collections.abc import Callable
from typing import Any

import pytest

from fedwalk.protocols.paper.messages import Sequence
from fedwalk.protocols.stages import Stage
from fedwalk.protocols.transcript import Transcript
from fedwalk.run.stages import Account, StageRunner
from fedwalk.util.parallel import Progress


def stage_of(name: str) -> Stage[str]:
    """A stage whose value no file has to hold."""
    return Stage(name, (), lambda value: {}, lambda files: "")


WALKS, VECTORS, MATRICES = map(stage_of, ("walks", "vectors", "matrices"))


class Memory:
    """A store that outlives an attempt."""

    def __init__(self) -> None:
        self.values: dict[str, Any] = {}
        self.accounts: dict[str, Account] = {}

    def finished(self) -> dict[str, Account]:
        return dict(self.accounts)

    def has(self, stage: Stage[Any]) -> bool:
        return stage.name in self.values

    def load(self, stage: Stage[Any]) -> Any:
        return self.values[stage.name]

    def save(self, stage: Stage[Any], value: Any, account: Account) -> None:
        self.accounts[stage.name] = account
        if value is not None:
            self.values[stage.name] = value


def sending(stages: StageRunner, value: str, messages: int = 1) -> Callable[[Progress], str]:
    """A stage that sends some messages and gives a value."""

    def compute(on_progress: Progress) -> str:
        for _ in range(messages):
            stages.transcript.record(Sequence(walk=0, entries=(1, 2)))
        on_progress(messages, messages)
        return value

    return compute


def refusing(on_progress: Progress) -> str:
    raise AssertionError("this stage was to be taken, not computed")


def sent(transcript: Transcript) -> int:
    return transcript.count("sequences")


def test_a_stage_is_computed_once() -> None:
    stages = StageRunner()
    assert stages.run(WALKS, sending(stages, "w", 3)) == "w"
    assert stages.run(WALKS, refusing) == "w"
    assert sent(stages.total()) == 3
    assert stages.seconds().keys() == {"walks"}


def test_a_value_that_was_passed_in_is_taken_and_costs_nothing() -> None:
    stages = StageRunner(values={"walks": "given"})
    assert stages.run(WALKS, refusing) == "given"
    assert stages.accounts == {}


def test_each_stage_accounts_for_its_own_messages() -> None:
    stages = StageRunner()
    stages.run(VECTORS, sending(stages, "v", 2))
    stages.run(WALKS, sending(stages, "w", 5))
    assert [sent(stages.accounts[name].transcript) for name in ("vectors", "walks")] == [2, 5]
    assert sent(stages.total()) == 7


def test_a_second_attempt_takes_what_the_first_one_stored() -> None:
    store = Memory()
    first = StageRunner(store=store)
    first.run(VECTORS, sending(first, "v", 2))
    second = StageRunner(store=store)
    assert second.run(VECTORS, refusing) == "v"
    second.run(WALKS, sending(second, "w", 5))
    assert sent(second.total()) == 7
    assert second.seconds()["vectors"] == first.seconds()["vectors"]


def test_a_value_that_is_not_kept_is_computed_again_and_counted_once() -> None:
    store = Memory()
    first = StageRunner(store=store)
    first.run(MATRICES, sending(first, "m", 4), keep=False)
    second = StageRunner(store=store)
    assert not second.has(MATRICES)
    assert second.run(MATRICES, sending(second, "m", 4), keep=False) == "m"
    assert sent(second.total()) == 4
    assert second.seconds() == first.seconds()


def test_a_stage_that_fails_has_no_account() -> None:
    store = Memory()
    stages = StageRunner(store=store)
    with pytest.raises(AssertionError):
        stages.run(WALKS, refusing)
    assert not stages.has(WALKS)
    assert stages.accounts == store.accounts == {}


def test_progress_is_called_at_the_beginning_between_and_at_the_end() -> None:
    calls: list[tuple[str, int, int]] = []
    stages = StageRunner(on_progress=lambda *news: calls.append(news))
    stages.run(WALKS, sending(stages, "w", 5))
    assert calls == [("walks", 0, 1), ("walks", 5, 5), ("walks", 1, 1)]


def test_progress_is_called_for_a_stage_that_was_loaded() -> None:
    store = Memory()
    store.save(WALKS, "w", Account(1.0, Transcript()))
    calls: list[tuple[str, int, int]] = []
    assert StageRunner(store=store, on_progress=lambda *news: calls.append(news)).run(WALKS, refusing) == "w"
    assert calls == [("walks", 1, 1)]


def test_asking_for_a_stage_that_did_not_run_is_a_key_error() -> None:
    with pytest.raises(KeyError, match="tree"):
        StageRunner().get(stage_of("tree"))
