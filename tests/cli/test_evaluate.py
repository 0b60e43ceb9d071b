"""`fedwalk evaluate`: a run folder, a graph and labels in, F1 out."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from conftest import SETTINGS, Command
from fedwalk import Embedding, FedWalk, evaluate
from fedwalk.cli.evaluate import parse_ratios
from fedwalk.errors import SettingsError
from fedwalk.graph import Graph
from fedwalk.run.execute import embed_to_folder
from fedwalk.settings import Settings


@pytest.fixture(scope="module")
def run(network: Graph, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("evaluate") / "run"
    embed_to_folder(network, Settings(**SETTINGS), path)
    return path


def test_json_holds_the_scores_of_the_library(
    fedwalk: Command, run: Path, network: Graph, network_file: Path, labels_file: Path
) -> None:
    flags = ("--train-ratio", "0.3,0.6", "--splits", 4, "--seed", 2, "--rule", "threshold", "--threads", 1)
    outcome = fedwalk("evaluate", run, "--graph", network_file, "--labels", labels_file, *flags, "--json")
    assert outcome.code == 0
    record = json.loads(outcome.out)
    assert (record["rule"], record["splits"], record["seed"]) == ("threshold", 4, 2)
    embedding = FedWalk(**SETTINGS).fit_transform(network)
    expected = evaluate(embedding, network, train_ratios=(0.3, 0.6), splits=4, seed=2, rule="threshold")
    for given, score in zip(record["scores"], expected, strict=True):
        assert given["train_ratio"] == score.train_ratio
        for name in ("micro_f1", "micro_f1_std", "macro_f1", "macro_f1_std"):
            assert given[name] == pytest.approx(getattr(score, name), abs=1e-12)


def test_a_table_has_a_row_per_ratio(fedwalk: Command, run: Path, network_file: Path, labels_file: Path) -> None:
    flags = ("--train-ratio", "0.5,0.9", "--splits", 2)
    outcome = fedwalk("evaluate", run, "--graph", network_file, "--labels", labels_file, *flags)
    rows = [line.split() for line in outcome.out.splitlines() if "±" in line]
    assert [row[0] for row in rows[:2]] == ["0.5", "0.9"]
    assert "known-count" in outcome.out
    assert outcome.err.split()[0] == "evaluate"


def test_one_split_is_printed_without_a_deviation(
    fedwalk: Command, run: Path, network_file: Path, labels_file: Path
) -> None:
    one = ("evaluate", run, "--graph", network_file, "--labels", labels_file, "--train-ratio", "0.5", "--splits", 1)
    table = fedwalk(*one, "--baseline", run).out
    assert "±" not in table
    assert table.count("one split; labels predicted by the rule known-count") == 2
    (score,) = json.loads(fedwalk(*one, "--json").out)["scores"]
    assert (score["micro_f1_std"], score["macro_f1_std"]) == (None, None)
    assert f"{score['micro_f1']:.4f}" in table


def test_an_embedding_file_is_accepted_instead_of_a_run(
    fedwalk: Command, run: Path, network_file: Path, labels_file: Path
) -> None:
    flags = ("--graph", network_file, "--labels", labels_file, "--train-ratio", "0.5", "--splits", 2, "--json")
    from_file, from_folder = (fedwalk("evaluate", path, *flags) for path in (run / "embedding.npz", run))
    assert json.loads(from_file.out) == json.loads(from_folder.out)


def test_unknown_vertices_in_the_labels_are_skipped_with_a_note(
    fedwalk: Command, run: Path, network_file: Path, labels_file: Path, tmp_path: Path
) -> None:
    more = tmp_path / "labels.txt"
    more.write_text(labels_file.read_text() + "stranger community-0\n")
    flags = ("--train-ratio", "0.5", "--splits", 1, "--json")
    outcome = fedwalk("evaluate", run, "--graph", network_file, "--labels", more, *flags)
    assert outcome.code == 0
    assert "fedwalk: note:" in outcome.err
    assert "'stranger'" in outcome.err


@pytest.mark.parametrize(
    ("flags", "part"),
    [
        (("--train-ratio", "0"), "train-ratio"),
        (("--train-ratio", "0.5,1"), "train-ratio"),
        (("--train-ratio", "nan"), "train-ratio"),
        (("--train-ratio", "half"), "expected numbers separated by commas"),
        (("--train-ratio", ""), "expected numbers separated by commas"),
        (("--splits", 0), "splits = 0"),
        (("--seed", -1), "seed = -1"),
        (("--threads", 0), "threads = 0"),
        (("--labels", "no.txt"), "no.txt"),
    ],
)
def test_bad_input_is_one_line(
    flags: tuple[object, ...], part: str, fedwalk: Command, run: Path, network_file: Path, labels_file: Path
) -> None:
    outcome = fedwalk("evaluate", run, "--graph", network_file, "--labels", labels_file, *flags)
    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err.splitlines()[-1].startswith("fedwalk: error: ")
    assert part in outcome.err


def test_missing_labels_runs_and_graphs_are_named(
    fedwalk: Command, run: Path, network_file: Path, labels_file: Path, tmp_path: Path
) -> None:
    assert "the graph has no labels" in fedwalk("evaluate", run, "--graph", network_file).err
    assert "embedding.npz: no such file" in fedwalk("evaluate", tmp_path, "--graph", network_file).err
    assert "no such file" in fedwalk("evaluate", run, "--graph", "no.edges").err
    labels = tmp_path / "labels.txt"
    labels.write_text("x red\ny blue\n")
    outcome = fedwalk("evaluate", run, "--graph", network_file, "--labels", labels)
    assert outcome.code == 2
    assert "none of its vertices is in the graph" in outcome.err


def test_an_embedding_of_another_graph_is_noticed(
    fedwalk: Command, network_file: Path, labels_file: Path, tmp_path: Path
) -> None:
    Embedding(["a", "b"], [[0.0, 1.0], [1.0, 0.0]]).save(tmp_path / "other.npz")
    outcome = fedwalk("evaluate", tmp_path / "other.npz", "--graph", network_file, "--labels", labels_file)
    assert outcome.code == 2
    assert "60 of the graph's 60 vertices are not in the embedding" in outcome.err


def test_another_graph_with_the_same_vertices_is_refused(
    fedwalk: Command, run: Path, network_file: Path, labels_file: Path, tmp_path: Path
) -> None:
    lines = network_file.read_text().splitlines()
    shuffled, other = tmp_path / "shuffled.edges", tmp_path / "other.edges"
    shuffled.write_text("\n".join(reversed(lines)))
    flags = ("--labels", labels_file, "--splits", 2, "--train-ratio", 0.5, "--json")
    expected, same = (fedwalk("evaluate", run, "--graph", path, *flags) for path in (network_file, shuffled))
    assert json.loads(same.out)["scores"] == json.loads(expected.out)["scores"]
    other.write_text("\n".join(lines[1:]))
    outcome = fedwalk("evaluate", run, "--graph", other, *flags)
    assert outcome.code == 2
    assert "other.edges: isn't the graph of this run" in outcome.err


def test_ratios_are_numbers_separated_by_commas() -> None:
    assert parse_ratios("0.1, 0.25,.5") == [0.1, 0.25, 0.5]
    with pytest.raises(SettingsError):
        parse_ratios("0.1;0.2")


def test_a_closed_pipe_causes_no_traceback(run: Path, network_file: Path, labels_file: Path) -> None:
    arguments = ["evaluate", str(run), "--graph", str(network_file), "--labels", str(labels_file), "--splits", "1"]
    code = "import sys; from fedwalk.cli import main; sys.exit(main(sys.argv[1:]))"
    command = [sys.executable, "-c", code, *arguments, "--train-ratio", "0.5", "--json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        process.stdout.close()
        assert process.stderr is not None
        assert "Traceback" not in process.stderr.read()


def test_a_baseline_is_printed_with_the_loss(
    fedwalk: Command, run: Path, network: Graph, network_file: Path, labels_file: Path, tmp_path: Path
) -> None:
    embed_to_folder(network, Settings(**{**SETTINGS, "protocol": "deepwalk"}), tmp_path / "deepwalk")
    flags = ("--labels", labels_file, "--train-ratio", "0.5", "--splits", 2, "--baseline", tmp_path / "deepwalk")
    record = json.loads(fedwalk("evaluate", run, "--graph", network_file, *flags, "--json").out)
    ours, theirs, loss = record["scores"][0], record["baseline_scores"][0], record["losses"][0]
    assert loss["micro_f1"] == pytest.approx(theirs["micro_f1"] - ours["micro_f1"])
    assert loss["macro_f1_relative"] == pytest.approx(1 - ours["macro_f1"] / theirs["macro_f1"])
    assert "Loss compared with" in fedwalk("evaluate", run, "--graph", network_file, *flags).out
