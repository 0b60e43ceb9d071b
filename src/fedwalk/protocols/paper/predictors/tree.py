"""The paper's predictor (Sec. 4.3, Algorithm 1, lines 21 to 26): the tree's nearest vertices, bin by bin.

c_u[i] estimates how many neighbours u has in bin i. The pool takes that many vertices of bin i, those nearest to u
in T, and the two-hop vertex u' is uniform over the pool. Nearest means the smallest common subtree, then the smallest
distance in leaf order. A subtree is an interval of leaf order that contains u, and its sibling is adjacent to it. So a
bin's part of the pool is one interval of that bin's vertices in leaf order, and two numbers per vertex and bin describe
the whole pool.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fedwalk.kernels.jit import kernel
from fedwalk.kernels.random import below
from fedwalk.protocols.paper.predictors import Broadcast, Predictor


class Pools(NamedTuple):
    """All vertices bin by bin in leaf order (`members`), and one row of numbers per vertex that describes its pool.

    Row u has, for each bin i, how many of the pool's vertices are in bins 0 … i; then for each bin where its part
    begins among `members`, as an interval without u; then u's own place. A row takes one or two cache lines: a walk
    reads rows at random and waits for each line, so this layout decides the speed.
    """

    members: NDArray[np.int32]
    rows: NDArray[np.uint16] | NDArray[np.int32]


@kernel
def count_before(plan: NDArray[np.int32], order: NDArray[np.int32], before: NDArray[np.int32]) -> None:
    """Fill before[place, i] with the number of vertices of bin i before the place in leaf order."""
    before[0] = 0
    for place in range(order.size):
        before[place + 1] = before[place]
        before[place + 1, plan[order[place]]] += 1


@kernel
def fill_pools(
    wanted: NDArray[np.int64],
    plan: NDArray[np.int32],
    bin_starts: NDArray[np.int64],
    before: NDArray[np.int32],
    parent: NDArray[np.int32],
    size: NDArray[np.int32],
    first: NDArray[np.int32],
    rows: NDArray[np.uint16] | NDArray[np.int32],
) -> None:
    """For each u and bin, climb from u until the subtree contains enough of the bin, then cut off the surplus.

    The interval of u's own bin always contains u, even where nothing else is wanted.
    """
    n, k = wanted.shape
    for u in range(n):
        total = 0
        for i in range(k):
            begin = bin_starts[i]
            own = 1 if plan[u] == i else 0
            want = min(wanted[u, i], bin_starts[i + 1] - begin - own)
            a = begin + before[first[u], i]
            b = a + own
            node = u
            while b - a - own < want:
                node = parent[node]
                wider_a = begin + before[first[node], i]
                wider_b = begin + before[first[node] + size[node], i]
                # The subtree grew on its sibling's side only; the surplus is the part of that side farthest from u.
                surplus = max(0, wider_b - wider_a - own - want)
                if wider_b > b:
                    b = wider_b - surplus
                else:
                    a = wider_a + surplus
            total += b - a - own
            rows[u, i], rows[u, k + i] = total, a


def prepare(broadcast: Broadcast) -> Pools:
    """Compute every vertex's pool from the dictionary, the plan and the tree."""
    n, k = broadcast.vectors.shape
    tree, plan = broadcast.tree, broadcast.plan
    members = np.lexsort((tree.position, plan)).astype(np.int32)
    bin_starts = np.concatenate([[0], np.cumsum(np.bincount(plan, minlength=k))])
    wanted = np.maximum(0, np.rint(broadcast.vectors)).astype(np.int64)
    # 16 bits where they suffice: fewer cache lines per row.
    rows = np.empty((n, 2 * k + 1), np.uint16 if n <= 2**16 else np.int32)
    before = np.empty((n + 1, k), np.int32)
    count_before(plan, tree.order, before)
    fill_pools(wanted, plan, bin_starts, before, tree.parent, tree.size, tree.first, rows)
    rows[members, 2 * k] = np.arange(n)
    return Pools(members, rows)


@kernel
def member(pools: Pools, u: int, place: int) -> int:
    """Vertex number `place` of u's pool: bin by bin, each bin in leaf order."""
    row = pools.rows[u]
    k, i = row.size // 2, 0
    # Counting all bins instead of stopping at the right one: a branch on a random number is mispredicted half the time.
    for j in range(k):
        i += 1 if place >= row[j] else 0
    before = row[i - 1] if i > 0 else 0
    low, slot = row[k + i], row[2 * k]
    index = low + place - before
    return int(pools.members[index + (1 if low <= slot <= index else 0)])


def pool(pools: Pools, u: int) -> list[int]:
    """u's pool, in the order of `member`."""
    return [member(pools, u, place) for place in range(pools.rows[u, pools.rows.shape[1] // 2 - 1])]


@kernel
def extend(pools: Pools, neighbours: NDArray[np.int32], last: int, bits: np.uint64, more: np.uint64) -> int:
    """A uniform draw from the pool of `last`; −1 if it is empty."""
    total = pools.rows[last, pools.rows.shape[1] // 2 - 1]
    return member(pools, last, below(bits, total)) if total > 0 else -1


PREDICTOR = Predictor("tree", min_remaining=3, prepare=prepare, extend=extend)
