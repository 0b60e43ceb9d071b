"""Holders that send answers which the protocol doesn't allow, over Flower: refused by name and counted."""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fedwalk import social_network
from fedwalk.embedding import Embedding
from fedwalk.federation.deploy.follow_run import RunError
from fedwalk.federation.deploy.processes import tagged
from fedwalk.federation.membership.folders import write_settings
from fedwalk.graph import Graph
from fedwalk.settings import Settings
from helpers.flower_federation import PATIENCE, Running, hook, inject, pass_on, running

pytestmark = pytest.mark.slow
CHOSEN: dict[str, Any] = {"num_walks": 4, "walk_length": 20, "dim": 16, "threads": 1}
PRIVATE: dict[str, Any] = {**CHOSEN, "protocol": "ldp", "epsilon": 5.0}
MAX_BATCH_BYTES = 32 << 20
MAX_MEMORY = 1000 << 20
"""Bytes of each of the server's processes; accepting a gigabyte would exceed it."""

TWIST = """
import json, os, time

def twisted(kind, fields):
    import numpy as np
    fields = {name: value.copy() if hasattr(value, "copy") else value for name, value in fields.items()}
    if kind == "nan":
        fields["vectors"][0, 0] = np.nan
    elif kind == "claim":
        fields["devices"][0] = 0
    elif kind == "gigabyte":
        fields = {"junk": np.frombuffer(os.urandom(1 << 30), np.uint8)}
    elif kind == "bomb":
        fields = {"junk": np.zeros(1 << 30, np.uint8)}
    elif kind == "short":
        fields["entries"] = np.ascontiguousarray(fields["entries"][:, :-1])
    elif kind.startswith("slow"):
        time.sleep(float(kind.split()[1]))
    elif kind == "out of range":
        fields["entries"][-1, -1] = 1_000_000
    return fields

def change(app):
    honest = app.answer

    def answer(folder, phase, records):
        orders = json.load(open(os.environ["FEDWALK_TEST_ORDERS"]))
        fields = honest(folder, phase, records)
        kind = orders.get(folder.settings().name, {}).get(phase)
        return twisted(kind, fields) if kind else fields

    app.answer = answer
"""
"""Runs first in the holders' processes: answers as it is ordered to, in place of what the holder would answer."""


@pytest.fixture(scope="module")
def graph() -> Graph:
    return social_network(vertices=80, mean_degree=12, communities=3, seed=1)


@pytest.fixture(scope="module")
def orders(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("orders") / "orders.json"


@pytest.fixture(scope="module")
def up(graph: Graph, orders: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    path = tmp_path_factory.mktemp("hostile")
    with pytest.MonkeyPatch.context() as patch:
        twist = inject(path / "twist", hook("fedwalk.federation.apps.client_app", "app", TWIST))
        pass_on(patch, PYTHONPATH=twist, FEDWALK_TEST_ORDERS=str(orders))
        with running(path / "federation", graph, prepare=_small_answers) as federation:
            yield federation


def _small_answers(up: Running) -> None:
    server = up.federation.server
    write_settings(server.settings_file, replace(server.settings(), max_answer=MAX_BATCH_BYTES))


def test_holders_with_malformed_answers_are_left_out_and_the_others_go_on(
    up: Running, orders: Path, tmp_path: Path
) -> None:
    orders.write_text(json.dumps({"holder-1": {"vectors": "nan"}, "holder-2": {"walks": "out of range"},
                                  "holder-3": {"walks": "short"}}))  # fmt: skip
    record = up.run(Settings(**CHOSEN), tmp_path / "run")
    federation = record["federation"]
    assert federation["invalid"] == federation["lost"]
    assert federation["lost"] == {
        "holder-1": "vectors: holder-1: a degree vector must be 4 finite numbers.",
        "holder-2": "walks: holder-2: a sequence names a vertex outside 0 … 59.",
        "holder-3": f"walks: holder-3: {_count(federation)} walks must have 20 entries each.",
    }
    assert len(Embedding.load(tmp_path / "run" / "embedding.npz").nodes) == federation["embedded"] == 20
    assert federation["walks"]["finished"] == len(np.load(tmp_path / "run" / "walks.npy")) > 0


def _count(federation: dict[str, Any]) -> str:
    return str(federation["lost"]["holder-3"].split()[2])


def test_a_holder_that_speaks_for_anothers_device_is_refused(up: Running, orders: Path, tmp_path: Path) -> None:
    orders.write_text(json.dumps({"holder-2": {"roll": "claim"}}))
    with pytest.raises(RunError, match=r"3 of 4 holders .*: holder-2: answers for 1 device of other holders"):
        up.run(Settings(**PRIVATE), tmp_path / "run", min_holders=4)


def test_a_slow_holder_is_left_out_gigabytes_are_refused_and_memory_stays_bounded(
    up: Running, orders: Path, tmp_path: Path
) -> None:
    # Time for a holder to make its gigabyte, on a machine that may be busy.
    patience = 2 * PATIENCE
    orders.write_text(json.dumps({"holder-1": {"reports": "gigabyte"}, "holder-2": {"reports": f"slow {3 * patience}"},
                                  "holder-3": {"reports": "bomb"}}))  # fmt: skip
    record = up.run(Settings(**PRIVATE), tmp_path / "run", patience=patience)
    federation = record["federation"]
    assert federation["lost"].keys() == {"holder-1", "holder-2", "holder-3"}
    assert federation["lost"]["holder-2"] == f"reports: no answer in {patience:g} s"
    assert federation["invalid"]["holder-3"].startswith(
        "reports: an answer of 1025 MB; at most 32 MB are allowed. Raise"
    )
    assert federation["embedded"] == 20
    assert federation["refused_by_server"]["holder-1: larger than this federation allows"] > 0
    peaks = [_peak_memory(process.pid) for process in tagged(up.started["server"].tag)]
    assert peaks
    assert max([*peaks, record["peak_rss_bytes"]]) < MAX_MEMORY


def _peak_memory(pid: int) -> int:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return int(next(line.split()[1] for line in lines if line.startswith("VmHWM"))) << 10
