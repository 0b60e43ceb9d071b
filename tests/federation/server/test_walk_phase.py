"""The walk phase as the server sees it: lost walks are reissued, and no answer harms the others' walks."""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as bounded
from hypothesis import strategies as st
from numpy.typing import NDArray

from fedwalk.errors import ProtocolError
from fedwalk.federation.apps.client_app import interrupted
from fedwalk.federation.membership.roster import Holder, Roster
from fedwalk.federation.server.coordinator import Coordinator, Failure
from fedwalk.federation.server.statistics import RunStatistics
from fedwalk.federation.server.walk_phase import MAX_ATTEMPTS, REASONS, WalkPhase, check_refusals
from fedwalk.federation.walking.engine import WalkEngine
from fedwalk.federation.walking.losses import MAX_REASON, STRANDED, UNACCOUNTED, UNDELIVERED
from fedwalk.federation.walking.plan import session_digest
from fedwalk.federation.wire.questions import Fields, WalksAnswer, WalksQuestion, pack
from fedwalk.kernels.token_batches import VERDICTS
from fedwalk.privacy.randomness import SimulatedRandomness
from fedwalk.protocols.transcript import Transcript
from fedwalk.protocols.walks import Walks
from fedwalk.settings import Settings
from fedwalk.util.parallel import Progress, silent
from helpers.local_holders import hop, walks_answer
from helpers.simulation import GRAPHS
from helpers.walk_questions import HOLDERS, local_answer, own_neighbours, stages

GRAPH = GRAPHS["karate"]
SETTINGS = Settings(num_walks=3, walk_length=13, threads=1)
OWNER = (np.arange(34) % 4).astype(np.int32)
COUNT, LENGTH = 34 * 3, 13
ROSTER = Roster(
    tuple(
        Holder(name, f"{name}:1", f"key of {name}", tuple(np.flatnonzero(me == OWNER).tolist()))
        for me, name in enumerate(HOLDERS)
    ),
    tuple(map(str, range(34))),
)
Change = Callable[[int, dict[str, Any]], dict[str, Any]]
"""From the attempt and the honest answers to what arrives, in its order."""


@dataclass
class Walkers:
    """A channel whose holders walk in memory.

    `gone` says for each attempt and holder that never answers how many rounds of walking it takes part in before.
    """

    gone: dict[tuple[int, str], int] = field(default_factory=dict)
    change: Change = lambda attempt, answers: answers
    asked: list[dict[str, WalksQuestion]] = field(default_factory=list)

    def ask(self, questions: dict[str, Any]) -> Iterator[tuple[str, Fields | Failure]]:
        attempt = len(self.asked)
        self.asked.append(questions)
        leaving = {HOLDERS.index(name): n for (a, name), n in self.gone.items() if a == attempt}
        engines = {
            me: WalkEngine(questions[name], own_neighbours(GRAPH, OWNER, me), me, SimulatedRandomness(SETTINGS.seed))
            for me, name in enumerate(HOLDERS)
            if name in questions and leaving.get(me) != 0
        }
        here = hop(engines, leaving)
        missing = [name for name in questions if HOLDERS.index(name) not in here]
        answers = {HOLDERS[me]: walks_answer(engine, missing) for me, engine in here.items()}
        outcomes: dict[str, Any] = {name: Failure("gone") for name in missing} | self.change(attempt, answers)
        yield from ((name, pack(one) if isinstance(one, WalksAnswer) else one) for name, one in outcomes.items())


def walk(channel: Walkers, on_progress: Progress = silent) -> tuple[WalkPhase, Walks]:
    made, table = stages(GRAPH, SETTINGS)
    devices = {holder.name: len(holder.devices) for holder in ROSTER.holders}
    statistics = RunStatistics("run", devices, patience=5.0, secret="ab" * 32)
    coordinator = Coordinator(channel, ROSTER, statistics, Transcript())
    phase = WalkPhase(coordinator, SETTINGS, np.arange(34, dtype=np.int32), made.plan.bins, made.vectors, table)
    return phase, phase.run(on_progress)


def spoiled(name: str, change: Callable[[WalksAnswer], Any]) -> Walkers:
    """A channel on which one holder gives this answer in the first attempt."""

    def apply(attempt: int, answers: dict[str, Any]) -> dict[str, Any]:
        return answers if attempt else {**answers, name: change(answers[name])}

    return Walkers(change=apply)


