"""The owner's terms: what they refuse, and that a refusal says how the owner can allow it."""

import json
import math
from typing import Any

import numpy as np
import pytest

from fedwalk.errors import BudgetError, ProtocolError, SettingsError
from fedwalk.federation.holder.terms import Terms, check_terms
from fedwalk.federation.wire.questions import (
    MatricesQuestion,
    ReportsQuestion,
    RollQuestion,
    VectorsQuestion,
    WalksQuestion,
)

PLACES = np.arange(34, dtype=np.int32)
VECTORS = VectorsQuestion("run", 3, 2.0, PLACES, PLACES % np.int32(3))
MATRICES = MatricesQuestion("run", PLACES, np.ones((34, 3), np.float32))


def roll(protocol: str) -> RollQuestion:
    return RollQuestion("run", protocol, np.frombuffer(json.dumps(["a", "b"]).encode(), np.uint8))


def walks(count: int) -> WalksQuestion:
    """A question with only the two fields that the terms check."""
    blank: dict[str, Any] = dict.fromkeys(WalksQuestion.__slots__)
    return WalksQuestion(**{**blank, "count": count, "participants": np.arange(34, dtype=np.int32)})


@pytest.mark.parametrize("phase", ["vectors", "matrices", "walks"])
def test_paper_needs_the_owners_consent_and_no_budget(phase: str) -> None:
    question = {"vectors": VECTORS, "matrices": MATRICES, "walks": walks(34)}[phase]
    with pytest.raises(ProtocolError, match=r"has agreed to ldp. .* the owner has to add it to `protocols`"):
        check_terms(Terms(), phase, question)
    check_terms(Terms(protocols=("paper",)), phase, question)
    with pytest.raises(BudgetError, match=r"no budget allows it; the owner's is 8. .* take `budget` out"):
        check_terms(Terms(protocols=("ldp", "paper"), budget=8), phase, question)


def test_the_roll_call_says_which_protocol_it_is_for() -> None:
    check_terms(Terms(), "roll", roll("ldp"))
    with pytest.raises(ProtocolError, match=r"protocol 'paper': the owner"):
        check_terms(Terms(), "roll", roll("paper"))
    with pytest.raises(ProtocolError, match=r"protocol 'deepwalk': the owner"):
        check_terms(Terms(("ldp", "paper")), "roll", roll("deepwalk"))


def test_reports_need_consent_to_ldp_and_may_have_a_budget() -> None:
    question = ReportsQuestion("run", 34, 2.0, 0)
    check_terms(Terms(budget=1.0), "reports", question)
    with pytest.raises(ProtocolError, match=r"has agreed to paper"):
        check_terms(Terms(("paper",)), "reports", question)


def test_no_device_starts_more_walks_than_its_owner_allows() -> None:
    terms = Terms(("paper",), most_walks=10)
    check_terms(terms, "walks", walks(340))
    with pytest.raises(ProtocolError, match=r"11 walks per device, but .* agreed to 10.* raise `most_walks`"):
        check_terms(terms, "walks", walks(341))


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
        {"most_walks": 0},
        {"most_walks": 1.5},
        {"most_walks": True},
    ],
)
def test_terms_that_make_no_sense_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(SettingsError, match=next(iter(wrong))):
        Terms(**wrong)
