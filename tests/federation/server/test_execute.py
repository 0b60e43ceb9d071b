"""Federated runs from roll call to results: like the simulation, with losses, with hostile holders, and resumed."""

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
from fedwalk.federation.holder.answer_store import AnswerStore
from fedwalk.federation.server.coordinator import Failure
from fedwalk.federation.wire.questions import Fields
from fedwalk.graph import Graph, load_graph
from fedwalk.protocols.ldp.federated import among
from fedwalk.protocols.ldp.reports import Reports
from fedwalk.settings import Settings
from helpers.local_holders import BrokenOffError, InProcessFederation, InProcessHolders, make_in_process_federation

SEED = 3
CHOSEN: dict[str, Any] = {"num_walks": 3, "walk_length": 12, "dim": 8, "seed": SEED, "threads": 1}
LDP: dict[str, Any] = {**CHOSEN, "protocol": "ldp", "epsilon": 4.0}
PAPER_PHASES = ["roll", "vectors", "matrices", "walks"]
LDP_PHASES = ["roll", "reports"]
NAMES = [f"holder-{i}" for i in range(4)]


@pytest.fixture(scope="module")
def graph() -> Graph:
    """Karate with an isolated vertex, and without weights, which a federation doesn't have."""
    network = nx.karate_club_graph()
    nx.set_edge_attributes(network, 1, "weight")
    network.add_node(20_000)
    return load_graph(network)


@pytest.fixture(scope="module")
def federation(graph: Graph, tmp_path_factory: pytest.TempPathFactory) -> InProcessFederation:
    """Four holders whose noise is a function of the seed."""
    return make_in_process_federation(tmp_path_factory.mktemp("federation"), graph, 4, SEED)


@pytest.fixture
def unseeded(graph: Graph, tmp_path: Path) -> InProcessFederation:
    """Four holders whose noise is fresh."""
    return make_in_process_federation(tmp_path / "unseeded", graph, 4, None)


@dataclass(frozen=True)
class Result:
    """What a run left behind."""

    record: dict[str, Any]
    embedding: Embedding
    walks: bytes

    @property
    def statistics(self) -> dict[str, Any]:
        return dict(self.record["federation"])


def run(
    federation: InProcessFederation, channel: InProcessHolders, path: Path, chosen: dict[str, Any], **how: Any
) -> Result:
    record = federation.run(channel, Settings(**chosen), path, **how)
    assert record == json.loads((path / "run.json").read_text(encoding="utf-8"))
    assert not (path / "stages").exists()
    return Result(record, Embedding.load(path / "embedding.npz"), (path / "walks.npy").read_bytes())


def same(one: Result, other: Result) -> bool:
    """Whether two runs have the same results, except for their names and durations."""
    both_statistics = [{name: value for name, value in it.statistics.items() if name != "run"} for it in (one, other)]
    return (
        one.walks == other.walks
        and np.array_equal(one.embedding.vectors, other.embedding.vectors)
        and np.array_equal(one.embedding.nodes, other.embedding.nodes)
        and both_statistics[0] == both_statistics[1]
        and one.record["messages"] == other.record["messages"]
    )


def test_paper_over_holders_is_paper_as_simulated_bit_for_bit(
    federation: InProcessFederation, graph: Graph, tmp_path: Path
) -> None:
    result = run(federation, federation.holders(), tmp_path / "run", CHOSEN)
    model = FedWalk(**CHOSEN)
    with pytest.warns(FedWalkWarning, match="isolated"):
        expected = model.fit_transform(graph)
    assert np.array_equal(np.load(tmp_path / "run" / "walks.npy"), model.walks_.sequences)
    assert np.array_equal(result.embedding.vectors, expected.vectors)
    assert np.array_equal(result.embedding.nodes, expected.nodes)
    assert result.record["messages"] == model.transcript_.as_dict()
    assert result.record["settings"]["num_bins"] == model.settings_.num_bins
    assert result.statistics["lost"] == result.statistics["invalid"] == {}
    assert not result.embedding.vectors[-1].any()


@pytest.mark.parametrize("embed", ["spectral", "skipgram"])
def test_ldp_over_holders_is_ldp_as_simulated_bit_for_bit(
    federation: InProcessFederation, graph: Graph, embed: str, tmp_path: Path
) -> None:
    chosen = {**LDP, "embed": embed}
    record = federation.run(federation.holders(), Settings(**chosen), tmp_path / "run")
    model = FedWalk(**chosen)
    expected, embedding = model.fit_transform(graph), Embedding.load(tmp_path / "run" / "embedding.npz")
    assert np.array_equal(embedding.vectors, expected.vectors)
    assert np.array_equal(embedding.nodes, expected.nodes)
    assert record["messages"] == model.transcript_.as_dict()
    assert record["ledger"]["per_edge"] == 4.0


