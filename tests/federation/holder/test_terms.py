"""The owner's terms: what they refuse, and that a refusal says how the owner can allow it."""

import json
import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from fedwalk.errors import BudgetError, ProtocolError, SettingsError
from fedwalk.federation.holder import terms
from fedwalk.federation.holder.terms import Terms, check_terms
from fedwalk.federation.wire.questions import (
    MatricesQuestion,
    Question,
    ReportsQuestion,
    RollQuestion,
    VectorsQuestion,
    WalksQuestion,
)
from fedwalk.protocols.registry import federated_protocols

PLACES = np.arange(34, dtype=np.int32)
VECTORS = VectorsQuestion("run", 3, 2.0, PLACES, PLACES % np.int32(3))
MATRICES = MatricesQuestion("run", PLACES, np.ones((34, 3), np.float32))


def roll(protocol: str) -> RollQuestion:
    return RollQuestion("run", protocol, np.frombuffer(json.dumps(["a", "b"]).encode(), np.uint8))


def walks(count: int) -> WalksQuestion:
    """A question with only the two fields that the terms check."""
    blank: dict[str, Any] = dict.fromkeys(WalksQuestion.__slots__)
    return WalksQuestion(**{**blank, "count": count, "participants": np.arange(34, dtype=np.int32)})


@pytest.mark.parametrize("question", [VECTORS, MATRICES, walks(34)], ids=lambda question: question.phase)
def test_paper_needs_the_owners_consent_and_no_budget(question: Question) -> None:
    with pytest.raises(ProtocolError, match=r"has agreed to ldp. .* the owner has to add it to `protocols`"):
        check_terms(Terms(), question)
    check_terms(Terms(protocols=("paper",)), question)
    with pytest.raises(BudgetError, match=r"no budget allows it; the owner's is 8. .* take `budget` out"):
        check_terms(Terms(protocols=("ldp", "paper"), budget=8), question)


def test_the_roll_call_says_which_protocol_it_is_for() -> None:
    check_terms(Terms(), roll("ldp"))
    with pytest.raises(ProtocolError, match=r"protocol 'paper': the owner"):
        check_terms(Terms(), roll("paper"))
    with pytest.raises(ProtocolError, match=r"protocol 'deepwalk': the owner"):
        check_terms(Terms(("ldp", "paper")), roll("deepwalk"))


def test_reports_need_consent_to_ldp_and_may_have_a_budget() -> None:
    question = ReportsQuestion("run", 34, 2.0, 0)
    check_terms(Terms(budget=1.0), question)
    with pytest.raises(ProtocolError, match=r"has agreed to paper"):
        check_terms(Terms(("paper",)), question)


def test_no_device_starts_more_walks_than_its_owner_allows() -> None:
    few = Terms(("paper",), max_walks=10)
    check_terms(few, walks(340))
    with pytest.raises(ProtocolError, match=r"11 walks per device, but .* agreed to 10.* raise `max_walks`"):
        check_terms(few, walks(341))


@pytest.mark.parametrize(
    "wrong",
    [
        {"protocols": ("deepwalk",)},
        {"protocols": "paper"},
        {"budget": -1},
        {"budget": math.inf},
        {"budget": math.nan},
        {"budget": "8"},
        {"budget": True},
        {"max_walks": 0},
        {"max_walks": 1.5},
        {"max_walks": True},
    ],
)
def test_terms_that_make_no_sense_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(SettingsError, match=next(iter(wrong))):
        Terms(**wrong)


def test_by_default_a_holder_takes_part_in_what_the_protocols_allow(monkeypatch: pytest.MonkeyPatch) -> None:
    known = federated_protocols()
    opened = {name: replace(one, allowed_by_default=True) for name, one in known.items()}
    monkeypatch.setattr(terms, "federated_protocols", lambda: opened)
    assert Terms().protocols == tuple(known)
    monkeypatch.undo()
    assert Terms().protocols == tuple(name for name, one in known.items() if one.allowed_by_default) == ("ldp",)
