"""Walks of all devices at once (Algorithm 1), the same draws in the same order as Device objects make.

Entry number i of a walk uses the draws 4i … 4i + 3 of the walk's own stream: which vertex, its
encoding, whether the visit that wrote it triggers the predictor, and a second number for predictors that need one.

A walk waits for memory at every step, so a few walks take turns: while one waits, the others go on.
"""

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from fedwalk.kernels.encoder import EncoderArrays, encode
from fedwalk.kernels.jit import kernel, lean_kernel, specialised
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
    """Walks under way, a few at a time: which walk, its stream's key, where it is, entries written."""

    walk: NDArray[np.int64]
    key: NDArray[np.uint64]
    device: NDArray[np.int64]
    at: NDArray[np.int64]


def make_lanes() -> Lanes:
    """Room for LANES walks."""
    walk, device, at = (np.empty(LANES, np.int64) for _ in range(3))
    return Lanes(walk, np.empty(LANES, np.uint64), device, at)


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
            if lanes.walk[i] < 0:
                continue
            key, at, row = lanes.key[i], lanes.at[i], lanes.walk[i] - begin
            low = job.indptr[lanes.device[i]]
            degree = job.indptr[lanes.device[i] + 1] - low
            room = 1
            if job.length - at >= job.least and uniform(draw(key, DRAWS * at + TRIGGER)) < job.predict:
                room = min(job.burst, job.length - at)
            target = job.indices[low + below(draw(key, DRAWS * at + CHOOSE), degree)]
            while True:
                out[row, at] = _disguise(job.encoder, target, key, at)
                at += 1
                room -= 1
                if room == 0:
                    break
                bits, more = draw(key, DRAWS * at + CHOOSE), draw(key, DRAWS * at + SECOND)
                further = extend(tables, job.indices[low : low + degree], target, bits, more)
                if further < 0:
                    break
                target = further
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
def _disguise(encoder: EncoderArrays, vertex: int, key: np.uint64, at: int) -> int:
    """The vertex as the encoder writes it; no draw is needed where there is no choice."""
    return vertex if encoder.certain[vertex] else encode(encoder, vertex, uniform(draw(key, DRAWS * at + ENCODE)))


@lean_kernel
def _begin(lanes: Lanes, i: int, walk: int, seed: int, vertices: int) -> None:
    """Give the lane a new walk, or −1 for none."""
    lanes.walk[i], lanes.key[i] = walk, stream(seed, WALK, walk)
    lanes.device[i], lanes.at[i] = walk % vertices, 0


@kernel
def plain_walks(
    indptr: NDArray[np.int64],
    indices: NDArray[np.int32],
    seed: int,
    begin: int,
    end: int,
    out: NDArray[np.int32],
) -> None:
    """DeepWalk: uniform walks over the whole graph, the start vertex being the first entry."""
    n = indptr.size - 1
    keys, vertices = np.empty(LANES, np.uint64), np.empty(LANES, np.int64)
    for first in range(begin, end, LANES):
        lanes = min(LANES, end - first)
        for i in range(lanes):
            keys[i], vertices[i] = stream(seed, WALK, first + i), (first + i) % n
            out[first - begin + i, 0] = vertices[i]
        for at in range(1, out.shape[1]):
            for i in range(lanes):
                low = indptr[vertices[i]]
                degree = indptr[vertices[i] + 1] - low
                vertices[i] = indices[low + below(draw(keys[i], at), degree)]
                out[first - begin + i, at] = vertices[i]
