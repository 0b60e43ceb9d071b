"""Every mistake that a device of protocol `ldp` could make is caught by an audit that the correct device passes.

All bounds are taken at 99.9% confidence: over the choice of seeds, a correct device would fail one of these tests once
in a thousand. The seeds are fixed, so a test that passes once always passes. A broken device would pass far more rarely
than that: the measured bounds are well above what they are compared with.
"""

from dataclasses import replace

import numpy as np
import pytest

from fedwalk.attacks.canaries import Bound, Canaries, Guesses, as_guesses, bound_of, plant, with_pairs
from fedwalk.errors import ProtocolError
from fedwalk.graph import social_network
from fedwalk.graph.pairs import Pairs
from fedwalk.kernels.ldp.randomised_response import owns
from fedwalk.privacy.randomness import SimulatedRandomness
from fedwalk.protocols.ldp.attacks.guesses import ReportView, are_reported
from fedwalk.protocols.ldp.attacks.repeats import Maker, repeat_pair
from fedwalk.protocols.ldp.device import ReportDevice
from fedwalk.protocols.ldp.messages import ReportPlan
from fedwalk.protocols.ldp.reports import collect_reports
from helpers.broken_devices import (
    RUN_SEED,
    BothEnds,
    Forgetful,
    Fresh,
    Guesser,
    Noiseless,
    OneStream,
    ask,
    devices,
    keyed,
    seeded_from_the_run,
)

EPSILON, CONFIDENCE, TIMES = 2.0, 0.999, 9
NETWORK = social_network(vertices=150, mean_degree=8, communities=3, seed=1)
PLAN, NEXT_EPOCH = ReportPlan(NETWORK.vertices, EPSILON), ReportPlan(NETWORK.vertices, EPSILON, epoch=1)


@pytest.fixture(scope="module")
def canaries() -> Canaries:
    return plant(NETWORK, 8_000, seed=3)


def by_report(view: ReportView, pairs: Pairs) -> Guesses:
    """Real if reported: all that a correct device leaves to be guessed from."""
    return as_guesses(are_reported(view, pairs))


def by_both_reports(view: ReportView, pairs: Pairs) -> Guesses:
    """Real if both ends say so, not real if neither does."""
    owner, other = view.reports.pairs()
    said = set(zip(owner.tolist(), other.tolist(), strict=True))
    votes = np.array([((u, v) in said) + ((v, u) in said) for u, v in pairs.tolist()])
    return (votes - 1).astype(np.int8)


def by_the_runs_seed(view: ReportView, pairs: Pairs) -> Guesses:
    """What would each device have sent with every edge, and with none? Where the two differ, its bit tells."""
    randomness, everyone = SimulatedRandomness(RUN_SEED), np.arange(view.plan.vertices, dtype=np.int32)
    with_all = [ReportDevice(v, np.delete(everyone, v), randomness).report(view.plan).ids for v in everyone.tolist()]
    with_none = [ReportDevice(v, everyone[:0], randomness).report(view.plan).ids for v in everyone.tolist()]
    sent, guesses = are_reported(view, pairs), np.zeros(len(pairs), np.int8)
    for i, (low, high) in enumerate(pairs.tolist()):
        v, u = (low, high) if owns(np.uint64(view.plan.key), low, high) else (high, low)
        if_edge, if_not = u in with_all[v], u in with_none[v]
        if if_edge != if_not:
            guesses[i] = 1 if sent[i] == if_edge else -1
    return guesses


def one_run(canaries: Canaries, make: Maker, guess: Guesser) -> Bound:
    view = ask(devices(canaries.graph, make, Fresh()), PLAN)
    return bound_of(guess(view, canaries.pairs), canaries, CONFIDENCE)


@pytest.mark.parametrize("guess", [by_report, by_both_reports, by_the_runs_seed])
def test_a_correct_device_passes_every_one_run_audit(guess: Guesser, canaries: Canaries) -> None:
    assert one_run(canaries, ReportDevice, guess).epsilon <= EPSILON


@pytest.mark.parametrize(
    ("make", "guess"),
    [(Noiseless, by_report), (seeded_from_the_run, by_the_runs_seed), (BothEnds, by_both_reports)],
)
def test_a_broken_device_is_caught_in_one_run(make: Maker, guess: Guesser, canaries: Canaries) -> None:
    assert one_run(canaries, make, guess).epsilon > 1.5 * EPSILON


def test_noise_from_the_runs_seed_looks_correct_without_the_seed(canaries: Canaries) -> None:
    assert one_run(canaries, seeded_from_the_run, by_report).epsilon <= EPSILON


