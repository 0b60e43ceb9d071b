"""Algorithm 1 for all devices at once, with the same draws in the same order as `Device` objects make.

`_visit` is the algorithm itself: what one device does with one token. It is compiled into two loops. `walk_with` runs
all walks of a simulation to their end, and `visits_with` (in visits.py) runs the tokens of one holder as far as its
own devices reach. One loop for both would make a simulation a tenth slower: a token's state would be read from arrays
as long as the batch, instead of from a few lanes.

Every step of a walk reads memory at random, so a single walk mostly waits. Therefore LANES walks take turns: each
prefetches what it reads next, and the others go on while that is on its way.

The loops of this file are compiled twice, for uniform steps and for steps in proportion to the edges' weights, so that
walks over graphs without weights don't pay for them. Both use the same draws.
"""

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from fedwalk.kernels.alias import locate, pick
from fedwalk.kernels.encoder import EncoderArrays, encode
from fedwalk.kernels.jit import inlined_kernel, lean_kernel, specialised, to_be_bound
from fedwalk.kernels.llvm import prefetch
from fedwalk.kernels.random import WALK, below, draw, stream, uniform

DRAWS, CHOOSE, ENCODE, TRIGGER, SECOND = 4, 0, 1, 2, 3
"""Entry i of a walk uses the draws 4i … 4i + 3 of the walk's own stream: which vertex, its encoding, whether the visit
that writes it triggers the predictor, and a second number for predictors that need one. A draw that isn't needed is
skipped, and the numbers of the others stay the same: so a walk doesn't depend on which party computes it."""

LANES = 16
"""Walks that take turns: enough to hide the time of a read from main memory behind the work of the others."""

WEIGHTED_LANES = 32
"""The same with weights: alias entries take four times the memory of neighbours, so more reads miss the caches."""


class WalkJob(NamedTuple):
    """What all walks of a simulation share: neighbour lists, encoder table and the run's parameters.

    `targets` is what a step reads: `indices`, or the alias entries of a weighted graph. Predictors always read
    `indices`. Their tables are a separate argument of the kernels, because their type differs by predictor.
    """

    indptr: NDArray[np.int64]
    indices: NDArray[np.int32]
    targets: NDArray[Any]
    encoder: EncoderArrays
    seed: int
    length: int
    predict: float
    burst: int
    min_remaining: int


class Lanes(NamedTuple):
    """The walks that take turns, one per lane.

    For each: its number (−1 if the lane is idle), the key of its random stream, the device that holds it, the number of
    entries written, and the place in `indices` of the neighbour chosen next. `coin` belongs to the place, and is used
    with weights only.
    """

    walk: NDArray[np.int64]
    key: NDArray[np.uint64]
    device: NDArray[np.int64]
    at: NDArray[np.int64]
    place: NDArray[np.int64]
    coin: NDArray[np.float64]


def make_lanes() -> Lanes:
    """Allocate lanes, enough for either kind of step; every thread needs its own, as lean kernels can't allocate."""
    walk, device, at, place = (np.empty(WEIGHTED_LANES, np.int64) for _ in range(4))
    return Lanes(walk, np.empty(WEIGHTED_LANES, np.uint64), device, at, place, np.empty(WEIGHTED_LANES))


extend = word = takes_part = visit = aim = chosen = to_be_bound
"""Names that `specialised` binds in the plain functions below:

- extend(tables, neighbours, last, bits, more_bits): the predictor's next vertex, or −1 for none;
- word(source, counter): 64 random bits;
- takes_part(job, vertex): whether a token may be handed to the vertex;
- visit(…): `_visit` compiled with the three above;
- aim(indptr, targets, lanes, i, bits): choose a neighbour for the walk in lane i; its memory is prefetched, not read;
- chosen(targets, lanes, i): read that neighbour.
"""


@cache
def walk_with(extend: Callable[..., int], weighted: bool) -> Callable[..., tuple[int, int]]:
    """Compile the walk (tables, job, lanes, begin, end, out) → (hops, carried) with a predictor's `extend` inside."""
    steps = WEIGHTED if weighted else UNIFORM
    return specialised(_walk, lean_kernel, visit=visit_with(extend, draw, _always), **steps)


