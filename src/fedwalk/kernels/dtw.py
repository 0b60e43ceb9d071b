"""Dynamic time warping with L1 local cost (Eq. 6 and 7), sixteen pairs of sequences at a time.

A cell of the cost matrix needs its left neighbour, so the cells of one pair can't be computed at the same time. Those
of sixteen pairs can: sixteen sequences of similar length lie interleaved in memory (rows, then dimensions, then lanes),
and one loop over the lanes fills a whole AVX-512 register. Two rows of the query are processed at once, so that each
number of the block is loaded once for two cells. A lane's result is read at its own length, so the padding of
shorter sequences never matters. The number of dimensions is a constant of the compiled code, because only a loop with a
constant bound is unrolled and vectorised.

`distances` compares each query with sixteen members at a time; the query needs no copy. With few and long sequences
that would leave lanes empty, and packing costs little beside their cells: `pairs` has a pair of its own in every lane.
"""

from collections.abc import Callable
from functools import cache

import numpy as np
from numpy.typing import NDArray

from fedwalk.kernels.jit import kernel, lane_kernel, specialised

LANES = 16
"""Floats in an AVX-512 register, and in a cache line. On AVX2 each operation takes two registers."""
Lanes = NDArray[np.float32]
INFINITE = np.float32(np.inf)
K, QUERY_STRIDE, QUERY_LANE = 1, 1, 0
"""Placeholders for constants that `specialised` binds in the loops below: the number of bins, and the query's layout
in memory, which is (1, 0) for plain rows that all lanes share, and (LANES, 1) for a query packed like the block."""


def aligned(count: int) -> NDArray[np.float32]:
    """An array that starts on a cache line: lanes across two lines would be loaded at half the speed."""
    raw = np.empty(count + LANES, np.float32)
    # The offset is at most 15 floats, so the LANES floats added above always leave room for it.
    offset = -raw.ctypes.data % 64 // 4
    return raw[offset : offset + count]


@kernel
def pack(
    rows: NDArray[np.float32],
    k: int,
    starts: NDArray[np.int64],
    members: NDArray[np.int64],
    block: NDArray[np.float32],
) -> None:
    """Interleave the members' rows in the block; unused lanes repeat the last member."""
    # What lies behind a shorter member stays from the last use of the block: no result reads it.
    for lane in range(LANES):
        v = members[min(lane, members.size - 1)]
        base = starts[v] * k
        for cell in range((starts[v + 1] - starts[v]) * k):
            block[cell * LANES + lane] = rows[base + cell]


def one_row(query: Lanes, block: Lanes, length: int, above: Lanes, below: Lanes) -> None:
    """Eq. 7 for one query row against the block, given the costs of the row above.

    Cell (j, lane) is at (j + 1)·LANES + lane. In front of each row lies a cell for the border of the cost matrix.
    """
    for j in range(length):
        b = block[j * K * LANES : (j + 1) * K * LANES]
        o = j * LANES
        for t in range(LANES):
            cost = np.float32(0)
            # Summed in the order of the bins, never reassociated: every batch must give the same bits.
            for c in range(K):
                # No QUERY_STRIDE here: only `_distances` takes a single row, and its queries are plain rows.
                cost += abs(query[c] - b[c * LANES + t])
            # The cell is at o + LANES + t, so o + t is its left neighbour in `below` and its diagonal one in `above`.
            below[o + LANES + t] = cost + min(min(above[o + t], above[o + LANES + t]), below[o + t])


