"""The dendrogram: its clusters divide the vertices, the largest are opened first, every join is drawn."""

from pathlib import Path

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from fedwalk.graph import social_network
from fedwalk.protocols.paper.tree import Tree
from fedwalk.report.dendrogram import Cluster, draw, open_largest
from helpers.pages import quick
from helpers.run_folders import federated
from helpers.simulation import random_linkage


def clusters_of(tree: Tree, count: int) -> list[Cluster]:
    clusters = []
    for node in open_largest(tree, count):
        height = 0.0 if node < tree.leaves else float(tree.linkage[node - tree.leaves, 2])
        clusters.append(Cluster(node, height, int(tree.size[node]), f"{tree.size[node]}", ""))
    return clusters


@given(st.integers(2, 80), st.integers(0, 50), st.integers(1, 40))
def test_clusters_divide_the_leaves(leaves: int, seed: int, count: int) -> None:
    tree = Tree(random_linkage(leaves, seed))
    nodes = open_largest(tree, count)
    assert len(nodes) == min(count, leaves)
    covered = np.concatenate([np.arange(tree.first[n], tree.first[n] + tree.size[n]) for n in nodes])
    assert covered.tolist() == list(range(leaves))


@given(st.integers(5, 80), st.integers(0, 50), st.integers(2, 20))
def test_no_closed_cluster_is_larger_than_one_that_was_opened(leaves: int, seed: int, count: int) -> None:
    tree = Tree(random_linkage(leaves, seed))
    nodes = open_largest(tree, count)
    opened = {int(tree.parent[node]) for node in nodes if tree.parent[node] >= 0}
    assert all(tree.size[node] <= min((tree.size[o] for o in opened), default=leaves) for node in nodes)


@given(st.integers(2, 60), st.integers(0, 50))
def test_every_join_above_the_clusters_is_a_branch(leaves: int, seed: int) -> None:
    tree = Tree(random_linkage(leaves, seed))
    clusters = clusters_of(tree, 12)
    drawn = draw(tree, clusters)
    assert drawn.count('class="branch"') == len(clusters) - 1
    assert f"{leaves} vertices in {len(clusters)} clusters" in drawn


def test_a_tree_of_equal_heights_is_drawn() -> None:
    tree = Tree(np.array([[0, 1, 0.0, 2], [2, 3, 0.0, 3]]))
    assert draw(tree, clusters_of(tree, 40)).count('class="branch"') == 2


def test_a_chain_of_many_thousand_leaves_needs_no_deep_recursion() -> None:
    n = 20_000
    chain = [[0, 1, 1.0, 2], *([i, n + i - 2, float(i), i + 1] for i in range(2, n))]
    tree = Tree(np.array(chain, np.float64))
    assert draw(tree, clusters_of(tree, 40)).count('class="branch"') == 39


def test_vertices_that_a_federation_lost_during_the_walks_are_drawn_as_lost(tmp_path: Path) -> None:
    graph = social_network(vertices=32, mean_degree=6, communities=2, seed=1)
    page = quick(federated(graph, tmp_path / "run", lost=10))
    assert "10 leaves are vertices lost during the walks." in page
    assert page.count(">lost vertex<") == 10
    assert page.count(">vertex ") == 22