def visit_with(extend: Callable[..., int], word: Callable[..., Any], takes_part: Callable[..., bool]) -> Any:
    """Compile one visit for a predictor, a source of random words and a rule for which vertices take part."""
    # The predictor is compiled anew without reference counts: one kernel that has them brings them into the whole loop.
    lean = specialised(cast(Any, extend).py_func, lean_kernel)
    return specialised(_visit, inlined_kernel, extend=lean, word=word, takes_part=takes_part)


@lean_kernel
def _always(job: WalkJob, vertex: int) -> bool:
    """In a simulation every vertex takes part."""
    return True


def _visit(
    tables: Any, job: Any, source: Any, low: int, high: int, target: int, at: int, row: NDArray[np.int32]
) -> tuple[int, int]:
    """Algorithm 1's device operation: write an entry, or a burst; returns the next device and the number of entries.

    The device's neighbours are indices[low:high], and `target` is the one that it has chosen; `at` is the number of
    entries in the row so far. The slice is made only for the predictor: made earlier, it costs a few per cent.
    """
    # Before any entry is written: the trigger's draw is numbered by the visit's first entry.
    room = _room(job, at, word(source, DRAWS * at + TRIGGER))
    while True:
        # Most vertices can only be encoded as themselves: one byte says so, and saves the search and its draw.
        if job.encoder.certain[target]:
            row[at] = target
        else:
            row[at] = encode(job.encoder, target, uniform(word(source, DRAWS * at + ENCODE)))
        at += 1
        room -= 1
        if room == 0:
            break
        # Draws are numbered by the entry that they are for, so these belong to the entry after the one just written.
        bits, more = word(source, DRAWS * at + CHOOSE), word(source, DRAWS * at + SECOND)
        further = extend(tables, job.indices[low:high], target, bits, more)
        # The token goes to the last vertex written, so one that can't receive it must not be written.
        if further < 0 or not takes_part(job, further):
            break
        # Algorithm 1, lines 27 and 28, encodes u again. The paper's text encodes the predicted vertex, as done here.
        target = further
    return target, at


@lean_kernel
def _room(job: Any, at: int, bits: np.uint64) -> int:
    """How many entries this visit may write: one, or a burst if it triggers the predictor."""
    # Line 18 of Algorithm 1 requires l > 2, hence 3 as the min_remaining of the paper's predictor.
    if job.length - at >= job.min_remaining and uniform(bits) < job.predict:
        return int(min(job.burst, job.length - at))
    return 1


@lean_kernel
def choose(indptr: NDArray[np.int64], indices: NDArray[np.int32], device: int, bits: np.uint64) -> int:
    """Choose a neighbour of the device uniformly; returns its place in `indices`, which is prefetched, not read."""
    low = indptr[device]
    place = low + below(bits, indptr[device + 1] - low)
    prefetch(indices, place)
    return int(place)


@inlined_kernel
def _aim_uniformly(
    indptr: NDArray[np.int64], indices: NDArray[np.int32], lanes: Lanes, i: int, bits: np.uint64
) -> None:
    lanes.place[i] = choose(indptr, indices, lanes.device[i], bits)


@inlined_kernel
def _chosen_uniformly(indices: NDArray[np.int32], lanes: Lanes, i: int) -> int:
    return int(indices[lanes.place[i]])


@inlined_kernel
def _aim_by_weight(indptr: NDArray[np.int64], entries: NDArray[np.void], lanes: Lanes, i: int, bits: np.uint64) -> None:
    low = indptr[lanes.device[i]]
    place, coin = locate(bits, indptr[lanes.device[i] + 1] - low)
    prefetch(entries, low + place)
    lanes.place[i], lanes.coin[i] = low + place, coin


@inlined_kernel
def _chosen_by_weight(entries: NDArray[np.void], lanes: Lanes, i: int) -> int:
    return pick(entries, lanes.place[i], lanes.coin[i])


