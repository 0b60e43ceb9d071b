"""The ledger adds up costs, refuses releases beyond the budget, survives JSON, and refuses a damaged file."""

import copy
import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedwalk.errors import BudgetError, RunFolderError
from fedwalk.graph import load_graph
from fedwalk.privacy.ledger import UNBOUNDED, Ledger, Release
from fedwalk.privacy.mechanisms import EDGE, NoisedCounts, Unprotected
from fedwalk.protocols.deepwalk.protocol import releases as open_releases
from fedwalk.protocols.ldp.mechanism import RandomisedResponse, report_release
from fedwalk.protocols.paper.protocol import releases as paper_releases
from fedwalk.run.execute import enter_releases
from fedwalk.settings import Settings

costs = st.floats(0.01, 20.0)


def report(epsilon: float = 2.0) -> Release:
    return report_release(RandomisedResponse.of(epsilon))


def unbounded() -> Release:
    return Release.of(Unprotected("nothing hides it"), "hop", "nothing hides it")


@given(st.lists(st.tuples(costs, st.integers(1, 50), st.integers(1, 2)), max_size=8))
def test_costs_add_up_over_releases_times_and_ends(entries: list[tuple[float, int, int]]) -> None:
    ledger = Ledger()
    for i, (epsilon, times, ends) in enumerate(entries):
        assert ledger.spend(f"{i}", Release.of(NoisedCounts(epsilon), "x", "y", times=times, ends=ends))
    assert ledger.per_device == pytest.approx(sum(epsilon * times for epsilon, times, _ in entries))
    assert ledger.per_edge == pytest.approx(sum(epsilon * times * ends for epsilon, times, ends in entries))


def test_a_repeated_release_is_free_and_the_same_release_for_another_question_is_not() -> None:
    ledger = Ledger()
    assert [ledger.spend(name, report()) for name in ("a", "a", "b", "a")] == [True, False, True, False]
    assert ledger.per_edge == 4.0


@given(st.lists(costs, min_size=1, max_size=12), st.floats(0.5, 40.0))
def test_no_order_of_releases_exceeds_the_budget(epsilons: list[float], budget: float) -> None:
    ledger = Ledger(budget)
    for i, epsilon in enumerate(epsilons):
        before = copy.deepcopy(ledger)
        try:
            ledger.spend(f"{i}", report(epsilon))
        except BudgetError:
            assert ledger == before
            assert before.per_edge + epsilon > budget
        assert ledger.per_edge <= budget + 1e-9


def test_a_budget_that_is_just_enough_is_enough() -> None:
    ledger = Ledger(0.3)
    for i in range(3):
        ledger.spend(f"{i}", report(0.1))
    assert ledger.per_edge == pytest.approx(0.3)
    with pytest.raises(BudgetError, match=r"costs 0\.001 per edge, and 0\.3 of the budget of 0\.3 are spent"):
        ledger.spend("one more", report(0.001))


def test_what_was_released_before_stays_free_when_the_budget_is_used_up() -> None:
    ledger = Ledger(2.0)
    ledger.spend("a", report())
    assert not ledger.spend("a", report())


def test_a_run_is_refused_as_a_whole_before_its_first_release() -> None:
    graph = load_graph([[0, 1], [1, 2]])
    earlier = enter_releases(graph, Settings(protocol="ldp", epsilon=4).resolve(3))
    with pytest.raises(BudgetError, match=r"costs 2 per edge, and 4 of the budget of 5 are spent"):
        enter_releases(graph, Settings(protocol="ldp", epsilon=2, budget=5).resolve(3), earlier)
    with pytest.raises(BudgetError, match=r"loss of protocol paper is unbounded whatever epsilon is \(degree matrix: "):
        enter_releases(graph, Settings(budget=1000).resolve(3), earlier)
    assert earlier.per_edge == 4.0


def test_after_a_release_without_a_bound_no_budget_holds() -> None:
    graph = load_graph([[0, 1], [1, 2]])
    earlier = enter_releases(graph, Settings().resolve(3))
    with pytest.raises(BudgetError, match=r"these devices have already made a release without a bound"):
        enter_releases(graph, Settings(protocol="ldp", epsilon=2, budget=5).resolve(3), earlier)


