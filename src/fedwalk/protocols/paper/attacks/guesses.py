"""What the observers of protocol `paper` can guess from their views. No function here reads the true graph.

Row matching, by the server: the rows of M_v are vectors that the server broadcast itself, and noise made each unique.

Dissimilarities, by any device (Sec. 4.2: the matrix is broadcast): if a victim has one neighbour u, its M is the single
row c_u, and DTW against the attacker's own M has a single path, the sum of the distances of c_u to all of the
attacker's rows. The attacker computes that sum for every c in the dictionary and takes the one that fits.

Sequences, by the server: the first entry of a walk is a neighbour of its start, and neighbours follow each other. The
encoder mostly returns its input, so it hides little of this.

Traffic, by the network: a token mostly goes to a neighbour, and the network that carries it sees both ends. Neither the
encoder nor noise changes that; only a vertex that the predictor jumped to is a wrong guess. TLS hides what a token
says, not where it goes, nor how many there are, and a walk visits a vertex in proportion to its degree.
"""

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from fedwalk.graph.pairs import Pairs, by_frequency, distinct_pairs
from fedwalk.protocols.paper.attacks.views import DeviceView, MatrixView, RelayView, SequenceView


def match_rows(view: MatrixView) -> Pairs:
    """The pairs whose one end's matrix holds the other end's vector.

    >>> from fedwalk.protocols.paper.degree_vectors import DegreeMatrices
    >>> vectors = np.array([[0.3], [1.7], [0.9]], np.float32)
    >>> matrices = DegreeMatrices.stack([vectors[[1]], vectors[[0, 2]], vectors[[1]]])
    >>> match_rows(MatrixView(vectors, matrices)).tolist()
    [[0, 1], [1, 2]]
    """
    known = {row.tobytes(): v for v, row in enumerate(view.vectors)}
    named = np.array([known[row.tobytes()] for row in view.matrices.rows], np.int64)
    return distinct_pairs(np.repeat(np.arange(len(view.matrices)), view.matrices.lengths), named)


def only_neighbours(view: DeviceView) -> NDArray[np.int64]:
    """For every vertex, the only neighbour that it can have if its degree is 1."""
    vectors = view.vectors.astype(np.float64)
    sums = np.zeros(len(vectors))
    for row in view.own.astype(np.float64):
        sums += np.abs(vectors - row).sum(axis=1)
    values, vertices = np.unique(sums, return_index=True)
    above = np.minimum(np.searchsorted(values, view.dissimilarities), values.size - 1)
    below = np.maximum(above - 1, 0)
    lower_fits = np.abs(values[below] - view.dissimilarities) < np.abs(values[above] - view.dissimilarities)
    return np.asarray(vertices[np.where(lower_fits, below, above)])


def first_entries(view: SequenceView) -> Pairs:
    """Each start with the first entry of its walk.

    >>> import numpy as np
    >>> view = SequenceView(np.array([0, 1]), np.array([[1, 2], [0, 3]], np.int32))
    >>> first_entries(view).tolist(), consecutive_entries(view).tolist()
    ([[0, 1]], [[0, 1], [0, 3], [1, 2]])
    """
    return distinct_pairs(view.starts, view.sequences[:, 0])


def consecutive_entries(view: SequenceView) -> Pairs:
    """These pairs, and each entry with the next one, even if it was predicted; the most frequent pairs first."""
    columns = [view.starts, *view.sequences.T]
    return by_frequency(pairwise(columns))


def contacts(view: RelayView) -> Pairs:
    """The pairs of devices that exchanged a token, the most frequent first.

    >>> import numpy as np
    >>> contacts(RelayView(np.array([[0, 1], [2, 1], [1, 2]]))).tolist()
    [[1, 2], [0, 1]]
    """
    return by_frequency([(view.contacts[:, 0], view.contacts[:, 1])])


def volumes(view: RelayView, devices: int) -> NDArray[np.int64]:
    """How many tokens each device sent or received.

    >>> volumes(RelayView(np.array([[0, 1], [2, 1], [1, 2]])), 4).tolist()
    [1, 3, 2, 0]
    """
    return np.bincount(view.contacts.ravel(), minlength=devices)
