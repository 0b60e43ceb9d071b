"""Splits a graph among holders."""

import numpy as np

from fedwalk.federation.holder.neighbour_file import neighbours_of
from fedwalk.federation.holder.neighbour_lists import KnownNeighbours, resolve
from fedwalk.graph import Graph


def names_of(graph: Graph) -> list[str]:
    """The federation's names, admitted in the order of the graph's ids."""
    return [str(name) for name in graph.names.tolist()]


def split(graph: Graph, holders: int, seed: int = 0) -> list[KnownNeighbours]:
    """The neighbours that each holder knows if every vertex is given to a random holder."""
    owner = np.random.default_rng(seed).integers(holders, size=graph.vertices)
    shares = (np.flatnonzero(owner == holder).tolist() for holder in range(holders))
    return [resolve(neighbours_of(graph, share), names_of(graph)) for share in shares]
