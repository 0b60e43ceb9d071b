"""Each pair has one owner and one bit: the factorisation in the proof, for whole federations (PROOFS.md, 1)."""

from itertools import combinations

import numpy as np
from hypothesis import assume, given
from hypothesis import strategies as st

from fedwalk.kernels.ldp.randomised_response import owns
from fedwalk.kernels.random import FAKES, KEEP
from fedwalk.privacy.randomness import SimulatedRandomness
from fedwalk.protocols.ldp.mechanism import RandomisedResponse
from fedwalk.protocols.ldp.messages import ReportPlan
from helpers.tiny_devices import Delayed, Pair, Recorded, noisy_report, reported_pairs

keys = st.integers(0, 2**64 - 1)
epochs = st.integers(0, 2**20 - 1)
seeds = st.integers(0, 2**63 - 1)
epsilons = st.sampled_from([0.1, 1.0, 4.0, 10.0])


@st.composite
def graphs(draw: st.DrawFn) -> tuple[int, set[Pair]]:
    """Up to a dozen vertices, and any edges among them."""
    vertices = draw(st.integers(2, 12))
    pairs = list(combinations(range(vertices), 2))
    return vertices, draw(st.sets(st.sampled_from(pairs)))


@given(keys, st.integers(0, 2**31 - 2), st.integers(0, 2**31 - 2))
def test_a_pair_has_exactly_one_owner(key: int, a: int, b: int) -> None:
    assume(a != b)
    assert owns(np.uint64(key), a, b) != owns(np.uint64(key), b, a)


@given(keys, st.integers(2, 40))
def test_the_devices_own_pairs_are_all_pairs_once(key: int, vertices: int) -> None:
    owned = [{u for u in range(vertices) if u != v and owns(np.uint64(key), v, u)} for v in range(vertices)]
    pairs = [(min(v, u), max(v, u)) for v in range(vertices) for u in owned[v]]
    assert sorted(pairs) == list(combinations(range(vertices), 2))


@given(graphs(), epochs, seeds, epsilons)
def test_only_owners_report(graph: tuple[int, set[Pair]], epoch: int, seed: int, epsilon: float) -> None:
    vertices, edges = graph
    for device, other in reported_pairs(vertices, edges, ReportPlan(vertices, epsilon, epoch), seed):
        assert device != other
        assert owns(np.uint64(ReportPlan.key), device, other)


@given(graphs(), epochs, seeds, epsilons, st.data())
def test_flipping_an_edge_changes_no_report_but_its_own(
    graph: tuple[int, set[Pair]], epoch: int, seed: int, epsilon: float, data: st.DataObject
) -> None:
    vertices, edges = graph
    a, b = data.draw(st.sampled_from(list(combinations(range(vertices), 2))))
    plan = ReportPlan(vertices, epsilon, epoch)
    before, after = (reported_pairs(vertices, present, plan, seed) for present in (edges, edges ^ {(a, b)}))
    owner = (a, b) if owns(np.uint64(plan.key), a, b) else (b, a)
    assert before ^ after <= {owner}


def test_an_edge_and_its_absence_have_separate_coins() -> None:
    # One stream for both would make the answer flip for certain, or never; here all four outcomes occur.
    plan = ReportPlan(2, 0.5, 0)
    outcomes = {
        (bool(reported_pairs(2, {(0, 1)}, plan, seed)), bool(reported_pairs(2, set(), plan, seed)))
        for seed in range(100)
    }
    assert len(outcomes) == 4


@given(seeds, st.integers(0, 3000), st.sets(st.integers(1, 49), max_size=10))
def test_a_device_that_needs_more_words_draws_only_new_ones_and_makes_the_same_report(
    seed: int, rounds: int, others: set[int]
) -> None:
    plan, mechanism = ReportPlan(50, 0.5), RandomisedResponse.of(0.5)
    neighbours = np.array(sorted(others), np.int32)
    late = Recorded(Delayed(seed, rounds))
    expected = noisy_report(0, neighbours, plan, mechanism, SimulatedRandomness(seed))
    assert noisy_report(0, neighbours, plan, mechanism, late).tolist() == expected.tolist()
    asked = [counter for purpose, counters in late.asked if purpose == FAKES for counter in counters]
    assert asked == list(range(len(asked)))
    assert [counters for purpose, counters in late.asked if purpose == KEEP] == [sorted(others)]


@given(seeds, st.sets(st.integers(1, 49)), st.sets(st.integers(1, 49)))
def test_the_number_of_words_a_device_draws_does_not_depend_on_its_neighbours(
    seed: int, one: set[int], other: set[int]
) -> None:
    plan, mechanism = ReportPlan(50, 0.5), RandomisedResponse.of(0.5)
    asked = []
    for neighbours in (one, other):
        source = Recorded(Delayed(seed, 100))
        noisy_report(0, np.array(sorted(neighbours), np.int32), plan, mechanism, source)
        asked.append([counters for purpose, counters in source.asked if purpose == FAKES])
    assert asked[0] == asked[1]
