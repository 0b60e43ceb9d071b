"""Weighted paths of two edges between two vertices a and b: Σ_w W_aw W_wb / s_w, the resource allocation index.

One row of the pair is written into a dense array, and the other is read entry by entry. Callers choose the shorter row
for reading, so all pairs of a graph together cost as much as counting its triangles.
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
    """The sum for each pair (spread[i], read[i]), where shares[w] is 1 / s_w.

    Pairs must be grouped by `spread`: its dense row is then written once for all of them.
    """
    dense = np.zeros(indptr.size - 1, np.float32)
    sums = np.empty(spread.size, np.float32)
    current = -1
    for i in range(spread.size):
        if spread[i] != current:
            if current >= 0:
                # Only the entries of the last row are cleared: clearing all n per row would cost n² in the end.
                for j in range(indptr[current], indptr[current + 1]):
                    dense[indices[j]] = 0.0
            current = spread[i]
            for j in range(indptr[current], indptr[current + 1]):
                dense[indices[j]] = weights[j] * shares[indices[j]]
        total = 0.0
        for j in range(indptr[read[i]], indptr[read[i] + 1]):
            # `dense` is zero except in the other row, so only common neighbours w add to the sum.
            total += dense[indices[j]] * weights[j]
        sums[i] = total
    return sums
