"""What holders answer: together what runtime `local` does, bit for bit, and never more than their owners agreed to."""

import json
import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from fedwalk.errors import BudgetError, ProtocolError
from fedwalk.federation.holder.answers import (
    answer_matrices,
    answer_reports,
    answer_roll,
    answer_vectors,
    record_unbounded,
    vertex_names,
)
from fedwalk.federation.holder.neighbour_lists import KnownNeighbours
from fedwalk.federation.wire.questions import (
    MatricesQuestion,
    ReportsQuestion,
    RollQuestion,
    VectorsQuestion,
    pack,
    unpack,
)
from fedwalk.graph import Graph
from fedwalk.privacy.ledger import Ledger
from fedwalk.privacy.randomness import Randomness, SimulatedRandomness, SystemRandomness
from fedwalk.protocols.ldp.device import ReportDevice
from fedwalk.protocols.ldp.messages import ReportPlan
from fedwalk.protocols.ldp.simulate import report_locally
from fedwalk.protocols.transcript import Transcript
from fedwalk.settings import Settings
from fedwalk.util.parallel import silent
from helpers.simulation import GRAPHS, federation
from helpers.splitting import names_of, split
from helpers.tiny_devices import Untouchable, graph_of

HOLDERS, SEED = 4, 7
ISOLATED = graph_of(12, {(1, 2), (2, 3), (1, 3), (3, 8), (8, 10)})
EVERY = {**GRAPHS, "isolated": ISOLATED}


def roll(graph: Graph, protocol: str) -> RollQuestion:
    return RollQuestion("run", protocol, np.frombuffer(json.dumps(names_of(graph)).encode(), np.uint8))


def report_devices(
    neighbours: KnownNeighbours, randomness: Randomness | None = None, budget: float | None = None
) -> dict[int, ReportDevice]:
    source = randomness or SimulatedRandomness(SEED)
    return {
        v: ReportDevice(v, neighbours.of(row), source, Ledger(budget))
        for row, v in enumerate(neighbours.devices.tolist())
    }


def participants_of(graph: Graph) -> NDArray[np.int32]:
    """The participants as the server knows them after the roll call."""
    answers = [answer_roll(roll(graph, "paper"), neighbours, "holder") for neighbours in split(graph, HOLDERS)]
    return np.sort(np.concatenate([answer.devices for answer in answers]))


@pytest.mark.parametrize("name", list(EVERY))
def test_in_paper_all_with_a_neighbour_take_part(name: str) -> None:
    assert participants_of(EVERY[name]).tolist() == EVERY[name].active()[1].tolist()


def test_in_ldp_all_devices_take_part() -> None:
    answers = [answer_roll(roll(ISOLATED, "ldp"), neighbours, "me") for neighbours in split(ISOLATED, HOLDERS)]
    assert sorted(v for answer in answers for v in answer.devices.tolist()) == list(range(12))
    assert {answer.holder for answer in answers} == {"me"}


@pytest.mark.parametrize("name", list(EVERY))
def test_four_holders_vectors_and_matrices_are_those_of_local(name: str) -> None:
    graph, participants = EVERY[name], participants_of(EVERY[name])
    local = federation(graph.active()[0], seed=SEED)
    n, k = local.vectors.shape
    vectors = np.full((n, k), np.nan, np.float32)
    ask = VectorsQuestion("run", k, local.plan.epsilon, participants, local.plan.bins)
    for neighbours in split(graph, HOLDERS):
        answer = answer_vectors(ask, neighbours, SimulatedRandomness(SEED))
        unpack(type(answer), pack(answer))
        vectors[answer.devices] = answer.vectors
    assert vectors.tobytes() == local.vectors.tobytes()

    rows: dict[int, bytes] = {}
    for neighbours in split(graph, HOLDERS):
        matrices = answer_matrices(MatricesQuestion("run", participants, vectors), neighbours)
        unpack(type(matrices), pack(matrices))
        for i, v in enumerate(matrices.devices.tolist()):
            rows[v] = matrices.rows[matrices.starts[i] : matrices.starts[i + 1]].tobytes()
    assert rows == {v: local.matrices[v].tobytes() for v in range(n)}


