"""The hierarchical clustering tree (HCT) T: n leaves, n − 1 internal nodes (Sec. 4.2)."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fedwalk.errors import InputError
from fedwalk.kernels.tree import common_leaves, lay_out


@dataclass(frozen=True, slots=True, eq=False)
class Tree:
    """A binary tree over the vertices, made from a scipy linkage array and laid out in leaf order.

    Parameters
    ----------
    linkage
        (n − 1) × 4, in the format of `scipy.cluster.hierarchy`: two children, a height, a number of leaves.

    Examples
    --------
    >>> tree = Tree(np.array([[0, 1, 1.0, 2], [2, 3, 2.0, 2], [4, 5, 3.0, 4]]))
    >>> tree.leaves, tree.common_leaves(0, 1), tree.common_leaves(0, 2)
    (4, 2, 4)
    """

    linkage: NDArray[np.float64]
    parent: NDArray[np.int32] = field(init=False, repr=False)
    size: NDArray[np.int32] = field(init=False, repr=False)
    first: NDArray[np.int32] = field(init=False, repr=False)
    order: NDArray[np.int32] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        linkage = np.array(self.linkage, np.float64)
        if linkage.ndim != 2 or linkage.shape[1] != 4 or not np.array_equal(linkage[:, :2], np.rint(linkage[:, :2])):
            raise InputError(
                "linkage: expected rows of four numbers: two whole ones for the joined nodes, height, leaves."
            )
        n = len(linkage) + 1
        children = linkage[:, :2].astype(np.int32)
        _check_children(children, n)
        parent, size, first = (np.empty(2 * n - 1, np.int32) for _ in range(3))
        lay_out(children, parent, size, first)
        if not np.array_equal(size[n:], linkage[:, 3]):
            raise InputError("linkage: column 4 (leaf counts) contradicts the children.")
        # The leaves in dendrogram order, by inverting their positions.
        order = np.empty(n, np.int32)
        order[first[:n]] = np.arange(n)
        self._freeze(linkage=linkage, parent=parent, size=size, first=first, order=order)

    def _freeze(self, **arrays: NDArray[Any]) -> None:
        for name, array in arrays.items():
            array.setflags(write=False)
            object.__setattr__(self, name, array)

    @property
    def leaves(self) -> int:
        """The number of leaves, one per vertex."""
        return self.order.size

    @property
    def position(self) -> NDArray[np.int32]:
        """Each vertex's position in the dendrogram's leaf order."""
        return self.first[: self.leaves]

    def common_leaves(self, u: int, v: int) -> int:
        """|leaves(T[u ∨ v])|, the size of the smallest subtree that contains both (Eq. 10)."""
        return int(common_leaves(self.parent, self.size, self.first, u, v))


def _check_children(children: NDArray[np.int32], n: int) -> None:
    """Check that every node but the root is the child of exactly one later node."""
    own = n + np.arange(n - 1)
    if (children < 0).any() or (children >= own[:, None]).any():
        raise InputError("linkage: a row joins a node that doesn't exist yet; rows must come bottom-up.")
    if np.unique(children).size != 2 * n - 2:
        raise InputError("linkage: a node is joined twice; this isn't a tree.")
