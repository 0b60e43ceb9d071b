"""The server's questions: a bad answer is refused by name and costs nobody else anything."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from fedwalk.errors import ProtocolError
from fedwalk.federation.account import LONGEST, Account
from fedwalk.federation.coordinator import Coordinator, Failure
from fedwalk.federation.parcels import Fields, ListsAnswer, MatricesAnswer, RollAnswer, VectorsAnswer, pack
from fedwalk.federation.roster import Holder, Roster
from fedwalk.kernels.lists import owns
from fedwalk.kernels.threads import silent
from fedwalk.protocol.messages import GroupPlan, ListPlan
from fedwalk.protocol.transcript import Transcript

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
LISTS = ListPlan(7, 2.0)
VECTORS = np.arange(12, dtype=np.float32).reshape(6, 2)


@dataclass
class Scripted:
    """A post where everybody's answer is known beforehand."""

    answers: dict[str, Any]
    asked: list[dict[str, Any]] = field(default_factory=list)

    def ask(self, questions: dict[str, Any]) -> Iterator[tuple[str, Fields | Failure]]:
        self.asked.append(questions)
        for holder in questions:
            answer = self.answers[holder]
            yield holder, answer if isinstance(answer, dict | Failure) else pack(answer)


def coordinator(**answers: Any) -> Coordinator:
    account = Account("run", {"ada": 2, "ben": 3, "cyd": 1})
    return Coordinator(Scripted(answers), ROSTER, account, Transcript())


def test_a_holder_without_an_address_is_left_out_of_paper_and_asked_nothing() -> None:
    unreachable = replace(ROSTER.holders[1], address="")
    roster = replace(ROSTER, holders=(ROSTER.holders[0], unreachable, *ROSTER.holders[2:]))
    answers = {"ada": RollAnswer("ada", ids(0, 1)), "ben": RollAnswer("ben", ids(2, 3, 4)), "cyd": Failure("gone")}
    for protocol, asked in (("paper", ["ada", "cyd"]), ("ldp", ["ada", "ben", "cyd"])):
        post = Scripted(answers)
        account = Account("run")
        taking_part = Coordinator(post, roster, account, Transcript()).roll(protocol, 2.0, 1, silent)
        assert list(post.asked[0]) == asked
        assert taking_part.tolist() == ([0, 1] if protocol == "paper" else [0, 1, 2, 3, 4])
        assert ("ben" in account.lost) == (protocol == "paper")
    assert list(account.holders) == ["ada", "ben", "cyd"]


def test_with_no_address_at_all_paper_has_no_holder() -> None:
    roster = replace(ROSTER, holders=tuple(replace(holder, address="") for holder in ROSTER.holders))
    with pytest.raises(ProtocolError, match=r"no holder answered: ada \(roll: takes part in ldp alone"):
        Coordinator(Scripted({}), roster, Account("run"), Transcript()).roll("paper", 2.0, 1, silent)


def ids(*values: int) -> NDArray[np.int32]:
    return np.array(values, np.int32)


def longs(*values: int) -> NDArray[np.int64]:
    return np.array(values, np.int64)


def own_pairs(device: int) -> NDArray[np.int32]:
    """All ids whose pair with this device is the device's to report."""
    return ids(*(u for u in range(7) if u != device and owns(np.uint64(LISTS.key), device, u)))


def lists_of(*devices: int) -> ListsAnswer:
    parts = [own_pairs(device) for device in devices]
    starts = np.cumsum([0, *(part.size for part in parts)])
    return ListsAnswer(ids(*devices), starts, np.concatenate(parts))


def matrices_of(*devices: int) -> MatricesAnswer:
    """Everybody's one neighbour is the next vertex."""
    rows = VECTORS[[(device + 1) % 6 for device in devices]]
    return MatricesAnswer(ids(*devices), np.arange(len(devices) + 1), rows)


ROLL = {"ada": RollAnswer("ada", ids(0, 1)), "ben": RollAnswer("ben", ids(2, 4)), "cyd": RollAnswer("cyd", ids(5))}
REPORTS = {"ada": lists_of(0, 1), "ben": lists_of(2, 3, 4), "cyd": lists_of(5)}
DEGREES = {
    "ada": VectorsAnswer(ids(0, 1), VECTORS[:2]),
    "ben": VectorsAnswer(ids(2, 3, 4), VECTORS[2:5]),
    "cyd": VectorsAnswer(ids(5), VECTORS[5:]),
}
MATRICES = {"ada": matrices_of(0, 1), "ben": matrices_of(2, 3, 4), "cyd": matrices_of(5)}

