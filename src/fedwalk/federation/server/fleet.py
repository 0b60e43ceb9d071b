"""The holders as a protocol's stages see them: questions go through the coordinator, walks through the walk phase."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fedwalk.federation.server.coordinator import Coordinator
from fedwalk.federation.server.walk_phase import WalkPhase
from fedwalk.protocols.ldp.messages import ReportPlan
from fedwalk.protocols.paper.degree_vectors import DegreeMatrices
from fedwalk.protocols.paper.messages import GroupPlan, TreeTable
from fedwalk.protocols.walks import Walks
from fedwalk.settings import Settings
from fedwalk.util.parallel import Progress

Ids = NDArray[np.int32]
Vectors = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class HolderFleet:
    """What the protocols' federated parts ask for (`PaperFleet`, `ReportFleet`), answered by real holders."""

    coordinator: Coordinator

    @property
    def num_devices(self) -> int:
        """How many devices the federation has, present or not."""
        # Removed holders count, too: their devices keep their ids.
        return len(self.coordinator.roster.names)

    def roll(self, protocol: str, epsilon: float, walks: int, on_progress: Progress) -> Ids:
        """Hold the roll call; returns the ids of the devices that take part, ascending."""
        return self.coordinator.roll(protocol, epsilon, walks, on_progress)

    def remaining_devices(self) -> Ids:
        """The ids of all devices of the holders that weren't lost, ascending."""
        own = [self.coordinator.own(name) for name in self.coordinator.statistics.living()]
        # The empty array is for a run that has lost all holders: np.concatenate needs at least one.
        return np.sort(np.concatenate([np.empty(0, np.int32), *own]))

    def losses(self) -> str:
        """Which holders were lost and why, in words."""
        return self.coordinator.statistics.reasons()

    def reports(self, plan: ReportPlan, on_progress: Progress) -> dict[str, NDArray[Any]]:
        """Protocol `ldp`: the devices' reports."""
        return self.coordinator.reports(plan, on_progress)

    def vectors(self, participants: Ids, plan: GroupPlan, on_progress: Progress) -> Vectors:
        """Protocol `paper`: c_v of every participant."""
        return self.coordinator.vectors(participants, plan, on_progress)

    def matrices(self, participants: Ids, vectors: Vectors, on_progress: Progress) -> DegreeMatrices:
        """Protocol `paper`: M_v of every participant."""
        return self.coordinator.matrices(participants, vectors, on_progress)

    def walks(
        self, settings: Settings, participants: Ids, bins: Ids, vectors: Vectors, table: TreeTable,
        on_progress: Progress,
    ) -> Walks:  # fmt: skip
        """Protocol `paper`: the walk phase."""
        return WalkPhase(self.coordinator, settings, participants, bins, vectors, table).run(on_progress)
