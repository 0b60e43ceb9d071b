"""Protocol `sampled`: each device sends its neighbour list with some entries replaced by random vertices.

A device keeps each neighbour with probability `keep` and puts a random vertex in the place of each other one, so that
its degree is preserved. The server joins all samples to a graph and trains SkipGram on walks over it. This looks
private and is not: the exact degree is sent, and both ends of an edge name it. The ledger says so, and the audit
measures it.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from fedwalk import Settings
from fedwalk.attacks.finding import Finding
from fedwalk.attacks.scoring import score_at_random, score_pairs
from fedwalk.errors import SettingsError
from fedwalk.graph.graph import Graph
from fedwalk.graph.pairs import distinct_pairs
from fedwalk.kernels.walk import make_lanes, plain_walks
from fedwalk.privacy.ledger import Release
from fedwalk.privacy.mechanisms import Unprotected
from fedwalk.privacy.randomness import Randomness, SimulatedRandomness
from fedwalk.protocols.base import AuditTarget, Fact, PrivacyStatement, Protocol
from fedwalk.protocols.embed import check_steps, train_walks, walk_alone
from fedwalk.protocols.messages import ID, NUMBER, PARAMETER, Message
from fedwalk.protocols.settings import Setting
from fedwalk.protocols.stages import SKIPGRAM, WALKS, Stage, Stages, Vectors, arrays_stage
from fedwalk.protocols.walks import Walks
from fedwalk.util.parallel import Progress

SAMPLING = 1001
"""The purpose of its draws; fedwalk's own are small numbers."""


# What crosses a boundary: each kind of message, with its size and its observers.
@dataclass(frozen=True, slots=True)
class SamplePlan:
    """Server → device: how many vertices there are, and which share of its neighbour list a device keeps."""

    phase: ClassVar[str] = "sample plan"
    route: ClassVar[str] = "server → device"
    observers: ClassVar[tuple[str, ...]] = ("server", "every device")
    vertices: int
    keep: float

    @property
    def nbytes(self) -> int:
        """Bytes on the wire."""
        return NUMBER + PARAMETER


@dataclass(frozen=True, slots=True, eq=False)
class Sample:
    """Device → server: as many ids as the device has neighbours."""

    phase: ClassVar[str] = "samples"
    route: ClassVar[str] = "device → server"
    observers: ClassVar[tuple[str, ...]] = ("server",)
    device: int
    ids: NDArray[np.int32]

    @property
    def nbytes(self) -> int:
        """Bytes on the wire."""
        return ID + NUMBER + ID * self.ids.size


# What a device does: it sees its own neighbour list and the plan, nothing else.
def draw_sample(plan: SamplePlan, device: int, neighbours: NDArray[np.int32], randomness: Randomness) -> Sample:
    """The neighbour list with each neighbour kept with probability `keep`, else replaced by a random vertex."""
    counters = np.arange(2 * neighbours.size, dtype=np.int64)
    coins, choices = (randomness.words(SAMPLING, device, counters) * 2.0**-64).reshape(2, -1)
    others = (choices * (plan.vertices - 1)).astype(np.int32)
    others += others >= device  # any vertex but the device itself
    # Sorted: a neighbour list is ascending, so that the order would tell which ids were replaced.
    return Sample(device, np.sort(np.where(coins < plan.keep, neighbours, others)).astype(np.int32))


# What the server keeps between two attempts: each stage, declared once.
@dataclass(frozen=True, slots=True, eq=False)
class Samples:
    """All devices' ids, one after the other: device v sent ids[starts[v] : starts[v + 1]]."""

    starts: NDArray[np.int64]
    ids: NDArray[np.int32]


SAMPLES: Stage[Samples] = arrays_stage("samples", Samples, ("starts", "ids"))


def simulate(graph: Graph, settings: Settings, stages: Stages) -> Vectors:
    """Every stage of a run in one process."""
    samples = stages.run(SAMPLES, partial(collect, graph, settings, stages))
    walks = stages.run(WALKS, partial(walk, samples, settings))
    return stages.run(SKIPGRAM, partial(train_walks, walks, graph.vertices, settings))


def collect(graph: Graph, settings: Settings, stages: Stages, on_progress: Progress) -> Samples:
    """Send the plan to every device, collect every sample."""
    plan, randomness = SamplePlan(graph.vertices, settings.value("keep")), SimulatedRandomness(settings.seed)
    samples = []
    for device in range(graph.vertices):
        stages.transcript.record(plan)
        samples.append(draw_sample(plan, device, graph.neighbours(device), randomness))
        stages.transcript.record(samples[-1])
        on_progress(device + 1, graph.vertices)
    starts = np.concatenate([[0], np.cumsum([sample.ids.size for sample in samples])])
    return Samples(starts, np.concatenate([sample.ids for sample in samples]))


