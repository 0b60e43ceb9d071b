"""Visits of many tokens at one holder's devices: Algorithm 1 as in `walk`, but only over the holder's neighbour lists.

A token goes on until its walk is complete or it is at a device whose neighbour list here is empty: a device of another
holder, or one without a neighbour that takes part. Positions and entries are in the arrays at all times, so a kernel
may stop after any round and continue later. As in `walk`, tokens take turns in lanes, which hides the time of random
reads.

Random words come from one of two sources. `Keys` name every draw by walk and counter: a simulation, with the same walks
as a simulation in one process, bit for bit. `Pool` is an array of words from the operating system, used up in order;
the visits stop when it might run short, and go on with the next pool.
"""

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fedwalk.kernels.encoder import EncoderArrays
from fedwalk.kernels.jit import inlined_kernel, kernel, lean_kernel, specialised, to_be_bound
from fedwalk.kernels.llvm import prefetch
from fedwalk.kernels.random import WALK, draw, stream
from fedwalk.kernels.walk import CHOOSE, DRAWS, LANES, choose, visit_with


class VisitJob(NamedTuple):
    """What all visits at one holder share. A vertex that isn't the holder's own has an empty neighbour list.

    `alive` marks the vertices that take part: a predictor may name any vertex of the graph.
    """

    indptr: NDArray[np.int64]
    indices: NDArray[np.int32]
    alive: NDArray[np.bool_]
    encoder: EncoderArrays
    length: int
    predict: float
    burst: int
    min_remaining: int


class Tokens(NamedTuple):
    """Tokens on their way: the device that each is at, its number of entries, and a row with room for all of them."""

    device: NDArray[np.int32]
    written: NDArray[np.int32]
    rows: NDArray[np.int32]


class Keys(NamedTuple):
    """Simulated words: the key of each token's stream."""

    keys: NDArray[np.uint64]


class Pool(NamedTuple):
    """Words from the operating system; `used[0]` is how many of them are spent."""

    words: NDArray[np.uint64]
    # One number in an array, because kernels can't assign to a field of a tuple, and the caller reads it afterwards.
    used: NDArray[np.int64]


@kernel
def walk_keys(seed: int, walks: NDArray[np.int64]) -> NDArray[np.uint64]:
    """The key of every walk's stream."""
    keys = np.empty(walks.size, np.uint64)
    for i in range(walks.size):
        keys[i] = stream(seed, WALK, walks[i])
    return keys


def make_lanes() -> NDArray[np.int64]:
    """Allocate LANES lanes: the token in each (−1 for none), and the place of the neighbour chosen for it."""
    return np.empty((2, LANES), np.int64)


def words_at_most(burst: int, length: int) -> int:
    """Words that one round of visits may use: choice and trigger, then three for each entry, in every lane."""
    return LANES * (2 + 3 * min(burst, length))


@lean_kernel
def _key_of(source: Keys, token: int) -> np.uint64:
    return np.uint64(source.keys[token])


@lean_kernel
def _never_short(source: Keys, need: int) -> bool:
    return False


@lean_kernel
def _same_pool(source: Pool, token: int) -> Pool:
    # Words of a pool belong to no token: each is used once, by the token that is next.
    return source


@lean_kernel
def _next_word(source: Pool, counter: int) -> np.uint64:
    # A fresh word has no name: the counter serves simulations only.
    source.used[0] += 1
    return np.uint64(source.words[source.used[0] - 1])


@lean_kernel
def _short(source: Pool, need: int) -> bool:
    return bool(source.words.size - source.used[0] < need)


@lean_kernel
def _alive(job: VisitJob, vertex: int) -> bool:
    # A predictor may name a vertex that no longer takes part: a token sent there couldn't go on.
    return bool(job.alive[vertex])


@cache
def visits_with(extend: Callable[..., int], simulated: bool) -> Callable[..., tuple[int, int]]:
    """Compile (tables, job, source, tokens, pending, need, lanes) → (hops, carried) for a predictor and a source."""
    word, source_of, short = (draw, _key_of, _never_short) if simulated else (_next_word, _same_pool, _short)
    fill = specialised(_fill, inlined_kernel, word=word, source_of=source_of)
    visit = visit_with(extend, word, _alive)
    return specialised(_visits, lean_kernel, fill=fill, visit=visit, source_of=source_of, short=short)


fill = visit = word = source_of = short = to_be_bound
"""Names that `visits_with` binds in the plain functions below:

- fill(…): `_fill` compiled for the source; visit(…): `walk.visit_with` compiled for predictor and source;
- source_of(source, token): what `word` draws from for this token; word(source, counter): 64 random bits;
- short(source, need): whether fewer words than needed may be left.
"""


def _visits(
    tables: Any,
    job: VisitJob,
    source: Any,
    tokens: Tokens,
    pending: NDArray[np.int64],
    need: int,
    lanes: NDArray[np.int64],
) -> tuple[int, int]:
    """Move the pending tokens, each at a device with a neighbour list; returns hops and the entries carried on them.

    It ends when no token can go on, or before a round that might need more words than there are.
    """
    # `running` starts at 1 only to enter the loop: `fill` then counts the lanes in use.
    hops, carried, coming, running = 0, 0, 0, 1
    # Tokens that an earlier call left in its lanes are among `pending` again.
    lanes[0] = -1
    # Checked once per round, not per word: `need` covers the worst case of a whole round.
    while running > 0 and not short(source, need):
        running, coming = fill(job.indptr, job.indices, source, tokens, pending, coming, lanes)
        for i in range(LANES):
            token = lanes[0, i]
            if token < 0:
                continue
            low, high = job.indptr[tokens.device[token]], job.indptr[tokens.device[token] + 1]
            chosen, written, row = job.indices[lanes[1, i]], tokens.written[token], tokens.rows[token]
            target, at = visit(tables, job, source_of(source, token), low, high, chosen, written, row)
            prefetch(job.indptr, target)
            tokens.device[token], tokens.written[token] = target, at
            if at < job.length:
                # Hops between two devices of this holder count as well: the paper counts hops between devices.
                hops += 1
                carried += at
            else:
                # The walk is complete: the lane is free for the next pending token.
                lanes[0, i] = -1
    return hops, carried


def _fill(
    indptr: NDArray[np.int64],
    indices: NDArray[np.int32],
    source: Any,
    tokens: Tokens,
    pending: NDArray[np.int64],
    coming: int,
    lanes: NDArray[np.int64],
) -> tuple[int, int]:
    """Choose a neighbour for each lane's token, after replacing tokens that can't go on by pending ones.

    Returns the number of lanes in use, and the position of the next pending token.
    """
    running = 0
    # As in `walk`, all lanes choose before the first one reads its choice, so that the prefetches have time to arrive.
    for i in range(LANES):
        token = lanes[0, i]
        # An empty neighbour list: the token has left this holder's devices and stays in the arrays, to be handed on.
        if token < 0 or indptr[tokens.device[token]] == indptr[tokens.device[token] + 1]:
            token = pending[coming] if coming < pending.size else -1
            # May pass the end of `pending`; from then on every free lane stays empty.
            coming += 1
            lanes[0, i] = token
        if token >= 0:
            running += 1
            bits = word(source_of(source, token), DRAWS * tokens.written[token] + CHOOSE)
            lanes[1, i] = choose(indptr, indices, tokens.device[token], bits)
    return running, coming
