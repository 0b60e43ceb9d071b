"""Stages: each computed once, timed, counted, and taken from a store where it has one."""

from collections.abc import Callable
from typing import Any

import pytest

from fedwalk.kernels.threads import Report
from fedwalk.protocol.messages import Sequence
from fedwalk.protocol.transcript import Transcript
from fedwalk.stages import Account, Stages


class Memory:
    """A store that outlives an attempt."""

    def __init__(self) -> None:
        self.values: dict[str, Any] = {}
        self.accounts: dict[str, Account] = {}

    def finished(self) -> dict[str, Account]:
        return dict(self.accounts)

    def has(self, stage: str) -> bool:
        return stage in self.values

    def load(self, stage: str) -> Any:
        return self.values[stage]

    def save(self, stage: str, value: Any, account: Account) -> None:
        self.accounts[stage] = account
        if value is not None:
            self.values[stage] = value


def sending(stages: Stages, value: str, messages: int = 1) -> Callable[[Report], str]:
    """A stage that sends some messages and gives a value."""

    def compute(report: Report) -> str:
        for _ in range(messages):
            stages.transcript.record(Sequence(walk=0, entries=(1, 2)))
        report(messages, messages)
        return value

    return compute


def refusing(report: Report) -> str:
    raise AssertionError("this stage was to be taken, not computed")


def sent(transcript: Transcript) -> int:
    return transcript.traffic["sequences"].count


def test_a_stage_is_computed_once() -> None:
    stages = Stages()
    assert stages.run("walks", sending(stages, "w", 3)) == "w"
    assert stages.run("walks", refusing) == "w"
    assert sent(stages.total()) == 3
    assert stages.seconds().keys() == {"walks"}


def test_a_value_that_was_passed_in_is_taken_and_costs_nothing() -> None:
    stages = Stages(values={"walks": "given"})
    assert stages.run("walks", refusing) == "given"
    assert stages.accounts == {}


def test_each_stage_accounts_for_its_own_messages() -> None:
    stages = Stages()
    stages.run("vectors", sending(stages, "v", 2))
    stages.run("walks", sending(stages, "w", 5))
    assert [sent(stages.accounts[name].transcript) for name in ("vectors", "walks")] == [2, 5]
    assert sent(stages.total()) == 7


def test_a_second_attempt_takes_what_the_first_one_stored() -> None:
    store = Memory()
    first = Stages(store=store)
    first.run("vectors", sending(first, "v", 2))
    second = Stages(store=store)
    assert second.run("vectors", refusing) == "v"
    second.run("walks", sending(second, "w", 5))
    assert sent(second.total()) == 7
    assert second.seconds()["vectors"] == first.seconds()["vectors"]


def test_a_value_that_is_not_kept_is_computed_again_and_counted_once() -> None:
    store = Memory()
    first = Stages(store=store)
    first.run("matrices", sending(first, "m", 4), keep=False)
    second = Stages(store=store)
    assert not second.has("matrices")
    assert second.run("matrices", sending(second, "m", 4), keep=False) == "m"
    assert sent(second.total()) == 4
    assert second.seconds() == first.seconds()


def test_a_stage_that_fails_leaves_no_trace() -> None:
    store = Memory()
    stages = Stages(store=store)
    with pytest.raises(AssertionError):
        stages.run("walks", refusing)
    assert not stages.has("walks")
    assert stages.accounts == store.accounts == {}


def test_progress_hears_the_beginning_the_middle_and_the_end() -> None:
    heard: list[tuple[str, int, int]] = []
    stages = Stages(progress=lambda *news: heard.append(news))
    stages.run("walks", sending(stages, "w", 5))
    assert heard == [("walks", 0, 1), ("walks", 5, 5), ("walks", 1, 1)]


def test_progress_hears_of_a_stage_that_was_loaded() -> None:
    store = Memory()
    store.save("walks", "w", Account(1.0, Transcript()))
    heard: list[tuple[str, int, int]] = []
    assert Stages(store=store, progress=lambda *news: heard.append(news)).run("walks", refusing) == "w"
    assert heard == [("walks", 1, 1)]


def test_asking_for_a_stage_that_never_was_is_a_key_error() -> None:
    with pytest.raises(KeyError, match="tree"):
        Stages().get("tree")
