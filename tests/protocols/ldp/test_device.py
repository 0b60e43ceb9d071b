"""A device of `ldp`: it draws one report per question, stores it, and asks its ledger before it draws."""

import json
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from fedwalk.errors import BudgetError, ProtocolError, SettingsError
from fedwalk.privacy.ledger import Ledger
from fedwalk.privacy.randomness import Randomness, SystemRandomness
from fedwalk.protocols.ldp.device import ReportDevice
from fedwalk.protocols.ldp.messages import ReportPlan
from fedwalk.protocols.ldp.reports import check_report
from helpers.tiny_devices import Untouchable

PLAN = ReportPlan(vertices=60, epsilon=1.0, epoch=5)


def row(*ids: int) -> NDArray[np.int32]:
    return np.array(ids, np.int32)


def device(budget: float | None = None, randomness: Randomness | None = None) -> ReportDevice:
    """On fresh noise, as in a deployment."""
    return ReportDevice(0, row(3, 17, 40), randomness or SystemRandomness(), Ledger(budget))


def test_the_server_accepts_the_report_that_a_device_sends() -> None:
    message = device().report(PLAN)
    assert message.device == 0
    check_report(PLAN, message)


def test_the_same_question_gets_the_same_report_and_costs_once() -> None:
    asked = device()
    first = asked.report(PLAN).ids.tolist()
    asked.randomness = Untouchable()
    assert asked.report(PLAN).ids.tolist() == first
    assert asked.ledger.per_edge == 1.0


@pytest.mark.parametrize("plan", [ReportPlan(60, 1.5, 5), ReportPlan(60, 1.0, 6), ReportPlan(61, 1.0, 5)])
def test_another_question_gets_a_new_report_and_costs_again(plan: ReportPlan) -> None:
    asked = device()
    asked.report(PLAN)
    asked.report(plan)
    assert asked.ledger.per_edge == 1.0 + plan.epsilon
    assert len(asked.reports) == 2


@pytest.mark.parametrize("changed", [row(3, 17), row(3, 17, 40, 41), row(3, 17, 41), row()])
def test_a_changed_neighbour_list_changes_no_report_before_the_next_epoch(changed: NDArray[np.int32]) -> None:
    asked = device()
    first = asked.report(PLAN).ids.tolist()
    asked.neighbours, asked.randomness = changed, Untouchable()
    assert asked.report(PLAN).ids.tolist() == first
    assert asked.ledger.per_edge == 1.0
    asked.randomness = SystemRandomness()
    asked.report(ReportPlan(60, 1.0, 6))
    assert asked.ledger.per_edge == 2.0


@pytest.mark.parametrize("epoch", [-1, 1 << 20])
def test_an_epoch_out_of_range_is_refused(epoch: int) -> None:
    with pytest.raises(ProtocolError, match=rf"device 0: epoch {epoch} isn't one of 0 … 1048575"):
        device(randomness=Untouchable()).report(ReportPlan(60, 1.0, epoch))


def test_a_report_beyond_the_budget_is_refused_before_anything_is_drawn() -> None:
    asked = device(budget=0.5, randomness=Untouchable())
    with pytest.raises(BudgetError, match=r"Nothing was sent"):
        asked.report(PLAN)
    assert asked.ledger == Ledger(0.5)
    assert asked.reports == {}


def test_a_used_up_budget_still_allows_the_stored_report() -> None:
    asked = device(budget=1.0)
    first = asked.report(PLAN).ids.tolist()
    asked.randomness = Untouchable()
    with pytest.raises(BudgetError):
        asked.report(ReportPlan(60, 1.0, 6))
    assert asked.report(PLAN).ids.tolist() == first


def kept(asked: ReportDevice) -> Any:
    return json.loads(json.dumps(asked.state(), allow_nan=False))


def test_a_device_continues_from_its_stored_state_after_a_restart() -> None:
    before = device()
    first = before.report(PLAN).ids.tolist()
    after = device(budget=1.0, randomness=Untouchable())
    after.restore(kept(before))
    assert after.report(PLAN).ids.tolist() == first
    assert after.report(PLAN).ids.dtype == np.int32
    assert after.ledger.per_edge == 1.0
    with pytest.raises(BudgetError):
        after.report(ReportPlan(60, 0.1, 5))


def test_a_new_report_is_stored_before_it_is_sent() -> None:
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
    assert after.report(PLAN).ids.tolist() == next(iter(disk[0]["reports"].values()))


def test_more_vertices_than_ids_are_refused() -> None:
    with pytest.raises(ProtocolError, match=r"are more than there are ids"):
        device(randomness=Untouchable()).report(ReportPlan(2**40, 1.0))


def test_another_devices_state_is_refused() -> None:
    with pytest.raises(ProtocolError, match=r"device 1: the stored state is device 0's"):
        ReportDevice(1, row(3), SystemRandomness()).restore(kept(device()))


def test_a_lost_report_is_not_drawn_again() -> None:
    asked = device()
    asked.report(PLAN)
    state = kept(asked)
    state["reports"] = {}
    after = device(randomness=Untouchable())
    after.restore(state)
    with pytest.raises(ProtocolError, match=r"the report is lost, and another draw .*Restore .* or ask with another ε"):
        after.report(PLAN)


@pytest.mark.parametrize(
    ("identity", "neighbours"),
    [(60, row(3)), (-1, row(3)), (0, row(3, 60)), (0, row(-2, 3))],
)
def test_a_plan_without_the_device_or_a_neighbour_is_refused(identity: int, neighbours: NDArray[np.int32]) -> None:
    with pytest.raises(ProtocolError, match=r"the plan has 60 vertices"):
        ReportDevice(identity, neighbours, Untouchable()).report(PLAN)


@pytest.mark.parametrize("neighbours", [row(5, 3), row(3, 3), row(0, 3)])
def test_neighbours_that_the_proof_does_not_cover_are_refused(neighbours: NDArray[np.int32]) -> None:
    with pytest.raises(ProtocolError, match=r"must ascend, without repeats and without the device itself"):
        ReportDevice(0, neighbours, Untouchable()).report(PLAN)


@pytest.mark.parametrize("epsilon", [0.0, -1.0, 1e-30, 31.0, float("nan")])
def test_a_server_cannot_ask_for_an_epsilon_that_is_not_proved(epsilon: float) -> None:
    asked = device(randomness=Untouchable())
    with pytest.raises(SettingsError):
        asked.report(ReportPlan(60, epsilon, 5))
    assert asked.ledger == Ledger()


@pytest.mark.parametrize(
    ("ids", "message"),
    [("3, 7", "a report isn't a list of ids"), ([7, 3], "a report's ids don't ascend"), ([-1], "a report's ids")],
)
def test_a_stored_report_that_is_damaged_is_refused(ids: Any, message: str) -> None:
    asked = device()
    asked.report(PLAN)
    state = kept(asked)
    state["reports"] = {next(iter(state["reports"])): ids}
    with pytest.raises(ValueError, match=message):
        device().restore(state)
