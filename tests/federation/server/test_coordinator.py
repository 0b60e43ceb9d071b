"""The coordinator: the refusal of a bad answer names the holder, and affects no other holder."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from fedwalk.errors import ProtocolError
from fedwalk.federation.membership.roster import Holder, Roster
from fedwalk.federation.server.coordinator import Coordinator, Failure
from fedwalk.federation.server.statistics import MAX_REASON_LENGTH, RunStatistics
from fedwalk.federation.wire.questions import Fields, MatricesAnswer, ReportsAnswer, RollAnswer, VectorsAnswer, pack
from fedwalk.kernels.ldp.randomised_response import owns
from fedwalk.protocols.ldp.messages import ReportPlan
from fedwalk.protocols.paper.messages import GroupPlan
from fedwalk.protocols.transcript import Transcript
from fedwalk.util.parallel import silent

ROSTER = Roster(
    (
        Holder("ada", "a:1", "key of ada", (0, 1)),
        Holder("ben", "b:1", "key of ben", (2, 3, 4)),
        Holder("cyd", "c:1", "key of cyd", (5,)),
        Holder("old", "o:1", "key of old", (6,), removed=True),
    ),
    tuple("abcdefg"),
)
ALL = np.arange(6, dtype=np.int32)
PLAN = GroupPlan(ALL % np.int32(2), 2, 2.0)
REPORT_PLAN = ReportPlan(7, 2.0)
VECTORS = np.arange(12, dtype=np.float32).reshape(6, 2)


@dataclass
class Scripted:
    """A channel with prepared answers."""

    answers: dict[str, Any]
    asked: list[dict[str, Any]] = field(default_factory=list)

    def ask(self, questions: dict[str, Any]) -> Iterator[tuple[str, Fields | Failure]]:
        self.asked.append(questions)
        for holder in questions:
            answer = self.answers[holder]
            yield holder, answer if isinstance(answer, dict | Failure) else pack(answer)


def coordinator(**answers: Any) -> Coordinator:
    statistics = RunStatistics("run", {"ada": 2, "ben": 3, "cyd": 1})
    return Coordinator(Scripted(answers), ROSTER, statistics, Transcript())


def test_a_holder_without_an_address_is_left_out_of_paper_and_asked_nothing() -> None:
    unreachable = replace(ROSTER.holders[1], address="")
    roster = replace(ROSTER, holders=(ROSTER.holders[0], unreachable, *ROSTER.holders[2:]))
    answers = {"ada": RollAnswer("ada", ids(0, 1)), "ben": RollAnswer("ben", ids(2, 3, 4)), "cyd": Failure("gone")}
    for protocol, asked in (("paper", ["ada", "cyd"]), ("ldp", ["ada", "ben", "cyd"])):
        channel = Scripted(answers)
        statistics = RunStatistics("run")
        taking_part = Coordinator(channel, roster, statistics, Transcript()).roll(protocol, 2.0, 1, silent)
        assert list(channel.asked[0]) == asked
        assert taking_part.tolist() == ([0, 1] if protocol == "paper" else [0, 1, 2, 3, 4])
        assert ("ben" in statistics.lost) == (protocol == "paper")
    assert list(statistics.holders) == ["ada", "ben", "cyd"]


def test_with_no_address_at_all_paper_has_no_holder() -> None:
    roster = replace(ROSTER, holders=tuple(replace(holder, address="") for holder in ROSTER.holders))
    with pytest.raises(ProtocolError, match=r"no holder answered: ada \(roll: it has no address"):
        Coordinator(Scripted({}), roster, RunStatistics("run"), Transcript()).roll("paper", 2.0, 1, silent)


def ids(*values: int) -> NDArray[np.int32]:
    return np.array(values, np.int32)


def longs(*values: int) -> NDArray[np.int64]:
    return np.array(values, np.int64)


def own_pairs(device: int) -> NDArray[np.int32]:
    """All ids whose pair with this device is the device's to report."""
    return ids(*(u for u in range(7) if u != device and owns(np.uint64(REPORT_PLAN.key), device, u)))


def reports_of(*devices: int) -> ReportsAnswer:
    parts = [own_pairs(device) for device in devices]
    starts = np.cumsum([0, *(part.size for part in parts)])
    return ReportsAnswer(ids(*devices), starts, np.concatenate(parts))


def matrices_of(*devices: int) -> MatricesAnswer:
    """The only neighbour of each device is the next vertex."""
    rows = VECTORS[[(device + 1) % 6 for device in devices]]
    return MatricesAnswer(ids(*devices), np.arange(len(devices) + 1), rows)


