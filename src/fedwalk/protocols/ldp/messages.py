"""The messages of protocol `ldp`: their content, their size, and their observers."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from fedwalk.protocols.messages import EVERYONE, ID, NUMBER, PARAMETER, Message


@dataclass(frozen=True, slots=True)
class ReportPlan:
    """Server → device, protocol `ldp`: the number of vertices, ε, and the epoch.

    The key of the hash that decides each pair's owner is a constant of the protocol and not part of the plan: a server
    that chose it could make both ends of a pair its owner, and learn twice as much. Within an epoch a device sends one
    report, even if its neighbours change; another epoch would be another release. This version always asks in epoch 0.
    """

    phase: ClassVar[str] = "report plan"
    route: ClassVar[str] = "server → device"
    observers: ClassVar[tuple[str, ...]] = EVERYONE
    key: ClassVar[int] = 0x6665_6477_616C_6B31
    vertices: int
    epsilon: float
    epoch: int = 0

    @staticmethod
    def size() -> int:
        """Bytes of a plan."""
        return 2 * NUMBER + PARAMETER

    @property
    def nbytes(self) -> int:
        """Bytes on the wire."""
        return self.size()


@dataclass(frozen=True, slots=True, eq=False)
class Report:
    """Device → server, protocol `ldp`: the ids of the reported pairs that the device owns, ascending."""

    phase: ClassVar[str] = "reports"
    route: ClassVar[str] = "device → server"
    observers: ClassVar[tuple[str, ...]] = ("server",)
    device: int
    ids: NDArray[np.int32]

    @staticmethod
    def size(ids: int) -> int:
        """Bytes of a report of this many ids."""
        return ID + NUMBER + ID * ids

    @property
    def nbytes(self) -> int:
        """Bytes on the wire."""
        return self.size(self.ids.size)


KINDS: tuple[type[Message], ...] = (ReportPlan, Report)
"""In the order in which the protocol sends them."""
