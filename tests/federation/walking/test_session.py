"""Holders that walk together, as real processes over loopback: no walk is lost without being accounted for."""

import json
import socket
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from fedwalk.errors import SettingsError
from fedwalk.federation.wire.token_batches import MAGIC
from fedwalk.graph import social_network
from fedwalk.settings import Settings
from helpers.forwarder import Forwarder
from helpers.peer_process import Job, Outcome, walk
from helpers.walk_questions import KEY, LocalAnswer, local_answer
from helpers.walking_holders import NAMES, WorkerPool, make_jobs, walk_all, worker_pool

AMPLE, SHORT = 60.0, 4.0
"""Patience, in seconds, of a run in which all holders take part, and of one in which a holder is missing."""

GRAPH = social_network(vertices=300, mean_degree=8, communities=3, seed=3)
SETTINGS = Settings(num_walks=10, walk_length=20, seed=7).resolve(GRAPH.vertices)
COUNT = GRAPH.vertices * SETTINGS.num_walks


@cache
def local() -> LocalAnswer:
    return local_answer(GRAPH, SETTINGS)


@pytest.fixture(scope="module")
def pool(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WorkerPool]:
    with worker_pool(tmp_path_factory.mktemp("pool")) as pool:
        yield pool


def finished(outcomes: Sequence[Outcome]) -> NDArray[np.int64]:
    """The finished walks, after checking that no walk finished twice and that each equals that of `local`."""
    walks = np.concatenate([outcome.answer.walks for outcome in outcomes])
    entries = np.concatenate([outcome.answer.entries for outcome in outcomes])
    assert np.unique(walks).size == walks.size
    np.testing.assert_array_equal(entries, local().sequences[walks])
    return walks


def assert_complete(outcomes: Sequence[Outcome]) -> None:
    """Check that every walk finished, at the cost that `local` counts, and that no call was refused."""
    answers = [outcome.answer for outcome in outcomes]
    assert finished(outcomes).size == COUNT
    assert sum(answer.hops for answer in answers) == local().hops
    assert sum(answer.carried for answer in answers) == local().carried
    assert all(json.loads(answer.refused) == {} and answer.unreachable == [] for answer in answers)


def assert_accounted_for(survivors: Sequence[Outcome], lost: int, lost_began: int) -> None:
    """Check that each unfinished walk was given up by a survivor, or was at the holder that was killed."""
    inside = lost_began
    inside += sum(outcome.given[lost] for outcome in survivors) - sum(outcome.taken[lost] for outcome in survivors)
    given_up = sum(outcome.answer.given_up.size for outcome in survivors)
    assert finished(survivors).size + given_up + inside == COUNT
    assert {name for outcome in survivors for name in outcome.answer.unreachable} == {NAMES[lost]}


def test_four_holders_walk_as_local_does_and_encrypt_their_messages(pool: WorkerPool) -> None:
    jobs = make_jobs(GRAPH, SETTINGS, AMPLE)
    with Forwarder(jobs[1].listen) as between:
        outcomes = walk_all(pool.workers(4), [by_way_of(between, jobs[0]), *jobs[1:]])
    assert_complete(outcomes)
    assert len(between.sent) > outcomes[0].given[1] * 20, "the tokens to the second holder went through here"
    for heard in (bytes(between.sent), bytes(between.answered)):
        assert_tls(heard)
        assert MAGIC + bytes.fromhex(KEY) not in heard
        assert KEY.encode() not in heard
        assert not any(row[:5].tobytes() in heard for row in local().sequences)


def by_way_of(between: Forwarder, job: Job) -> Job:
    """The job, with the forwarder's address for that of the second holder."""
    addresses = job.question.addresses.copy()
    addresses[1] = between.address
    return replace(job, question=replace(job.question, addresses=addresses))


def assert_tls(data: bytes) -> None:
    """TLS records from the first byte to the last, a handshake first and then application data."""
    kinds, at = [], 0
    while at + 5 <= len(data):
        kinds.append(data[at])
        assert data[at + 1] == 3
        at += 5 + int.from_bytes(data[at + 3 : at + 5])
    assert kinds[0] == 0x16
    assert set(kinds) <= {0x14, 0x15, 0x16, 0x17}
    assert kinds[-1] == 0x17


def test_batches_and_bytes_are_counted(pool: WorkerPool) -> None:
    outcomes = walk_all(pool.workers(4), make_jobs(GRAPH, SETTINGS, AMPLE))
    for outcome in outcomes:
        tokens, answer = outcome.given.total(), outcome.answer
        assert 0 < answer.batches <= tokens
        assert 16 * tokens < answer.sent_bytes <= tokens * (16 + 4 * SETTINGS.walk_length) + 44 * answer.batches


def test_a_holder_that_starts_late_loses_nothing(pool: WorkerPool) -> None:
    workers, jobs = pool.workers(4), make_jobs(GRAPH, SETTINGS, AMPLE)
    for i in (1, 2, 3):
        workers[i].begin(jobs[i])
    for i in (1, 2, 3):
        workers[i].wait_for("progress", received=1)
    workers[0].begin(jobs[0])
    assert_complete([worker.outcome() for worker in workers])