ROLL = {"ada": RollAnswer("ada", ids(0, 1)), "ben": RollAnswer("ben", ids(2, 4)), "cyd": RollAnswer("cyd", ids(5))}
REPORTS = {"ada": reports_of(0, 1), "ben": reports_of(2, 3, 4), "cyd": reports_of(5)}
DEGREES = {
    "ada": VectorsAnswer(ids(0, 1), VECTORS[:2]),
    "ben": VectorsAnswer(ids(2, 3, 4), VECTORS[2:5]),
    "cyd": VectorsAnswer(ids(5), VECTORS[5:]),
}
MATRICES = {"ada": matrices_of(0, 1), "ben": matrices_of(2, 3, 4), "cyd": matrices_of(5)}

PHASES: dict[str, tuple[dict[str, Any], Callable[[Coordinator], Any]]] = {
    "roll": (ROLL, lambda c: c.roll("paper", 2.0, 1, silent)),
    "reports": (REPORTS, lambda c: c.reports(REPORT_PLAN, silent)),
    "vectors": (DEGREES, lambda c: c.vectors(ALL, PLAN, silent)),
    "matrices": (MATRICES, lambda c: c.matrices(ALL, VECTORS, silent)),
}


def as_lists(value: Any) -> Any:
    """A phase's result in a form that == compares."""
    if isinstance(value, dict):
        return {name: array.tolist() for name, array in value.items()}
    if isinstance(value, np.ndarray):
        return np.nan_to_num(value, nan=-99).tolist()
    return value.starts.tolist(), value.rows.tolist()


