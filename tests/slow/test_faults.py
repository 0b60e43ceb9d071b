"""A table of faults over real processes: each walk ends as finished or as lost for a reason, and the run goes on.

Holders are killed, stopped, cut off, removed, copied and left without disk space while a run is on; the server is
killed in every phase. What could be saved is saved: a holder that comes back within the run's patience costs nothing.
"""

import hashlib
import json
import os
import resource
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import grpc
import psutil
import pytest

from fedwalk import social_network
from fedwalk.federation.checked_json import read_json
from fedwalk.federation.couriers import KEY_FIELD, SERVICE
from fedwalk.federation.enrolment import admit_holder, remove_holder
from fedwalk.federation.identity import read_request
from fedwalk.federation.processes import tagged
from fedwalk.federation.registration import register_holders
from fedwalk.federation.running import RunError
from fedwalk.run_folder import write_text
from fedwalk.settings import Settings
from flowering import UNHURRIED, Running, once, running
from forwarding import Forwarder

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif("FEDWALK_SLOW" not in os.environ, reason="takes minutes: set FEDWALK_SLOW=1"),
]
WALKS, DEVICES, AWAY = 600, 80, 35.0
"""Walks per device, so many that a fault finds them under way; devices; seconds that a holder is away."""
CHOSEN = Settings(walks=WALKS, walk_length=20, dim=16, threads=1)
IMPATIENT, BACK_SOON = 30.0, 50.0
"""Seconds of patience: for holders that don't come back, and for those whose next process does, in half a minute."""


@dataclass
class Bench:
    """A federation whose holder-1 reaches the server by a wire that can be cut."""

    up: Running
    wire: Forwarder

    def processes(self, name: str, part: str = "") -> list[psutil.Process]:
        """A party's processes, or those of them whose command has this part."""
        return [one for one in tagged(self.up.started[name].tag) if part in " ".join(one.cmdline())]


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    graph = social_network(vertices=DEVICES, mean_degree=8, communities=3, seed=1)
    with ExitStack() as stack:
        wires: list[Forwarder] = []

        def by_way_of_a_wire(up: Running) -> None:
            wires.append(stack.enter_context(Forwarder(up.federation.server.settings().address)))
            taken = up.folder("holder-1").path / "pass.json"
            write_text(taken, json.dumps({**read_json(taken), "server": wires[0].address}))

        path = tmp_path_factory.mktemp("faults") / "federation"
        up = stack.enter_context(running(path, graph, prepare=by_way_of_a_wire))
        yield Bench(up, wires[0])


def stopped(bench: Bench) -> None:
    """A laptop that sleeps."""
    processes = bench.processes("holder-1")
    for process in processes:
        process.suspend()
    time.sleep(AWAY)
    for process in processes:
        process.resume()


def cut_off(bench: Bench) -> None:
    bench.wire.cut()
    time.sleep(AWAY)
    bench.wire.is_cut = False


def killed(bench: Bench) -> None:
    """The first holder leads the end of the walks."""
    bench.up.kill("holder-0")


def restarted(bench: Bench) -> None:
    bench.up.kill("holder-1")
    bench.up.start_holder("holder-1")


def without_its_app(bench: Bench) -> None:
    for process in bench.processes("holder-1", "flwr-clientapp"):
        process.kill()


def without_its_supernode(bench: Bench) -> None:
    for process in bench.processes("holder-1", "flower_guards.supernode"):
        process.kill()
    bench.up.start_holder("holder-1")


def full(bench: Bench) -> None:
    """No file of holder-1's next processes can hold its walks; all that is smaller still fits."""
    for process in bench.processes("holder-1", "flower-superexec"):
        process.rlimit(resource.RLIMIT_FSIZE, (40_000, resource.RLIM_INFINITY))


def copied(bench: Bench) -> None:
    """A second client has holder-1's certificate and key, and calls the others under its name.

    Holder-1 itself sleeps meanwhile, so the walks can't be over before the calls.
    """
    folder, processes = bench.up.folder("holder-1"), bench.processes("holder-1")
    own = folder.credentials()
    tls = grpc.ssl_channel_credentials(own.authority, own.key, own.certificate)
    shown = ((KEY_FIELD, _key_of_the_walks(bench)),)
    for process in processes:
        process.suspend()
    try:
        for name in ("holder-0", "holder-2", "holder-3"):
            options = [("grpc.ssl_target_name_override", f"{name}.holder.fedwalk")]
            with grpc.secure_channel(bench.up.folder(name).settings().address, tls, options) as channel:
                hand = channel.unary_unary(f"/{SERVICE}/Hand")
                with pytest.raises(grpc.RpcError) as refused:
                    hand(b"", timeout=30, metadata=shown, wait_for_ready=True)
                assert refused.value.code() is grpc.StatusCode.PERMISSION_DENIED
    finally:
        for process in processes:
            process.resume()


def _key_of_the_walks(bench: Bench) -> str:
    """The attempt's key: holders know it, so a copy of one may."""
    notes = next(bench.up.federation.server.path.parent.parent.rglob("stages/federation.json"))
    return hashlib.sha256(f"{read_json(notes)['run']} walks 0".encode()).hexdigest()[:32]


