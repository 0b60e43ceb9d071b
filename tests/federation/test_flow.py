"""Federated runs from roll call to results: as the simulation, with losses, with liars, and after interrupts."""

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest

from fedwalk import FedWalk
from fedwalk.embedding import Embedding
from fedwalk.errors import FedWalkWarning, ProtocolError, RunFolderError, SettingsError
from fedwalk.federation.coordinator import Failure
from fedwalk.federation.flow import among
from fedwalk.federation.memory import Memory
from fedwalk.federation.parcels import Fields
from fedwalk.graph import Graph, load_graph
from fedwalk.privacy.reports import Reports
from fedwalk.settings import Settings
from holders import BrokenOffError, Holders, Village, settle

SEED = 3
CHOSEN: dict[str, Any] = {"walks": 3, "walk_length": 12, "dim": 8, "seed": SEED, "threads": 1}
LDP: dict[str, Any] = {**CHOSEN, "protocol": "ldp", "epsilon": 4.0}
PAPER_PHASES = ["roll", "vectors", "matrices", "walks"]
LDP_PHASES = ["roll", "lists"]
NAMES = [f"holder-{i}" for i in range(4)]


@pytest.fixture(scope="module")
def graph() -> Graph:
    """Karate with a vertex that knows nobody."""
    network = nx.karate_club_graph()
    network.add_node(20_000)
    with pytest.warns(FedWalkWarning):
        return load_graph(network)


@pytest.fixture(scope="module")
def village(graph: Graph, tmp_path_factory: pytest.TempPathFactory) -> Village:
    """Four holders whose noise is a function of the seed."""
    return settle(tmp_path_factory.mktemp("village"), graph, 4, SEED)


@pytest.fixture
def earnest(graph: Graph, tmp_path: Path) -> Village:
    """Four holders whose noise is fresh."""
    return settle(tmp_path / "earnest", graph, 4, None)


@dataclass(frozen=True)
class Result:
    """What a run left behind."""

    record: dict[str, Any]
    embedding: Embedding
    walks: bytes

    @property
    def account(self) -> dict[str, Any]:
        return dict(self.record["federation"])


def run(village: Village, post: Holders, path: Path, chosen: dict[str, Any], **how: Any) -> Result:
    record = village.run(post, Settings(**chosen), path, **how)
    assert record == json.loads((path / "run.json").read_text(encoding="utf-8"))
    assert not (path / "stages").exists()
    return Result(record, Embedding.load(path / "embedding.npz"), (path / "walks.npy").read_bytes())


def same(one: Result, other: Result) -> bool:
    """Whether two runs came to the same, but for what they are called and how long they took."""
    accounts = [{name: value for name, value in it.account.items() if name != "run"} for it in (one, other)]
    return (
        one.walks == other.walks
        and np.array_equal(one.embedding.vectors, other.embedding.vectors)
        and np.array_equal(one.embedding.nodes, other.embedding.nodes)
        and accounts[0] == accounts[1]
        and one.record["messages"] == other.record["messages"]
    )


def test_paper_over_holders_is_paper_as_simulated_bit_for_bit(village: Village, graph: Graph, tmp_path: Path) -> None:
    result = run(village, village.holders(), tmp_path / "run", CHOSEN)
    model = FedWalk(**CHOSEN)
    with pytest.warns(FedWalkWarning, match="isolated"):
        expected = model.fit(graph)
    assert np.array_equal(np.load(tmp_path / "run" / "walks.npy"), model.walks_.sequences)
    assert np.array_equal(result.embedding.vectors, expected.vectors)
    assert np.array_equal(result.embedding.nodes, expected.nodes)
    assert result.record["messages"] == model.transcript_.as_dict()
    assert result.record["settings"]["bins"] == model.settings_.bins
    assert result.account["lost"] == result.account["refused"] == {}
    assert not result.embedding.vectors[-1].any()


@pytest.mark.parametrize("embed", ["spectral", "skipgram"])
def test_ldp_over_holders_is_ldp_as_simulated_bit_for_bit(
    village: Village, graph: Graph, embed: str, tmp_path: Path
) -> None:
    chosen = {**LDP, "embed": embed}
    record = village.run(village.holders(), Settings(**chosen), tmp_path / "run")
    model = FedWalk(**chosen)
    expected, found = model.fit(graph), Embedding.load(tmp_path / "run" / "embedding.npz")
    assert np.array_equal(found.vectors, expected.vectors)
    assert np.array_equal(found.nodes, expected.nodes)
    assert record["messages"] == model.transcript_.as_dict()
    assert record["ledger"]["per_edge"] == 4.0