def walk(samples: Samples, settings: Settings, on_progress: Progress) -> Walks:
    """Walks over the graph that the server makes of the samples, by the server alone."""
    vertices, pairs = samples.starts.size - 1, reported_pairs(samples)
    both = np.concatenate([pairs, pairs[:, ::-1]])
    rows, indices = both[np.lexsort(both.T[::-1])].T
    indptr = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=vertices))])
    kernel = partial(plain_walks, indptr, indices.astype(np.int32), settings.seed)
    return walk_alone(vertices, settings, on_progress, lambda: partial(kernel, make_lanes()))


def reported_pairs(samples: Samples) -> NDArray[np.int64]:
    """The pairs that at least one of their ends named."""
    owners = np.repeat(np.arange(samples.starts.size - 1), np.diff(samples.starts))
    return distinct_pairs(owners, samples.ids)


# What it costs, and what may be said about it: no more than is proved.
def releases(settings: Settings) -> Iterator[tuple[str, Release]]:
    """The one release of a run: each device's sample."""
    why = "the exact degree is sent, so that whether one more edge exists is not hidden"
    yield Sample.phase, Release.of(Unprotected(why), "sample of the neighbour list", why, ends=2)


def privacy(settings: Settings, simulated: bool) -> PrivacyStatement:
    """Nothing is proved."""
    keep = settings.value("keep")
    leaks = [
        "Every exact degree, to the server.",
        f"About {keep:.0%} of each neighbour list, to the server, among random ids. A pair that both ends name is much "
        "more likely an edge than one that a single end names.",
    ]
    if simulated:
        leaks.append(f"This is a simulation: all draws come from the seed {settings.seed}, so nothing is hidden here.")
    return PrivacyStatement(
        f"unbounded: each device sends its exact degree, and about {keep:.0%} of its neighbour list.",
        proved=("Nothing.",),
        leaks=tuple(leaks),
    )


@dataclass(frozen=True, slots=True, eq=False)
class SampleView:
    """The server: the plan that it sent, and every device's sample."""

    observer: ClassVar[str] = "server"
    messages: ClassVar[tuple[type[Message], ...]] = (SamplePlan, Sample)
    beside: ClassVar[tuple[str, ...]] = ()
    samples: Samples


def named_pairs(target: AuditTarget, _: Progress) -> Iterator[Finding]:
    """The attack: every pair that a device named is taken for an edge."""
    view = SampleView(target.stages.get(SAMPLES))
    guesses = reported_pairs(view.samples)
    success, baseline = score_pairs(target.graph, guesses), score_at_random(target.graph, len(guesses))
    said = "Every pair that one of its ends named is taken for an edge."
    yield Finding.of("named pairs", target.settings.protocol, view, success, baseline, said)


def describe(stages: Stages) -> dict[str, float]:
    """Numbers that only this protocol has, for run.json."""
    samples = stages.get(SAMPLES)
    return {"sent_ids": samples.ids.size, "named_pairs": len(reported_pairs(samples))}


def facts(details: Mapping[str, float]) -> Iterator[Fact]:
    """These numbers as text."""
    yield Fact("named pairs", f"{details['named_pairs']:,.0f}", f"from {details['sent_ids']:,.0f} ids")


def check_keep(keep: Any) -> None:
    """Raise SettingsError unless it is a probability."""
    if not 0 <= keep <= 1:
        raise SettingsError(f"keep = {keep:g}: must be a probability, from 0 to 1.")


PROTOCOL = Protocol(
    name="sampled",
    title="Protocol sampled, an example",
    summary="devices send a sample of their neighbour list that keeps its length; nothing is proved",
    reads=("walk_length", "num_walks", "dim", "window", "negative", "seed", "threads", "budget", "embed"),
    settings=(Setting("keep", 0.8, "chance that a device keeps a neighbour in its sample", check_keep),),
    check=check_steps,
    stages=(SAMPLES, WALKS, SKIPGRAM),
    messages=(SamplePlan, Sample),
    releases=releases,
    privacy=privacy,
    simulate=simulate,
    attacks={"named": named_pairs},
    describe=describe,
    facts=facts,
)

if __name__ == "__main__":
    import fedwalk
    from fedwalk.protocols.registry import protocol_names, register

    if PROTOCOL.name not in protocol_names():  # installed, it is found through its entry point
        register(PROTOCOL)
    network = fedwalk.social_network(vertices=200, mean_degree=10, communities=4, seed=0)
    model = fedwalk.FedWalk(protocol="sampled", keep=0.7, num_walks=10, dim=16, seed=0)
    print(model, "->", model.fit(network).vectors.shape, "epsilon per edge:", model.ledger_.per_edge)