@pytest.mark.parametrize("name", list(EVERY))
@pytest.mark.parametrize("epoch", [0, 3])
def test_four_holders_reports_are_those_of_local(name: str, epoch: int) -> None:
    graph, settings = EVERY[name], Settings(protocol="ldp", seed=SEED, threads=1)
    plan = ReportPlan(graph.vertices, 2.0, epoch)
    reports = report_locally(graph, settings, plan, Transcript(), silent)
    reported: dict[int, list[int]] = {}
    for neighbours in split(graph, HOLDERS):
        answer = answer_reports(
            ReportsQuestion("run", graph.vertices, 2.0, epoch), neighbours, report_devices(neighbours)
        )
        unpack(type(answer), pack(answer))
        for i, v in enumerate(answer.devices.tolist()):
            reported[v] = answer.ids[answer.starts[i] : answer.starts[i + 1]].tolist()
    expected = {v: reports.ids[reports.starts[v] : reports.starts[v + 1]].tolist() for v in range(graph.vertices)}
    assert reported == expected


def test_a_device_whose_neighbours_are_all_lost_sends_a_vector_and_no_matrix() -> None:
    [neighbours] = split(GRAPHS["star"], 1)
    leaves = np.array([3, 5], np.int32)
    vectors = answer_vectors(
        VectorsQuestion("run", 2, 1.0, leaves, np.array([0, 1], np.int32)), neighbours, SimulatedRandomness(0)
    )
    assert vectors.devices.tolist() == [0, 1]
    matrices = answer_matrices(MatricesQuestion("run", leaves, vectors.vectors), neighbours)
    assert (matrices.devices.size, matrices.starts.tolist(), matrices.rows.shape) == (0, [0], (0, 2))


def test_a_holder_without_participants_answers_with_nothing() -> None:
    neighbours = KnownNeighbours(5, np.array([4], np.int32), np.array([0, 1]), np.array([0], np.int32))
    some = np.array([0, 1, 2], np.int32)
    vectors = answer_vectors(VectorsQuestion("run", 2, 1.0, some, np.zeros(3, np.int32)), neighbours, Untouchable())
    assert (vectors.devices.size, vectors.vectors.shape) == (0, (0, 2))
    unpack(type(vectors), pack(vectors))


KARATE = GRAPHS["karate"]
GOOD = VectorsQuestion("run", 3, 2.0, np.arange(34, dtype=np.int32), np.arange(34, dtype=np.int32) % 3)
ROWS = MatricesQuestion("run", np.arange(34, dtype=np.int32), np.ones((34, 3), np.float32))


def ids(*values: int) -> NDArray[np.int32]:
    return np.array(values, np.int32)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("k", 0),
        ("k", 35),
        ("epsilon", 0.0),
        ("epsilon", -1.0),
        ("epsilon", math.inf),
        ("epsilon", math.nan),
        ("epsilon", 1e-300),
        ("participants", ids()),
        ("participants", ids(*range(33), 34)),
        ("participants", ids(-1, *range(33))),
        ("participants", ids(0, 2, 1)),
        ("participants", ids(0, 1, 1)),
        ("participants", ids(2**31 - 1, -(2**31), 3)),
        ("bins", ids(0)),
        ("bins", ids()),
        ("bins", GOOD.bins + 1),
        ("bins", ids(*range(34))),
        ("bins", np.full(34, -1, np.int32)),
    ],
)
def test_the_refusal_of_a_wrong_group_plan_names_the_field(field: str, value: Any) -> None:
    [neighbours] = split(KARATE, 1)
    with pytest.raises(ProtocolError, match=rf"VectorsQuestion\.{field}: "):
        answer_vectors(replace(GOOD, **{field: value}), neighbours, Untouchable())


