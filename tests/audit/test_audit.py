"""The whole audit: every attack of a protocol, its observer, and the two epsilons."""

import json
from dataclasses import replace

import numpy as np
import pytest

from conftest import SETTINGS
from fedwalk.attacks.canaries import CANARY_ATTACK
from fedwalk.attacks.finding import Finding
from fedwalk.audit import Audit, audit, metrics_text
from fedwalk.errors import SettingsError
from fedwalk.graph import Graph, load_graph
from fedwalk.graph.build import from_edges
from fedwalk.settings import Settings
from helpers.simulation import GRAPHS

OBSERVERS = {
    "paper": {
        "matrix rows": "server", "dissimilarity": "device", "first entries": "server", "whole walks": "server",
        "top steps": "server", "contacts": "network", "top contacts": "network", "traffic volume": "network",
        "canaries": "server", "close vectors": "anyone",
    },
    "ldp": {
        "reported pairs": "server", "most likely": "server", "contacts": "network", "canaries": "server",
        "one pair again": "server", "close vectors": "anyone",
    },
    "deepwalk": {"close vectors": "anyone"},
}  # fmt: skip


def small(graph: Graph, protocol: str, **settings: object) -> Audit:
    chosen = Settings.from_mapping({**SETTINGS, "protocol": protocol, **settings})
    return audit(graph, chosen, canaries=1_000, repeats=200)


@pytest.mark.parametrize("protocol", OBSERVERS)
def test_every_attack_has_its_observer_its_success_and_a_baseline(protocol: str, network: Graph) -> None:
    found = small(network, protocol)
    assert {finding.attack: finding.observer for finding in found.findings} == OBSERVERS[protocol]
    for finding in found.findings:
        assert finding.protocol == protocol
        assert finding.sees
        assert finding.sentence.endswith(".")
        assert metrics_text(finding.success) != "–"
        if (finding.attack, protocol) != ("contacts", "ldp"):
            assert metrics_text(finding.baseline) != "–"


def test_the_paper_gives_every_edge_away_and_refutes_its_epsilon(network: Graph) -> None:
    found = small(network, "paper", epsilon=2)
    assert found.findings[0].success == {"recall": 1.0, "precision": 1.0, "guesses": network.edges}
    assert found.epsilon is not None
    assert found.epsilon > 2
    assert found.as_dict()["epsilon"] == {"at_least": found.epsilon, "ledger": "unbounded"}


def test_ldp_stays_within_its_ledger(network: Graph) -> None:
    """At 95% confidence: a correct protocol would fail this for at most one of twenty seeds; the seed is fixed."""
    found = small(network, "ldp", epsilon=3)
    assert found.epsilon is not None
    assert 0.8 * 3 < found.epsilon <= 3
    assert found.as_dict()["epsilon"]["ledger"] == 3.0


def test_the_same_run_gives_the_same_record(network: Graph) -> None:
    first, second = (json.dumps(small(network, "ldp").as_dict(), allow_nan=False) for _ in range(2))
    assert first == second


@pytest.mark.parametrize("protocol", OBSERVERS)
@pytest.mark.parametrize("name", ["pair", "star", "triangle"])
def test_tiny_and_complete_graphs_can_be_audited(protocol: str, name: str) -> None:
    graph = {**GRAPHS, "triangle": load_graph([[0, 1], [1, 2], [2, 0]])}[name]
    json.dumps(small(graph, protocol).as_dict(), allow_nan=False)


def test_isolated_vertices_are_left_out_where_they_take_no_part() -> None:
    first, second = np.array([[0, 2], [2, 5], [5, 0], [5, 7]]).T
    graph = from_edges(first, second, np.arange(9))
    with pytest.warns(UserWarning, match="isolated vertices take no part"):
        found = small(graph, "paper")
    assert found.findings[0].success["recall"] == 1.0
    assert found.findings[1].success["victims"] == 1


def test_counts_below_one_are_refused(network: Graph) -> None:
    with pytest.raises(SettingsError, match="canaries = 0: must be at least 1"):
        audit(network, Settings(), canaries=0)
    with pytest.raises(SettingsError, match="repeats = -1: must be at least 1"):
        audit(network, Settings(), repeats=-1)


def test_the_measured_epsilon_is_that_of_the_canaries_if_they_measured_one(network: Graph) -> None:
    done = small(network, "deepwalk")
    assert done.epsilon is None
    attack = Finding(CANARY_ATTACK, "deepwalk", "server", (), {"guesses": 1.0}, {}, "")
    assert replace(done, findings=(attack,)).epsilon is None
    assert replace(done, findings=(replace(attack, success={"epsilon": 2.5}),)).epsilon == 2.5
