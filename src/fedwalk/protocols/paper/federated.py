"""FedWalk over holders: Algorithm 2, then Algorithm 1, then SkipGram.

roll → bins → vectors → matrices → tree → encoder → walks → skipgram.
"""

from functools import partial
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from fedwalk.errors import ProtocolError
from fedwalk.protocols.embed import train_walks
from fedwalk.protocols.federated import ROLL, FederatedEmbedding, Fleet, check_enough
from fedwalk.protocols.paper.degree_vectors import DegreeMatrices
from fedwalk.protocols.paper.messages import GroupPlan, TreeTable
from fedwalk.protocols.paper.simulate import build_tables, draw_bins, make_server
from fedwalk.protocols.paper.stages import BINS, MATRICES, VECTORS
from fedwalk.protocols.settings import Settings
from fedwalk.protocols.stages import SKIPGRAM, WALKS, Stages, Vectors
from fedwalk.protocols.walks import Walks
from fedwalk.util.parallel import Progress

Ids = NDArray[np.int32]


class PaperFleet(Fleet, Protocol):
    """The holders, with the questions of this protocol."""

    def vectors(self, participants: Ids, plan: GroupPlan, on_progress: Progress) -> Vectors:
        """c_v of every participant, by place; a row of NaN for each that was lost."""
        ...

    def matrices(self, participants: Ids, vectors: Vectors, on_progress: Progress) -> DegreeMatrices:
        """M_v of every participant, by place; no rows for each that was lost or has no neighbour left."""
        ...

    def walks(
        self, settings: Settings, participants: Ids, bins: Ids, vectors: Vectors, table: TreeTable,
        on_progress: Progress,
    ) -> Walks:  # fmt: skip
        """The finished walks, their entries by place."""
        ...


def run(fleet: PaperFleet, settings: Settings, stages: Stages) -> FederatedEmbedding:
    """Every stage of a run over these holders."""
    roll = stages.run(ROLL, partial(fleet.roll, settings.protocol, settings.epsilon, settings.num_walks))
    settings = settings.resolve(check_enough(fleet, roll.size))
    server = make_server(roll.size, settings)
    plan = GroupPlan(stages.run(BINS, partial(draw_bins, server, settings)), server.k, server.epsilon)
    vectors = stages.run(VECTORS, partial(fleet.vectors, roll, plan))
    # Lost devices have a row of NaN.
    remain = np.isfinite(vectors[:, 0])
    roll, vectors, bins = roll[remain], vectors[remain], plan.bins[remain]
    check_enough(fleet, roll.size)
    matrices = stages.run(MATRICES, partial(fleet.matrices, roll, vectors))
    # Lost devices, and those that have lost all their neighbours, have no rows.
    remain = matrices.lengths > 0
    roll, vectors, bins = roll[remain], vectors[remain], bins[remain]
    server = make_server(check_enough(fleet, roll.size), settings)
    kept = DegreeMatrices.stack([matrices[v] for v in np.flatnonzero(remain).tolist()])
    table = build_tables(server, kept, settings, stages)
    walks = stages.run(WALKS, partial(fleet.walks, settings, roll, bins, vectors, table))
    if not len(walks.sequences):
        raise ProtocolError(f"no walk was finished: {fleet.losses()}.")
    trained = stages.run(SKIPGRAM, partial(train_walks, walks, roll.size, settings))
    devices, rows = _of_remaining_holders(fleet, roll, trained)
    return FederatedEmbedding(devices, rows, settings, leaves=roll)


def _of_remaining_holders(fleet: Fleet, devices: Ids, vectors: Vectors) -> tuple[Ids, Vectors]:
    """All devices of the remaining holders, and a vector for each; zeros for devices without neighbours.

    The devices of holders that were lost during the walks are dropped, although the encoder may have written them into
    the walks of others.
    """
    remaining = fleet.remaining_devices()
    check_enough(fleet, remaining.size)
    rows = np.zeros((remaining.size, vectors.shape[1]), np.float32)
    kept = np.isin(devices, remaining)
    rows[np.searchsorted(remaining, devices[kept])] = vectors[kept]
    return remaining, rows
