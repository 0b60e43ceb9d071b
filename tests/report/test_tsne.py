"""The layout's t-SNE: its parts against the formulas, computed pair by pair."""

import numpy as np
import pytest

from fedwalk.kernels.layout import attract
from fedwalk.report.map.layout import nearest, unit
from fedwalk.report.map.tsne import EARLY, LATE, Repulsion, affinities, tsne


def points(count: int, width: float) -> np.ndarray[tuple[int, int], np.dtype[np.float32]]:
    return (np.random.default_rng(count).normal(size=(count, 2)) * width).astype(np.float32)


def directions(count: int) -> np.ndarray[tuple[int, int], np.dtype[np.float32]]:
    return unit(np.random.default_rng(7).normal(size=(count, 6)).astype(np.float32))


@pytest.mark.parametrize(("count", "width"), [(12, 60.0), (300, 1.0), (300, 25.0)])
def test_the_repulsion_on_the_grid_is_close_to_that_between_all_pairs(count: int, width: float) -> None:
    places = points(count, width)
    apart = (places[:, None] - places[None]).astype(np.float64)
    near = 1 / (1 + (apart**2).sum(axis=2))
    expected = (apart * near[:, :, None] ** 2).sum(axis=1) / (near.sum() - count)
    pushed = np.empty_like(places)
    Repulsion()(places, pushed)
    assert np.linalg.norm(pushed - expected) < 0.1 * np.linalg.norm(expected)


def test_a_grid_that_has_grown_still_serves_smaller_layouts() -> None:
    repulsion, fresh = Repulsion(), Repulsion()
    wide, narrow = np.empty((50, 2), np.float32), np.empty((50, 2), np.float32)
    repulsion(points(50, 40.0), wide)
    repulsion(points(50, 2.0), wide)
    fresh(points(50, 2.0), narrow)
    assert np.allclose(wide, narrow, atol=1e-4 * np.abs(narrow).max())


def test_the_attraction_is_the_sum_over_the_entries_of_a_row() -> None:
    places, cosines = points(40, 3.0), directions(40)
    weights = affinities(*nearest(cosines, 15), 5.0)
    pulled = np.empty_like(places)
    attract(places, weights.indptr.astype(np.int64), weights.indices.astype(np.int32),
            weights.data.astype(np.float32), pulled)  # fmt: skip
    apart = (places[None] - places[:, None]).astype(np.float64)
    near = 1 / (1 + (apart**2).sum(axis=2))
    assert np.allclose(pulled, ((weights.toarray() * near)[:, :, None] * apart).sum(axis=1), atol=1e-6)


@pytest.mark.parametrize("perplexity", [2.0, 10.0])
def test_affinities_are_symmetric_and_have_the_perplexity_asked_for(perplexity: float) -> None:
    vectors = directions(80)
    rows, cosines = nearest(vectors, 60)
    both = affinities(rows, cosines, perplexity).toarray()
    assert both.sum() == pytest.approx(1)
    assert np.allclose(both, both.T)
    # The textbook's conditional probabilities, with each width found by a fine search.
    squared = 2 - 2 * cosines.astype(np.float64)
    expected = np.zeros((80, 80))
    for i in range(80):
        widths = np.geomspace(0.01, 1000, 40_000)[:, None]
        chances = np.exp(-widths * (squared[i] - squared[i].min()))
        chances /= chances.sum(axis=1, keepdims=True)
        entropy = -(chances * np.log(np.maximum(chances, 1e-300))).sum(axis=1)
        expected[i, rows[i]] = chances[np.abs(entropy - np.log(perplexity)).argmin()]
    assert np.allclose(both, (expected + expected.T) / 160, atol=1e-4)


def test_every_iteration_is_reported() -> None:
    seen: list[tuple[int, int]] = []
    weights = affinities(*nearest(directions(30), 9), 3.0)
    tsne(weights, points(30, 1e-4).astype(np.float64), lambda done, total: seen.append((done, total)))
    assert seen == [(i + 1, EARLY + LATE) for i in range(EARLY + LATE)]
