"""Build a `Graph` from a list of edges: the one place that removes self-loops, repeats and directions."""

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from fedwalk.errors import InputError
from fedwalk.graph.graph import Cleaning, Graph, Labels
from fedwalk.graph.names import Names
from fedwalk.util.text import counted

MAX_VERTICES = 2**31 - 1
"""Ids are int32. This also keeps 2·n² below 2⁶³, so that the sort key of an arc fits into an int64."""


def from_edges(
    source: NDArray[np.int64],
    target: NDArray[np.int64],
    names: Names,
    *,
    directed: bool = False,
    weighted: bool = False,
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
    directed : bool
        Whether the input has arcs. An arc and its reverse then make one edge and don't count as a repeat.
    weighted : bool
        Whether the input has weights other than 1. They are ignored; this is only recorded.
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
    keep = source != target
    low, high = np.minimum(source, target)[keep], np.maximum(source, target)[keep]
    # One integer per arc: the edge times two, plus the direction in the lowest bit. A single sort then shows both
    # repeated arcs and edges that come in both directions.
    arcs = np.sort(2 * (low * n + high) + (source > target)[keep])
    once = distinct(arcs)
    edges = distinct(once >> 1)
    loops, mirrored = len(source) - len(arcs), len(edges) > 0 and len(once) == 2 * len(edges)
    # A file that lists every edge in both directions repeats none of them.
    repeats = len(arcs) - (len(once) if directed or mirrored else len(edges))
    cleaning = Cleaning(loops, repeats, directed, weighted)
    notes += _notes(cleaning, mirrored)
    indptr, indices = _neighbour_lists(edges, n)
    return Graph(indptr, indices, names, labels, notes, cleaning)


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


def _neighbour_lists(edges: NDArray[np.int64], n: int) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """The CSR arrays of edges given by their sorted keys low·n + high."""
    low, high = (part.astype(np.int32) for part in np.divmod(edges, n))
    # The conversion to CSR keeps the order of the entries within a row: first the lower neighbours, then the higher
    # ones, both ascending already. So no row needs sorting.
    rows, columns = np.concatenate((high, low)), np.concatenate((low, high))
    ones = np.ones(len(rows), dtype=np.uint8)
    matrix = sparse.coo_array((ones, (rows, columns)), shape=(n, n)).tocsr()
    return matrix.indptr.astype(np.int64), matrix.indices.astype(np.int32, copy=False)


def _notes(cleaning: Cleaning, mirrored: bool) -> tuple[str, ...]:
    """What was removed or ignored, one sentence each."""
    notes = []
    if cleaning.directed:
        notes.append("the edges were directed; their direction was ignored")
    elif mirrored:
        notes.append("every edge is listed in both directions")
    if cleaning.weighted:
        notes.append("the edges had weights; they were ignored")
    if cleaning.self_loops:
        notes.append(f"{counted(cleaning.self_loops, 'self-loop', 'self-loops')} dropped")
    if cleaning.repeated_edges:
        notes.append(f"{counted(cleaning.repeated_edges, 'repeated edge', 'repeated edges')} dropped")
    return tuple(notes)
