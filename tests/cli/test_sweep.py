"""`fedwalk sweep`: every combination of the varied settings, with files, resuming, and errors before any trial runs."""

import csv
import io
import json
import re
import statistics
import subprocess
import sys
import time
from contextlib import redirect_stdout
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from conftest import SETTINGS, SMALL, Command
from fedwalk import evaluate
from fedwalk.cli import main
from fedwalk.cli import sweep as command
from fedwalk.evaluation import score_links, split_edges
from fedwalk.experiments import trials
from fedwalk.experiments.settings_sweep import definition
from fedwalk.graph import Graph, load_graph
from fedwalk.protocols import registry
from fedwalk.protocols.deepwalk.protocol import PROTOCOL as DEEPWALK
from fedwalk.run.execute import run
from fedwalk.settings import Setting, Settings

VARIED = ("--vary", "epsilon=0.5,2", "--vary", "predict=0,0.4")
QUICK = ("--num-walks", "2", "--walk-length", "8", "--dim", "4", "--threads", "1", "--splits", "1", "--no-figures")


@pytest.fixture(scope="module")
def swept(network_file: Path, labels_file: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """The folder of a sweep with two seeds, and what the command printed."""
    folder, printed = tmp_path_factory.mktemp("sweep") / "out", io.StringIO()
    arguments = ("sweep", network_file, "--labels", labels_file, *VARIED, "--seeds", 2, "-o", folder, *SMALL)
    with redirect_stdout(printed):
        assert main([str(argument) for argument in arguments]) == 0
    return folder, printed.getvalue()


def read(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


@pytest.fixture
def computed(monkeypatch: pytest.MonkeyPatch) -> list[Settings]:
    """The settings of every trial that really runs."""
    ran: list[Settings] = []

    def counting(graph: Graph, settings: Settings, *others: Any) -> Any:
        ran.append(settings)
        return run(graph, settings, *others)

    monkeypatch.setattr(trials, "run", counting)
    return ran


def test_results_are_those_of_single_runs(swept: tuple[Path, str], network_file: Path, labels_file: Path) -> None:
    graph = load_graph(network_file, labels=labels_file)
    rows = read(swept[0] / "results.csv")
    expected = [(e, p, s) for e in (0.5, 2.0) for p in (0.0, 0.4) for s in (5, 6)]
    assert [(float(row["epsilon"]), float(row["predict"]), int(row["seed"])) for row in rows] == expected
    for row, (epsilon, predict, seed) in zip(rows, expected, strict=True):
        alone = run(graph, Settings(**{**SETTINGS, "epsilon": epsilon, "predict": predict, "seed": seed}))
        (score,) = evaluate(alone.embedding, graph, train_ratios=[0.5], splits=5, threads=1)
        assert (float(row["micro_f1@0.5"]), float(row["macro_f1@0.5"])) == (score.micro_f1, score.macro_f1)
        assert float(row["hops_per_walk"]) == alone.walks.hops_per_walk
        assert int(row["messages"]) == sum(phase.count for phase in alone.stages.total().traffic.values())
        assert row["proved_epsilon"] == "unbounded"


def test_the_summary_has_means_and_sample_deviations_over_the_seeds(swept: tuple[Path, str]) -> None:
    rows, summary = read(swept[0] / "results.csv"), read(swept[0] / "summary.csv")
    assert len(summary) == 4
    for one in summary:
        group = [row for row in rows if (row["epsilon"], row["predict"]) == (one["epsilon"], one["predict"])]
        assert int(one["seeds"]) == len(group) == 2
        for name in ("micro_f1@0.5", "macro_f1@0.5", "hops_per_walk", "messages", "bytes", "seconds"):
            values = [float(row[name]) for row in group]
            assert float(one[f"{name}_mean"]) == pytest.approx(statistics.fmean(values))
            assert float(one[f"{name}_std"]) == pytest.approx(statistics.stdev(values))


def test_the_table_and_the_places_of_all_files_are_printed(swept: tuple[Path, str]) -> None:
    folder, printed = swept
    assert re.search(r"^0\.5, 0\.4 +\d+\.\d\d ± \d+\.\d\d .* unbounded$", printed, re.M)
    assert f"Page:    {folder}/index.html" in printed
    for name in ("summary.csv", "results.csv", "sweep.json"):
        assert f"{folder}/{name}" in printed
        assert (folder / name).exists()


def test_the_page_is_self_contained_and_begins_with_the_summary(swept: tuple[Path, str]) -> None:
    folder, _ = swept
    page = (folder / "index.html").read_text(encoding="utf-8")
    places = [
        page.index(part) for part in ("4 combinations × 2 seeds", "Best micro-F1 in %", "<svg", "<table", "Trials")
    ]
    assert places == sorted(places)
    assert not re.search(r"<(script|link|img|iframe)\b", page)
    assert "color-scheme: light dark" in page
    assert page.count("<svg") == len(list((folder / "figures").glob("*.svg"))) == 2
    assert "fedwalk sweep graph.edges --vary epsilon=0.5,2 --vary predict=0,0.4 --seeds 2 --labels labels.txt" in page


def test_the_record_has_every_trial_with_its_settings(swept: tuple[Path, str]) -> None:
    record = json.loads((swept[0] / "sweep.json").read_text(encoding="utf-8"))
    assert record["varied"] == {"epsilon": [0.5, 2.0], "predict": [0.0, 0.4]}
    assert record["evaluation"] == {"train_ratios": [0.5], "splits": 5, "rule": "known-count"}
    assert [trial["settings"]["seed"] for trial in record["trials"]] == [5, 6] * 4


def test_an_interrupted_sweep_continues_where_it_stopped(
    fedwalk: Command, network_file: Path, labels_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    arguments = ("sweep", network_file, "--labels", labels_file, *VARIED, "--seeds", 2, "-o", tmp_path, *QUICK)
    began: list[Settings] = []

    def third_is_interrupted(graph: Graph, settings: Settings, *others: Any) -> Any:
        began.append(settings)
        if len(began) == 3:
            raise KeyboardInterrupt
        return run(graph, settings, *others)

    monkeypatch.setattr(trials, "run", third_is_interrupted)
    stopped = fedwalk(*arguments)
    assert stopped.code == 130
    assert "Finished trials are kept: run the same command again to continue." in stopped.err
    assert not (tmp_path / "results.csv").exists()

    continued = fedwalk(*arguments)
    assert continued.code == 0
    assert "8 trials, 2 of them finished before" in continued.err
    # Two before the interrupt, the interrupted one, and the six that were missing: none but that one began twice.
    assert len(began) == 9
    assert len(set(began)) == 8
    assert len(read(tmp_path / "results.csv")) == 8


def test_a_second_sweep_in_the_folder_of_a_running_one_is_refused(
    fedwalk: Command, network_file: Path, tmp_path: Path
) -> None:
    arguments = ("sweep", network_file, "--vary", "predict=0,0.4", "--score", "none", "-o", tmp_path, *QUICK)
    long = [sys.executable, "-m", "fedwalk", *map(str, arguments), "--seeds", "1000"]
    with subprocess.Popen(long, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as running:
        try:
            while not list((tmp_path / "trials").glob("*.json")):
                assert running.poll() is None
                time.sleep(0.05)
            refused = fedwalk(*arguments, "--seeds", 1)
        finally:
            running.kill()
    assert (refused.code, "another sweep is running there" in refused.err) == (2, True)
    assert not (tmp_path / "results.csv").exists()
    # The lock goes with its process, even with one that was killed.
    assert fedwalk(*arguments, "--seeds", 1).code == 0
    assert len(read(tmp_path / "results.csv")) == 2


def test_only_new_trials_are_computed(
    fedwalk: Command, network_file: Path, labels_file: Path, tmp_path: Path, computed: list[Settings]
) -> None:
    def sweep(values: str, *others: object) -> list[float]:
        computed.clear()
        arguments = ("--labels", labels_file, "--vary", f"predict={values}", "-o", tmp_path, *QUICK, *others)
        assert fedwalk("sweep", network_file, *arguments).code == 0
        return sorted(settings.predict for settings in computed)

    assert sweep("0,0.4", "--seeds", 2) == [0.0, 0.0, 0.4, 0.4]
    before = (tmp_path / "results.csv").read_text()
    assert sweep("0,0.4", "--seeds", 2) == []
    assert (tmp_path / "results.csv").read_text() == before
    assert sweep("0,0.2,0.4", "--seeds", 2) == [0.2, 0.2]
    assert [row["predict"] for row in read(tmp_path / "summary.csv")] == ["0", "0.2", "0.4"]
    assert sweep("0,0.4", "--seeds", 3) == [0.0, 0.4]
    # An evaluation with other settings isn't mixed with the old one.
    assert sweep("0", "--seeds", 1, "--splits", 2) == [0.0]
    assert sweep("0", "--seeds", 1, "--rule", "threshold") == [0.0]
    assert sweep("0", "--seeds", 1, "--train-ratio", 0.7) == [0.0]
    assert sweep("0", "--seeds", 1, "--score", "links") == [0.0]
    # A new ratio needs the embedding again; a repeated one counts once.
    assert sweep("0", "--seeds", 1, "--train-ratio", "0.2,0.7,0.2") == [0.0]
    assert [name for name in read(tmp_path / "results.csv")[0] if "micro" in name] == ["micro_f1@0.7", "micro_f1@0.2"]
    assert sweep("0", "--seeds", 1) == []


def test_another_graph_or_other_labels_are_computed_anew(
    fedwalk: Command, network_file: Path, labels_file: Path, tmp_path: Path, computed: list[Settings]
) -> None:
    graph, labels, out = tmp_path / "graph.edges", tmp_path / "labels.txt", tmp_path / "out"
    lines, groups = network_file.read_text().splitlines(), labels_file.read_text().splitlines()

    def sweep() -> int:
        computed.clear()
        graph.write_text("\n".join(lines))
        labels.write_text("\n".join(groups))
        flags = ("--vary", "predict=0", "--seeds", 1, "-o", out, *QUICK)
        assert fedwalk("sweep", graph, "--labels", labels, *flags).code == 0
        return len(computed)

    assert (sweep(), sweep()) == (1, 0)
    first = read(out / "results.csv")
    swapped = [lines.pop(), groups.pop()]
    assert (sweep(), sweep()) == (1, 0)
    lines.append(swapped[0])
    assert sweep() == 1
    groups.append(swapped[1])
    assert sweep() == 0
    assert read(out / "results.csv") == first


def test_with_one_seed_there_is_no_deviation(
    fedwalk: Command, network_file: Path, labels_file: Path, tmp_path: Path
) -> None:
    flags = ("--vary", "predict=0,0.4", "--seeds", 1, "-o", tmp_path, *QUICK)
    printed = fedwalk("sweep", network_file, "--labels", labels_file, *flags)
    assert (printed.code, "±" in printed.out) == (0, False)
    assert "one seed, no deviation" in printed.out
    for row in read(tmp_path / "summary.csv"):
        assert {value for name, value in row.items() if name.endswith("_std")} == {""}
    assert "<svg" not in (tmp_path / "index.html").read_text(encoding="utf-8")
    assert not (tmp_path / "figures").exists()


def test_without_labels_held_out_edges_are_scored(fedwalk: Command, network_file: Path, tmp_path: Path) -> None:
    flags = ("--protocol", "ldp", "--vary", "epsilon=2,4", "--seeds", 1, "-o", tmp_path, "--json", *QUICK)
    outcome = fedwalk("sweep", network_file, *flags, "--held-out", 0.3)
    record = json.loads(outcome.out)
    assert (record["score"], record["evaluation"]) == ("links", {"held_out": 0.3})
    split = split_edges(load_graph(network_file), 0.3, 0)
    for row, epsilon in zip(read(tmp_path / "results.csv"), (2.0, 4.0), strict=True):
        settings = Settings(protocol="ldp", epsilon=epsilon, num_walks=2, walk_length=8, dim=4, threads=1)
        score = score_links(run(split.training, settings).embedding, split, "cosine")
        assert float(row["auc@cosine"]) == pytest.approx(score.auc)
        # Walks of this protocol aren't sent between devices; its cost per edge is proved.
        assert (row["hops_per_walk"], float(row["proved_epsilon"])) == ("", epsilon)


def test_costs_can_be_measured_without_any_score(fedwalk: Command, network_file: Path, tmp_path: Path) -> None:
    flags = ("--score", "none", "--vary", "predictor=tree,triad", "--seeds", 1, "-o", tmp_path, *QUICK)
    assert "Nothing was scored." in fedwalk("sweep", network_file, *flags).out
    assert list(read(tmp_path / "results.csv")[0]) == [
        "predictor", "seed", "hops_per_walk", "messages", "bytes", "seconds", "proved_epsilon",
    ]  # fmt: skip


def test_settings_of_another_packages_protocol_can_be_varied(
    fedwalk: Command, network_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(registry, "_registered", {})
    own = (Setting("keep", 0.5, "share of edges"), Setting("rounds", 1, "rounds"))
    registry.register(replace(DEEPWALK, name="other", settings=own))
    flags = ("--rounds", 3, "--seeds", 1, "--score", "none", "-o", tmp_path, "--json", *QUICK)
    for chosen in (
        ("--protocol", "other", "--vary", "keep=0.5,1"),
        ("--vary", "protocol=other", "--vary", "keep=0.5,1"),
    ):
        record = json.loads(fedwalk("sweep", network_file, *chosen, *flags).out)
        kept = [(trial["settings"]["keep"], trial["settings"]["rounds"]) for trial in record["trials"]]
        assert kept == [(0.5, 3), (1.0, 3)]
    mixed = fedwalk("sweep", network_file, "--vary", "protocol=other,paper", "--vary", "keep=1", *flags[2:])
    assert "the combination protocol = paper, keep = 1: " in mixed.err
    assert "there is no setting 'keep'" in mixed.err


@pytest.mark.parametrize(
    ("flags", "part"),
    [
        (("--vary", "epsilonn=1,2"), "Did you mean epsilon?"),
        (("--vary", "epsilon=1,1"), "1 is listed twice"),
        (("--vary", "epsilon=1,0"), "the combination epsilon = 0: epsilon = 0: must be a finite number above 0"),
        (("--vary", "predictor=tree,oracle"), "the combination predictor = oracle: predictor = 'oracle'"),
        (("--vary", "epsilon=1", "--epsilon", "2"), "--epsilon and --vary epsilon: give only one"),
        (
            ("--vary", "protocol=deepwalk,paper", "--vary", "embed=spectral"),
            "the combination protocol = paper, embed =",
        ),
        (("--vary", "num-bins=3,99"), "the combination num_bins = 99: num-bins = 99 for 60 vertices"),
        (("--vary", "epsilon=2,4", "--protocol", "ldp", "--budget", "3"), "the combination epsilon = 4: report of"),
        (("--vary", "epsilon=1", "--seeds", "0"), "seeds = 0: at least 1"),
        (("--vary", "epsilon=1", "--splits", "0"), "splits = 0: at least 1"),
        (("--vary", "epsilon=1", "--train-ratio", "1.5"), "train-ratio = (1.5,): each must lie between 0 and 1"),
        (("--vary", "epsilon=1", "--score", "links", "--held-out", "1"), "held-out = 1"),
        (("--vary", "epsilon=1", "--seed", str(2**63 - 2)), "the combination epsilon = 1: seed ="),
        ((), "the following arguments are required: --vary"),
    ],
)
def test_mistakes_are_errors_before_anything_runs(
    flags: tuple[str, ...], part: str, fedwalk: Command, network_file: Path, labels_file: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "out"
    outcome = fedwalk("sweep", network_file, "--labels", labels_file, "-o", folder, "--no-figures", *flags)
    assert (outcome.code, outcome.out) == (2, "")
    assert part in outcome.err.splitlines()[-1]
    assert not folder.exists()


def test_a_graph_without_labels_cannot_be_scored_by_them(fedwalk: Command, network_file: Path, tmp_path: Path) -> None:
    outcome = fedwalk("sweep", network_file, "--vary", "dim=4", "-o", tmp_path, "--score", "labels", "--no-figures")
    assert "use --score links or --score none" in outcome.err


def test_files_of_other_commands_are_not_replaced(fedwalk: Command, network_file: Path, tmp_path: Path) -> None:
    (tmp_path / "index.html").write_text("mine")
    outcome = fedwalk("sweep", network_file, "--vary", "dim=4", "-o", tmp_path, "--no-figures")
    assert (outcome.code, "that no sweep has written" in outcome.err) == (2, True)
    assert "is a file" in fedwalk("sweep", network_file, "--vary", "dim=4", "-o", network_file, "--no-figures").err
    assert (tmp_path / "index.html").read_text() == "mine"


def test_a_note_is_printed_once_and_not_for_every_trial(fedwalk: Command, tmp_path: Path, network_file: Path) -> None:
    flags = ("--vary", "num-bins=5,6", "--seeds", 2, "--score", "none", "-o", tmp_path / "out", *QUICK)
    notes = [line for line in fedwalk("sweep", network_file, *flags).err.splitlines() if "is more than ln n" in line]
    assert len(notes) == 2


def test_help_teaches_with_examples_and_offers_the_scores_of_the_library(fedwalk: Command) -> None:
    told = fedwalk("sweep", "--help")
    assert told.code == 0
    assert told.out.count("  fedwalk sweep ") >= 4
    assert command.SCORES == definition.SCORES