BAD: list[tuple[str, Any, str]] = [
    ("roll", replace(ROLL["ben"], holder="ada"), "ben: its answer names another holder, 'ada'"),
    ("roll", replace(ROLL["ben"], devices=ids(2, 1)), "ben: answers for 1 device of other holders, the first is 1"),
    ("roll", replace(ROLL["ben"], devices=ids(2, 6)), "the first is 6"),
    ("roll", replace(ROLL["ben"], devices=ids(2, -1)), "the first is -1"),
    ("roll", replace(ROLL["ben"], devices=ids(2, 2**31 - 1)), "the first is 2147483647"),
    ("roll", replace(ROLL["ben"], devices=ids(2, 3, 2)), "answers twice for the same device"),
    ("roll", {**pack(ROLL["ben"]), "devices": longs(2, 3)}, "RollAnswer.devices: must be 1-dimensional, of int32"),
    ("roll", {**pack(ROLL["ben"]), "devices": ids(2).reshape(1, 1)}, "must be 1-dimensional"),
    ("roll", {**pack(ROLL["ben"]), "devices": "2"}, "must be 1-dimensional"),
    ("roll", {"holder": "ben"}, "field 'devices' is missing"),
    ("roll", {**pack(ROLL["ben"]), "more": 1}, "field 'more' is missing or unknown"),
    ("roll", {}, "field 'devices' is missing"),
    ("reports", replace(REPORTS["ben"], devices=ids(2, 3, 5)), "the first is 5"),
    ("reports", replace(REPORTS["ben"], devices=ids(2, 3, 3)), "answers twice"),
    ("reports", replace(REPORTS["ben"], starts=longs(0, 1, 2)), "doesn't divide"),
    ("reports", replace(REPORTS["ben"], starts=longs()), "doesn't divide"),
    ("reports", replace(REPORTS["ben"], starts=REPORTS["ben"].starts + 1), "doesn't divide"),
    ("reports", replace(REPORTS["ben"], starts=longs(0, 4, 1, REPORTS["ben"].ids.size)), "doesn't divide"),
    (
        "reports",
        replace(REPORTS["ben"], starts=longs(0, 2**63 - 1, -2, REPORTS["ben"].ids.size)),
        "doesn't divide the values",
    ),
    (
        "reports",
        replace(REPORTS["ben"], starts=longs(0, -(2**63), -1, REPORTS["ben"].ids.size)),
        "doesn't divide the values",
    ),
    ("reports", replace(REPORTS["ben"], ids=REPORTS["ben"].ids[:-1]), "doesn't divide"),
    ("reports", replace(REPORTS["ben"], ids=REPORTS["ben"].ids[::-1]), "must ascend|does not own"),
    ("reports", ReportsAnswer(ids(2), longs(0, 1), ids(7)), "device 2: a report must ascend from 0 to 6"),
    ("reports", ReportsAnswer(ids(2), longs(0, 1), ids(-1)), "device 2: a report must ascend from 0 to 6"),
    ("reports", ReportsAnswer(ids(2), longs(0, 1), ids(2)), "device 2: reports a pair that it does not own"),
    ("reports", ReportsAnswer(ids(2), longs(0, 9), ids(*range(9))), "a report must be at most 6 ids"),
    ("reports", ReportsAnswer(ids(2), longs(0, 2), ids(3, 3)), "must ascend"),
    (
        "reports",
        ReportsAnswer(ids(2), longs(0, 1), np.setdiff1d(np.delete(ALL, 2), own_pairs(2))[:1].astype(np.int32)),
        "device 2: reports a pair that it does not own",
    ),
    ("reports", {**pack(REPORTS["ben"]), "ids": np.zeros(3)}, "ReportsAnswer.ids: must be 1-dimensional, of int32"),
    ("vectors", VectorsAnswer(ids(2, 3), VECTORS[:3]), "a degree vector must be 2 finite numbers"),
    ("vectors", VectorsAnswer(ids(2, 3, 4), np.zeros((3, 3), np.float32)), "must be 2 finite numbers"),
    ("vectors", VectorsAnswer(ids(2, 3, 4), np.zeros((0, 2), np.float32)), "must be 2 finite numbers"),
    ("vectors", VectorsAnswer(ids(2, 3, 4), np.full((3, 2), np.nan, np.float32)), "must be 2 finite numbers"),
    ("vectors", VectorsAnswer(ids(2), np.array([[1, np.inf]], np.float32)), "must be 2 finite numbers"),
    ("vectors", VectorsAnswer(ids(2), np.array([[1, -np.inf]], np.float32)), "must be 2 finite numbers"),
    ("vectors", VectorsAnswer(ids(2), np.array([[1, 1e20]], np.float32)), "beyond 38, too large for noise"),
    ("vectors", VectorsAnswer(ids(2), np.array([[-3e38, 0]], np.float32)), "beyond 38"),
    ("vectors", VectorsAnswer(ids(2, 3, 5), VECTORS[:3]), "the first is 5"),
    ("vectors", VectorsAnswer(ids(2, 3, 3), VECTORS[:3]), "answers twice"),
    ("vectors", VectorsAnswer(ids(2, 3, 6), VECTORS[:3]), "the first is 6"),
    ("vectors", {**pack(DEGREES["ben"]), "vectors": np.zeros((3, 2))}, "must be 2-dimensional, of float32"),
    ("vectors", {**pack(DEGREES["ben"]), "vectors": np.zeros(6, np.float32)}, "must be 2-dimensional, of float32"),
    ("matrices", replace(MATRICES["ben"], devices=ids(2, 3, 5)), "the first is 5"),
    ("matrices", replace(MATRICES["ben"], devices=ids(2, 2, 3)), "answers twice"),
    ("matrices", replace(MATRICES["ben"], starts=longs(0, 1, 2, 4)), "doesn't divide"),
    ("matrices", replace(MATRICES["ben"], starts=longs(0, 0, 2, 3)), "M_v must be rows of 2 finite numbers, one for"),
    ("matrices", replace(MATRICES["ben"], starts=longs(0, 2**63 - 1, -(2**63), 3)), "doesn't divide"),
    ("matrices", replace(MATRICES["ben"], rows=np.zeros((3, 3), np.float32)), "M_v must be rows of 2"),
    ("matrices", replace(MATRICES["ben"], rows=np.full((3, 2), np.inf, np.float32)), "M_v must be rows of 2 finite"),
    ("matrices", replace(MATRICES["ben"], rows=np.full((3, 2), np.nan, np.float32)), "M_v must be rows of 2 finite"),
    ("matrices", MatricesAnswer(ids(2), longs(0, 6), VECTORS), "M_v has more rows than there are other vertices"),
    ("matrices", replace(MATRICES["ben"], rows=VECTORS[:3] + 1), "M_v has a row that isn't in the dictionary"),
    ("matrices", replace(MATRICES["ben"], rows=VECTORS[:3, ::-1].copy()), "isn't in the dictionary"),
    ("matrices", pack(DEGREES["ben"]), "MatricesAnswer: field"),
]


@pytest.mark.parametrize(("phase", "answer", "reason"), BAD)
def test_a_bad_answer_is_refused_by_name_and_the_rest_is_unharmed(phase: str, answer: Any, reason: str) -> None:
    good, ask = PHASES[phase]
    refusing, failing = coordinator(**{**good, "ben": answer}), coordinator(**{**good, "ben": Failure("gone")})
    assert as_lists(ask(refusing)) == as_lists(ask(failing))
    assert refusing.statistics.living() == ["ada", "cyd"]
    with pytest.raises(ProtocolError, match=reason):
        raise ProtocolError(refusing.statistics.invalid["ben"])
    assert refusing.statistics.invalid == refusing.statistics.lost
    assert refusing.statistics.lost["ben"].startswith(f"{phase}: ")
    assert refusing.transcript.as_dict() == failing.transcript.as_dict()
    assert failing.statistics.lost == {"ben": f"{phase}: gone"}
    assert failing.statistics.invalid == {}


