"""A hostile holder with a valid certificate, and callers without one, while honest holders walk."""

import asyncio
import json
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar

import grpc
import numpy as np
import pytest

from fedwalk.federation.membership.keys import Credentials, new_authority
from fedwalk.federation.walking.leader import DISAGREED
from fedwalk.federation.walking.peer_client import KEY_FIELD, SERVICE, SESSION_FIELD
from fedwalk.federation.walking.peer_service import PeerService
from fedwalk.federation.walking.plan import session_digest
from fedwalk.federation.walking.termination import HolderStatus
from fedwalk.federation.wire.token_batches import Receipt, TokenBatch
from fedwalk.graph import Graph, load_graph, social_network
from fedwalk.settings import Settings
from helpers.peer_process import Job, Outcome
from helpers.walk_questions import KEY, SESSIONS, local_answer
from helpers.walking_holders import NAMES, WorkerPool, authority, certified, credentials, make_jobs, worker_pool

T = TypeVar("T")
Line = Callable[..., Awaitable[Any]]
"""Calls one holder: the method and the bytes; gives the answer, or the status if there is none."""

DAN = 3
"""The index of the hostile holder."""
WRONG_KEY = "ff" * 16


def with_a_pair_apart() -> Graph:
    """A network, and two vertices that only know each other: they are the hostile holder's."""
    network = social_network(vertices=200, mean_degree=8, communities=2, seed=4)
    edges = [(u, int(v)) for u in range(200) for v in network.neighbours(u) if u < v]
    return load_graph(np.array([*edges, (200, 201)]))


GRAPH = with_a_pair_apart()
SETTINGS = Settings(num_walks=10, walk_length=20, predict=0.0, seed=9).resolve(GRAPH.vertices)
N = GRAPH.vertices
OWNER = np.append(np.arange(200) % DAN, [DAN, DAN]).astype(np.int32)
TWO_OWNERS = np.arange(N, dtype=np.int32) % 2 * DAN


@pytest.fixture(scope="module")
def pool(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WorkerPool]:
    with worker_pool(tmp_path_factory.mktemp("pool")) as pool:
        yield pool


@dataclass
class IdlePeer:
    """Accepts every token batch without walking, and reports that it is busy until `done`."""

    refused: Counter[str] = field(default_factory=Counter)
    ended: bool = False
    calls: int = 0
    done: asyncio.Event = field(default_factory=asyncio.Event)
    over: asyncio.Event = field(default_factory=asyncio.Event)

    def receive(self, sender: int, data: bytes) -> Receipt:
        self.calls += 1
        return Receipt(np.zeros(len(TokenBatch.from_bytes(data, bytes.fromhex(KEY))[1]), np.uint8))

    async def probed(self, sender: int) -> HolderStatus:
        self.calls += 1
        return HolderStatus(self.done.is_set(), 0)

    def conclude(self, sender: int, status: HolderStatus) -> bool:
        self.over.set()
        return True

    def release(self, sender: int) -> None:
        pass


async def as_idle_peer(job: Job, act: Callable[[IdlePeer], Awaitable[T]], key: str = KEY) -> T:
    """Run an idle peer in place of this job's holder while `act` runs; returns the result of `act`."""
    peer = IdlePeer()
    service = PeerService(peer, NAMES, range(len(NAMES)), key, [session_digest(one) for one in SESSIONS])
    await service.open(job.listen, job.credentials, 10.0)
    try:
        return await act(peer)
    finally:
        await service.close(10.0)


@asynccontextmanager
async def calling(job: Job, shown: Credentials | None, caller: int = DAN) -> AsyncIterator[Line]:
    """A connection to the holder that does this job, for a caller with these credentials and that holder's session."""
    own = (shown.key, shown.certificate) if shown else (None, None)
    tls = grpc.ssl_channel_credentials(job.credentials.authority, *own)
    name = f"{NAMES[job.me]}.holder.fedwalk"
    options = [("grpc.ssl_target_name_override", name), ("grpc.max_send_message_length", -1)]
    async with grpc.aio.secure_channel(job.listen, tls, options) as channel:

        async def line(method: str, data: bytes, key: str = KEY, session: str = "", **how: Any) -> Any:
            call = channel.unary_unary(f"/{SERVICE}/{method}")
            shown = ((KEY_FIELD, key), (SESSION_FIELD, session or SESSIONS[caller]))
            try:
                return await call(data, metadata=shown, timeout=30, **how)
            except grpc.aio.AioRpcError as error:
                return error.code()

        yield line


