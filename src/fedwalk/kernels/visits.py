"""Visits of many tokens at one holder's devices: Algorithm 1 as in `walk`, but only as far as the holder's lists reach.

A token goes on until its walk is written or it stands where the list is empty: at somebody else's device, or at
one without a living neighbour. Its position and entries are in the arrays at all times, so a kernel may stop after any
round. As in `walk`, tokens take turns in lanes, which hides the waits for memory.

Words come from one of two sources. `Keys` name every draw by walk and counter: a simulation, the same walks as `local`
bit for bit. `Pool` is an array of words from the operating system, used up in order; when it may run short, the
visits stop and go on with the next pool.
"""

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from fedwalk.kernels.encoder import EncoderArrays, encode
from fedwalk.kernels.jit import kernel, lean_kernel, specialised
from fedwalk.kernels.prefetch import prefetch
from fedwalk.kernels.random import WALK, below, draw, stream, uniform
from fedwalk.kernels.walk import CHOOSE, DRAWS, ENCODE, LANES, SECOND, TRIGGER


class VisitJob(NamedTuple):
    """What a visit needs but the predictor's tables. A place that isn't the holder's own has an empty list."""

    indptr: NDArray[np.int64]
    indices: NDArray[np.int32]
    alive: NDArray[np.bool_]
    encoder: EncoderArrays
    length: int
    predict: float
    burst: int
    least: int


class Tokens(NamedTuple):
    """Tokens under way: where each stands, how many entries are written, and a row of room for all of them."""

    device: NDArray[np.int32]
    written: NDArray[np.int32]
    rows: NDArray[np.int32]


class Keys(NamedTuple):
    """Simulated words: the key of each token's stream."""

    keys: NDArray[np.uint64]


class Pool(NamedTuple):
    """Fresh words, and in `used` how many of them are spent."""

    words: NDArray[np.uint64]
    used: NDArray[np.int64]


@kernel
def walk_keys(seed: int, walks: NDArray[np.int64]) -> NDArray[np.uint64]:
    """The key of every walk's stream."""
    keys = np.empty(walks.size, np.uint64)
    for i in range(walks.size):
        keys[i] = stream(seed, WALK, walks[i])
    return keys


def make_lanes() -> NDArray[np.int64]:
    """Room for LANES tokens: which they are, and where the neighbour stands that each has chosen."""
    return np.empty((2, LANES), np.int64)


def words_at_most(burst: int, length: int) -> int:
    """Words that one round of visits may use: choice and trigger, then three for each entry, in every lane."""
    return LANES * (2 + 3 * min(burst, length))


@lean_kernel
def _named_word(source: Keys, token: int, counter: int) -> np.uint64:
    return draw(source.keys[token], counter)


@lean_kernel
def _never_short(source: Keys, need: int) -> bool:
    return False


@lean_kernel
def _next_word(source: Pool, token: int, counter: int) -> np.uint64:
    source.used[0] += 1
    return np.uint64(source.words[source.used[0] - 1])


@lean_kernel
def _short(source: Pool, need: int) -> bool:
    return bool(source.words.size - source.used[0] < need)


@cache
def visits_with(extend: Callable[..., int], simulated: bool) -> Callable[..., tuple[int, int]]:
    """Compile (tables, job, source, tokens, pending, need, lanes) → (hops, carried) for a predictor and a source."""
    word, short = (_named_word, _never_short) if simulated else (_next_word, _short)
    extend = specialised(cast(Any, extend).py_func, lean_kernel)
    choose = specialised(_choose, lean_kernel, word=word)
    return specialised(_visits, lean_kernel, extend=extend, choose=choose, word=word, short=short)


def _stand_in(*_arguments: Any) -> Any:
    """Stands for a kernel that `visits_with` binds."""
    raise TypeError("visits are compiled by visits_with(), which puts the kernels of predictor and source here")


extend = choose = word = short = _stand_in
"""A predictor's kernel; a turn of choices; 64 random bits; whether fewer words than needed may be left."""


def _visits(
    tables: Any,
    job: VisitJob,
    source: Any,
    tokens: Tokens,
    pending: NDArray[np.int64],
    need: int,
    lanes: NDArray[np.int64],
) -> tuple[int, int]:
    """Let the pending tokens go on, all of them where a list isn't empty; returns hops and entries carried by them.

    It ends when none can go on, or before a round that might need more words than there are.
    """
    hops, carried, coming, running = 0, 0, 0, 1
    lanes[0] = -1
    while running > 0 and not short(source, need):
        running, coming = choose(job.indptr, job.indices, source, tokens, pending, coming, lanes)
        for i in range(LANES):
            token = lanes[0, i]
            if token < 0:
                continue
            at, target = tokens.written[token], job.indices[lanes[1, i]]
            low, high = job.indptr[tokens.device[token]], job.indptr[tokens.device[token] + 1]
            room = _room(job, at, word(source, token, DRAWS * at + TRIGGER))
            while True:
                entry = target
                if not job.encoder.certain[target]:
                    entry = encode(job.encoder, target, uniform(word(source, token, DRAWS * at + ENCODE)))
                tokens.rows[token, at] = entry
                at += 1
                room -= 1
                if room == 0:
                    break
                bits, more = word(source, token, DRAWS * at + CHOOSE), word(source, token, DRAWS * at + SECOND)
                further = extend(tables, job.indices[low:high], target, bits, more)
                if further < 0 or not job.alive[further]:
                    break
                target = further
            prefetch(job.indptr, target)
            tokens.device[token], tokens.written[token] = target, at
            if at < job.length:
                hops += 1
                carried += at
            else:
                lanes[0, i] = -1
    return hops, carried


def _choose(
    indptr: NDArray[np.int64],
    indices: NDArray[np.int32],
    source: Any,
    tokens: Tokens,
    pending: NDArray[np.int64],
    coming: int,
    lanes: NDArray[np.int64],
) -> tuple[int, int]:
    """Choose a neighbour for each lane's token, a pending one where the last can't go on; returns lanes in use."""
    running = 0
    for i in range(LANES):
        token = lanes[0, i]
        if token < 0 or indptr[tokens.device[token]] == indptr[tokens.device[token] + 1]:
            token = pending[coming] if coming < pending.size else -1
            coming += 1
            lanes[0, i] = token
        if token >= 0:
            running += 1
            low, high = indptr[tokens.device[token]], indptr[tokens.device[token] + 1]
            lanes[1, i] = low + below(word(source, token, DRAWS * tokens.written[token] + CHOOSE), high - low)
            prefetch(indices, lanes[1, i])
    return running, coming


@lean_kernel
def _room(job: VisitJob, at: int, bits: np.uint64) -> int:
    """How many entries this visit may write: one, or a burst if it triggers the predictor."""
    if job.length - at >= job.least and uniform(bits) < job.predict:
        return min(job.burst, job.length - at)
    return 1