def rows(sequences: NDArray[np.int32]) -> set[bytes]:
    return {row.tobytes() for row in sequences}


def test_without_losses_the_walks_are_those_of_local() -> None:
    phase, walks = walk(Walkers())
    expected = local_answer(GRAPH, SETTINGS)
    assert np.array_equal(walks.sequences, expected.sequences)
    assert walks.hops == expected.hops
    count = phase.coordinator.statistics.walks
    assert (count.asked, count.started, count.finished, count.reissued, count.lost) == (COUNT, COUNT, COUNT, 0, 0)


def test_progress_counts_walks_as_answers_arrive() -> None:
    reported: list[tuple[int, int]] = []
    phase, walks = walk(Walkers(gone={(0, "ben"): 2}), lambda done, total: reported.append((done, total)))
    done = [finished for finished, _ in reported]
    assert {total for _, total in reported} == {COUNT}
    assert done[0] == 0
    assert done == sorted(done)
    assert done[-1] == len(walks.sequences) == phase.coordinator.statistics.walks.finished
    # Three answers in the first attempt; the second begins with what there is.
    assert len(set(done[:4])) == 4
    assert done[4] == done[3]


def test_the_order_of_arrival_does_not_decide_between_two_sequences_of_a_walk() -> None:
    def first_steals(attempt: int, answers: dict[str, Any]) -> dict[str, Any]:
        mine, other = answers[HOLDERS[0]], answers[HOLDERS[1]]
        stolen = replace(
            other, walks=np.append(other.walks, mine.walks[0]), entries=np.vstack([other.entries, other.entries[:1]])
        )
        return {**answers, HOLDERS[1]: stolen}

    def last_first(attempt: int, answers: dict[str, Any]) -> dict[str, Any]:
        return dict(reversed(first_steals(attempt, answers).items()))

    (phase, one), (_, other) = walk(Walkers(change=first_steals)), walk(Walkers(change=last_first))
    assert np.array_equal(one.sequences, other.sequences)
    assert phase.coordinator.statistics.walks.repeated == 1


def given_up(answer: WalksAnswer, walks: list[int], reasons: list[int], at: list[int]) -> WalksAnswer:
    """The same answer with this report of walks that were given up."""
    ids = np.array(reasons, np.int32), np.array(at, np.int32)
    return replace(answer, given_up=np.array(walks, np.int64), given_up_reasons=ids[0], given_up_at=ids[1])


BAD: list[tuple[Callable[[WalksAnswer], Any], str]] = [
    (lambda a: replace(a, entries=a.entries[:, :-1]), "walks must have 13 entries each"),
    (lambda a: replace(a, entries=np.column_stack([a.entries, a.entries])), "must have 13 entries each"),
    (lambda a: replace(a, entries=a.entries[:-1]), "must have 13 entries each"),
    (lambda a: replace(a, walks=a.walks[:-1]), "must have 13 entries each"),
    (lambda a: replace(a, entries=np.empty((0, 0), np.int32)), "must have 13 entries each"),
    (lambda a: replace(a, walks=np.repeat(a.walks[:1], a.walks.size)), "finished a walk twice"),
    (lambda a: replace(a, walks=a.walks + COUNT), "or one outside 0 … 101"),
    (lambda a: replace(a, walks=a.walks - COUNT), "or one outside 0 … 101"),
    (lambda a: replace(a, walks=np.full_like(a.walks, -(2**63))), "finished a walk twice, or one outside"),
    (lambda a: replace(a, entries=a.entries + np.int32(34)), "names a vertex outside 0 … 33"),
    (lambda a: replace(a, entries=-1 - a.entries), "names a vertex outside 0 … 33"),
    (lambda a: replace(a, hops=-1), "reported impossible counts"),
    (lambda a: replace(a, hops=COUNT * LENGTH + 1), "reported impossible counts"),
    (lambda a: replace(a, hops=2**64), "reported impossible counts"),
    (lambda a: replace(a, carried=a.hops * LENGTH + 1), "reported impossible counts"),
    (lambda a: given_up(a, [3], [0], [0, 0]), "needs a reason and a holder"),
    (lambda a: given_up(a, [3, 3], [0, 0], [0, 0]), "gave up a walk twice"),
    (lambda a: given_up(a, [COUNT], [0], [0]), "or one outside 0 … 101"),
    (lambda a: given_up(a, [-1], [0], [0]), "or one outside 0 … 101"),
    (lambda a: given_up(a, [3], [MAX_REASON + 1], [0]), "for a reason, or to a holder, that doesn't exist"),
    (lambda a: given_up(a, [3], [-1], [0]), "for a reason, or to a holder, that doesn't exist"),
    (lambda a: given_up(a, [3], [0], [4]), "for a reason, or to a holder, that doesn't exist"),
    (lambda a: given_up(a, [3], [0], [-1]), "for a reason, or to a holder, that doesn't exist"),
    (lambda a: replace(a, batches=10**18), "reported impossible counts"),
    (lambda a: replace(a, sent_bytes=2**63), "reported impossible counts"),
    (lambda a: replace(a, seconds=float("nan")), "impossible duration (nan seconds)"),
    (lambda a: replace(a, seconds=float("inf")), "impossible duration (inf seconds)"),
    (lambda a: replace(a, seconds=-1.0), "impossible duration (-1 seconds)"),
    (lambda a: replace(a, refused="no json"), "its counts of refusals can't be read"),
    (lambda a: replace(a, refused="[" * 9000), "its counts of refusals can't be read"),
    (lambda a: replace(a, refused='{"replayed": 1e99}'), "aren't all counts"),
    (lambda a: {**pack(a), "hops": True}, "WalksAnswer.hops: must be of type int"),
    (lambda a: {**pack(a), "seconds": 1}, "WalksAnswer.seconds: must be of type float"),
    (lambda a: {**pack(a), "walks": a.walks.astype(np.int32)}, "WalksAnswer.walks: must be 1-dimensional, of int64"),
    (lambda a: {**pack(a), "entries": a.entries.astype(float)}, "must be 2-dimensional, of int32"),
    (lambda a: {**pack(a), "unreachable": [1, 2]}, "must be a list of texts"),
    (lambda a: {"walks": a.walks}, "WalksAnswer: field"),
]