@pytest.mark.parametrize("chosen", [CHOSEN, {**LDP, "embed": "skipgram"}])
def test_the_order_in_which_answers_arrive_changes_nothing(
    village: Village, chosen: dict[str, Any], tmp_path: Path
) -> None:
    one = run(village, village.holders(), tmp_path / "one", chosen)
    other = run(village, village.holders(last_first=True), tmp_path / "other", chosen)
    assert same(one, other)


def lose(phase: str, holder: str, attempt: int = 0, rounds: int = 3) -> dict[tuple[str, int, str], int]:
    return {(phase, attempt, holder): rounds}


def living(village: Village, graph: Graph, *lost: str) -> list[int]:
    """The names of the vertices of everybody else."""
    return [int(graph.names[v]) for v in village.devices(*(name for name in NAMES if name not in lost))]


@pytest.mark.parametrize("phase", PAPER_PHASES)
@pytest.mark.parametrize("holder", ["holder-0", "holder-2"])
def test_a_holder_lost_in_any_phase_leaves_the_living_embedded(
    village: Village, graph: Graph, phase: str, holder: str, tmp_path: Path
) -> None:
    post = village.holders(gone=lose(phase, holder))
    result = run(village, post, tmp_path / "run", CHOSEN)
    account = result.account
    assert account["lost"] == {holder: f"{phase}: gone"}
    assert account["refused"] == {}
    assert result.embedding.nodes.tolist() == living(village, graph, holder)
    assert account["embedded"] == len(result.embedding.nodes) == 35 - account["holders"][holder]
    assert np.isfinite(result.embedding.vectors).all()
    # Only those who have no living neighbour may be without a vector.
    here = set(village.devices(*(name for name in NAMES if name != holder)))
    for vector, v in zip(result.embedding.vectors, sorted(here), strict=True):
        assert vector.any() or not here & set(graph.neighbours(v).tolist())
    walks = account["walks"]
    assert walks["finished"] + walks["lost"] == walks["asked"]
    assert (walks["reissued"] > 0) == (phase == "walks")
    later = [asked for name, asked in post.asked[PAPER_PHASES.index(phase) + 1 :]]
    assert all(holder not in questions for questions in later)
    assert post.phases() == [*PAPER_PHASES, "walks"] if phase == "walks" else PAPER_PHASES


def test_holders_lost_one_after_the_other_are_all_accounted_for(village: Village, graph: Graph, tmp_path: Path) -> None:
    gone = lose("vectors", "holder-3") | lose("walks", "holder-1") | lose("walks", "holder-2", attempt=1)
    result = run(village, village.holders(gone=gone), tmp_path / "run", CHOSEN)
    assert result.account["lost"] == {
        "holder-3": "vectors: gone", "holder-1": "walks: gone", "holder-2": "walks: gone"
    }  # fmt: skip
    assert result.embedding.nodes.tolist() == living(village, graph, "holder-1", "holder-2", "holder-3")
    walks = result.account["walks"]
    assert walks["finished"] + walks["lost"] == walks["asked"]
    assert walks["started"] == walks["asked"] + walks["reissued"]


def test_a_run_that_loses_everybody_ends_with_the_reasons(village: Village, tmp_path: Path) -> None:
    gone = {("walks", 0, name): 2 for name in NAMES}
    with pytest.raises(ProtocolError, match=r"no walk came to an end: holder-0 \(walks: gone\); holder-1"):
        village.run(village.holders(gone=gone), Settings(**CHOSEN), tmp_path / "run")


def test_a_run_that_loses_the_last_after_some_walks_came_back_ends_with_the_reasons(
    village: Village, tmp_path: Path
) -> None:
    gone = lose("walks", "holder-0") | {("walks", 1, name): 2 for name in NAMES[1:]}
    with pytest.raises(ProtocolError, match="0 devices are left"):
        village.run(village.holders(gone=gone), Settings(**CHOSEN), tmp_path / "run")


