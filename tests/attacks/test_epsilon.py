"""The bounds against exact binomial arithmetic, by obvious references."""

import math
from itertools import product

import pytest

from fedwalk.attacks.epsilon import one_run_bound, repeats_bound


def chance(hits: int, total: int, rate: float) -> float:
    """P(Binomial(total, rate) = hits)."""
    return math.comb(total, hits) * rate**hits * (1 - rate) ** (total - hits)


def tail(hits: int, total: int, rate: float) -> float:
    """P(Binomial(total, rate) ≥ hits)."""
    return sum(chance(i, total, rate) for i in range(hits, total + 1))


def rate(epsilon: float) -> float:
    return 1 / (1 + math.exp(-epsilon))


def largest_refuted(right: int, guesses: int, confidence: float) -> float:
    """By bisection: the largest ε under which as many right guesses are less likely than 1 − confidence."""
    low, high = 0.0, 60.0
    if tail(right, guesses, rate(low)) > 1 - confidence:
        return 0.0
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if tail(right, guesses, rate(middle)) <= 1 - confidence else (low, middle)
    return low


@pytest.mark.parametrize("guesses", [1, 2, 7, 40])
@pytest.mark.parametrize("confidence", [0.9, 0.95, 0.999])
def test_the_one_run_bound_is_the_largest_epsilon_that_is_refuted(guesses: int, confidence: float) -> None:
    for right in range(guesses + 1):
        expected = largest_refuted(right, guesses, confidence)
        assert one_run_bound(right, guesses, confidence) == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("epsilon", [0.0, 0.5, 2.0, 4.0])
def test_the_one_run_bound_exceeds_a_true_epsilon_as_rarely_as_it_says(epsilon: float) -> None:
    exceeds = sum(chance(r, 60, rate(epsilon)) for r in range(61) if one_run_bound(r, 60) > epsilon)
    assert exceeds <= 0.05


@pytest.mark.parametrize("epsilon", [0.0, 0.5, 2.0, 4.0])
def test_the_bound_over_repeats_exceeds_a_true_epsilon_as_rarely_as_it_says(epsilon: float) -> None:
    exceeds = sum(
        chance(hits, 40, rate(epsilon)) * chance(false, 40, 1 - rate(epsilon))
        for hits, false in product(range(41), repeat=2)
        if repeats_bound(hits, 40, false, 40) > epsilon
    )
    assert exceeds <= 0.05


def test_the_bound_over_repeats_uses_hits_and_misses_alike() -> None:
    assert repeats_bound(900, 1000, 10, 1000) == pytest.approx(repeats_bound(990, 1000, 100, 1000))


def test_all_right_bounds_grow_with_the_number_of_guesses_and_stay_exact() -> None:
    bounds = [one_run_bound(m, m) for m in (10, 1_000, 1_000_000, 10**9)]
    # P(all right) = rate^m, so the error rate is 1 − 0.05^(1/m).
    wrong = [-math.expm1(math.log(0.05) / m) for m in (10, 1_000, 1_000_000, 10**9)]
    assert bounds == pytest.approx([math.log((1 - q) / q) for q in wrong], rel=1e-9)


def test_guesses_at_random_and_none_at_all_bound_nothing() -> None:
    assert one_run_bound(0, 0) == one_run_bound(0, 9) == one_run_bound(5, 10) == 0.0
    assert repeats_bound(0, 9, 0, 9) == repeats_bound(9, 9, 9, 9) == repeats_bound(0, 0, 0, 0) == 0.0
