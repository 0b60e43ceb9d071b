"""The paper's experiments, run whole on a small network with few and short walks."""

import csv
import json
import re
from collections import Counter
from dataclasses import replace
from datetime import date
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

from fedwalk.cli import main
from fedwalk.errors import SettingsError
from fedwalk.evaluation import BASELINES, score_baseline, split_edges
from fedwalk.experiments import trials
from fedwalk.experiments.outcome import (
    CLOSE,
    DIFFERS,
    REPRODUCED,
    UNTESTED,
    VERDICTS,
    Claim,
    Outcome,
    Table,
)
from fedwalk.experiments.publish import Edition, publish, read_claims, summary
from fedwalk.experiments.reproduce import EXPERIMENTS, chosen, reproduce
from fedwalk.experiments.setup import Setup
from fedwalk.experiments.theorems import noise_excess
from fedwalk.graph import social_network


@pytest.fixture(scope="module")
def folder(small: Setup, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All experiments, once."""
    path = tmp_path_factory.mktemp("results")
    reproduce(small, list(EXPERIMENTS.values()), path, command="fedwalk reproduce small")
    return path


def read_table(path: Path) -> list[list[str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.reader(file))


def test_every_experiment_leaves_tables_figures_and_a_record(folder: Path) -> None:
    record = json.loads((folder / "results.json").read_text(encoding="utf-8"))
    assert [outcome["key"] for outcome in record["findings"]] == list(EXPERIMENTS)
    for outcome in record["findings"]:
        for table in outcome["tables"]:
            written = read_table(folder / f"{table['name']}.csv")
            assert written == [table["header"], *table["rows"]]
            assert all(len(row) == len(table["header"]) for row in table["rows"])
        for chart in outcome["charts"]:
            assert (folder / "figures" / f"{chart['name']}.png").read_bytes().startswith(b"\x89PNG")
            assert "<svg" in (folder / "figures" / f"{chart['name']}.svg").read_text(encoding="utf-8")


def test_hops_follow_the_corrected_theorem_and_not_the_printed_one(folder: Path) -> None:
    _, plain, most = read_table(folder / "theorem-2.csv")
    assert [float(x) for x in plain[1:]] == pytest.approx([39, 39, 39])
    printed, corrected, measured = map(float, most[1:])
    # 1,200 walks with a standard deviation of about 2.4 hops: 0.3 is above four standard errors.
    assert abs(measured - corrected) < 0.3 < abs(corrected - printed)


def test_link_prediction_lists_the_baselines_on_the_same_pairs(small: Setup, folder: Path) -> None:
    rows = {row[0]: row[1:] for row in read_table(folder / "links.csv")}
    for name in BASELINES:
        scores = [score_baseline(split_edges(small.graph, 0.2, seed), name).auc for seed in range(small.seeds)]
        assert rows[name][:2] == ["–", f"{np.mean(scores):.4f} ± {np.std(scores):.4f}"]


def test_the_page_is_whole_escaped_and_asks_for_nothing(folder: Path) -> None:
    text = (folder / "index.html").read_text(encoding="utf-8")
    assert "Small &amp; &lt;generated&gt;" in text
    assert "<generated>" not in text

    class Page(HTMLParser):
        asked: list[str] = []  # noqa: RUF012
        tables = figures = 0

        def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
            self.tables += tag == "table"
            self.figures += tag == "figure"
            if tag in ("script", "link", "img", "iframe"):
                self.asked.append(tag)

    page = Page()
    page.feed(text)
    assert page.asked == []
    assert page.tables == len(list(folder.glob("*.csv")))
    assert page.figures == len(list(folder.glob("figures/*.svg")))


def test_charts_in_the_page_take_every_colour_from_its_style_sheet(folder: Path) -> None:
    text = (folder / "index.html").read_text(encoding="utf-8")
    drawings = re.findall(r"<svg.*?</svg>", text, flags=re.DOTALL)
    assert len(drawings) == len(list(folder.glob("figures/*.svg")))
    for svg in drawings:
        # Black is SVG's default: a text without a fill would be black in dark mode, too.
        texts = re.findall(r"<text[^>]*>", svg)
        assert len(texts) > 5
        assert all("fill: currentColor" in text for text in texts)
        painted = re.findall(r"(?:fill|stroke): ([^;\"]+)", svg)
        assert {colour for colour in painted if not colour.startswith("var(--series-")} == {"currentColor", "none"}
        assert not re.search(r"#[0-9a-fA-F]{6}\b", svg)
    used = set(re.findall(r"--series-\d", "".join(drawings)))
    style = text[: text.index("</style>")]
    # Each colour is defined twice: for light and for dark mode.
    assert used
    assert all(style.count(f"{name}:") == 2 for name in used)
    ids = re.findall(r' id="([^"]+)"', text)
    assert len(ids) == len(set(ids))


def test_chart_files_have_their_own_background(folder: Path) -> None:
    for file in folder.glob("figures/*.svg"):
        svg = file.read_text(encoding="utf-8")
        assert "currentColor" not in svg
        assert "#ffffff" in svg


def sections(page: str) -> list[str]:
    return [re.sub(r"<[^>]+>", " ", part) for part in re.findall(r"<section.*?</section>", page, flags=re.DOTALL)]


def test_the_page_begins_with_a_summary_that_counts_the_verdicts(small: Setup, tmp_path: Path) -> None:
    given = [REPRODUCED, CLOSE, DIFFERS, DIFFERS, UNTESTED]
    claims = [Claim("Fig. 1", "what", "1 %", "2 %", verdict, "") for verdict in given]
    outcome = Outcome("x", "X", "text", [Table("t", "T", ["a"], [["c"]])], [], claims)
    page = publish(Edition(small, [outcome], "cmd", date(2026, 1, 2)), tmp_path).read_text(encoding="utf-8")
    sentences = (
        "These experiments cover 5 claims of the paper, and 4 could be tested. 1 was reproduced, 1 is close and 2 "
        "differ. The other one could not, because the run lacks the dataset or the settings."
    )
    first, second, *_ = sections(page)
    assert sentences in first
    assert " ".join(first.split()).endswith("reproduced 1 close 1 differs 2 can&#x27;t be tested 1")
    assert second.split()[0] == "X"
    markdown = (tmp_path / "summary.md").read_text(encoding="utf-8")
    assert markdown.index(sentences) < markdown.index("## X")


def test_the_summary_of_a_whole_run_has_the_counts_of_its_claims(folder: Path) -> None:
    given = Counter(row[4] for row in read_claims(folder))
    first = sections((folder / "index.html").read_text(encoding="utf-8"))[0]
    for verdict, count in re.findall(r"(reproduced|close|differs|tested) +(\d+)", first):
        assert given["can't be tested" if verdict == "tested" else verdict] == int(count)
    assert summary({verdict: given[verdict] for verdict in VERDICTS}) in first


@pytest.mark.parametrize(
    ("counts", "text"),
    [
        ((0, 0, 0, 0), ""),
        ((0, 0, 0, 1), "These experiments cover 1 claim of the paper. None could be tested, because the run lacks "
                       "the dataset or the settings."),
        ((0, 2, 1, 0), "These experiments cover 3 claims of the paper, and all could be tested. None was reproduced, "
                       "2 are close and 1 differs."),
        ((2, 0, 0, 1200), "These experiments cover 1,202 claims of the paper, and 2 could be tested. 2 were "
                          "reproduced, none is close and none differs. The other 1,200 could not, because the run "
                          "lacks the dataset or the settings."),
    ],
)  # fmt: skip
def test_a_summary_has_singular_and_plural(counts: tuple[int, ...], text: str) -> None:
    assert summary(dict(zip(VERDICTS, counts, strict=True))) == text


def test_texts_count_one_seed_and_one_split_as_one(small: Setup, tmp_path: Path) -> None:
    one = replace(small, seeds=1, splits=1, ratios=(0.5,), sweep_ratios=(0.5,), bins=(2,))
    page = reproduce(one, chosen("5,7,links"), tmp_path, command="", figures=False).read_text(encoding="utf-8")
    assert "from one seed, with 1 split for each" in page
    assert page.count("from one seed") == 3
    assert not re.search(r"\b1 (seeds|splits)", page)


def test_a_page_without_claims_has_no_summary(small: Setup, tmp_path: Path) -> None:
    outcome = Outcome("x", "X", "text", [Table("t", "T", ["a"], [["c"]])], [], [])
    page = publish(Edition(small, [outcome], "cmd", date(2026, 1, 2)), tmp_path).read_text(encoding="utf-8")
    assert [part.split()[0] for part in sections(page)] == ["X"]


def test_finished_trials_are_not_run_again(small: Setup, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = (folder / "results.json").read_text(encoding="utf-8")

    def never(*_: object) -> None:
        raise AssertionError("a trial ran twice")

    monkeypatch.setattr(trials, "run", never)
    reproduce(small, list(EXPERIMENTS.values()), folder, command="fedwalk reproduce small")
    assert (folder / "results.json").read_text(encoding="utf-8") == before
    other = replace(small, splits=3)
    with pytest.raises(AssertionError, match="ran twice"):
        reproduce(other, chosen("5"), folder, command="")


def test_noise_adds_less_than_the_sharper_bound_while_rows_keep_their_order(small: Setup) -> None:
    (in_order, sorted_again), (printed, sharper) = noise_excess(small.graph, small.usual_bins, epsilon=2.0)
    assert 0 < in_order <= sharper < printed
    assert sorted_again != in_order


@pytest.mark.parametrize("figure", ["10", "5,x", ""])
def test_an_unknown_figure_is_refused_with_the_list_of_known_ones(figure: str) -> None:
    with pytest.raises(SettingsError, match=r"choose from 5, 6, 7, 8, 9, theorems, frontier, links, ldp, all"):
        chosen(figure)


def test_the_command_line_names_the_labels(
    unlabelled: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    graph, labels = unlabelled
    out = tmp_path / "out"
    flags = ["--figure", "theorems", "--seeds", "1", "--num-walks", "1", "--threads", "1", "--no-figures"]
    assert main(["reproduce", str(graph), "-o", str(out), *flags]) == 2
    assert "has no labels" in capsys.readouterr().err
    assert main(["reproduce", str(graph), "--labels", str(labels), "-o", str(out), *flags]) == 0
    assert "These experiments cover 6 claims of the paper, and all could be tested." in capsys.readouterr().out
    command = "fedwalk reproduce graph.edges --labels groups.txt --figure theorems --seeds 1 --num-walks 1"
    assert json.loads((out / "results.json").read_text(encoding="utf-8"))["command"] == command


def test_the_command_writes_a_page_and_prints_the_claims(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(
        __import__("fedwalk.experiments.setup", fromlist=["GENERATED"]).GENERATED,
        "mini", ("generated", lambda: social_network(vertices=90, mean_degree=6, communities=3, seed=1)),
    )  # fmt: skip
    arguments = ["--figure", "theorems", "--seeds", "1", "--num-walks", "1", "--threads", "1"]
    assert main(["reproduce", "mini", "-o", str(tmp_path / "out"), *arguments]) == 0
    shown = capsys.readouterr().out
    assert "hops per walk, l = 40, p = 0.4" in shown
    assert str(tmp_path / "out" / "index.html") in shown
    summary = (tmp_path / "out" / "summary.md").read_text(encoding="utf-8")
    assert "`fedwalk reproduce mini --figure theorems --seeds 1 --num-walks 1`" in summary
    assert main(["reproduce", "mini", "-o", str(tmp_path / "out"), "--seeds", "0"]) == 2