def two_rows(query: Lanes, block: Lanes, length: int, above: Lanes, between: Lanes, below: Lanes) -> None:
    """The same for two query rows at once; `between` receives the costs of the upper one."""
    for j in range(length):
        b = block[j * K * LANES : (j + 1) * K * LANES]
        o = j * LANES
        for t in range(LANES):
            first = np.float32(0)
            second = np.float32(0)
            for c in range(K):
                x = b[c * LANES + t]
                first += abs(query[c * QUERY_STRIDE + t * QUERY_LANE] - x)
                second += abs(query[(K + c) * QUERY_STRIDE + t * QUERY_LANE] - x)
            upper = first + min(min(above[o + t], above[o + LANES + t]), between[o + t])
            # `upper` is the cell above this one, still in a register, and between[o + t] the diagonal one.
            lower = second + min(min(between[o + t], upper), below[o + t])
            between[o + LANES + t] = upper
            below[o + LANES + t] = lower


def _distances(
    rows: Lanes,
    starts: NDArray[np.int64],
    queries: NDArray[np.int64],
    members: NDArray[np.int64],
    block: Lanes,
    above: Lanes,
    between: Lanes,
    below: Lanes,
    out: Lanes,
) -> None:
    """DTW of every query to every member, sixteen members at a time."""
    for group in range(0, members.size, LANES):
        lanes = members[group : group + LANES]
        pack(rows, K, starts, lanes, block)
        length = np.max(starts[lanes + 1] - starts[lanes])
        for q in range(queries.size):
            begin, end = starts[queries[q]], starts[queries[q] + 1]
            # The border of the cost matrix: a path starts at its corner, so the corner is free and the rest infinite.
            above[:LANES] = np.float32(0)
            above[LANES : (length + 1) * LANES] = INFINITE
            between[:LANES] = INFINITE
            # Rows are taken by twos; the first one of an odd number is taken alone.
            if (end - begin) % 2 == 1:
                below[:LANES] = INFINITE
                one_row(rows[begin * K : (begin + 1) * K], block, length, above, below)
                above, below = below, above
                begin += 1
            for i in range(begin, end, 2):
                # Set in every round: after a swap, `below` may be the buffer whose border has the free corner.
                below[:LANES] = INFINITE
                two_rows(rows[i * K : (i + 2) * K], block, length, above, between, below)
                above, below = below, above
            # After the last swap, `above` has the costs of the query's last row.
            for lane in range(lanes.size):
                v = lanes[lane]
                out[q, group + lane] = above[(starts[v + 1] - starts[v]) * LANES + lane]


def _pairs(
    rows: Lanes,
    starts: NDArray[np.int64],
    lefts: NDArray[np.int64],
    rights: NDArray[np.int64],
    query: Lanes,
    block: Lanes,
    above: Lanes,
    between: Lanes,
    below: Lanes,
    out: Lanes,
) -> None:
    """DTW of each left to its right, sixteen pairs at a time."""
    for group in range(0, lefts.size, LANES):
        left, right = lefts[group : group + LANES], rights[group : group + LANES]
        pack(rows, K, starts, left, query)
        pack(rows, K, starts, right, block)
        heights, lengths = starts[left + 1] - starts[left], starts[right + 1] - starts[right]
        length = np.max(lengths)
        above[:LANES] = np.float32(0)
        above[LANES : (length + 1) * LANES] = INFINITE
        between[:LANES] = INFINITE
        for i in range(0, np.max(heights), 2):
            below[:LANES] = INFINITE
            two_rows(query[i * K * LANES : (i + 2) * K * LANES], block, length, above, between, below)
            # Lanes differ in height: each is read when its own last row is done. What follows in it is padding.
            for lane in range(left.size):
                if heights[lane] == i + 1:
                    out[group + lane] = between[lengths[lane] * LANES + lane]
                elif heights[lane] == i + 2:
                    out[group + lane] = below[lengths[lane] * LANES + lane]
            above, below = below, above


@cache
def _distances_kernel(k: int) -> Callable[..., None]:
    """`_distances` for k bins.

    The row loops stay separate functions: inside the loop that swaps `above` and `below`, LLVM couldn't tell that the
    buffers don't overlap, and wouldn't vectorise.
    """
    one = specialised(one_row, lane_kernel, K=k)
    two = specialised(two_rows, lane_kernel, K=k)
    return specialised(_distances, K=k, one_row=one, two_rows=two)


