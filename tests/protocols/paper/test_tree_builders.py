"""The exact and the hybrid tree: equal to scipy's where they must be, valid, independent of threads."""

import numpy as np
import pytest
from scipy.cluster.hierarchy import is_monotonic, is_valid_linkage, linkage

import reference
from fedwalk.graph import load_graph, social_network
from fedwalk.protocols.paper import tree_builders as clustering
from fedwalk.protocols.paper.degree_vectors import DegreeMatrices
from helpers.simulation import GRAPHS, federation


@pytest.fixture
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Parts small enough that a small graph has many."""
    monkeypatch.setattr(clustering, "PART_VERTICES", 20)
    monkeypatch.setattr(clustering, "PART_ROWS", 200)


@pytest.fixture(scope="module")
def matrices() -> DegreeMatrices:
    return federation(social_network(vertices=300, mean_degree=6, communities=5, seed=1)).matrices


def test_average_tree_is_scipys_on_the_reference_matrix() -> None:
    fed = federation(GRAPHS["karate"])
    n = len(fed.matrices)
    condensed = [reference.dtw(fed.matrices[u], fed.matrices[v]) for u in range(n) for v in range(u + 1, n)]
    expected = linkage(np.array(condensed), "average")
    tree = clustering.average(fed.matrices)
    assert np.array_equal(tree.linkage[:, [0, 1, 3]], expected[:, [0, 1, 3]])
    np.testing.assert_allclose(tree.linkage[:, 2], expected[:, 2], rtol=1e-5)


def test_hybrid_equals_average_while_everything_fits_into_one_part() -> None:
    fed = federation(GRAPHS["communities"])
    assert np.array_equal(
        clustering.hybrid(fed.matrices).linkage[:, [0, 1, 3]], clustering.average(fed.matrices).linkage[:, [0, 1, 3]]
    )


@pytest.mark.usefixtures("small_parts")
def test_parts_cover_every_vertex_once_and_are_small(matrices: DegreeMatrices) -> None:
    parts = clustering.divide(matrices, np.arange(len(matrices)), 0, 1)
    assert len(parts) > 10
    assert sorted(np.concatenate(parts).tolist()) == list(range(len(matrices)))
    for part in parts:
        assert len(part) == 1 or (len(part) <= 20 and matrices.lengths[part].sum() <= 200)


@pytest.mark.usefixtures("small_parts")
def test_hybrid_tree_is_a_valid_monotone_linkage(matrices: DegreeMatrices) -> None:
    tree = clustering.hybrid(matrices)
    assert is_valid_linkage(tree.linkage)
    assert is_monotonic(tree.linkage)
    assert sorted(tree.order.tolist()) == list(range(len(matrices)))


@pytest.mark.usefixtures("small_parts")
def test_inside_a_part_the_hybrid_tree_is_the_exact_one(matrices: DegreeMatrices) -> None:
    parts = clustering.divide(matrices, np.arange(len(matrices)), 0, 1)
    subtrees = reference.leaf_sets(clustering.hybrid(matrices).linkage)
    for part in parts:
        exact = clustering.average(DegreeMatrices.stack([matrices[int(v)] for v in part])).linkage
        for leaves in reference.leaf_sets(exact):
            assert {int(part[i]) for i in leaves} in subtrees


@pytest.mark.usefixtures("small_parts")
def test_tree_does_not_depend_on_the_number_of_threads(matrices: DegreeMatrices) -> None:
    one, two = (clustering.hybrid(matrices, threads=t).linkage for t in (1, 2))
    assert one.tobytes() == two.tobytes()


@pytest.mark.usefixtures("small_parts")
def test_twins_that_no_pivot_can_tell_apart_still_end_in_small_parts() -> None:
    star = load_graph(np.array([[0, i] for i in range(1, 150)]))
    fed = federation(star)
    assert fed.tree.leaves == 150
    assert max(map(len, clustering.divide(fed.matrices, np.arange(150), 0, 1))) <= 20
