"""Counter-based random numbers: fixed for all versions, with the right distributions, uncorrelated."""

import numpy as np
import pytest
from scipy import stats

from fedwalk.kernels.random import BINS, NOISE, WALK, below, draw, laplace, lots, stream, uniform
from fedwalk.privacy.randomness import SimulatedRandomness, SystemRandomness

FALSE_ALARM = 1e-3
"""Chance that a correct generator fails a statistical test; the seeds are fixed, so it is settled once."""


def bits(count: int, purpose: int = WALK, seed: int = 0) -> list[np.uint64]:
    key = np.uint64(stream(seed, purpose, 7))
    return [np.uint64(draw(key, i)) for i in range(count)]


def test_draws_never_change_between_versions() -> None:
    # Published walks and embeddings are functions of these numbers.
    assert int(stream(0, WALK, 0)) != int(stream(0, BINS, 0)) != int(stream(1, BINS, 0))
    assert int(draw(np.uint64(stream(0, WALK, 0)), 0)) == 9523871107687072808


def test_uniform_draws_are_uniform() -> None:
    draws = [uniform(b) for b in bits(20_000)]
    assert min(draws) >= 0.0
    assert max(draws) < 1.0
    assert stats.kstest(draws, "uniform").pvalue > FALSE_ALARM


def test_neighbouring_streams_and_counters_are_uncorrelated() -> None:
    keys = [np.uint64(stream(3, WALK, walk)) for walk in range(200)]
    table = np.array([[uniform(np.uint64(draw(key, counter))) for counter in range(200)] for key in keys])
    for shifted in (table[1:, :], table[:, 1:]):
        original = table[: shifted.shape[0], : shifted.shape[1]]
        correlation = np.corrcoef(original.ravel(), shifted.ravel())[0, 1]
        assert abs(correlation) < stats.norm.isf(FALSE_ALARM / 2) / np.sqrt(original.size)


def test_below_is_uniform_over_its_range() -> None:
    counts = np.bincount([below(b, 7) for b in bits(14_000)], minlength=7)
    assert counts.size == 7
    assert stats.chisquare(counts).pvalue > FALSE_ALARM


@pytest.mark.parametrize("scale", [0.25, 2.0])
def test_laplace_draws_follow_the_laplace_distribution(scale: float) -> None:
    draws = [laplace(b, scale) for b in bits(20_000, NOISE)]
    assert stats.kstest(draws, stats.laplace(scale=scale).cdf).pvalue > FALSE_ALARM


def test_laplace_is_finite_at_both_ends_of_the_range() -> None:
    ends = [laplace(np.uint64(0), 1.0), laplace(np.uint64(2**64 - 1), 1.0)]
    assert np.isfinite(ends).all()
    assert ends[0] == -ends[1]


def test_lots_are_the_same_draws_as_one_by_one() -> None:
    indices = np.array([5, 0, 123456789])
    expected = [draw(np.uint64(stream(9, BINS, int(i))), 2) for i in indices]
    assert lots(9, BINS, indices, 2).tolist() == expected


def test_simulated_randomness_is_a_function_of_its_name() -> None:
    first, second = SimulatedRandomness(4), SimulatedRandomness(4)
    assert first.bits(NOISE, 3, 1) == second.bits(NOISE, 3, 1)
    assert first.bits(NOISE, 3, 1) != first.bits(NOISE, 3, 2)
    assert SimulatedRandomness(5).bits(NOISE, 3, 1) != first.bits(NOISE, 3, 1)


def test_system_randomness_never_repeats_a_draw_for_its_name() -> None:
    source = SystemRandomness()
    draws = {int(source.bits(NOISE, 0, 0)) for _ in range(1000)}
    assert len(draws) == 1000
