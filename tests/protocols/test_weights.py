"""Weighted graphs: walks step in proportion to the weights, and nothing else of `paper` changes."""

import itertools
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

import reference
from fedwalk.errors import FedWalkWarning
from fedwalk.estimators import FedWalk
from fedwalk.graph import Graph, social_network
from fedwalk.graph.build import from_edges
from fedwalk.graph.graph import edge_pairs
from fedwalk.run.execute import run
from fedwalk.settings import Settings
from helpers.simulation import GRAPHS

FALSE_ALARM = 1e-6
"""Chance that correct walks fail a chi-square test; the seeds are fixed, so it is settled once."""

SMALL: dict[str, Any] = {"num_walks": 3, "walk_length": 13, "dim": 4, "window": 2, "threads": 1}
WALKED: dict[str, dict[str, Any]] = {
    "deepwalk": {"protocol": "deepwalk"},
    "paper": {"protocol": "paper", "predict": 0.0, "encoder": "identity"},
}
"""Walks whose entries are the vertices that they visit."""


def weighted(graph: Graph, sigma: float = 1.5, factor: float = 1.0) -> Graph:
    """The same graph with random weights."""
    edges = edge_pairs(graph)
    weights = factor * np.random.default_rng(7).lognormal(sigma=sigma, size=len(edges))
    return from_edges(edges[:, 0], edges[:, 1], graph.names, weights=weights, labels=graph.labels)


def sequences(graph: Graph, **settings: Any) -> NDArray[np.int32]:
    return run(graph, Settings.from_mapping({**SMALL, "window": 1, "negative": 1, **settings})).walks.sequences


def steps(graph: Graph, protocol: str, **settings: Any) -> NDArray[np.int64]:
    """How often walks stepped from each vertex to each other one."""
    walks = sequences(graph, **WALKED[protocol], **settings)
    if protocol == "paper":
        # Here a sequence doesn't have its start vertex.
        walks = np.column_stack([np.arange(len(walks), dtype=np.int32) % graph.vertices, walks])
    counts = np.zeros((graph.vertices, graph.vertices), np.int64)
    for column, following in itertools.pairwise(walks.T):
        np.add.at(counts, (column, following), 1)
    return counts


def p_value(counts: NDArray[np.int64], chances: NDArray[np.float64]) -> float:
    """Pearson's test of all rows together; rare steps of a row are counted as one."""
    statistic, freedom = 0.0, 0
    for row, chance in zip(counts, chances, strict=True):
        assert not row[chance == 0].any()
        expected = row.sum() * chance
        rare = expected < 5
        seen, due = (np.append(a[~rare], a[rare].sum()) for a in (row, expected))
        seen, due = seen[due > 0], due[due > 0]
        statistic += float(((seen - due) ** 2 / due).sum())
        freedom += seen.size - 1
    return float(stats.chi2.sf(statistic, freedom))


