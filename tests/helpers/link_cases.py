"""Graphs from which edges can be held out, for the tests of splits and of link prediction."""

from itertools import combinations

import networkx as nx
import numpy as np
from hypothesis import assume
from hypothesis import strategies as st
from numpy.typing import NDArray

from fedwalk.graph import Graph
from fedwalk.graph.build import from_edges
from fedwalk.graph.graph import edge_pairs

Case = tuple[Graph, float, int]


def graph_of(edges: list[tuple[int, int]], n: int) -> Graph:
    source, target = np.array(edges, np.int64).reshape(-1, 2).T
    return from_edges(source, target, np.array([f"v{i}" for i in range(n)]))


def as_set(pairs: NDArray[np.int64]) -> set[tuple[int, int]]:
    return {(int(u), int(v)) for u, v in pairs}


def networkx(graph: Graph) -> "nx.Graph[int]":
    whole = nx.empty_graph(graph.vertices)
    whole.add_edges_from(edge_pairs(graph).tolist())
    return whole


def room(graph: Graph) -> tuple[int, int]:
    """How many edges lie outside a spanning forest, and how many non-edges there are among vertices with an edge."""
    forest = graph.vertices - nx.number_connected_components(networkx(graph))
    n = graph.vertices - graph.isolated
    return graph.edges - forest, n * (n - 1) // 2 - graph.edges


def some_edges(n: int) -> st.SearchStrategy[list[tuple[int, int]]]:
    return st.lists(st.sampled_from(list(combinations(range(n), 2))), unique=True, max_size=2 * n)


@st.composite
def possible_cases(draw: st.DrawFn) -> Case:
    """A ring, so that an edge can be spared, with more edges and perhaps more parts and isolated vertices."""
    n, ring = draw(st.integers(6, 12)), draw(st.integers(5, 6))
    graph = graph_of([(v, (v + 1) % ring) for v in range(ring)] + draw(some_edges(n)), n)
    spare, others = room(graph)
    assume(others >= 2)
    count = draw(st.integers(1, min(spare, others // 2)))
    return graph, count / graph.edges, draw(st.integers(0, 2**63 - 1))
