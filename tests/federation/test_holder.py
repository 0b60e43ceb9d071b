"""What holders answer: together what runtime `local` does, bit for bit, and never more than their owners agreed to."""

import json
import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from fedwalk.errors import BudgetError, ProtocolError, SettingsError
from fedwalk.federation.holder import (
    Terms,
    answer_lists,
    answer_matrices,
    answer_roll,
    answer_vectors,
    check_terms,
    enter_paper,
    vertex_names,
)
from fedwalk.federation.lists import KnownLists
from fedwalk.federation.parcels import (
    ListsQuestion,
    MatricesQuestion,
    RollQuestion,
    VectorsQuestion,
    WalksQuestion,
    pack,
    unpack,
)
from fedwalk.graph import Graph
from fedwalk.kernels.threads import silent
from fedwalk.privacy.device import ListDevice
from fedwalk.privacy.ledger import Ledger
from fedwalk.protocol.messages import ListPlan
from fedwalk.protocol.randomness import Randomness, SimulatedRandomness, SystemRandomness
from fedwalk.protocol.server import Server
from fedwalk.protocol.transcript import Transcript
from fedwalk.runtime.local import LocalRuntime
from fedwalk.settings import Settings
from privacy.devices import Untouchable, graph_of
from simulation import GRAPHS, federation
from splitting import names_of, split

HOLDERS, SEED = 4, 7
ISOLATED = graph_of(12, {(1, 2), (2, 3), (1, 3), (3, 8), (8, 10)})
EVERY = {**GRAPHS, "isolated": ISOLATED}


def roll(graph: Graph, protocol: str) -> RollQuestion:
    return RollQuestion("run", protocol, np.frombuffer(json.dumps(names_of(graph)).encode(), np.uint8))


def list_devices(
    lists: KnownLists, randomness: Randomness | None = None, budget: float | None = None
) -> dict[int, ListDevice]:
    source = randomness or SimulatedRandomness(SEED)
    return {
        v: ListDevice(v, lists.neighbours(row), source, Ledger(budget)) for row, v in enumerate(lists.devices.tolist())
    }


def participants_of(graph: Graph) -> NDArray[np.int32]:
    """As the server has them after the roll call."""
    answers = [answer_roll(roll(graph, "paper"), lists, "holder") for lists in split(graph, HOLDERS)]
    return np.sort(np.concatenate([answer.devices for answer in answers]))


@pytest.mark.parametrize("name", list(EVERY))
def test_in_paper_all_with_a_neighbour_take_part(name: str) -> None:
    assert participants_of(EVERY[name]).tolist() == EVERY[name].active()[1].tolist()


def test_in_ldp_everybody_takes_part() -> None:
    answers = [answer_roll(roll(ISOLATED, "ldp"), lists, "me") for lists in split(ISOLATED, HOLDERS)]
    assert sorted(v for answer in answers for v in answer.devices.tolist()) == list(range(12))
    assert {answer.holder for answer in answers} == {"me"}


@pytest.mark.parametrize("name", list(EVERY))
def test_four_holders_vectors_and_matrices_are_those_of_local(name: str) -> None:
    graph, participants = EVERY[name], participants_of(EVERY[name])
    local = federation(graph.active()[0], seed=SEED)
    n, k = local.vectors.shape
    vectors = np.full((n, k), np.nan, np.float32)
    ask = VectorsQuestion("run", k, local.plan.epsilon, participants, local.plan.bins)
    for lists in split(graph, HOLDERS):
        answer = answer_vectors(ask, lists, SimulatedRandomness(SEED))
        unpack(type(answer), pack(answer))
        vectors[answer.devices] = answer.vectors
    assert vectors.tobytes() == local.vectors.tobytes()

    found: dict[int, bytes] = {}
    for lists in split(graph, HOLDERS):
        matrices = answer_matrices(MatricesQuestion("run", participants, vectors), lists)
        unpack(type(matrices), pack(matrices))
        for i, v in enumerate(matrices.devices.tolist()):
            found[v] = matrices.rows[matrices.starts[i] : matrices.starts[i + 1]].tobytes()
    assert found == {v: local.matrices[v].tobytes() for v in range(n)}