def besiege(pool: WorkerPool, attack: Callable[[Line, Job], Awaitable[None]]) -> list[Outcome]:
    """Attack each of three honest holders while they walk; the run isn't over before the attack is."""
    jobs, workers = make_jobs(GRAPH, SETTINGS, 60.0, OWNER, max_tokens=40), pool.workers(DAN)
    for worker, job in zip(workers, jobs, strict=False):
        worker.begin(job)
    for worker in workers:
        worker.wait_for("progress")

    async def act(peer: IdlePeer) -> None:
        for job in jobs[:DAN]:
            async with calling(job, jobs[DAN].credentials) as line:
                await attack(line, job)
        peer.done.set()
        await asyncio.wait_for(peer.over.wait(), 120)

    asyncio.run(as_idle_peer(jobs[DAN], act))
    return [worker.outcome() for worker in workers]


def assert_unharmed(outcomes: Sequence[Outcome], refused: dict[str, int], *senders: str) -> None:
    """All honest walks are there, as in `local`, and each holder has refused just this, from each of the senders."""
    walks = np.concatenate([outcome.answer.walks for outcome in outcomes])
    entries = np.concatenate([outcome.answer.entries for outcome in outcomes])
    expected = local_answer(GRAPH, SETTINGS).sequences
    np.testing.assert_array_equal(np.sort(walks), np.flatnonzero(OWNER[np.arange(len(expected)) % N] != DAN))
    np.testing.assert_array_equal(entries, expected[walks])
    for name, outcome in zip(NAMES, outcomes, strict=False):
        names = [name if sender == "itself" else sender for sender in senders or ("dan",)]
        named = {f"{sender}: {reason}": times for sender in names for reason, times in refused.items()}
        assert json.loads(outcome.answer.refused) == named
    assert all(outcome.answer.unreachable == [] for outcome in outcomes)


def batch(number: int, *tokens: tuple[int, int, list[int]], key: str = KEY) -> bytes:
    """Tokens given as (device, walk, entries)."""
    device, walk, rows = zip(*tokens, strict=True)
    entries = np.array([entry for row in rows for entry in row], np.int32)
    written = np.array([len(row) for row in rows], np.int32)
    tokens_of = TokenBatch(np.array(device, np.int32), np.array(walk, np.int64), written, entries)
    return tokens_of.to_bytes(bytes.fromhex(key), number)


def refusals(*verdicts: int) -> bytes:
    """A receipt."""
    return Receipt(np.array(verdicts, np.uint8)).to_bytes()


def test_bad_tokens_repetitions_and_gaps_are_refused(pool: WorkerPool) -> None:
    async def attack(line: Line, job: Job) -> None:
        mine, theirs, walk = job.me, (job.me + 1) % 3, (job.me + 2) % 3
        bad = [(theirs, walk, [1]), (mine, 10 * N, [1]), (mine, walk, [1] * 20), (mine, walk, [N]), (mine, walk, [-1])]
        own = (mine, mine, [1])
        assert await line("Deliver", batch(0, *bad, own)) == refusals(1, 2, 3, 4, 4, 5)
        assert await line("Deliver", batch(0, *bad, own)) == refusals(1, 2, 3, 4, 4, 5)
        assert await line("Deliver", batch(5, (mine, walk, [1]))) == refusals(6)

    refused = {
        "not the receiver's device": 1,
        "unknown walk": 1,
        "wrong length": 1,
        "id out of range": 2,
        "replayed": 1,
    }
    assert_unharmed(besiege(pool, attack), {**refused, "sent twice": 1, "out of order": 1})


def test_junk_and_what_belongs_to_another_attempt_is_refused(pool: WorkerPool) -> None:
    async def attack(line: Line, job: Job) -> None:
        whole = batch(0, (job.me, (job.me + 1) % 3, [1]))
        for junk in (b"", b"junk", whole[:-1], whole + b"\0"):
            assert await line("Deliver", junk) is grpc.StatusCode.INVALID_ARGUMENT
        assert await line("Deliver", batch(0, (job.me, 0, [1]), key=WRONG_KEY)) is grpc.StatusCode.INVALID_ARGUMENT
        assert await line("Deliver", whole, key=WRONG_KEY) is grpc.StatusCode.UNAVAILABLE
        assert await line("Escalate", b"") is grpc.StatusCode.UNIMPLEMENTED

    assert_unharmed(besiege(pool, attack), {"malformed": 4, "other run": 2})