@pytest.mark.parametrize("chosen", [CHOSEN, {**LDP, "embed": "skipgram"}])
def test_the_order_in_which_answers_arrive_changes_nothing(
    federation: InProcessFederation, chosen: dict[str, Any], tmp_path: Path
) -> None:
    one = run(federation, federation.holders(), tmp_path / "one", chosen)
    other = run(federation, federation.holders(last_first=True), tmp_path / "other", chosen)
    assert same(one, other)


def lose(phase: str, holder: str, attempt: int = 0, rounds: int = 3) -> dict[tuple[str, int, str], int]:
    return {(phase, attempt, holder): rounds}


def living(federation: InProcessFederation, graph: Graph, *lost: str) -> list[int]:
    """The names of the vertices of all other holders."""
    return [int(graph.names[v]) for v in federation.devices(*(name for name in NAMES if name not in lost))]


@pytest.mark.parametrize("phase", PAPER_PHASES)
@pytest.mark.parametrize("holder", ["holder-0", "holder-2"])
def test_a_holder_lost_in_any_phase_leaves_the_living_embedded(
    federation: InProcessFederation, graph: Graph, phase: str, holder: str, tmp_path: Path
) -> None:
    channel = federation.holders(gone=lose(phase, holder))
    result = run(federation, channel, tmp_path / "run", CHOSEN)
    statistics = result.statistics
    assert statistics["lost"] == {holder: f"{phase}: gone"}
    assert statistics["invalid"] == {}
    assert result.embedding.nodes.tolist() == living(federation, graph, holder)
    assert statistics["embedded"] == len(result.embedding.nodes) == 35 - statistics["holders"][holder]
    assert np.isfinite(result.embedding.vectors).all()
    # Only those who have no living neighbour may be without a vector.
    here = set(federation.devices(*(name for name in NAMES if name != holder)))
    for vector, v in zip(result.embedding.vectors, sorted(here), strict=True):
        assert vector.any() or not here & set(graph.neighbours(v).tolist())
    walks = statistics["walks"]
    assert walks["finished"] + walks["lost"] == walks["asked"]
    assert (walks["reissued"] > 0) == (phase == "walks")
    later = [asked for name, asked in channel.asked[PAPER_PHASES.index(phase) + 1 :]]
    assert all(holder not in questions for questions in later)
    assert channel.phases() == [*PAPER_PHASES, "walks"] if phase == "walks" else PAPER_PHASES


def test_holders_lost_one_after_the_other_are_all_accounted_for(
    federation: InProcessFederation, graph: Graph, tmp_path: Path
) -> None:
    gone = lose("vectors", "holder-3") | lose("walks", "holder-1") | lose("walks", "holder-2", attempt=1)
    result = run(federation, federation.holders(gone=gone), tmp_path / "run", CHOSEN)
    assert result.statistics["lost"] == {
        "holder-3": "vectors: gone", "holder-1": "walks: gone", "holder-2": "walks: gone"
    }  # fmt: skip
    assert result.embedding.nodes.tolist() == living(federation, graph, "holder-1", "holder-2", "holder-3")
    walks = result.statistics["walks"]
    assert walks["finished"] + walks["lost"] == walks["asked"]
    assert walks["started"] == walks["asked"] + walks["reissued"]


def test_a_run_that_loses_all_holders_ends_with_the_reasons(federation: InProcessFederation, tmp_path: Path) -> None:
    gone = {("walks", 0, name): 2 for name in NAMES}
    with pytest.raises(ProtocolError, match=r"no walk was finished: holder-0 \(walks: gone\); holder-1"):
        federation.run(federation.holders(gone=gone), Settings(**CHOSEN), tmp_path / "run")


def test_a_run_that_loses_its_last_holder_after_some_walks_ends_with_the_reasons(
    federation: InProcessFederation, tmp_path: Path
) -> None:
    gone = lose("walks", "holder-0") | {("walks", 1, name): 2 for name in NAMES[1:]}
    with pytest.raises(ProtocolError, match="0 devices are left"):
        federation.run(federation.holders(gone=gone), Settings(**CHOSEN), tmp_path / "run")


def test_a_run_with_too_few_devices_stops_before_anything_more_is_asked(
    federation: InProcessFederation, tmp_path: Path
) -> None:
    channel = federation.holders(gone={("vectors", 0, name): 0 for name in NAMES})
    with pytest.raises(ProtocolError, match=r"0 devices are left .*an embedding needs at least 2"):
        federation.run(channel, Settings(**CHOSEN), tmp_path / "run")
    assert channel.phases() == ["roll", "vectors"]


