"""The page of a run whose protocol is from another package: what it shows is true, whatever became of that package."""

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fedwalk.errors import RunFolderError
from fedwalk.graph import Graph
from fedwalk.protocols import registry
from fedwalk.protocols.base import Fact
from fedwalk.protocols.registry import find_protocol, register
from fedwalk.protocols.stages import SKIPGRAM
from fedwalk.report.degrees import degree_section
from fedwalk.report.record import again, cards, message_section, settings_cards
from fedwalk.report.source import read_source
from fedwalk.report.verdict import what, what_leaks
from fedwalk.report.walks import walk_section
from fedwalk.settings import Setting
from helpers.pages import quick
from helpers.run_folders import embed, rewrite


@pytest.fixture(autouse=True)
def _nothing_stays_registered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "_registered", {})


def random_vectors(graph: Graph, settings: Any, stages: Any) -> Any:
    draw = np.random.default_rng(0).normal(size=(graph.vertices, settings.dim)).astype(np.float32)
    return stages.run(SKIPGRAM, lambda on_progress: draw)


def facts(details: Mapping[str, float]) -> list[Fact]:
    return [Fact("draws", f"{details['draws']:.0f}")]


def add_protocol(**changes: Any) -> None:
    own = {"name": "other", "title": "Protocol other", "centralised": False, "simulate": random_vectors,
           "settings": (Setting("share", 0.5, "a share"),), "describe": lambda stages: {"draws": 7},
           "facts": facts, "isolated_take_part": True}  # fmt: skip
    register(replace(find_protocol("deepwalk"), **{**own, **changes}))


def test_a_protocol_without_messages_or_walks_is_not_taken_for_a_baseline(network: Graph, tmp_path: Path) -> None:
    add_protocol()
    source = read_source(embed(network, tmp_path / "run", protocol="other"))
    assert [absent.reason for absent in message_section(source).absent] == [
        "The run counted no messages: other declares none."
    ]
    assert [absent.reason for absent in walk_section(source).absent] == ["The run counted no walks."]


def test_the_verdict_claims_only_what_the_protocol_declares(network: Graph, tmp_path: Path) -> None:
    add_protocol(releases=lambda settings: ())
    source = read_source(embed(network, tmp_path / "run", protocol="other"))
    assert what(source) == (
        "A graph of 60 vertices and 180 edges was embedded by Protocol other: no party is given the whole graph; here "
        "it was simulated on one machine."
    )
    # Without a release in the ledger its total is 0, which is no proof.
    assert source.record.ledger.per_edge == 0
    assert "proved" not in what_leaks(source, ())
    add_protocol(centralised=True)
    assert "one party has the whole graph" in what(source)


def test_the_default_of_a_protocols_own_setting_is_shown_where_it_differs(network: Graph, tmp_path: Path) -> None:
    add_protocol()
    for share, note in ((0.5, ""), (0.25, "default 0.5")):
        source = read_source(embed(network, tmp_path / str(share), protocol="other", share=share))
        assert {card.name: card.note for card in settings_cards(source)}["share"] == note
        assert ("--share 0.25" in again(source)) == (share == 0.25)
        assert "--protocol other" in again(source)


def test_the_command_of_a_federated_run_names_its_protocol(network: Graph, tmp_path: Path) -> None:
    run = embed(network, tmp_path / "run")
    assert "--protocol" not in again(read_source(run))
    rewrite(run, federation={"holders": {}, "lost": {}})
    assert again(read_source(run)).startswith("fedwalk federate run FEDERATION -o again --protocol paper ")


def test_the_page_of_a_run_outlives_its_package(network: Graph, network_file: Path, tmp_path: Path) -> None:
    add_protocol()
    run = embed(network, tmp_path / "run", origin=network_file, protocol="other")
    assert "draws" in [card.name for card in cards(read_source(run))]
    add_protocol(describe=lambda stages: {}, facts=lambda details: [Fact("renamed", f"{details['renamed']}")])
    assert "<title>run</title>" in quick(run)
    registry._registered.clear()
    assert "Protocol other: a simulation in one process" in quick(run)
    text = " ".join(degree_section(read_source(run)).text)
    assert f"mean degree is {network.degrees.mean():,.1f}" in text


@pytest.mark.parametrize("findings", [[{}], {"a": 1}, [1], [{"attack": "a", "observer": "b", "sees": 1}]])
def test_a_damaged_audit_is_named(findings: object, network: Graph, tmp_path: Path) -> None:
    run = embed(network, tmp_path / "run", protocol="deepwalk")
    (run / "audit.json").write_text(json.dumps({"findings": findings, "epsilon": {}, "confidence": 0.95}))
    with pytest.raises(
        RunFolderError, match=r"audit\.json: isn't what fedwalk wrote .* Make it again with `fedwalk audit"
    ):
        quick(run)
