"""Protocol `ldp`: devices that answer one by one and the kernel over all of them give the same run, bit for bit."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from fedwalk.errors import BudgetError
from fedwalk.graph import Graph, social_network
from fedwalk.protocols.ldp import edge_posterior as posterior
from fedwalk.protocols.ldp.edge_posterior import WeightedGraph
from fedwalk.protocols.ldp.messages import ReportPlan
from fedwalk.protocols.ldp.reports import Reports
from fedwalk.protocols.ldp.simulate import DEVICES_PER_TASK, report_locally
from fedwalk.protocols.transcript import Transcript
from fedwalk.run.execute import Run, run
from fedwalk.run.stages import StageRunner
from fedwalk.settings import Settings
from fedwalk.util.parallel import silent
from helpers.simulation import GRAPHS
from helpers.tiny_devices import graph_of

WITH_ISOLATED = {**GRAPHS, "isolated": graph_of(12, {(1, 2), (2, 3), (1, 3), (3, 8), (8, 10)})}
SMALL = Settings(protocol="ldp", dim=4, num_walks=3, walk_length=13, window=2, threads=1, seed=3)


@pytest.fixture(autouse=True)
def smaller_sample(monkeypatch: pytest.MonkeyPatch) -> None:
    """The sample that the prior is fitted to is meant for graphs of thousands of vertices."""
    monkeypatch.setattr(posterior, "SAMPLE", 2_000)


def both(graph: Graph, settings: Settings) -> list[Run]:
    return [run(graph, replace(settings, runtime=runtime)) for runtime in ("local", "stepwise")]


def bits(done: Run) -> dict[str, bytes]:
    """Everything that a run computes, and every number on its way."""
    reports: Reports = done.stages.values["reports"]
    likely: WeightedGraph = done.stages.values["posterior"]
    arrays: dict[str, NDArray[Any]] = {
        "starts": reports.starts, "ids": reports.ids,
        "indptr": likely.indptr, "indices": likely.indices, "weights": likely.weights,
        "walks": done.walks.sequences, "vectors": done.embedding.vectors,
    }  # fmt: skip
    return {name: array.dtype.str.encode() + array.tobytes() for name, array in arrays.items()}


@pytest.mark.parametrize("name", list(WITH_ISOLATED))
@pytest.mark.parametrize("epsilon", [0.5, 2.0, 8.0])
@pytest.mark.parametrize("embed", ["spectral", "skipgram"])
def test_stepwise_and_local_agree_bit_for_bit(name: str, epsilon: float, embed: str) -> None:
    local, stepwise = both(WITH_ISOLATED[name], replace(SMALL, epsilon=epsilon, embed=embed))
    assert bits(local) == bits(stepwise)
    assert local.stages.transcript == stepwise.stages.transcript
    assert local.ledger == stepwise.ledger


@pytest.mark.parametrize("seed", [0, 2**62])
def test_they_agree_for_other_seeds_and_another_seed_gives_other_reports(seed: int) -> None:
    local, stepwise = both(GRAPHS["karate"], replace(SMALL, seed=seed))
    assert bits(local) == bits(stepwise)
    assert bits(local)["ids"] != bits(run(GRAPHS["karate"], replace(SMALL, seed=seed + 1)))["ids"]


def test_the_transcript_is_one_plan_and_one_report_per_device_and_nothing_else() -> None:
    for done in both(GRAPHS["karate"], replace(SMALL, embed="skipgram")):
        ids = done.stages.values["reports"].ids.size
        sent = {phase: (t.count, t.bytes) for phase, t in done.stages.transcript.traffic.items() if t.count}
        assert sent == {"report plan": (34, 34 * 16), "reports": (34, 34 * 8 + 4 * ids)}


def test_isolated_vertices_take_part_like_all_others() -> None:
    for done in both(WITH_ISOLATED["isolated"], replace(SMALL, epsilon=0.5)):
        assert done.taking_part.tolist() == list(range(12))
        reports: Reports = done.stages.values["reports"]
        assert reports.vertices == 12
        assert (np.diff(reports.starts)[[0, 4, 5, 6, 7, 9, 11]] > 0).any()


@pytest.mark.parametrize("runtime", ["local", "stepwise"])
def test_a_run_beyond_its_budget_sends_nothing(runtime: str) -> None:
    stages = StageRunner()
    with pytest.raises(BudgetError, match=r"Nothing was sent"):
        run(GRAPHS["karate"], replace(SMALL, runtime=runtime, epsilon=2.0, budget=1.9), stages)
    assert stages.transcript == Transcript()
    assert stages.values == {}


@pytest.mark.parametrize("runtime", ["local", "stepwise"])
def test_more_walks_and_longer_ones_cost_nothing(runtime: str) -> None:
    some = run(GRAPHS["karate"], replace(SMALL, runtime=runtime, embed="skipgram"))
    more = replace(SMALL, runtime=runtime, embed="skipgram", num_walks=9, walk_length=50)
    again = run(GRAPHS["karate"], more, earlier=some.ledger)
    assert some.ledger == again.ledger
    assert again.ledger.per_edge == SMALL.epsilon
    assert bits(some)["ids"] == bits(again)["ids"]


def test_reports_do_not_depend_on_the_number_of_threads() -> None:
    graph = social_network(vertices=2 * DEVICES_PER_TASK + 80, mean_degree=6, seed=1)
    plan = ReportPlan(graph.vertices, 4.0)
    found = []
    for threads in (1, 2):
        settings, transcript = replace(SMALL, threads=threads), Transcript()
        reports = report_locally(graph, settings, plan, transcript, silent)
        found.append((reports.starts.tolist(), reports.ids.tolist(), transcript))
    assert found[0] == found[1]
