"""What a holder's process does with questions of a server that doesn't keep to the order of the protocol."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fedwalk import social_network
from fedwalk.errors import BudgetError, ProtocolError
from fedwalk.federation import client_app
from fedwalk.federation.folders import HolderFolder, write_settings
from fedwalk.federation.holder import Terms
from fedwalk.federation.memory import Memory, question_key
from fedwalk.federation.parcels import ListsQuestion, RollQuestion, VectorsQuestion, WalksAnswer, unpack
from fedwalk.federation.records import to_records
from fedwalk.federation.status import holder_status
from fedwalk.settings import Settings
from holders import BrokenOffError, Village, settle

GRAPH = social_network(vertices=30, mean_degree=5, communities=2, seed=1)
LISTS = ListsQuestion("run", 30, 4.0, 0)


@pytest.fixture
def village(tmp_path: Path) -> Village:
    return settle(tmp_path / "federation", GRAPH, 2, None)


@pytest.fixture
def holder(village: Village) -> HolderFolder:
    return village.folders["holder-0"]


def roll(village: Village, protocol: str, run: str = "run") -> RollQuestion:
    return RollQuestion(run, protocol, np.frombuffer(village.roster.names_json(), np.uint8))


def vectors(run: str = "run") -> VectorsQuestion:
    everybody = np.arange(30, dtype=np.int32)
    return VectorsQuestion(run, 2, 1.0, everybody, (everybody % 2).astype(np.int32))


def ask(folder: HolderFolder, phase: str, question: Any) -> Any:
    return client_app.answer(folder, phase, to_records(question))


def agree(folder: HolderFolder, **terms: Any) -> None:
    write_settings(folder.settings_file, replace(folder.settings(), terms=Terms(**terms)))


def test_paper_stands_in_the_ledger_whatever_the_roll_call_was_for(village: Village, holder: HolderFolder) -> None:
    ask(holder, "roll", roll(village, "ldp"))
    assert holder_status(holder.path)["released"] == "nothing yet"
    ask(holder, "vectors", vectors())
    assert holder_status(holder.path)["released"] == "without a bound: protocol paper"
    agree(holder, protocols=("ldp",), budget=10.0)
    with pytest.raises(BudgetError, match="without a bound"):
        ask(holder, "lists", LISTS)


def test_what_the_owner_did_not_agree_to_is_refused_before_anything_is_kept(
    village: Village, holder: HolderFolder
) -> None:
    agree(holder, protocols=("ldp",))
    with pytest.raises(ProtocolError, match="has agreed to ldp"):
        ask(holder, "roll", roll(village, "paper"))
    assert not holder.memory.exists()


def test_answers_of_a_simulation_are_never_given_for_real(village: Village, holder: HolderFolder) -> None:
    write_settings(holder.settings_file, replace(holder.settings(), simulation_seed=7))
    assert ask(holder, "roll", roll(village, "ldp"))["simulated"] is True
    simulated = ask(holder, "lists", LISTS)
    write_settings(holder.settings_file, replace(holder.settings(), simulation_seed=None))
    assert ask(holder, "roll", roll(village, "ldp"))["simulated"] is False
    real = ask(holder, "lists", LISTS)
    assert not np.array_equal(real["ids"], simulated["ids"])
    assert np.array_equal(ask(holder, "lists", LISTS)["ids"], real["ids"])


def test_a_run_without_a_roll_call_is_refused(holder: HolderFolder) -> None:
    with pytest.raises(ProtocolError, match="no roll call"):
        ask(holder, "lists", LISTS)
    with pytest.raises(ProtocolError, match="no roll call"):
        ask(holder, "vectors", vectors())


def test_no_owner_is_made_to_walk_again_and_again(village: Village, tmp_path: Path) -> None:
    post = village.holders()
    village.run(post, Settings(walks=1, walk_length=5, dim=4, threads=1), tmp_path / "run")
    folder, (phase, questions) = village.folders["holder-0"], post.asked[-1]
    assert phase == "walks"
    kept = next((folder.memory / "runs").glob("*/snapshot.npz")).parent
    for number in range(client_app.MOST_ATTEMPTS):
        (kept / f"walks-{number}.npz").write_bytes(b"")
    with pytest.raises(ProtocolError, match=f"has walked {client_app.MOST_ATTEMPTS} times in this run"):
        ask(folder, "walks", replace(questions["holder-0"], key="0" * 32))


def test_an_attempt_that_an_earlier_process_began_is_not_walked_a_second_time(village: Village, tmp_path: Path) -> None:
    post = village.holders()
    village.run(post, Settings(walks=1, walk_length=5, dim=4, threads=1), tmp_path / "run")
    folder, question = village.folders["holder-0"], replace(post.asked[-1][1]["holder-0"], key="0" * 32)
    with Memory(folder.memory).locked(10) as memory:
        assert memory.begin("walks", question_key(question))
        assert not memory.begin("walks", question_key(question))
    for _ in range(2):
        answer = unpack(WalksAnswer, ask(folder, "walks", question))
        assert answer.interrupted
        assert answer.walks.size == answer.given_up.size == answer.hops == 0


def test_a_resumed_run_keeps_its_patience_and_so_its_questions(village: Village, tmp_path: Path) -> None:
    settings = Settings(walks=2, walk_length=5, dim=4, threads=1)
    with pytest.raises(BrokenOffError):
        village.run(village.holders(stop_at="walks"), settings, tmp_path / "run", patience=5.0)
    record = village.run(village.holders(), settings, tmp_path / "run", patience=9.0, resume=True)
    assert record["federation"]["patience"] == 5.0


def test_more_walks_than_the_owner_allows_are_refused_at_the_roll_call(village: Village, tmp_path: Path) -> None:
    agree(village.folders["holder-0"], protocols=("paper",), most_walks=2)
    agree(village.folders["holder-1"], protocols=("paper",), most_walks=3)
    post, chosen = village.holders(), Settings(walks=3, walk_length=5, dim=4, threads=1)
    with pytest.raises(ProtocolError, match=r"1 of 2 holders .* 3 walks per device, .* agreed to 2"):
        village.run(post, chosen, tmp_path / "run", need=2)
    assert post.phases() == ["roll"]
    assert not village.folders["holder-0"].memory.exists()


def test_a_budget_that_is_spent_is_refused_at_the_roll_call_before_others_release(
    village: Village, tmp_path: Path
) -> None:
    agree(village.folders["holder-0"], protocols=("ldp",), budget=5.0)
    chosen = Settings(protocol="ldp", epsilon=4.0, dim=4, threads=1)
    village.run(village.holders(), chosen, tmp_path / "first")
    again = village.holders()
    village.run(again, chosen, tmp_path / "same")
    assert again.phases() == ["roll", "lists"]
    refused = village.holders()
    with pytest.raises(ProtocolError, match=r"1 of 2 holders answered the roll call: .* budget of 5 are spent"):
        village.run(refused, replace(chosen, epsilon=3.0), tmp_path / "second", need=2)
    assert refused.phases() == ["roll"]
    assert holder_status(village.folders["holder-1"].path)["released"] == "epsilon 4 per edge, over all runs"
