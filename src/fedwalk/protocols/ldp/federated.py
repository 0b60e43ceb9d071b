"""Randomised response over holders.

roll → collected_reports → posterior → posterior_power → spectral, or → posterior → walks → skipgram.

The devices' ids are those of the federation, so the question to a device doesn't depend on which other devices are
present. A device without a report is left out, and so is what other devices reported about it. That post-processing
costs no privacy (PROOFS.md, 4).
"""

from functools import partial
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from fedwalk.protocols.federated import ROLL, FederatedEmbedding, Fleet, check_enough
from fedwalk.protocols.ldp.messages import ReportPlan
from fedwalk.protocols.ldp.reports import Reports
from fedwalk.protocols.ldp.simulate import decode_and_embed
from fedwalk.protocols.ldp.stages import COLLECTED_REPORTS
from fedwalk.protocols.settings import Settings
from fedwalk.protocols.stages import Stages
from fedwalk.util.parallel import Progress


class ReportFleet(Fleet, Protocol):
    """The holders, with the question of this protocol."""

    def reports(self, plan: ReportPlan, on_progress: Progress) -> dict[str, NDArray[Any]]:
        """The arrays of `Reports` for all devices, and `present`, which marks those whose report has arrived."""
        ...


def run(fleet: ReportFleet, settings: Settings, stages: Stages) -> FederatedEmbedding:
    """Every stage of a run over these holders."""
    # The holders are asked for 0 walks: the server walks over the decoded graph by itself.
    stages.run(ROLL, partial(fleet.roll, settings.protocol, settings.epsilon, 0))
    plan = ReportPlan(fleet.num_devices, settings.epsilon)
    collected = stages.run(COLLECTED_REPORTS, partial(fleet.reports, plan))
    present = collected["present"]
    settings = settings.resolve(check_enough(fleet, int(present.sum())))
    reports = among(Reports(collected["starts"], collected["ids"]), present)
    vectors = decode_and_embed(reports, settings, stages)
    return FederatedEmbedding(np.flatnonzero(present).astype(np.int32), vectors, settings)


def among(reports: Reports, present: NDArray[np.bool_]) -> Reports:
    """The reports of the present vertices about each other, with the vertices renumbered."""
    owner, other = reports.pairs()
    number = np.cumsum(present) - 1
    kept = present[owner] & present[other]
    counts = np.bincount(number[owner[kept]], minlength=int(present.sum()))
    return Reports(np.concatenate([[0], np.cumsum(counts)]), number[other[kept]].astype(np.int32))
