"""Walks of all devices at once (Algorithm 1), the same draws in the same order as Device objects make.

Entry number i of a walk uses the draws 4i … 4i + 3 of the walk's own stream: which vertex, its
encoding, whether the visit that wrote it triggers the predictor, and a second number for predictors that need one.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fedwalk.kernels.encoder import encode
from fedwalk.kernels.jit import kernel, specialised
from fedwalk.kernels.random import WALK, below, draw, stream, uniform

DRAWS, CHOOSE, ENCODE, TRIGGER, SECOND = 4, 0, 1, 2, 3


class WalkJob(NamedTuple):
    """Everything a walk needs but the predictor: lists, encoder table, and the run's parameters."""

    indptr: NDArray[np.int64]
    indices: NDArray[np.int32]
    encoder_starts: NDArray[np.int64]
    encoder_outputs: NDArray[np.int32]
    encoder_cumulative: NDArray[np.float64]
    seed: int
    length: int
    predict: float
    burst: int
    least: int


def walk_with(extend: Callable[..., int]) -> Callable[..., tuple[int, int]]:
    """Compile the walk (tables, job, begin, end, out) → (hops, carried) with a predictor's `extend` inside."""
    return specialised(_walk, extend=extend)


def extend(tables: Any, neighbours: NDArray[np.int32], last: int, bits: np.uint64, more: np.uint64) -> int:
    """The next entry of a burst, or −1 if there is none: stands for a predictor's own kernel in `_walk`."""
    raise TypeError("a walk is compiled by walk_with(), which puts a predictor's kernel here")


def _walk(tables: Any, job: WalkJob, begin: int, end: int, out: NDArray[np.int32]) -> tuple[int, int]:
    """Walks begin … end − 1, one row of `out` each; returns hops and entries carried by them.

    Walk w starts at vertex w mod n.
    """
    n = job.indptr.size - 1
    hops, carried = 0, 0
    for walk in range(begin, end):
        key = stream(job.seed, WALK, walk)
        row = out[walk - begin]
        device, at = walk % n, 0
        while at < job.length:
            trigger = draw(key, DRAWS * at + TRIGGER)
            neighbours = job.indices[job.indptr[device] : job.indptr[device + 1]]
            limit = 1
            if job.length - at >= job.least and uniform(trigger) < job.predict:
                limit = min(job.burst, job.length - at)
            target = neighbours[below(draw(key, DRAWS * at + CHOOSE), neighbours.size)]
            taken = 0
            while True:
                x = uniform(draw(key, DRAWS * at + ENCODE))
                row[at] = encode(job.encoder_starts, job.encoder_outputs, job.encoder_cumulative, target, x)
                at += 1
                taken += 1
                if taken >= limit:
                    break
                bits, more = draw(key, DRAWS * at + CHOOSE), draw(key, DRAWS * at + SECOND)
                further = extend(tables, neighbours, target, bits, more)
                if further < 0:
                    break
                target = further
            if at < job.length:
                hops += 1
                carried += at
            device = target
    return hops, carried


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
    for walk in range(begin, end):
        key = stream(seed, WALK, walk)
        vertex = walk % n
        row = out[walk - begin]
        row[0] = vertex
        for at in range(1, row.size):
            low = indptr[vertex]
            vertex = indices[low + below(draw(key, at), indptr[vertex + 1] - low)]
            row[at] = vertex
