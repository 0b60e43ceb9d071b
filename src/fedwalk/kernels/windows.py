"""SkipGram over whole walks: draw window sizes, negatives and rates for each centre, and train its window.

Every draw is a function of the seed, the walk's number and a counter: stream 0 makes the initial vectors, and stream
w + 1 belongs to walk w. The negatives of a walk are chosen from a pool of candidates drawn for that walk. Each is still
a draw from the noise distribution, but the few dozen rows of a pool stay in the fastest cache.
`fedwalk.embedding.skipgram` splits the walks into blocks and calls these kernels.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fedwalk.kernels.alias import pair_up
from fedwalk.kernels.jit import fast_kernel, kernel
from fedwalk.kernels.llvm import prefetch
from fedwalk.kernels.random import TRAINING, below, draw, stream, uniform
from fedwalk.kernels.skipgram import LANES, SLOTS, Floats, Longs, train_window

POOL = 64
"""Candidates for the negatives of a walk. With 16, micro-F1 drops; with 64 it is the same as with fresh draws."""

AHEAD = 2
"""Centres between the prefetch of a row and its use."""

LINE = 16
"""Floats in a cache line, the unit of a prefetch."""


class Model(NamedTuple):
    """Input and output rows of all vertices, flat."""

    inputs: Floats
    outputs: Floats
    stride: int


class Noise(NamedTuple):
    """The distribution of negatives as an alias table: a draw of v gives v with probability cut[v], else alias[v]."""

    cut: Floats
    alias: NDArray[np.int32]


class Plan(NamedTuple):
    """Parameters of the whole training; `walks` is the number of walks, over which the rate falls linearly."""

    window: int
    negative: int
    seed: int
    walks: int
    start_rate: float
    end_rate: float


@fast_kernel
def _draw_pool(key: np.uint64, counter: int, noise: Noise, pool: Longs) -> None:
    """Candidates for a walk's negatives, each drawn from the noise distribution."""
    for j in range(pool.shape[0]):
        # One number serves for both choices: the whole part names the place, the fraction is compared with the cut.
        point = uniform(draw(key, counter + j)) * noise.cut.shape[0]
        vertex = int(point)
        pool[j] = vertex if point - vertex < noise.cut[vertex] else noise.alias[vertex]


@fast_kernel
def _draw_walk(
    walk: NDArray[np.int32],
    number: int,
    stride: int,
    noise: Noise,
    plan: Plan,
    pool: Longs,
    spans: Longs,
    slots: Longs,
    rates: Floats,
) -> None:
    """Window sizes, output rows and their rates for every centre of a walk.

    A negative that was drawn before for the same centre, or is the centre, has rate 0: the six rows are updated
    together, so a repeated row would lose one of its updates.
    """
    key = stream(plan.seed, TRAINING, number + 1)
    # From the walk's number, not from progress: the rate doesn't depend on the number of threads.
    rate = np.float32(plan.start_rate - (plan.start_rate - plan.end_rate) * (number / plan.walks))
    width = _width(plan.negative)
    # The draws after those of all centres (a window size and the negatives of each) belong to the pool.
    _draw_pool(key, walk.shape[0] * (1 + plan.negative), noise, pool)
    for p in range(walk.shape[0]):
        counter, at = p * (1 + plan.negative), p * width
        # word2vec's dynamic window: uniform in 1 … window, so that near contexts count more.
        spans[p] = 1 + below(draw(key, counter), plan.window)
        for j in range(width):
            # Unused slots of the last group repeat the centre at rate 0, which changes nothing.
            slots[at + j], rates[at + j] = walk[p] * stride, np.float32(0)
        rates[at] = rate
        for j in range(1, 1 + plan.negative):
            row = pool[below(draw(key, counter + j), POOL)] * stride
            repeated = False
            for k in range(j):
                repeated |= slots[at + k] == row
            slots[at + j], rates[at + j] = row, np.float32(0) if repeated else rate


