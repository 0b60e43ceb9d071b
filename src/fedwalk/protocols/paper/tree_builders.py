"""Builders of the HCT from the uploaded matrices (Sec. 4.2, Algorithm 2, lines 13 and 14).

`average` is the exact reference: average linkage over all n(n−1)/2 dissimilarities. `hybrid` follows the idea that the
paper cites: divide the vertices from the top until the parts are small, cluster exactly inside each part, then
cluster the parts by their medoids. It never needs an n × n matrix. Parts are limited by their number of rows too,
because DTW's cost grows with rows: so a few hubs cost no more than many vertices of low degree.

A builder is a function (matrices, seed, threads, on_progress) → Tree in `BUILDERS`.
"""

from collections.abc import Callable
from functools import partial

import numpy as np
from numpy.typing import NDArray
from scipy.cluster.hierarchy import linkage as scipy_linkage
from scipy.spatial.distance import squareform

from fedwalk.kernels.random import CLUSTERING, lots
from fedwalk.protocols.paper.degree_vectors import DegreeMatrices
from fedwalk.protocols.paper.dissimilarity import cross_dissimilarity, pairwise_dissimilarity
from fedwalk.protocols.paper.tree import Tree
from fedwalk.util.parallel import Progress, run_tasks, silent

PART_VERTICES = 1024
PART_ROWS = 32_768
MAX_PIVOTS = 32
MAX_UNDIVIDED = 12
"""A part of at most this many vertices is never divided: all its pairs cost about as much as two pivots."""
PIVOT_ROWS = PART_ROWS // 4
"""Limit on the pivots' rows together: among hubs, few pivots and one more split cost less than many pivots at once."""

Builder = Callable[[DegreeMatrices, int, int, Progress], Tree]
Members = NDArray[np.int64]


def average(matrices: DegreeMatrices, seed: int = 0, threads: int = 1, on_progress: Progress = silent) -> Tree:
    """Exact average linkage over the whole dissimilarity matrix: memory and time grow with n²."""
    everyone = np.arange(len(matrices))
    condensed = pairwise_dissimilarity(matrices, everyone, threads, on_progress)
    return Tree(_average_linkage(condensed, len(matrices)))


