"""Build a `Graph` from a list of edges: the one place that removes self-loops and directions and merges repeats."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from fedwalk.errors import InputError
from fedwalk.graph.graph import Cleaning, Graph, Labels
from fedwalk.graph.names import Names, Nodes
from fedwalk.util.text import counted

MAX_VERTICES = 2**31 - 1
"""Ids are int32. This also keeps 2·n² below 2⁶³, so that the sort key of an arc fits into an int64."""


def from_edges(
    source: NDArray[np.int64],
    target: NDArray[np.int64],
    names: Names,
    *,
    nodes: Nodes | None = None,
    weights: NDArray[np.float64] | None = None,
    directed: bool | None = False,
    labels: Labels | None = None,
    notes: tuple[str, ...] = (),
) -> Graph:
    """Build a graph from edges between vertex ids 0 … n−1, where n is the number of names.

    Parameters
    ----------
    source, target : integer arrays of equal length
        The endpoints. Self-loops and repeats are dropped and counted.
    names : array
        One per vertex.
    nodes : tuple, optional
        The user's own objects, one per vertex, if the names are only their text.
    weights : array of finite numbers ≥ 0, optional
        One per edge. The weights of a repeated edge, and of the two directions of an edge, are added up; a list that
        has every edge in both directions gives their mean. An edge of weight 0 is dropped. If all weights are 1, the
        graph is unweighted, and a repeated edge counts once.
    directed : bool or None
        Whether the input has arcs. An arc and its reverse then make one edge and don't count as a repeat. None if it
        isn't known: the edges are then directed if some of them come in both directions and others don't.
    labels : Labels, optional
        One row per vertex.
    notes : tuple of str
        Remarks of the caller about the input, placed before those made here.

    Examples
    --------
    >>> graph = from_edges(np.array([0, 1, 1]), np.array([1, 0, 2]), np.array(["a", "b", "c"]))
    >>> graph, graph.cleaning.repeated_edges
    (Graph(3 vertices, 2 edges), 1)
    """
    n = len(names)
    source, target = np.asarray(source, np.int64), np.asarray(target, np.int64)
    _check(source, target, n)
    weights = _checked_weights(weights, len(source))
    keep = source != target
    loops = len(source) - int(np.count_nonzero(keep))
    zeros = 0
    if weights is not None:
        zeros = int(np.count_nonzero(weights[keep] == 0))
        keep &= weights > 0
        weights = None if np.all(weights[keep] == 1) else weights[keep]
    low, high = np.minimum(source, target)[keep], np.maximum(source, target)[keep]
    # One integer per arc: the edge times two, plus the direction in the lowest bit. A single sort then shows both
    # repeated arcs and edges that come in both directions.
    arcs = 2 * (low * n + high) + (source > target)[keep]
    if weights is not None:
        order = np.argsort(arcs, kind="stable")
        arcs, weights = arcs[order], weights[order]
    else:
        arcs = np.sort(arcs)
    once = distinct(arcs)
    edges = distinct(once >> 1)
    both_ways = len(once) - len(edges)
    mirrored = 0 < both_ways == len(edges)
    if directed is None:
        directed = 0 < both_ways < len(edges)
    # A file that lists every edge in both directions repeats none of them.
    repeats = len(arcs) - (len(once) if directed or mirrored else len(edges))
    cleaning = Cleaning(loops, repeats, directed, weights is not None, zeros)
    notes += _notes(cleaning, mirrored)
    summed = None if weights is None else _summed(arcs, weights) / (2 if mirrored and not directed else 1)
    indptr, indices, data = _neighbour_lists(edges, n, summed)
    return Graph(indptr, indices, names, labels, notes, cleaning, data, nodes)


def _checked_weights(weights: NDArray[Any] | None, count: int) -> NDArray[np.float64] | None:
    """The weights as float64, or None if there are none but 1; InputError unless they are finite and ≥ 0."""
    if weights is None:
        return None
    checked = np.asarray(weights, np.float64)
    if checked.shape != (count,):
        raise InputError(f"weights: expected one for each of {count:,} edges, got the shape {checked.shape}")
    wrong = ~(np.isfinite(checked) & (checked >= 0))
    if wrong.any():
        at = int(np.flatnonzero(wrong)[0])
        raise InputError(f"weights: edge {at} has the weight {checked[at]}; expected a finite number ≥ 0")
    return None if np.all(checked == 1) else checked


def _summed(arcs: NDArray[np.int64], weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """The sum of the weights of each edge, whose sorted arcs are next to each other."""
    if not len(arcs):
        return weights
    edge = arcs >> 1
    starts = np.flatnonzero(np.concatenate(([True], edge[1:] != edge[:-1])))
    return np.add.reduceat(weights, starts)


def distinct(ordered: NDArray[np.int64]) -> NDArray[np.int64]:
    """The distinct values of a sorted array; with the sort, ten times faster here than `np.unique`."""
    first = np.ones(len(ordered), dtype=bool)
    np.not_equal(ordered[1:], ordered[:-1], out=first[1:])
    return ordered[first]


def _check(source: NDArray[np.int64], target: NDArray[np.int64], n: int) -> None:
    """Raise InputError unless the arrays are edges between vertices 0 … n−1."""
    if not 1 <= n <= MAX_VERTICES:
        raise InputError(f"a graph of {n:,} vertices; there must be 1 to {MAX_VERTICES:,}")
    if source.shape != target.shape or source.ndim != 1:
        raise InputError(f"edges: sources of shape {source.shape}, targets of shape {target.shape}")
    for ends in (source, target):
        if len(ends) and not 0 <= ends.min() <= ends.max() < n:
            raise InputError(f"edges: an endpoint outside 0 … {n - 1}")


def _neighbour_lists(
    edges: NDArray[np.int64], n: int, weights: NDArray[np.float64] | None
) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float64] | None]:
    """The CSR arrays of edges given by their sorted keys low·n + high, and the weight of each entry."""
    low, high = (part.astype(np.int32) for part in np.divmod(edges, n))
    # The conversion to CSR keeps the order of the entries within a row: first the lower neighbours, then the higher
    # ones, both ascending already. So no row needs sorting.
    rows, columns = np.concatenate((high, low)), np.concatenate((low, high))
    data = np.ones(len(rows), dtype=np.uint8) if weights is None else np.concatenate((weights, weights))
    matrix = sparse.coo_array((data, (rows, columns)), shape=(n, n)).tocsr()
    indptr, indices = matrix.indptr.astype(np.int64), matrix.indices.astype(np.int32, copy=False)
    return indptr, indices, None if weights is None else matrix.data


def _notes(cleaning: Cleaning, mirrored: bool) -> tuple[str, ...]:
    """What was removed or ignored, one sentence each."""
    notes = []
    if cleaning.directed:
        notes.append("the edges were directed; their direction was ignored")
    elif mirrored:
        notes.append("every edge is listed in both directions")
    if cleaning.zero_weights:
        notes.append(f"{counted(cleaning.zero_weights, 'edge', 'edges')} of weight 0 dropped")
    if cleaning.self_loops:
        notes.append(f"{counted(cleaning.self_loops, 'self-loop', 'self-loops')} dropped")
    if cleaning.repeated_edges:
        what = "merged, their weights added up" if cleaning.weighted else "dropped"
        notes.append(f"{counted(cleaning.repeated_edges, 'repeated edge', 'repeated edges')} {what}")
    return tuple(notes)