def test_too_few_devices_for_an_embedding_is_said_before_anything_more_is_asked(
    village: Village, tmp_path: Path
) -> None:
    post = village.holders(gone={("vectors", 0, name): 0 for name in NAMES})
    with pytest.raises(ProtocolError, match=r"0 devices are left .*an embedding needs 2"):
        village.run(post, Settings(**CHOSEN), tmp_path / "run")
    assert post.phases() == ["roll", "vectors"]


SPOILED: dict[str, Any] = {
    "roll": lambda fields: {**fields, "devices": fields["devices"] + np.int32(1)},
    "vectors": lambda fields: {**fields, "vectors": fields["vectors"] * np.float32(np.nan)},
    "matrices": lambda fields: {**fields, "starts": fields["starts"][:-1]},
    "walks": lambda fields: {**fields, "entries": fields["entries"][:, :-1]},
    "lists": lambda fields: {**fields, "ids": fields["ids"] + np.int32(1)},
}


def spoil(phase: str, holder: str) -> Any:
    """An honest holder's answer, spoiled in one phase."""

    def change(now: str, attempt: int, name: str, fields: Fields) -> Fields:
        return SPOILED[phase](fields) if (now, attempt, name) == (phase, 0, holder) else fields

    return change


@pytest.mark.parametrize(
    ("phase", "chosen"), [*((phase, CHOSEN) for phase in PAPER_PHASES), ("roll", LDP), ("lists", LDP)]
)
def test_a_spoiled_answer_costs_the_run_no_more_than_no_answer(
    village: Village, phase: str, chosen: dict[str, Any], tmp_path: Path
) -> None:
    chosen = {**chosen, "embed": "skipgram"}
    refused = run(village, village.holders(spoil=spoil(phase, "holder-1")), tmp_path / "refused", chosen)
    missing = run(village, village.holders(gone=lose(phase, "holder-1", rounds=10**6)), tmp_path / "missing", chosen)
    assert list(refused.account["refused"]) == ["holder-1"]
    assert refused.account["refused"]["holder-1"].startswith(f"{phase}: ")
    assert missing.account["refused"] == {}
    for result in (refused, missing):
        result.record["federation"] |= {"lost": {}, "refused": {}, "unreachable": {}}
    assert same(refused, missing)


def test_vast_numbers_of_one_holder_do_not_stop_the_others(village: Village, tmp_path: Path) -> None:
    def change(phase: str, attempt: int, name: str, fields: Fields) -> Fields:
        vast = {"vectors": fields["vectors"] + np.float32(1e30)} if phase == "vectors" and name == "holder-3" else {}
        return {**fields, **vast}

    result = run(village, village.holders(spoil=change), tmp_path / "run", CHOSEN)
    assert list(result.account["lost"]) == list(result.account["refused"]) == ["holder-3"]


@pytest.mark.parametrize("phase", LDP_PHASES)
def test_ldp_goes_on_without_a_holder(village: Village, graph: Graph, phase: str, tmp_path: Path) -> None:
    record = village.run(village.holders(gone=lose(phase, "holder-1")), Settings(**LDP), tmp_path / "run")
    found = Embedding.load(tmp_path / "run" / "embedding.npz")
    assert found.nodes.tolist() == living(village, graph, "holder-1")
    assert record["federation"]["lost"] == {"holder-1": f"{phase}: gone"}
    assert np.isfinite(found.vectors).all()
    assert record["messages"]["lists"]["count"] == len(found.nodes)


def test_a_holder_that_does_not_agree_is_left_out_with_its_reason(earnest: Village, tmp_path: Path) -> None:
    settings = earnest.folders["holder-2"].settings_file
    text = settings.read_text(encoding="utf-8")
    settings.write_text(text.replace('"paper",', ""), encoding="utf-8")
    assert earnest.folders["holder-2"].settings().terms.protocols == ("ldp",)
    record = earnest.run(earnest.holders(), Settings(**CHOSEN), tmp_path / "run")
    assert record["federation"]["lost"]["holder-2"].startswith("roll: refused: protocol 'paper': the owner")
    assert record["federation"]["refused"] == {}


def test_a_holder_without_an_address_is_embedded_by_ldp_and_left_out_of_paper(
    earnest: Village, graph: Graph, tmp_path: Path
) -> None:
    holders = [replace(one, address="" if one.name == NAMES[1] else one.address) for one in earnest.roster.holders]
    village = replace(earnest, roster=replace(earnest.roster, holders=tuple(holders)))
    record = village.run(village.holders(), Settings(**LDP), tmp_path / "ldp")
    assert record["federation"]["lost"] == {}
    record = village.run(village.holders(), Settings(**CHOSEN), tmp_path / "paper")
    assert list(record["federation"]["lost"]) == [NAMES[1]]
    assert record["federation"]["walks"]["finished"] > 0