@pytest.mark.parametrize("name", list(EVERY))
@pytest.mark.parametrize("epoch", [0, 3])
def test_four_holders_lists_are_those_of_local(name: str, epoch: int) -> None:
    graph, settings = EVERY[name], Settings(protocol="ldp", seed=SEED, threads=1)
    runtime = LocalRuntime(graph, Server(graph.vertices, 1, 2.0), settings, Transcript())
    reports = runtime.lists(ListPlan(graph.vertices, 2.0, epoch), silent)
    found: dict[int, list[int]] = {}
    for lists in split(graph, HOLDERS):
        answer = answer_lists(ListsQuestion("run", graph.vertices, 2.0, epoch), lists, list_devices(lists))
        unpack(type(answer), pack(answer))
        for i, v in enumerate(answer.devices.tolist()):
            found[v] = answer.ids[answer.starts[i] : answer.starts[i + 1]].tolist()
    expected = {v: reports.ids[reports.starts[v] : reports.starts[v + 1]].tolist() for v in range(graph.vertices)}
    assert found == expected


def test_a_device_left_alone_by_those_who_are_gone_sends_a_vector_and_no_matrix() -> None:
    [lists] = split(GRAPHS["star"], 1)
    leaves = np.array([3, 5], np.int32)
    vectors = answer_vectors(
        VectorsQuestion("run", 2, 1.0, leaves, np.array([0, 1], np.int32)), lists, SimulatedRandomness(0)
    )
    assert vectors.devices.tolist() == [0, 1]
    matrices = answer_matrices(MatricesQuestion("run", leaves, vectors.vectors), lists)
    assert (matrices.devices.size, matrices.starts.tolist(), matrices.rows.shape) == (0, [0], (0, 2))


def test_a_holder_without_participants_answers_with_nothing() -> None:
    lists = KnownLists(5, np.array([4], np.int32), np.array([0, 1]), np.array([0], np.int32))
    some = np.array([0, 1, 2], np.int32)
    vectors = answer_vectors(VectorsQuestion("run", 2, 1.0, some, np.zeros(3, np.int32)), lists, Untouchable())
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
def test_a_plan_that_is_wrong_is_refused_by_its_field(field: str, value: Any) -> None:
    [lists] = split(KARATE, 1)
    with pytest.raises(ProtocolError, match=rf"VectorsQuestion\.{field}: "):
        answer_vectors(replace(GOOD, **{field: value}), lists, Untouchable())


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
def test_a_dictionary_that_is_wrong_is_refused_by_its_field(field: str, value: Any) -> None:
    [lists] = split(KARATE, 1)
    with pytest.raises(ProtocolError, match=rf"MatricesQuestion\.{field}: "):
        answer_matrices(replace(ROWS, **{field: value}), lists)


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
def test_a_list_plan_that_is_wrong_is_refused_by_its_field(field: str, value: Any) -> None:
    [lists] = split(KARATE, 1)
    question = replace(ListsQuestion("run", 34, 2.0, 0), **{field: value})
    with pytest.raises(ProtocolError, match=rf"ListsQuestion\.{field}: "):
        answer_lists(question, lists, list_devices(lists, Untouchable()))


def named(content: Any) -> RollQuestion:
    return RollQuestion("run", "ldp", np.frombuffer(json.dumps(content).encode(), np.uint8))


def test_names_come_in_the_order_of_ids() -> None:
    assert vertex_names(named(["b", "a", "ü"])) == ["b", "a", "ü"]


@pytest.mark.parametrize("content", ["a", {"a": 1}, ["a", 1], ["a", ""], ["a", "b", "a"]])
def test_names_that_are_no_names_are_refused(content: Any) -> None:
    with pytest.raises(ProtocolError, match=r"RollQuestion\.names: "):
        vertex_names(named(content))


@pytest.mark.parametrize("junk", [b"", b"[", b"\xff\xfe\x00", b"[" * 100_000])
def test_junk_for_names_is_refused(junk: bytes) -> None:
    with pytest.raises(ProtocolError, match=r"RollQuestion\.names: isn't JSON"):
        vertex_names(RollQuestion("run", "ldp", np.frombuffer(junk, np.uint8)))


def test_an_unknown_protocol_has_no_roll_call() -> None:
    [lists] = split(KARATE, 1)
    with pytest.raises(ProtocolError, match=r"RollQuestion\.protocol: 'deepwalk'"):
        answer_roll(roll(KARATE, "deepwalk"), lists, "me")


