"""A device's randomised-response list, exactly and in integers (protocol `ldp`).

The fakes are a Bernoulli process over all ids. Its gaps are geometric with 1 − q = e^(−rate / 2⁶²), which the sampler
of Canonne, Kamath and Steinke (2020, Alg. 2) draws exactly from random 64-bit words, without a logarithm and without a
look at the ids in between. So a list costs its own length and no rounding error, whatever n is.

Kernels read their words from an array. One that comes to its end says so by a position beyond the array: its answer is
then worth nothing, and the caller asks again with more words.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fedwalk.kernels.jit import kernel
from fedwalk.kernels.random import FAKES, KEEP, draws, mix64

UNIT_BITS = 62
_UNIT = np.uint64(1 << UNIT_BITS)
_SPARE = np.uint64(64 - UNIT_BITS)
_TOP = np.uint64(0xFFFFFFFFFFFFFFFF)
_ZERO, _ONE = np.uint64(0), np.uint64(1)
EPOCH = 1 << 40
"""Between one epoch's words and the next one's in a stream of a simulation: more than any list needs."""


class Coins(NamedTuple):
    """Randomised response as integers: a neighbour is kept with keep / 2⁶⁴, a stranger left out with e^(−rate / 2⁶²).

    `words` is how many random words a list of fakes usually needs.
    """

    keep: np.uint64
    rate: np.uint64
    words: int


@kernel
def owns(key: np.uint64, device: int, other: int) -> bool:
    """Whether the pair {device, other} is the device's to report: a public keyed hash names one of its two ends."""
    low, high = np.uint64(min(device, other)), np.uint64(max(device, other))
    smaller_one = mix64(mix64(np.uint64(key) ^ low) + high) & _ONE == _ZERO
    return bool(smaller_one == (device < other))


@kernel
def _signed(word: np.uint64) -> int:
    """A word below 2⁶³ as a signed integer: numba makes a float of what may be signed or not."""
    return int(np.int64(word))


@kernel
def below_exactly(words: NDArray[np.uint64], at: int, n: int) -> tuple[int, int]:
    """A uniform integer in 0 … n − 1 without bias, and the next position."""
    size = np.uint64(n)
    last = _TOP - (_TOP % size + _ONE) % size
    while at < words.size:
        word = words[at]
        at += 1
        if word <= last:
            return _signed(word % size), at
    return 0, words.size + 1


@kernel
def bernoulli_exp(words: NDArray[np.uint64], at: int, part: np.uint64) -> tuple[bool, int]:
    """True with probability e^(−part / 2⁶²), for a part from 0 to 2⁶²."""
    k = 1
    while at < words.size:
        goes_on = part == _UNIT or (words[at] >> _SPARE) < part
        at += 1
        if goes_on and k > 1:
            place, at = below_exactly(words, at, k)
            goes_on = place == 0
        if not goes_on:
            return k % 2 == 1, at
        k += 1
    return False, words.size + 1


@kernel
def gap(words: NDArray[np.uint64], at: int, rate: np.uint64, most: int) -> tuple[int, int]:
    """Failures before the next success of a coin that fails with e^(−rate / 2⁶²); anything from `most` on is `most`."""
    accepted, rest = False, _ZERO
    while not accepted:
        if at >= words.size:
            return 0, words.size + 1
        rest = words[at] >> _SPARE
        accepted, at = bernoulli_exp(words, at + 1, rest)
    failures, rest = _signed(rest // rate), rest % rate
    whole, more = _signed(_UNIT // rate), _UNIT % rate
    while failures < most and at <= words.size:
        again, at = bernoulli_exp(words, at, _UNIT)
        if not again:
            return failures, at
        failures += whole
        rest += more
        if rest >= rate:
            rest -= rate
            failures += 1
    return most, at


@kernel
def add_fakes(
    words: NDArray[np.uint64],
    rate: np.uint64,
    key: np.uint64,
    vertices: int,
    device: int,
    neighbours: NDArray[np.int32],
    out: NDArray[np.int32],
) -> tuple[int, int]:
    """Owned non-neighbours, each with probability q, ascending; returns how many, and the words' next position.

    Every gap takes two words at least, so half as many places as words are enough.
    """
    count, at, vertex, place = 0, 0, -1, 0
    while True:
        skipped, at = gap(words, at, rate, vertices)
        vertex += 1 + skipped
        if vertex >= vertices or at > words.size:
            return count, at
        while place < neighbours.size and neighbours[place] < vertex:
            place += 1
        is_neighbour = place < neighbours.size and neighbours[place] == vertex
        if vertex != device and not is_neighbour and owns(key, device, vertex):
            out[count] = vertex
            count += 1


@kernel
def keep_neighbours(
    coins: NDArray[np.uint64],
    keep: np.uint64,
    key: np.uint64,
    device: int,
    neighbours: NDArray[np.int32],
    out: NDArray[np.int32],
) -> int:
    """Owned neighbours, each with probability keep / 2⁶⁴ by a coin of its own; returns how many."""
    count = 0
    for i in range(neighbours.size):
        if coins[i] < keep and owns(key, device, neighbours[i]):
            out[count] = neighbours[i]
            count += 1
    return count


@kernel
def simulated_list(
    mechanism: Coins,
    key: np.uint64,
    vertices: int,
    device: int,
    neighbours: NDArray[np.int32],
    seed: int,
    epoch: int = 0,
) -> NDArray[np.int32]:
    """One device's list with all its words drawn from the seed."""
    coins = draws(seed, KEEP, device, neighbours.astype(np.int64) + epoch * EPOCH)
    size = mechanism.words
    while True:
        words = draws(seed, FAKES, device, np.arange(size) + epoch * EPOCH)
        out = np.empty(neighbours.size + size // 2, np.int32)
        kept = keep_neighbours(coins, mechanism.keep, key, device, neighbours, out)
        fakes, at = add_fakes(words, mechanism.rate, key, vertices, device, neighbours, out[kept:])
        if at <= words.size:
            return np.sort(out[: kept + fakes])
        size *= 2


@kernel
def simulated_lists(
    mechanism: Coins,
    key: np.uint64,
    indptr: NDArray[np.int64],
    indices: NDArray[np.int32],
    seed: int,
    begin: int,
    end: int,
    epoch: int = 0,
) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """The lists of devices begin … end − 1: their lengths, and their ids one list after the other."""
    lengths = np.empty(end - begin, np.int64)
    ids = np.empty(1024, np.int32)
    filled = 0
    for device in range(begin, end):
        neighbours = indices[indptr[device] : indptr[device + 1]]
        reported = simulated_list(mechanism, key, indptr.size - 1, device, neighbours, seed, epoch)
        if filled + reported.size > ids.size:
            larger = np.empty(2 * (filled + reported.size), np.int32)
            larger[:filled] = ids[:filled]
            ids = larger
        ids[filled : filled + reported.size] = reported
        filled += reported.size
        lengths[device - begin] = reported.size
    return lengths, ids[:filled].copy()
