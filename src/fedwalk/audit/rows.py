"""Row matching: the rows of M_v are vectors that the server broadcast itself, and noise made each of them unique."""

import numpy as np

from fedwalk.audit.pairs import Pairs, distinct_pairs
from fedwalk.audit.views import MatrixView


def match_rows(view: MatrixView) -> Pairs:
    """The pairs whose one end's matrix holds the other end's vector.

    >>> from fedwalk.protocol.degree import DegreeMatrices
    >>> vectors = np.array([[0.3], [1.7], [0.9]], np.float32)
    >>> matrices = DegreeMatrices.stack([vectors[[1]], vectors[[0, 2]], vectors[[1]]])
    >>> match_rows(MatrixView(vectors, matrices)).tolist()
    [[0, 1], [1, 2]]
    """
    known = {row.tobytes(): v for v, row in enumerate(view.vectors)}
    named = np.array([known[row.tobytes()] for row in view.matrices.rows], np.int64)
    return distinct_pairs(np.repeat(np.arange(len(view.matrices)), view.matrices.lengths), named)
