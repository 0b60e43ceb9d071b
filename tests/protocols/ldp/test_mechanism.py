"""The mechanism's two integers: both ratios within e^ε, no noise wasted, and OpenDP's result for the same coin."""

import math
from decimal import Context, Decimal, localcontext

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedwalk.errors import SettingsError
from fedwalk.privacy.mechanisms import EDGE, LIST_ENTRY, NoisedCounts, Unprotected
from fedwalk.protocols.ldp.mechanism import MAX_EPSILON, MIN_EPSILON, RandomisedResponse

DIGITS = Context(prec=120)


def ratios(keep: int, rate: int) -> list[Decimal]:
    """Of both answers, both ways round."""
    hit, silent = Decimal(keep) / 2**64, (Decimal(-rate) / 2**62).exp()
    yes, no = hit / (1 - silent), silent / (1 - hit)
    return [yes, no, 1 / yes, 1 / no]


@given(st.floats(MIN_EPSILON, MAX_EPSILON) | st.floats(math.log(MIN_EPSILON), math.log(30.0)).map(math.exp))
def test_both_answers_stay_within_the_promise_for_any_epsilon(epsilon: float) -> None:
    epsilon = min(max(epsilon, MIN_EPSILON), MAX_EPSILON)
    mechanism = RandomisedResponse.of(epsilon)
    with localcontext(DIGITS):
        bound = Decimal(epsilon).exp()
        assert max(ratios(mechanism.keep, mechanism.rate)) <= bound
        # Not by luck: one step more would be too sure.
        assert max(ratios(mechanism.keep + 1, mechanism.rate)) > bound


@pytest.mark.parametrize("epsilon", [MIN_EPSILON, 0.001, 0.5, 4.0, 12.0, MAX_EPSILON])
def test_the_chances_are_those_of_randomised_response(epsilon: float) -> None:
    mechanism = RandomisedResponse.of(epsilon)
    assert mechanism.flip == pytest.approx(1 / (1 + math.exp(epsilon)), rel=1e-5)
    assert 1 - mechanism.hit == pytest.approx(1 / (1 + math.exp(epsilon)), rel=1e-3)
    assert mechanism.hit > mechanism.flip


@pytest.mark.parametrize("epsilon", [0.0, -1.0, 1e-30, 30.1, math.inf, math.nan])
def test_an_epsilon_that_the_integers_cannot_honour_is_refused(epsilon: float) -> None:
    with pytest.raises(SettingsError, match=r"protocol ldp takes an epsilon from 1e-09 to 30"):
        RandomisedResponse.of(epsilon)


def test_the_kernels_get_the_same_integers_and_words_enough_for_most_reports() -> None:
    mechanism = RandomisedResponse.of(2.0)
    coins = mechanism.coins(1000)
    assert (int(coins.keep), int(coins.rate)) == (mechanism.keep, mechanism.rate)
    assert isinstance(coins.keep, np.uint64)
    assert coins.words > 1000 * mechanism.flip


def test_each_mechanism_states_its_cost_and_its_unit() -> None:
    assert [RandomisedResponse.of(2.0).cost(k) for k in (0, 1, 3)] == [0.0, 2.0, 6.0]
    assert [NoisedCounts(0.5).cost(k) for k in (0, 1, 3)] == [0.0, 0.5, 1.5]
    assert [Unprotected("why").cost(k) for k in (0, 1, 3)] == [0.0, math.inf, math.inf]
    assert [m.unit for m in (RandomisedResponse.of(2.0), NoisedCounts(1.0))] == [EDGE, LIST_ENTRY]


@pytest.mark.parametrize("epsilon", [0.01, 0.5, 1.0, 2.0, 4.0, 8.0, 12.0])
def test_opendp_finds_no_more_in_the_same_coin_than_the_ledger_says(epsilon: float) -> None:
    prelude = pytest.importorskip("opendp.prelude", reason="OpenDP gives a second opinion; the test extra has it")
    prelude.enable_features("contrib")
    # OpenDP's coin answers truly with one probability for both answers; a double holds it to about 2⁻⁵³, and its odds
    # to 2⁻⁵³ · (1 + e^ε).
    rounding = 4 * 2.0**-53 * (1 + math.exp(epsilon))
    mechanism = RandomisedResponse.of(epsilon)
    for truthful in (mechanism.hit, 1 - mechanism.flip):
        found = prelude.m.make_randomized_response_bool(truthful).map(1)
        assert epsilon - rounding <= found <= epsilon + rounding
