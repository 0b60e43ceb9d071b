"""A device's report by randomised response (protocol `ldp`), exactly and in integers.

A report has kept neighbours and fakes. The fakes are a Bernoulli process over all ids: each id is a fake with
probability q. The gaps between fakes are geometric with 1 − q = e^(−rate / 2⁶²), and the sampler of Canonne, Kamath and
Steinke (2020, Alg. 2) draws them exactly from random 64-bit words, without a logarithm and without a look at the ids in
between. So the cost is proportional to the report's length for any n, and no draw has a rounding error.
protocols/ldp/PROOFS.md has the proofs.

Kernels read their random words from an array. A kernel that runs out of words returns a position beyond the array: its
result is then invalid, and the caller repeats the call with more words.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fedwalk.kernels.jit import kernel
from fedwalk.kernels.random import FAKES, KEEP, draws, mix64

UNIT_BITS = 62
# Probabilities are e^(−part / 2⁶²) for integers `part`. Two bits below 64, so that sums of two parts don't overflow.
_UNIT = np.uint64(1 << UNIT_BITS)
_SPARE = np.uint64(64 - UNIT_BITS)
_TOP = np.uint64(0xFFFFFFFFFFFFFFFF)
_ZERO, _ONE = np.uint64(0), np.uint64(1)
EPOCH = 1 << 40
"""Distance between the draws of two epochs in a simulated stream: more than any report needs."""


class Coins(NamedTuple):
    """The probabilities of randomised response as integers.

    A neighbour is kept with probability keep / 2⁶⁴. Another vertex is left out with probability e^(−rate / 2⁶²).
    `words` is how many random words the fakes of a report usually need.
    """

    keep: np.uint64
    rate: np.uint64
    words: int


@kernel
def owns(key: np.uint64, device: int, other: int) -> bool:
    """Whether the pair {device, other} is reported by `device`: a public keyed hash chooses one of its two ends.

    The hash is symmetric in the two, so both ends agree, and exactly one of them ever answers for the pair.
    """
    low, high = np.uint64(min(device, other)), np.uint64(max(device, other))
    # In Python & binds tighter than ==, unlike in C: the hash's lowest bit is compared.
    smaller_one = mix64(mix64(np.uint64(key) ^ low) + high) & _ONE == _ZERO
    return bool(smaller_one == (device < other))


@kernel
def _signed(word: np.uint64) -> int:
    """A word below 2⁶³ as a signed integer: numba's sum of a signed and an unsigned integer would be a float."""
    return int(np.int64(word))


@kernel
def below_exactly(words: NDArray[np.uint64], at: int, n: int) -> tuple[int, int]:
    """A uniform integer in 0 … n − 1 without bias, and the next position."""
    size = np.uint64(n)
    # Rejection: of the 2⁶⁴ words only the largest multiple of n is used, so that all remainders are equally likely.
    # What is subtracted is 2⁶⁴ mod n, from 2⁶⁴ − 1, because 2⁶⁴ itself doesn't fit into a word.
    last = _TOP - (_TOP % size + _ONE) % size
    while at < words.size:
        word = words[at]
        at += 1
        if word <= last:
            return _signed(word % size), at
    return 0, words.size + 1