PHASES: dict[str, tuple[dict[str, Any], Callable[[Coordinator], Any]]] = {
    "roll": (ROLL, lambda c: c.roll("paper", 2.0, 1, silent)),
    "lists": (REPORTS, lambda c: c.lists(LISTS, silent)),
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
    ("roll", replace(ROLL["ben"], holder="ada"), "ben: says that it is 'ada'"),
    ("roll", replace(ROLL["ben"], devices=ids(2, 1)), "ben: speaks for 1 device of others, device 1 first"),
    ("roll", replace(ROLL["ben"], devices=ids(2, 6)), "device 6 first"),
    ("roll", replace(ROLL["ben"], devices=ids(2, -1)), "device -1 first"),
    ("roll", replace(ROLL["ben"], devices=ids(2, 2**31 - 1)), "device 2147483647 first"),
    ("roll", replace(ROLL["ben"], devices=ids(2, 3, 2)), "speaks twice for the same device"),
    ("roll", {**pack(ROLL["ben"]), "devices": longs(2, 3)}, "RollAnswer.devices: must be 1-dimensional, of int32"),
    ("roll", {**pack(ROLL["ben"]), "devices": ids(2).reshape(1, 1)}, "must be 1-dimensional"),
    ("roll", {**pack(ROLL["ben"]), "devices": "2"}, "must be 1-dimensional"),
    ("roll", {"holder": "ben"}, "field 'devices' is missing"),
    ("roll", {**pack(ROLL["ben"]), "more": 1}, "field 'more' is missing, or doesn't belong here"),
    ("roll", {}, "field 'devices' is missing"),
    ("lists", replace(REPORTS["ben"], devices=ids(2, 3, 5)), "device 5 first"),
    ("lists", replace(REPORTS["ben"], devices=ids(2, 3, 3)), "speaks twice"),
    ("lists", replace(REPORTS["ben"], starts=longs(0, 1, 2)), "doesn't say whose values are whose"),
    ("lists", replace(REPORTS["ben"], starts=longs()), "doesn't say whose values are whose"),
    ("lists", replace(REPORTS["ben"], starts=REPORTS["ben"].starts + 1), "doesn't say whose values are whose"),
    ("lists", replace(REPORTS["ben"], starts=longs(0, 4, 1, REPORTS["ben"].ids.size)), "doesn't say whose"),
    ("lists", replace(REPORTS["ben"], starts=longs(0, 2**63 - 1, -2, REPORTS["ben"].ids.size)), "doesn't say whose"),
    ("lists", replace(REPORTS["ben"], starts=longs(0, -(2**63), -1, REPORTS["ben"].ids.size)), "doesn't say whose"),
    ("lists", replace(REPORTS["ben"], ids=REPORTS["ben"].ids[:-1]), "doesn't say whose"),
    ("lists", replace(REPORTS["ben"], ids=REPORTS["ben"].ids[::-1]), "must ascend|does not own"),
    ("lists", ListsAnswer(ids(2), longs(0, 1), ids(7)), "device 2: a list must ascend from 0 to 6"),
    ("lists", ListsAnswer(ids(2), longs(0, 1), ids(-1)), "device 2: a list must ascend from 0 to 6"),
    ("lists", ListsAnswer(ids(2), longs(0, 1), ids(2)), "device 2: reports a pair that it does not own"),
    ("lists", ListsAnswer(ids(2), longs(0, 9), ids(*range(9))), "a list must be at most 6 ids"),
    ("lists", ListsAnswer(ids(2), longs(0, 2), ids(3, 3)), "must ascend"),
    (
        "lists",
        ListsAnswer(ids(2), longs(0, 1), np.setdiff1d(np.delete(ALL, 2), own_pairs(2))[:1].astype(np.int32)),
        "device 2: reports a pair that it does not own",
    ),
    ("lists", {**pack(REPORTS["ben"]), "ids": np.zeros(3)}, "ListsAnswer.ids: must be 1-dimensional, of int32"),
    ("vectors", VectorsAnswer(ids(2, 3), VECTORS[:3]), "a degree vector must be 2 finite numbers"),
    ("vectors", VectorsAnswer(ids(2, 3, 4), np.zeros((3, 3), np.float32)), "must be 2 finite numbers"),
    ("vectors", VectorsAnswer(ids(2, 3, 4), np.zeros((0, 2), np.float32)), "must be 2 finite numbers"),
    ("vectors", VectorsAnswer(ids(2, 3, 4), np.full((3, 2), np.nan, np.float32)), "must be 2 finite numbers"),
    ("vectors", VectorsAnswer(ids(2), np.array([[1, np.inf]], np.float32)), "must be 2 finite numbers"),
    ("vectors", VectorsAnswer(ids(2), np.array([[1, -np.inf]], np.float32)), "must be 2 finite numbers"),
    ("vectors", VectorsAnswer(ids(2), np.array([[1, 1e20]], np.float32)), "beyond 38, which no noise explains"),
    ("vectors", VectorsAnswer(ids(2), np.array([[-3e38, 0]], np.float32)), "beyond 38"),
    ("vectors", VectorsAnswer(ids(2, 3, 5), VECTORS[:3]), "device 5 first"),
    ("vectors", VectorsAnswer(ids(2, 3, 3), VECTORS[:3]), "speaks twice"),
    ("vectors", VectorsAnswer(ids(2, 3, 6), VECTORS[:3]), "device 6 first"),
    ("vectors", {**pack(DEGREES["ben"]), "vectors": np.zeros((3, 2))}, "must be 2-dimensional, of float32"),
    ("vectors", {**pack(DEGREES["ben"]), "vectors": np.zeros(6, np.float32)}, "must be 2-dimensional, of float32"),
    ("matrices", replace(MATRICES["ben"], devices=ids(2, 3, 5)), "device 5 first"),
    ("matrices", replace(MATRICES["ben"], devices=ids(2, 2, 3)), "speaks twice"),
    ("matrices", replace(MATRICES["ben"], starts=longs(0, 1, 2, 4)), "doesn't say whose"),
    ("matrices", replace(MATRICES["ben"], starts=longs(0, 0, 2, 3)), "M_v must be rows of 2 finite numbers, one for"),
    ("matrices", replace(MATRICES["ben"], starts=longs(0, 2**63 - 1, -(2**63), 3)), "doesn't say whose"),
    ("matrices", replace(MATRICES["ben"], rows=np.zeros((3, 3), np.float32)), "M_v must be rows of 2"),
    ("matrices", replace(MATRICES["ben"], rows=np.full((3, 2), np.inf, np.float32)), "M_v must be rows of 2 finite"),
    ("matrices", replace(MATRICES["ben"], rows=np.full((3, 2), np.nan, np.float32)), "M_v must be rows of 2 finite"),
    ("matrices", MatricesAnswer(ids(2), longs(0, 6), VECTORS), "M_v has more rows than there are other vertices"),
    ("matrices", replace(MATRICES["ben"], rows=VECTORS[:3] + 1), "M_v has a row that is no row of the dictionary"),
    ("matrices", replace(MATRICES["ben"], rows=VECTORS[:3, ::-1].copy()), "no row of the dictionary"),
    ("matrices", pack(DEGREES["ben"]), "MatricesAnswer: field"),
]


