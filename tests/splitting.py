"""A graph among holders: who has which vertex, and what each of them knows."""

import numpy as np

from fedwalk.federation.lists import KnownLists, resolve
from fedwalk.federation.lists_file import lists_of
from fedwalk.graph import Graph


def names_of(graph: Graph) -> list[str]:
    """The federation's names, admitted in the order of the graph's ids."""
    return [str(name) for name in graph.names.tolist()]


def split(graph: Graph, holders: int, seed: int = 0) -> list[KnownLists]:
    """Every vertex at one of the holders, at random."""
    owner = np.random.default_rng(seed).integers(holders, size=graph.vertices)
    shares = (np.flatnonzero(owner == holder).tolist() for holder in range(holders))
    return [resolve(lists_of(graph, share), names_of(graph)) for share in shares]
