"""A device in `ldp`: answers once, remembers, and asks its ledger before it draws."""

import json
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from fedwalk.errors import BudgetError, ProtocolError, SettingsError
from fedwalk.privacy.device import ListDevice
from fedwalk.privacy.ledger import Ledger
from fedwalk.privacy.reports import check_list
from fedwalk.protocol.messages import ListPlan
from fedwalk.protocol.randomness import Randomness, SystemRandomness
from privacy.devices import Untouchable

PLAN = ListPlan(vertices=60, epsilon=1.0, epoch=5)


def row(*ids: int) -> NDArray[np.int32]:
    return np.array(ids, np.int32)


def device(budget: float | None = None, randomness: Randomness | None = None) -> ListDevice:
    """On fresh noise, as in a deployment."""
    return ListDevice(0, row(3, 17, 40), randomness or SystemRandomness(), Ledger(budget))


def test_what_it_sends_is_a_list_that_the_server_accepts() -> None:
    message = device().report(PLAN)
    assert message.device == 0
    check_list(PLAN, message)


def test_asked_the_same_again_it_sends_the_same_and_pays_once() -> None:
    asked = device()
    first = asked.report(PLAN).ids.tolist()
    asked.randomness = Untouchable()
    assert asked.report(PLAN).ids.tolist() == first
    assert asked.ledger.per_edge == 1.0


@pytest.mark.parametrize("plan", [ListPlan(60, 1.5, 5), ListPlan(60, 1.0, 6), ListPlan(61, 1.0, 5)])
def test_asked_something_else_it_draws_again_and_pays_again(plan: ListPlan) -> None:
    asked = device()
    asked.report(PLAN)
    asked.report(plan)
    assert asked.ledger.per_edge == 1.0 + plan.epsilon
    assert len(asked.answers) == 2


@pytest.mark.parametrize("changed", [row(3, 17), row(3, 17, 40, 41), row(3, 17, 41), row()])
def test_that_its_list_has_changed_is_not_told_before_the_next_epoch(changed: NDArray[np.int32]) -> None:
    asked = device()
    first = asked.report(PLAN).ids.tolist()
    asked.neighbours, asked.randomness = changed, Untouchable()
    assert asked.report(PLAN).ids.tolist() == first
    assert asked.ledger.per_edge == 1.0
    asked.randomness = SystemRandomness()
    asked.report(ListPlan(60, 1.0, 6))
    assert asked.ledger.per_edge == 2.0


@pytest.mark.parametrize("epoch", [-1, 1 << 20])
def test_an_epoch_that_the_words_do_not_reach_is_refused(epoch: int) -> None:
    with pytest.raises(ProtocolError, match=rf"device 0: epoch {epoch} isn't one of 0 … 1048575"):
        device(randomness=Untouchable()).report(ListPlan(60, 1.0, epoch))


def test_beyond_its_budget_it_refuses_before_anything_is_drawn() -> None:
    asked = device(budget=0.5, randomness=Untouchable())
    with pytest.raises(BudgetError, match=r"Nothing was sent"):
        asked.report(PLAN)
    assert asked.ledger == Ledger(0.5)
    assert asked.answers == {}


def test_a_used_up_budget_still_allows_the_kept_answer() -> None:
    asked = device(budget=1.0)
    first = asked.report(PLAN).ids.tolist()
    asked.randomness = Untouchable()
    with pytest.raises(BudgetError):
        asked.report(ListPlan(60, 1.0, 6))
    assert asked.report(PLAN).ids.tolist() == first


def kept(asked: ListDevice) -> Any:
    return json.loads(json.dumps(asked.state(), allow_nan=False))


def test_it_goes_on_from_its_kept_state_after_a_restart() -> None:
    before = device()
    first = before.report(PLAN).ids.tolist()
    after = device(budget=1.0, randomness=Untouchable())
    after.restore(kept(before))
    assert after.report(PLAN).ids.tolist() == first
    assert after.report(PLAN).ids.dtype == np.int32
    assert after.ledger.per_edge == 1.0
    with pytest.raises(BudgetError):
        after.report(ListPlan(60, 0.1, 5))


def test_a_new_answer_is_kept_before_it_leaves() -> None:
    disk: list[Any] = []

    def fail(state: dict[str, Any]) -> None:
        disk.append(state)
        raise OSError("the disk is full")

    asked = device()
    asked.keep = fail
    with pytest.raises(OSError, match="the disk is full"):
        asked.report(PLAN)
    after = device(randomness=Untouchable())
    after.restore(disk[0])
    assert after.report(PLAN).ids.tolist() == next(iter(disk[0]["answers"].values()))


def test_more_vertices_than_ids_are_refused() -> None:
    with pytest.raises(ProtocolError, match=r"are more than ids can tell apart"):
        device(randomness=Untouchable()).report(ListPlan(2**40, 1.0))


def test_another_devices_state_is_refused() -> None:
    with pytest.raises(ProtocolError, match=r"device 1: the kept state is device 0's"):
        ListDevice(1, row(3), SystemRandomness()).restore(kept(device()))


def test_a_lost_answer_is_not_drawn_again_for_free() -> None:
    asked = device()
    asked.report(PLAN)
    state = kept(asked)
    state["answers"] = {}
    after = device(randomness=Untouchable())
    after.restore(state)
    with pytest.raises(ProtocolError, match=r"the answer is lost; another draw would be another release"):
        after.report(PLAN)


@pytest.mark.parametrize(
    ("identity", "neighbours"),
    [(60, row(3)), (-1, row(3)), (0, row(3, 60)), (0, row(-2, 3))],
)
def test_a_plan_that_leaves_out_somebody_is_refused(identity: int, neighbours: NDArray[np.int32]) -> None:
    with pytest.raises(ProtocolError, match=r"the plan speaks of 60 vertices"):
        ListDevice(identity, neighbours, Untouchable()).report(PLAN)


@pytest.mark.parametrize("neighbours", [row(5, 3), row(3, 3), row(0, 3)])
def test_a_list_that_the_proof_is_not_for_is_refused(neighbours: NDArray[np.int32]) -> None:
    with pytest.raises(ProtocolError, match=r"must ascend, without repeats and without the device itself"):
        ListDevice(0, neighbours, Untouchable()).report(PLAN)


@pytest.mark.parametrize("epsilon", [0.0, -1.0, 1e-30, 31.0, float("nan")])
def test_a_server_cannot_ask_for_an_epsilon_that_is_not_proved(epsilon: float) -> None:
    asked = device(randomness=Untouchable())
    with pytest.raises(SettingsError):
        asked.report(ListPlan(60, epsilon, 5))
    assert asked.ledger == Ledger()
