"""What the graph tests share: comparing graphs, and a slow and obvious way to build one."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from hypothesis import strategies as st

from fedwalk.graph import Graph

Pairs = list[tuple[int, int]]


@dataclass(frozen=True)
class Expected:
    neighbours: list[list[int]]
    self_loops: int
    repeats: int


def reference(pairs: Iterable[tuple[int, int]], n: int, directed: bool = False) -> Expected:
    """Neighbour lists and counts with Python sets, one edge at a time."""
    adjacency: list[set[int]] = [set() for _ in range(n)]
    arcs: set[tuple[int, int]] = set()
    loops = repeats = 0
    pairs = list(pairs)
    straight = {pair for pair in pairs if pair[0] != pair[1]}
    mirrored = bool(straight) and all((v, u) in straight for u, v in straight)
    for u, v in pairs:
        if u == v:
            loops += 1
            continue
        repeats += ((u, v) in arcs) if directed or mirrored else (v in adjacency[u])
        arcs.add((u, v))
        adjacency[u].add(v)
        adjacency[v].add(u)
    return Expected([sorted(row) for row in adjacency], loops, repeats)


def neighbour_lists(graph: Graph) -> list[list[int]]:
    return [graph.neighbours(vertex).tolist() for vertex in range(graph.vertices)]


def named_edges(graph: Graph) -> set[frozenset[str]]:
    names = [str(name) for name in graph.names.tolist()]
    return {frozenset((names[u], names[v])) for u, row in enumerate(neighbour_lists(graph)) for v in row}


def same_graph(left: Graph, right: Graph) -> bool:
    return (
        np.array_equal(left.indptr, right.indptr)
        and np.array_equal(left.indices, right.indices)
        and left.names.tolist() == right.names.tolist()
    )


def edge_lists(vertices: int = 12) -> st.SearchStrategy[Pairs]:
    end = st.integers(0, vertices - 1)
    return st.lists(st.tuples(end, end), min_size=1, max_size=40)
