"""What the tests of privacy share: sources of words that a test controls, and small graphs."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from fedwalk.graph import Graph
from fedwalk.kernels.ldp.randomised_response import EPOCH, simulated_reports
from fedwalk.kernels.random import FAKES, KEEP
from fedwalk.privacy.randomness import Randomness, SimulatedRandomness
from fedwalk.protocols.ldp.mechanism import RandomisedResponse
from fedwalk.protocols.ldp.messages import ReportPlan
from fedwalk.protocols.ldp.reports import Reports

Pair = tuple[int, int]
Words = NDArray[np.uint64]

TOP = 2**64 - 1
UNIT = 2**62
ACCEPTED = [TOP]
"""Ends bernoulli_exp at its first look, for any part below 2⁶²: true."""
REJECTED = [0, TOP]
"""Goes on once, for any part above 0, and then ends: false."""
E_TRUE, E_FALSE = [0, 0, 0, 0, 1], [0, 0, 1]
"""The same for part = 2⁶²: the first two looks always go on, so that the lot among k decides."""


@dataclass(frozen=True)
class Scripted:
    """Coins by neighbour, and one stream of words for the fakes."""

    coins: dict[int, int]
    fakes: Sequence[int]

    def bits(self, purpose: int, index: int, counter: int) -> np.uint64:
        return np.uint64(self.words(purpose, index, np.array([counter]))[0])

    def words(self, purpose: int, index: int, counters: NDArray[np.int64]) -> Words:
        assert purpose in (KEEP, FAKES)
        within = (counters % EPOCH).tolist()
        if purpose == KEEP:
            return np.array([self.coins[u] for u in within], np.uint64)
        beyond = len(self.fakes)
        return np.array([self.fakes[i] if i < beyond else TOP for i in within], np.uint64)


@dataclass(frozen=True)
class Untouchable:
    """Randomness that must not be drawn from."""

    def bits(self, purpose: int, index: int, counter: int) -> np.uint64:
        raise AssertionError("a word was drawn")

    def words(self, purpose: int, index: int, counters: NDArray[np.int64]) -> Words:
        raise AssertionError("words were drawn")


@dataclass
class Recorded:
    """Another source's words, with every request written down, and each word given out once."""

    source: "Scripted | Delayed"
    asked: list[tuple[int, list[int]]] = field(default_factory=list)

    def bits(self, purpose: int, index: int, counter: int) -> np.uint64:
        return self.source.bits(purpose, index, counter)

    def words(self, purpose: int, index: int, counters: NDArray[np.int64]) -> Words:
        before = {counter for earlier, given in self.asked if earlier == purpose for counter in given}
        assert before.isdisjoint(counters.tolist()), "a word was asked for twice"
        self.asked.append((purpose, counters.tolist()))
        return self.source.words(purpose, index, counters)


@dataclass(frozen=True)
class Delayed:
    """A simulation's words, after so many rounds in which the sampler rejects what it drew."""

    seed: int
    rounds: int

    def bits(self, purpose: int, index: int, counter: int) -> np.uint64:
        return np.uint64(self.words(purpose, index, np.array([counter]))[0])

    def words(self, purpose: int, index: int, counters: NDArray[np.int64]) -> Words:
        wasted = np.array([TOP, *REJECTED], np.uint64)
        late = 3 * self.rounds if purpose == FAKES else 0
        usual = SimulatedRandomness(self.seed).words(purpose, index, np.maximum(counters - late, 0))
        return np.asarray(np.where(counters < late, wasted[counters % 3], usual))


def words_for_gap(failures: int, rate: int) -> list[int]:
    """Words from which the sampler draws exactly so many failures."""
    v, u = divmod(failures * rate, UNIT)
    return [u << 2, *ACCEPTED, *(v * E_TRUE), *E_FALSE]


def words_for_fakes(ids: Iterable[int], vertices: int, rate: int) -> list[int]:
    """Words from which the process over all ids hits exactly these, which ascend."""
    words, last = [], -1
    for vertex in (*ids, vertices):
        words += words_for_gap(vertex - last - 1, rate)
        last = vertex
    return words


def noisy_report(
    device: int, neighbours: NDArray[np.int32], plan: ReportPlan, mechanism: RandomisedResponse, randomness: Randomness
) -> NDArray[np.int32]:
    """The mechanism's release as a function, beside which broken ones can be put."""
    return mechanism.release(device, neighbours, plan, randomness)


def graph_of(vertices: int, edges: Iterable[Pair]) -> Graph:
    """A graph with just these vertices, isolated ones included."""
    neighbours: list[set[int]] = [set() for _ in range(vertices)]
    for a, b in edges:
        neighbours[a].add(b)
        neighbours[b].add(a)
    indptr = np.concatenate([[0], np.cumsum([len(ids) for ids in neighbours])]).astype(np.int64)
    indices = np.array([u for ids in neighbours for u in sorted(ids)], np.int32)
    return Graph(indptr, indices, np.arange(vertices))


def reports_of(graph: Graph, plan: ReportPlan, seed: int) -> Reports:
    """What a simulated federation reports."""
    mechanism = RandomisedResponse.of(plan.epsilon).coins(graph.vertices)
    lengths, ids = simulated_reports(
        mechanism, np.uint64(plan.key), graph.indptr, graph.indices, seed, 0, graph.vertices, plan.epoch
    )
    return Reports(np.concatenate([[0], np.cumsum(lengths)]), ids)


def reported_pairs(vertices: int, edges: Iterable[Pair], plan: ReportPlan, seed: int) -> set[Pair]:
    """Owner and other end of every pair that a simulated federation reports."""
    owners, ids = reports_of(graph_of(vertices, edges), plan, seed).pairs()
    return set(zip(owners.tolist(), ids.tolist(), strict=True))
