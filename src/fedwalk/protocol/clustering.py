"""Builders of the HCT from the uploaded matrices (Sec. 4.2, Algorithm 2, lines 13 and 14).

`average` is the exact reference: all n(n−1)/2 dissimilarities, average linkage. `hybrid` follows the
idea the paper cites: divide the vertices from the top until a part is small, agglomerate exactly
inside each part, then agglomerate the parts by their medoids. It never holds an n × n matrix, and its
work in a part is bounded by its rows, so that a few hubs don't cost more than many small vertices.

A builder is a function (matrices, seed, threads, report) → Tree, entered in `BUILDERS`.
"""

from collections.abc import Callable
from functools import partial

import numpy as np
from numpy.typing import NDArray
from scipy.cluster.hierarchy import linkage as scipy_linkage
from scipy.spatial.distance import squareform

from fedwalk.kernels.random import CLUSTERING, lots
from fedwalk.kernels.threads import Report, run_tasks, silent
from fedwalk.protocol.degree import DegreeMatrices
from fedwalk.protocol.dissimilarity import cross_dissimilarity, pairwise_dissimilarity
from fedwalk.protocol.tree import Tree

PART_VERTICES = 1024
PART_ROWS = 32_768
MOST_PIVOTS = 32
HANDFUL = 12
"""Never divided, however many rows: all their pairs cost about as much as two pivots, and are exact."""
PIVOT_ROWS = PART_ROWS // 4
"""Rows of the pivots together: among hubs a few pivots and one more split cost less than many pivots at once."""

Builder = Callable[[DegreeMatrices, int, int, Report], Tree]
Members = NDArray[np.int64]


def average(matrices: DegreeMatrices, seed: int = 0, threads: int = 1, report: Report = silent) -> Tree:
    """Exact average linkage over the whole dissimilarity matrix: memory and time grow with n²."""
    everyone = np.arange(len(matrices))
    condensed = pairwise_dissimilarity(matrices, everyone, threads, report)
    return Tree(_average_linkage(condensed, len(matrices)))


def hybrid(matrices: DegreeMatrices, seed: int = 0, threads: int = 1, report: Report = silent) -> Tree:
    """Divisive at the top, exact average linkage inside the parts and over their medoids."""
    parts = divide(matrices, np.arange(len(matrices)), seed, threads)
    work = [1 + int(matrices.lengths_of(part).sum()) ** 2 // 1000 for part in parts]
    done = run_tasks([partial(_cluster, matrices, part) for part in parts], threads, report, work)
    trees, medoids = [tree for tree, _ in done], np.array([medoid for _, medoid in done])
    between = pairwise_dissimilarity(matrices, medoids, threads)
    return Tree(graft(parts, trees, _average_linkage(between, len(parts)), len(matrices)))


def _cluster(matrices: DegreeMatrices, part: Members) -> tuple[NDArray[np.float64], int]:
    """A part's own linkage array and its medoid."""
    condensed = pairwise_dissimilarity(matrices, part)
    return _average_linkage(condensed, len(part)), int(part[_medoid(condensed, len(part))])


BUILDERS: dict[str, Builder] = {"hybrid": hybrid, "average": average}


def divide(matrices: DegreeMatrices, members: Members, seed: int, threads: int, depth: int = 0) -> list[Members]:
    """Split until every part has at most PART_VERTICES vertices and PART_ROWS rows, or is a handful of hubs."""
    lengths = matrices.lengths_of(members)
    excess = max(len(members) / PART_VERTICES, lengths.sum() / PART_ROWS)
    if len(members) <= HANDFUL or excess <= 1:
        return [members]
    pivots = _pivots(matrices, members, int(np.clip(np.ceil(2 * excess), 2, MOST_PIVOTS)), seed, depth)
    nearest = cross_dissimilarity(matrices, pivots, members, threads).argmin(axis=0)
    pieces = [members[nearest == p] for p in range(len(pivots))]
    if max(map(len, pieces)) > 0.9 * len(members):
        pieces = _cut_by_length(members, lengths, int(np.ceil(excess)))
    return [part for piece in pieces if len(piece) for part in divide(matrices, piece, seed, threads, depth + 1)]


def _pivots(matrices: DegreeMatrices, members: Members, count: int, seed: int, depth: int) -> Members:
    """A few members drawn at random, ascending: `count`, or as many as PIVOT_ROWS allows, but two at least."""
    drawn = members[np.argsort(lots(seed, CLUSTERING, members, depth), kind="stable")[:count]]
    affordable = int(np.count_nonzero(np.cumsum(matrices.lengths_of(drawn)) <= PIVOT_ROWS))
    return np.sort(drawn[: max(2, affordable)])


def _cut_by_length(members: Members, lengths: NDArray[np.int64], pieces: int) -> list[Members]:
    """Twins can't be told apart by any pivot: cut their order by row count into pieces of equal rows."""
    order = np.argsort(lengths, kind="stable")
    share = np.cumsum(lengths[order]) / lengths.sum()
    cuts = np.searchsorted(share, np.arange(1, max(pieces, 2)) / max(pieces, 2))
    return [np.sort(piece) for piece in np.split(members[order], np.clip(cuts, 1, len(members) - 1))]


def _average_linkage(condensed: NDArray[np.float32], m: int) -> NDArray[np.float64]:
    """scipy's average linkage; no rows for a single member."""
    if m == 1:
        return np.empty((0, 4))
    return np.asarray(scipy_linkage(condensed.astype(np.float64), "average"), np.float64)


def _medoid(condensed: NDArray[np.float32], m: int) -> int:
    """The member with the least total dissimilarity to its part, the first of equals."""
    return int(squareform(condensed, checks=False).sum(axis=1, dtype=np.float64).argmin()) if m > 1 else 0


def graft(
    parts: list[Members], trees: list[NDArray[np.float64]], top: NDArray[np.float64], n: int
) -> NDArray[np.float64]:
    """One linkage array out of the parts' own and the one over the parts, rows ascending by height.

    A join above the parts is never drawn below what it joins: its height is at least its children's.
    """
    rows, roots, heights, sizes, fresh = [], [], [], [], n
    for part, tree in zip(parts, trees, strict=True):
        m = len(part)
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
    """Renumber the internal nodes so that heights ascend, as scipy's own functions expect."""
    order = np.argsort(rows[:, 2], kind="stable")
    renamed = np.arange(2 * n - 1, dtype=np.float64)
    renamed[n + order] = n + np.arange(n - 1)
    result = rows[order]
    result[:, :2] = np.sort(renamed[result[:, :2].astype(np.int64)], axis=1)
    return result
