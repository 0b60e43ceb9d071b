"""Devices of protocol `ldp` with one mistake each, and how to ask many devices about planted pairs."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from fedwalk.attacks.canaries import Guesses
from fedwalk.graph import Graph
from fedwalk.graph.pairs import Pairs
from fedwalk.kernels.ldp.randomised_response import owns
from fedwalk.kernels.random import KEEP
from fedwalk.privacy.ledger import Ledger
from fedwalk.privacy.randomness import Randomness, SimulatedRandomness
from fedwalk.protocols.ldp.attacks.guesses import ReportView
from fedwalk.protocols.ldp.attacks.repeats import Maker, Reporter
from fedwalk.protocols.ldp.device import ReportDevice
from fedwalk.protocols.ldp.messages import Report, ReportPlan
from fedwalk.protocols.ldp.reports import Reports

RUN_SEED = 77
"""Known to everyone."""
Ids = NDArray[np.int32]
Guesser = Callable[[ReportView, Pairs], Guesses]


@dataclass(slots=True)
class Fresh:
    """Like the operating system's generator, but seeded: a draw's name plays no part, and no word comes twice."""

    generator: np.random.Generator = field(default_factory=lambda: np.random.default_rng(0))

    def bits(self, purpose: int, index: int, counter: int) -> np.uint64:
        return np.uint64(self.words(purpose, index, np.array([counter]))[0])

    def words(self, purpose: int, index: int, counters: NDArray[np.int64]) -> NDArray[np.uint64]:
        return self.generator.integers(2**64, size=counters.size, dtype=np.uint64)


def owned(plan: ReportPlan, device: int) -> Ids:
    """The ids of the pairs that are the device's to report."""
    others = [u for u in range(plan.vertices) if u != device and owns(np.uint64(plan.key), device, u)]
    return np.array(others, np.int32)


def flipped(truth: NDArray[np.bool_], words: NDArray[np.uint64], epsilon: float) -> NDArray[np.bool_]:
    """Each bit turned over with probability 1 / (1 + e^ε), by a word of its own."""
    return truth ^ (words < np.uint64(2**64 / (1 + np.exp(epsilon))))


@dataclass(slots=True)
class Noiseless:
    """Reports what is true."""

    identity: int
    neighbours: Ids
    randomness: Randomness

    def report(self, plan: ReportPlan) -> Report:
        return Report(self.identity, np.intersect1d(self.neighbours, owned(plan, self.identity)))


@dataclass(slots=True)
class OneStream:
    """Turns a bit over by a word that a key fixes for the pair, whether it is an edge or not."""

    identity: int
    neighbours: Ids
    randomness: Randomness

    def report(self, plan: ReportPlan) -> Report:
        ids = owned(plan, self.identity)
        words = SimulatedRandomness(4711).words(KEEP, self.identity, ids.astype(np.int64))
        return Report(self.identity, ids[flipped(np.isin(ids, self.neighbours), words, plan.epsilon)])


@dataclass(slots=True)
class BothEnds:
    """Reports all of its pairs, owned or not."""

    identity: int
    neighbours: Ids
    randomness: Randomness

    def report(self, plan: ReportPlan) -> Report:
        ids = np.delete(np.arange(plan.vertices, dtype=np.int32), self.identity)
        words = self.randomness.words(KEEP, self.identity, ids.astype(np.int64))
        return Report(self.identity, ids[flipped(np.isin(ids, self.neighbours), words, plan.epsilon)])


@dataclass(slots=True)
class Forgetful:
    """Draws new noise whenever it is asked, and its ledger forgets with it."""

    identity: int
    neighbours: Ids
    randomness: Randomness
    ledger: Ledger = field(default_factory=Ledger)

    def report(self, plan: ReportPlan) -> Report:
        device = ReportDevice(self.identity, self.neighbours, self.randomness)
        answer, self.ledger = device.report(plan), device.ledger
        return answer


def seeded_from_the_run(identity: int, neighbours: Ids, _: Randomness) -> Reporter:
    """A device whose generator starts from the seed that the server knows."""
    return ReportDevice(identity, neighbours, SimulatedRandomness(RUN_SEED))


def keyed(identity: int, neighbours: Ids, _: Randomness) -> Reporter:
    """A device that derives its noise from a secret key, with separate streams for edges and others."""
    return ReportDevice(identity, neighbours, SimulatedRandomness(4711))


def devices(graph: Graph, make: Maker, randomness: Randomness) -> list[Reporter]:
    """One device for each vertex."""
    return [make(v, graph.neighbours(v), randomness) for v in range(graph.vertices)]


def ask(asked: Sequence[Reporter], plan: ReportPlan) -> ReportView:
    """All devices' reports, without the server's checks."""
    reports = [device.report(plan).ids for device in asked]
    starts = np.concatenate([[0], np.cumsum([ids.size for ids in reports])]).astype(np.int64)
    return ReportView(plan, Reports(starts, np.concatenate(reports).astype(np.int32)))
