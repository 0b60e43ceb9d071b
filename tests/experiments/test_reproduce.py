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
from scipy import sparse
from scipy.io import savemat

from fedwalk.cli import main
from fedwalk.errors import InputError, SettingsError
from fedwalk.evaluation import BASELINES, score_baseline, split_edges
from fedwalk.experiments import figure_5, trials
from fedwalk.experiments.outcome import (
    CLOSE,
    DIFFERS,
    REPRODUCED,
    UNTESTED,
    VERDICTS,
    Chart,
    Claim,
    Outcome,
    Results,
    Series,
    Table,
    compare,
    for_seeds,
    over_seeds,
    percent,
    spread,
    trials_of,
)
from fedwalk.experiments.plots import draw
from fedwalk.experiments.publish import Edition, publish, read_claims, summary
from fedwalk.experiments.reproduce import EXPERIMENTS, chosen, reproduce
from fedwalk.experiments.setup import BLOGCATALOG, Setup, set_up
from fedwalk.experiments.theorems import noise_excess
from fedwalk.experiments.trials import Measured, Trial, Trials, plan
from fedwalk.graph import social_network
from fedwalk.graph.graph import Labels, edge_pairs
from fedwalk.settings import Settings


@pytest.fixture(scope="module")
def small() -> Setup:
    graph = social_network(vertices=150, mean_degree=8, communities=3, mixing=0.3, seed=5)
    return Setup(
        "Small & <generated>", graph, None, (0.2, 0.5), (0.2, 0.5), (2, 5), (1, 2), (0.5, 4.0), (0.0, 0.4),
        seeds=2, splits=2, threads=1,
    )  # fmt: skip


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


def test_a_damaged_trial_is_run_again(small: Setup, tmp_path: Path) -> None:
    cached = Trials(small, tmp_path)
    trial = Trial(Settings(num_walks=1, walk_length=5, dim=2, num_bins=2), (0.5,))
    first = cached.measure([trial])
    (file,) = tmp_path.iterdir()
    file.write_text(file.read_text(encoding="utf-8")[:40], encoding="utf-8")
    assert cached.measure([trial]).keys() == first.keys()
    assert "measured" in json.loads(file.read_text(encoding="utf-8"))


def test_a_trial_keeps_the_scores_that_another_figure_requested(small: Setup, tmp_path: Path) -> None:
    settings = Settings(num_walks=1, walk_length=5, dim=2, num_bins=2)
    for ratio in (0.2, 0.5):
        Trials(small, tmp_path).measure([Trial(settings, (ratio,))])
    (file,) = tmp_path.iterdir()
    scores = json.loads(file.read_text(encoding="utf-8"))["measured"]["scores"]
    assert scores.keys() == {f"{name}@{ratio}" for name in ("micro_f1", "macro_f1") for ratio in (0.2, 0.5)}


def test_trials_are_merged_and_those_with_the_same_tree_follow_each_other() -> None:
    a, b = Settings(epsilon=1.0), Settings(epsilon=2.0)
    merged = plan([Trial(a, (0.1,)), Trial(b, (0.1,)), Trial(replace(a, predict=0.0)), Trial(a, (0.5,))])
    assert [trial.settings.epsilon for trial in merged] == [1.0, 1.0, 2.0]
    assert merged[[trial.settings for trial in merged].index(a)].ratios == (0.1, 0.5)


def test_sharing_a_tree_changes_no_walk(small: Setup, tmp_path: Path) -> None:
    # Two trials of one Trials object share bins, vectors, tree and encoder; alone, the second computes its own.
    pair = [Trial(Settings(num_walks=2, predict=p, dim=2, threads=1), (0.5,)) for p in (0.4, 0.0)]
    together = Trials(small, tmp_path / "a").measure(pair)
    alone = Trials(small, tmp_path / "b").measure(pair[:1])
    key = (pair[0].settings, 0.0)
    assert together[key].scores == alone[key].scores
    assert together[key].hops_per_walk == alone[key].hops_per_walk


