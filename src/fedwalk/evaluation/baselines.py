"""Baselines of link prediction: scores of a pair that need no vectors, but the training graph.

Only a party that has the training graph can compute them. In a federation none has it: a device knows its own
neighbours, and the server sees neither neighbour lists nor exact degrees. It could estimate the degree product where
devices release noised degrees, or reports from which degrees can be estimated (protocol `ldp`).

Scores by common neighbours look up only the rows of the given pairs, so the memory grows with their degrees and not
with the square of the number of vertices.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from fedwalk.graph import Graph
from fedwalk.graph.pairs import Pairs

Values = NDArray[np.float64]


def degree_product(graph: Graph, pairs: Pairs) -> Values:
    """The product of the two degrees, also called preferential attachment."""
    return np.asarray(graph.degrees[pairs].astype(np.float64).prod(axis=1))


def common_neighbours(graph: Graph, pairs: Pairs) -> Values:
    """The number of common neighbours."""
    return _weighted_neighbours(graph, pairs, np.ones(graph.vertices))


def adamic_adar(graph: Graph, pairs: Pairs) -> Values:
    """The sum over the common neighbours of 1 / ln(degree)."""
    # A common neighbour has a degree of at least two, so lower degrees never count.
    return _weighted_neighbours(graph, pairs, 1 / np.log(np.maximum(graph.degrees, 2)))


def resource_allocation(graph: Graph, pairs: Pairs) -> Values:
    """The sum over the common neighbours of 1 / degree."""
    return _weighted_neighbours(graph, pairs, 1 / np.maximum(graph.degrees, 1))


def _weighted_neighbours(graph: Graph, pairs: Pairs, weights: Values) -> Values:
    shape = (graph.vertices, graph.vertices)
    ones = sparse.csr_array((np.ones(len(graph.indices)), graph.indices, graph.indptr), shape=shape)
    weighted = sparse.csr_array((weights[graph.indices], graph.indices, graph.indptr), shape=shape)
    return np.asarray(ones[pairs[:, 0]].multiply(weighted[pairs[:, 1]]).sum(axis=1), np.float64)


BASELINES: dict[str, Callable[[Graph, Pairs], Values]] = {
    "degree product": degree_product,
    "common neighbours": common_neighbours,
    "Adamic–Adar": adamic_adar,
    "resource allocation": resource_allocation,
}