@pytest.mark.parametrize(("change", "reason"), BAD)
def test_a_bad_answer_is_refused_by_name_and_its_walks_are_asked_for_again(
    change: Callable[[WalksAnswer], Any], reason: str
) -> None:
    channel, failing = spoiled("ben", change), Walkers(gone={(0, "ben"): 10**6})
    phase, walks = walk(channel)
    statistics = phase.coordinator.statistics
    assert list(statistics.invalid) == list(statistics.lost) == ["ben"]
    assert reason in statistics.invalid["ben"]
    expected_phase, expected = walk(failing)
    assert np.array_equal(walks.sequences, expected.sequences)
    # The only difference to a holder that just doesn't answer is that here something was refused.
    statistics.lost = statistics.invalid = {}
    expected_phase.coordinator.statistics.lost = {}
    expected_phase.coordinator.statistics.unreachable.clear()
    assert statistics == expected_phase.coordinator.statistics


@pytest.mark.parametrize("rounds", [0, 1, 3, 8, 10**6])
@pytest.mark.parametrize("name", ["ada", "dan"])
def test_walks_lost_with_a_holder_are_reissued_to_the_remaining_holders(name: str, rounds: int) -> None:
    channel = Walkers(gone={(0, name): rounds})
    phase, walks = walk(channel)
    statistics, me = phase.coordinator.statistics, HOLDERS.index(name)
    assert statistics.lost == {name: "walks: gone"}
    assert statistics.invalid == {}
    again = channel.asked[1]
    assert name not in again
    local = local_answer(GRAPH, SETTINGS).sequences
    missing = np.concatenate([question.walks for question in again.values()])
    # Reissued walks start at remaining holders and hadn't arrived; walks that had arrived are as without a loss.
    assert not (OWNER[missing % 34] == me).any()
    kept = statistics.walks.asked - missing.size - int(np.count_nonzero(OWNER[np.arange(COUNT) % 34] == me))
    assert len(rows(walks.sequences) & rows(local)) >= kept > 0 or rounds == 0
    assert all(np.array_equal(question.alive, me != OWNER) for question in again.values())
    assert statistics.walks.asked == COUNT == statistics.walks.finished + statistics.walks.lost
    assert statistics.walks.finished == len(walks.sequences)
    assert statistics.walks.reissued == missing.size
    assert statistics.walks.started == COUNT + missing.size
    # What is lost for good started at the lost devices, or came to one whose only neighbours they were.
    started_there = np.count_nonzero(OWNER[np.arange(COUNT) % 34] == me)
    assert 0 <= statistics.walks.lost - statistics.walks.stranded <= started_there


