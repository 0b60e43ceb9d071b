"""Graphs from indices 0 … n−1 of both ends of every arc: PyG's `edge_index`, DGL, and arrays like them."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fedwalk.errors import InputError
from fedwalk.graph.build import from_edges
from fedwalk.graph.graph import Graph
from fedwalk.graph.plausible import check_plausible

_MAX_GAP = 1000
"""How many times more vertices than ends of edges an `edge_index` may have, before its entries can't be indices."""


def from_arcs(
    source: NDArray[Any], target: NDArray[Any], n: int | None = None, weights: NDArray[Any] | None = None
) -> Graph:
    """A graph whose vertex i is called i; n is one more than the largest index if it isn't known.

    Such arrays have an undirected edge as two arcs. If only some arcs have their reverse, the graph is directed.
    """
    ends = np.concatenate((source, target))
    if ends.dtype.kind not in "iu":
        raise InputError(f"an edge_index holds integers, this one holds {ends.dtype}")
    if n is None and not ends.size:
        raise InputError("the edge_index is empty, so the graph has no vertices")
    if ends.size and int(ends.min()) < 0:
        raise InputError(f"the edge_index has the negative entry {ends.min()}; its entries are the indices of nodes")
    count = int(ends.max()) + 1 if n is None else int(n)
    if n is None and count > _MAX_GAP * ends.size:
        raise InputError(
            f"the largest entry of the edge_index is {count - 1:,}, for {ends.size // 2:,} edges; its entries are the "
            "indices of nodes. For edges between names, give an array with one edge per row (transpose it)"
        )
    if count < 1:
        raise InputError("the graph has no vertices")
    check_plausible(count, len(source), "edge_index")
    return from_edges(
        source.astype(np.int64), target.astype(np.int64), np.arange(count), weights=weights, directed=None
    )
