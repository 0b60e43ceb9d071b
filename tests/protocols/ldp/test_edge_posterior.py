"""The decoder: Bayes' rule written out, a prior that comes back from its own data, and calibration."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from fedwalk.graph import Graph, social_network
from fedwalk.protocols.ldp import edge_posterior as decoder
from fedwalk.protocols.ldp.edge_posterior import WeightedGraph, decode, paths, posterior
from fedwalk.protocols.ldp.edge_prior import fit_prior, logistic
from fedwalk.protocols.ldp.mechanism import RandomisedResponse
from fedwalk.protocols.ldp.messages import ReportPlan
from fedwalk.protocols.ldp.reports import Reports
from helpers.tiny_devices import graph_of, reports_of


@pytest.fixture(autouse=True)
def smaller_sample(monkeypatch: pytest.MonkeyPatch) -> None:
    """The sample that the prior is fitted to is meant for graphs a hundred times as large as these."""
    monkeypatch.setattr(decoder, "SAMPLE", 50_000)


@pytest.fixture(scope="module")
def graph() -> Graph:
    return social_network(1000, 20, seed=4)


def decoded(graph: Graph, epsilon: float, threads: int = 1, seed: int = 1) -> WeightedGraph:
    reports = reports_of(graph, ReportPlan(graph.vertices, epsilon), seed)
    return decode(reports, RandomisedResponse.of(epsilon), seed, threads)


def reality(graph: Graph, result: WeightedGraph) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Of every reported pair, once: its posterior, and whether it is an edge."""
    row = np.repeat(np.arange(graph.vertices), np.diff(result.indptr))
    edges = np.repeat(np.arange(graph.vertices), graph.degrees) * graph.vertices + graph.indices
    once = row < result.indices
    return result.weights[once].astype(np.float64), np.isin(row * graph.vertices + result.indices, edges)[once]


@given(st.floats(0, 1), st.sampled_from([0.1, 2.0, 8.0, 30.0]))
def test_the_posterior_is_bayes_rule(prior: float, epsilon: float) -> None:
    mechanism = RandomisedResponse.of(epsilon)
    reported = prior * mechanism.hit + (1 - prior) * mechanism.flip
    result = posterior(np.array([prior]), mechanism)[0]
    assert result == pytest.approx(prior * mechanism.hit / reported)
    if 1e-6 < prior < 1 - 1e-6 and result < 1 - 1e-6:
        odds = result / (1 - result) / (prior / (1 - prior))
        assert odds == pytest.approx(np.exp(epsilon), rel=1e-6)


# What the model misses, by bin; the seed is fixed. Noisier reports are harder to judge: at 4 about half are fakes.
@pytest.mark.parametrize(("epsilon", "tolerance"), [(4.0, 0.13), (6.0, 0.07), (8.0, 0.03)])
def test_pairs_are_real_about_as_often_as_the_posterior_says(graph: Graph, epsilon: float, tolerance: float) -> None:
    believed, real = reality(graph, decoded(graph, epsilon))
    for group in np.array_split(np.argsort(believed), 8):
        assert real[group].mean() == pytest.approx(believed[group].mean(), abs=tolerance)
    assert believed.sum() == pytest.approx(real.sum(), rel=0.03)


def test_edges_have_higher_posteriors_than_false_reports(graph: Graph) -> None:
    believed, real = reality(graph, decoded(graph, 4.0))
    above = (believed[real][:, None] > np.random.default_rng(0).choice(believed[~real], 500)).mean()
    assert above > 0.7


def test_the_prior_comes_back_from_reports_drawn_from_it() -> None:
    rng, line = np.random.default_rng(3), np.array([-2.0, 1.0, -0.5, 0.7, 0.3])
    mechanism = RandomisedResponse.of(3.0)
    rows = np.column_stack([np.ones(60_000), rng.standard_normal((60_000, 4))])
    truth = logistic(rows @ line)
    edge = rng.random(truth.size) < truth
    reported = rng.random(truth.size) < np.where(edge, mechanism.hit, mechanism.flip)
    others = rows[~reported]
    prior = fit_prior(rows[reported], 1, others, np.ones(len(others)), mechanism.hit, mechanism.flip)
    assert np.abs(prior(rows) - truth).max() < 0.05
    # Half of the reports standing for two each, and every third of the others for three, say much the same.
    thin = fit_prior(rows[reported][::2], 2, others[::3], np.full(len(others[::3]), 3.0), mechanism.hit, mechanism.flip)
    assert np.abs(thin(rows) - truth).max() < 0.08


@given(st.integers(2, 30), st.integers(0, 200), st.integers(0, 2**32 - 1))
def test_paths_are_those_of_the_dense_matrix_in_the_pairs_own_order(n: int, pairs: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    first, second = np.nonzero(np.triu(rng.random((n, n)) < 0.3, 1))
    result = WeightedGraph.of_pairs(n, first, second, rng.random(first.size))
    dense = np.zeros((n, n))
    dense[np.repeat(np.arange(n), np.diff(result.indptr)), result.indices] = result.weights
    assert np.array_equal(dense, dense.T)
    np.testing.assert_allclose(result.strengths, dense.sum(axis=1), rtol=1e-6)
    a, b = rng.integers(0, n, (2, pairs + 1))
    expected = (dense / np.maximum(dense.sum(axis=1), 1)) @ dense
    for threads in (1, 2):
        np.testing.assert_allclose(paths(result, a, b, threads), expected[a, b], rtol=1e-5, atol=1e-12)


def test_the_decoded_graph_has_both_directions_of_just_the_reported_pairs(graph: Graph) -> None:
    reports = reports_of(graph, ReportPlan(graph.vertices, 6.0), seed=1)
    result = decoded(graph, 6.0)
    owner, other = reports.pairs()
    row = np.repeat(np.arange(graph.vertices), np.diff(result.indptr))
    assert sorted(zip(row.tolist(), result.indices.tolist(), strict=True)) == sorted(
        [*zip(owner.tolist(), other.tolist(), strict=True), *zip(other.tolist(), owner.tolist(), strict=True)]
    )
    assert ((result.weights > 0) & (result.weights <= 1)).all()


def test_decoding_does_not_depend_on_threads(graph: Graph) -> None:
    assert decoded(graph, 6.0).weights.tobytes() == decoded(graph, 6.0, threads=2).weights.tobytes()


def test_without_a_report_there_is_an_empty_graph() -> None:
    result = decode(Reports(np.zeros(6, np.int64), np.empty(0, np.int32)), RandomisedResponse.of(2.0), 0)
    assert (result.vertices, result.indices.size) == (5, 0)


@pytest.mark.parametrize("vertices", [2, 5])
def test_if_every_pair_is_reported_degrees_alone_decide(vertices: int) -> None:
    everyone = {(a, b) for a in range(vertices) for b in range(a)}
    result = decoded(graph_of(vertices, everyone), 30.0)
    assert result.indices.size == vertices * (vertices - 1)
    assert (result.weights > 0.99).all()


def test_isolated_vertices_decode_like_any_others() -> None:
    result = decoded(graph_of(40, {(0, 1), (1, 2), (0, 2), (2, 3)}), 12.0)
    assert result.vertices == 40
    assert np.isfinite(result.weights).all()