def one_is(value: float) -> NDArray[np.float32]:
    rows = np.ones((34, 3), np.float32)
    rows[20, 1] = value
    return rows


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("participants", ids(0, 34)),
        ("participants", ids(3, 2)),
        ("vectors", one_is(math.nan)),
        ("vectors", one_is(math.inf)),
        ("vectors", np.ones((33, 3), np.float32)),
        ("vectors", np.ones((34, 0), np.float32)),
    ],
)
def test_the_refusal_of_a_wrong_dictionary_names_the_field(field: str, value: Any) -> None:
    [neighbours] = split(KARATE, 1)
    with pytest.raises(ProtocolError, match=rf"MatricesQuestion\.{field}: "):
        answer_matrices(replace(ROWS, **{field: value}), neighbours)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("vertices", 33),
        ("vertices", 35),
        ("epsilon", 0.0),
        ("epsilon", 31.0),
        ("epsilon", math.nan),
        ("epoch", -1),
        ("epoch", 1 << 20),
    ],
)
def test_the_refusal_of_a_wrong_report_plan_names_the_field(field: str, value: Any) -> None:
    [neighbours] = split(KARATE, 1)
    question = replace(ReportsQuestion("run", 34, 2.0, 0), **{field: value})
    with pytest.raises(ProtocolError, match=rf"ReportsQuestion\.{field}: "):
        answer_reports(question, neighbours, report_devices(neighbours, Untouchable()))


def named(content: Any) -> RollQuestion:
    return RollQuestion("run", "ldp", np.frombuffer(json.dumps(content).encode(), np.uint8))


def test_names_come_in_the_order_of_ids() -> None:
    assert vertex_names(named(["b", "a", "ü"])) == ["b", "a", "ü"]


@pytest.mark.parametrize("content", ["a", {"a": 1}, ["a", 1], ["a", ""], ["a", "b", "a"]])
def test_names_that_are_not_distinct_texts_are_refused(content: Any) -> None:
    with pytest.raises(ProtocolError, match=r"RollQuestion\.names: "):
        vertex_names(named(content))


@pytest.mark.parametrize("junk", [b"", b"[", b"\xff\xfe\x00", b"[" * 100_000])
def test_junk_for_names_is_refused(junk: bytes) -> None:
    with pytest.raises(ProtocolError, match=r"RollQuestion\.names: isn't JSON"):
        vertex_names(RollQuestion("run", "ldp", np.frombuffer(junk, np.uint8)))


def test_an_unknown_protocol_has_no_roll_call() -> None:
    [neighbours] = split(KARATE, 1)
    with pytest.raises(ProtocolError, match=r"RollQuestion\.protocol: 'deepwalk'"):
        answer_roll(roll(KARATE, "deepwalk"), neighbours, "me")


def test_beyond_the_budget_nothing_is_drawn() -> None:
    [neighbours] = split(KARATE, 1)
    with pytest.raises(BudgetError, match="Nothing was sent"):
        answer_reports(
            ReportsQuestion("run", 34, 2.0, 0), neighbours, report_devices(neighbours, Untouchable(), budget=1.5)
        )


def test_if_one_device_has_spent_too_much_the_others_draw_nothing_either() -> None:
    [neighbours] = split(KARATE, 1)
    devices = report_devices(neighbours, SystemRandomness(), budget=3.0)
    devices[20].report(ReportPlan(34, 2.0, 0))
    devices[11].report(ReportPlan(34, 1.0, 0))
    for device in devices.values():
        device.randomness = Untouchable()
    with pytest.raises(BudgetError, match="2 of the budget of 3 are spent"):
        answer_reports(ReportsQuestion("run", 34, 2.0, 1), neighbours, devices)


def test_a_device_that_has_answered_before_does_not_keep_the_others_from_answering() -> None:
    [neighbours] = split(KARATE, 1)
    devices = report_devices(neighbours, SystemRandomness(), budget=2.0)
    devices[20].report(ReportPlan(34, 2.0, 0))
    assert answer_reports(ReportsQuestion("run", 34, 2.0, 0), neighbours, devices).devices.size == 34


def test_after_paper_a_device_satisfies_no_budget() -> None:
    [neighbours] = split(KARATE, 1)
    devices = report_devices(neighbours)
    record_unbounded("paper", devices)
    record_unbounded("paper", devices)
    assert all(math.isinf(device.ledger.per_edge) and len(device.ledger.releases) == 1 for device in devices.values())
    for device in devices.values():
        device.ledger.budget, device.randomness = 100.0, Untouchable()
    with pytest.raises(BudgetError, match="have already made a release without a bound"):
        answer_reports(ReportsQuestion("run", 34, 2.0, 0), neighbours, devices)