@kernel
def bernoulli_exp(words: NDArray[np.uint64], at: int, part: np.uint64) -> tuple[bool, int]:
    """True with probability e^(−part / 2⁶²), for a part from 0 to 2⁶², and the next position.

    Von Neumann's method, as in Alg. 1 of Canonne, Kamath and Steinke: with γ = part / 2⁶², round k goes on with
    probability γ / k. The first round that doesn't is odd with probability Σ (−γ)ᵏ / k! = e^(−γ).
    """
    k = 1
    while at < words.size:
        # γ / k is a coin with γ and, if that succeeds, one with 1 / k: both are exact in integers.
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
def gap(words: NDArray[np.uint64], at: int, rate: np.uint64, max_gap: int) -> tuple[int, int]:
    """Failures before the next success of a coin that fails with probability e^(−rate / 2⁶²), at most `max_gap`.

    Alg. 2 of Canonne, Kamath and Steinke: a geometric number in steps of 1 / 2⁶², divided by the rate. Its fraction
    is a uniform number accepted with probability e^(−fraction), its whole part a count of coins with e^(−1).
    """
    accepted, rest = False, _ZERO
    while not accepted:
        if at >= words.size:
            return 0, words.size + 1
        rest = words[at] >> _SPARE
        accepted, at = bernoulli_exp(words, at + 1, rest)
    # (rest + units·2⁶²) // rate without a product that would overflow: quotient and remainder are updated per unit.
    failures, rest = _signed(rest // rate), rest % rate
    whole, more = _signed(_UNIT // rate), _UNIT % rate
    # Cut off at max_gap: from there on the next fake is beyond the last id, however long the gap is.
    while failures < max_gap and at <= words.size:
        again, at = bernoulli_exp(words, at, _UNIT)
        if not again:
            return failures, at
        failures += whole
        rest += more
        if rest >= rate:
            rest -= rate
            failures += 1
    return max_gap, at


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
    """Write owned non-neighbours to `out`, ascending, each with probability q; returns how many, and the position.

    Every gap takes at least two words, so `out` needs half as many places as there are words.
    """
    count, at, vertex, place = 0, 0, -1, 0
    while True:
        skipped, at = gap(words, at, rate, vertices)
        vertex += 1 + skipped
        # Checked before the write: a gap for which the words ran out is not a draw.
        if vertex >= vertices or at > words.size:
            return count, at
        # Neighbours and fakes both ascend, so one pass over the neighbours is enough for the whole report.
        while place < neighbours.size and neighbours[place] < vertex:
            place += 1
        is_neighbour = place < neighbours.size and neighbours[place] == vertex
        # A fake is drawn for every id and dropped here where another rule holds: the draws don't depend on neighbours.
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
    """Write owned neighbours to `out`, each with probability keep / 2⁶⁴ by its own coin; returns how many."""
    count = 0
    for i in range(neighbours.size):
        if coins[i] < keep and owns(key, device, neighbours[i]):
            out[count] = neighbours[i]
            count += 1
    return count


@kernel
def simulated_report(
    mechanism: Coins,
    key: np.uint64,
    vertices: int,
    device: int,
    neighbours: NDArray[np.int32],
    seed: int,
    epoch: int = 0,
) -> NDArray[np.int32]:
    """One device's report, with all its words drawn from the seed."""
    # The coin of a neighbour has its id as the counter: so it is the same when other neighbours come or go.
    coins = draws(seed, KEEP, device, neighbours.astype(np.int64) + epoch * EPOCH)
    size = mechanism.words
    while True:
        words = draws(seed, FAKES, device, np.arange(size) + epoch * EPOCH)
        out = np.empty(neighbours.size + size // 2, np.int32)
        kept = keep_neighbours(coins, mechanism.keep, key, device, neighbours, out)
        fakes, at = add_fakes(words, mechanism.rate, key, vertices, device, neighbours, out[kept:])
        # Words are named by their numbers, so a longer array begins with the same words: the report is the same.
        if at <= words.size:
            return np.sort(out[: kept + fakes])
        size *= 2


@kernel
def simulated_reports(
    mechanism: Coins,
    key: np.uint64,
    indptr: NDArray[np.int64],
    indices: NDArray[np.int32],
    seed: int,
    begin: int,
    end: int,
    epoch: int = 0,
) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """The reports of devices begin … end − 1: their lengths, and the ids of all of them one after the other."""
    lengths = np.empty(end - begin, np.int64)
    ids = np.empty(1024, np.int32)
    filled = 0
    for device in range(begin, end):
        neighbours = indices[indptr[device] : indptr[device + 1]]
        reported = simulated_report(mechanism, key, indptr.size - 1, device, neighbours, seed, epoch)
        if filled + reported.size > ids.size:
            larger = np.empty(2 * (filled + reported.size), np.int32)
            larger[:filled] = ids[:filled]
            ids = larger
        ids[filled : filled + reported.size] = reported
        filled += reported.size
        lengths[device - begin] = reported.size
    # A copy, because a slice would keep the larger array in memory.
    return lengths, ids[:filled].copy()
