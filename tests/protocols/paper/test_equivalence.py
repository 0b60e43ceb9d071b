"""The oracle: Device objects passing messages and the fast arrays give the same values, bit for bit."""

from typing import Any

import numpy as np
import pytest

from fedwalk.errors import FedWalkWarning
from fedwalk.estimators import FedWalk
from fedwalk.graph import Graph
from helpers.simulation import GRAPHS

SMALL: dict[str, Any] = {"num_walks": 3, "walk_length": 13, "dim": 4, "window": 2, "threads": 1}


def both(graph: Graph, **settings: Any) -> tuple[FedWalk, FedWalk]:
    local, stepwise = (FedWalk(runtime=runtime, **{**SMALL, **settings}) for runtime in ("local", "stepwise"))
    local.fit(graph)
    stepwise.fit(graph)
    return local, stepwise


def assert_same(a: FedWalk, b: FedWalk) -> None:
    assert a.bins_.tobytes() == b.bins_.tobytes()
    assert a.degree_vectors_.tobytes() == b.degree_vectors_.tobytes()
    assert a.tree_.linkage.tobytes() == b.tree_.linkage.tobytes()
    assert a.encoder_.outputs.tobytes() == b.encoder_.outputs.tobytes()
    assert a.encoder_.cumulative.tobytes() == b.encoder_.cumulative.tobytes()
    assert a.walks_.sequences.tobytes() == b.walks_.sequences.tobytes()
    assert a.walks_.hops == b.walks_.hops
    assert a.transcript_ == b.transcript_


@pytest.mark.parametrize("name", list(GRAPHS))
@pytest.mark.parametrize("predict", [0.0, 0.4, 1.0])
@pytest.mark.parametrize("predictor", ["tree", "degree", "triad"])
def test_stepwise_and_local_agree_bit_for_bit(name: str, predict: float, predictor: str) -> None:
    assert_same(*both(GRAPHS[name], predict=predict, predictor=predictor, seed=3))


@pytest.mark.parametrize("burst", [1, 3, 13, 20])
@pytest.mark.parametrize("predictor", ["tree", "triad"])
def test_they_agree_for_any_burst(burst: int, predictor: str) -> None:
    assert_same(*both(GRAPHS["karate"], predict=0.6, predictor=predictor, burst=burst))


@pytest.mark.parametrize(
    "settings",
    [
        {"epsilon": 0.05},
        {"epsilon": 0.001},
        {"tree": "average"},
        {"encoder": "identity"},
        {"num_bins": 1},
        {"seed": 2**62},
    ],
)
def test_they_agree_for_other_settings(settings: dict[str, Any]) -> None:
    assert_same(*both(GRAPHS["communities"], **settings))


def test_they_agree_when_isolated_vertices_stand_aside() -> None:
    import networkx as nx

    graph = nx.karate_club_graph()
    graph.add_nodes_from(["alone", "aside"])
    with pytest.warns(FedWalkWarning) as caught:
        local, stepwise = both(graph)
    assert any("2 isolated vertices take no part" in str(warning.message) for warning in caught)
    assert_same(local, stepwise)
    assert len(local.taking_part_) == 34


def test_walks_do_not_depend_on_the_number_of_threads() -> None:
    one, two = (FedWalk(**{**SMALL, "num_walks": 300, "threads": t}) for t in (1, 2))
    one.fit(GRAPHS["communities"])
    two.fit(GRAPHS["communities"])
    assert one.walks_.sequences.tobytes() == two.walks_.sequences.tobytes()
    assert one.transcript_ == two.transcript_


def test_another_seed_gives_other_walks() -> None:
    one, other = (FedWalk(**SMALL, seed=seed) for seed in (0, 1))
    one.fit(GRAPHS["karate"])
    other.fit(GRAPHS["karate"])
    assert not np.array_equal(one.walks_.sequences, other.walks_.sequences)
    assert not np.array_equal(one.degree_vectors_, other.degree_vectors_)


def test_transcript_counts_what_the_protocol_sends() -> None:
    model = FedWalk(**SMALL)
    model.fit(GRAPHS["karate"])
    n, k, degree = 34, 3, GRAPHS["karate"].degrees
    counts = {phase: entry["count"] for phase, entry in model.transcript_.as_dict().items()}
    assert counts == {
        "plan": n, "vectors": n, "dictionary": n, "matrices": n, "tree": n,
        "starts": 3 * n, "hops": model.walks_.hops, "sequences": 3 * n,
    }  # fmt: skip
    size = {phase: entry["bytes"] for phase, entry in model.transcript_.as_dict().items()}
    assert size["dictionary"] == n * n * k * 4
    assert size["matrices"] == 4 * k * int(degree.sum()) + 8 * n
    assert size["sequences"] == 3 * n * (8 + 4 * 13)
