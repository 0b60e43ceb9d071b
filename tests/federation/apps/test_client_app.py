"""The client app with a server that doesn't follow the order of the protocol."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fedwalk import social_network
from fedwalk.errors import BudgetError, ProtocolError
from fedwalk.federation.apps import client_app
from fedwalk.federation.deploy.status import holder_status
from fedwalk.federation.holder.answer_store import AnswerStore, question_key
from fedwalk.federation.holder.terms import Terms
from fedwalk.federation.membership.folders import HolderFolder, write_settings
from fedwalk.federation.wire.flower_records import to_records
from fedwalk.federation.wire.questions import ReportsQuestion, RollQuestion, VectorsQuestion, WalksAnswer, unpack
from fedwalk.protocols.registry import federated_protocols
from fedwalk.settings import Settings
from helpers.local_holders import BrokenOffError, InProcessFederation, make_in_process_federation

GRAPH = social_network(vertices=30, mean_degree=5, communities=2, seed=1)
REPORTS = ReportsQuestion("run", 30, 4.0, 0)


@pytest.fixture
def federation(tmp_path: Path) -> InProcessFederation:
    return make_in_process_federation(tmp_path / "federation", GRAPH, 2, None)


@pytest.fixture
def holder(federation: InProcessFederation) -> HolderFolder:
    return federation.folders["holder-0"]


def roll(federation: InProcessFederation, protocol: str, run: str = "run") -> RollQuestion:
    return RollQuestion(run, protocol, np.frombuffer(federation.roster.names_json(), np.uint8))


def vectors(run: str = "run") -> VectorsQuestion:
    participants = np.arange(30, dtype=np.int32)
    return VectorsQuestion(run, 2, 1.0, participants, (participants % 2).astype(np.int32))


def ask(folder: HolderFolder, phase: str, question: Any) -> Any:
    return client_app.answer(folder, phase, to_records(question))


def agree(folder: HolderFolder, **terms: Any) -> None:
    write_settings(folder.settings_file, replace(folder.settings(), terms=Terms(**terms)))


def test_the_ledger_records_paper_even_after_a_roll_call_for_ldp(
    federation: InProcessFederation, holder: HolderFolder
) -> None:
    ask(holder, "roll", roll(federation, "ldp"))
    assert holder_status(holder.path)["released"] == "nothing yet"
    ask(holder, "vectors", vectors())
    assert holder_status(holder.path)["released"] == "without a bound: protocol paper"
    agree(holder, protocols=("ldp",), budget=10.0)
    with pytest.raises(BudgetError, match="without a bound"):
        ask(holder, "reports", REPORTS)


def test_what_the_owner_did_not_agree_to_is_refused_before_anything_is_stored(
    federation: InProcessFederation, holder: HolderFolder
) -> None:
    agree(holder, protocols=("ldp",))
    with pytest.raises(ProtocolError, match="has agreed to ldp"):
        ask(holder, "roll", roll(federation, "paper"))
    assert not holder.answer_store.exists()


def test_answers_of_a_simulation_are_never_given_in_a_real_run(
    federation: InProcessFederation, holder: HolderFolder
) -> None:
    write_settings(holder.settings_file, replace(holder.settings(), simulation_seed=7))
    assert ask(holder, "roll", roll(federation, "ldp"))["simulated"] is True
    simulated = ask(holder, "reports", REPORTS)
    write_settings(holder.settings_file, replace(holder.settings(), simulation_seed=None))
    assert ask(holder, "roll", roll(federation, "ldp"))["simulated"] is False
    real = ask(holder, "reports", REPORTS)
    assert not np.array_equal(real["ids"], simulated["ids"])
    assert np.array_equal(ask(holder, "reports", REPORTS)["ids"], real["ids"])


def test_a_run_without_a_roll_call_is_refused(holder: HolderFolder) -> None:
    with pytest.raises(ProtocolError, match="no roll call"):
        ask(holder, "reports", REPORTS)
    with pytest.raises(ProtocolError, match="no roll call"):
        ask(holder, "vectors", vectors())


def test_the_number_of_walk_phases_in_a_run_is_limited(federation: InProcessFederation, tmp_path: Path) -> None:
    channel = federation.holders()
    federation.run(channel, Settings(num_walks=1, walk_length=5, dim=4, threads=1), tmp_path / "run")
    folder, (phase, questions) = federation.folders["holder-0"], channel.asked[-1]
    assert phase == "walks"
    kept = next((folder.answer_store / "runs").glob("*/snapshot.npz")).parent
    for number in range(client_app.MAX_ATTEMPTS):
        (kept / f"walks-{number}.npz").write_bytes(b"")
    with pytest.raises(ProtocolError, match=f"has walked {client_app.MAX_ATTEMPTS} times in this run"):
        ask(folder, "walks", replace(questions["holder-0"], key="0" * 32))


def test_an_attempt_that_an_earlier_process_began_is_not_walked_a_second_time(
    federation: InProcessFederation, tmp_path: Path
) -> None:
    channel = federation.holders()
    federation.run(channel, Settings(num_walks=1, walk_length=5, dim=4, threads=1), tmp_path / "run")
    folder, question = federation.folders["holder-0"], replace(channel.asked[-1][1]["holder-0"], key="0" * 32)
    with AnswerStore(folder.answer_store).locked(10) as store:
        assert store.begin("walks", question_key(question))
        assert not store.begin("walks", question_key(question))
    for _ in range(2):
        answer = unpack(WalksAnswer, ask(folder, "walks", question))
        assert answer.interrupted
        assert answer.walks.size == answer.given_up.size == answer.hops == 0


def test_a_resumed_run_keeps_its_patience_and_so_its_questions(federation: InProcessFederation, tmp_path: Path) -> None:
    settings = Settings(num_walks=2, walk_length=5, dim=4, threads=1)
    with pytest.raises(BrokenOffError):
        federation.run(federation.holders(stop_at="walks"), settings, tmp_path / "run", patience=5.0)
    record = federation.run(federation.holders(), settings, tmp_path / "run", patience=9.0, resume=True)
    assert record["federation"]["patience"] == 5.0


def test_more_walks_than_the_owner_allows_are_refused_at_the_roll_call(
    federation: InProcessFederation, tmp_path: Path
) -> None:
    agree(federation.folders["holder-0"], protocols=("paper",), max_walks=2)
    agree(federation.folders["holder-1"], protocols=("paper",), max_walks=3)
    channel, chosen = federation.holders(), Settings(num_walks=3, walk_length=5, dim=4, threads=1)
    with pytest.raises(ProtocolError, match=r"1 of 2 holders .* 3 walks per device, .* agreed to 2"):
        federation.run(channel, chosen, tmp_path / "run", min_holders=2)
    assert channel.phases() == ["roll"]
    assert not federation.folders["holder-0"].answer_store.exists()


def test_a_budget_that_is_spent_is_refused_at_the_roll_call_before_others_release(
    federation: InProcessFederation, tmp_path: Path
) -> None:
    agree(federation.folders["holder-0"], protocols=("ldp",), budget=5.0)
    chosen = Settings(protocol="ldp", epsilon=4.0, dim=4, threads=1)
    federation.run(federation.holders(), chosen, tmp_path / "first")
    again = federation.holders()
    federation.run(again, chosen, tmp_path / "same")
    assert again.phases() == ["roll", "reports"]
    refused = federation.holders()
    with pytest.raises(
        ProtocolError,
        match=r"1 of 2 holders answered the roll call, and the run needs at least 2: .* budget of 5 are spent",
    ):
        federation.run(refused, replace(chosen, epsilon=3.0), tmp_path / "second", min_holders=2)
    assert refused.phases() == ["roll"]
    assert holder_status(federation.folders["holder-1"].path)["released"] == "epsilon 4 per edge, over all runs"


def test_the_protocol_says_what_is_checked_at_the_roll_call(
    federation: InProcessFederation, holder: HolderFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    agree(holder, protocols=("ldp",), budget=5.0)
    question = replace(roll(federation, "ldp"), epsilon=6.0)
    with pytest.raises(BudgetError, match="budget of 5"):
        ask(holder, "roll", question)
    # A protocol with a bound, but without reports, is not checked as if it were `ldp`.
    known = federated_protocols()
    without = {**known, "ldp": replace(known["ldp"], report_plan=None)}
    monkeypatch.setattr(client_app, "federated_protocols", lambda: without)
    assert ask(holder, "roll", question)["holder"] == "holder-0"