@pytest.mark.parametrize(("phase", "answer", "reason"), BAD)
def test_a_bad_answer_is_refused_by_name_and_the_rest_is_unharmed(phase: str, answer: Any, reason: str) -> None:
    good, ask = PHASES[phase]
    refusing, failing = coordinator(**{**good, "ben": answer}), coordinator(**{**good, "ben": Failure("gone")})
    assert as_lists(ask(refusing)) == as_lists(ask(failing))
    assert refusing.account.living() == ["ada", "cyd"]
    with pytest.raises(ProtocolError, match=reason):
        raise ProtocolError(refusing.account.refused["ben"])
    assert refusing.account.refused == refusing.account.lost
    assert refusing.account.lost["ben"].startswith(f"{phase}: ")
    assert refusing.transcript.as_dict() == failing.transcript.as_dict()
    assert failing.account.lost == {"ben": f"{phase}: gone"}
    assert failing.account.refused == {}


@pytest.mark.parametrize("phase", list(PHASES))
def test_good_answers_are_taken_in_whatever_order_they_come(phase: str) -> None:
    good, ask = PHASES[phase]
    found = coordinator(**good)
    backwards = Coordinator(Backwards(good), ROSTER, Account("run", {"ada": 2, "ben": 3, "cyd": 1}), Transcript())
    assert as_lists(ask(found)) == as_lists(ask(backwards))
    assert found.account.lost == {}
    assert found.transcript.as_dict() == backwards.transcript.as_dict()


