"""Kernels over a binary tree in leaf order, where the leaves of every subtree have consecutive positions.

Nodes are numbered as in scipy's linkage: 0 … n − 1 are the leaves, n + i is the node of row i, 2n − 2 is the root.
"""

import numpy as np
from numpy.typing import NDArray

from fedwalk.kernels.jit import kernel


@kernel
def lay_out(
    children: NDArray[np.int32],
    parent: NDArray[np.int32],
    size: NDArray[np.int32],
    first: NDArray[np.int32],
) -> None:
    """Fill in each node's parent, number of leaves and first leaf position; left subtrees come first."""
    n = children.shape[0] + 1
    size[:n] = 1
    parent[2 * n - 2] = -1
    # Rows come bottom-up, so both children have their sizes when their parent is reached …
    for i in range(n - 1):
        left, right = children[i, 0], children[i, 1]
        parent[left] = parent[right] = n + i
        size[n + i] = size[left] + size[right]
    first[2 * n - 2] = 0
    # … and backwards every parent has its first position before its children need it.
    for i in range(n - 2, -1, -1):
        left, right = children[i, 0], children[i, 1]
        first[left] = first[n + i]
        first[right] = first[n + i] + size[left]


@kernel
def common_leaves(parent: NDArray[np.int32], size: NDArray[np.int32], first: NDArray[np.int32], u: int, v: int) -> int:
    """|leaves(T[u ∨ v])| of Eq. 10: climb from u until the subtree's interval contains v's position."""
    node, position = u, first[v]
    # The loop ends at the root at the latest, whose interval contains every position.
    while not first[node] <= position < first[node] + size[node]:
        node = parent[node]
    return int(size[node])
