"""Mechanisms: each is an object with its release and its privacy map, which bounds the cost of the release.

The map has a unit: one edge of the whole graph, or one neighbour in one device's neighbour list. Protocols can have
mechanisms of their own (`protocols/ldp/mechanism.py`).
"""

import math
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from fedwalk.kernels.random import NOISE, laplace
from fedwalk.privacy.randomness import Randomness

EDGE = "one edge"
LIST_ENTRY = "one neighbour list entry"
"""One neighbour added to or removed from one device's neighbour list."""


class Mechanism(Protocol):
    """What a device applies to its neighbour list before it sends anything about it."""

    @property
    def unit(self) -> str:
        """What may change: `EDGE` or `LIST_ENTRY`."""
        ...

    @property
    def nominal(self) -> bool:
        """Whether the cost is only the scale of the noise, because nothing is proved about how the noise is drawn."""
        ...

    def cost(self, changes: int = 1) -> float:
        """The privacy map: ε for this many changed units; infinite if nothing is proved."""
        ...


@dataclass(frozen=True, slots=True)
class NoisedCounts:
    """Laplace noise of scale 1/ε on a neighbour list's counts per bin, the paper's c_v (protocols/ldp/PROOFS.md, 2)."""

    epsilon: float

    @property
    def unit(self) -> str:
        """A device sends counts of its own neighbour list only; an edge is in two neighbour lists."""
        return LIST_ENTRY

    @property
    def nominal(self) -> bool:
        """The proof is for real numbers, but the noise is drawn in floating point."""
        return True

    @property
    def scale(self) -> float:
        """The scale of the Laplace distribution."""
        return 1.0 / self.epsilon

    def release(self, device: int, counts: NDArray[np.int64], randomness: Randomness) -> NDArray[np.float32]:
        """The counts with noise, as 32-bit numbers."""
        noise = [laplace(randomness.bits(NOISE, device, i), self.scale) for i in range(counts.size)]
        # Rounded by the device, so that a simulation and a federation compute with the same numbers.
        return np.asarray(counts + np.array(noise), np.float32)

    def cost(self, changes: int = 1) -> float:
        """ε for each neighbour added to or removed from this neighbour list."""
        return self.epsilon * changes


@dataclass(frozen=True, slots=True)
class Unprotected:
    """A release about which nothing is proved, and why."""

    reason: str

    @property
    def unit(self) -> str:
        """One edge, which isn't protected."""
        return EDGE

    @property
    def nominal(self) -> bool:
        """There is no ε, not even a nominal one."""
        return False

    def cost(self, changes: int = 1) -> float:
        """Unbounded."""
        return math.inf if changes else 0.0