def synthetic(setup: Setup, change: float) -> Results:
    """FedWalk's scores `change` percent off DeepWalk's."""
    measured = {}
    for method, settings_ in figure_5.METHODS.items():
        for seed, settings in enumerate(for_seeds(setup, settings_)):
            factor = 1 + change / 100 if method == "FedWalk" else 1.0
            scores = {f"{s}@{r:g}": (0.4 + 0.001 * seed) * factor for s in figure_5.SCORES for r in setup.ratios}
            measured[settings, 0.0] = Measured(scores, 30.0, 100.0, 1.0, 6000, 20_000)
    return Results(setup, measured)


@pytest.mark.parametrize(("change", "verdict"), [(-1.8, "reproduced"), (-2.7, "reproduced"), (-3.0, "differs")])
def test_a_claim_is_judged_by_the_stated_rule(small: Setup, change: float, verdict: str) -> None:
    setup = replace(small, dataset="blogcatalog", ratios=BLOGCATALOG[0])
    claims = figure_5.claims(setup, synthetic(setup, change))
    micro = next(claim for claim in claims if claim.what.startswith("micro-F1") and "blogcatalog" in claim.what)
    assert (micro.paper, micro.verdict) == ("-1.80 %", verdict)
    assert {claim.verdict for claim in claims if "flickr" in claim.what} == {"can't be tested"}


def test_one_seed_has_no_deviation(small: Setup) -> None:
    assert (spread([50.0, 52.0]), percent([-1.0, -3.0])) == ("51.00 ± 1.00", "-2.00 ± 1.00 %")
    assert (spread([50.0]), percent([-1.0])) == ("50.00", "-1.00 %")
    setup = replace(small, seeds=1)
    (settings,) = for_seeds(setup, {})
    results = Results(setup, {(settings, 0.0): Measured({"micro_f1@0.5": 0.4}, 0.0, 0.0, 0.0, 0, 0)})
    assert results.mean({}, "micro_f1@0.5") == (0.4, None)
    assert (over_seeds(small), over_seeds(setup)) == ("± the standard deviation over 2 seeds", "from one seed")


def test_a_chart_of_one_seed_has_no_error_bars(tmp_path: Path) -> None:
    for name, half in (("one", None), ("two", 0.1)):
        chart = Chart(name, "F1", "p", "F1", [Series("a", [0.1, 0.2], [0.5, 0.6], [half, half])])
        drawing = draw(chart, tmp_path)[1].read_text(encoding="utf-8")
        _, bars = drawing.split('id="LineCollection_1">', 1)
        assert ("<path d=" in bars[: bars.index("</g>")]) == (half is not None)


def test_a_wide_spread_widens_the_tolerance() -> None:
    assert compare("", "", 5.0, [0.0, 4.0], "").verdict == "reproduced"
    assert compare("", "", 5.0, [1.9, 2.1], "").verdict == "differs"


@pytest.mark.parametrize(
    ("ours", "verdict"), [(-8.9, "reproduced"), (-8.6, "close"), (-12.3, "close"), (-7.4, "differs")]
)
def test_a_claim_is_close_within_a_quarter_of_the_papers_number(ours: float, verdict: str) -> None:
    assert compare("", "", -9.9, [ours], "").verdict == verdict


def test_claims_can_be_read_back_with_the_testable_ones_first(small: Setup, tmp_path: Path) -> None:
    claims = [
        Claim("Fig. 1", 'a "b", c', "1", "–", "can't be tested", ""),
        Claim("Fig. 2", "d", "1", "2", "differs", ""),
    ]
    outcome = Outcome("x", "X", "text | pipe", [Table("t", "T", ["a|b"], [["c"]])], [], claims)
    publish(Edition(small, [outcome], "cmd", date(2026, 1, 2)), tmp_path)
    assert [row[0] for row in read_claims(tmp_path)] == ["Fig. 2", "Fig. 1"]
    summary = (tmp_path / "summary.md").read_text(encoding="utf-8")
    assert "a\\|b" in summary
    assert "2026-01-02. Made by `cmd`." in summary


def test_the_default_and_a_sweeps_last_value_are_one_trial(small: Setup) -> None:
    swept = trials_of(small, [{"num_bins": small.usual_bins}], (0.5,))
    assert {trial.settings for trial in swept} == {trial.settings for trial in trials_of(small, [{}], (0.5,))}


