"""Reader for MATLAB files like BlogCatalog's: the adjacency matrix `network` and, optionally, the labels `group`."""

import io
from pathlib import Path
from typing import Any

from scipy import sparse

from fedwalk.errors import InputError
from fedwalk.graph.adapters.matrices import as_sparse, brief, entries_of, from_matrix
from fedwalk.graph.fields import Fields
from fedwalk.graph.graph import Graph, Labels
from fedwalk.graph.sources import Content


def read_mat(content: Content, fields: Fields) -> Graph:
    """Read the adjacency matrix `network` and the labels `group`."""
    from scipy.io import loadmat  # slow to import, and only this format needs it

    path = content.path
    opened: Any = io.BytesIO(content.data)  # the stubs know only names of files
    try:
        variables: dict[str, Any] = loadmat(opened, appendmat=False)
    except NotImplementedError as error:
        raise InputError(f"{path}: MATLAB 7.3 (HDF5) can't be read; save it with the option -v7") from error
    # The exceptions of SciPy's parser for damaged files aren't documented.
    except Exception as error:
        raise InputError(f"{path}: not a readable MATLAB file ({brief(error)}); copy it again") from error
    if "network" not in variables:
        listed = ", ".join(key for key in variables if not key.startswith("__")) or "nothing"
        raise InputError(f"{path}: no variable 'network' (the adjacency matrix) in it; there is: {listed}")
    graph = from_matrix(as_sparse(variables["network"], f"{path}: network"), f"{path}: network")
    return graph.with_labels(_group(variables["group"], graph, path)) if "group" in variables else graph


def _group(group: Any, graph: Graph, path: Path) -> Labels:
    """The labels of a `.mat` file, one per column."""
    origin = f"{path}: group"
    matrix = as_sparse(group, origin)
    if len(matrix.shape) != 2 or matrix.shape[0] != graph.vertices or matrix.shape[1] < 1:
        raise InputError(f"{origin}: shape {matrix.shape}, expected one row for each of {graph.vertices} vertices")
    rows, columns, data = entries_of(matrix, origin)
    indicator = sparse.coo_array((data != 0, (rows, columns)), shape=matrix.shape)
    return Labels(indicator.tocsr(), tuple(map(str, range(matrix.shape[1]))))
