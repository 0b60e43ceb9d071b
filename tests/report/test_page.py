"""What the page shows of a run, and what it says of what it can't show."""

import html
import json
import shlex
from pathlib import Path
from typing import Any

import pytest

from conftest import SETTINGS
from fedwalk.audit import audit
from fedwalk.cli import build_parser
from fedwalk.cli.embed import chosen_settings
from fedwalk.graph import Graph
from fedwalk.run.execute import embed_to_folder
from fedwalk.settings import Settings
from helpers.pages import Page, data_of, quick
from helpers.run_folders import embed, record_of, rewrite, untrained

LEAVES_OUT = "To see it:"


@pytest.mark.parametrize("protocol", ["paper", "deepwalk"])
def test_a_page_with_everything_leaves_nothing_out(protocol: str, runs: dict[str, Path], labels_file: Path) -> None:
    text = quick(runs[protocol], labels=str(labels_file))
    page = Page(text)
    assert text.count(LEAVES_OUT) == 1
    assert f"To see it: <code>fedwalk audit {runs[protocol]}</code>" in text
    titles = page.texts["title"]
    assert titles[0] == protocol
    drawn = {"Time per stage", "Degree distribution", "Walk coverage", "F1 over the training ratio"}
    paper = {"Dendrogram", "Bytes per phase", "Messages per phase", "Hops per walk"}
    assert set(titles[1:]) - {"Memory per stage"} == (drawn | paper if protocol == "paper" else drawn)


def test_a_private_run_shows_its_ledger_its_estimated_degrees_and_the_attacks_on_it(
    network: Graph, network_file: Path, labels_file: Path, tmp_path: Path
) -> None:
    folder, settings = tmp_path / "private", Settings(**SETTINGS, protocol="ldp", epsilon=4)
    embed_to_folder(network, settings, folder, inputs={"graph": str(network_file)})
    audited = audit(network, settings, canaries=300, repeats=50).as_dict()
    (folder / "audit.json").write_text(json.dumps(audited))
    text = quick(folder, labels=str(labels_file))
    assert "All releases together cost 4 per edge, and 4 per device, for one entry of its neighbour list." in text
    assert "each pair is reported by its owner alone" in text
    assert "estimated" in text
    assert "There are no walks: this embedding is spectral." in text
    assert "--embed skipgram" in text
    for finding in audited["findings"]:
        assert html.escape(finding["sentence"], quote=False).replace("'", "&#39;") in text


def test_without_labels_the_page_says_how_to_get_colours(runs: dict[str, Path]) -> None:
    text = quick(runs["paper"])
    assert "no F1 and no colour" in text
    assert f"fedwalk report {runs['paper']} --labels FILE" in text
    assert data_of(text)["styles"] == ["0"]


def test_without_scores_the_page_says_so(runs: dict[str, Path], labels_file: Path) -> None:
    assert "--no-evaluate" in quick(runs["paper"], labels=str(labels_file), splits=None)


@pytest.mark.parametrize("protocol", ["paper", "deepwalk"])
def test_without_the_graph_the_rest_is_shown(protocol: str, network: Graph, tmp_path: Path) -> None:
    file = tmp_path / "gone.edges"
    run = embed(network, tmp_path / "run", origin=file, protocol=protocol)
    text = quick(run)
    # In the verdict, and in the sections on F1 and on degrees.
    assert text.count(f"fedwalk report {run} --graph GRAPH") == 3
    assert "gone.edges: no such file" in text
    assert data_of(text)["degrees"] == []


def test_one_labelled_vertex_is_too_few_for_f1(runs: dict[str, Path], tmp_path: Path) -> None:
    labels = tmp_path / "labels.txt"
    labels.write_text("0 red\n", encoding="utf-8")
    assert "can&#39;t be scored: 1 vertex has a label" in quick(runs["paper"], labels=str(labels))


def test_memory_is_shown_per_stage_when_the_run_has_it(network: Graph, tmp_path: Path) -> None:
    run = embed(network, tmp_path)
    rewrite(run, peak_rss_by_stage={})
    assert "measured stage by stage" in quick(run)
    rewrite(run, peak_rss_by_stage={"tree": 2_000_000, "walks": 5_000_000})
    page = Page(quick(run))
    assert "Memory per stage" in page.texts["title"]
    assert "tree: 2.0 MB; walks: 5.0 MB." in page.texts["desc"]


@pytest.mark.parametrize(
    "settings",
    [{}, {"protocol": "deepwalk"}, {"epsilon": 1 / 3, "predictor": "triad", "predict": 1.0, "burst": 4, "num_bins": 2}],
    ids=["paper", "deepwalk", "triad"],
)
def test_the_command_makes_the_same_run(settings: dict[str, Any], network: Graph, tmp_path: Path) -> None:
    run = embed(network, tmp_path / "a run", origin=tmp_path / "a graph", **settings)
    _, *arguments = shlex.split(Page(quick(run)).texts["pre"][0])
    again, inputs = chosen_settings(build_parser().parse_args(arguments))
    assert again.resolve(network.vertices) == Settings.from_mapping(record_of(run)["settings"])
    assert inputs["graph"] == str(tmp_path / "a graph")


def test_the_privacy_box_claims_no_more_than_is_proved(network: Graph, runs: dict[str, Path], tmp_path: Path) -> None:
    paper, deepwalk = (quick(runs[protocol]) for protocol in ("paper", "deepwalk"))
    assert "Nothing about the protocol as a whole." in paper
    assert "names all the neighbours" in paper
    assert "comes from the seed 5" in paper
    assert "None: one party holds the whole graph." in deepwalk
    unknown = embed(network, tmp_path)
    rewrite(unknown, settings={**record_of(unknown)["settings"], "protocol": "other"}, privacy="who knows")
    text = quick(unknown)
    assert "Who knows" in text
    assert "<h3>Proved</h3>" not in text


def test_the_same_run_gives_the_same_page(runs: dict[str, Path], labels_file: Path) -> None:
    pages = {quick(runs["paper"], labels=str(labels_file), layout="tsne") for _ in range(2)}
    assert len(pages) == 1


def test_a_page_of_many_vertices_stays_small(tmp_path: Path) -> None:
    page = quick(untrained(tmp_path, 3000), splits=None)
    vectors = len(data_of(page)["vectors"])
    assert vectors == 3000 * 16 * 4 * 4 / 3
    assert len(page.encode()) - vectors < 300_000


def test_vectors_that_are_too_large_are_named_instead(runs: dict[str, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    assert "Save all vectors as CSV" in quick(runs["paper"])
    monkeypatch.setattr("fedwalk.report.map.vertices.MAX_VECTOR_BYTES", 100)
    text = quick(runs["paper"])
    assert data_of(text)["vectors"] == ""
    assert "Save all vectors as CSV" not in text
    assert f"They are too large for this page. They are in <code>{runs['paper']}/embedding.npz</code>" in text


def test_the_layout_reports_its_progress_and_its_end(runs: dict[str, Path]) -> None:
    seen: list[tuple[str, int, int]] = []
    quick(runs["paper"], layout="tsne", on_progress=lambda *step: seen.append(step))
    layout = [(done, total) for stage, done, total in seen if stage == "layout"]
    assert layout[0] == (0, 1)
    assert layout[-1] == (1, 1)
    assert len(set(layout[1:-1])) > 100
