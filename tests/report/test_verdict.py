"""The three sentences that the page opens with: true for every protocol, whatever is known about the run."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from conftest import SETTINGS
from fedwalk.audit import audit
from fedwalk.evaluation import Score
from fedwalk.graph import Graph
from fedwalk.privacy.ledger import Ledger, Release
from fedwalk.report.audit import read_audit
from fedwalk.report.compare import read_baselines
from fedwalk.report.content import Absent
from fedwalk.report.quality import Quality, measure_quality, middle
from fedwalk.report.source import Source, read_source
from fedwalk.report.verdict import how_good, what, what_leaks
from fedwalk.run.stages import ignore_progress
from fedwalk.settings import Settings
from helpers.pages import Page, quick
from helpers.run_folders import embed, federated, record_of, rewrite


def scored(source: Source, splits: int = 2) -> Quality:
    return measure_quality(source, (), splits, 1, ignore_progress)


def test_the_page_opens_with_three_sentences(runs: dict[str, Path], labels_file: Path) -> None:
    page = Page(quick(runs["paper"], labels=str(labels_file)))
    assert page.texts["dt"][:3] == ["What was embedded", "How good it is", "What others can learn"]
    for text in page.texts["dd"][:3]:
        assert text.endswith(".")
        assert ". " not in text


@pytest.mark.parametrize(
    ("protocol", "said"),
    [
        ("paper", "FedWalk, as in the paper: no party is given the whole graph; here it was simulated on one machine."),
        ("deepwalk", "DeepWalk, the centralised baseline: one party has the whole graph."),
    ],
)  # fmt: skip
def test_what_was_embedded_names_the_size_and_the_protocol(protocol: str, said: str, runs: dict[str, Path]) -> None:
    assert what(read_source(runs[protocol])) == f"A graph of 60 vertices and 180 edges was embedded by {said}"


def test_a_federation_is_named_with_its_holders_and_its_unknown_edges_are_left_out(
    network: Graph, tmp_path: Path
) -> None:
    run = federated(network, tmp_path, lost=20)
    rewrite(run, graph={**record_of(run)["graph"], "edges": None}, simulation=False)
    said = what(read_source(run))
    assert said.startswith("A graph of 60 vertices was embedded by ")
    assert said.endswith("; it ran in a federation of 2 holders, of which 1 dropped out.")
    assert "simulated" not in said


def test_a_protocol_that_is_not_installed_is_named_without_a_claim(network: Graph, tmp_path: Path) -> None:
    run = embed(network, tmp_path)
    rewrite(run, protocol="other", settings={**record_of(run)["settings"], "protocol": "other"}, privacy="who knows")
    rewrite(run, ledger=Ledger().as_dict())
    source = read_source(run)
    assert "the protocol other, which isn't installed here" in what(source)
    assert "whole graph" not in what(source)
    assert "proved" not in what_leaks(source, ())
    assert "“who knows”" in what_leaks(source, ())


def test_the_yardstick_is_guessing_the_most_frequent_labels(runs: dict[str, Path], labels_file: Path) -> None:
    source = read_source(runs["paper"], labels=str(labels_file))
    assert source.graph is not None
    assert source.graph.labels is not None
    truth = source.graph.labels.indicator.toarray() > 0
    shares = []
    for split in range(2):
        order = np.random.default_rng([0, split]).permutation(len(truth))
        train, test = truth[order[: len(truth) // 2]], truth[order[len(truth) // 2 :]]
        ranked = np.argsort(-train.sum(axis=0), kind="stable")
        # As many guesses as labels, so the share of right guesses is micro-F1.
        shares.append(sum(row[ranked[: row.sum()]].sum() for row in test) / test.sum())
    assert middle(scored(source).frequent).micro_f1 == pytest.approx(np.mean(shares))


def test_how_good_compares_with_the_baselines_and_with_no_vectors(runs: dict[str, Path], labels_file: Path) -> None:
    source = read_source(runs["paper"], labels=str(labels_file))
    baselines = read_baselines(source, (runs["deepwalk"],))
    quality = measure_quality(source, tuple(one.embedding for one in baselines), 2, 1, ignore_progress)
    said = how_good(quality, baselines)
    numbers = [middle(scores).micro_f1 for scores in (quality.scores, *quality.others, quality.frequent)]
    expected = f"of {numbers[0]:.2f}, against {numbers[1]:.2f} from the vectors of deepwalk and {numbers[2]:.2f} by "
    assert expected in said


@pytest.mark.parametrize(
    ("micro", "spread", "words"), [(0.4, 0.01, "the vectors say something"), (0.21, 0.05, "no advantage over guessing")]
)
def test_a_gain_within_the_spread_of_the_splits_is_no_gain(micro: float, spread: float, words: str) -> None:
    own, none = (Score(0.5, value, spread, 0.1, 0, 2, "known-count") for value in (micro, 0.2))
    assert words in how_good(Quality((own,), (none,)), ())


def test_without_scores_the_sentence_says_what_is_missing_and_how_to_get_it() -> None:
    said = how_good(Quality(absent=(Absent("The graph has no labels.", "fedwalk report run --labels FILE"),)), ())
    assert said == (
        "How good the vectors are can't be said: the graph has no labels; to judge them, run `fedwalk report run "
        "--labels FILE`."
    )


def test_what_is_proved_is_said_and_what_is_not_proved_is_not(
    network: Graph, network_file: Path, runs: dict[str, Path], tmp_path: Path
) -> None:
    private = read_source(embed(network, tmp_path / "ldp", origin=network_file, protocol="ldp", epsilon=2.0))
    said = what_leaks(private, ())
    assert said.startswith("It is proved that whether any one edge exists changes the chance of everything")
    assert "a factor of 7.39 at most (ε = 2)" in said
    for protocol in ("paper", "deepwalk"):
        said = what_leaks(read_source(runs[protocol]), ())
        assert said.startswith("Nothing limits what can be learned about an edge")
        assert "proved" not in said
        assert said.endswith("no attack has been tried yet.")


def test_a_nominal_epsilon_is_never_called_proved(runs: dict[str, Path]) -> None:
    source = read_source(runs["paper"])
    release = Release("counts", "each device", 1, "one neighbour", 2.0, 1, "noise", nominal=True)
    nominal = replace(source.record, ledger=Ledger(releases={"a": release}), privacy="none")
    assert "proved" not in what_leaks(replace(source, record=nominal), ())


@pytest.mark.parametrize("protocol", ["paper", "ldp"])
def test_an_audit_gives_the_share_of_the_edges_that_its_best_attack_named(
    protocol: str, network: Graph, network_file: Path, tmp_path: Path
) -> None:
    run = embed(network, tmp_path / "run", origin=network_file, protocol=protocol)
    audited = audit(network, Settings(**SETTINGS, protocol=protocol), canaries=300, repeats=50).as_dict()
    (run / "audit.json").write_text(json.dumps(audited), encoding="utf-8")
    source = read_source(run)
    record = read_audit(run)
    assert record is not None
    said = what_leaks(source, tuple(record["findings"]))
    assert said.startswith("In an audit, the server could name ")
    if protocol == "paper":
        assert "could name 100% of all edges, with 100% of the guesses right; nothing limits" in said
    else:
        assert "of the guesses right; it is proved" in said
