"""A table of faults in real processes: each walk is finished or counted as lost with a reason, and the run goes on.

During a run, holders are killed, suspended, disconnected, removed, impersonated and left without disk space, and the
server is killed in every phase. A holder that comes back within the run's patience loses nothing.
"""

import hashlib
import json
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
from fedwalk.federation.deploy.follow_run import RunError
from fedwalk.federation.deploy.processes import tagged
from fedwalk.federation.deploy.registration import register_holders
from fedwalk.federation.membership.admission import admit_holder, remove_holder
from fedwalk.federation.membership.folders import HolderFolder
from fedwalk.federation.membership.requests import read_request
from fedwalk.federation.walking.peer_client import KEY_FIELD, SERVICE
from fedwalk.run.folder import write_text
from fedwalk.settings import Settings
from fedwalk.util.checked_json import read_json
from helpers.flower_federation import UNHURRIED, Running, once, running
from helpers.forwarder import Forwarder
from helpers.walk_gate import WalkGate, walk_gate

pytestmark = pytest.mark.slow
WALKS, DEVICES, AWAY = 100, 80, 25.0
"""Walks per device; devices; seconds that a holder is away: more than the 20 after which the server counts it as
offline."""
CHOSEN = Settings(num_walks=WALKS, walk_length=20, dim=16, threads=1)
IMPATIENT, BACK_SOON = 30.0, 50.0
"""Seconds of patience: for holders that don't come back, and for those that are back after half a minute."""


@dataclass
class Bench:
    """A federation whose holder-1 reaches the server through a forwarder, so that its connection can be cut."""

    up: Running
    wire: Forwarder
    gate: WalkGate

    def processes(self, name: str, part: str = "") -> list[psutil.Process]:
        """A party's processes, or those of them whose command has this part."""
        return [one for one in tagged(self.up.started[name].tag) if part in " ".join(one.cmdline())]


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    graph = social_network(vertices=DEVICES, mean_degree=8, communities=3, seed=1)
    with ExitStack() as stack:
        wires: list[Forwarder] = []

        def through_a_forwarder(up: Running) -> None:
            wires.append(stack.enter_context(Forwarder(up.federation.server.settings().address)))
            taken = up.folder("holder-1").path / "pass.json"
            write_text(taken, json.dumps({**read_json(taken), "server": wires[0].address}))

        path = tmp_path_factory.mktemp("faults")
        gate = stack.enter_context(walk_gate(path / "gate"))
        up = stack.enter_context(running(path / "federation", graph, prepare=through_a_forwarder, holders=3))
        yield Bench(up, wires[0], gate)


def stopped(bench: Bench) -> None:
    """Suspend holder-1 for a while, as a laptop that sleeps."""
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
    """Kill holder-0, which as the first holder detects the end of the walks."""
    bench.up.kill("holder-0")


def restarted(bench: Bench) -> None:
    bench.up.kill("holder-1")
    bench.up.start_holder("holder-1")


def without_its_app(bench: Bench) -> None:
    for process in bench.processes("holder-2", "flwr-clientapp"):
        process.kill()


def without_its_supernode(bench: Bench) -> None:
    for process in bench.processes("holder-1", "flower_guards.supernode"):
        process.kill()
    bench.up.start_holder("holder-1")


def full(bench: Bench) -> None:
    """Limit the files of holder-1's next processes to less than its walks need; smaller files still fit."""
    for process in bench.processes("holder-1", "flower-superexec"):
        process.rlimit(resource.RLIMIT_FSIZE, (40_000, resource.RLIM_INFINITY))


def copied(bench: Bench) -> None:
    """A second client has holder-1's certificate and key, and calls the others under its name."""
    own = bench.up.folder("holder-1").credentials()
    tls = grpc.ssl_channel_credentials(own.authority, own.key, own.certificate)
    shown = ((KEY_FIELD, _key_of_the_walks(bench)),)
    for name in ("holder-0", "holder-2"):
        options = [("grpc.ssl_target_name_override", f"{name}.holder.fedwalk")]
        with grpc.secure_channel(bench.up.folder(name).settings().address, tls, options) as channel:
            hand = channel.unary_unary(f"/{SERVICE}/Deliver")
            with pytest.raises(grpc.RpcError) as refused:
                hand(b"", timeout=30, metadata=shown, wait_for_ready=True)
            assert refused.value.code() is grpc.StatusCode.PERMISSION_DENIED


def _key_of_the_walks(bench: Bench) -> str:
    """The attempt's key, which every holder knows, so a copy of a holder may know it too."""
    notes = next(bench.up.federation.server.path.parent.parent.rglob("stages/federation.json"))
    return hashlib.sha256(f"{read_json(notes)['run']} walks 0".encode()).hexdigest()[:32]


def removed(bench: Bench) -> None:
    remove_holder(bench.up.federation.server, "holder-1")
    register_holders(bench.up.federation.server)


Act = Callable[[Bench], None]


