"""Alias tables hold just the weights; walks keep to the rows, visit by visit."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray
from scipy import stats
from scipy.sparse import csr_array

from fedwalk.kernels.ldp.weighted_walk import FAN, Rows, alias_rows, weighted_walks

FALSE_ALARM = 1e-3
"""Chance that correct walks fail a statistical test; the seeds are fixed, so it is settled once."""

VISIT = FAN + 1
Matrix = NDArray[np.float32]
matrices = arrays(
    np.float32, (8, 8), elements=st.sampled_from([0.0, 0.0, 1.0]) | st.floats(1 / 1024, 1.0, width=32)
)  # fmt: skip


def tables(dense: Matrix) -> Rows:
    rows = csr_array(dense)
    return alias_rows(rows.indptr.astype(np.int64), rows.indices.astype(np.int32), rows.data)


def distribution(rows: Rows, vertex: int, vertices: int) -> NDArray[np.float64]:
    """What a draw from the vertex's row gives: every place alike, then its cut."""
    shares = np.zeros(vertices)
    begin, end = rows.indptr[vertex], rows.indptr[vertex + 1]
    for j in range(begin, end):
        shares[rows.indices[j]] += float(rows.cut[j]) / (end - begin)
        shares[rows.alias[j]] += (1 - float(rows.cut[j])) / (end - begin)
    return shares


def walked(dense: Matrix, walks: int, length: int, seed: int = 0, begin: int = 0) -> NDArray[np.int32]:
    out = np.empty((walks - begin, length), np.int32)
    weighted_walks(tables(dense), seed, begin, walks, out)
    return out


@given(matrices)
def test_a_table_gives_each_entry_its_share_of_the_row(dense: Matrix) -> None:
    rows = tables(dense)
    assert ((rows.cut >= 0) & (rows.cut <= 1)).all()
    for v in np.flatnonzero(dense.any(axis=1)):
        expected = dense[v].astype(np.float64) / dense[v].sum(dtype=np.float64)
        np.testing.assert_allclose(distribution(rows, int(v), 8), expected, atol=1e-6)


def test_a_table_of_many_unequal_entries_is_exact_too() -> None:
    dense = (np.random.default_rng(0).random((3, 2000)) ** 8).astype(np.float32)
    rows = tables(dense)
    for v in range(3):
        expected = dense[v].astype(np.float64) / dense[v].sum(dtype=np.float64)
        np.testing.assert_allclose(distribution(rows, v, 2000), expected, atol=1e-9)


def test_an_entry_without_weight_is_never_drawn_unless_there_is_nothing_else() -> None:
    indptr, indices = np.array([0, 3, 5, 5]), np.array([0, 1, 2, 0, 2], np.int32)
    rows = alias_rows(indptr, indices, np.array([0.5, 0, 0.25, 0, 0], np.float32))
    assert distribution(rows, 0, 3).tolist() == pytest.approx([2 / 3, 0, 1 / 3])
    assert distribution(rows, 0, 3)[1] == 0
    assert distribution(rows, 1, 3).tolist() == [0.5, 0, 0.5]


@given(matrices, st.integers(0, 2**63 - 1), st.integers(1, 35))
def test_every_step_is_along_a_row_and_an_empty_row_stays(dense: Matrix, seed: int, length: int) -> None:
    allowed = [np.flatnonzero(row).tolist() or [v] for v, row in enumerate(dense)]
    for walk, entries in enumerate(walked(dense, 20, length, seed).tolist()):
        assert entries[0] == walk % 8
        for at in range(0, length, VISIT):
            assert set(entries[at + 1 : at + VISIT + 1]) <= set(allowed[entries[at]])


def test_draws_follow_the_weights() -> None:
    dense = np.zeros((5, 5), np.float32)
    chances = np.array([0.1, 0.2, 0.3, 0.4])
    dense[0, 1:] = chances
    dense[1:, 0] = 1.0
    entries = walked(dense, 5, 40_000)[0].reshape(-1, VISIT)
    assert (entries[1::2, 1:] == 0).all()
    for drawn in (entries[::2, 1:].ravel(), entries[1::2, 0]):
        counts = np.bincount(drawn, minlength=5)[1:]
        assert stats.chisquare(counts, chances * drawn.size).pvalue > FALSE_ALARM


def test_a_walk_does_not_depend_on_the_range_it_is_computed_in() -> None:
    dense = np.random.default_rng(1).random((8, 8)).astype(np.float32)
    whole = walked(dense, 30, 33, seed=5)
    assert np.array_equal(whole[17:], walked(dense, 30, 33, seed=5, begin=17))
    assert not np.array_equal(whole, walked(dense, 30, 33, seed=6))
    assert not np.array_equal(whole[0], whole[8])
