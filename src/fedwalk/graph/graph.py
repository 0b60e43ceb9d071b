"""The graph as a value: symmetric neighbour lists in CSR form, vertex names, optional edge weights and labels.

A simulation gives row v of this structure, and nothing else, to device v. A `Graph` is always undirected and free of
self-loops and repeated edges; what was removed from the input is recorded in `Cleaning` and, in words, in
`Graph.notes`.
"""

import hashlib
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray
from scipy import sparse

from fedwalk.errors import InputError
from fedwalk.graph.names import Nodes
from fedwalk.graph.pairs import Pairs
from fedwalk.util.text import counted


@dataclass(frozen=True, slots=True)
class Cleaning:
    """What was removed or ignored to make the input a simple undirected graph."""

    self_loops: int = 0
    repeated_edges: int = 0
    directed: bool = False
    weighted: bool = False
    zero_weights: int = 0


@dataclass(frozen=True, slots=True, eq=False)
class Labels:
    """The labels of each vertex, which may have none, one or several.

    Parameters
    ----------
    indicator : scipy.sparse.csr_array
        One row per vertex, one column per label; a nonzero entry means that the vertex has the label.
    names : tuple of str
        One per column.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> labels = Labels(csr_array([[1, 0], [1, 1], [0, 0]]), ("red", "blue"))
    >>> labels.per_vertex.tolist(), labels.per_label.tolist()
    ([1, 2, 0], [2, 1])
    """

    indicator: "sparse.csr_array[Any]"
    names: tuple[str, ...]

    def __post_init__(self) -> None:
        if self.indicator.ndim != 2 or self.indicator.shape[1] != len(self.names):
            raise InputError(f"labels: {len(self.names)} names for a matrix of shape {self.indicator.shape}")
        # A copy in canonical form, so that equal labels have equal arrays and the caller's matrix stays as it is.
        entries = sparse.csr_array(self.indicator, copy=True)
        entries.sum_duplicates()
        entries.eliminate_zeros()
        ones = np.ones(entries.nnz, dtype=np.uint8)
        indicator = sparse.csr_array((ones, entries.indices, entries.indptr), shape=entries.shape)
        for array in (indicator.data, indicator.indices, indicator.indptr):
            array.flags.writeable = False
        object.__setattr__(self, "indicator", indicator)

    def __repr__(self) -> str:
        return f"Labels({len(self.names)} labels, {self.indicator.nnz} assignments, {self.vertices} vertices)"

    @property
    def vertices(self) -> int:
        """Number of rows."""
        return int(self.indicator.shape[0])

    @property
    def count(self) -> int:
        """Number of labels."""
        return len(self.names)

    @property
    def per_vertex(self) -> NDArray[np.int64]:
        """The number of labels of each vertex."""
        return np.diff(self.indicator.indptr).astype(np.int64)

    @property
    def per_label(self) -> NDArray[np.int64]:
        """The number of vertices that have each label."""
        return np.bincount(self.indicator.indices, minlength=self.count).astype(np.int64)

    def of(self, vertex: int) -> tuple[str, ...]:
        """The names of one vertex's labels."""
        start, stop = self.indicator.indptr[vertex : vertex + 2]
        return tuple(self.names[column] for column in self.indicator.indices[start:stop])

    def take(self, vertices: NDArray[np.int64]) -> "Labels":
        """The rows of some vertices, in that order."""
        return Labels(sparse.csr_array(self.indicator[vertices]), self.names)


