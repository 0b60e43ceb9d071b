"""Degrees from reports: exact without noise, better than the unbiased estimate with it."""

import numpy as np
import pytest
from numpy.typing import NDArray

from fedwalk.graph import Graph, social_network
from fedwalk.protocols.ldp.degree_estimate import MIN_DEGREE, estimated_degrees
from fedwalk.protocols.ldp.mechanism import RandomisedResponse
from fedwalk.protocols.ldp.messages import ReportPlan
from helpers.tiny_devices import reports_of


@pytest.fixture(scope="module")
def graph() -> Graph:
    return social_network(1000, 20, seed=4)


def estimates(graph: Graph, epsilon: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The server's, and the unbiased one."""
    mechanism = RandomisedResponse.of(epsilon)
    counts = reports_of(graph, ReportPlan(graph.vertices, epsilon), seed=2).counts()
    unbiased = np.asarray((counts - mechanism.flip * (counts.size - 1)) / (mechanism.hit - mechanism.flip), np.float64)
    return estimated_degrees(counts, mechanism.hit, mechanism.flip), unbiased


@pytest.mark.parametrize(("epsilon", "share"), [(12.0, 0.98), (20.0, 1.0), (30.0, 1.0)])
def test_hardly_any_noise_leaves_the_degrees_as_they_are(graph: Graph, epsilon: float, share: float) -> None:
    # Within the grid: a fiftieth of the degree, or a tenth of an edge. A fake here and there is missed at 12.
    estimated = estimates(graph, epsilon)[0]
    near = np.abs(estimated - graph.degrees) <= np.maximum(graph.degrees / 50, 0.1)
    assert near.mean() >= share


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 2.0, 3.0])
def test_under_noise_the_estimate_is_nearer_than_the_unbiased_one(graph: Graph, epsilon: float) -> None:
    estimated, unbiased = (np.mean((guess - graph.degrees) ** 2) for guess in estimates(graph, epsilon))
    assert estimated < 0.7 * unbiased


@pytest.mark.parametrize("epsilon", [0.01, 1.0, 4.0])
def test_no_estimate_is_impossible_and_all_together_are_about_right(graph: Graph, epsilon: float) -> None:
    estimated = estimates(graph, epsilon)[0]
    assert estimated.min() >= MIN_DEGREE
    assert estimated.max() <= graph.vertices - 1
    if epsilon >= 1:
        assert estimated.mean() == pytest.approx(graph.degrees.mean(), rel=0.1)


def test_more_reports_mean_a_higher_estimate() -> None:
    counts = np.random.default_rng(0).integers(10, 60, 300)
    mechanism = RandomisedResponse.of(3.0)
    estimated = estimated_degrees(counts, mechanism.hit, mechanism.flip)
    assert (np.diff(estimated[np.argsort(counts, kind="stable")]) >= 0).all()


@pytest.mark.parametrize("counts", [[0, 0], [1, 1], [2, 1, 1]])
def test_the_smallest_federations_have_degrees_too(counts: list[int]) -> None:
    mechanism = RandomisedResponse.of(2.0)
    estimated = estimated_degrees(np.array(counts), mechanism.hit, mechanism.flip)
    assert np.isfinite(estimated).all()
    assert ((estimated >= MIN_DEGREE) & (estimated <= len(counts) - 1)).all()
