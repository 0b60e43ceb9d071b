"""dissim(u, v) = DTW(M_u, M_v) with L1 local cost (Eq. 6 and 7), for many pairs at once.

Moves (1,0), (0,1), (1,1), no band, no normalisation. Sums run in single precision, like the released
numbers themselves; where an exact value matters (the encoder) `kernels.dtw.dtw` recomputes it in double.
"""

from collections.abc import Callable
from functools import partial

import numpy as np
from numpy.typing import NDArray

from fedwalk.kernels.dtw import LANES, distances_to_group
from fedwalk.kernels.threads import Report, run_tasks, silent
from fedwalk.protocol.degree import DegreeMatrices


def _by_length(matrices: DegreeMatrices, members: NDArray[np.int64]) -> NDArray[np.int64]:
    """Positions of the members, shortest first: neighbours in this order share a group of lanes."""
    return np.argsort(matrices.lengths[members], kind="stable")


def _cells(matrices: DegreeMatrices, queries: NDArray[np.int64], group: NDArray[np.int64]) -> int:
    """How many cells the kernel fills for these queries against this group, in thousands."""
    lengths = matrices.lengths
    return 1 + int(lengths[queries].sum() * lengths[group].max()) * LANES // 1000


def cross_dissimilarity(
    matrices: DegreeMatrices,
    queries: NDArray[np.int64],
    members: NDArray[np.int64],
    threads: int = 1,
    report: Report = silent,
) -> NDArray[np.float32]:
    """dissim(q, v) for every query and member, as a len(queries) × len(members) array."""
    out = np.empty((len(queries), len(members)), np.float32)
    order = _by_length(matrices, members)
    tasks: list[Callable[[], None]] = []
    costs = []

    def fill(places: NDArray[np.int64]) -> None:
        lanes = np.empty((len(queries), len(places)), np.float32)
        distances_to_group(matrices.rows, matrices.starts, queries, members[places], lanes)
        out[:, places] = lanes

    for start in range(0, len(members), LANES):
        places = order[start : start + LANES]
        tasks.append(partial(fill, places))
        costs.append(_cells(matrices, queries, members[places]))
    run_tasks(tasks, threads, report, costs)
    return out


def pairwise_dissimilarity(
    matrices: DegreeMatrices,
    members: NDArray[np.int64],
    threads: int = 1,
    report: Report = silent,
) -> NDArray[np.float32]:
    """The condensed matrix (scipy's order) of dissim(u, v) among the members."""
    m = len(members)
    out = np.empty(m * (m - 1) // 2, np.float32)
    if m < 2:
        return out
    order = _by_length(matrices, members)
    tasks: list[Callable[[], None]] = []
    costs = []

    def fill(start: int) -> None:
        places = order[start : start + LANES]
        partners = order[: start + len(places) - 1]
        lanes = np.empty((len(partners), len(places)), np.float32)
        distances_to_group(matrices.rows, matrices.starts, members[partners], members[places], lanes)
        for lane, place in enumerate(places):
            others = partners[: start + lane]
            low, high = np.minimum(others, place), np.maximum(others, place)
            out[m * low - low * (low + 1) // 2 + high - low - 1] = lanes[: start + lane, lane]

    for start in range(0, m, LANES):
        places = order[start : start + LANES]
        tasks.append(partial(fill, start))
        costs.append(_cells(matrices, members[order[: start + len(places) - 1]], members[places]))
    run_tasks(tasks, threads, report, costs)
    return out
