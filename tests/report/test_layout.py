"""Two dimensions out of many: principal components, t-SNE, samples and nearest vertices."""

import numpy as np
import pytest
from sklearn.decomposition import PCA

from fedwalk.embedding import Embedding
from fedwalk.report.map.layout import lay_out, nearest, principal, rows_to_draw, unit


def clouds(vertices: int, dim: int = 8) -> np.ndarray[tuple[int, int], np.dtype[np.float32]]:
    rng = np.random.default_rng(3)
    centres = rng.normal(size=(3, dim)) * 4
    return (centres[np.arange(vertices) % 3] + rng.normal(size=(vertices, dim))).astype(np.float32)


def test_principal_components_are_those_of_the_textbook() -> None:
    vectors = clouds(50)
    expected = PCA(3, svd_solver="full").fit_transform(vectors.astype(np.float64))
    assert np.allclose(np.abs(principal(vectors, 3)), np.abs(expected), atol=1e-4)


def test_fewer_dimensions_than_asked_for_are_filled_with_zeros() -> None:
    assert principal(clouds(5, 1), 2)[:, 1].tolist() == [0.0] * 5


@pytest.mark.parametrize("method", ["tsne", "pca"])
@pytest.mark.parametrize("vertices", [2, 3, 11, 12, 40])
@pytest.mark.parametrize("dim", [1, 2, 8])
def test_any_number_of_vertices_gets_finite_places(method: str, vertices: int, dim: int) -> None:
    places = lay_out(clouds(vertices, dim), method)
    assert places.shape == (vertices, 2)
    assert np.isfinite(places).all()


def test_equal_vectors_have_a_place_too() -> None:
    assert lay_out(np.ones((30, 4), np.float32), "tsne").tolist() == [[0.0, 0.0]] * 30


def test_tsne_keeps_clouds_apart_and_is_the_same_every_time() -> None:
    vectors = clouds(60)
    places = lay_out(vectors, "tsne")
    own = np.array([places[i::3].mean(axis=0) for i in range(3)])
    distances = np.linalg.norm(places[:, None] - own[None], axis=2)
    assert (distances.argmin(axis=1) == np.arange(60) % 3).mean() > 0.95
    assert places.tobytes() == lay_out(vectors, "tsne").tobytes()


def test_zero_vectors_are_not_drawn_and_large_graphs_are_sampled() -> None:
    vectors = clouds(100)
    vectors[[4, 70]] = 0
    assert rows_to_draw(vectors).tolist() == [i for i in range(100) if i not in (4, 70)]
    sample = rows_to_draw(vectors, max_rows=10)
    assert sample.size == 10
    assert sorted(set(sample.tolist()) - {4, 70}) == sample.tolist() == rows_to_draw(vectors, max_rows=10).tolist()


def test_nearest_are_the_embeddings_most_similar() -> None:
    vectors = clouds(700)
    embedding = Embedding(np.arange(700), vectors)
    rows, cosines = nearest(vectors, 5)
    for vertex in range(0, 700, 23):
        expected = embedding.most_similar(vertex, 5)
        assert rows[vertex].tolist() == [name for name, _ in expected]
        assert cosines[vertex] == pytest.approx([cosine for _, cosine in expected], abs=1e-5)


def test_two_vertices_have_one_neighbour_each() -> None:
    assert nearest(clouds(2), 5)[0].tolist() == [[1], [0]]
    assert nearest(clouds(1), 5)[0].shape == (1, 0)


@pytest.mark.parametrize("size", [1, 1e-30, 1e30])
def test_directions_have_length_one(size: float) -> None:
    assert np.linalg.norm(unit(clouds(9) * np.float32(size)), axis=1) == pytest.approx(1, abs=1e-6)
