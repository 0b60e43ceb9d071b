"""One pair of protocol `ldp` over many runs of the device that owns it: the classic audit, half with the edge.

The device is handed its real list with the pair's other end put in or taken out, and randomness of its own each time.
"""

from collections.abc import Callable, Iterable
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from fedwalk.audit.canaries import Bound
from fedwalk.audit.epsilon import CONFIDENCE, repeats_bound
from fedwalk.graph import Graph
from fedwalk.kernels.lists import owns
from fedwalk.privacy.device import ListDevice
from fedwalk.protocol.messages import ListPlan, NoisyList
from fedwalk.protocol.randomness import Randomness, SimulatedRandomness


class Reporter(Protocol):
    """A device of protocol `ldp`, sound or broken."""

    def report(self, plan: ListPlan) -> NoisyList:
        """Its list."""
        ...


Maker = Callable[[int, NDArray[np.int32], Randomness], Reporter]
"""A device from its id, its neighbours and its randomness."""


def repeat_pair(
    graph: Graph,
    pair: tuple[int, int],
    plan: ListPlan,
    repeats: int,
    seed: int = 0,
    make: Maker = ListDevice,
    confidence: float = CONFIDENCE,
) -> Bound:
    """The bound on ε from `repeats` runs with the pair as an edge, and as many without."""
    device, other = pair if owns(np.uint64(plan.key), *pair) else pair[::-1]
    without = graph.neighbours(device)[graph.neighbours(device) != other]
    seeds = np.random.default_rng(seed).integers(2**62, size=(2, repeats)).tolist()

    def reported(neighbours: NDArray[np.int32], chosen: Iterable[int]) -> int:
        made = (make(device, neighbours, SimulatedRandomness(one)) for one in chosen)
        return sum(other in each.report(plan).ids for each in made)

    hits = reported(np.sort(np.append(without, np.int32(other))), seeds[0])
    false_hits = reported(without, seeds[1])
    epsilon = repeats_bound(hits, repeats, false_hits, repeats, confidence)
    return Bound(epsilon, hits + repeats - false_hits, 2 * repeats)
