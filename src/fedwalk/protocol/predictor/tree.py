"""The paper's predictor (Sec. 4.3, Algorithm 1, lines 21 to 26): the tree's nearest vertices, bin by bin.

c_u[i] estimates how many neighbours u has in bin i; the pool takes that many vertices of bin i, those nearest
to u in T, and the two-hop vertex u' is uniform over the pool. Nearest means the smallest common subtree, then
the smallest distance in leaf order. A subtree is an interval of leaf order that holds u, and its sibling is
adjacent, so a bin's part of the pool is one interval of that bin's vertices in leaf order: two numbers per
vertex and bin are the whole table.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fedwalk.kernels.jit import kernel
from fedwalk.kernels.random import below
from fedwalk.protocol.predictor import Broadcast, Predictor


class Pools(NamedTuple):
    """Bin i's part of u's pool is an interval of `members` that starts at low[u, i], without u, who is at slot[u].

    upto[u, i] counts the pool's vertices in bins 0 … i.
    """

    members: NDArray[np.int32]
    low: NDArray[np.int32]
    upto: NDArray[np.int32]
    slot: NDArray[np.int32]


@kernel
def fill_pools(
    wanted: NDArray[np.int64],
    plan: NDArray[np.int32],
    bin_starts: NDArray[np.int64],
    positions: NDArray[np.int32],
    parent: NDArray[np.int32],
    size: NDArray[np.int32],
    first: NDArray[np.int32],
    low: NDArray[np.int32],
    upto: NDArray[np.int32],
) -> None:
    """Climb from each u until the subtree holds enough of the bin, then cut what is too much.

    The interval of u's own bin always holds u, even where nothing else is wanted.
    """
    n, k = wanted.shape
    for u in range(n):
        total = 0
        for i in range(k):
            begin, end = bin_starts[i], bin_starts[i + 1]
            own = 1 if plan[u] == i else 0
            want = min(wanted[u, i], end - begin - own)
            here = positions[begin:end]
            a = begin + np.searchsorted(here, first[u])
            b = a + own
            node = u
            while b - a - own < want:
                node = parent[node]
                wider_a = begin + np.searchsorted(here, first[node])
                wider_b = begin + np.searchsorted(here, first[node] + size[node])
                surplus = max(0, wider_b - wider_a - own - want)
                if wider_b > b:
                    b = wider_b - surplus
                else:
                    a = wider_a + surplus
            total += b - a - own
            low[u, i], upto[u, i] = a, total


def prepare(broadcast: Broadcast) -> Pools:
    """Every vertex's pool, from the dictionary, the plan and the tree."""
    n, k = broadcast.vectors.shape
    tree, plan = broadcast.tree, broadcast.plan
    members = np.lexsort((tree.position, plan)).astype(np.int32)
    bin_starts = np.concatenate([[0], np.cumsum(np.bincount(plan, minlength=k))])
    wanted = np.maximum(0, np.rint(broadcast.vectors)).astype(np.int64)
    low, upto = np.empty((n, k), np.int32), np.empty((n, k), np.int32)
    fill_pools(wanted, plan, bin_starts, tree.position[members], tree.parent, tree.size, tree.first, low, upto)
    return Pools(members, low, upto, np.argsort(members).astype(np.int32))


@kernel
def member(pools: Pools, u: int, place: int) -> int:
    """Vertex number `place` of u's pool: bin by bin, each bin in leaf order. No branch depends on the draw."""
    i = 0
    for j in range(pools.upto.shape[1]):
        i += 1 if place >= pools.upto[u, j] else 0
    before = pools.upto[u, i - 1] if i > 0 else 0
    low, slot = pools.low[u, i], pools.slot[u]
    index = low + place - before
    return int(pools.members[index + (1 if low <= slot <= index else 0)])


def pool(pools: Pools, u: int) -> list[int]:
    """u's pool, in the order in which `extend` counts."""
    return [member(pools, u, place) for place in range(pools.upto[u, -1])]


@kernel
def extend(pools: Pools, neighbours: NDArray[np.int32], last: int, bits: np.uint64, more: np.uint64) -> int:
    """A uniform draw from the pool of `last`; −1 if it is empty."""
    total = pools.upto[last, pools.upto.shape[1] - 1]
    return member(pools, last, below(bits, total)) if total > 0 else -1


PREDICTOR = Predictor("tree", least=3, prepare=prepare, extend=extend)