def test_a_second_holder_may_be_lost_with_the_reissued_walks() -> None:
    channel = Walkers(gone={(0, "cleo"): 2, (1, "ada"): 2})
    phase, walks = walk(channel)
    statistics = phase.coordinator.statistics
    assert list(statistics.lost) == ["cleo", "ada"]
    assert [sorted(questions) for questions in channel.asked] == [HOLDERS, ["ada", "ben", "dan"], ["ben", "dan"]]
    assert len({question.key for questions in channel.asked for question in questions.values()}) == 3
    assert statistics.walks.finished + statistics.walks.lost == COUNT
    assert statistics.walks.started == sum(q.walks.size for questions in channel.asked for q in questions.values())
    assert statistics.walks.reissued == statistics.walks.started - COUNT
    assert (walks.sequences >= 0).all()
    assert (walks.sequences < 34).all()


def test_without_remaining_holders_there_are_no_walks_and_no_crash() -> None:
    phase, walks = walk(Walkers(gone={(0, name): 2 for name in HOLDERS}))
    assert walks.sequences.shape == (0, LENGTH)
    assert phase.coordinator.statistics.walks.lost == COUNT
    assert phase.coordinator.statistics.living() == []


def giving_up(reason: int, at: int) -> Change:
    """No holder finishes a walk in the first attempt: all walks are given up for this reason."""

    def nothing(attempt: int, answers: dict[str, Any]) -> dict[str, Any]:
        empty = {name: replace(one, walks=one.walks[:0], entries=one.entries[:0]) for name, one in answers.items()}
        reported = {
            name: given_up(one, answers[name].walks.tolist(), [reason] * n, [at] * n)
            for name, one in empty.items()
            for n in [answers[name].walks.size]
        }
        return reported if attempt == 0 else answers

    return nothing


def test_walks_that_strand_without_a_lost_holder_are_lost_and_not_reissued() -> None:
    channel = Walkers(change=giving_up(STRANDED, 0))
    statistics = walk(channel)[0].coordinator.statistics
    assert len(channel.asked) == 1
    assert (statistics.walks.finished, statistics.walks.lost) == (0, COUNT)
    assert statistics.walks.stranded == COUNT
    assert statistics.walks.reasons == {"stranded: no neighbour of the device is left": COUNT}


@pytest.mark.parametrize("reason", [UNDELIVERED, MAX_REASON])
def test_walks_that_a_holder_did_not_take_are_reissued(reason: int) -> None:
    channel = Walkers(change=giving_up(reason, 2))
    phase, walks = walk(channel)
    count = phase.coordinator.statistics.walks
    assert np.array_equal(walks.sequences, local_answer(GRAPH, SETTINGS).sequences)
    assert (count.finished, count.reissued, count.lost, count.reasons) == (COUNT, COUNT, 0, {})
    assert (count.undelivered, count.refused) == ((COUNT, 0) if reason == UNDELIVERED else (0, COUNT))


def test_walks_that_no_holder_reports_are_reissued_and_counted_as_unaccounted_for() -> None:
    def swallow(attempt: int, answers: dict[str, Any]) -> dict[str, Any]:
        return {name: claiming(one, one.walks[:-1]) if name == "dan" else one for name, one in answers.items()}

    channel = Walkers(change=swallow)
    statistics = walk(channel)[0].coordinator.statistics
    assert statistics.lost == {}
    assert statistics.walks.reasons == {UNACCOUNTED: statistics.walks.lost}
    assert statistics.walks.finished + statistics.walks.lost == COUNT
    assert len(channel.asked) == MAX_ATTEMPTS


def test_a_holder_that_was_interrupted_takes_part_in_the_next_attempt() -> None:
    def restarted(attempt: int, answers: dict[str, Any]) -> dict[str, Any]:
        question = channel.asked[attempt]["ben"]
        return {**answers, "ben": interrupted(question)} if attempt == 0 else answers

    channel = Walkers(gone={(0, "ben"): 3}, change=restarted)
    phase, walks = walk(channel)
    statistics = phase.coordinator.statistics
    assert statistics.lost == {}
    assert statistics.interrupted == {"ben": 1}
    assert sorted(channel.asked[1]) == HOLDERS
    assert 0 < statistics.walks.reissued < COUNT
    assert (statistics.walks.lost, statistics.walks.reasons) == (0, {})
    assert np.array_equal(walks.sequences, local_answer(GRAPH, SETTINGS).sequences)