UNIFORM: dict[str, Any] = {"aim": _aim_uniformly, "chosen": _chosen_uniformly}
WEIGHTED: dict[str, Any] = {"aim": _aim_by_weight, "chosen": _chosen_by_weight, "LANES": WEIGHTED_LANES}
"""How a step is made: from neighbours, all alike, or from alias entries, in proportion to the weights."""


def _walk(tables: Any, job: WalkJob, lanes: Lanes, begin: int, end: int, out: NDArray[np.int32]) -> tuple[int, int]:
    """Walks begin … end − 1, one row of `out` each; returns the hops, and the entries that tokens carried on them.

    Walk w starts at vertex w mod n. A lane whose walk is complete takes the next one.
    """
    n, hops, carried = job.indptr.size - 1, 0, 0
    # With fewer walks than lanes, the other lanes stay idle from the start.
    running = min(LANES, end - begin)
    coming = begin + running
    for i in range(LANES):
        _begin(lanes, i, begin + i if i < running else -1, job.seed, n)
    while running > 0:
        # Two passes: by the time the second reads a chosen neighbour, the prefetches of the first have arrived.
        for i in range(LANES):
            bits = draw(lanes.key[i], DRAWS * lanes.at[i] + CHOOSE)
            aim(job.indptr, job.targets, lanes, i, bits)
        for i in range(LANES):
            if lanes.walk[i] < 0:
                continue
            low, high = job.indptr[lanes.device[i]], job.indptr[lanes.device[i] + 1]
            first, row = chosen(job.targets, lanes, i), out[lanes.walk[i] - begin]
            target, at = visit(tables, job, lanes.key[i], low, high, first, lanes.at[i], row)
            # The next round begins with the offsets of the target's neighbour list.
            prefetch(job.indptr, target)
            lanes.device[i], lanes.at[i] = target, at
            # A token that is handed on carries all entries written so far; a complete walk goes to the server.
            if at < job.length:
                hops += 1
                carried += at
            else:
                running -= 0 if coming < end else 1
                _begin(lanes, i, coming if coming < end else -1, job.seed, n)
                coming += 1
    return hops, carried


@lean_kernel
def _begin(lanes: Lanes, i: int, walk: int, seed: int, vertices: int) -> None:
    """Give the lane a new walk, or −1 for none: an idle lane still chooses, harmlessly, which saves a branch."""
    lanes.walk[i], lanes.key[i] = walk, stream(seed, WALK, walk)
    # −1 mod n is n − 1, a real device: an idle lane reads the bounds of its row, and nothing outside of the arrays.
    lanes.device[i], lanes.at[i] = walk % vertices, 0


def _plain_walks(
    indptr: NDArray[np.int64],
    targets: NDArray[Any],
    seed: int,
    lanes: Lanes,
    begin: int,
    end: int,
    out: NDArray[np.int32],
) -> None:
    """DeepWalk: walks over the whole graph, whose first entry is the start vertex.

    All of them are equally long, so the lanes run in step: LANES walks begin and end together.
    """
    n = indptr.size - 1
    for first in range(begin, end, LANES):
        running = min(LANES, end - first)
        for i in range(running):
            _begin(lanes, i, first + i, seed, n)
            out[first - begin + i, 0] = lanes.device[i]
        for at in range(1, out.shape[1]):
            for i in range(running):
                # One draw per entry, not DRAWS: nothing is encoded or predicted here.
                aim(indptr, targets, lanes, i, draw(lanes.key[i], at))
            for i in range(running):
                lanes.device[i] = chosen(targets, lanes, i)
                out[first - begin + i, at] = lanes.device[i]
                prefetch(indptr, lanes.device[i])


plain_walks = specialised(_plain_walks, lean_kernel, **UNIFORM)
"""(indptr, indices, seed, lanes, begin, end, out): DeepWalk's walks."""
plain_weighted_walks = specialised(_plain_walks, lean_kernel, **WEIGHTED)
"""(indptr, alias entries, seed, lanes, begin, end, out): the same, in proportion to the weights."""
