"""`Tree`: leaf order and common subtrees, compared with brute force; linkages that aren't trees."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.cluster.hierarchy import leaves_list

import reference
from fedwalk.errors import InputError
from fedwalk.protocols.paper.tree import Tree
from helpers.simulation import random_linkage


@given(st.integers(2, 20), st.integers(0, 2**32))
def test_common_leaves_and_leaf_order_match_brute_force(n: int, seed: int) -> None:
    linkage = random_linkage(n, seed)
    tree = Tree(linkage)
    assert tree.order.tolist() == reference.leaf_order(linkage) == leaves_list(linkage).tolist()
    assert tree.position[tree.order].tolist() == list(range(n))
    for u in range(n):
        for v in range(n):
            assert tree.common_leaves(u, v) == reference.common_leaves(linkage, u, v)


@given(st.integers(2, 20), st.integers(0, 2**32))
def test_every_subtree_is_an_interval_of_leaf_order(n: int, seed: int) -> None:
    tree = Tree(random_linkage(n, seed))
    for node, leaves in enumerate(reference.leaf_sets(tree.linkage)):
        begin = tree.first[node]
        assert set(tree.order[begin : begin + tree.size[node]].tolist()) == leaves


def test_a_single_vertex_is_a_tree() -> None:
    tree = Tree(np.empty((0, 4)))
    assert (tree.leaves, tree.common_leaves(0, 0)) == (1, 1)


@pytest.mark.parametrize(
    ("rows", "complaint"),
    [
        ([[0, 3, 1.0, 2], [1, 2, 1.0, 2], [3, 4, 2.0, 4]], "joined twice"),
        ([[0, 5, 1.0, 2], [1, 2, 1.0, 2], [4, 3, 2.0, 4]], "doesn't exist yet"),
        ([[0, -1, 1.0, 2]], "doesn't exist yet"),
        ([[0, 1, 1.0, 3]], "leaf counts"),
        ([[0, 1, 1.0]], "rows of four numbers"),
        ([[0, 0.5, 1.0, 2]], "rows of four numbers"),
        ([[0, float("nan"), 1.0, 2]], "rows of four numbers"),
    ],
)
def test_a_linkage_that_is_not_a_tree_is_refused(rows: list[list[float]], complaint: str) -> None:
    with pytest.raises(InputError, match=complaint):
        Tree(np.array(rows))
