"""Readers for adjacency matrices: SciPy's sparse ones, and dense numpy arrays."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from fedwalk.errors import InputError
from fedwalk.graph.build import MAX_VERTICES, from_edges
from fedwalk.graph.graph import Graph
from fedwalk.graph.plausible import check_plausible
from fedwalk.util.text import counted


def from_matrix(matrix: Any, origin: str = "matrix") -> Graph:
    """Read a square sparse matrix: every nonzero entry is an edge, and the vertices are named 0 … n−1.

    >>> matrix = sparse.coo_array(([1, 1, 1, 1], ([0, 1, 1, 2], [1, 0, 2, 1])), shape=(4, 4))
    >>> graph = from_matrix(matrix)
    >>> graph, graph.isolated
    (Graph(4 vertices, 2 edges), 1)
    """
    shape = matrix.shape
    if len(shape) != 2 or shape[0] != shape[1]:
        raise InputError(f"{origin}: an adjacency matrix is square, this one has shape {shape}")
    if shape[0] == 0:
        raise InputError(f"{origin}: the matrix has no rows, so the graph has no vertices")
    if shape[0] > MAX_VERTICES:
        raise InputError(f"{origin}: {shape[0]:,} vertices; at most {MAX_VERTICES:,} are possible")
    rows, columns, data = entries_of(matrix, origin)
    check_plausible(shape[0], len(rows), origin)
    n, weights = shape[0], data.astype(np.float64)
    directed = not _is_symmetric(rows, columns, weights, n)
    # A symmetric matrix has every edge twice: half of it is enough, and nothing counts as repeated.
    if not directed:
        upper = rows <= columns
        rows, columns, weights = rows[upper], columns[upper], weights[upper]
    return from_edges(rows, columns, np.arange(n, dtype=np.int64), directed=directed, weights=weights)


def _is_symmetric(rows: NDArray[np.int64], columns: NDArray[np.int64], data: NDArray[np.float64], n: int) -> bool:
    """Whether the matrix with these entries equals its transpose. Repeated entries are added up, as SciPy does."""
    matrix = sparse.coo_array((data, (rows, columns)), shape=(n, n)).tocsr()
    matrix.sum_duplicates()
    transposed = matrix.T.tocsr()
    transposed.sort_indices()
    pairs = ((matrix.indptr, transposed.indptr), (matrix.indices, transposed.indices), (matrix.data, transposed.data))
    return all(np.array_equal(one, other) for one, other in pairs)


def as_sparse(value: Any, origin: str) -> Any:
    """The value as a sparse matrix; some `.mat` files have dense ones."""
    if sparse.issparse(value):
        return value
    if not isinstance(value, np.ndarray) or value.dtype.kind not in "buif" or value.ndim != 2:
        raise InputError(f"{origin}: a numeric matrix is expected here, found {_describe(value)}")
    return sparse.coo_array(value)


def entries_of(matrix: Any, origin: str) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[Any]]:
    """The row, column and value of every nonzero entry."""
    if matrix.dtype.kind not in "buif":
        raise InputError(f"{origin}: entries of type {matrix.dtype}, expected numbers (or true and false)")
    if hasattr(matrix, "check_format"):
        try:
            matrix.copy().check_format(full_check=True)  # a copy, because the check may recast its indices
        except ValueError as error:
            raise InputError(f"{origin}: the sparse matrix is damaged ({brief(error)}); write it again") from error
    entries = matrix.tocoo()
    rows, columns = entries.row.astype(np.int64), entries.col.astype(np.int64)
    if not np.all(np.isfinite(entries.data)):
        at = int(np.flatnonzero(~np.isfinite(entries.data))[0])
        raise InputError(f"{origin}: {entries.data[at]} in row {rows[at]}, column {columns[at]}; remove it")
    negative = int(np.count_nonzero(entries.data < 0)) if matrix.dtype.kind in "if" else 0
    if negative:
        raise InputError(f"{origin}: {counted(negative, 'negative entry', 'negative entries')}; remove or flip them")
    keep = entries.data != 0
    return rows[keep], columns[keep], entries.data[keep]


def _describe(value: Any) -> str:
    """The type and shape of a value, for a message."""
    return f"{getattr(value, 'dtype', type(value).__name__)} of shape {getattr(value, 'shape', ())}"


def brief(error: Exception) -> str:
    """The error of another library, on one line."""
    return " ".join(f"{type(error).__name__}: {error}".split())[:120]
