"""The classic audit of protocol `ldp`: many runs of the device that owns one pair, half of them with the edge.

Each time the device gets its real neighbour list with the pair's other end added or removed, and fresh randomness.
"""

from collections.abc import Callable, Iterable
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from fedwalk.attacks.canaries import Bound
from fedwalk.attacks.epsilon import CONFIDENCE, repeats_bound
from fedwalk.graph.graph import Graph
from fedwalk.kernels.ldp.randomised_response import owns
from fedwalk.privacy.randomness import Randomness, SimulatedRandomness
from fedwalk.protocols.ldp.device import ReportDevice
from fedwalk.protocols.ldp.messages import Report, ReportPlan


class Reporter(Protocol):
    """A device of protocol `ldp`, correct or faulty."""

    def report(self, plan: ReportPlan) -> Report:
        """Its report."""
        ...


Maker = Callable[[int, NDArray[np.int32], Randomness], Reporter]
"""A device from its id, its neighbours and its randomness."""


def repeat_pair(
    graph: Graph,
    pair: tuple[int, int],
    plan: ReportPlan,
    repeats: int,
    seed: int = 0,
    make: Maker = ReportDevice,
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
