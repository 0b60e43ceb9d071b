"""Sources of randomness: the run's seed in a simulation, the operating system otherwise.

The two are different types on purpose. A server that knew the seed could subtract every device's noise, so code that
runs on real devices must never get a `SimulatedRandomness`.
"""

import secrets
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from fedwalk.kernels.random import draw, draws, stream


class Randomness(Protocol):
    """A source of 64-bit draws, named by purpose, vertex or walk, and counter."""

    def bits(self, purpose: int, index: int, counter: int) -> np.uint64:
        """64 random bits."""
        ...

    def words(self, purpose: int, index: int, counters: NDArray[np.int64]) -> NDArray[np.uint64]:
        """64 random bits for each counter."""
        ...


@dataclass(frozen=True, slots=True)
class SimulatedRandomness:
    """Every draw is a function of the seed and its name: reproducible, and therefore without any privacy."""

    seed: int

    def bits(self, purpose: int, index: int, counter: int) -> np.uint64:
        """The same 64 bits for the same name, in any order and on any thread."""
        return np.uint64(draw(np.uint64(stream(self.seed, purpose, index)), counter))

    def words(self, purpose: int, index: int, counters: NDArray[np.int64]) -> NDArray[np.uint64]:
        """The same for many counters."""
        return draws(self.seed, purpose, index, counters)


@dataclass(frozen=True, slots=True)
class SystemRandomness:
    """The operating system's generator; it ignores the name of a draw."""

    def bits(self, purpose: int, index: int, counter: int) -> np.uint64:
        """64 fresh bits."""
        return np.uint64(secrets.randbits(64))

    def words(self, purpose: int, index: int, counters: NDArray[np.int64]) -> NDArray[np.uint64]:
        """As many fresh words as there are counters."""
        # One call for all of them: a device may need thousands of words for a report.
        return np.frombuffer(secrets.token_bytes(8 * counters.size), np.uint64)
