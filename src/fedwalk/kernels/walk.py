"""Walks of all devices at once (Algorithm 1), the same draws in the same order as Device objects make.

Entry number i of a walk uses the draws 4i … 4i + 3 of the walk's own stream: which vertex, its
encoding, whether the visit that wrote it triggers the predictor, and a second number for predictors that need one.

A walk waits for memory at every step, so a few walks take turns: each asks for what it needs next, and while that is
on its way the others go on.
"""

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from fedwalk.kernels.encoder import EncoderArrays, encode
from fedwalk.kernels.jit import lean_kernel, specialised
from fedwalk.kernels.prefetch import prefetch
from fedwalk.kernels.random import WALK, below, draw, stream, uniform

DRAWS, CHOOSE, ENCODE, TRIGGER, SECOND = 4, 0, 1, 2, 3
LANES = 16
"""Walks that take turns: enough to hide the waits of all levels of the cache."""


class WalkJob(NamedTuple):
    """Everything a walk needs but the predictor: lists, encoder table, and the run's parameters."""

    indptr: NDArray[np.int64]
    indices: NDArray[np.int32]
    encoder: EncoderArrays
    seed: int
    length: int
    predict: float
    burst: int
    least: int


class Lanes(NamedTuple):
    """Walks under way: which walk, its stream's key, where it is, entries written, where the next vertex stands."""

    walk: NDArray[np.int64]
    key: NDArray[np.uint64]
    device: NDArray[np.int64]
    at: NDArray[np.int64]
    place: NDArray[np.int64]


def make_lanes() -> Lanes:
    """Room for LANES walks."""
    walk, device, at, place = (np.empty(LANES, np.int64) for _ in range(4))
    return Lanes(walk, np.empty(LANES, np.uint64), device, at, place)


@cache
def walk_with(extend: Callable[..., int]) -> Callable[..., tuple[int, int]]:
    """Compile the walk (tables, job, lanes, begin, end, out) → (hops, carried) with a predictor's `extend` inside."""
    return specialised(_walk, lean_kernel, extend=specialised(cast(Any, extend).py_func, lean_kernel))


def extend(tables: Any, neighbours: NDArray[np.int32], last: int, bits: np.uint64, more: np.uint64) -> int:
    """The next entry of a burst, or −1 if there is none: stands for a predictor's own kernel in `_walk`."""
    raise TypeError("a walk is compiled by walk_with(), which puts a predictor's kernel here")


def _walk(tables: Any, job: WalkJob, lanes: Lanes, begin: int, end: int, out: NDArray[np.int32]) -> tuple[int, int]:
    """Walks begin … end − 1, one row of `out` each; returns hops and entries carried by them.

    Walk w starts at vertex w mod n. Lanes take turns, a visit each; one whose walk is done takes the next.
    """
    n, hops, carried = job.indptr.size - 1, 0, 0
    running = min(LANES, end - begin)
    coming = begin + running
    for i in range(LANES):
        _begin(lanes, i, begin + i if i < running else -1, job.seed, n)
    while running > 0:
        for i in range(LANES):
            _choose(job.indptr, job.indices, lanes, i, draw(lanes.key[i], DRAWS * lanes.at[i] + CHOOSE))
        for i in range(LANES):
            if lanes.walk[i] < 0:
                continue
            key, at, row = lanes.key[i], lanes.at[i], lanes.walk[i] - begin
            low, high = job.indptr[lanes.device[i]], job.indptr[lanes.device[i] + 1]
            room = _room(job, key, at)
            target = job.indices[lanes.place[i]]
            while True:
                out[row, at] = _disguise(job.encoder, target, key, at)
                at += 1
                room -= 1
                if room == 0:
                    break
                bits, more = draw(key, DRAWS * at + CHOOSE), draw(key, DRAWS * at + SECOND)
                further = extend(tables, job.indices[low:high], target, bits, more)
                if further < 0:
                    break
                target = further
            prefetch(job.indptr, target)
            lanes.device[i], lanes.at[i] = target, at
            if at < job.length:
                hops += 1
                carried += at
            else:
                running -= 0 if coming < end else 1
                _begin(lanes, i, coming if coming < end else -1, job.seed, n)
                coming += 1
    return hops, carried


@lean_kernel
def _choose(indptr: NDArray[np.int64], indices: NDArray[np.int32], lanes: Lanes, i: int, bits: np.uint64) -> None:
    """Choose a neighbour of the lane's vertex, and ask for it without waiting."""
    low = indptr[lanes.device[i]]
    lanes.place[i] = low + below(bits, indptr[lanes.device[i] + 1] - low)
    prefetch(indices, lanes.place[i])


@lean_kernel
def _room(job: WalkJob, key: np.uint64, at: int) -> int:
    """How many entries this visit may write: one, or a burst if it triggers the predictor."""
    if job.length - at >= job.least and uniform(draw(key, DRAWS * at + TRIGGER)) < job.predict:
        return min(job.burst, job.length - at)
    return 1


@lean_kernel
def _disguise(encoder: EncoderArrays, vertex: int, key: np.uint64, at: int) -> int:
    """The vertex as the encoder writes it; no draw is needed where there is no choice."""
    return vertex if encoder.certain[vertex] else encode(encoder, vertex, uniform(draw(key, DRAWS * at + ENCODE)))


@lean_kernel
def _begin(lanes: Lanes, i: int, walk: int, seed: int, vertices: int) -> None:
    """Give the lane a new walk, or −1 for none."""
    lanes.walk[i], lanes.key[i] = walk, stream(seed, WALK, walk)
    lanes.device[i], lanes.at[i] = walk % vertices, 0


@lean_kernel
def plain_walks(
    indptr: NDArray[np.int64],
    indices: NDArray[np.int32],
    seed: int,
    lanes: Lanes,
    begin: int,
    end: int,
    out: NDArray[np.int32],
) -> None:
    """DeepWalk: uniform walks over the whole graph, the start vertex being the first entry."""
    n = indptr.size - 1
    for first in range(begin, end, LANES):
        running = min(LANES, end - first)
        for i in range(running):
            _begin(lanes, i, first + i, seed, n)
            out[first - begin + i, 0] = lanes.device[i]
        for at in range(1, out.shape[1]):
            for i in range(running):
                _choose(indptr, indices, lanes, i, draw(lanes.key[i], at))
            for i in range(running):
                lanes.device[i] = indices[lanes.place[i]]
                out[first - begin + i, at] = lanes.device[i]
                prefetch(indptr, lanes.device[i])