def test_the_server_refuses_the_report_of_a_device_that_reports_for_both_ends() -> None:
    correct, broken = (devices(NETWORK, make, Fresh()) for make in (ReportDevice, BothEnds))
    collect_reports(PLAN, (device.report(PLAN) for device in correct))
    with pytest.raises(ProtocolError, match="reports a pair that it does not own"):
        collect_reports(PLAN, (device.report(PLAN) for device in broken))


def two_epochs(canaries: Canaries, make: Maker, second: ReportPlan = PLAN) -> Bound:
    """Coins decide which pairs change between two reports; a pair whose bit has changed is guessed to be one."""
    changed = np.random.default_rng(9).random(len(canaries.pairs)) < 0.5
    later = with_pairs(canaries.graph, canaries.pairs, canaries.real ^ changed)
    epochs, randomness = ((canaries, PLAN), (later, second)), Fresh()
    before, after = (
        are_reported(ask(devices(planted.graph, make, randomness), plan), canaries.pairs) for planted, plan in epochs
    )
    return bound_of((before != after).astype(np.int8), replace(later, real=changed), CONFIDENCE)


def test_two_epochs_of_a_correct_device_stay_within_the_sum(canaries: Canaries) -> None:
    assert two_epochs(canaries, ReportDevice).epsilon <= 2 * EPSILON
    assert two_epochs(canaries, ReportDevice, NEXT_EPOCH).epsilon <= 2 * EPSILON


def asked_after_a_change(canaries: Canaries, second: ReportPlan) -> Bound:
    """The same devices, some of whose neighbour lists have changed since they were asked first."""
    changed = np.random.default_rng(9).random(len(canaries.pairs)) < 0.5
    later = with_pairs(canaries.graph, canaries.pairs, canaries.real ^ changed)
    asked = [ReportDevice(v, canaries.graph.neighbours(v), Fresh()) for v in range(NETWORK.vertices)]
    before = are_reported(ask(asked, PLAN), canaries.pairs)
    for device in asked:
        device.neighbours = later.graph.neighbours(device.identity)
    after = are_reported(ask(asked, second), canaries.pairs)
    return bound_of((before != after).astype(np.int8), replace(later, real=changed), CONFIDENCE)


def test_a_changed_neighbour_list_changes_no_report_within_an_epoch(canaries: Canaries) -> None:
    assert asked_after_a_change(canaries, PLAN).guesses == 0
    assert asked_after_a_change(canaries, NEXT_EPOCH).epsilon <= 2 * EPSILON


@pytest.mark.parametrize("make", [OneStream, keyed])
def test_noise_that_a_key_fixes_shows_what_has_changed(make: Maker, canaries: Canaries) -> None:
    # With a stream for each value a changed bit is less certain than with one for both; seen, it proves as much.
    found = two_epochs(canaries, make)
    assert found.right == found.guesses
    assert found.epsilon > 2 * EPSILON


def asked_often(canaries: Canaries, make: Maker) -> Bound:
    """The majority of what each device said when asked the same again and again."""
    made = devices(canaries.graph, make, Fresh())
    votes = sum(are_reported(ask(made, PLAN), canaries.pairs).astype(int) for _ in range(TIMES))
    return bound_of(as_guesses(np.asarray(votes) > TIMES / 2), canaries, CONFIDENCE)


def test_asking_a_correct_device_again_tells_nothing_new(canaries: Canaries) -> None:
    assert asked_often(canaries, ReportDevice) == one_run(canaries, ReportDevice, by_report)
    assert asked_often(canaries, ReportDevice).epsilon <= EPSILON


def test_a_device_that_forgets_its_report_is_caught_by_majority(canaries: Canaries) -> None:
    assert asked_often(canaries, Forgetful).epsilon > 1.5 * EPSILON


def test_the_ledger_of_a_correct_device_adds_up_what_a_forgetful_one_hides() -> None:
    correct, broken = (make(0, NETWORK.neighbours(0), Fresh()) for make in (ReportDevice, Forgetful))
    answers = [[device.report(PLAN).ids.tolist() for _ in range(2)] for device in (correct, broken)]
    assert answers[0][0] == answers[0][1]
    assert answers[1][0] != answers[1][1]
    assert (correct.ledger.per_edge, broken.ledger.per_edge) == (EPSILON, EPSILON)
    correct.report(NEXT_EPOCH)
    assert correct.ledger.per_edge == 2 * EPSILON


@pytest.mark.parametrize(("make", "passes"), [(ReportDevice, True), (Noiseless, False)])
def test_repeats_of_one_pair_tell_the_correct_device_from_the_noiseless(make: Maker, passes: bool) -> None:
    found = repeat_pair(NETWORK, (3, 8), PLAN, 400, make=make, confidence=CONFIDENCE)
    assert (found.epsilon <= EPSILON) == passes
