"""Counter-based random numbers: every draw is a pure function of (seed, purpose, index, counter).

A stream is SplitMix64 started at a hash of the first three, so no draw depends on the number of threads, the order of
the work or the runtime. They are for simulations only: in a deployment a device draws from the operating system.

From Python, pass keys and bits as `np.uint64`: numba treats a plain int as signed, and its sum of a signed and an
unsigned integer is a float. For the same reason all constants below are `np.uint64`.
"""

import math

import numpy as np
from numpy.typing import NDArray

from fedwalk.kernels.jit import kernel

BINS, NOISE, WALK, CLUSTERING, TRAINING, KEEP, FAKES, DECODING = 1, 2, 3, 4, 5, 6, 7, 8
"""Purposes. Each has its own streams, so that adding a draw for one purpose never shifts the draws of another."""

# The constants and shifts of SplitMix64 (Steele, Lea, Flood 2014): 2⁶⁴ over the golden ratio, then its finaliser.
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_MIX1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX2 = np.uint64(0x94D049BB133111EB)
_S30, _S27, _S31, _S12, _S11 = np.uint64(30), np.uint64(27), np.uint64(31), np.uint64(12), np.uint64(11)
_ONE = np.uint64(1)


@kernel
def mix64(x: np.uint64) -> np.uint64:
    """SplitMix64's finaliser: a bijection on 64 bits whose outputs look independent even for adjacent inputs."""
    x = np.uint64(x)
    x = (x ^ (x >> _S30)) * _MIX1
    x = (x ^ (x >> _S27)) * _MIX2
    return x ^ (x >> _S31)


@kernel
def stream(seed: int, purpose: int, index: int) -> np.uint64:
    """The key of one stream; `index` is the vertex or the walk."""
    # One mix per part. One mix of the sum would give (purpose, index + 1) and (purpose + 1, index) the same stream.
    key = mix64(np.uint64(seed) + _GOLDEN)
    key = mix64(key + np.uint64(purpose) * _GOLDEN)
    return mix64(key + (np.uint64(index) + _ONE) * _GOLDEN)


@kernel
def draw(key: np.uint64, counter: int) -> np.uint64:
    """64 random bits: number `counter` of the stream. Any of them can be computed without those before it."""
    # SplitMix64 advances its state before each output, hence counter + 1.
    return mix64(np.uint64(key) + (np.uint64(counter) + _ONE) * _GOLDEN)


@kernel
def draws(seed: int, purpose: int, index: int, counters: NDArray[np.int64]) -> NDArray[np.uint64]:
    """The draws with these numbers from one stream."""
    key = stream(seed, purpose, index)
    words = np.empty(counters.size, np.uint64)
    for i in range(counters.size):
        words[i] = draw(key, counters[i])
    return words


@kernel
def lots(seed: int, purpose: int, indices: NDArray[np.int64], counter: int) -> NDArray[np.uint64]:
    """Draw number `counter` of many streams; sorting the indices by it shuffles them."""
    out = np.empty(indices.size, np.uint64)
    for i in range(indices.size):
        out[i] = draw(stream(seed, purpose, indices[i]), counter)
    return out


@kernel
def uniform(bits: np.uint64) -> float:
    """A double in [0, 1) from the upper 53 bits."""
    return float(np.uint64(bits) >> _S11) * 2.0**-53


@kernel
def below(bits: np.uint64, n: int) -> int:
    """An integer in 0 … n−1; its bias is at most n·2⁻⁵³."""
    # A multiplication, because an integer division takes several times as long, and this runs at every step of a walk.
    # The product can't round up to n: a uniform number is at most 1 − 2⁻⁵³.
    return int(uniform(bits) * n)


@kernel
def laplace(bits: np.uint64, scale: float) -> float:
    """A draw of Lap(0, scale): the inverse of its distribution function at a uniform number."""
    # The number is the middle of one of 2⁵² equal cells: it is never an end of (−½, ½), where the inverse is infinite.
    u = (float(np.uint64(bits) >> _S12) + 0.5) * 2.0**-52 - 0.5
    magnitude = -scale * math.log1p(-2.0 * abs(u))
    return magnitude if u >= 0.0 else -magnitude
