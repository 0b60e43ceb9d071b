"""`fedwalk report`: a run folder in, one HTML file out."""

from pathlib import Path

import pytest

from conftest import SETTINGS, Command
from fedwalk.graph import Graph, load_graph
from fedwalk.report.map.layout import METHODS
from fedwalk.run.execute import embed_to_folder
from fedwalk.settings import Settings

QUICK = ("--layout", "pca", "--no-evaluate")


@pytest.fixture
def run(network: Graph, network_file: Path, tmp_path: Path) -> Path:
    embed_to_folder(network, Settings(**SETTINGS), tmp_path / "run", inputs={"graph": str(network_file)})
    return tmp_path / "run"


def test_the_page_is_written_to_the_run_folder_and_can_be_replaced(fedwalk: Command, run: Path) -> None:
    for title in ("first", "second"):
        outcome = fedwalk("report", run, *QUICK, "--title", title)
        assert (outcome.code, outcome.out.split(" (")[0]) == (0, f"{run}/report.html")
        assert "layout" in outcome.err
        assert f"<title>{title}</title>" in (run / "report.html").read_text(encoding="utf-8")
    assert sorted(file.name for file in run.iterdir()) == [
        "embedding.npz", "report.html", "run.json", "settings.toml", "tree.npz",
    ]  # fmt: skip


def test_the_page_can_be_written_elsewhere_with_labels_and_scores(
    fedwalk: Command, run: Path, network_file: Path, labels_file: Path, tmp_path: Path
) -> None:
    flags = ("--graph", network_file, "--format", "edgelist", "--labels", labels_file, "--splits", 1, "--threads", 1)
    outcome = fedwalk("report", run, "-o", tmp_path / "look.html", *flags)
    assert outcome.code == 0
    assert "evaluate" in outcome.err
    assert "F1 over the training ratio" in (tmp_path / "look.html").read_text(encoding="utf-8")
    assert not (run / "report.html").exists()


@pytest.mark.parametrize(
    ("flags", "part"),
    [
        (("--splits", 0), "splits = 0"),
        (("--threads", 0), "threads = 0"),
        (("--graph", "no.edges"), "no.edges: no such file"),
        (("--labels", "no.txt"), "no.txt: no such file"),
        (("-o", "no/such/folder/report.html"), "no/such/folder/report.html: can't be a file."),
        (("-o", "."), ".: can't be a file."),
    ],
)
def test_bad_input_is_one_line(flags: tuple[object, ...], part: str, fedwalk: Command, run: Path) -> None:
    outcome = fedwalk("report", run, "--layout", "pca", *flags)
    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err.splitlines()[-1].startswith("fedwalk: error: ")
    assert part in outcome.err
    assert "--resume" not in outcome.err


def test_a_path_that_cannot_be_written_is_named(fedwalk: Command, run: Path) -> None:
    (run / "report.html").mkdir()
    outcome = fedwalk("report", run, *QUICK)
    assert outcome.code == 2
    assert f"{run}/report.html: can't be written: Is a directory. Name another file with -o." in outcome.err
    assert not (run / "report.html.partial").exists()


def test_a_folder_without_a_run_is_named(fedwalk: Command, tmp_path: Path) -> None:
    outcome = fedwalk("report", tmp_path)
    assert outcome.code == 2
    assert "holds no finished run" in outcome.err


@pytest.mark.parametrize("flags", [("--layout", "force"), ("--splits", "2", "--no-evaluate"), ("--format", "xml")])
def test_wrong_usage_exits_with_2(flags: tuple[str, ...], fedwalk: Command) -> None:
    outcome = fedwalk("report", "run", *flags)
    assert (outcome.code, outcome.out) == (2, "")


def test_the_command_line_knows_the_layouts(fedwalk: Command) -> None:
    assert f"--layout {{{','.join(METHODS)}}}" in fedwalk("report", "--help").out


def test_baselines_are_put_side_by_side_and_another_graph_is_refused(
    fedwalk: Command, run: Path, network: Graph, tmp_path: Path
) -> None:
    for name, graph in (("same", network), ("other", load_graph([[0, 1], [1, 2], [2, 0]]))):
        embed_to_folder(graph, Settings(**SETTINGS, protocol="deepwalk"), tmp_path / name)
    flags = ("--baseline", tmp_path / "same", "--baseline", run)
    assert fedwalk("report", run, *QUICK, *flags).code == 0
    assert 'id="compare"' in (run / "report.html").read_text(encoding="utf-8")
    outcome = fedwalk("report", run, *QUICK, *flags, "--baseline", tmp_path / "other")
    assert outcome.code == 2
    assert "its fingerprint differs" in outcome.err