@pytest.mark.parametrize("phase", list(PHASES))
def test_good_answers_are_accepted_in_any_order(phase: str) -> None:
    good, ask = PHASES[phase]
    asked = coordinator(**good)
    backwards = Coordinator(Backwards(good), ROSTER, RunStatistics("run", {"ada": 2, "ben": 3, "cyd": 1}), Transcript())
    assert as_lists(ask(asked)) == as_lists(ask(backwards))
    assert asked.statistics.lost == {}
    assert asked.transcript.as_dict() == backwards.transcript.as_dict()


class Backwards(Scripted):
    """Answers arrive in the reverse order of the questions."""

    def ask(self, questions: dict[str, Any]) -> Iterator[tuple[str, Fields | Failure]]:
        yield from reversed(list(super().ask(questions)))


def test_a_lost_holder_is_not_asked_again() -> None:
    asked = coordinator(**{**DEGREES, "ben": Failure("gone")})
    asked.vectors(ALL, PLAN, silent)
    asked.channel = channel = Scripted(MATRICES)
    matrices = asked.matrices(ALL, VECTORS, silent)
    assert list(channel.asked[0]) == ["ada", "cyd"]
    assert matrices.lengths.tolist() == [1, 1, 0, 0, 0, 1]


def test_a_holder_that_was_removed_is_never_asked() -> None:
    channel = Scripted(ROLL)
    Coordinator(channel, ROSTER, RunStatistics("run"), Transcript()).roll("paper", 2.0, 1, silent)
    assert list(channel.asked[0]) == ["ada", "ben", "cyd"]


def test_without_any_answer_the_error_has_the_reasons() -> None:
    asked = coordinator(ada=Failure("not online"), ben=Failure("not online"), cyd={})
    with pytest.raises(ProtocolError, match=r"no holder answered: ada \(roll: not online\); ben .*Start holders"):
        asked.roll("ldp", 2.0, 0, silent)


def test_a_federation_without_holders_says_so() -> None:
    with pytest.raises(ProtocolError, match="has no holders yet"):
        Coordinator(Scripted({}), Roster(), RunStatistics("run"), Transcript()).roll("ldp", 2.0, 0, silent)


def test_missing_reports_are_empty_and_marked() -> None:
    arrays = coordinator(**{**REPORTS, "ben": Failure("gone")}).reports(REPORT_PLAN, silent)
    assert arrays["present"].tolist() == [True, True, False, False, False, True, False]
    assert np.diff(arrays["starts"])[2:5].tolist() == [0, 0, 0]


def test_a_holder_may_answer_for_fewer_devices_than_it_has() -> None:
    asked = coordinator(**{**DEGREES, "ben": VectorsAnswer(ids(3), VECTORS[3:4])})
    vectors = asked.vectors(ALL, PLAN, silent)
    assert np.isnan(vectors[:, 0]).tolist() == [False, False, True, False, True, False]
    assert asked.statistics.lost == {}


def test_places_are_counted_among_the_remaining_participants() -> None:
    left = ids(1, 3, 5)
    asked = coordinator(
        ada=VectorsAnswer(ids(0), VECTORS[:1]), ben=VectorsAnswer(ids(3), VECTORS[:1]), cyd=DEGREES["cyd"]
    )
    vectors = asked.vectors(left, GroupPlan(ids(0, 1, 0), 2, 2.0), silent)
    assert np.isnan(vectors[:, 0]).tolist() == [False, True, True]
    assert asked.statistics.invalid["ben"] == "vectors: ben: answers for 1 device of other holders, the first is 3."
    assert asked.statistics.invalid["cyd"] == "vectors: cyd: answers for 1 device of other holders, the first is 5."


def test_a_reason_from_a_holder_is_shortened_and_has_no_control_characters(tmp_path: Any) -> None:
    statistics = RunStatistics("run", {"ada": 1})
    statistics.lose("ada", "roll", "\x1b[2Jgone\n\u202e\ud800" + "x" * 10**6, invalid=True)
    assert statistics.lost["ada"].startswith("roll: ?[2Jgone???xxx")
    assert len(statistics.lost["ada"]) == MAX_REASON_LENGTH + len("roll: ")
    statistics.save(tmp_path / "statistics.json")
    assert RunStatistics.load(tmp_path / "statistics.json") == statistics