def test_beyond_the_budget_nothing_is_drawn() -> None:
    [lists] = split(KARATE, 1)
    with pytest.raises(BudgetError, match="Nothing was sent"):
        answer_lists(ListsQuestion("run", 34, 2.0, 0), lists, list_devices(lists, Untouchable(), budget=1.5))


def test_if_one_device_has_spent_too_much_the_others_draw_nothing_either() -> None:
    [lists] = split(KARATE, 1)
    devices = list_devices(lists, SystemRandomness(), budget=3.0)
    devices[20].report(ListPlan(34, 2.0, 0))
    devices[11].report(ListPlan(34, 1.0, 0))
    for device in devices.values():
        device.randomness = Untouchable()
    with pytest.raises(BudgetError, match="2 of the budget of 3 are spent"):
        answer_lists(ListsQuestion("run", 34, 2.0, 1), lists, devices)


def test_a_device_that_has_answered_before_does_not_keep_the_others_from_answering() -> None:
    [lists] = split(KARATE, 1)
    devices = list_devices(lists, SystemRandomness(), budget=2.0)
    devices[20].report(ListPlan(34, 2.0, 0))
    assert answer_lists(ListsQuestion("run", 34, 2.0, 0), lists, devices).devices.size == 34


def test_after_paper_no_budget_holds_any_more() -> None:
    [lists] = split(KARATE, 1)
    devices = list_devices(lists)
    enter_paper(devices)
    enter_paper(devices)
    assert all(math.isinf(device.ledger.per_edge) and len(device.ledger.releases) == 1 for device in devices.values())
    for device in devices.values():
        device.ledger.budget, device.randomness = 100.0, Untouchable()
    with pytest.raises(BudgetError, match="have made a release without a bound before"):
        answer_lists(ListsQuestion("run", 34, 2.0, 0), lists, devices)


def walks(count: int) -> WalksQuestion:
    """A question of which the terms look at two fields only."""
    blank: dict[str, Any] = dict.fromkeys(WalksQuestion.__slots__)
    return WalksQuestion(**{**blank, "count": count, "participants": np.arange(34, dtype=np.int32)})


@pytest.mark.parametrize("phase", ["vectors", "matrices", "walks"])
def test_paper_needs_the_owners_word(phase: str) -> None:
    question = {"vectors": GOOD, "matrices": ROWS, "walks": walks(34)}[phase]
    with pytest.raises(ProtocolError, match=r"has agreed to ldp. .* the owner has to add it to `protocols`"):
        check_terms(Terms(), phase, question)
    check_terms(Terms(protocols=("paper",)), phase, question)
    with pytest.raises(BudgetError, match=r"no budget allows it; the owner's is 8. .* take `budget` out"):
        check_terms(Terms(protocols=("ldp", "paper"), budget=8), phase, question)


def test_the_roll_call_says_which_protocol_it_is_for() -> None:
    check_terms(Terms(), "roll", roll(KARATE, "ldp"))
    with pytest.raises(ProtocolError, match=r"protocol 'paper': the owner"):
        check_terms(Terms(), "roll", roll(KARATE, "paper"))
    with pytest.raises(ProtocolError, match=r"protocol 'deepwalk': the owner"):
        check_terms(Terms(("ldp", "paper")), "roll", roll(KARATE, "deepwalk"))


def test_lists_need_consent_to_ldp_and_may_have_a_budget() -> None:
    question = ListsQuestion("run", 34, 2.0, 0)
    check_terms(Terms(budget=1.0), "lists", question)
    with pytest.raises(ProtocolError, match=r"has agreed to paper"):
        check_terms(Terms(("paper",)), "lists", question)


def test_no_device_starts_more_walks_than_its_owner_allows() -> None:
    terms = Terms(("paper",), most_walks=10)
    check_terms(terms, "walks", walks(340))
    with pytest.raises(ProtocolError, match=r"11 walks per device, .* agreed to 10.* raise `most_walks`"):
        check_terms(terms, "walks", walks(341))


@pytest.mark.parametrize(
    "wrong",
    [
        {"protocols": ("deepwalk",)},
        {"protocols": "paper"},
        {"budget": -1},
        {"budget": math.inf},
        {"budget": math.nan},
        {"budget": "8"},
        {"budget": True},
        {"most_walks": 0},
        {"most_walks": 1.5},
        {"most_walks": True},
    ],
)
def test_terms_that_make_no_sense_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(SettingsError, match=next(iter(wrong))):
        Terms(**wrong)