def test_only_the_leader_can_conclude_and_parallel_calls_are_refused(pool: WorkerPool) -> None:
    async def attack(line: Line, job: Job) -> None:
        status = await line("Probe", b"")
        assert HolderStatus.from_bytes(status).activity > 0
        assert await line("Conclude", status) == DISAGREED
        assert await line("Conclude", b"now") is grpc.StatusCode.INVALID_ARGUMENT
        assert await line("Release", b"") == b""
        answers = await asyncio.gather(*(line("Probe", bytes(1000)) for _ in range(300)))
        assert {type(answer) for answer in answers} <= {bytes, grpc.StatusCode}
        assert bytes in map(type, answers)

    assert_unharmed(besiege(pool, attack), {"out of order": 2, "malformed": 1})


@pytest.mark.slow
def test_a_gigabyte_is_refused_before_it_takes_memory(pool: WorkerPool) -> None:
    async def no_attack(line: Line, job: Job) -> None:
        pass

    # A first walk loads the kernels, which takes memory, too.
    besiege(pool, no_attack)
    before = [worker.peak_memory() for worker in pool.workers(DAN)]

    async def attack(line: Line, job: Job) -> None:
        much, compressed = (1 << 30, 256 << 20) if job.me == 0 else (5 << 20, 1 << 20)
        assert await line("Deliver", bytes(much)) is grpc.StatusCode.RESOURCE_EXHAUSTED
        bomb = await line("Deliver", bytes(compressed), compression=grpc.Compression.Gzip)
        assert bomb is grpc.StatusCode.UNIMPLEMENTED

    assert_unharmed(besiege(pool, attack), {"too large": 1})
    after = [worker.peak_memory() for worker in pool.workers(DAN)]
    assert max(np.subtract(after, before)) < 64 << 20


def test_callers_without_a_valid_certificate_are_refused(pool: WorkerPool) -> None:
    foreign = certified(new_authority("other", days=2), NAMES[DAN])
    expired = certified(authority(), NAMES[DAN], datetime.now(UTC) - timedelta(days=3))
    stranger = certified(authority(), "eve")

    async def attack(line: Line, job: Job) -> None:
        for shown in (None, foreign, expired):
            async with calling(job, shown) as refused:
                assert await refused("Probe", b"") is grpc.StatusCode.UNAVAILABLE
        for shown in (stranger, job.credentials):
            async with calling(job, shown) as unknown:
                assert await unknown("Deliver", b"") is grpc.StatusCode.PERMISSION_DENIED

    assert_unharmed(besiege(pool, attack), {"unknown sender": 1}, "eve", "itself")


def test_a_copy_of_a_certificate_takes_over_no_numbers_and_both_owners_are_told(pool: WorkerPool) -> None:
    """An attacker with the key of a holder that walks calls before it does; every walk is finished all the same."""
    jobs, workers = make_jobs(GRAPH, SETTINGS, 60.0, np.arange(N) % 4, max_tokens=40), pool.workers(4)
    for worker, job in zip(workers[:DAN], jobs, strict=False):
        worker.begin(job)
    for worker in workers[:DAN]:
        worker.wait_for("progress")

    async def clone() -> None:
        for job in jobs[:DAN]:
            async with calling(job, jobs[DAN].credentials) as line:
                token = batch(0, (job.me, DAN, [1]))
                for session in ("ff" * 16, SESSIONS[0], "~"):
                    assert await line("Deliver", token, session=session) is grpc.StatusCode.PERMISSION_DENIED
                assert await line("Conclude", b"", session="ff" * 16) is grpc.StatusCode.PERMISSION_DENIED

    asyncio.run(clone())
    workers[DAN].begin(jobs[DAN])
    outcomes = [worker.outcome() for worker in workers]
    walks = np.concatenate([outcome.answer.walks for outcome in outcomes])
    entries = np.concatenate([outcome.answer.entries for outcome in outcomes])
    np.testing.assert_array_equal(np.sort(walks), np.arange(N * SETTINGS.num_walks))
    np.testing.assert_array_equal(entries, local_answer(GRAPH, SETTINGS).sequences[walks])
    assert [json.loads(outcome.answer.refused) for outcome in outcomes] == [{"dan: another session": 4}] * DAN + [{}]
    assert all("with a copy of dan's certificate" in outcome.said[0] for outcome in outcomes[:DAN])
    assert any(
        "a copy of this holder's certificate: another process has its key" in line for line in outcomes[DAN].said
    )


