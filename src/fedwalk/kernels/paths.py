"""Weighted paths of two edges between two vertices: Σ_w W_aw W_wb / s_w, the resource that b would get from a.

One row is spread out over a dense array, the other is read along; the pair's shorter row is the one that is read. So
all pairs of a graph cost what counting its triangles costs.
"""

import numpy as np
from numpy.typing import NDArray

from fedwalk.kernels.jit import kernel


@kernel
def two_edge_paths(
    indptr: NDArray[np.int64],
    indices: NDArray[np.int32],
    weights: NDArray[np.float32],
    shares: NDArray[np.float32],
    spread: NDArray[np.int64],
    read: NDArray[np.int64],
) -> NDArray[np.float32]:
    """The sum for each pair (spread[i], read[i]); equal values of `spread` stand together; shares[w] is 1 / s_w."""
    dense = np.zeros(indptr.size - 1, np.float32)
    found = np.empty(spread.size, np.float32)
    current = -1
    for i in range(spread.size):
        if spread[i] != current:
            if current >= 0:
                for j in range(indptr[current], indptr[current + 1]):
                    dense[indices[j]] = 0.0
            current = spread[i]
            for j in range(indptr[current], indptr[current + 1]):
                dense[indices[j]] = weights[j] * shares[indices[j]]
        total = 0.0
        for j in range(indptr[read[i]], indptr[read[i] + 1]):
            total += dense[indices[j]] * weights[j]
        found[i] = total
    return found