@dataclass(frozen=True, slots=True, eq=False)
class Graph:
    """A simple undirected graph.

    Parameters
    ----------
    indptr : int64[n + 1]
        Where each vertex's neighbours begin and end in `indices`.
    indices : int32[2m]
        Neighbours of each vertex, ascending; symmetric, no self-loop, no repeat.
    names : int64[n] or str[n]
        The names of the vertices, in the order of the input.
    labels : Labels, optional
        The labels of the vertices, used only for evaluation.
    notes : tuple of str
        What the loader removed or ignored, one sentence each.
    cleaning : Cleaning
        The same, as numbers.
    weights : float64[2m], optional
        The weight of each entry of `indices`: positive, and the same in both directions. None if every edge has the
        weight 1.
    objects : tuple, optional
        The nodes of the Python object that the graph was made from, if they are neither integers nor text; `names` then
        has their text.

    Examples
    --------
    >>> from fedwalk.graph import load_graph
    >>> graph = load_graph(np.array([[10, 20], [20, 30], [30, 30]]))
    >>> graph
    Graph(3 vertices, 2 edges)
    >>> graph.names.tolist(), graph.degrees.tolist(), graph.neighbours(1).tolist()
    ([10, 20, 30], [1, 2, 1], [0, 2])
    >>> graph.notes
    ('1 self-loop dropped',)
    """

    indptr: NDArray[np.int64]
    indices: NDArray[np.int32]
    names: NDArray[np.int64] | NDArray[np.str_]
    labels: Labels | None = None
    notes: tuple[str, ...] = ()
    cleaning: Cleaning = Cleaning()
    weights: NDArray[np.float64] | None = None
    objects: Nodes | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "indptr", _read_only(self.indptr, np.int64))
        object.__setattr__(self, "indices", _read_only(self.indices, np.int32))
        object.__setattr__(self, "names", _read_only(self.names, self.names.dtype))
        if self.weights is not None:
            object.__setattr__(self, "weights", _read_only(self.weights, np.float64))
        _check(self)

    def __repr__(self) -> str:
        labels = f", {counted(self.labels.count, 'label', 'labels')}" if self.labels else ""
        edges = counted(self.edges, "edge", "edges") if self.weights is None else f"{self.edges:,} weighted edges"
        return f"Graph({counted(self.vertices, 'vertex', 'vertices')}, {edges}{labels})"

    def __deepcopy__(self, memo: dict[int, Any]) -> "Graph":
        """Itself: a graph can't be changed, and may be large."""
        return self

    @property
    def nodes(self) -> list[Any]:
        """The nodes as the input has them, in its order: row i of every result belongs to ``nodes[i]``."""
        return list(self.objects) if self.objects is not None else self.names.tolist()

    @property
    def vertices(self) -> int:
        """Number of vertices, n."""
        return len(self.indptr) - 1

    @property
    def edges(self) -> int:
        """Number of undirected edges, m."""
        return len(self.indices) // 2

    @property
    def degrees(self) -> NDArray[np.int64]:
        """d(v) of every vertex."""
        return np.diff(self.indptr)

    @property
    def isolated(self) -> int:
        """Number of vertices without a neighbour."""
        return int(np.count_nonzero(self.degrees == 0))

    def neighbours(self, vertex: int) -> NDArray[np.int32]:
        """The neighbours of one vertex, ascending (a view)."""
        if not 0 <= vertex < self.vertices:
            raise IndexError(f"vertex {vertex} of a graph with vertices 0 … {self.vertices - 1}")
        return self.indices[self.indptr[vertex] : self.indptr[vertex + 1]]

    def active(self) -> tuple["Graph", NDArray[np.int64]]:
        """The graph without isolated vertices, and the ids of the vertices it keeps.

        Fails with InputError if every vertex is isolated.
        """
        degrees = self.degrees
        kept = np.flatnonzero(degrees)
        if len(kept) == self.vertices:
            return self, kept
        new_id = np.cumsum(degrees > 0) - 1
        subgraph = replace(
            self,
            indptr=np.concatenate(([0], np.cumsum(degrees[kept]))),
            indices=new_id[self.indices],
            names=self.names[kept],
            objects=None if self.objects is None else tuple(self.objects[vertex] for vertex in kept.tolist()),
            labels=self.labels.take(kept) if self.labels else None,
        )
        return subgraph, kept

    def arranged(self, names: NDArray[Any]) -> "Graph":
        """The same graph with its vertices in the order of these names; itself, if they aren't its vertices' names.

        A graph that is read again, from another file or object, may have another order. Names are compared as text.

        >>> from fedwalk.graph import load_graph
        >>> load_graph([("b", "a"), ("a", "c")]).arranged(np.array(["a", "b", "c"])).neighbours(0).tolist()
        [1, 2]
        """
        place = {str(name): vertex for vertex, name in enumerate(self.names.tolist())}
        order = np.array([place.get(str(name), -1) for name in names.tolist()], np.int64)
        if order.size != self.vertices or len(np.unique(order)) != order.size or order.min() < 0:
            return self
        new_id = np.empty_like(order)
        new_id[order] = np.arange(order.size)
        data = np.ones(len(self.indices), np.uint8) if self.weights is None else self.weights
        rows = np.repeat(new_id, self.degrees)
        matrix = sparse.coo_array((data, (rows, new_id[self.indices])), shape=(order.size, order.size)).tocsr()
        matrix.sort_indices()
        return replace(
            self,
            indptr=matrix.indptr.astype(np.int64),
            indices=matrix.indices,
            names=names,
            weights=None if self.weights is None else matrix.data,
            objects=None if self.objects is None else tuple(self.objects[vertex] for vertex in order.tolist()),
            labels=self.labels.take(order) if self.labels else None,
        )

    def with_labels(self, labels: Any) -> "Graph":
        """The same graph with other labels: anything that `load_labels` takes, or None for none."""
        # Not at the top: that module builds on this one.
        from fedwalk.graph.labels import load_labels

        return replace(self, labels=None if labels is None else load_labels(labels, self))

    def fingerprint(self, *, weights: bool = True) -> str:
        """SHA-256 of edges, weights and names in their order. A run is resumed only on a graph with the same one.

        Without the weights it is that of the same graph with no weights.
        """
        # Byte order is fixed, so that the fingerprint is the same on every machine.
        digest = hashlib.sha256(f"{self.vertices} {self.edges} {self.names.dtype.kind}\0".encode())
        digest.update(self.indptr.astype("<i8", copy=False).tobytes())
        digest.update(self.indices.astype("<i4", copy=False).tobytes())
        digest.update("\0".join(map(str, self.names.tolist())).encode("utf-8", "surrogatepass"))
        if weights and self.weights is not None:
            digest.update(b"\0weights\0" + self.weights.astype("<f8", copy=False).tobytes())
        return digest.hexdigest()