class Backwards(Scripted):
    """The last who is asked answers first."""

    def ask(self, questions: dict[str, Any]) -> Iterator[tuple[str, Fields | Failure]]:
        yield from reversed(list(super().ask(questions)))


def test_who_was_lost_is_asked_no_more() -> None:
    found = coordinator(**{**DEGREES, "ben": Failure("gone")})
    found.vectors(ALL, PLAN, silent)
    found.post = post = Scripted(MATRICES)
    matrices = found.matrices(ALL, VECTORS, silent)
    assert list(post.asked[0]) == ["ada", "cyd"]
    assert matrices.lengths.tolist() == [1, 1, 0, 0, 0, 1]


def test_a_holder_that_was_removed_is_never_asked() -> None:
    post = Scripted(ROLL)
    Coordinator(post, ROSTER, Account("run"), Transcript()).roll("paper", 2.0, 1, silent)
    assert list(post.asked[0]) == ["ada", "ben", "cyd"]


def test_without_any_answer_the_reasons_are_told() -> None:
    found = coordinator(ada=Failure("not online"), ben=Failure("not online"), cyd={})
    with pytest.raises(ProtocolError, match=r"no holder answered: ada \(roll: not online\); ben .*Start holders"):
        found.roll("ldp", 2.0, 0, silent)


def test_a_federation_without_holders_says_so() -> None:
    with pytest.raises(ProtocolError, match="has no holders yet"):
        Coordinator(Scripted({}), Roster(), Account("run"), Transcript()).roll("ldp", 2.0, 0, silent)


def test_lists_that_did_not_come_are_empty_and_marked() -> None:
    found = coordinator(**{**REPORTS, "ben": Failure("gone")}).lists(LISTS, silent)
    assert found["present"].tolist() == [True, True, False, False, False, True, False]
    assert np.diff(found["starts"])[2:5].tolist() == [0, 0, 0]


def test_a_holder_may_answer_for_fewer_devices_than_it_has() -> None:
    found = coordinator(**{**DEGREES, "ben": VectorsAnswer(ids(3), VECTORS[3:4])})
    vectors = found.vectors(ALL, PLAN, silent)
    assert np.isnan(vectors[:, 0]).tolist() == [False, False, True, False, True, False]
    assert found.account.lost == {}


def test_places_are_counted_among_those_who_are_left() -> None:
    left = ids(1, 3, 5)
    found = coordinator(
        ada=VectorsAnswer(ids(0), VECTORS[:1]), ben=VectorsAnswer(ids(3), VECTORS[:1]), cyd=DEGREES["cyd"]
    )
    vectors = found.vectors(left, GroupPlan(ids(0, 1, 0), 2, 2.0), silent)
    assert np.isnan(vectors[:, 0]).tolist() == [False, True, True]
    assert found.account.refused["ben"] == "vectors: ben: speaks for 1 device of others, device 3 first."
    assert found.account.refused["cyd"] == "vectors: cyd: speaks for 1 device of others, device 5 first."


def test_a_reason_in_a_holders_own_words_is_short_and_harmless(tmp_path: Any) -> None:
    account = Account("run", {"ada": 1})
    account.lose("ada", "roll", "\x1b[2Jgone\n\u202e\ud800" + "x" * 10**6, refused=True)
    assert account.lost["ada"].startswith("roll: ?[2Jgone???xxx")
    assert len(account.lost["ada"]) == LONGEST + len("roll: ")
    account.save(tmp_path / "account.json")
    assert Account.load(tmp_path / "account.json") == account