@pytest.mark.parametrize("protocol", WALKED)
@pytest.mark.parametrize("length", [2, 20])
def test_steps_follow_the_weights(protocol: str, length: int) -> None:
    graph = weighted(GRAPHS["karate"])
    chances = reference.step_probabilities(graph)
    counts = steps(graph, protocol, walk_length=length, num_walks=4000 // length, seed=5)
    assert p_value(counts, chances) > FALSE_ALARM
    # The test would notice walks that ignore the weights.
    assert p_value(counts, reference.step_probabilities(GRAPHS["karate"])) < FALSE_ALARM


def test_a_burst_of_triad_begins_by_weight_and_goes_on_with_any_other_neighbour() -> None:
    edges = np.array([(0, 1), (0, 2), (0, 3), (0, 4), (1, 2), (2, 3), (3, 4)])
    graph = from_edges(edges[:, 0], edges[:, 1], np.arange(5), weights=np.array([1.0, 2, 3, 10, 1, 1, 1]))
    settings = {"predictor": "triad", "predict": 1.0, "burst": 2, "encoder": "identity"}
    walks = sequences(graph, walk_length=4, num_walks=5000, **settings)
    first, second = walks[::5, :2].T
    assert stats.chisquare(np.bincount(first)[1:], 5000 * np.array([1, 2, 3, 10]) / 16).pvalue > FALSE_ALARM
    after = np.bincount(second[first == 4], minlength=4)
    assert after[0] == 0
    assert stats.chisquare(after[1:]).pvalue > FALSE_ALARM


@pytest.mark.parametrize("name", list(GRAPHS))
@pytest.mark.parametrize("predict", [0.0, 0.5])
@pytest.mark.parametrize("predictor", ["tree", "degree", "triad"])
def test_stepwise_and_local_agree_bit_for_bit(name: str, predict: float, predictor: str) -> None:
    graph = weighted(GRAPHS[name], sigma=3)
    settings = {**SMALL, "predict": predict, "predictor": predictor, "burst": 3, "seed": 3}
    local, stepwise = (FedWalk(runtime=runtime, **settings) for runtime in ("local", "stepwise"))
    local.fit(graph)
    stepwise.fit(graph)
    assert local.walks_.sequences.tobytes() == stepwise.walks_.sequences.tobytes()
    assert local.transcript_ == stepwise.transcript_


RUNS: list[dict[str, Any]] = [
    {"protocol": "deepwalk"},
    {"predictor": "tree", "predict": 0.5},
    {"predictor": "triad", "predict": 0.5, "burst": 3},
    {"runtime": "stepwise"},
]


@pytest.mark.parametrize("settings", RUNS, ids=str)
@pytest.mark.parametrize("weight", [1.0, 0.3])
def test_equal_weights_give_the_walks_of_no_weights(settings: dict[str, Any], weight: float) -> None:
    plain = GRAPHS["communities"]
    equal = replace(plain, weights=np.full(plain.indices.size, weight))
    assert sequences(plain, **settings).tobytes() == sequences(equal, **settings).tobytes()


@pytest.mark.parametrize("settings", RUNS, ids=str)
def test_the_scale_of_the_weights_changes_nothing(settings: dict[str, Any]) -> None:
    graph, larger = (weighted(GRAPHS["communities"], factor=factor) for factor in (1.0, 2.0**40))
    assert sequences(graph, **settings).tobytes() == sequences(larger, **settings).tobytes()


@pytest.mark.parametrize("settings", RUNS[:3], ids=str)
def test_weighted_walks_do_not_depend_on_the_number_of_threads(settings: dict[str, Any]) -> None:
    # More walks than one task has.
    graph, many = weighted(GRAPHS["communities"]), {**settings, "num_walks": 150}
    assert sequences(graph, threads=1, **many).tobytes() == sequences(graph, threads=2, **many).tobytes()


def test_nothing_but_the_walks_depends_on_the_weights() -> None:
    graph = GRAPHS["communities"]
    plain, other = (FedWalk(**SMALL, predict=0) for _ in range(2))
    plain.fit(graph)
    other.fit(weighted(graph))
    assert plain.degree_vectors_.tobytes() == other.degree_vectors_.tobytes()
    assert plain.tree_.linkage.tobytes() == other.tree_.linkage.tobytes()
    assert plain.encoder_.cumulative.tobytes() == other.encoder_.cumulative.tobytes()
    # No message is larger, and there is none besides those of a graph without weights.
    assert plain.transcript_ == other.transcript_
    assert not np.array_equal(plain.walks_.sequences, other.walks_.sequences)


def test_a_spectral_embedding_uses_the_weights_and_not_their_scale() -> None:
    graph, larger = (weighted(GRAPHS["karate"], factor=factor) for factor in (1.0, 2.0**200))
    settings = Settings(protocol="deepwalk", embed="spectral", dim=16, threads=1)
    vectors, scaled = (run(g, settings).embedding.vectors for g in (graph, larger))
    assert vectors.tobytes() == scaled.tobytes()
    dense = np.zeros((34, 34))
    dense[np.repeat(np.arange(34), graph.degrees), graph.indices] = graph.weights
    root = np.sqrt(dense.sum(axis=1))
    values, leading = np.linalg.eigh(dense / np.outer(root, root))
    order = np.argsort(-np.abs(values))[:16]
    expected = np.abs(leading[:, order] * values[order]) * np.sqrt(34)
    np.testing.assert_allclose(np.abs(vectors), expected, rtol=0, atol=1e-4)


def test_a_protocol_that_ignores_weights_says_so() -> None:
    graph = social_network(vertices=40, mean_degree=6, communities=2, seed=1)
    settings = Settings(protocol="ldp", epsilon=4, dim=2, threads=1)
    with pytest.warns(FedWalkWarning, match="have weights, which protocol ldp doesn't use"):
        heavy = run(weighted(graph), settings).embedding
    assert np.array_equal(run(graph, settings).embedding.vectors, heavy.vectors)


@pytest.mark.parametrize("protocol", WALKED)
def test_protocols_that_use_weights_give_no_such_note(protocol: str, recwarn: pytest.WarningsRecorder) -> None:
    sequences(weighted(GRAPHS["karate"]), **WALKED[protocol])
    assert not any("weights" in str(warning.message) for warning in recwarn)
