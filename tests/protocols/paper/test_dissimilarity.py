"""DTW between degree matrices (Eq. 6), compared with the recurrence in plain Python."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import reference
from fedwalk.kernels.dtw import dtw
from fedwalk.protocols.paper import dissimilarity
from fedwalk.protocols.paper.degree_vectors import DegreeMatrices
from fedwalk.protocols.paper.dissimilarity import cross_dissimilarity, pairwise_dissimilarity


def random_matrices(seed: int, lengths: list[int], k: int) -> DegreeMatrices:
    rng = np.random.default_rng(seed)
    return DegreeMatrices.stack([rng.normal(scale=9, size=(m, k)).astype(np.float32) for m in lengths])


LENGTHS = st.lists(st.integers(1, 12), min_size=2, max_size=40)


FEW = pytest.mark.parametrize("few", [0, dissimilarity.FEW], ids=["groups", "pairs"])
"""Both ways to use the lanes: sixteen members at a time, or one pair per lane."""


@FEW
@settings(deadline=None, max_examples=25)
@given(st.integers(0, 2**32), LENGTHS, st.sampled_from([1, 2, 9]))
def test_pairwise_dissimilarity_follows_the_recurrence(few: int, seed: int, lengths: list[int], k: int) -> None:
    matrices = random_matrices(seed, lengths, k)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(dissimilarity, "FEW", few)
        condensed = pairwise_dissimilarity(matrices, np.arange(len(lengths)), threads=2)
    expected = [
        reference.dtw(matrices[u], matrices[v]) for u in range(len(lengths)) for v in range(u + 1, len(lengths))
    ]
    np.testing.assert_allclose(condensed, expected, rtol=1e-5)


@settings(deadline=None, max_examples=25)
@given(st.integers(0, 2**32), LENGTHS)
def test_cross_dissimilarity_follows_the_recurrence(seed: int, lengths: list[int]) -> None:
    matrices = random_matrices(seed, lengths, 5)
    queries, members = np.array([0, len(lengths) - 1]), np.arange(len(lengths))
    table = cross_dissimilarity(matrices, queries, members)
    for i, q in enumerate(queries):
        expected = [reference.dtw(matrices[int(q)], matrices[int(v)]) for v in members]
        np.testing.assert_allclose(table[i], expected, rtol=1e-5, atol=1e-5)


@FEW
def test_members_may_come_in_any_order_and_any_number_of_threads(few: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dissimilarity, "FEW", few)
    matrices = random_matrices(1, list(range(1, 50)), 7)
    members = np.random.default_rng(0).permutation(49)
    one, two = (pairwise_dissimilarity(matrices, members, threads=t) for t in (1, 2))
    assert one.tobytes() == two.tobytes()
    sorted_members = pairwise_dissimilarity(matrices, np.arange(49))
    u, v = np.triu_indices(49, 1)
    low, high = np.minimum(members[u], members[v]), np.maximum(members[u], members[v])
    place = 49 * low - low * (low + 1) // 2 + high - low - 1
    # Which of two is the query decides the order of the additions, hence the last bits.
    np.testing.assert_allclose(one, sorted_members[place], rtol=1e-6)


def test_dissimilarity_is_symmetric_and_zero_to_itself() -> None:
    matrices = random_matrices(3, [1, 4, 9, 2, 30], 9)
    table = cross_dissimilarity(matrices, np.arange(5), np.arange(5))
    np.testing.assert_allclose(table, table.T, rtol=1e-6)
    assert (np.diag(table) == 0).all()


@pytest.mark.parametrize("lengths", [(1, 1), (1, 7), (6, 1), (5, 8)])
def test_double_precision_dtw_is_exact_and_stops_at_its_limit(lengths: tuple[int, int]) -> None:
    matrices = random_matrices(7, list(lengths), 4)
    starts, scratch = matrices.starts, np.empty(10)
    expected = reference.dtw(matrices[0], matrices[1])
    arguments = (matrices.rows, starts[0], starts[1], starts[1], starts[2])
    assert dtw(*arguments, np.inf, scratch) == pytest.approx(expected, rel=1e-13)
    assert dtw(*arguments, expected * 1.001, scratch) == pytest.approx(expected, rel=1e-13)
    assert dtw(*arguments, expected * 0.999, scratch) == np.inf