@dataclass(frozen=True)
class Fault:
    """What happens in which stages, which holders it costs, how many have to walk again, what may be refused.

    The holders in `restart` have to be started again afterwards.
    """

    acts: dict[str, tuple[Act, ...]]
    lost: dict[str, str]
    interrupted: int = 0
    refused: tuple[str, ...] = ()
    patience: float = UNHURRIED
    restart: tuple[str, ...] = ()


GONE = "walks: was away for 30 s"
FAULTS = {
    "a holder stopped in vectors, its link cut in walks": Fault({"vectors": (stopped,), "walks": (cut_off,)}, {}),
    "a certificate copied and its holder stopped in walks": Fault(
        {"walks": (copied, stopped)}, {}, refused=("holder-1: another session",)
    ),
    "a holder restarted, another one's client app killed in walks": Fault(
        {"walks": (restarted, without_its_app)}, {}, interrupted=2, patience=BACK_SOON
    ),
    "a SuperNode killed in walks": Fault({"walks": (without_its_supernode,)}, {}, interrupted=1, patience=BACK_SOON),
    "the leader killed in walks": Fault(
        {"walks": (killed,)}, {"holder-0": GONE}, patience=IMPATIENT, restart=("holder-0",)
    ),
    "a full disk in walks": Fault(
        {"matrices": (full,)}, {"holder-1": "walks: refused: an error in the holder"}, restart=("holder-1",)
    ),
    "a holder removed in walks": Fault(
        {"walks": (removed,)}, {"holder-1": "walks: removed by the operator"}, refused=("holder-1: unknown sender",),
        restart=("holder-1",),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", list(FAULTS))
def test_every_walk_is_finished_or_lost_for_a_reason(bench: Bench, name: str, tmp_path: Path) -> None:
    fault, acting, now = FAULTS[name], list[threading.Thread](), time.time()
    altered: tuple[str, ...] = tuple(bench.up.holders)

    def act(stage: str, acts: tuple[Act, ...]) -> None:
        try:
            if stage == "walks":
                _await_walking(bench, now)
            for one in acts:
                one(bench)
        finally:
            if stage == "walks":
                bench.gate.open()

    def watch(stage: str, done: int, total: int) -> None:
        if acts := waiting.pop(stage, ()):
            acting.append(threading.Thread(target=act, args=(stage, acts), daemon=True))
            acting[-1].start()

    waiting = dict(fault.acts)
    if "walks" in waiting:
        bench.gate.close()
    try:
        record = bench.up.run(CHOSEN, _output(bench, tmp_path), watch, patience=fault.patience)
        assert not waiting
        for thread in acting:
            thread.join(60)
            assert not thread.is_alive()
        _assert_accounted_for(record["federation"], fault)
        altered = fault.restart
    finally:
        bench.gate.open()
        _restore(bench, altered)


def _output(bench: Bench, path: Path) -> Path:
    """Below the federation's own folder, where `copied` finds the run's notes."""
    return bench.up.federation.server.path.parent.parent / path.name / "run"


def _await_walking(bench: Bench, since: float) -> None:
    """Wait until every holder has handed tokens on, in a walk phase that began after `since`."""
    for holder in bench.up.federation.holders:
        while not _is_walking(holder, since):
            time.sleep(0.02)


def _is_walking(holder: HolderFolder, since: float) -> bool:
    if not holder.progress.exists():
        return False
    progress = read_json(holder.progress)
    return bool(progress["began"] > since and progress["handed"] > 0)


def _assert_accounted_for(federation: dict[str, Any], fault: Fault) -> None:
    walks = federation["walks"]
    assert federation["lost"].keys() == fault.lost.keys(), federation["lost"]
    for holder, reason in fault.lost.items():
        assert federation["lost"][holder].startswith(reason)
    assert walks["finished"] + walks["lost"] == walks["asked"] == WALKS * DEVICES
    assert sum(walks["reasons"].values()) == walks["lost"]
    assert walks["started"] == walks["asked"] + walks["reissued"]
    assert sum(federation["interrupted"].values()) == fault.interrupted
    assert federation["refused_by_holders"].keys() <= set(fault.refused)
    assert copied not in fault.acts.get("walks", ()) or federation["refused_by_holders"] == {fault.refused[0]: 2}
    if not fault.lost:
        assert walks["lost"] == 0
        assert federation["embedded"] == DEVICES


def _restore(bench: Bench, altered: tuple[str, ...]) -> None:
    """Make all holders as they were, for the next fault."""
    up, request = bench.up, bench.up.folder("holder-1").request
    admit_holder(up.federation.server, read_request(request.read_bytes()), 30)
    register_holders(up.federation.server)
    up.bring_back(*altered)


def test_a_server_killed_in_every_phase_goes_on_and_loses_nothing(bench: Bench, tmp_path: Path) -> None:
    phases = ["roll", "vectors", "matrices", "tree", "walks", "skipgram"]
    for number, phase in enumerate(phases):
        # Without the gate, a short phase, or the whole run, could be over before the server is killed.
        with bench.gate.server_held_in(phase), pytest.raises(RunError):
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