def test_a_connection_that_breaks_again_and_again_loses_nothing(pool: WorkerPool) -> None:
    jobs = make_jobs(GRAPH, SETTINGS, AMPLE, max_tokens=40)
    with Forwarder(jobs[1].listen, max_answered=5000) as between:
        outcomes = walk_all(pool.workers(4), [by_way_of(between, jobs[0]), *jobs[1:]])
    assert finished(outcomes).size == COUNT
    assert all(outcome.answer.unreachable == [] for outcome in outcomes)
    assert json.loads(outcomes[1].answer.refused).keys() == {"ann: sent twice"}, "some receipts were lost"


def test_a_holder_whose_agreement_to_the_end_is_lost_is_asked_again(pool: WorkerPool) -> None:
    """With the long patience, a holder that had left after its answer would make this test reach its own limit."""
    jobs = make_jobs(GRAPH, SETTINGS, 1000.0)
    jobs[2] = replace(jobs[2], lose_conclusion=True)
    assert_complete(walk_all(pool.workers(4), jobs))


@pytest.mark.slow
@pytest.mark.parametrize("missing", [0, 3])
def test_the_others_end_without_a_holder_that_never_starts(pool: WorkerPool, missing: int) -> None:
    workers, jobs = pool.workers(4), make_jobs(GRAPH, SETTINGS, SHORT)
    there = [i for i in range(4) if i != missing]
    for i in there:
        workers[i].begin(jobs[i])
    survivors = [workers[i].outcome() for i in there]
    assert_accounted_for(survivors, missing, jobs[missing].question.walks.size)
    assert all(outcome.given[missing] == 0 < outcome.answer.given_up.size for outcome in survivors)


@pytest.mark.parametrize("lost", [0, pytest.param(3, marks=pytest.mark.slow)])
def test_a_holder_killed_while_walking_takes_only_its_own_tokens_along(pool: WorkerPool, lost: int) -> None:
    """Holder 0 is the leader."""
    workers, jobs = pool.workers(4), make_jobs(GRAPH, SETTINGS, SHORT, max_tokens=40)
    jobs[lost] = replace(jobs[lost], pause_after=1000)
    for worker, job in zip(workers, jobs, strict=True):
        worker.begin(job)
    workers[lost].wait_for("paused")
    workers[lost].kill()
    survivors = [worker.outcome() for i, worker in enumerate(workers) if i != lost]
    assert_accounted_for(survivors, lost, jobs[lost].question.walks.size)


def test_the_others_stop_calling_a_holder_that_the_operator_removes(pool: WorkerPool, tmp_path: Path) -> None:
    """The removed holder goes on walking, and the others' patience is long: only the removal can make them stop."""
    listed = tmp_path / "members"
    listed.write_text(" ".join(NAMES))
    workers, jobs = pool.workers(4), make_jobs(GRAPH, SETTINGS, 1000.0, max_tokens=40, members=listed)
    jobs[3] = replace(jobs[3], pause_after=1000, members=None)
    for worker, job in zip(workers, jobs, strict=True):
        worker.begin(job)
    workers[3].wait_for("paused")
    listed.write_text(" ".join(NAMES[:3]))
    outcomes = [worker.outcome() for worker in workers[:3]]
    told = [any(f"the operator has removed {NAMES[3]}" in line for line in outcome.said) for outcome in outcomes]
    assert any(told), "the others may have heard that it is over before they looked"
    assert [outcome.answer.unreachable == [NAMES[3]] for outcome in outcomes] == told
    assert np.unique(finished(outcomes)).size < COUNT


def alone(patience: float) -> Job:
    """A job for a single holder."""
    return make_jobs(GRAPH, SETTINGS, patience, np.zeros(GRAPH.vertices, np.int32))[0]


def test_a_holder_waits_until_its_earlier_process_has_left_the_address(pool: WorkerPool) -> None:
    earlier, later = pool.workers(2)
    job, ending = alone(AMPLE), make_jobs(GRAPH, SETTINGS, 1.5)[0]
    earlier.begin(replace(ending, listen=job.listen))
    earlier.wait_for("progress")
    later.begin(job)
    assert earlier.outcome().answer.unreachable == NAMES[1:]
    assert_complete([later.outcome()])


def test_an_address_that_stays_in_use_is_an_error_that_names_it() -> None:
    job = alone(0.3)
    host, port = job.listen.split(":")
    with socket.create_server((host, int(port))), pytest.raises(SettingsError, match=f"{job.listen}.*another process"):
        walk(job)


def test_an_address_of_another_machine_is_an_error_at_once() -> None:
    with pytest.raises(SettingsError, match=r"192\.0\.2\.1:7443.*can't listen there"):
        walk(replace(alone(AMPLE), listen="192.0.2.1:7443"))