@cache
def _pairs_kernel(k: int) -> Callable[..., None]:
    """`_pairs` for k bins."""
    two = specialised(two_rows, lane_kernel, K=k, QUERY_STRIDE=LANES, QUERY_LANE=1)
    return specialised(_pairs, K=k, two_rows=two)


def distances(
    rows: NDArray[np.float32],
    starts: NDArray[np.int64],
    queries: NDArray[np.int64],
    members: NDArray[np.int64],
    out: NDArray[np.float32],
) -> None:
    """Fill out[i, j] with DTW(queries[i], members[j]); fastest if adjacent members have similar lengths."""
    k = rows.shape[1]
    length = int((starts[members + 1] - starts[members]).max())
    block = aligned(length * k * LANES)
    above, between, below = (aligned((length + 1) * LANES) for _ in range(3))
    _distances_kernel(k)(rows.reshape(-1), starts, queries, members, block, above, between, below, out)


def pairs(
    rows: NDArray[np.float32],
    starts: NDArray[np.int64],
    lefts: NDArray[np.int64],
    rights: NDArray[np.int64],
    out: NDArray[np.float32],
) -> None:
    """Fill out[i] with DTW(lefts[i], rights[i]); fastest if adjacent pairs are of similar lengths, the left longer."""
    k = rows.shape[1]
    height = int((starts[lefts + 1] - starts[lefts]).max())
    length = int((starts[rights + 1] - starts[rights]).max())
    # One row more than the longest left: rows are taken by twos, so an odd number reads one row too many.
    query, block = aligned((height + 1) * k * LANES), aligned(length * k * LANES)
    above, between, below = (aligned((length + 1) * LANES) for _ in range(3))
    _pairs_kernel(k)(rows.reshape(-1), starts, lefts, rights, query, block, above, between, below, out)


@kernel
def condense(
    table: NDArray[np.float32], order: NDArray[np.int64], start: int, count: int, out: NDArray[np.float32]
) -> None:
    """Copy table[i, lane], the distance of order[i] and order[start + lane], into scipy's condensed matrix.

    That matrix holds the upper triangle row by row: entry (low, high) of `count` vertices is at the index below.
    """
    for lane in range(table.shape[1]):
        place = order[start + lane]
        # Only the places before its own: so every pair is copied from exactly one table.
        for i in range(start + lane):
            low, high = min(order[i], place), max(order[i], place)
            out[count * low - low * (low + 1) // 2 + high - low - 1] = table[i, lane]


@kernel
def dtw(
    rows: NDArray[np.float32],
    begin: int,
    end: int,
    other_begin: int,
    other_end: int,
    limit: float,
    scratch: NDArray[np.float64],
) -> float:
    """One exact distance in double precision; infinite as soon as it must exceed `limit`.

    `scratch` holds one row of costs: at least other_end − other_begin + 1 numbers. One row is enough, because cell j
    of the row above isn't needed any more when cell j + 1 is written.
    """
    k = rows.shape[1]
    columns = other_end - other_begin
    scratch[0] = 0.0
    scratch[1 : columns + 1] = np.inf
    for i in range(begin, end):
        diagonal, left, smallest = scratch[0], np.inf, np.inf
        # The corner is free only for the first row.
        scratch[0] = np.inf
        for j in range(columns):
            cost = 0.0
            for c in range(k):
                # Converted before the subtraction: a difference in single precision would be rounded already.
                cost += abs(np.float64(rows[i, c]) - np.float64(rows[other_begin + j, c]))
            up = scratch[j + 1]
            left = cost + min(min(diagonal, up), left)
            diagonal = up
            scratch[j + 1] = left
            smallest = min(smallest, left)
        # Every path passes through this row, and costs only grow along it.
        if smallest > limit:
            return np.inf
    # The last row's minimum may be within the limit while its last cell, the distance, is not.
    return scratch[columns] if scratch[columns] <= limit else np.inf