def test_noise_adds_less_than_the_sharper_bound_while_rows_keep_their_order(small: Setup) -> None:
    (in_order, sorted_again), (printed, sharper) = noise_excess(small.graph, small.usual_bins, epsilon=2.0)
    assert 0 < in_order <= sharper < printed
    assert sorted_again != in_order


@pytest.mark.parametrize("figure", ["10", "5,x", ""])
def test_an_unknown_figure_is_refused_with_the_list_of_known_ones(figure: str) -> None:
    with pytest.raises(SettingsError, match=r"choose from 5, 6, 7, 8, 9, theorems, frontier, links, ldp, all"):
        chosen(figure)


def test_flickr_is_offered_as_a_generated_graph_where_it_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FEDWALK_DATA", str(tmp_path))
    with pytest.raises(InputError, match=r"fedwalk data get flickr.*flickr-like, a generated graph"):
        set_up("flickr")


def test_a_graph_without_labels_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "graph.edges"
    path.write_text("0 1\n1 2\n2 0\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"has no labels.*--labels FILE"):
        set_up(str(path))


@pytest.fixture
def unlabelled(tmp_path: Path, small: Setup) -> tuple[Path, Path]:
    """A graph file without labels, and a file of labels."""
    names = small.graph.names.tolist()
    graph, labels = tmp_path / "graph.edges", tmp_path / "groups.txt"
    graph.write_text("".join(f"{names[u]} {names[v]}\n" for u, v in edge_pairs(small.graph)), encoding="utf-8")
    labels.write_text("".join(f"{name} {'ab'[i % 2]}\n" for i, name in enumerate(names)), encoding="utf-8")
    return graph, labels


def test_labels_may_come_from_a_file(unlabelled: tuple[Path, Path]) -> None:
    graph, labels = unlabelled
    setup = set_up(str(graph), labels=labels)
    assert setup.graph.labels is not None
    assert (setup.title, setup.graph.labels.names) == ("graph.edges", ("a", "b"))


def test_other_labels_are_named_and_make_a_dataset_another_graph(
    small: Setup, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # No checksum of Flickr is published, so any file can take its place.
    monkeypatch.setenv("FEDWALK_DATA", str(tmp_path))
    assert small.graph.labels is not None
    ends = np.concatenate((edge_pairs(small.graph), edge_pairs(small.graph)[:, ::-1])).T
    matrix = sparse.coo_array((np.ones(ends.shape[1]), tuple(ends)))
    savemat(tmp_path / "flickr.mat", {"network": matrix.tocsc(), "group": small.graph.labels.indicator.tocsc()})
    labels = tmp_path / "mine.txt"
    setup = set_up("flickr")
    labels.write_text(f"{setup.graph.names[0]} a\n", encoding="utf-8")
    assert (setup.title, setup.dataset) == ("Flickr", "flickr")
    other = set_up("flickr", labels=labels)
    assert (other.title, other.dataset) == ("Flickr, labels from mine.txt", None)


def test_a_trial_with_other_labels_is_another_trial(small: Setup, tmp_path: Path) -> None:
    assert small.graph.labels is not None
    names = tuple(reversed(small.graph.labels.names))
    fewer = sparse.csr_array(small.graph.labels.indicator.toarray() * (np.arange(len(names)) > 0))
    trial = Trial(Settings(num_walks=1, walk_length=5, dim=2, num_bins=2), (0.5,))
    for labels in (small.graph.labels, Labels(fewer, small.graph.labels.names)):
        Trials(replace(small, graph=small.graph.with_labels(labels)), tmp_path).measure([trial])
    assert len(list(tmp_path.iterdir())) == 2
    renamed = small.graph.with_labels(Labels(small.graph.labels.indicator, names))
    assert len({trials.labels_digest(graph) for graph in (small.graph, renamed, small.graph.with_labels(None))}) == 3


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


def test_generated_graphs_say_so_in_their_title() -> None:
    setup = set_up("citation-like", num_walks=10)
    assert "generated" in setup.title
    assert setup.dataset is None
    assert setup.walks == (10,)
    assert np.array_equal(setup.graph.indices, set_up("citation-like").graph.indices)


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
