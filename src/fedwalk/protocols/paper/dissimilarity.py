"""dissim(u, v) = DTW(M_u, M_v) with L1 local cost (Eq. 6 and 7), for many pairs at once.

Moves (1,0), (0,1), (1,1), no band, no normalisation. Sums are in single precision, as the uploaded numbers are. Where
an exact value matters (the encoder), `kernels.dtw.dtw` computes it in double precision.
"""

from collections.abc import Callable
from functools import partial
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from fedwalk.kernels.dtw import LANES, condense, distances, pairs
from fedwalk.protocols.paper.degree_vectors import DegreeMatrices
from fedwalk.util.parallel import Progress, ranges, run_tasks, silent

FEW = 256
"""Up to this many members every pair has its own lane; with more, `distances` fills its lanes well enough."""

TASKS_PER_THREAD = 16
"""Enough that the last task is short and that progress is smooth."""


def cross_dissimilarity(
    matrices: DegreeMatrices,
    queries: NDArray[np.int64],
    members: NDArray[np.int64],
    threads: int = 1,
    on_progress: Progress = silent,
) -> NDArray[np.float32]:
    """dissim(q, v) for every query and member, as a len(queries) × len(members) array."""
    out = np.empty((len(queries), len(members)), np.float32)
    # Sixteen members share their lanes' length, the longest one's: sorting by length wastes the least of it.
    lengths = matrices.lengths_of(members)
    order = np.argsort(lengths, kind="stable")
    work = np.cumsum(lengths[order])

    def fill(begin: int, end: int) -> None:
        places = order[begin:end]
        table = np.empty((len(queries), len(places)), np.float32)
        distances(matrices.rows, matrices.starts, queries, members[places], table)
        out[:, places] = table

    shares = np.linspace(0, work[-1], threads * TASKS_PER_THREAD + 1)[1:-1]
    inner = np.searchsorted(work, shares) // LANES * LANES
    cuts = np.unique([0, *inner, len(members)]).tolist()
    tasks = [partial(fill, a, b) for a, b in pairwise(cuts)]
    # A group's lanes are as long as its longest member, so the cost is what a task fills, not what it needs.
    costs = [int((b - a) * lengths[order[b - 1]]) for a, b in pairwise(cuts)]
    run_tasks(tasks, threads, on_progress, costs)
    return out


def pairwise_dissimilarity(
    matrices: DegreeMatrices,
    members: NDArray[np.int64],
    threads: int = 1,
    on_progress: Progress = silent,
) -> NDArray[np.float32]:
    """The condensed matrix (scipy's order) of dissim(u, v) among the members."""
    m = len(members)
    out = np.empty(m * (m - 1) // 2, np.float32)
    order = np.argsort(matrices.lengths_of(members), kind="stable")
    tasks, costs = (_by_pairs if m <= FEW else _by_groups)(matrices, members, order, threads, out)
    run_tasks(tasks, threads, on_progress, costs)
    return out


Tasks = tuple[list[Callable[[], None]], list[int]]
"""The tasks, and an estimate of each one's work."""


def _by_pairs(
    matrices: DegreeMatrices,
    members: NDArray[np.int64],
    order: NDArray[np.int64],
    threads: int,
    out: NDArray[np.float32],
) -> Tasks:
    """One lane per pair: each member, from the shortest to the longest, with all shorter ones."""
    longer, shorter = (order[side] for side in np.tril_indices(len(members), -1))
    low, high = np.minimum(longer, shorter), np.maximum(longer, shorter)
    # The index of (low, high) in scipy's condensed matrix.
    place = len(members) * low - low * (low + 1) // 2 + high - low - 1

    def fill(begin: int, end: int) -> None:
        part = np.empty(end - begin, np.float32)
        pairs(matrices.rows, matrices.starts, members[longer[begin:end]], members[shorter[begin:end]], part)
        out[place[begin:end]] = part

    pieces = ranges(len(place), 1 if threads == 1 else threads * TASKS_PER_THREAD)
    return [partial(fill, a, b) for a, b in pieces], [b - a for a, b in pieces]


def _by_groups(
    matrices: DegreeMatrices,
    members: NDArray[np.int64],
    order: NDArray[np.int64],
    threads: int,
    out: NDArray[np.float32],
) -> Tasks:
    """One task per sixteen members, which are compared with all members before them in the order."""
    lengths = matrices.lengths_of(members[order])
    rows_before = np.cumsum(lengths)

    def fill(start: int) -> None:
        group = order[start : start + LANES]
        partners = order[: start + len(group) - 1]
        table = np.empty((len(partners), len(group)), np.float32)
        distances(matrices.rows, matrices.starts, members[partners], members[group], table)
        condense(table, order, start, len(members), out)

    starts = range(0, len(members), LANES)
    last = [min(start + LANES, len(members)) - 1 for start in starts]
    return [partial(fill, start) for start in starts], [1 + int(rows_before[i] * lengths[i]) // 1000 for i in last]