@pytest.mark.parametrize("rounds", [0, 2, 10**6])
def test_every_walk_is_finished_or_lost_for_a_reason(rounds: int) -> None:
    statistics = walk(Walkers(gone={(0, "dan"): rounds, (1, "ada"): rounds}))[0].coordinator.statistics
    assert statistics.walks.finished + statistics.walks.lost == statistics.walks.asked == COUNT
    assert sum(statistics.walks.reasons.values()) == statistics.walks.lost > 0
    assert all(reason.split()[0] in ("lost", "undelivered:", "stranded:") for reason in statistics.walks.reasons)


def test_each_holder_has_its_own_session_and_a_restarted_server_derives_the_same() -> None:
    first = Walkers(gone={(0, "dan"): 2})
    phase, _ = walk(first)
    sessions = [question.session for questions in first.asked for question in questions.values()]
    assert len(set(sessions)) == len(sessions) == 7
    for questions in first.asked:
        assert len({tuple(question.sessions) for question in questions.values()}) == 1
        for name, question in questions.items():
            assert question.sessions[HOLDERS.index(name)] == session_digest(question.session)
    again = WalkPhase(*(getattr(phase, name) for name in phase.__slots__))
    again.coordinator.statistics.lost = {}
    asked = again._questions(0, np.arange(COUNT))
    assert {name: question.session for name, question in asked.items()} == {
        name: question.session for name, question in first.asked[0].items()
    }


def test_the_number_of_attempts_is_limited_however_many_walks_are_lost() -> None:
    channel = Walkers(gone={(0, "ada"): 2, (1, "ben"): 2, (2, "cleo"): 2, (3, "dan"): 2})
    statistics = walk(channel)[0].coordinator.statistics
    assert len(channel.asked) == MAX_ATTEMPTS
    assert statistics.walks.finished + statistics.walks.lost == COUNT


def claiming(answer: WalksAnswer, walks: NDArray[np.int64]) -> WalksAnswer:
    """The same with these walks in place of its own, all entries 0."""
    return replace(answer, walks=walks, entries=np.zeros((walks.size, LENGTH), np.int32))


def test_a_holder_that_claims_the_walks_of_others_does_not_get_them_excluded() -> None:
    def forge(attempt: int, answers: dict[str, Any]) -> dict[str, Any]:
        forged = claiming(answers["dan"], np.arange(0, COUNT, 2))
        return {"dan": forged, **{name: one for name, one in answers.items() if name != "dan"}}

    phase, walks = walk(Walkers(change=forge))
    statistics = phase.coordinator.statistics
    assert statistics.lost == statistics.invalid == {}
    honest = local_answer(GRAPH, SETTINGS).sequences
    assert len(rows(walks.sequences) & rows(honest)) >= 35
    assert statistics.walks.repeated > 0
    assert statistics.walks.finished + statistics.walks.lost == COUNT


def test_a_walk_that_ends_at_two_holders_counts_once_and_neither_is_lost() -> None:
    def fork(attempt: int, answers: dict[str, Any]) -> dict[str, Any]:
        ada, ben = answers["ada"], answers["ben"]
        more = replace(ben, walks=np.append(ben.walks, ada.walks[0]), entries=np.vstack([ben.entries, ada.entries[1]]))
        return {**answers, "ben": more}

    phase, walks = walk(Walkers(change=fork))
    assert phase.coordinator.statistics.walks.repeated == 1
    assert phase.coordinator.statistics.lost == {}
    assert np.array_equal(walks.sequences, local_answer(GRAPH, SETTINGS).sequences)


def test_a_walk_that_is_finished_again_later_changes_nothing() -> None:
    def late(attempt: int, answers: dict[str, Any]) -> dict[str, Any]:
        if attempt == 0:
            return answers
        taken = np.setdiff1d(np.arange(COUNT), np.concatenate([one.walks for one in answers.values()]))
        return {**answers, "ada": claiming(answers["ada"], taken)}

    channel, honest = Walkers(gone={(0, "dan"): 6}, change=late), Walkers(gone={(0, "dan"): 6})
    statistics = walk(channel)[0].coordinator.statistics
    assert statistics.lost == {"dan": "walks: gone"}
    assert statistics.walks.repeated > 0
    assert statistics.walks.finished <= walk(honest)[0].coordinator.statistics.walks.finished


