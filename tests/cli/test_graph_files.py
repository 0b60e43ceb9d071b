"""Graph files on the command line: the columns of a table, labels from attributes, and unreadable files."""

import json
from pathlib import Path

import networkx as nx
import pytest

from conftest import SMALL, Command
from fedwalk.embedding import Embedding

COLUMNS = ("--source", "caller", "--target", "callee", "--weight", "minutes")


@pytest.fixture
def calls(tmp_path: Path) -> Path:
    path = tmp_path / "calls.csv"
    pairs = nx.karate_club_graph().edges
    path.write_text(
        "id,caller,callee,minutes\n" + "".join(f"{n},{u},{v},{n % 5 + 1}\n" for n, (u, v) in enumerate(pairs))
    )
    return path


def test_chosen_columns_are_recorded_and_used_again(fedwalk: Command, calls: Path, tmp_path: Path) -> None:
    first, again = tmp_path / "first", tmp_path / "again"
    assert fedwalk("embed", calls, "-o", first, *SMALL, *COLUMNS).code == 0
    recorded = json.loads((first / "run.json").read_text(encoding="utf-8"))["input"]
    assert {name: recorded[name] for name in ("source", "target", "weight")} == {
        "source": "caller", "target": "callee", "weight": "minutes",
    }  # fmt: skip
    assert fedwalk("embed", "--config", first / "settings.toml", "-o", again).code == 0
    vectors = [Embedding.load(run / "embedding.npz").vectors for run in (first, again)]
    assert vectors[0].tobytes() == vectors[1].tobytes()
    assert fedwalk("report", first, "-o", tmp_path / "report.html").code == 0
    labels = tmp_path / "labels.txt"
    labels.write_text("".join(f"{vertex} {vertex % 2}\n" for vertex in range(34)))
    flags = ("--labels", labels, "--train-ratio", 0.5, "--splits", 2)
    assert fedwalk("evaluate", first, "--graph", calls, *COLUMNS, *flags).code == 0


def test_the_same_file_with_other_weights_is_another_graph(fedwalk: Command, calls: Path, tmp_path: Path) -> None:
    assert fedwalk("embed", calls, "-o", tmp_path / "run", *SMALL, *COLUMNS).code == 0
    labels = tmp_path / "labels.txt"
    labels.write_text("".join(f"{vertex} {vertex % 2}\n" for vertex in range(34)))
    outcome = fedwalk("evaluate", tmp_path / "run", "--graph", calls, "--labels", labels, *COLUMNS[:4])
    assert outcome.code == 2
    assert "It was read with --source caller --target callee --weight minutes." in outcome.err


def test_a_table_without_known_columns_says_which_flags_choose_them(
    fedwalk: Command, calls: Path, tmp_path: Path
) -> None:
    outcome = fedwalk("embed", calls, "-o", tmp_path / "run", *SMALL)
    assert outcome.code != 0
    assert "--source and --target" in outcome.err


def test_labels_can_be_a_node_attribute(fedwalk: Command, tmp_path: Path) -> None:
    path = tmp_path / "karate.graphml"
    nx.write_graphml(nx.karate_club_graph(), path)
    assert fedwalk("embed", path, "-o", tmp_path / "run", *SMALL).code == 0
    flags = ("--labels", "attribute:club", "--train-ratio", 0.5, "--splits", 2)
    assert fedwalk("evaluate", tmp_path / "run", "--graph", path, *flags).code == 0
    assert "'team'" in fedwalk("evaluate", tmp_path / "run", "--graph", path, "--labels", "attribute:team").err
