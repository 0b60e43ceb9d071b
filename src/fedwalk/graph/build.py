"""From a list of edges to a `Graph`: the one place where loops, repeats and directions are cleaned away."""

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from fedwalk.errors import InputError
from fedwalk.graph.graph import Cleaning, Graph, Labels
from fedwalk.graph.names import Names

MOST_VERTICES = 2**31 - 1
"""Ids are int32; it also keeps 2·n² below 2⁶³, which the sort key of an edge needs."""


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
        The edges were arcs. An arc and its reverse then make one edge and aren't a repeat.
    weighted : bool
        The edges had weights other than 1; only recorded here.
    labels : Labels, optional
        One row per vertex.
    notes : tuple of str
        What the caller has to say about the input, put before what is found here.

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
    arcs = np.sort(2 * (low * n + high) + (source > target)[keep])
    once = distinct(arcs)
    edges = distinct(once >> 1)
    loops, mirrored = len(source) - len(arcs), len(edges) > 0 and len(once) == 2 * len(edges)
    repeats = len(arcs) - (len(once) if directed or mirrored else len(edges))
    cleaning = Cleaning(loops, repeats, directed, weighted)
    notes += _notes(cleaning, mirrored)
    indptr, indices = _neighbour_lists(edges, n)
    return Graph(indptr, indices, names, labels, notes, cleaning)


def counted(number: int, noun: str, plural: str | None = None) -> str:
    """'1 edge', '2 edges', '12,000 edges'."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def distinct(ordered: NDArray[np.int64]) -> NDArray[np.int64]:
    """The distinct values of a sorted array (sorting first is ten times faster here than `np.unique`)."""
    first = np.ones(len(ordered), dtype=bool)
    np.not_equal(ordered[1:], ordered[:-1], out=first[1:])
    return ordered[first]


def _check(source: NDArray[np.int64], target: NDArray[np.int64], n: int) -> None:
    """Refuse what can't be a list of edges between n vertices."""
    if not 1 <= n <= MOST_VERTICES:
        raise InputError(f"a graph of {n:,} vertices; there must be 1 to {MOST_VERTICES:,}")
    if source.shape != target.shape or source.ndim != 1:
        raise InputError(f"edges: sources of shape {source.shape}, targets of shape {target.shape}")
    for ends in (source, target):
        if len(ends) and not 0 <= ends.min() <= ends.max() < n:
            raise InputError(f"edges: an endpoint outside 0 … {n - 1}")


def _neighbour_lists(edges: NDArray[np.int64], n: int) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """CSR arrays from sorted keys low·n + high."""
    low, high = (part.astype(np.int32) for part in np.divmod(edges, n))
    # The conversion keeps the order of entries within a row: lower neighbours first, then higher
    # ones, each ascending already, so no row needs sorting.
    rows, columns = np.concatenate((high, low)), np.concatenate((low, high))
    ones = np.ones(len(rows), dtype=np.uint8)
    matrix = sparse.coo_array((ones, (rows, columns)), shape=(n, n)).tocsr()
    return matrix.indptr.astype(np.int64), matrix.indices.astype(np.int32, copy=False)


def _notes(cleaning: Cleaning, mirrored: bool) -> tuple[str, ...]:
    """What was cleaned, in words."""
    notes = []
    if cleaning.directed:
        notes.append("the edges were directed; their direction was ignored")
    elif mirrored:
        notes.append("every edge is listed in both directions")
    if cleaning.weighted:
        notes.append("the edges had weights; they were ignored")
    if cleaning.self_loops:
        notes.append(f"{counted(cleaning.self_loops, 'self-loop')} dropped")
    if cleaning.repeated_edges:
        notes.append(f"{counted(cleaning.repeated_edges, 'repeated edge')} dropped")
    return tuple(notes)