SPOILED: dict[str, Any] = {
    "roll": lambda fields: {**fields, "devices": fields["devices"] + np.int32(1)},
    "vectors": lambda fields: {**fields, "vectors": fields["vectors"] * np.float32(np.nan)},
    "matrices": lambda fields: {**fields, "starts": fields["starts"][:-1]},
    "walks": lambda fields: {**fields, "entries": fields["entries"][:, :-1]},
    "reports": lambda fields: {**fields, "ids": fields["ids"] + np.int32(1)},
}


def spoil(phase: str, holder: str) -> Any:
    """An honest holder's answer, spoiled in one phase."""

    def change(now: str, attempt: int, name: str, fields: Fields) -> Fields:
        return SPOILED[phase](fields) if (now, attempt, name) == (phase, 0, holder) else fields

    return change


@pytest.mark.parametrize(
    ("phase", "chosen"), [*((phase, CHOSEN) for phase in PAPER_PHASES), ("roll", LDP), ("reports", LDP)]
)
def test_a_spoiled_answer_costs_the_run_no_more_than_no_answer(
    federation: InProcessFederation, phase: str, chosen: dict[str, Any], tmp_path: Path
) -> None:
    chosen = {**chosen, "embed": "skipgram"}
    refused = run(federation, federation.holders(spoil=spoil(phase, "holder-1")), tmp_path / "refused", chosen)
    missing = run(
        federation, federation.holders(gone=lose(phase, "holder-1", rounds=10**6)), tmp_path / "missing", chosen
    )
    assert list(refused.statistics["invalid"]) == ["holder-1"]
    assert refused.statistics["invalid"]["holder-1"].startswith(f"{phase}: ")
    assert missing.statistics["invalid"] == {}
    for result in (refused, missing):
        result.record["federation"] |= {"lost": {}, "invalid": {}, "unreachable": {}}
    assert same(refused, missing)


def test_huge_numbers_from_one_holder_do_not_stop_the_others(federation: InProcessFederation, tmp_path: Path) -> None:
    def change(phase: str, attempt: int, name: str, fields: Fields) -> Fields:
        vast = {"vectors": fields["vectors"] + np.float32(1e30)} if phase == "vectors" and name == "holder-3" else {}
        return {**fields, **vast}

    result = run(federation, federation.holders(spoil=change), tmp_path / "run", CHOSEN)
    assert list(result.statistics["lost"]) == list(result.statistics["invalid"]) == ["holder-3"]


@pytest.mark.parametrize("phase", LDP_PHASES)
def test_ldp_goes_on_without_a_holder(
    federation: InProcessFederation, graph: Graph, phase: str, tmp_path: Path
) -> None:
    record = federation.run(federation.holders(gone=lose(phase, "holder-1")), Settings(**LDP), tmp_path / "run")
    embedding = Embedding.load(tmp_path / "run" / "embedding.npz")
    assert embedding.nodes.tolist() == living(federation, graph, "holder-1")
    assert record["federation"]["lost"] == {"holder-1": f"{phase}: gone"}
    assert np.isfinite(embedding.vectors).all()
    assert record["messages"]["reports"]["count"] == len(embedding.nodes)


def test_a_holder_that_does_not_agree_is_left_out_with_its_reason(
    unseeded: InProcessFederation, tmp_path: Path
) -> None:
    settings = unseeded.folders["holder-2"].settings_file
    text = settings.read_text(encoding="utf-8")
    settings.write_text(text.replace('"paper",', ""), encoding="utf-8")
    assert unseeded.folders["holder-2"].settings().terms.protocols == ("ldp",)
    record = unseeded.run(unseeded.holders(), Settings(**CHOSEN), tmp_path / "run")
    assert record["federation"]["lost"]["holder-2"].startswith("roll: refused: protocol 'paper': the owner")
    assert record["federation"]["invalid"] == {}


def test_a_holder_without_an_address_is_embedded_by_ldp_and_left_out_of_paper(
    unseeded: InProcessFederation, graph: Graph, tmp_path: Path
) -> None:
    holders = [replace(one, address="" if one.name == NAMES[1] else one.address) for one in unseeded.roster.holders]
    federation = replace(unseeded, roster=replace(unseeded.roster, holders=tuple(holders)))
    record = federation.run(federation.holders(), Settings(**LDP), tmp_path / "ldp")
    assert record["federation"]["lost"] == {}
    record = federation.run(federation.holders(), Settings(**CHOSEN), tmp_path / "paper")
    assert list(record["federation"]["lost"]) == [NAMES[1]]
    assert record["federation"]["walks"]["finished"] > 0


