"""A holder's port under attack, over real sockets: it stays open for other holders and within its descriptors."""

import asyncio
import json
import resource
import socket
import threading
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import ExitStack, asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import grpc
import numpy as np
import pytest

from fedwalk.errors import SettingsError
from fedwalk.federation.server.walk_phase import check_refusals
from fedwalk.federation.walking import peer_port, peer_service
from fedwalk.federation.walking.peer_client import KEY_FIELD, SERVICE, SESSION_FIELD
from fedwalk.federation.walking.peer_port import HolderPort
from fedwalk.federation.walking.peer_service import PeerService
from fedwalk.federation.walking.plan import session_digest
from fedwalk.federation.walking.termination import HolderStatus
from fedwalk.federation.wire.connection_limits import (
    NOT_AUTHENTICATED,
    TOO_MANY_PER_PARTY,
    TOO_MANY_UNKNOWN,
    ConnectionLimits,
)
from fedwalk.federation.wire.token_batches import Receipt
from fedwalk.graph import social_network
from fedwalk.settings import Settings
from helpers.walk_questions import KEY, SESSIONS, local_answer
from helpers.walking_holders import NAMES, WorkerPool, credentials, free_addresses, make_jobs, worker_pool

SOON = 30.0
GRAPH = social_network(vertices=300, mean_degree=8, communities=3, seed=3)
SETTINGS = Settings(num_walks=10, walk_length=20, seed=7).resolve(GRAPH.vertices)
CLIENT_HELLO = b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"
"""The first bytes of a TLS handshake, which never go on."""


@pytest.fixture(scope="module")
def pool(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WorkerPool]:
    with worker_pool(tmp_path_factory.mktemp("pool")) as pool:
        yield pool


TAKEN = Receipt(np.zeros(1, np.uint8))


@dataclass
class AcceptingHandler:
    """Accepts every batch."""

    refused: Counter[str] = field(default_factory=Counter)
    ended: bool = False
    received: list[int] = field(default_factory=list)

    def receive(self, sender: int, data: bytes) -> Receipt:
        self.received.append(len(data))
        return TAKEN

    async def probed(self, sender: int) -> HolderStatus:
        return HolderStatus(True, 0)

    def conclude(self, sender: int, status: HolderStatus) -> bool:
        return True

    def release(self, sender: int) -> None:
        pass


@dataclass
class Ann:
    """A peer service that is open, the handler behind it, and where it listens."""

    handler: AcceptingHandler
    service: PeerService
    address: str

    @property
    def port(self) -> HolderPort:
        return self.service._port

    def connect(self, source: str = "127.0.0.1") -> socket.socket:
        host, port = self.address.split(":")
        return socket.create_connection((host, int(port)), SOON, (source, 0))


@asynccontextmanager
async def ann() -> AsyncIterator[Ann]:
    handler, (address,) = AcceptingHandler(), free_addresses(1)
    opened = PeerService(handler, NAMES, [1, 2, 3], KEY, [session_digest(one) for one in SESSIONS])
    await opened.open(address, credentials("ann"), SOON)
    try:
        yield Ann(handler, opened, address)
    finally:
        await opened.close(0.0)


@asynccontextmanager
async def deliver(address: str, name: str = "bob") -> AsyncIterator[Callable[[bytes], Awaitable[Any]]]:
    """Deliver batches to ann over one connection; gives the answer, or gRPC's status if there is none."""
    own, session = credentials(name), dict(zip(NAMES, SESSIONS, strict=False)).get(name, "")
    shown = ((KEY_FIELD, KEY), (SESSION_FIELD, session))
    tls = grpc.ssl_channel_credentials(own.authority, own.key, own.certificate)
    options = [("grpc.ssl_target_name_override", "ann.holder.fedwalk"), ("grpc.use_local_subchannel_pool", 1)]
    async with grpc.aio.secure_channel(address, tls, options) as channel:

        async def call(data: bytes) -> Any:
            try:
                method = channel.unary_unary(f"/{SERVICE}/Deliver")
                return await method(data, metadata=shown, timeout=SOON)
            except grpc.aio.AioRpcError as error:
                return error.code()

        yield call