@fast_kernel
def _width(negative: int) -> int:
    """Slots of a centre: itself and its negatives, filled up to whole groups."""
    # 1 + negative, rounded up to a multiple of SLOTS.
    return (negative + SLOTS) // SLOTS * SLOTS


@fast_kernel
def _context(walk: NDArray[np.int32], centre: int, span: int, stride: int, rows: Longs) -> int:
    """List the input rows of a window; returns how many. One more follows, because rows are trained by twos."""
    count = 0
    for p in range(centre - span, centre + span + 1):
        if 0 <= p < walk.shape[0] and p != centre:
            rows[count] = walk[p] * stride
            count += 1
    rows[count] = rows[0]
    return count


@fast_kernel
def _prefetch(walk: NDArray[np.int32], centre: int, model: Model, slots: Longs, width: int, window: int) -> None:
    """Prefetch what a coming centre needs that isn't cached yet: its output rows, and the row new to its window."""
    if centre < walk.shape[0]:
        for j in range(centre * width, (centre + 1) * width):
            _prefetch_row(model.outputs, slots[j], model.stride)
    if centre + window < walk.shape[0]:
        _prefetch_row(model.inputs, walk[centre + window] * model.stride, model.stride)


@fast_kernel
def _prefetch_row(matrix: Floats, begin: int, stride: int) -> None:
    for d in range(0, stride, LINE):
        prefetch(matrix, begin + d)


@fast_kernel
def train_walks(walks: NDArray[np.int32], first: int, model: Model, noise: Noise, plan: Plan) -> None:
    """Train on walks that are numbered from `first`, in place."""
    inputs, outputs, stride = model
    length, width = walks.shape[1], _width(plan.negative)
    spans, pool = np.empty(length, np.int64), np.empty(POOL, np.int64)
    # LANES zeros more than needed: kernels read whole vectors, and an odd row is trained at the rates at the end.
    slots = np.zeros(length * width + LANES, np.int64)
    rates = np.zeros(slots.shape[0], np.float32)
    rows = np.zeros(2 * plan.window + 1, np.int64)
    # Labels minus ½, because gains are computed from σ − ½. Only the first group of slots contains the centre.
    negatives = np.full(LANES, np.float32(-0.5))
    positive = negatives.copy()
    positive[0] = 0.5
    for w in range(walks.shape[0]):
        walk = walks[w]
        _draw_walk(walk, first + w, stride, noise, plan, pool, spans, slots, rates)
        for p in range(length):
            _prefetch(walk, p + AHEAD, model, slots, width, plan.window)
            count, at = _context(walk, p, spans[p], stride, rows), p * width
            train_window(inputs, outputs, stride, rows, count, slots, rates, at, positive)
            for j in range(at + SLOTS, at + width, SLOTS):
                train_window(inputs, outputs, stride, rows, count, slots, rates, j, negatives)


@kernel
def alias_table(weights: NDArray[np.floating[Any]]) -> Noise:
    """The alias table of a distribution; a weight of zero is never drawn."""
    n = weights.shape[0]
    # Rounding may leave places unpaired. With these defaults they give themselves or, if their weight
    # is zero, the heaviest.
    cut = (weights > 0).astype(np.float32)
    alias = np.full(n, np.argmax(weights), np.int32)
    scaled = weights * (n / weights.sum())
    pair_up(scaled, cut, alias, np.empty(n, np.int64))
    return Noise(cut, alias)


@kernel
def initial_vectors(counts: Longs, dim: int, stride: int, seed: int, vectors: Floats) -> None:
    """Fill in vectors uniform in ±1/dim, as gensim does, for vertices that occur; the others stay as they are."""
    key = stream(seed, TRAINING, 0)
    for v in range(counts.shape[0]):
        if counts[v] > 0:
            for d in range(dim):
                # Draws are numbered by `dim`, not by `stride`, so that padding doesn't change the vectors.
                vectors[v * stride + d] = (2 * uniform(draw(key, v * dim + d)) - 1) / dim
