"""A device in protocol `ldp`: what holds the neighbour list, and decides whether anything may leave (PROOFS.md, 1).

What leaves is one bit for each pair that the device owns: "is it an edge?", by randomised response, sent as the list of
the ids whose bit is 1. Asked the same again, the device sends the same list, which costs nothing, even if its
neighbours have changed meanwhile: another draw would tell that they have. Asked something else, in a new epoch for one,
its ledger adds up.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fedwalk.errors import ProtocolError
from fedwalk.privacy.accounts import list_release
from fedwalk.privacy.ledger import Ledger
from fedwalk.privacy.mechanisms import RandomisedResponse
from fedwalk.protocol.messages import ListPlan, NoisyList
from fedwalk.protocol.randomness import Randomness

MOST_EPOCHS, MOST_VERTICES = 1 << 20, 2**31 - 1


@dataclass(slots=True)
class ListDevice:
    """One vertex, its list, its ledger, and the answers that it has given.

    `keep` is handed the device's state before a new answer leaves. It must store it: a device that sends, dies and
    comes back without its answer would draw another one.
    """

    identity: int
    neighbours: NDArray[np.int32]
    randomness: Randomness
    ledger: Ledger = field(default_factory=Ledger)
    answers: dict[str, NDArray[np.int32]] = field(default_factory=dict)
    keep: Callable[[dict[str, Any]], None] | None = None

    def report(self, plan: ListPlan) -> NoisyList:
        """The device's whole part in the protocol. Raises BudgetError before anything is drawn or sent."""
        self._check(plan)
        mechanism = RandomisedResponse.of(plan.epsilon)
        question = _question(plan)
        if question not in self.answers:
            if not self.ledger.spend(question, list_release(mechanism)):
                raise ProtocolError(
                    f"device {self.identity}: has answered this before, and the answer is lost; another draw would be "
                    "another release. Restore the kept state, or ask in another epoch."
                )
            self.answers[question] = mechanism.release(self.identity, self.neighbours, plan, self.randomness)
            if self.keep is not None:
                self.keep(self.state())
        return NoisyList(self.identity, self.answers[question])

    def check_budget(self, plan: ListPlan) -> None:
        """BudgetError if `report` would raise it; nothing is spent, drawn or kept."""
        if _question(plan) not in self.answers:
            trial = Ledger(self.ledger.budget, dict(self.ledger.releases))
            trial.spend(_question(plan), list_release(RandomisedResponse.of(plan.epsilon)))

    def _check(self, plan: ListPlan) -> None:
        """The proof is for a list that ascends: a neighbour out of place would be a stranger as well."""
        if (np.diff(self.neighbours) <= 0).any() or self.identity in self.neighbours:
            raise ProtocolError(
                f"device {self.identity}: its neighbours must ascend, without repeats and without the device itself."
            )
        if not 0 <= plan.epoch < MOST_EPOCHS:
            raise ProtocolError(f"device {self.identity}: epoch {plan.epoch} isn't one of 0 … {MOST_EPOCHS - 1}.")
        if plan.vertices > MOST_VERTICES:
            raise ProtocolError(f"device {self.identity}: {plan.vertices} vertices are more than ids can tell apart.")
        ends = [self.identity, *self.neighbours[:1].tolist(), *self.neighbours[-1:].tolist()]
        if min(ends) < 0 or max(ends) >= plan.vertices:
            raise ProtocolError(
                f"device {self.identity}: the plan speaks of {plan.vertices} vertices, which leaves out this one or a "
                "neighbour of it."
            )

    def state(self) -> dict[str, Any]:
        """What the device must keep between runs, for JSON: all of it has been sent, or speaks of what was."""
        answers = {question: ids.tolist() for question, ids in self.answers.items()}
        return {"device": self.identity, "ledger": self.ledger.as_dict(), "answers": answers}

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from a kept state; the budget is the device's own of now."""
        if state["device"] != self.identity:
            raise ProtocolError(f"device {self.identity}: the kept state is device {state['device']}'s.")
        self.ledger = Ledger.from_dict(state["ledger"], f"device {self.identity}", self.ledger.budget)
        self.answers = {question: _kept_ids(ids) for question, ids in state["answers"].items()}


def _kept_ids(ids: Any) -> NDArray[np.int32]:
    """An answer from a kept state; ValueError if it isn't a list of ascending ids."""
    if not isinstance(ids, list) or not all(type(i) is int for i in ids):
        raise ValueError("an answer isn't a list of ids")
    array = np.array(ids, np.int64)
    if ids and (array[0] < 0 or array[-1] >= MOST_VERTICES or (np.diff(array) <= 0).any()):
        raise ValueError("an answer's ids don't ascend, or are out of range")
    return array.astype(np.int32)


def _question(plan: ListPlan) -> str:
    """What the plan asks, by which an answer is found again."""
    return f"{plan.vertices} vertices, epsilon {plan.epsilon!r}, epoch {plan.epoch}"
