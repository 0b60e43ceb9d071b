"""The spectral embedding against numpy's eigenvectors of the same matrix, written out."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray
from scipy.sparse import csr_array

from fedwalk.embedding.spectral import TOLERANCE, spectral

Matrix = NDArray[np.float32]
matrices = st.integers(2, 12).flatmap(
    lambda n: arrays(np.float32, (n, n), elements=st.sampled_from([0.0, 0.0, 0.5, 1.0]) | st.floats(0.125, 1, width=32))
)


def embed(dense: Matrix, dim: int, seed: int = 0) -> NDArray[np.float32]:
    rows = csr_array(dense)
    return spectral(rows.indptr.astype(np.int64), rows.indices.astype(np.int32), rows.data, dim=dim, seed=seed)


def symmetric(entries: Matrix) -> Matrix:
    return np.asarray(np.triu(entries, 1) + np.triu(entries, 1).T)


def normalised(dense: Matrix) -> NDArray[np.float64]:
    """D^−½ W D^−½, with nothing in an empty row."""
    strength = dense.sum(axis=1, dtype=np.float64)
    scale = np.divide(1.0, np.sqrt(strength), out=np.zeros(strength.size), where=strength > 0)
    return np.asarray(scale[:, None] * dense * scale)


def leading(dense: Matrix) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    values, vectors = np.linalg.eigh(normalised(dense))
    order = np.argsort(-np.abs(values))
    return values[order], vectors[:, order]


def blocks(n: int, seed: int) -> Matrix:
    """Four groups of unequal density, so that the leading eigenvalues stand apart."""
    rng, group = np.random.default_rng(seed), np.arange(n) % 4
    dense = (rng.random((n, n)) < np.where(group[:, None] == group, 0.2 + 0.15 * group, 0.02)).astype(np.float32)
    return symmetric(dense * (0.5 + rng.random((n, n)).astype(np.float32)))


def full(n: int, seed: int) -> Matrix:
    """Every pair joined, by unequal weights: no two eigenvalues are equal."""
    return symmetric(np.random.default_rng(seed).uniform(0.1, 1, (n, n)).astype(np.float32))


@given(matrices, st.integers(5, 16))
def test_columns_are_as_long_as_the_leading_eigenvalues_are_large(entries: Matrix, dim: int) -> None:
    dense = symmetric(entries)
    embedded, n = embed(dense, dim), len(dense)
    values = np.zeros(dim)
    values[: min(n, dim)] = np.abs(leading(dense)[0])[:dim]
    np.testing.assert_allclose(np.linalg.norm(embedded, axis=0) / np.sqrt(n), values, atol=2e-5)


@given(matrices)
def test_all_dimensions_together_are_the_square_of_the_matrix(entries: Matrix) -> None:
    # Σ λ² u uᵀ: holds whatever basis was chosen where eigenvalues are equal.
    dense = symmetric(entries)
    embedded = embed(dense, len(dense)).astype(np.float64)
    matrix = normalised(dense)
    np.testing.assert_allclose(embedded @ embedded.T / len(dense), matrix @ matrix, atol=2e-5)


def test_vectors_are_numpys_up_to_sign() -> None:
    dense = full(11, seed=3)
    values, vectors = leading(dense)
    embedded = embed(dense, 5)
    expected = vectors[:, :5] * np.abs(values[:5]) * np.sqrt(11)
    signs = np.sign((embedded * expected).sum(axis=0))
    np.testing.assert_allclose(embedded, expected * signs, atol=1e-4)


def test_the_iterative_solver_finds_the_same_space_within_its_tolerance() -> None:
    dense, dim = blocks(160, seed=0), 4
    values, vectors = leading(dense)
    embedded = embed(dense, dim)
    lengths = np.linalg.norm(embedded, axis=0)
    np.testing.assert_allclose(lengths / np.sqrt(160), np.abs(values[:dim]), rtol=TOLERANCE)
    cosines = np.abs(((embedded / lengths) * vectors[:, :dim]).sum(axis=0))
    assert (cosines > 1 - TOLERANCE).all()


@pytest.mark.parametrize(("n", "dim"), [(20, 16), (160, 4)])
def test_vertices_without_weight_get_zero_and_the_others_do_not(n: int, dim: int) -> None:
    dense = full(n, seed=1)
    dense[[2, 7]] = dense[:, [2, 7]] = 0
    embedded = embed(dense, dim)
    assert not embedded[[2, 7]].any()
    assert np.delete(embedded, [2, 7], axis=0).any(axis=1).all()


@pytest.mark.parametrize(("n", "dim"), [(6, 4), (40, 4)])
def test_a_graph_without_any_weight_gets_zeros(n: int, dim: int) -> None:
    assert not embed(np.zeros((n, n), np.float32), dim).any()


def test_a_graph_of_low_rank_gets_the_same_vectors_every_time() -> None:
    star = np.zeros((40, 40), np.float32)
    star[0, 1:] = star[1:, 0] = 1
    assert embed(star, 4).tobytes() == embed(star, 4).tobytes()


def test_dimensions_beyond_the_vertices_are_zero() -> None:
    dense = full(6, seed=2)
    embedded = embed(dense, 10)
    assert embedded.shape == (6, 10)
    assert not embedded[:, 6:].any()
    assert np.array_equal(embedded[:, :6], embed(dense, 6))


@pytest.mark.parametrize(("n", "dim"), [(20, 16), (160, 4)])
def test_the_same_graph_and_seed_give_the_same_bits_and_the_unit_of_weights_is_free(n: int, dim: int) -> None:
    dense = blocks(n, seed=4) + full(n, seed=4) * np.float32(0.1)
    embedded = embed(dense, dim, seed=9)
    assert embedded.tobytes() == embed(dense, dim, seed=9).tobytes()
    np.testing.assert_allclose(embedded, embed(dense * np.float32(0.25), dim, seed=9), atol=1e-4)


def test_each_columns_largest_entry_is_positive() -> None:
    embedded = embed(blocks(160, seed=5), 6)
    assert (embedded[np.abs(embedded).argmax(axis=0), np.arange(6)] > 0).all()