def test_an_error_in_a_holder_reveals_nothing_of_its_neighbours_to_the_server(
    unseeded: InProcessFederation, tmp_path: Path
) -> None:
    (unseeded.folders["holder-0"].path / "neighbours.adj").write_text("ann bob\nann cyd\n", encoding="utf-8")
    record = unseeded.run(unseeded.holders(), Settings(**CHOSEN), tmp_path / "run")
    assert record["federation"]["lost"] == {
        "holder-0": "roll: refused: an error in the holder; its own log has the details"
    }


@pytest.mark.parametrize(
    ("phase", "chosen"), [*((phase, CHOSEN) for phase in PAPER_PHASES), ("roll", LDP), ("reports", LDP)]
)
def test_an_interrupted_run_is_resumed_to_the_same_result(
    federation: InProcessFederation, phase: str, chosen: dict[str, Any], tmp_path: Path
) -> None:
    chosen = {**chosen, "embed": "skipgram"}
    with pytest.raises(BrokenOffError):
        federation.run(federation.holders(stop_at=phase), Settings(**chosen), tmp_path / "run")
    channel = federation.holders()
    resumed = run(federation, channel, tmp_path / "run", chosen, resume=True)
    phases = PAPER_PHASES if "protocol" not in chosen else LDP_PHASES
    assert channel.phases() == phases[phases.index(phase) :]
    assert same(resumed, run(federation, federation.holders(), tmp_path / "whole", chosen))


def answers(federation: InProcessFederation) -> dict[str, bytes]:
    """Every answer on the holders' disks, less the walks, and the state of their devices."""
    return {
        f"{name}/{path.name}": path.read_bytes()
        for name, folder in federation.folders.items()
        for path in sorted(folder.answer_store.rglob("*"))
        if path.is_file() and path.name != "lock" and not path.name.startswith("walks")
    }


@pytest.mark.parametrize(
    ("phase", "chosen"), [("vectors", CHOSEN), ("matrices", CHOSEN), ("walks", CHOSEN), ("reports", LDP)]
)
def test_no_noise_is_drawn_twice_when_the_server_is_restarted(
    unseeded: InProcessFederation, phase: str, chosen: dict[str, Any], tmp_path: Path
) -> None:
    with pytest.raises(BrokenOffError):
        unseeded.run(unseeded.holders(stop_at=phase), Settings(**chosen), tmp_path / "run")
    before = answers(unseeded)
    assert any(name.partition("/")[2].startswith(phase) for name in before) or phase == "walks"
    channel = unseeded.holders()
    result = unseeded.run(channel, Settings(**chosen), tmp_path / "run", resume=True)
    after = answers(unseeded)
    assert {name: after[name] for name in before} == before
    assert channel.phases()[0] == phase
    assert result["federation"]["lost"] == {}


def test_walks_that_were_finished_before_the_server_died_are_not_walked_again(
    unseeded: InProcessFederation, tmp_path: Path
) -> None:
    with pytest.raises(BrokenOffError):
        unseeded.run(unseeded.holders(stop_at="walks"), Settings(**CHOSEN), tmp_path / "run")
    kept = {
        path: path.read_bytes() for folder in unseeded.folders.values() for path in folder.answer_store.rglob("walks*")
    }
    assert len(kept) == 4
    result = run(unseeded, unseeded.holders(), tmp_path / "run", CHOSEN, resume=True)
    assert {path: path.read_bytes() for path in kept} == kept
    walks = result.statistics["walks"]
    assert walks["finished"] == walks["asked"] == walks["started"]


def test_a_restarted_server_knows_which_holders_were_lost(federation: InProcessFederation, tmp_path: Path) -> None:
    gone = lose("vectors", "holder-2")
    with pytest.raises(BrokenOffError):
        federation.run(federation.holders(gone=gone, stop_at="walks"), Settings(**CHOSEN), tmp_path / "run")
    channel = federation.holders()
    resumed = run(federation, channel, tmp_path / "run", CHOSEN, resume=True)
    assert all("holder-2" not in questions for _, questions in channel.asked)
    assert same(resumed, run(federation, federation.holders(gone=gone), tmp_path / "whole", CHOSEN))


