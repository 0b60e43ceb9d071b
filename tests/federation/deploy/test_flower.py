"""A federation over Flower: separate processes, real sockets, the same results as the simulation."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fedwalk import FedWalk, social_network
from fedwalk.embedding import Embedding
from fedwalk.federation.wire import token_batches as tokens
from fedwalk.graph import Graph
from fedwalk.settings import Settings
from helpers.flower_federation import UNHURRIED, Running, hook, inject, pass_on, running

pytestmark = pytest.mark.slow
SEED = 3
CHOSEN: dict[str, Any] = {"num_walks": 4, "walk_length": 20, "dim": 16, "seed": SEED, "threads": 1}


RECORDER = """
import os

def change(limits):
    passing = limits.RequestLimits.__call__

    async def recording(self, scope, receive, send):
        async def noting():
            message = await receive()
            if message.get("body"):
                with open(os.environ["FEDWALK_TEST_VIEW"], "ab") as file:
                    file.write(b"\\n" + scope["path"].encode() + b"\\n" + message["body"])
            return message
        await passing(self, scope, noting, send)

    limits.RequestLimits.__call__ = recording
"""
"""Runs first in the server's processes: notes every byte of every request that reaches the SuperLink."""


@pytest.fixture(scope="module")
def graph() -> Graph:
    return social_network(vertices=80, mean_degree=8, communities=3, seed=1)


@pytest.fixture(scope="module")
def view(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where every byte goes that reaches the server."""
    return tmp_path_factory.mktemp("view") / "view"


@pytest.fixture(scope="module")
def simulated(graph: Graph, view: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """Four holders whose noise is a function of the seed."""
    path = tmp_path_factory.mktemp("simulated")
    with pytest.MonkeyPatch.context() as patch:
        limits = "fedwalk.federation.flower_guards.request_limits"
        recorder = inject(path / "recorder", hook(limits, "RequestLimits", RECORDER))
        pass_on(patch, PYTHONPATH=recorder, FEDWALK_TEST_VIEW=str(view))
        with running(path / "federation", graph, seed=SEED) as up:
            yield up


PRIVATE: dict[str, Any] = {**CHOSEN, "protocol": "ldp", "epsilon": 5.0}


@pytest.fixture(scope="module")
def runs(simulated: Running, tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[Path, dict[str, Any]]]:
    """A run of each protocol: its folder and its record."""
    path = tmp_path_factory.mktemp("runs")
    chosen = {"paper": CHOSEN, "ldp": PRIVATE}
    return {
        name: (path / name, simulated.run(Settings(**chosen[name]), path / name, patience=UNHURRIED)) for name in chosen
    }


def test_four_holders_walk_as_the_simulation_does_bit_for_bit(
    runs: dict[str, tuple[Path, dict[str, Any]]], graph: Graph
) -> None:
    folder, record = runs["paper"]
    model = FedWalk(**CHOSEN)
    expected = model.fit_transform(graph)
    embedding = Embedding.load(folder / "embedding.npz")
    assert np.array_equal(np.load(folder / "walks.npy"), model.walks_.sequences)
    assert record["messages"] == model.transcript_.as_dict()
    assert np.array_equal(embedding.vectors, expected.vectors)
    assert np.array_equal(embedding.nodes, expected.nodes)
    assert record["federation"]["lost"] == {}
    assert record["federation"]["walks"]["finished"] == 4 * graph.vertices
    assert record["simulation"] is True
    assert record["federation"]["simulated"] == [f"holder-{i}" for i in range(4)]


def test_four_holders_report_as_the_simulation_does_bit_for_bit(
    runs: dict[str, tuple[Path, dict[str, Any]]], graph: Graph
) -> None:
    folder, record = runs["ldp"]
    model = FedWalk(**PRIVATE)
    assert np.array_equal(Embedding.load(folder / "embedding.npz").vectors, model.fit_transform(graph).vectors)
    assert record["messages"] == model.transcript_.as_dict()
    assert record["ledger"]["per_edge"] == 5.0


def test_the_server_sees_no_list_and_no_hop_in_either_protocol(
    runs: dict[str, tuple[Path, dict[str, Any]]], view: Path, graph: Graph
) -> None:
    seen = view.read_bytes()
    model, private = FedWalk(**CHOSEN), FedWalk(**PRIVATE)
    model.fit(graph)
    private.fit(graph)
    # That all was recorded: degree vectors of the first holder, every finished walk, every report of the last.
    assert model.degree_vectors_[:20].tobytes() in seen
    assert all(walk.tobytes() in seen for walk in model.walks_.sequences)
    assert private.reports_.ids[private.reports_.starts[60] :].tobytes() in seen
    assert tokens.MAGIC not in seen
    long = [v for v in range(graph.vertices) if graph.neighbours(v).size >= 7]
    assert len(long) > 20
    for v in long:
        ids = graph.neighbours(v)
        names = [str(graph.names[u]) for u in ids]
        forms = [ids.astype(kind).tobytes() for kind in ("<i4", "<i8", ">i4", "<u2")]
        forms += [separator.join(names).encode() for separator in (" ", ",", ", ", '","', '", "')]
        assert not any(form in seen for form in forms)
