"""One dissimilarity names the only neighbour of a vertex, to any device (Sec. 4.2: the matrix is broadcast).

If a victim has one neighbour u, its M is the single row c_u, and DTW against the attacker's own M has a single path:
the sum of the distances of c_u to all of the attacker's rows. The attacker computes that sum for every c in the
dictionary and takes the one that fits.
"""

import numpy as np
from numpy.typing import NDArray

from fedwalk.audit.views import DeviceView


def only_neighbours(view: DeviceView) -> NDArray[np.int64]:
    """For every vertex the neighbour it must have, if it has just one."""
    vectors = view.vectors.astype(np.float64)
    sums = np.zeros(len(vectors))
    for row in view.own.astype(np.float64):
        sums += np.abs(vectors - row).sum(axis=1)
    values, vertices = np.unique(sums, return_index=True)
    above = np.minimum(np.searchsorted(values, view.dissimilarities), values.size - 1)
    below = np.maximum(above - 1, 0)
    lower_fits = np.abs(values[below] - view.dissimilarities) < np.abs(values[above] - view.dissimilarities)
    return np.asarray(vertices[np.where(lower_fits, below, above)])
