"""Kernels over a binary tree laid out in leaf order: every subtree is one interval of leaf positions."""

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
    """Parents, leaf counts and the first leaf position of every node; left subtrees come first."""
    n = children.shape[0] + 1
    size[:n] = 1
    parent[2 * n - 2] = -1
    for i in range(n - 1):
        left, right = children[i, 0], children[i, 1]
        parent[left] = parent[right] = n + i
        size[n + i] = size[left] + size[right]
    first[2 * n - 2] = 0
    for i in range(n - 2, -1, -1):
        left, right = children[i, 0], children[i, 1]
        first[left] = first[n + i]
        first[right] = first[n + i] + size[left]


@kernel
def common_leaves(parent: NDArray[np.int32], size: NDArray[np.int32], first: NDArray[np.int32], u: int, v: int) -> int:
    """|leaves(T[u ∨ v])|: climb from u until the subtree's interval holds v's position."""
    node, position = u, first[v]
    while not first[node] <= position < first[node] + size[node]:
        node = parent[node]
    return int(size[node])