def unreachable(**who: list[str]) -> Change:
    """The holders that each holder reports as unreachable in the first attempt."""

    def say(attempt: int, answers: dict[str, Any]) -> dict[str, Any]:
        changed = {name: replace(one, unreachable=who.get(name, [])) for name, one in answers.items()}
        first = dict.fromkeys(who)
        return answers if attempt else {name: changed[name] for name in {**first, **changed}}

    return say


def test_what_holders_report_about_others_is_counted_and_no_holder_is_lost_for_it() -> None:
    """The report may be old: a holder that repeats a stored answer reports about an earlier attempt."""
    said = unreachable(ada=["dan"], ben=["dan", "stranger"], cleo=["dan"])
    statistics = walk(Walkers(change=said))[0].coordinator.statistics
    assert statistics.lost == {}
    assert statistics.unreachable == {"dan": 3}


def test_one_holder_that_claims_to_reach_no_other_is_not_believed() -> None:
    phase, walks = walk(Walkers(change=unreachable(dan=["ada", "ben", "cleo"])))
    assert phase.coordinator.statistics.lost == {}
    assert np.array_equal(walks.sequences, local_answer(GRAPH, SETTINGS).sequences)


def test_the_holders_own_refusals_add_up() -> None:
    def refuse(attempt: int, answers: dict[str, Any]) -> dict[str, Any]:
        counts = {"ada": {"dan: replayed": 2}, "ben": {"dan: replayed": 1, "cleo: too large": 4, "unknown sender": 2}}
        return {name: replace(one, refused=json.dumps(counts.get(name, {}))) for name, one in answers.items()}

    statistics = walk(Walkers(change=refuse))[0].coordinator.statistics
    assert statistics.refused_by_holders == {"dan: replayed": 3, "cleo: too large": 4, "unknown sender": 2}
    assert statistics.lost == {}


@pytest.mark.parametrize(
    "text",
    [
        "", "null", "[]", "3", "{", '{"replayed": -1}', '{"replayed": 0.5}', '{"replayed": true}', '{"replayed": null}',
        '{"replayed": "many"}', '{"replayed": NaN}', f'{{"replayed": {"9" * 4000}}}', f'{{"replayed": {"9" * 5000}}}',
        '{"a reason of my own": 1}', '{"\\ud800": 1}', '{"\\u001b[2J": 1}', "[" * 9999, '{"a":' * 1600,
        '{"replayed": 1}' + " " * (1 << 20), '{"Ben: replayed": 1}', '{"ben\\u202e: replayed": 1}', '{": replayed": 1}',
        '{"ben: ben: replayed": 1}',
    ],
)  # fmt: skip
def test_malformed_counts_of_refusals_are_refused(text: str) -> None:
    with pytest.raises(ProtocolError, match="ada: its counts of refusals"):
        check_refusals("ada", text)


def test_all_the_reasons_of_honest_holders_are_known() -> None:
    assert set(VERDICTS[1:]) < REASONS
    check_refusals("ada", json.dumps(dict.fromkeys(REASONS, 7)))
    check_refusals("ada", json.dumps({f"ben-2: {reason}": 7 for reason in REASONS}))


@bounded(max_examples=30)
@given(
    st.dictionaries(
        st.sampled_from(["walks", "entries", "hops", "carried", "seconds", "refused", "unreachable", "more"]),
        st.one_of(
            st.integers(-(2**64), 2**64), st.floats(), st.text(), st.lists(st.text()), st.booleans(), st.none(),
            st.lists(st.integers(-(2**63), 2**63 - 1)).map(lambda values: np.array(values, np.int64)),
            st.lists(st.lists(st.integers(-(2**31), 2**31 - 1), min_size=13, max_size=13), min_size=1).map(
                lambda values: np.array(values, np.int32)
            ),
        ),
    )
)  # fmt: skip
def test_whatever_one_holder_answers_the_others_walks_are_kept(content: dict[str, Any]) -> None:
    phase, walks = walk(spoiled("ben", lambda answer: {**pack(answer), **content}))
    statistics = phase.coordinator.statistics
    assert statistics.lost.keys() <= {"ben"}
    assert statistics.walks.finished + statistics.walks.lost == COUNT
    assert len(walks.sequences) >= COUNT // 2
    json.dumps(statistics.as_dict(), ensure_ascii=False, allow_nan=False).encode()