def test_resuming_with_other_settings_or_other_members_is_refused(
    federation: InProcessFederation, tmp_path: Path
) -> None:
    with pytest.raises(BrokenOffError):
        federation.run(federation.holders(stop_at="matrices"), Settings(**CHOSEN), tmp_path / "run")
    with pytest.raises(RunFolderError, match="walks = 3, now it is 4"):
        federation.run(federation.holders(), Settings(**{**CHOSEN, "num_walks": 4}), tmp_path / "run", resume=True)
    other = make_in_process_federation(tmp_path / "other", load_graph([(1, 2), (2, 3), (3, 4)]), 2, SEED)
    with pytest.raises(RunFolderError, match="began with another graph"):
        other.run(other.holders(), Settings(**CHOSEN), tmp_path / "run", resume=True)


def test_a_new_run_takes_nothing_over_from_an_earlier_one_in_its_folder(
    federation: InProcessFederation, tmp_path: Path
) -> None:
    with pytest.raises(BrokenOffError):
        federation.run(
            federation.holders(gone=lose("roll", "holder-1"), stop_at="vectors"), Settings(**CHOSEN), tmp_path / "run"
        )
    # As an interrupt in the middle of clearing up would leave it.
    (tmp_path / "run" / "stages" / "manifest.json").unlink()
    result = run(federation, federation.holders(), tmp_path / "run", CHOSEN, resume=True)
    assert result.statistics["lost"] == {}


@pytest.mark.parametrize(
    ("chosen", "problem"),
    [({"protocol": "deepwalk"}, "a federation runs paper or ldp"), ({"protocol": "ldp", "budget": 5.0}, "budget: in")],
)
def test_settings_that_only_a_simulation_supports_are_refused(
    federation: InProcessFederation, chosen: dict[str, Any], problem: str, tmp_path: Path
) -> None:
    channel = federation.holders()
    with pytest.raises(SettingsError, match=problem):
        federation.run(channel, Settings(**chosen), tmp_path / "run")
    assert channel.asked == []
    assert not (tmp_path / "run").exists()


def test_a_holders_budget_refuses_a_second_ldp_run_and_the_rest_goes_on(
    unseeded: InProcessFederation, tmp_path: Path
) -> None:
    settings = unseeded.folders["holder-1"].settings_file
    settings.write_text(settings.read_text(encoding="utf-8") + "budget = 6.0\n", encoding="utf-8")
    assert unseeded.folders["holder-1"].settings().terms.budget == 6.0
    first = unseeded.run(unseeded.holders(), Settings(**LDP), tmp_path / "first")
    again = unseeded.run(unseeded.holders(), Settings(**{**LDP, "epsilon": 3.0}), tmp_path / "again")
    assert first["federation"]["lost"] == {}
    assert "of the budget of 6" in again["federation"]["lost"]["holder-1"]
    assert again["federation"]["embedded"] == 35 - len(unseeded.devices("holder-1"))


def test_the_same_question_in_another_ldp_run_gets_the_same_reports(
    unseeded: InProcessFederation, tmp_path: Path
) -> None:
    results = [unseeded.run(unseeded.holders(), Settings(**LDP), tmp_path / name) for name in "ab"]
    assert results[0]["federation"]["run"] != results[1]["federation"]["run"]
    assert (tmp_path / "a" / "embedding.npz").read_bytes() == (tmp_path / "b" / "embedding.npz").read_bytes()


def test_reports_among_the_present_vertices_are_renumbered() -> None:
    reports = Reports(np.array([0, 2, 3, 3, 4]), np.array([1, 3, 2, 0], np.int32))
    left = among(reports, np.array([True, False, True, True]))
    assert left.starts.tolist() == [0, 1, 1, 2]
    assert left.ids.tolist() == [2, 0]


def test_a_failure_that_flower_reports_is_a_loss_and_not_a_refusal(
    federation: InProcessFederation, tmp_path: Path
) -> None:
    def change(phase: str, attempt: int, name: str, fields: Fields) -> Any:
        return Failure("Flower: node unavailable") if (phase, name) == ("matrices", "holder-3") else fields

    record = federation.run(federation.holders(spoil=change), Settings(**CHOSEN), tmp_path / "run")
    assert record["federation"]["lost"] == {"holder-3": "matrices: Flower: node unavailable"}
    assert record["federation"]["invalid"] == {}


def test_the_store_keeps_the_neighbours_of_the_roll_call_for_the_whole_run(
    federation: InProcessFederation, tmp_path: Path
) -> None:
    record = federation.run(federation.holders(), Settings(**CHOSEN), tmp_path / "run")
    with AnswerStore(federation.folders["holder-0"].answer_store).locked(5) as store:
        neighbours = store.snapshot(record["federation"]["run"])
    assert neighbours is not None
    assert neighbours.devices.tolist() == federation.devices("holder-0")
