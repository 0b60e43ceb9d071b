"""A device of protocol `ldp`: it has the neighbour list, and decides whether anything may be sent (PROOFS.md, 1).

It sends one bit for each pair that it owns ("is it an edge?", by randomised response), as a report of the ids whose bit
is 1. When asked the same question again, the device sends the same report, which costs nothing, even if its neighbours
have changed meanwhile: a new draw would reveal the change. Another question, for example with another ε, is a new
release, whose cost is added to the ledger.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fedwalk.errors import ProtocolError
from fedwalk.privacy.ledger import Ledger
from fedwalk.privacy.randomness import Randomness
from fedwalk.protocols.ldp.mechanism import RandomisedResponse, report_release
from fedwalk.protocols.ldp.messages import Report, ReportPlan

MAX_EPOCHS, MAX_VERTICES = 1 << 20, 2**31 - 1
"""The draws of an epoch begin at counter epoch · 2⁴⁰, which must fit 64 bits; ids are 32-bit integers."""


@dataclass(slots=True)
class ReportDevice:
    """One vertex, its neighbour list, its ledger, and the reports that it has sent.

    `keep` is called with the device's state before a new report is sent, and must store it: a device that restarts
    without its earlier report would draw another one, which is another release.
    """

    identity: int
    neighbours: NDArray[np.int32]
    randomness: Randomness
    ledger: Ledger = field(default_factory=Ledger)
    reports: dict[str, NDArray[np.int32]] = field(default_factory=dict)
    keep: Callable[[dict[str, Any]], None] | None = None

    def report(self, plan: ReportPlan) -> Report:
        """Answer a plan, which is all that a device does. BudgetError is raised before anything is drawn or sent."""
        self._check(plan)
        mechanism = RandomisedResponse.of(plan.epsilon)
        question = _question(plan)
        if question not in self.reports:
            # The ledger comes first: a report that the budget refuses must not even be drawn.
            if not self.ledger.spend(question, report_release(mechanism)):
                raise ProtocolError(
                    f"device {self.identity}: has answered this before, but the report is lost, and another draw would "
                    "be another release. Restore the stored state, or ask with another ε, whose cost is added."
                )
            self.reports[question] = mechanism.release(self.identity, self.neighbours, plan, self.randomness)
            if self.keep is not None:
                self.keep(self.state())
        return Report(self.identity, self.reports[question])

    def check_budget(self, plan: ReportPlan) -> None:
        """Raise BudgetError if `report` would raise it, without spending, drawing or storing anything."""
        if _question(plan) not in self.reports:
            # Spend from a copy, so that the check itself costs nothing.
            trial = Ledger(self.ledger.budget, dict(self.ledger.releases))
            trial.spend(_question(plan), report_release(RandomisedResponse.of(plan.epsilon)))

    def _check(self, plan: ReportPlan) -> None:
        """Raise ProtocolError unless the proof's assumptions hold.

        Neighbours must ascend: one out of place would be treated as a non-neighbour as well, and reported twice.
        """
        if (np.diff(self.neighbours) <= 0).any() or self.identity in self.neighbours:
            raise ProtocolError(
                f"device {self.identity}: its neighbours must ascend, without repeats and without the device itself."
            )
        if not 0 <= plan.epoch < MAX_EPOCHS:
            raise ProtocolError(f"device {self.identity}: epoch {plan.epoch} isn't one of 0 … {MAX_EPOCHS - 1}.")
        if plan.vertices > MAX_VERTICES:
            raise ProtocolError(f"device {self.identity}: {plan.vertices} vertices are more than there are ids.")
        ends = [self.identity, *self.neighbours[:1].tolist(), *self.neighbours[-1:].tolist()]
        if min(ends) < 0 or max(ends) >= plan.vertices:
            raise ProtocolError(
                f"device {self.identity}: the plan has {plan.vertices} vertices, without this one or one of its "
                "neighbours."
            )

    def state(self) -> dict[str, Any]:
        """What the device must store between runs, for JSON. It contains no more than was sent, and what that cost."""
        reports = {question: ids.tolist() for question, ids in self.reports.items()}
        return {"device": self.identity, "ledger": self.ledger.as_dict(), "reports": reports}

    def restore(self, state: dict[str, Any]) -> None:
        """Continue from a stored state, with the current budget of the device."""
        if state["device"] != self.identity:
            raise ProtocolError(f"device {self.identity}: the stored state is device {state['device']}'s.")
        self.ledger = Ledger.from_dict(state["ledger"], f"device {self.identity}", self.ledger.budget)
        self.reports = {question: _kept_ids(ids) for question, ids in state["reports"].items()}


def _kept_ids(ids: Any) -> NDArray[np.int32]:
    """A report from a stored state; ValueError if it isn't a list of ascending ids."""
    if not isinstance(ids, list) or not all(type(i) is int for i in ids):
        raise ValueError("a report isn't a list of ids")
    array = np.array(ids, np.int64)
    if ids and (array[0] < 0 or array[-1] >= MAX_VERTICES or (np.diff(array) <= 0).any()):
        raise ValueError("a report's ids don't ascend, or are out of range")
    return array.astype(np.int32)


def _question(plan: ReportPlan) -> str:
    """The key under which the report for a plan is stored."""
    return f"{plan.vertices} vertices, epsilon {plan.epsilon!r}, epoch {plan.epoch}"
