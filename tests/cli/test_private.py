"""`fedwalk embed --protocol ldp`: the ledger on screen, on disk and over several runs, and the budget that refuses."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from conftest import SMALL, Command
from fedwalk.util.files import is_locked, try_lock

PRIVATE = ("--protocol", "ldp", "--epsilon", "3")


def record(run: Path) -> dict[str, Any]:
    content: dict[str, Any] = json.loads((run / "run.json").read_text())
    return content


def test_a_private_run_prints_its_ledger_and_says_simulation(
    fedwalk: Command, network_file: Path, tmp_path: Path
) -> None:
    outcome = fedwalk("embed", network_file, "-o", tmp_path / "run", *SMALL, *PRIVATE)
    assert outcome.code == 0
    printed = " ".join(outcome.out.split())
    assert "report of owned pairs 1 one edge 3 3" in printed
    assert "Total: 3 per edge, 3 per device (one entry of its neighbour list)." in printed
    assert "simulation" in printed
    content = record(tmp_path / "run")
    assert content["ledger"]["per_edge"] == 3.0
    assert (content["simulation"], content["nominal_epsilon"]) == (True, None)
    assert content["messages"]["reports"]["count"] == content["graph"]["vertices"]
    assert content["messages"].keys() == {"report plan", "reports"}
    with np.load(tmp_path / "run" / "embedding.npz") as arrays:
        assert str(arrays["origin"]) == "simulation"
    assert (tmp_path / "run" / "settings.toml").read_text().startswith("# A simulation")
    assert not (tmp_path / "run" / "tree.npz").exists()


def test_the_papers_ledger_says_unbounded_and_never_dp(fedwalk: Command, network_file: Path, tmp_path: Path) -> None:
    outcome = fedwalk("embed", network_file, "-o", tmp_path / "run", *SMALL)
    assert "Total: unbounded per edge, unbounded per device" in " ".join(outcome.out.split())
    assert "degree vector 1 one neighbour list entry 2 (nominal) 4 (nominal)" in " ".join(outcome.out.split())
    assert "Degree matrix, by each device: its rows are the neighbours' broadcast vectors" in " ".join(
        outcome.out.split()
    )
    assert "ε-DP" not in outcome.out
    assert "differential" not in outcome.out
    ledger = record(tmp_path / "run")["ledger"]
    assert (ledger["per_edge"], ledger["per_device"]) == ("unbounded", "unbounded")
    assert [entry["epsilon"] for entry in ledger["releases"].values()] == [2.0] + 4 * ["unbounded"]


def test_runs_over_the_same_devices_add_up_until_the_budget_is_spent(
    fedwalk: Command, network_file: Path, tmp_path: Path
) -> None:
    ledger = tmp_path / "devices.json"
    kept = (*PRIVATE, "--budget", "7", "--ledger", ledger)
    assert fedwalk("embed", network_file, "-o", tmp_path / "a", *SMALL, *kept).code == 0
    assert fedwalk("embed", network_file, "-o", tmp_path / "b", *SMALL, *kept, "--seed", "1").code == 0
    assert json.loads(ledger.read_text())["per_edge"] == 6.0
    before = ledger.read_bytes()
    outcome = fedwalk("embed", network_file, "-o", tmp_path / "c", *SMALL, *kept, "--seed", "2")
    assert outcome.code == 2
    assert "costs 3 per edge, and 6 of the budget of 7 are spent. Nothing was sent." in outcome.err
    assert ledger.read_bytes() == before
    assert not (tmp_path / "c" / "run.json").exists()


def test_the_same_run_again_costs_nothing(fedwalk: Command, network_file: Path, tmp_path: Path) -> None:
    kept = (*PRIVATE, "--budget", "3", "--ledger", tmp_path / "devices.json")
    for name in ("a", "b"):
        assert fedwalk("embed", network_file, "-o", tmp_path / name, *SMALL, *kept).code == 0
    more_walks = ("--embed", "skipgram", "--num-walks", "9")
    assert fedwalk("embed", network_file, "-o", tmp_path / "c", *SMALL, *kept, *more_walks).code == 0
    assert record(tmp_path / "c")["ledger"]["per_edge"] == 3.0
    assert record(tmp_path / "c")["walks"]["count"] > 0


def test_resuming_a_finished_run_enters_it_and_sends_nothing(
    fedwalk: Command, network_file: Path, tmp_path: Path
) -> None:
    ledger = tmp_path / "devices.json"
    arguments = ("embed", network_file, "-o", tmp_path / "run", *SMALL, *PRIVATE)
    assert fedwalk(*arguments).code == 0
    assert fedwalk(*arguments, "--resume", "--ledger", ledger, "--budget", "1").code == 0
    entered = json.loads(ledger.read_text())
    assert (entered["per_edge"], entered["simulation"]) == (3.0, True)
    assert not is_locked(ledger.with_name("devices.json.lock"))


def test_a_ledger_behind_a_link_is_the_ledger(fedwalk: Command, network_file: Path, tmp_path: Path) -> None:
    (tmp_path / "link.json").symlink_to(tmp_path / "devices.json")
    kept = (*PRIVATE, "--ledger", tmp_path / "link.json")
    assert fedwalk("embed", network_file, "-o", tmp_path / "run", *SMALL, *kept).code == 0
    assert json.loads((tmp_path / "devices.json").read_text())["per_edge"] == 3.0
    assert (tmp_path / "link.json").is_symlink()


@pytest.mark.parametrize("name", ["run/run.json", "run/embedding.npz", "run/stages/ledger.json", "nowhere/ledger.json"])
def test_a_ledger_that_the_run_would_overwrite_is_refused(
    name: str, fedwalk: Command, network_file: Path, tmp_path: Path
) -> None:
    outcome = fedwalk("embed", network_file, "-o", tmp_path / "run", *SMALL, *PRIVATE, "--ledger", tmp_path / name)
    assert outcome.code == 2
    assert name in outcome.err
    assert not (tmp_path / "run" / "run.json").exists()


def test_two_runs_do_not_write_one_ledger_at_once(
    fedwalk: Command, network_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fedwalk.run.ledger_file.LOCK_TIMEOUT", 0.0)
    kept = (*PRIVATE, "--ledger", tmp_path / "devices.json")
    with try_lock(tmp_path / "devices.json.lock"):
        outcome = fedwalk("embed", network_file, "-o", tmp_path / "run", *SMALL, *kept)
    assert outcome.code == 2
    assert "another run has been writing it" in outcome.err


def test_a_lock_file_that_a_dead_run_left_behind_stops_no_other(
    fedwalk: Command, network_file: Path, tmp_path: Path
) -> None:
    (tmp_path / "devices.json.lock").touch()
    kept = (*PRIVATE, "--ledger", tmp_path / "devices.json")
    assert fedwalk("embed", network_file, "-o", tmp_path / "run", *SMALL, *kept).code == 0


@pytest.mark.parametrize("budget", [0.5, 3, 1000])
def test_no_budget_allows_the_papers_protocol(
    budget: float, fedwalk: Command, network_file: Path, tmp_path: Path
) -> None:
    outcome = fedwalk("embed", network_file, "-o", tmp_path / "run", *SMALL, "--budget", budget)
    assert outcome.code == 2
    assert "the privacy loss of protocol paper is unbounded whatever epsilon is" in outcome.err
    assert "Use a protocol with proved privacy (ldp), or leave out --budget." in outcome.err
    # A smaller epsilon helps only where epsilon bounds something.
    assert "smaller" not in outcome.err


def test_a_smaller_epsilon_is_advised_where_it_helps(fedwalk: Command, network_file: Path, tmp_path: Path) -> None:
    private = ("--protocol", "ldp", "--epsilon", 4)
    outcome = fedwalk("embed", network_file, "-o", tmp_path / "run", *SMALL, *private, "--budget", 3)
    assert outcome.code == 2
    assert "costs 4 per edge, and 0 of the budget of 3 are spent" in outcome.err
    assert "Use a smaller epsilon" in outcome.err


def test_a_baseline_without_epsilon_is_refused_without_naming_it(
    fedwalk: Command, network_file: Path, tmp_path: Path
) -> None:
    outcome = fedwalk("embed", network_file, "-o", tmp_path / "run", *SMALL, "--protocol", "deepwalk", "--budget", 3)
    assert "the privacy loss of protocol deepwalk is unbounded (the graph itself: " in outcome.err
    assert "epsilon" not in outcome.err


@pytest.mark.parametrize("content", ["", "{", "[]", '{"releases": 3}', '{"releases": {"a": {}}}'])
def test_a_damaged_ledger_is_never_taken_for_an_empty_one(
    content: str, fedwalk: Command, network_file: Path, tmp_path: Path
) -> None:
    (tmp_path / "devices.json").write_text(content)
    kept = (*PRIVATE, "--ledger", tmp_path / "devices.json")
    outcome = fedwalk("embed", network_file, "-o", tmp_path / "run", *SMALL, *kept)
    assert outcome.code == 2
    assert "devices.json" in outcome.err
    assert (tmp_path / "devices.json").read_text() == content