@pytest.mark.parametrize(("changed", "costs"), [({"window": 2}, 4), ({"num_walks": 7}, 4), ({"seed": 1}, 8)])
def test_settings_that_do_not_change_the_reports_cost_nothing_again(changed: dict[str, int], costs: float) -> None:
    graph, private = load_graph([[0, 1], [1, 2]]), Settings(protocol="ldp", epsilon=4)
    earlier = enter_releases(graph, private.resolve(3))
    assert enter_releases(graph, private.updated(changed).resolve(3), earlier).per_edge == costs


def test_one_release_without_a_bound_makes_the_total_unbounded_and_no_budget_allows_it() -> None:
    ledger = Ledger()
    ledger.spend("a", report())
    ledger.spend("b", unbounded())
    ledger.spend("c", report())
    assert ledger.per_edge == math.inf
    assert ledger.as_dict()["per_edge"] == UNBOUNDED
    with pytest.raises(BudgetError, match=r"unbounded \(nothing hides it\), so no budget allows it"):
        Ledger(1e300).spend("b", unbounded())


def test_the_ledger_lists_what_each_protocol_releases() -> None:
    paper = dict(paper_releases(Settings(epsilon=2.0, num_walks=80, walk_length=40)))
    assert {phase for phase, release in paper.items() if math.isinf(release.per_edge)} == paper.keys() - {"vectors"}
    assert paper["vectors"].per_device == 2.0
    assert paper["vectors"].per_edge == 4.0
    assert paper["hops"].times == 3200
    assert math.isinf(next(open_releases(Settings()))[1].per_edge)
    assert report(3.0).per_edge == 3.0


def test_a_ledger_shows_its_total_and_in_a_notebook_each_release() -> None:
    ledger = Ledger(budget=9)
    ledger.spend("a", Release.of(NoisedCounts(2.0), "counts <b>", "one neighbour changes one count"))
    assert repr(ledger) == "Ledger(1 release, ε per edge: 2, budget 9)"
    assert "<td>counts &lt;b&gt;</td><td>each device</td><td>1</td><td>2.0</td>" in ledger._repr_html_()
    unbounded = Ledger()
    for name, release in open_releases(Settings(protocol="deepwalk")):
        unbounded.spend(name, release)
    assert repr(unbounded) == "Ledger(1 release, ε per edge: unbounded)"


def test_a_ledger_comes_back_from_json_as_it_was() -> None:
    ledger = Ledger(9.0)
    ledger.spend("a", report())
    ledger.spend("b", report(0.1 + 0.2))
    content = json.loads(json.dumps(ledger.as_dict(), allow_nan=False))
    assert Ledger.from_dict(content, "file", 9.0) == ledger
    assert Ledger.from_dict(content, "file").budget is None


def test_an_unbounded_release_comes_back_unbounded() -> None:
    ledger = Ledger(None, {"a": report(), "b": unbounded()})
    content = json.loads(json.dumps(ledger.as_dict(), allow_nan=False))
    assert Ledger.from_dict(content, "file") == ledger


def damaged(**changes: Any) -> dict[str, Any]:
    content: dict[str, Any] = Ledger(None, {"a": report()}).as_dict()
    content["releases"]["a"].update(changes)
    return content


@pytest.mark.parametrize(
    "content",
    [
        None, 7, "ledger", [], {}, {"releases": None}, {"releases": []}, {"releases": {"a": None}},
        {"releases": {"a": {}}}, {"releases": {"a": {"epsilon": 1.0}}},
        damaged(epsilon="much"), damaged(epsilon=None), damaged(epsilon=[1]), damaged(times="often"), damaged(ends={}),
        damaged(epsilon=-5.0), damaged(epsilon=math.nan), damaged(epsilon="nan"), damaged(epsilon="-inf"),
        damaged(times=0), damaged(times=-1), damaged(times=math.inf), damaged(times=math.nan), damaged(ends=0),
    ],
)  # fmt: skip
def test_a_damaged_ledger_is_named_and_never_taken_for_an_empty_or_cheaper_one(content: Any) -> None:
    with pytest.raises(RunFolderError, match=r"here\.json: isn't a ledger that fedwalk wrote"):
        Ledger.from_dict(content, "here.json")


@pytest.mark.parametrize(("epsilon", "times", "ends"), [(-1.0, 1, 1), (float("nan"), 1, 1), (1.0, 0, 1), (1.0, 1, 3)])
def test_an_impossible_release_is_refused_with_its_numbers(epsilon: float, times: int, ends: int) -> None:
    with pytest.raises(ValueError, match=f"impossible release: epsilon={epsilon:g}, times={times}, ends={ends}"):
        Release("sample", "each device", times, EDGE, epsilon, ends, "")