def hybrid(matrices: DegreeMatrices, seed: int = 0, threads: int = 1, on_progress: Progress = silent) -> Tree:
    """Divisive at the top, exact average linkage inside the parts and over their medoids."""
    parts = divide(matrices, np.arange(len(matrices)), seed, threads)
    work = [1 + int(matrices.lengths_of(part).sum()) ** 2 // 1000 for part in parts]
    done = run_tasks([partial(_cluster, matrices, part) for part in parts], threads, on_progress, work)
    trees, medoids = [tree for tree, _ in done], np.array([medoid for _, medoid in done])
    between = pairwise_dissimilarity(matrices, medoids, threads)
    return Tree(graft(parts, trees, _average_linkage(between, len(parts)), len(matrices)))


def _cluster(matrices: DegreeMatrices, part: Members) -> tuple[NDArray[np.float64], int]:
    """A part's own linkage array and its medoid."""
    condensed = pairwise_dissimilarity(matrices, part)
    return _average_linkage(condensed, len(part)), int(part[_medoid(condensed, len(part))])


BUILDERS: dict[str, Builder] = {"hybrid": hybrid, "average": average}


def divide(matrices: DegreeMatrices, members: Members, seed: int, threads: int, depth: int = 0) -> list[Members]:
    """Split until every part has at most PART_VERTICES vertices and PART_ROWS rows, or at most MAX_UNDIVIDED vertices.

    Each member goes to its nearest pivot, and parts that are still too large are split again.
    """
    lengths = matrices.lengths_of(members)
    excess = max(len(members) / PART_VERTICES, lengths.sum() / PART_ROWS)
    if len(members) <= MAX_UNDIVIDED or excess <= 1:
        return [members]
    pivots = _pivots(matrices, members, int(np.clip(np.ceil(2 * excess), 2, MAX_PIVOTS)), seed, depth)
    nearest = cross_dissimilarity(matrices, pivots, members, threads).argmin(axis=0)
    pieces = [members[nearest == p] for p in range(len(pivots))]
    # One piece has almost everything: splitting it again by pivots might never end.
    if max(map(len, pieces)) > 0.9 * len(members):
        pieces = _cut_by_length(members, lengths, int(np.ceil(excess)))
    return [part for piece in pieces if len(piece) for part in divide(matrices, piece, seed, threads, depth + 1)]


def _pivots(matrices: DegreeMatrices, members: Members, count: int, seed: int, depth: int) -> Members:
    """Random members, ascending: `count` of them, or as many as PIVOT_ROWS allows, but at least two."""
    drawn = members[np.argsort(lots(seed, CLUSTERING, members, depth), kind="stable")[:count]]
    affordable = int(np.count_nonzero(np.cumsum(matrices.lengths_of(drawn)) <= PIVOT_ROWS))
    return np.sort(drawn[: max(2, affordable)])


def _cut_by_length(members: Members, lengths: NDArray[np.int64], pieces: int) -> list[Members]:
    """Split the members, ordered by their numbers of rows, into pieces with equally many rows.

    For vertices with equal matrices, which are equally far from every pivot.
    """
    order = np.argsort(lengths, kind="stable")
    share = np.cumsum(lengths[order]) / lengths.sum()
    cuts = np.searchsorted(share, np.arange(1, max(pieces, 2)) / max(pieces, 2))
    return [np.sort(piece) for piece in np.split(members[order], np.clip(cuts, 1, len(members) - 1))]


def _average_linkage(condensed: NDArray[np.float32], m: int) -> NDArray[np.float64]:
    """scipy's average linkage, with no rows for a single member."""
    if m == 1:
        return np.empty((0, 4))
    return np.asarray(scipy_linkage(condensed.astype(np.float64), "average"), np.float64)


def _medoid(condensed: NDArray[np.float32], m: int) -> int:
    """The index of the member with the smallest total dissimilarity to its part; the first one of several."""
    return int(squareform(condensed, checks=False).sum(axis=1, dtype=np.float64).argmin()) if m > 1 else 0


def graft(
    parts: list[Members], trees: list[NDArray[np.float64]], top: NDArray[np.float64], n: int
) -> NDArray[np.float64]:
    """Combine the parts' linkage arrays and the one over the parts into one, rows ascending by height.

    The height of a join above the parts is at least its children's, so that no branch of a dendrogram goes down.
    """
    rows, roots, heights, sizes, fresh = [], [], [], [], n
    for part, tree in zip(parts, trees, strict=True):
        m = len(part)
        # Node numbers of the part's own array become numbers of the whole: leaves are vertices, joins get new ones.
        names = np.concatenate([part, fresh + np.arange(m - 1)])
        rows.append(np.column_stack([names[tree[:, :2].astype(np.int64)], tree[:, 2:]]))
        roots.append(names[-1])
        heights.append(tree[-1, 2] if m > 1 else 0.0)
        sizes.append(m)
        fresh += m - 1
    for left, right, height, _ in top:
        a, b = int(left), int(right)
        height = max(height, heights[a], heights[b])
        rows.append(np.array([[roots[a], roots[b], height, sizes[a] + sizes[b]]]))
        roots.append(fresh)
        heights.append(height)
        sizes.append(sizes[a] + sizes[b])
        fresh += 1
    return _sorted_by_height(np.concatenate(rows), n)


def _sorted_by_height(rows: NDArray[np.float64], n: int) -> NDArray[np.float64]:
    """Renumber the internal nodes so that heights ascend, as scipy's functions expect."""
    order = np.argsort(rows[:, 2], kind="stable")
    renamed = np.arange(2 * n - 1, dtype=np.float64)
    renamed[n + order] = n + np.arange(n - 1)
    result = rows[order]
    result[:, :2] = np.sort(renamed[result[:, :2].astype(np.int64)], axis=1)
    return result
