"""Paths of two edges against the product of dense matrices."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray
from scipy.sparse import csr_array

from fedwalk.kernels.ldp.paths import two_edge_paths

SIZE = 9
weights = st.sampled_from([0.0, 0.0, 0.25, 0.5, 1.0]) | st.floats(0.015625, 1.0, width=32)
matrices = arrays(np.float32, (SIZE, SIZE), elements=weights)
shares = arrays(np.float32, SIZE, elements=st.floats(0.0078125, 1.0, width=32))
pairs = st.lists(st.tuples(st.integers(0, SIZE - 1), st.integers(0, SIZE - 1)), max_size=30)


def kernel(dense: NDArray[np.float32], share: NDArray[np.float32], ends: list[tuple[int, int]]) -> NDArray[np.float32]:
    rows = csr_array(dense)
    spread, read = np.array(ends, np.int64).reshape(-1, 2).T.copy()
    return two_edge_paths(
        rows.indptr.astype(np.int64), rows.indices.astype(np.int32), rows.data, share, spread.copy(), read.copy()
    )


@given(matrices, shares, pairs)
def test_sums_over_paths_are_entries_of_the_matrix_product(
    entries: NDArray[np.float32], share: NDArray[np.float32], ends: list[tuple[int, int]]
) -> None:
    dense = np.triu(entries, 1) + np.triu(entries, 1).T
    expected = (dense.astype(np.float64) * share) @ dense
    sums = kernel(dense, share, sorted(ends))
    np.testing.assert_allclose(sums, [expected[a, b] for a, b in sorted(ends)], rtol=1e-5)


@given(matrices, shares, pairs)
def test_pairs_may_come_in_any_order_of_groups(
    entries: NDArray[np.float32], share: NDArray[np.float32], ends: list[tuple[int, int]]
) -> None:
    # What one pair leaves behind in the dense row must not reach the next.
    dense = np.triu(entries, 1) + np.triu(entries, 1).T
    alone = [float(kernel(dense, share, [pair])[0]) for pair in ends]
    assert kernel(dense, share, ends).tolist() == alone


def test_the_edge_between_two_vertices_is_on_no_path_between_them() -> None:
    dense = np.array([[0, 1, 0.5], [1, 0, 0.25], [0.5, 0.25, 0]], np.float32)
    share = np.ones(3, np.float32)
    before = kernel(dense, share, [(0, 1)])
    dense[0, 1] = dense[1, 0] = 0.0
    assert before.tolist() == kernel(dense, share, [(0, 1)]).tolist() == [0.125]