def test_an_error_in_a_holder_tells_the_server_nothing_of_its_lists(earnest: Village, tmp_path: Path) -> None:
    (earnest.folders["holder-0"].path / "lists.adj").write_text("ann bob\nann cyd\n", encoding="utf-8")
    record = earnest.run(earnest.holders(), Settings(**CHOSEN), tmp_path / "run")
    assert record["federation"]["lost"] == {
        "holder-0": "roll: refused: an error in the holder; its own log has the details"
    }


@pytest.mark.parametrize(
    ("phase", "chosen"), [*((phase, CHOSEN) for phase in PAPER_PHASES), ("roll", LDP), ("lists", LDP)]
)
def test_a_run_that_was_broken_off_goes_on_to_the_same_end(
    village: Village, phase: str, chosen: dict[str, Any], tmp_path: Path
) -> None:
    chosen = {**chosen, "embed": "skipgram"}
    with pytest.raises(BrokenOffError):
        village.run(village.holders(stop_at=phase), Settings(**chosen), tmp_path / "run")
    post = village.holders()
    resumed = run(village, post, tmp_path / "run", chosen, resume=True)
    phases = PAPER_PHASES if "protocol" not in chosen else LDP_PHASES
    assert post.phases() == phases[phases.index(phase) :]
    assert same(resumed, run(village, village.holders(), tmp_path / "whole", chosen))


def answers(village: Village) -> dict[str, bytes]:
    """Every answer on the holders' disks, less the walks, and the state of their devices."""
    return {
        f"{name}/{path.name}": path.read_bytes()
        for name, folder in village.folders.items()
        for path in sorted(folder.memory.rglob("*"))
        if path.is_file() and path.name != "lock" and not path.name.startswith("walks")
    }


@pytest.mark.parametrize(
    ("phase", "chosen"), [("vectors", CHOSEN), ("matrices", CHOSEN), ("walks", CHOSEN), ("lists", LDP)]
)
def test_nothing_is_drawn_twice_when_the_server_comes_back(
    earnest: Village, phase: str, chosen: dict[str, Any], tmp_path: Path
) -> None:
    with pytest.raises(BrokenOffError):
        earnest.run(earnest.holders(stop_at=phase), Settings(**chosen), tmp_path / "run")
    before = answers(earnest)
    assert any(name.partition("/")[2].startswith(phase) for name in before) or phase == "walks"
    post = earnest.holders()
    result = earnest.run(post, Settings(**chosen), tmp_path / "run", resume=True)
    after = answers(earnest)
    assert {name: after[name] for name in before} == before
    assert post.phases()[0] == phase
    assert result["federation"]["lost"] == {}


def test_walks_that_were_finished_before_the_server_died_are_not_walked_again(earnest: Village, tmp_path: Path) -> None:
    with pytest.raises(BrokenOffError):
        earnest.run(earnest.holders(stop_at="walks"), Settings(**CHOSEN), tmp_path / "run")
    kept = {path: path.read_bytes() for folder in earnest.folders.values() for path in folder.memory.rglob("walks*")}
    assert len(kept) == 4
    result = run(earnest, earnest.holders(), tmp_path / "run", CHOSEN, resume=True)
    assert {path: path.read_bytes() for path in kept} == kept
    assert result.account["walks"]["finished"] == result.account["walks"]["asked"] == result.account["walks"]["started"]


def test_a_server_that_comes_back_remembers_whom_it_had_lost(village: Village, tmp_path: Path) -> None:
    gone = lose("vectors", "holder-2")
    with pytest.raises(BrokenOffError):
        village.run(village.holders(gone=gone, stop_at="walks"), Settings(**CHOSEN), tmp_path / "run")
    post = village.holders()
    resumed = run(village, post, tmp_path / "run", CHOSEN, resume=True)
    assert all("holder-2" not in questions for _, questions in post.asked)
    assert same(resumed, run(village, village.holders(gone=gone), tmp_path / "whole", CHOSEN))


