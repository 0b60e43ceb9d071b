"""Runs side by side: the same graph, the same splits, and a row for each."""

import json
from pathlib import Path

import pytest

from conftest import SETTINGS
from fedwalk.audit import audit
from fedwalk.errors import InputError
from fedwalk.graph import Graph, load_graph
from fedwalk.report.audit import read_audit, share_text
from fedwalk.report.compare import FOUND, HEAD, compare_section, read_baselines
from fedwalk.report.quality import measure_quality, middle
from fedwalk.report.source import read_source
from fedwalk.run.stages import ignore_progress
from fedwalk.settings import Settings
from helpers.pages import quick
from helpers.run_folders import embed, federated


def test_each_run_has_a_row_with_its_own_numbers(
    runs: dict[str, Path], network: Graph, labels_file: Path, tmp_path: Path
) -> None:
    private = embed(network, tmp_path / "private", protocol="ldp", epsilon=4.0)
    source = read_source(runs["paper"], labels=str(labels_file))
    baselines = read_baselines(source, (runs["deepwalk"], private))
    quality = measure_quality(source, tuple(one.embedding for one in baselines), 2, 1, ignore_progress)
    table = compare_section(source, baselines, quality, None).table
    assert table is not None
    rows = [dict(zip(HEAD, row, strict=True)) for row in table.rows]
    assert [row["run"] for row in rows] == ["paper", "deepwalk", "private"]
    assert [row["protocol"] for row in rows] == ["paper", "deepwalk", "ldp"]
    assert [row["ε per edge"] for row in rows] == ["unbounded", "unbounded", "4"]
    assert [row["privacy"] for row in rows] == [
        "unbounded", "none", "local differential privacy for every edge with ε = 4, proved",
    ]  # fmt: skip
    assert rows[0]["hops per walk"] == f"{source.record.walks.hops_per_walk:.2f}"
    assert rows[1]["hops per walk"] == "–"
    for row, scores in zip(rows, (quality.scores, *quality.others), strict=True):
        assert row["micro-F1"].startswith(f"{middle(scores).micro_f1:.4f} ±")


def test_a_run_compared_with_itself_has_the_same_scores(runs: dict[str, Path], labels_file: Path) -> None:
    source = read_source(runs["paper"], labels=str(labels_file))
    quality = measure_quality(source, (source.embedding,), 2, 1, ignore_progress)
    assert quality.others == (quality.scores,)


def test_without_labels_the_runs_are_still_compared(runs: dict[str, Path]) -> None:
    text = quick(runs["paper"], baselines=[runs["deepwalk"]])
    assert "There is no F1: the section on F1 says why." in text
    assert '<section id="compare"' in text
    assert '<section id="compare"' not in quick(runs["paper"])


def test_the_edges_that_audits_found_are_a_column_once_each_run_is_audited(network: Graph, tmp_path: Path) -> None:
    runs = {
        protocol: embed(network, tmp_path / protocol, protocol=protocol) for protocol in ("paper", "ldp", "deepwalk")
    }

    def compared() -> tuple[tuple[str, ...], list[str], str]:
        source = read_source(runs["paper"])
        baselines = read_baselines(source, (runs["ldp"], runs["deepwalk"]))
        quality = measure_quality(source, tuple(one.embedding for one in baselines), None, 1, ignore_progress)
        section = compare_section(source, baselines, quality, read_audit(runs["paper"]))
        assert section.table is not None
        return section.table.head, [row[-1] for row in section.table.rows], section.text[0]

    audits = {}
    for protocol in ("paper", "ldp"):
        head, _, said = compared()
        assert head == HEAD
        assert said.endswith("audit each run.")
        audits[protocol] = audit(network, Settings(**SETTINGS, protocol=protocol), canaries=300, repeats=50).as_dict()
        (runs[protocol] / "audit.json").write_text(json.dumps(audits[protocol]), encoding="utf-8")
    head, cells, said = compared()
    assert head == (*HEAD, FOUND)
    assert said.endswith("the best attack of the run's audit named.")
    assert cells[0] == "100%, with 100% of the guesses right"
    found = [one["success"] for one in audits["ldp"]["findings"] if one["success"].get("recall")]
    assert cells[1] in [
        f"{share_text(s['recall'])}, with {share_text(s['precision'])} of the guesses right" for s in found
    ]
    # A baseline in which one party has the graph needs no audit.
    assert cells[2] == "100%: one party has the graph"
    assert FOUND in quick(runs["paper"], baselines=[runs["ldp"]])


def test_runs_of_another_graph_are_refused(runs: dict[str, Path], network: Graph, tmp_path: Path) -> None:
    other = embed(load_graph([[0, 1], [1, 2], [2, 0]]), tmp_path / "other")
    with pytest.raises(InputError, match=r"other: isn't a run of the graph of .*its fingerprint differs"):
        quick(runs["paper"], baselines=[other])


def test_a_federation_is_not_compared_with_a_simulation_of_an_unknown_graph(
    runs: dict[str, Path], tmp_path: Path
) -> None:
    unknown = federated(load_graph([[0, 1], [1, 2], [2, 0]]), tmp_path / "unknown", lost=1)
    with pytest.raises(InputError, match="only one of them was made by a federation"):
        quick(runs["paper"], baselines=[unknown])