def edge_pairs(graph: Graph) -> Pairs:
    """Every edge of a graph once, the lower id first, in the order of `fedwalk.graph.pairs.pair_numbers`.

    >>> from fedwalk.graph import load_graph
    >>> edge_pairs(load_graph([[2, 0], [1, 2], [1, 0]])).tolist()
    [[0, 1], [0, 2], [1, 2]]
    """
    rows = np.repeat(np.arange(graph.vertices), graph.degrees)
    lower = graph.indices < rows
    return np.column_stack((graph.indices[lower], rows[lower])).astype(np.int64)


def edge_weights(graph: Graph) -> NDArray[np.float64] | None:
    """The weight of every edge in the order of `edge_pairs`; None if every edge has the weight 1."""
    if graph.weights is None:
        return None
    rows = np.repeat(np.arange(graph.vertices), graph.degrees)
    return graph.weights[graph.indices < rows]


def _read_only(array: NDArray[Any], dtype: DTypeLike) -> NDArray[Any]:
    """A contiguous read-only view; the caller's array stays writeable."""
    view: NDArray[Any] = np.ascontiguousarray(array, dtype=dtype).view()
    view.flags.writeable = False
    return view


def _check(graph: Graph) -> None:
    """Raise InputError unless every invariant of `Graph` holds."""
    n, indptr, indices = graph.vertices, graph.indptr, graph.indices
    if n < 1:
        raise InputError("the graph has no vertices")
    if indptr[0] != 0 or indptr[-1] != len(indices) or np.any(np.diff(indptr) < 0):
        raise InputError("graph: indptr must rise from 0 to the length of indices")
    if len(indices) and not 0 <= indices.min() <= indices.max() < n:
        raise InputError(f"graph: a neighbour outside 0 … {n - 1}")
    rows = np.repeat(np.arange(n, dtype=np.int32), np.diff(indptr))
    if np.any(rows == indices):
        raise InputError("graph: a vertex is its own neighbour")
    if np.any((rows[1:] == rows[:-1]) & (indices[1:] <= indices[:-1])):
        raise InputError("graph: the neighbours of a vertex must ascend without repeats")
    if (pair := _one_sided(indptr, indices)) is not None:
        u, v = pair
        raise InputError(f"graph: not symmetric: vertex {u} has neighbour {v}, but {v} doesn't have {u}")
    if graph.names.dtype.kind not in "iU" or len(graph.names) != n or len(np.unique(graph.names)) != n:
        raise InputError(f"graph: {n} vertices need {n} distinct names, integers or strings")
    if graph.objects is not None and len(graph.objects) != n:
        raise InputError(f"graph: {len(graph.objects)} nodes for {n} vertices")
    _check_weights(graph)
    if graph.labels is not None and graph.labels.vertices != n:
        raise InputError(f"labels for {graph.labels.vertices} vertices given to a graph with {n}")


def _check_weights(graph: Graph) -> None:
    """Raise InputError unless there are no weights, or positive ones that are the same in both directions."""
    weights, n = graph.weights, graph.vertices
    if weights is None:
        return
    if weights.shape != graph.indices.shape or not np.all(np.isfinite(weights) & (weights > 0)):
        raise InputError("graph: weights must be positive and finite, one for each entry of indices")
    transposed = sparse.csc_array((weights, graph.indices, graph.indptr), shape=(n, n)).tocsr()
    if not np.array_equal(transposed.data, weights):
        raise InputError("graph: the weight of an edge must be the same in both directions")


def _one_sided(indptr: NDArray[np.int64], indices: NDArray[np.int32]) -> tuple[int, int] | None:
    """The first (u, v) where v is a neighbour of u, but u isn't one of v; None if the neighbour lists are symmetric."""
    n = len(indptr) - 1
    ones = np.ones(len(indices), dtype=np.uint8)
    # Read as CSC, the same arrays are the transpose; its rows ascend, so equality can be checked array by array.
    transposed = sparse.csc_array((ones, indices, indptr), shape=(n, n)).tocsr()
    if np.array_equal(transposed.indptr, indptr) and np.array_equal(transposed.indices, indices):
        return None
    # The difference is 1 where only the list of u has the other; where only the list of v has, 0 − 1 wraps around.
    difference = (sparse.csr_array((ones, indices, indptr), shape=(n, n)) - transposed).tocoo()
    first = int(np.flatnonzero(difference.data == 1)[0])
    return int(difference.row[first]), int(difference.col[first])