def test_resuming_with_other_settings_or_other_members_is_refused(village: Village, tmp_path: Path) -> None:
    with pytest.raises(BrokenOffError):
        village.run(village.holders(stop_at="matrices"), Settings(**CHOSEN), tmp_path / "run")
    with pytest.raises(RunFolderError, match="walks = 3, now it is 4"):
        village.run(village.holders(), Settings(**{**CHOSEN, "walks": 4}), tmp_path / "run", resume=True)
    other = settle(tmp_path / "other", load_graph([(1, 2), (2, 3), (3, 4)]), 2, SEED)
    with pytest.raises(RunFolderError, match="began with another graph"):
        other.run(other.holders(), Settings(**CHOSEN), tmp_path / "run", resume=True)


def test_a_new_run_takes_nothing_over_from_an_earlier_one_in_its_folder(village: Village, tmp_path: Path) -> None:
    with pytest.raises(BrokenOffError):
        village.run(
            village.holders(gone=lose("roll", "holder-1"), stop_at="vectors"), Settings(**CHOSEN), tmp_path / "run"
        )
    # As an interrupt in the middle of clearing up would leave it.
    (tmp_path / "run" / "stages" / "manifest.json").unlink()
    result = run(village, village.holders(), tmp_path / "run", CHOSEN, resume=True)
    assert result.account["lost"] == {}


@pytest.mark.parametrize(
    ("chosen", "problem"),
    [({"protocol": "deepwalk"}, "a federation runs paper or ldp"), ({"protocol": "ldp", "budget": 5.0}, "budget: in")],
)
def test_what_only_a_simulation_can_do_is_refused(
    village: Village, chosen: dict[str, Any], problem: str, tmp_path: Path
) -> None:
    post = village.holders()
    with pytest.raises(SettingsError, match=problem):
        village.run(post, Settings(**chosen), tmp_path / "run")
    assert post.asked == []
    assert not (tmp_path / "run").exists()


def test_a_holders_budget_refuses_a_second_ldp_run_and_the_rest_goes_on(earnest: Village, tmp_path: Path) -> None:
    settings = earnest.folders["holder-1"].settings_file
    settings.write_text(settings.read_text(encoding="utf-8") + "budget = 6.0\n", encoding="utf-8")
    assert earnest.folders["holder-1"].settings().terms.budget == 6.0
    first = earnest.run(earnest.holders(), Settings(**LDP), tmp_path / "first")
    again = earnest.run(earnest.holders(), Settings(**{**LDP, "epsilon": 3.0}), tmp_path / "again")
    assert first["federation"]["lost"] == {}
    assert "of the budget of 6" in again["federation"]["lost"]["holder-1"]
    assert again["federation"]["embedded"] == 35 - len(earnest.devices("holder-1"))


def test_asked_the_same_in_another_ldp_run_everybody_reports_the_same(earnest: Village, tmp_path: Path) -> None:
    results = [earnest.run(earnest.holders(), Settings(**LDP), tmp_path / name) for name in "ab"]
    assert results[0]["federation"]["run"] != results[1]["federation"]["run"]
    assert (tmp_path / "a" / "embedding.npz").read_bytes() == (tmp_path / "b" / "embedding.npz").read_bytes()


def test_reports_among_those_present_are_numbered_anew() -> None:
    reports = Reports(np.array([0, 2, 3, 3, 4]), np.array([1, 3, 2, 0], np.int32))
    left = among(reports, np.array([True, False, True, True]))
    assert left.starts.tolist() == [0, 1, 1, 2]
    assert left.ids.tolist() == [2, 0]


def test_a_failure_that_flower_reports_is_a_loss_and_no_refusal(village: Village, tmp_path: Path) -> None:
    def change(phase: str, attempt: int, name: str, fields: Fields) -> Any:
        return Failure("Flower: node unavailable") if (phase, name) == ("matrices", "holder-3") else fields

    record = village.run(village.holders(spoil=change), Settings(**CHOSEN), tmp_path / "run")
    assert record["federation"]["lost"] == {"holder-3": "matrices: Flower: node unavailable"}
    assert record["federation"]["refused"] == {}


def test_memory_holds_the_lists_of_the_roll_call_for_all_of_the_run(village: Village, tmp_path: Path) -> None:
    record = village.run(village.holders(), Settings(**CHOSEN), tmp_path / "run")
    with Memory(village.folders["holder-0"].memory).locked(5) as memory:
        lists = memory.snapshot(record["federation"]["run"])
    assert lists is not None
    assert lists.devices.tolist() == village.devices("holder-0")