async def ended(connection: socket.socket) -> bytes:
    """Read until the other side closes."""

    def read() -> bytes:
        received = b""
        with suppress(ConnectionError):
            while piece := connection.recv(4096):
                received += piece
        return received

    return await asyncio.to_thread(read)


async def until(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + SOON
    while not condition():
        assert time.monotonic() < end
        await asyncio.sleep(0.02)


def descriptors(process: int | str = "self") -> int:
    return len(list(Path(f"/proc/{process}/fd").iterdir()))


def test_a_connection_is_known_by_the_certificate_of_its_first_call() -> None:
    """It rests on gRPC naming the path from which a connection comes."""

    async def act() -> None:
        async with ann() as at, deliver(at.address) as bob:
            assert await bob(bytes(1 << 20)) == TAKEN.to_bytes()
            assert at.port.limits.of("bob") == [1]
            assert at.handler.received == [1 << 20]
            assert [path.name for path in at.port.folder.iterdir()] == ["grpc"]
            assert at.port.folder.stat().st_mode & 0o777 == 0o700
        assert not at.port.folder.exists()

    asyncio.run(act())


def test_connections_that_stay_silent_are_dropped_and_known_ones_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(peer_port, "AUTHENTICATION_TIMEOUT", 0.4)

    async def act() -> None:
        async with ann() as at, deliver(at.address) as bob, deliver(at.address, "eve") as eve:
            assert await bob(b"1") == TAKEN.to_bytes()
            assert await eve(b"1") is grpc.StatusCode.PERMISSION_DENIED
            with at.connect() as idle, at.connect() as half_open:
                half_open.sendall(CLIENT_HELLO)
                assert [await ended(one) for one in (idle, half_open)] == [b"", b""]
            await until(lambda: len(at.port.limits) == 1)
            assert at.handler.refused == {"eve: unknown sender": 1, NOT_AUTHENTICATED: 3}
            assert await bob(b"2") == TAKEN.to_bytes()
            assert at.port.limits.of("bob") == [1]

    asyncio.run(act())


def test_a_handshake_that_trickles_in_is_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(peer_port, "AUTHENTICATION_TIMEOUT", 0.5)

    def trickle(connection: socket.socket) -> int:
        with suppress(ConnectionError):
            for sent in range(500):
                connection.sendall(CLIENT_HELLO[sent : sent + 1] or b"\0")
                time.sleep(0.05)
        return sent

    async def act() -> None:
        async with ann() as at:
            with at.connect() as connection:
                assert await asyncio.to_thread(trickle, connection) < 100
            assert at.handler.refused == {NOT_AUTHENTICATED: 1}

    asyncio.run(act())


class Slow:
    """A wire that carries so many bytes a second to an address."""

    def __init__(self, target: str, pace: int) -> None:
        self._target, self._pace, self._open = target.split(":"), pace, list[asyncio.StreamWriter]()

    async def __aenter__(self) -> str:
        self._server = await asyncio.start_server(self._connect, "127.0.0.1", 0)
        return f"127.0.0.1:{self._server.sockets[0].getsockname()[1]}"

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        for writer in self._open:
            writer.transport.abort()
        await asyncio.sleep(0.1)

    async def _connect(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        back, to = await asyncio.open_connection(*self._target)
        self._open += [writer, to]
        await asyncio.gather(self._pump(reader, to, self._pace), self._pump(back, writer, 1 << 30))

    async def _pump(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, pace: int) -> None:
        with suppress(ConnectionError):
            while piece := await reader.read(min(pace // 20, 1 << 16)):
                writer.write(piece)
                await writer.drain()
                await asyncio.sleep(len(piece) / pace)
        writer.close()


def test_a_body_that_trickles_in_is_cut_and_other_holders_go_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(peer_service, "BODY_TIMEOUT", 1.0)

    async def act() -> None:
        async with (
            ann() as at,
            Slow(at.address, pace=64 << 10) as slow,
            deliver(slow) as bob,
            deliver(at.address, "cyd") as cyd,
        ):
            assert await bob(b"1") == TAKEN.to_bytes(), "a small one arrives in time"
            began = time.monotonic()
            status, _ = await asyncio.gather(bob(bytes(1 << 20)), cyd(b"1"))
            assert status in (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.DEADLINE_EXCEEDED)
            assert time.monotonic() - began < 8
            assert at.handler.refused == {"bob: too slow": 1}
            assert at.handler.received == [1, 1]
            await until(lambda: at.port.limits.of("bob") == [])

    asyncio.run(act())


def test_one_holder_with_many_connections_drops_its_own() -> None:
    async def act() -> None:
        async with ann() as at, deliver(at.address, "cyd") as cyd:
            assert await cyd(b"1") == TAKEN.to_bytes()
            for _ in range(9):
                bob = deliver(at.address)
                assert await (await bob.__aenter__())(b"1") == TAKEN.to_bytes()
                channels.append(bob)
            assert at.port.limits.of("bob") == [7, 8, 9, 10]
            assert at.handler.refused == {TOO_MANY_PER_PARTY: 5}
            assert await cyd(b"2") == TAKEN.to_bytes()
            assert at.port.limits.of("cyd") == [1]
            for bob in channels:
                await bob.__aexit__(None, None, None)

    channels: list[Any] = []
    asyncio.run(act())


def test_what_the_server_behind_does_not_read_stays_with_the_sender() -> None:
    """The copying has no buffer of its own that grows."""
    most = 8 << 20

    async def act() -> None:
        port, (address,) = HolderPort(lambda reason: None), free_addresses(1)
        reading, arrived = asyncio.Event(), asyncio.Event()

        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reading.wait()
            data = await reader.readexactly(sent[0])
            assert data == bytes(sent[0])
            writer.write(b"all of it")
            writer.close()
            arrived.set()

        sent, inner = [0], await asyncio.start_unix_server(serve, port.inner, limit=1 << 16)
        await port.open(address, SOON)
        with socket.create_connection(("127.0.0.1", int(address.split(":")[1])), SOON) as client:
            client.setblocking(False)
            quiet = 0
            while quiet < 20 and sent[0] < 1 << 30:
                try:
                    sent[0] += client.send(bytes(1 << 16))
                    quiet = 0
                except BlockingIOError:
                    quiet += 1
                await asyncio.sleep(0.01)
            assert sent[0] < most
            reading.set()
            await asyncio.wait_for(arrived.wait(), SOON)
            client.setblocking(True)
            assert await ended(client) == b"all of it"
        inner.close()
        await port.close(SOON)

    asyncio.run(act())


def test_closing_does_not_wait_for_unknown_connections() -> None:
    async def act() -> float:
        async with ann() as at:
            with at.connect(), at.connect() as half_open:
                half_open.sendall(CLIENT_HELLO)
                await until(lambda: len(at.port.limits) == 2)
                began = time.monotonic()
                await at.service.close(SOON)
                return time.monotonic() - began

    assert asyncio.run(act()) < SOON / 2


def test_the_owner_is_told_once_per_kind_and_minute(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(peer_port, "holder_limits", lambda: ConnectionLimits(8, 4))
    monkeypatch.setattr(peer_port, "AUTHENTICATION_TIMEOUT", 0.5)

    async def act() -> Counter[str]:
        async with ann() as at:
            with ExitStack() as stack:
                idle = [stack.enter_context(at.connect()) for _ in range(50)]
                for one in idle:
                    assert await ended(one) == b""
        return at.handler.refused

    refused = asyncio.run(act())
    assert refused == {TOO_MANY_UNKNOWN: 46, NOT_AUTHENTICATED: 4}
    check_refusals("ann", json.dumps(refused))
    assert capsys.readouterr().err.splitlines() == [
        f"fedwalk: connections to this holder's port that were dropped: {count}, {reason}"
        for count, reason in (
            (1, TOO_MANY_UNKNOWN), (1, NOT_AUTHENTICATED), (45, TOO_MANY_UNKNOWN), (3, NOT_AUTHENTICATED),
        )
    ]  # fmt: skip


@pytest.mark.parametrize("listen", ["127.0.0.1", "127.0.0.1:http", "127.0.0.1:99999", "no.such.host.invalid:7443"])
def test_an_address_that_is_none_is_an_error_that_names_it(listen: str) -> None:
    async def act() -> None:
        port = HolderPort(lambda reason: None)
        try:
            await port.open(listen, 0.1)
        finally:
            await port.close(0.0)

    with pytest.raises(SettingsError, match=f"{listen}.*can't listen there"):
        asyncio.run(act())


@contextmanager
def flood(addresses: list[str]) -> Iterator[Counter[str]]:
    """Open connections to all addresses as fast as one thread can, hundreds at a time, half with half a handshake."""
    stop, opened = threading.Event(), Counter[str]()

    def attack() -> None:
        idle: list[socket.socket] = []
        while not stop.is_set():
            for address in addresses:
                with suppress(OSError):
                    host, port = address.split(":")
                    source = ("127.0.0.1", "127.0.0.2")[opened.total() % 2]
                    idle.append(socket.create_connection((host, int(port)), 1.0, (source, 0)))
                    opened[address] += 1
                    if opened.total() % 3 == 0:
                        idle[-1].sendall(CLIENT_HELLO)
            while len(idle) > 100 * len(addresses):
                idle.pop(0).close()
            time.sleep(0.002)
        for one in idle:
            one.close()

    thread = threading.Thread(target=attack)
    thread.start()
    try:
        yield opened
    finally:
        stop.set()
        thread.join()


@pytest.mark.slow
def test_a_walk_phase_under_a_flood_of_unknown_connections_loses_nothing(pool: WorkerPool) -> None:
    """Half of the unknown connections have the holders' own address."""
    jobs, workers = make_jobs(GRAPH, SETTINGS, 60.0, max_tokens=40), pool.workers(4)
    # One begins late, so that the others find themselves flooded before they have met.
    for worker, job in zip(workers[1:], jobs[1:], strict=True):
        worker.begin(job)
    for worker in workers[1:]:
        worker.wait_for("progress")
    with flood([job.listen for job in jobs]) as opened:
        while min(opened[job.listen] for job in jobs[1:]) < 200:
            time.sleep(0.05)
        workers[0].begin(jobs[0])
        outcomes = [worker.outcome() for worker in workers]
    answers = [outcome.answer for outcome in outcomes]
    walks = np.concatenate([answer.walks for answer in answers])
    entries = np.concatenate([answer.entries for answer in answers])
    expected = local_answer(GRAPH, SETTINGS).sequences
    np.testing.assert_array_equal(np.sort(walks), np.arange(len(expected)))
    np.testing.assert_array_equal(entries, expected[walks])
    for answer in answers:
        assert answer.given_up.size == 0
        assert answer.unreachable == []
        check_refusals("a holder", answer.refused)
    assert all(json.loads(answer.refused)[TOO_MANY_UNKNOWN] > 0 for answer in answers[1:])
    assert all(answer.walks.size > 0 for answer in answers)


@pytest.mark.slow
def test_thirteen_hundred_unknown_connections_leave_descriptors_free(pool: WorkerPool) -> None:
    jobs, worker = make_jobs(GRAPH, SETTINGS, 60.0), pool.workers(1)[0]
    resource.prlimit(worker.process.pid, resource.RLIMIT_NOFILE, (1024, 1024))
    worker.begin(jobs[0])
    worker.wait_for("progress")
    host, port = jobs[0].listen.split(":")
    with ExitStack() as stack:
        for i in range(1300):
            source = (f"127.0.0.{2 + i % 40}", 0)
            connection = stack.enter_context(socket.create_connection((host, int(port)), SOON, source))
            if i % 2:
                connection.sendall(CLIENT_HELLO)
            assert i % 100 or descriptors(worker.process.pid) < 1000
        assert descriptors(worker.process.pid) < 1000

        async def ask() -> None:
            async with deliver(jobs[0].listen) as bob:
                assert await bob(b"junk") is grpc.StatusCode.INVALID_ARGUMENT, "it read the body of a known holder"

        asyncio.run(ask())
    worker.kill()
