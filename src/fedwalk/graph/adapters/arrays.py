"""Reader for numpy arrays: edges in rows, an `edge_index` in two rows, or a dense adjacency matrix.

The shape decides, and a shape that fits two of them is refused:

- m × 2 integers or text: one edge per row. This includes 2 × 2.
- 2 × m integers, m > 2: an `edge_index`.
- n × n numbers, n > 2: an adjacency matrix. If n is 3 it must be symmetric: three rows of `u v weight` look alike.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fedwalk.errors import InputError
from fedwalk.graph.adapters.arcs import from_arcs
from fedwalk.graph.adapters.matrices import as_sparse, from_matrix
from fedwalk.graph.adapters.sequences import from_named_pairs
from fedwalk.graph.build import from_edges
from fedwalk.graph.fields import Fields
from fedwalk.graph.graph import Graph
from fedwalk.graph.names import number_nodes

_TABLE = "pandas.DataFrame(edges, columns=['source', 'target', 'weight'])"


def from_array(source: NDArray[Any], fields: Fields) -> Graph:
    """Read an array of edges, an edge index or an adjacency matrix."""
    shape, kind = source.shape, source.dtype.kind
    if source.ndim != 2:
        raise InputError(f"an edge array has two columns, this one has shape {shape}")
    if shape[1] == 2:
        return from_edge_array(source)
    if shape[0] == 2 and kind in "iu":
        return from_arcs(source[0], source[1])
    if shape[0] == shape[1] > 2 and kind in "buif":
        if shape[0] == 3 and not np.array_equal(source, source.T):
            raise InputError(
                "a 3 × 3 array that isn't symmetric could be an adjacency matrix or three weighted edges; wrap a "
                f"matrix in scipy.sparse.csr_array, or give weighted edges as {_TABLE}"
            )
        return from_matrix(as_sparse(source, "matrix"))
    raise InputError(f"an edge array has two columns, this one has shape {shape} of {source.dtype}; {_advice(source)}")


def from_edge_array(source: NDArray[Any]) -> Graph:
    """Read an (m, 2) array of integers or strings.

    Vertices are numbered as they appear. If they are exactly the integers 0 … n−1 they are positions, and keep them:
    the rows of a label array or of the vectors then belong to the same numbers.

    >>> from_edge_array(np.array([[30, 10], [10, 20]])).names.tolist()
    [30, 10, 20]
    >>> from_edge_array(np.array([[2, 0], [0, 1]])).names.tolist()
    [0, 1, 2]
    """
    if source.dtype.kind not in "iuUO":
        advice = "for edges call .astype(int) first" if source.dtype.kind == "f" else "convert it"
        if source.shape == (2, 2):
            advice += ", and wrap an adjacency matrix in scipy.sparse.csr_array"
        raise InputError(f"an edge array holds integers or strings, this one holds {source.dtype}; {advice}")
    if not len(source):
        raise InputError("the edge array is empty, so the graph has no vertices")
    if source.dtype.kind in "iu" and int(source.max()) <= np.iinfo(np.int64).max:
        edges = source.astype(np.int64)
        names, ends = number_nodes(edges)
        if names.min() == 0 and names.max() == len(names) - 1:
            names, ends = np.arange(len(names)), edges
        return from_edges(ends[:, 0], ends[:, 1], names)
    return from_named_pairs(source.tolist())


def _advice(source: NDArray[Any]) -> str:
    """What an array of a wrong shape could be."""
    if source.shape[0] == 2:
        return "give one edge per row (transpose it); only integers are read as an edge_index of two rows"
    if source.shape[1] == 3:
        return f"give weighted edges as {_TABLE}"
    return "an adjacency matrix is square, with numbers in it"
