"""From holders to vectors: the stages of a federated run, each kept when it is finished.

roll → bins → vectors → matrices → tree → encoder → walks → skipgram for `paper`; roll → answers → posterior → … for
`ldp`. The computing is the same as in a simulation; what differs is that devices can be lost on the way. Those that are
gone after a phase are left out of the next: a vertex's number is its place among those that are left.
"""

from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from fedwalk.errors import ProtocolError
from fedwalk.federation.coordinator import Coordinator
from fedwalk.federation.walking import WalkPhase
from fedwalk.kernels.threads import Report
from fedwalk.pipeline import build_tables, decode_and_embed, train_walks
from fedwalk.privacy.reports import Reports
from fedwalk.protocol.degree import DegreeMatrices
from fedwalk.protocol.messages import GroupPlan, ListPlan
from fedwalk.protocol.randomness import SimulatedRandomness
from fedwalk.protocol.server import Server
from fedwalk.settings import Settings
from fedwalk.stages import Stages

LEAST = 2
"""Devices without which there is nothing to embed."""


@dataclass(frozen=True, slots=True, eq=False)
class Embedded:
    """The vectors, a row for each of these ids of the federation."""

    devices: NDArray[np.int32]
    vectors: NDArray[np.float32]


def run_paper(coordinator: Coordinator, settings: Settings, stages: Stages) -> Embedded:
    """FedWalk over holders: Algorithm 2, then Algorithm 1, then SkipGram."""
    roll = stages.run("roll", partial(coordinator.roll, "paper", settings.epsilon, settings.walks))
    settings = settings.resolve(_enough(coordinator, roll.size))
    assert settings.bins is not None
    server = Server(roll.size, settings.bins, float(settings.epsilon))

    def bins(_: Report) -> NDArray[np.int32]:
        return server.group_plan(SimulatedRandomness(settings.seed)).bins

    plan = GroupPlan(stages.run("bins", bins), server.k, server.epsilon)
    vectors = stages.run("vectors", lambda report: coordinator.vectors(roll, plan, report))
    left = np.isfinite(vectors[:, 0])
    roll, vectors, groups = roll[left], vectors[left], plan.bins[left]
    _enough(coordinator, roll.size)
    matrices = stages.run("matrices", lambda report: coordinator.matrices(roll, vectors, report))
    left = matrices.lengths > 0
    roll, vectors, groups = roll[left], vectors[left], groups[left]
    server = Server(_enough(coordinator, roll.size), settings.bins, float(settings.epsilon))
    table = build_tables(
        server, DegreeMatrices.stack([matrices[v] for v in np.flatnonzero(left).tolist()]), settings, stages
    )
    phase = WalkPhase(coordinator, settings, roll, groups, vectors, table)
    walks = stages.run("walks", phase.run)
    if not len(walks.sequences):
        raise ProtocolError(f"no walk came to an end: {coordinator.account.reasons()}.")
    trained = stages.run("skipgram", partial(train_walks, walks, roll.size, settings))
    return _living(coordinator, roll, trained)


def run_ldp(coordinator: Coordinator, settings: Settings, stages: Stages) -> Embedded:
    """Randomised response over holders. Ids are the federation's: who is there changes nothing of what is asked.

    A device whose list didn't come is left out, and so is what others reported of it: that is free (PROOFS.md, 4).
    """
    stages.run("roll", partial(coordinator.roll, "ldp", settings.epsilon, 0))
    plan = ListPlan(len(coordinator.roster.names), settings.epsilon)
    answers = stages.run("answers", partial(coordinator.lists, plan))
    present = answers["present"]
    settings = settings.resolve(_enough(coordinator, int(present.sum())))
    reports = among(Reports(answers["starts"], answers["ids"]), present)
    vectors = decode_and_embed(reports, settings, stages)
    return Embedded(np.flatnonzero(present).astype(np.int32), vectors)


def among(reports: Reports, present: NDArray[np.bool_]) -> Reports:
    """The reports of those who are present about each other, numbered anew."""
    owner, other = reports.pairs()
    number = np.cumsum(present) - 1
    kept = present[owner] & present[other]
    counts = np.bincount(number[owner[kept]], minlength=int(present.sum()))
    return Reports(np.concatenate([[0], np.cumsum(counts)]), number[other[kept]].astype(np.int32))


def _living(coordinator: Coordinator, devices: NDArray[np.int32], vectors: NDArray[np.float32]) -> Embedded:
    """All devices of the holders that are left; zeros for those that took no part, having no neighbour.

    Those who were lost in the walks go: the encoder may name them in others' walks, but they are not there any more.
    """
    own = [coordinator.own(name) for name in coordinator.account.living()]
    living = np.sort(np.concatenate([np.empty(0, np.int32), *own]))
    _enough(coordinator, living.size)
    rows = np.zeros((living.size, vectors.shape[1]), np.float32)
    here = np.isin(devices, living)
    rows[np.searchsorted(living, devices[here])] = vectors[here]
    return Embedded(living, rows)


def _enough(coordinator: Coordinator, devices: int) -> int:
    if devices < LEAST:
        reasons = coordinator.account.reasons()
        raise ProtocolError(f"{devices} devices are left ({reasons}): an embedding needs {LEAST}, joined by an edge.")
    return devices
