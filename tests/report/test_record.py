"""The sections that run.json alone can fill."""

from pathlib import Path

from fedwalk.graph import Graph
from fedwalk.report.content import Card
from fedwalk.report.record import cards
from fedwalk.report.source import read_source
from helpers.run_folders import embed, rewrite


def test_a_card_shows_the_note_of_a_fact_below_its_number(network: Graph, tmp_path: Path) -> None:
    run = embed(network, tmp_path, protocol="ldp")
    rewrite(run, details={"reported_pairs": 1200, "expected_edges": 120.0})
    note = "about 10% of them edges; too few for good vectors; use a larger epsilon (docs/privacy.md)"
    assert Card("reported pairs", "1,200", note) in cards(read_source(run))
    rewrite(run, details={"reported_pairs": 1200, "expected_edges": 600.0})
    assert Card("reported pairs", "1,200", "about 50% of them edges") in cards(read_source(run))


def test_hops_have_a_card_if_walks_were_sent(network: Graph, tmp_path: Path) -> None:
    shown = {
        protocol: [card.name for card in cards(read_source(embed(network, tmp_path / protocol, protocol=protocol)))]
        for protocol in ("paper", "deepwalk")
    }
    assert "hops per walk" in shown["paper"]
    assert "hops per walk" not in shown["deepwalk"]
