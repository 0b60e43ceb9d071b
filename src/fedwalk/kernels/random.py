"""Counter-based random numbers: every draw is a pure function of (seed, purpose, index, counter).

A stream is SplitMix64 started at a hash of the first three, so threads, order of work and runtime can't
change a draw. This is for simulations only: a device in a deployment draws from the operating system (see
`fedwalk.protocol.randomness`).

Called from Python, keys and bits are passed as `np.uint64`: numba takes a plain int as signed, and signed
plus unsigned is a float there.
"""

import math

import numpy as np
from numpy.typing import NDArray

from fedwalk.kernels.jit import kernel

BINS, NOISE, WALK, CLUSTERING, TRAINING, KEEP, FAKES, DECODING = 1, 2, 3, 4, 5, 6, 7, 8
"""Purposes. Each has streams of its own, so that adding a draw to one never shifts another."""

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_MIX1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX2 = np.uint64(0x94D049BB133111EB)
_S30, _S27, _S31, _S12, _S11 = np.uint64(30), np.uint64(27), np.uint64(31), np.uint64(12), np.uint64(11)
_ONE = np.uint64(1)


@kernel
def mix64(x: np.uint64) -> np.uint64:
    """SplitMix64's finaliser: a bijection on 64 bits that scatters neighbouring inputs."""
    x = np.uint64(x)
    x = (x ^ (x >> _S30)) * _MIX1
    x = (x ^ (x >> _S27)) * _MIX2
    return x ^ (x >> _S31)


@kernel
def stream(seed: int, purpose: int, index: int) -> np.uint64:
    """The key of one stream; `index` is the vertex or the walk."""
    key = mix64(np.uint64(seed) + _GOLDEN)
    key = mix64(key + np.uint64(purpose) * _GOLDEN)
    return mix64(key + (np.uint64(index) + _ONE) * _GOLDEN)


@kernel
def draw(key: np.uint64, counter: int) -> np.uint64:
    """64 random bits: number `counter` of the stream."""
    return mix64(np.uint64(key) + (np.uint64(counter) + _ONE) * _GOLDEN)


@kernel
def draws(seed: int, purpose: int, index: int, counters: NDArray[np.int64]) -> NDArray[np.uint64]:
    """The stream's words with these numbers."""
    key = stream(seed, purpose, index)
    words = np.empty(counters.size, np.uint64)
    for i in range(counters.size):
        words[i] = draw(key, counters[i])
    return words


@kernel
def lots(seed: int, purpose: int, indices: NDArray[np.int64], counter: int) -> NDArray[np.uint64]:
    """The same draw of many streams: sorting by it shuffles the indices."""
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
    return int(uniform(bits) * n)


@kernel
def laplace(bits: np.uint64, scale: float) -> float:
    """Lap(0, scale) by inversion, from the middle of one of 2⁵² equal cells, so never infinite."""
    u = (float(np.uint64(bits) >> _S12) + 0.5) * 2.0**-52 - 0.5
    magnitude = -scale * math.log1p(-2.0 * abs(u))
    return magnitude if u >= 0.0 else -magnitude