def removed(bench: Bench) -> None:
    remove_holder(bench.up.federation.server, "holder-1")
    register_holders(bench.up.federation.server)


@dataclass(frozen=True)
class Fault:
    """What happens at which stage, whom it costs, how often a holder has to walk again, and what may be refused.

    After it the holders in `restart` aren't as they were.
    """

    stage: str
    act: Callable[[Bench], None]
    lost: dict[str, str]
    interrupted: int = 0
    refused: tuple[str, ...] = ()
    patience: float = UNHURRIED
    restart: tuple[str, ...] = ()


GONE = "walks: was away for 30 s"
FAULTS = {
    "a holder stopped in vectors": Fault("vectors", stopped, {}),
    "a holder stopped in walks": Fault("walks", stopped, {}),
    "a link cut in walks": Fault("walks", cut_off, {}),
    "a holder restarted in walks": Fault("walks", restarted, {}, interrupted=1, patience=BACK_SOON),
    "a client app killed in walks": Fault("walks", without_its_app, {}, interrupted=1, patience=BACK_SOON),
    "a SuperNode killed in walks": Fault("walks", without_its_supernode, {}, interrupted=1, patience=BACK_SOON),
    "a copy of a certificate in walks": Fault("walks", copied, {}, refused=("holder-1: another session",)),
    "the leader killed in walks": Fault(
        "walks", killed, {"holder-0": GONE}, patience=IMPATIENT, restart=("holder-0",)
    ),
    "a full disk in walks": Fault(
        "matrices", full, {"holder-1": "walks: refused: an error in the holder"}, restart=("holder-1",)
    ),
    "a holder removed in walks": Fault(
        "walks", removed, {"holder-1": "walks: removed by the operator"}, refused=("holder-1: unknown sender",),
        restart=("holder-1",),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", list(FAULTS))
def test_every_walk_is_finished_or_lost_for_a_reason(bench: Bench, name: str, tmp_path: Path) -> None:
    fault, acting, now = FAULTS[name], list[threading.Thread](), time.time()
    altered: tuple[str, ...] = ("holder-0", "holder-1")

    def act() -> None:
        if fault.stage == "walks":
            _await_walking(bench, now)
        fault.act(bench)

    def begin() -> None:
        acting.append(threading.Thread(target=act, daemon=True))
        acting[0].start()

    try:
        record = bench.up.run(CHOSEN, _output(bench, tmp_path), once(fault.stage, begin), patience=fault.patience)
        acting[0].join(60)
        assert not acting[0].is_alive()
        _assert_accounted_for(record["federation"], fault)
        altered = fault.restart
    finally:
        _restore(bench, altered)


def _output(bench: Bench, path: Path) -> Path:
    """Below the federation's own folder, where `copied` finds the run's notes."""
    return bench.up.federation.server.path.parent.parent / path.name / "run"


def _await_walking(bench: Bench, since: float) -> None:
    progress = bench.up.folder("holder-1").progress
    while not (progress.exists() and (found := read_json(progress))["began"] > since and found["handed"] > 0):
        time.sleep(0.02)


def _assert_accounted_for(account: dict[str, Any], fault: Fault) -> None:
    walks = account["walks"]
    assert account["lost"].keys() == fault.lost.keys(), account["lost"]
    for holder, reason in fault.lost.items():
        assert account["lost"][holder].startswith(reason)
    assert walks["finished"] + walks["lost"] == walks["asked"] == WALKS * DEVICES
    assert sum(walks["reasons"].values()) == walks["lost"]
    assert walks["started"] == walks["asked"] + walks["reissued"]
    assert sum(account["interrupted"].values()) == fault.interrupted
    assert account["refused_by_holders"].keys() <= set(fault.refused)
    assert fault.act is not copied or account["refused_by_holders"] == {fault.refused[0]: 3}
    if not fault.lost:
        assert walks["lost"] == 0
        assert account["embedded"] == DEVICES


def _restore(bench: Bench, altered: tuple[str, ...]) -> None:
    """All four holders as they were, for the next fault."""
    up, request = bench.up, bench.up.folder("holder-1").request
    admit_holder(up.federation.server, read_request(request.read_bytes()), 30)
    register_holders(up.federation.server)
    up.bring_back(*altered)


def test_a_server_killed_in_every_phase_goes_on_and_loses_nothing(bench: Bench, tmp_path: Path) -> None:
    phases = ["roll", "vectors", "matrices", "tree", "walks", "skipgram"]
    for number, phase in enumerate(phases):
        with pytest.raises(RunError):
            bench.up.run(
                CHOSEN, tmp_path / "run", once(phase, lambda: bench.up.kill("server")), patience=UNHURRIED,
                resume=number > 0,
            )  # fmt: skip
        bench.up.start_server()
    record = bench.up.run(CHOSEN, tmp_path / "run", patience=UNHURRIED, resume=True)
    walks = record["federation"]["walks"]
    assert record["federation"]["lost"] == {}
    assert walks["finished"] == walks["asked"] == WALKS * DEVICES
    assert sum(walks["reasons"].values()) == walks["lost"] == 0
