"""Many simulated federations: edges and other pairs are reported at their rates, and independently."""

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from fedwalk.kernels.ldp.randomised_response import owns, simulated_report
from fedwalk.privacy.randomness import SystemRandomness
from fedwalk.protocols.ldp.device import ReportDevice
from fedwalk.protocols.ldp.mechanism import RandomisedResponse
from fedwalk.protocols.ldp.messages import ReportPlan
from helpers.tiny_devices import Pair, reported_pairs

FALSE_ALARM = 1e-3
"""Chance that a correct device fails one of these tests; the seeds are fixed, so it is settled once."""
FALSE_ALARM_FRESH = 1e-9
"""The same where every run draws anew."""

VERTICES, RUNS = 24, 400
EDGES: set[Pair] = {(a, b) for a in range(VERTICES) for b in range(a + 1, VERTICES) if (3 * a + b) % 5 == 0}


@pytest.mark.parametrize("epsilon", [0.5, 2.0, 5.0])
def test_edges_and_other_pairs_are_reported_at_their_rates(epsilon: float) -> None:
    mechanism = RandomisedResponse.of(epsilon)
    real = fake = 0
    for seed in range(RUNS):
        plan = ReportPlan(VERTICES, epsilon, epoch=seed)
        pairs = {(min(pair), max(pair)) for pair in reported_pairs(VERTICES, EDGES, plan, seed)}
        real += len(pairs & EDGES)
        fake += len(pairs - EDGES)
    edges, strangers = RUNS * len(EDGES), RUNS * (VERTICES * (VERTICES - 1) // 2 - len(EDGES))
    assert stats.binomtest(real, edges, mechanism.hit).pvalue > FALSE_ALARM
    assert stats.binomtest(fake, strangers, mechanism.flip).pvalue > FALSE_ALARM


@pytest.fixture(scope="module")
def bits() -> tuple[NDArray[np.bool_], list[int]]:
    """One device's reports in many runs (a row per run, a column per id), and the ids of its own pairs."""
    plan, mechanism = ReportPlan(40, 0.7, epoch=3), RandomisedResponse.of(0.7).coins(40)
    neighbours = np.arange(1, 40, 2, dtype=np.int32)
    answers = np.zeros((4000, 40), np.bool_)
    for seed in range(len(answers)):
        answers[seed, simulated_report(mechanism, np.uint64(plan.key), 40, 0, neighbours, seed)] = True
    return answers, [u for u in range(1, 40) if owns(np.uint64(plan.key), 0, u)]


@pytest.mark.parametrize(("first", "second"), [(1, 1), (0, 0), (0, 1)])
def test_any_two_pairs_of_a_device_are_reported_independently(
    bits: tuple[NDArray[np.bool_], list[int]], first: int, second: int
) -> None:
    # Odd ids are neighbours. Nearest ids first: if gaps weren't memoryless, it would show there.
    answers, owned = bits
    some = [u for u in owned if u % 2 == first]
    pairs = [(a, b) for a in some for b in owned if b % 2 == second and a < b]
    nearest = sorted(pairs, key=lambda pair: pair[1] - pair[0])[:20]
    assert len(nearest) == 20
    p_values = []
    for a, b in nearest:
        table = np.zeros((2, 2))
        np.add.at(table, (answers[:, a].astype(int), answers[:, b].astype(int)), 1)
        p_values.append(stats.chi2_contingency(table, correction=False).pvalue)
    assert min(p_values) > FALSE_ALARM / len(p_values)


def test_every_single_pair_has_its_own_rate(bits: tuple[NDArray[np.bool_], list[int]]) -> None:
    answers, owned = bits
    mechanism = RandomisedResponse.of(0.7)
    for u in owned:
        rate = mechanism.hit if u % 2 else mechanism.flip
        assert stats.binomtest(int(answers[:, u].sum()), len(answers), rate).pvalue > FALSE_ALARM / len(owned)
    assert not answers[:, [u for u in range(40) if u not in owned]].any()


def test_a_device_on_the_systems_own_generator_keeps_to_the_rates() -> None:
    vertices, mechanism = 20_000, RandomisedResponse.of(1.5)
    neighbours = np.arange(2, vertices, 2, dtype=np.int32)
    plan = ReportPlan(vertices, 1.5, epoch=8)
    ids = ReportDevice(0, neighbours, SystemRandomness()).report(plan).ids
    owned = np.array([u for u in range(1, vertices) if owns(np.uint64(plan.key), 0, u)])
    for parity, rate in ((0, mechanism.hit), (1, mechanism.flip)):
        trials, hits = int((owned % 2 == parity).sum()), int((ids % 2 == parity).sum())
        assert stats.binomtest(hits, trials, rate).pvalue > FALSE_ALARM_FRESH
