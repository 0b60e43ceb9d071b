"""Reader for sparse matrices that `scipy.sparse.save_npz` wrote."""

import io

from scipy import sparse

from fedwalk.errors import InputError
from fedwalk.graph.adapters.matrices import brief, from_matrix
from fedwalk.graph.fields import Fields
from fedwalk.graph.graph import Graph
from fedwalk.graph.sources import Content


def read_npz(content: Content, fields: Fields) -> Graph:
    """Read a file written by `scipy.sparse.save_npz`. Pickled content, which could run code, is never loaded."""
    try:
        matrix = sparse.load_npz(io.BytesIO(content.data))
    # A damaged archive can fail in zipfile, zlib, numpy or scipy, each with its own exceptions.
    except Exception as error:
        raise InputError(
            f"{content.path}: not a matrix as written by scipy.sparse.save_npz ({brief(error)}); write it again"
        ) from error
    return from_matrix(matrix, str(content.path))
