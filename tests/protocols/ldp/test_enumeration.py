"""The exact output distribution of a device, by enumeration over the code that runs (PROOFS.md, 1)."""

import math
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import fields, replace
from decimal import Context, Decimal, localcontext
from functools import cache
from itertools import combinations, product

import numpy as np
import pytest
from numpy.typing import NDArray

from fedwalk.kernels.ldp.randomised_response import owns
from fedwalk.kernels.random import KEEP
from fedwalk.privacy.randomness import Randomness
from fedwalk.protocols.ldp.mechanism import RandomisedResponse
from fedwalk.protocols.ldp.messages import ReportPlan
from helpers.tiny_devices import Scripted, noisy_report, words_for_fakes

DIGITS = Context(prec=90)
REACHED = Decimal("1e-9")
"""How close to e^ε the worst ratio must be: a smaller ratio would mean more noise than necessary."""

Ids = tuple[int, ...]
Distribution = dict[Ids, Decimal]
Row = NDArray[np.int32]
Device = Callable[[int, Row, ReportPlan, RandomisedResponse, Randomness], Row]

EPSILONS = (0.01, 0.5, 2.0, 8.0)
EPOCHS = (0, 3)
VERTICES = 4


def subsets(ids: Ids) -> Iterator[Ids]:
    return (chosen for size in range(len(ids) + 1) for chosen in combinations(ids, size))


def others(device: int) -> Ids:
    return tuple(v for v in range(VERTICES) if v != device)


def chances(mechanism: RandomisedResponse) -> tuple[Decimal, Decimal]:
    """The probabilities that an edge is reported, and that a pair without an edge is."""
    return Decimal(mechanism.keep) / 2**64, 1 - (Decimal(-mechanism.rate) / 2**62).exp()


@cache
def distribution(
    device: int, neighbours: Ids, epsilon: float, epoch: int, release: Device = noisy_report
) -> Distribution:
    """P(report) from every outcome of every coin, each run through the device with words that produce it."""
    mechanism, plan = RandomisedResponse.of(epsilon), ReportPlan(VERTICES, epsilon, epoch)
    probabilities: Distribution = defaultdict(Decimal)
    with localcontext(DIGITS):
        hit, flip = chances(mechanism)
        for fakes, kept in product(subsets(tuple(range(VERTICES))), subsets(neighbours)):
            # The last word that keeps a neighbour, and the first that doesn't.
            coins = {u: mechanism.keep - (u in kept) for u in neighbours}
            randomness = Scripted(coins, words_for_fakes(fakes, VERTICES, mechanism.rate))
            ids = release(device, np.array(neighbours, np.int32), plan, mechanism, randomness)
            chance = hit ** len(kept) * (1 - hit) ** (len(neighbours) - len(kept))
            probabilities[tuple(ids.tolist())] += chance * flip ** len(fakes) * (1 - flip) ** (VERTICES - len(fakes))
    return dict(probabilities)


def worst_ratio(one: Distribution, other: Distribution) -> Decimal:
    """The largest likelihood ratio of any report, in both directions; infinite if only one side can send it."""
    if one.keys() != other.keys():
        return Decimal("Infinity")
    return max(max(one[ids] / other[ids], other[ids] / one[ids]) for ids in one)


def worst_of_all_edges(epsilon: float, epoch: int, release: Device = noisy_report) -> Decimal:
    """The worst ratio over every edge and all other neighbours of its ends; the ratios of the two ends multiply."""
    worst = Decimal(1)
    for a, b in combinations(range(VERTICES), 2):
        rest = [tuple(u for u in others(v) if u not in (a, b)) for v in (a, b)]
        for first, second in product(subsets(rest[0]), subsets(rest[1])):
            ratio = Decimal(1)
            for device, other, row in ((a, b, first), (b, a, second)):
                with_edge = distribution(device, tuple(sorted((*row, other))), epsilon, epoch, release)
                ratio *= worst_ratio(distribution(device, row, epsilon, epoch, release), with_edge)
            worst = max(worst, ratio)
    return worst


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("epoch", EPOCHS)
def test_every_report_has_the_probability_of_independent_randomised_response(epsilon: float, epoch: int) -> None:
    with localcontext(DIGITS):
        hit, flip = chances(RandomisedResponse.of(epsilon))
        for device in range(VERTICES):
            owned = tuple(u for u in others(device) if owns(np.uint64(ReportPlan.key), device, u))
            for neighbours in subsets(others(device)):
                probabilities = distribution(device, neighbours, epsilon, epoch)
                assert set(probabilities) == set(subsets(owned))
                for ids, chance in probabilities.items():
                    rates = {u: hit if u in neighbours else flip for u in owned}
                    expected = math.prod((rates[u] if u in ids else 1 - rates[u] for u in owned), start=Decimal(1))
                    assert abs(chance / expected - 1) < Decimal("1e-70")


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("epoch", EPOCHS)
def test_one_edge_changes_no_likelihood_by_more_than_e_to_the_epsilon_and_some_by_as_much(
    epsilon: float, epoch: int
) -> None:
    with localcontext(DIGITS):
        bound = Decimal(epsilon).exp()
        assert bound * (1 - REACHED) <= worst_of_all_edges(epsilon, epoch) <= bound


@pytest.mark.parametrize("epoch", EPOCHS)
def test_the_end_that_does_not_own_a_pair_reveals_nothing_about_it(epoch: int) -> None:
    for a, b in product(range(VERTICES), repeat=2):
        if a == b or owns(np.uint64(ReportPlan.key), a, b):
            continue
        for rest in subsets(tuple(u for u in others(a) if u != b)):
            with_edge = distribution(a, tuple(sorted((*rest, b))), 2.0, epoch)
            without = distribution(a, rest, 2.0, epoch)
            assert with_edge.keys() == without.keys()
            assert all(abs(with_edge[ids] / without[ids] - 1) < Decimal("1e-70") for ids in without)


def test_no_plan_changes_who_owns_a_pair() -> None:
    # A server that could choose the key might ask both ends, and learn twice as much: PROOFS.md, 1.
    assert [field.name for field in fields(ReportPlan)] == ["vertices", "epsilon", "epoch"]
    assert ReportPlan(4, 2.0).key == ReportPlan(99, 0.1, 7).key == ReportPlan.key


def without_noise(
    device: int, neighbours: Row, plan: ReportPlan, mechanism: RandomisedResponse, randomness: Randomness
) -> Row:
    return np.array([u for u in neighbours if owns(np.uint64(plan.key), device, int(u))], np.int32)


def one_step_too_sure(
    device: int, neighbours: Row, plan: ReportPlan, mechanism: RandomisedResponse, randomness: Randomness
) -> Row:
    return noisy_report(device, neighbours, plan, replace(mechanism, keep=mechanism.keep + 1), randomness)


def for_both_ends(
    device: int, neighbours: Row, plan: ReportPlan, mechanism: RandomisedResponse, randomness: Randomness
) -> Row:
    coins = randomness.words(KEEP, device, neighbours.astype(np.int64))
    owned = noisy_report(device, neighbours, plan, mechanism, randomness)
    return np.union1d(owned, neighbours[coins < np.uint64(mechanism.keep)])


@pytest.mark.parametrize("broken", [without_noise, one_step_too_sure, for_both_ends])
def test_the_enumeration_detects_a_device_that_breaks_the_guarantee(broken: Device) -> None:
    with localcontext(DIGITS):
        assert worst_of_all_edges(2.0, 1, broken) > Decimal(2).exp()
