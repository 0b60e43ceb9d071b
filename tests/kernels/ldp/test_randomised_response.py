"""The exact sampler: each decision at its threshold, the arithmetic in whole numbers, then the distribution."""

import math
from fractions import Fraction
from itertools import count

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from fedwalk.kernels.ldp.randomised_response import (
    Coins,
    add_fakes,
    below_exactly,
    bernoulli_exp,
    gap,
    keep_neighbours,
    simulated_report,
)
from fedwalk.kernels.random import FAKES, draws
from fedwalk.protocols.ldp.mechanism import RandomisedResponse
from helpers.tiny_devices import ACCEPTED, E_FALSE, E_TRUE, REJECTED, TOP, UNIT, Words

FALSE_ALARM = 1e-3
"""Chance that a correct sampler fails one statistical test; the seeds are fixed, so it is settled once."""

MAX_GAP = 2**31
rates = st.sampled_from([RandomisedResponse.of(epsilon).rate for epsilon in (1e-9, 0.5, 2.0, 8.0, 30.0)])


def array(*words: int) -> Words:
    return np.array(words, np.uint64)


@given(st.integers(1, 2**40), st.data())
def test_below_exactly_is_the_word_modulo_n_and_skips_words_that_would_bias_it(n: int, data: st.DataObject) -> None:
    unbiased = 2**64 - 2**64 % n
    word = data.draw(st.integers(0, unbiased - 1) | st.sampled_from([0, unbiased - 1]))
    assert below_exactly(array(word), 0, n) == (word % n, 1)
    if unbiased < 2**64:
        biased = data.draw(st.integers(unbiased, TOP) | st.sampled_from([unbiased, TOP]))
        assert below_exactly(array(biased, word), 0, n) == (word % n, 2)
        assert below_exactly(array(biased), 0, n)[1] == 2


@given(st.integers(1, UNIT - 1), st.integers(0, 8), st.integers(0, 3), st.booleans())
def test_the_exponential_coin_decides_at_exactly_its_part(part: int, rounds: int, spare: int, by_lot: bool) -> None:
    # The two spare bits play no part: (part − 1)·4 + spare goes on, part·4 + spare ends, and so does any lot but 0.
    on, end = ((part - 1) << 2) + spare, (part << 2) + spare
    words = [word for k in range(1, rounds + 1) for word in ([on] if k == 1 else [on, k])]
    words += [on, 1] if by_lot and rounds else [end]
    assert bernoulli_exp(array(*words, 5), 0, np.uint64(part)) == (rounds % 2 == 0, len(words))


def test_the_paths_of_the_exponential_coin_add_up_to_the_exponential() -> None:
    # As the test above has it, a run of exactly j rounds has chance γ^j / j! − γ^(j+1) / (j+1)!, and even j are true.
    for gamma in (Fraction(1, 3), Fraction(1), Fraction(3, 2**40)):
        runs = [gamma**j / math.factorial(j) - gamma ** (j + 1) / math.factorial(j + 1) for j in range(60)]
        assert abs(float(sum(runs[::2])) - math.exp(-gamma)) < 1e-15
        assert abs(float(sum(runs)) - 1) < 1e-15


@given(rates, st.integers(0, UNIT - 1), st.integers(0, 12), st.lists(st.integers(1, UNIT - 1), max_size=4))
def test_a_gap_is_u_plus_two_to_the_62_v_by_the_rate(rate: int, u: int, v: int, refused: list[int]) -> None:
    words = [word for other in refused for word in (other << 2, *REJECTED)]
    words += [u << 2, *ACCEPTED, *(v * E_TRUE), *E_FALSE]
    exact = (u + UNIT * v) // rate
    length, at = gap(array(*words), 0, np.uint64(rate), MAX_GAP)
    assert length == min(exact, MAX_GAP)
    assert isinstance(length, int)
    assert at == len(words) if exact < MAX_GAP else at <= len(words)


