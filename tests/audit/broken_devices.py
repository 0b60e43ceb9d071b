"""Devices of protocol `ldp` with one mistake each, and how to ask many devices about planted pairs."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from fedwalk.audit.canaries import Guesses
from fedwalk.audit.pairs import Pairs
from fedwalk.audit.repeats import Maker, Reporter
from fedwalk.audit.views import ListView
from fedwalk.graph import Graph
from fedwalk.kernels.lists import owns
from fedwalk.kernels.random import KEEP
from fedwalk.privacy.device import ListDevice
from fedwalk.privacy.ledger import Ledger
from fedwalk.privacy.reports import Reports
from fedwalk.protocol.messages import ListPlan, NoisyList
from fedwalk.protocol.randomness import Randomness, SimulatedRandomness

RUN_SEED = 77
"""Known to everyone."""
Ids = NDArray[np.int32]
Guesser = Callable[[ListView, Pairs], Guesses]


@dataclass(slots=True)
class Fresh:
    """Like the operating system's generator, but seeded: a draw's name plays no part, and no word comes twice."""

    generator: np.random.Generator = field(default_factory=lambda: np.random.default_rng(0))

    def bits(self, purpose: int, index: int, counter: int) -> np.uint64:
        return np.uint64(self.words(purpose, index, np.array([counter]))[0])

    def words(self, purpose: int, index: int, counters: NDArray[np.int64]) -> NDArray[np.uint64]:
        return self.generator.integers(2**64, size=counters.size, dtype=np.uint64)


def owned(plan: ListPlan, device: int) -> Ids:
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

    def report(self, plan: ListPlan) -> NoisyList:
        return NoisyList(self.identity, np.intersect1d(self.neighbours, owned(plan, self.identity)))


@dataclass(slots=True)
class OneStream:
    """Turns a bit over by a word that a key fixes for the pair, whether it is an edge or not."""

    identity: int
    neighbours: Ids
    randomness: Randomness

    def report(self, plan: ListPlan) -> NoisyList:
        ids = owned(plan, self.identity)
        words = SimulatedRandomness(4711).words(KEEP, self.identity, ids.astype(np.int64))
        return NoisyList(self.identity, ids[flipped(np.isin(ids, self.neighbours), words, plan.epsilon)])


@dataclass(slots=True)
class BothEnds:
    """Reports all of its pairs, owned or not."""

    identity: int
    neighbours: Ids
    randomness: Randomness

    def report(self, plan: ListPlan) -> NoisyList:
        ids = np.delete(np.arange(plan.vertices, dtype=np.int32), self.identity)
        words = self.randomness.words(KEEP, self.identity, ids.astype(np.int64))
        return NoisyList(self.identity, ids[flipped(np.isin(ids, self.neighbours), words, plan.epsilon)])


@dataclass(slots=True)
class Forgetful:
    """Draws new noise whenever it is asked, and its ledger forgets with it."""

    identity: int
    neighbours: Ids
    randomness: Randomness
    ledger: Ledger = field(default_factory=Ledger)

    def report(self, plan: ListPlan) -> NoisyList:
        device = ListDevice(self.identity, self.neighbours, self.randomness)
        answer, self.ledger = device.report(plan), device.ledger
        return answer


def seeded_from_the_run(identity: int, neighbours: Ids, _: Randomness) -> Reporter:
    """A device whose generator starts from the seed that the server knows."""
    return ListDevice(identity, neighbours, SimulatedRandomness(RUN_SEED))


def keyed(identity: int, neighbours: Ids, _: Randomness) -> Reporter:
    """A device that derives its noise from a secret key, with separate streams for edges and others."""
    return ListDevice(identity, neighbours, SimulatedRandomness(4711))


def devices(graph: Graph, make: Maker, randomness: Randomness) -> list[Reporter]:
    """One device for each vertex."""
    return [make(v, graph.neighbours(v), randomness) for v in range(graph.vertices)]


def ask(asked: Sequence[Reporter], plan: ListPlan) -> ListView:
    """Everybody's list as it came, without the server's checks."""
    lists = [device.report(plan).ids for device in asked]
    starts = np.concatenate([[0], np.cumsum([ids.size for ids in lists])]).astype(np.int64)
    return ListView(plan, Reports(starts, np.concatenate(lists).astype(np.int32)))