def test_a_process_at_a_holders_address_without_its_certificate_gets_no_tokens(pool: WorkerPool) -> None:
    jobs, worker = make_jobs(GRAPH, SETTINGS, 2.0, TWO_OWNERS), pool.workers(1)[0]
    worker.begin(jobs[0])

    async def act(peer: IdlePeer) -> Outcome:
        outcome = await asyncio.to_thread(worker.outcome)
        assert peer.calls == 0
        return outcome

    outcome = asyncio.run(as_idle_peer(replace(jobs[DAN], credentials=credentials("eve")), act))
    assert outcome.answer.unreachable == [NAMES[DAN]]
    assert outcome.given[DAN] == 0 < outcome.answer.given_up.size


def test_a_holder_with_unacknowledged_tokens_is_not_passive(pool: WorkerPool) -> None:
    jobs, worker = make_jobs(GRAPH, SETTINGS, 60.0, TWO_OWNERS), pool.workers(1)[0]
    worker.begin(jobs[0])
    counts = worker.wait_for("progress", handed=1)
    while counts["handed"] + counts["finished"] < counts["begun"]:
        counts = worker.wait_for("progress")

    async def ask() -> HolderStatus:
        async with calling(jobs[0], jobs[DAN].credentials) as line:
            return HolderStatus.from_bytes(await line("Probe", b""))

    assert asyncio.run(ask()) == HolderStatus(False, counts["begun"] + counts["handed"])


def test_tokens_that_come_after_the_end_are_given_up_at_once(pool: WorkerPool) -> None:
    jobs, worker = make_jobs(GRAPH, SETTINGS, 1000.0, TWO_OWNERS), pool.workers(1)[0]

    async def act(peer: IdlePeer) -> Outcome:
        peer.ended = True
        worker.begin(jobs[0])
        outcome = await asyncio.to_thread(worker.outcome)
        assert peer.refused == {"ann: after the end": 1}
        return outcome

    outcome = asyncio.run(as_idle_peer(jobs[DAN], act))
    assert outcome.answer.unreachable == [NAMES[DAN]]
    assert outcome.given[DAN] == 0 < outcome.answer.given_up.size


def test_a_holder_that_stays_with_another_attempt_is_given_up(pool: WorkerPool) -> None:
    jobs, worker = make_jobs(GRAPH, SETTINGS, 1.0, TWO_OWNERS), pool.workers(1)[0]

    async def act(peer: IdlePeer) -> Outcome:
        worker.begin(jobs[0])
        outcome = await asyncio.to_thread(worker.outcome)
        assert 2 < peer.refused["ann: other run"] < 40, "it was tried again, for as long as patience lasts"
        return outcome

    outcome = asyncio.run(as_idle_peer(jobs[DAN], act, WRONG_KEY))
    assert outcome.answer.unreachable == [NAMES[DAN]]
    assert outcome.given[DAN] == 0 < outcome.answer.given_up.size


@pytest.mark.parametrize("honest", [0, pytest.param(DAN, marks=pytest.mark.slow)])
def test_no_holder_can_keep_the_others_waiting_forever(pool: WorkerPool, honest: int) -> None:
    """Neither a holder that is never done, nor a leader that only asks, nor one that repeats itself."""
    jobs, worker = make_jobs(GRAPH, SETTINGS, 0.5, TWO_OWNERS), pool.workers(1)[0]
    idle = jobs[DAN - honest]
    token = batch(0, (honest // DAN, idle.me // DAN, [1]))

    async def act(peer: IdlePeer) -> Outcome:
        worker.begin(jobs[honest])
        async with calling(jobs[honest], idle.credentials, idle.me) as line:
            asking = asyncio.create_task(ask_for_ever(line, token))
            try:
                return await asyncio.to_thread(worker.outcome)
            finally:
                asking.cancel()
                await asyncio.wait([asking])

    outcome = asyncio.run(as_idle_peer(idle, act))
    assert outcome.answer.unreachable == []
    assert outcome.answer.given_up.size == 0 < outcome.given[idle.me]
    name = NAMES[idle.me]
    expected = {f"{name}: sent twice", f"{name}: after the end"}
    assert {f"{name}: sent twice"} <= json.loads(outcome.answer.refused).keys() <= expected


async def ask_for_ever(line: Line, token: bytes) -> None:
    while True:
        await line("Deliver", token, wait_for_ready=True)
        await line("Probe", b"", wait_for_ready=True)