@pytest.mark.parametrize("part", [0, 1, UNIT // 7, UNIT // 2, UNIT - 1, UNIT])
def test_the_exponential_coin_is_true_with_its_probability(part: int) -> None:
    words, at, hits, trials = draws(11, FAKES, part % 1009, np.arange(300_000)), 0, 0, 20_000
    for _ in range(trials):
        hit, at = bernoulli_exp(words, at, np.uint64(part))
        hits += hit
    assert at <= words.size
    assert stats.binomtest(hits, trials, math.exp(-part / UNIT)).pvalue > FALSE_ALARM


@pytest.mark.parametrize("epsilon", [0.01, 1.0, 3.0, 8.0])
def test_gaps_are_geometric(epsilon: float) -> None:
    mechanism, trials = RandomisedResponse.of(epsilon), 20_000
    words, at, gaps = draws(5, FAKES, int(100 * epsilon), np.arange(15 * trials)), 0, []
    for _ in range(trials):
        length, at = gap(words, at, np.uint64(mechanism.rate), MAX_GAP)
        gaps.append(length)
    assert at <= words.size
    expected = stats.geom(mechanism.flip, loc=-1)
    cuts = np.unique(expected.ppf(np.linspace(0, 1, 21)[1:-1])).astype(int)
    observed = np.bincount(np.searchsorted(cuts, gaps), minlength=cuts.size + 1)
    chances = np.diff(np.concatenate([[0], expected.cdf(cuts), [1]]))
    assert stats.chisquare(observed, chances * trials).pvalue > FALSE_ALARM


def test_gaps_in_a_row_are_independent() -> None:
    rate, words, at, gaps = RandomisedResponse.of(1.0).rate, draws(6, FAKES, 0, np.arange(300_000)), 0, []
    for _ in range(20_000):
        length, at = gap(words, at, np.uint64(rate), MAX_GAP)
        gaps.append(min(length, 5))
    table = np.zeros((6, 6))
    np.add.at(table, (gaps[:-1], gaps[1:]), 1)
    assert stats.chi2_contingency(table).pvalue > FALSE_ALARM


@given(st.integers(0, 2**63 - 1), rates, st.integers(0, 80))
def test_a_gap_returns_a_position_beyond_the_words_only_if_they_run_out(seed: int, rate: int, size: int) -> None:
    words = draws(seed, FAKES, 0, np.arange(400))
    whole, needed = gap(words, 0, np.uint64(rate), MAX_GAP)
    length, at = gap(words[:size].copy(), 0, np.uint64(rate), MAX_GAP)
    assert (length, at) == (whole, needed) if size >= needed else at == size + 1


@given(
    seed=st.integers(0, 2**63 - 1),
    epsilon=st.sampled_from([0.1, 2.0, 6.0]),
    vertices=st.integers(2, 200),
    few=st.integers(1, 40),
    data=st.data(),
)
def test_a_report_does_not_depend_on_the_first_number_of_words(
    seed: int, epsilon: float, vertices: int, few: int, data: st.DataObject
) -> None:
    mechanism = RandomisedResponse.of(epsilon)
    others = st.integers(1, vertices - 1)
    neighbours = np.array(sorted(data.draw(st.sets(others, max_size=20))), np.int32)
    lists = [
        simulated_report(Coins(np.uint64(mechanism.keep), np.uint64(mechanism.rate), size), np.uint64(3), vertices, 0,
                       neighbours, seed)
        for size in (few, 20_000)
    ]  # fmt: skip
    assert lists[0].tolist() == lists[1].tolist()
    assert (np.diff(lists[0]) > 0).all()


@given(st.integers(0, 2**63 - 1), st.sets(st.integers(0, 59)), st.integers(0, 59))
def test_the_hits_of_the_process_of_fakes_do_not_depend_on_the_neighbours(
    seed: int, others: set[int], device: int
) -> None:
    mechanism, key = RandomisedResponse.of(0.5), np.uint64(9)
    words = draws(seed, FAKES, device, np.arange(4_000))
    out, bare = np.empty(2_000, np.int32), np.empty(2_000, np.int32)
    neighbours = np.array(sorted(others - {device}), np.int32)
    rate = np.uint64(mechanism.rate)
    fakes, at = add_fakes(words, rate, key, 60, device, neighbours, out)
    all_fakes, all_at = add_fakes(words, rate, key, 60, device, np.empty(0, np.int32), bare)
    assert at == all_at <= words.size
    assert out[:fakes].tolist() == [u for u in bare[:all_fakes].tolist() if u not in others]


@given(st.integers(1, TOP), st.lists(st.booleans(), min_size=1, max_size=30), st.integers(0, TOP))
def test_a_neighbour_is_kept_below_the_threshold_and_not_at_it(keep: int, below: list[bool], key: int) -> None:
    neighbours = np.arange(1, len(below) + 1, dtype=np.int32)
    out, all_owned = np.empty(len(below), np.int32), np.empty(len(below), np.int32)
    owned = keep_neighbours(np.zeros(len(below), np.uint64), np.uint64(keep), np.uint64(key), 0, neighbours, all_owned)
    coins = array(*(keep - 1 if kept else keep for kept in below))
    num_kept = keep_neighbours(coins, np.uint64(keep), np.uint64(key), 0, neighbours, out)
    kept = {u for u, low in zip(count(1), below) if low}
    assert out[:num_kept].tolist() == [u for u in all_owned[:owned].tolist() if u in kept]
