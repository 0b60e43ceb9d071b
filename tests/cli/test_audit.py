"""`fedwalk audit`: a run or a graph in, a table of attacks and the measured epsilon out."""

import json
from pathlib import Path

import pytest

from conftest import SETTINGS, SMALL, Command
from fedwalk import audit
from fedwalk.cli.audit import CANARIES, REPEATS
from fedwalk.graph import Graph
from fedwalk.run.execute import embed_to_folder
from fedwalk.settings import Settings

QUICK = ("--canaries", "800", "--repeats", "100")


@pytest.fixture
def run(network: Graph, network_file: Path, tmp_path: Path) -> Path:
    embed_to_folder(network, Settings(**SETTINGS), tmp_path / "run", inputs={"graph": str(network_file)})
    return tmp_path / "run"


def test_the_flags_offer_the_counts_of_the_library() -> None:
    assert (CANARIES, REPEATS) == (audit.CANARIES, audit.REPEATS)


def test_a_run_is_audited_with_its_own_settings_and_keeps_the_findings(
    fedwalk: Command, run: Path, network: Graph, network_file: Path
) -> None:
    outcome = fedwalk("audit", run, *QUICK)
    assert outcome.code == 0
    record = json.loads((run / "audit.json").read_text(encoding="utf-8"))
    assert record["settings"]["seed"] == SETTINGS["seed"]
    assert record["input"] == {"graph": str(network_file), "format": None}
    assert record["graph"]["fingerprint"] == network.fingerprint()
    lines = outcome.out.splitlines()
    # The table's title is wrapped if the path is long.
    assert "".join(outcome.out.split()).startswith(f"paper:{run}")
    assert any(line.startswith("matrix rows") and "100% of edges, 100% right" in line for line in lines)
    assert "unbounded" in outcome.out
    assert f"{run / 'audit.json'}" in outcome.out.replace("\n", "")
    assert "traffic" in outcome.err


def test_a_graph_is_audited_with_flags_and_leaves_a_file_where_one_is_named(
    fedwalk: Command, network_file: Path, tmp_path: Path
) -> None:
    file = tmp_path / "audit.json"
    flags = ("--protocol", "ldp", "--epsilon", 3, *SMALL, *QUICK)
    outcome = fedwalk("audit", network_file, *flags, "-o", file, "--json")
    assert (outcome.code, outcome.out) == (0, file.read_text(encoding="utf-8"))
    record = json.loads(outcome.out)
    assert (record["protocol"], record["settings"]["epsilon"], record["epsilon"]["ledger"]) == ("ldp", 3.0, 3.0)
    (canaries,) = (finding for finding in record["findings"] if finding["attack"] == "canaries")
    assert canaries["success"]["guesses"] == 800
    assert sorted(path.name for path in tmp_path.iterdir()) == ["audit.json"]


def test_a_protocol_without_an_epsilon_says_so(fedwalk: Command, network_file: Path) -> None:
    outcome = fedwalk("audit", network_file, "--protocol", "deepwalk", *SMALL)
    assert outcome.code == 0
    assert "not measured" in outcome.out


def test_a_run_may_be_told_where_its_graph_lies_now(
    fedwalk: Command, run: Path, network_file: Path, tmp_path: Path
) -> None:
    moved = tmp_path / "moved.edges"
    moved.write_bytes(network_file.read_bytes())
    outcome = fedwalk("audit", run, "--graph", moved, "--threads", 1, "-o", tmp_path / "there.json", *QUICK)
    assert outcome.code == 0
    assert json.loads((tmp_path / "there.json").read_text(encoding="utf-8"))["input"]["graph"] == str(moved)
    assert not (run / "audit.json").exists()


@pytest.mark.parametrize(
    ("flags", "part"),
    [
        (("--epsilon", 4), "--epsilon: "),
        (("--walk-length", 4), "--walk-length: "),
        (("--preset", "frugal"), "--preset: "),
        (("--graph", "no.edges"), "no.edges: no such file"),
        (("--canaries", 0), "canaries = 0: must be at least 1."),
        (("--threads", 0), "threads = 0: "),
        (("-o", "no/such/folder/audit.json"), "no/such/folder/audit.json: can't be a file."),
    ],
)
def test_bad_input_is_one_line(flags: tuple[object, ...], part: str, fedwalk: Command, run: Path) -> None:
    outcome = fedwalk("audit", run, *flags)
    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err.splitlines()[-1].startswith("fedwalk: error: ")
    assert part in outcome.err


def test_another_graph_than_the_runs_is_refused(fedwalk: Command, run: Path, tmp_path: Path) -> None:
    (tmp_path / "other.edges").write_text("0 1\n1 2\n", encoding="utf-8")
    outcome = fedwalk("audit", run, "--graph", tmp_path / "other.edges")
    assert outcome.code == 2
    assert "isn't the graph of this run" in outcome.err
    assert "Give the graph that was embedded." in outcome.err


def test_a_graph_beside_a_graph_is_refused(fedwalk: Command, network_file: Path) -> None:
    outcome = fedwalk("audit", network_file, "--graph", network_file)
    assert outcome.code == 2
    assert "--graph can only be used with a run folder" in outcome.err


def test_a_run_that_does_not_name_its_graph_asks_for_it(fedwalk: Command, network: Graph, tmp_path: Path) -> None:
    embed_to_folder(network, Settings(**SETTINGS), tmp_path / "run")
    outcome = fedwalk("audit", tmp_path / "run")
    assert outcome.code == 2
    assert "Give it with --graph." in outcome.err


def test_the_help_teaches(fedwalk: Command) -> None:
    told = fedwalk("audit", "--help").out
    for word in ("RUN|GRAPH", "--canaries", "--repeats", "--epsilon", "95% confidence"):
        assert word in told
