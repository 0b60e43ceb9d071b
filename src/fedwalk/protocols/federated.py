"""How a protocol runs over holders: what its server's part asks of them, and what comes out.

`federation/` carries the questions and checks the answers. A protocol says only which questions it asks, in what order,
and what it computes from the answers (`paper/federated.py`, `ldp/federated.py`). The computations are those of a
simulation. The difference is that holders, and their devices with them, can be lost on the way. Devices that are lost
in a phase are left out of the next one, so a vertex is numbered by its place among the devices that remain, and its
number can change from phase to phase.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from fedwalk.errors import ProtocolError
from fedwalk.protocols.settings import Settings
from fedwalk.protocols.stages import Stage, Stages, array_stage
from fedwalk.util.parallel import Progress
from fedwalk.util.text import counted

MIN_DEVICES = 2
"""With fewer devices there is nothing to embed."""

ROLL: Stage[NDArray[np.int32]] = array_stage("roll")
"""The ids of the devices that take part, as their holders answered the roll call."""


class Fleet(Protocol):
    """The holders, as the server's part of any protocol sees them. Protocols add the questions that they ask."""

    @property
    def num_devices(self) -> int:
        """How many devices the federation has, present or not."""
        ...

    def roll(self, protocol: str, epsilon: float, walks: int, on_progress: Progress) -> NDArray[np.int32]:
        """Hold the roll call; returns the ids of the devices that take part, ascending."""
        ...

    def remaining_devices(self) -> NDArray[np.int32]:
        """The ids of all devices of the holders that weren't lost, ascending."""
        ...

    def losses(self) -> str:
        """Which holders were lost and why, in words."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class FederatedEmbedding:
    """The result of a federated run, and who took part in it.

    Parameters
    ----------
    devices, vectors
        The ids of the embedded devices in the federation, ascending, and a vector for each.
    settings
        The settings with the values that depend on the number of participants.
    leaves
        The ids of the devices that are the tree's leaves, in their order; None if the protocol has no tree.
    """

    devices: NDArray[np.int32]
    vectors: NDArray[np.float32]
    settings: Settings
    leaves: NDArray[np.int32] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Federated:
    """How a protocol runs over holders.

    Parameters
    ----------
    phases
        The names of the questions that follow the roll call.
    run
        (fleet, settings, stages) → the embedding: asks the holders, then computes as in a simulation.
    devices_meet
        Whether devices send each other messages, so that every holder needs an address that the others reach.
    unbounded
        Why its releases have no privacy bound, so that no budget of a holder allows them; empty if they have one.
    allowed_by_default
        Whether a holder takes part without its owner having named the protocol.
    report_plan
        (number of vertices, ε) → the plan of the reports that each device will be asked for. At the roll call a holder
        checks whether the devices' budgets cover it. None if the devices send no reports.
    usual_epsilon
        The ε that `fedwalk federate demo` uses.
    """

    phases: tuple[str, ...]
    run: Callable[[Any, Settings, Stages], FederatedEmbedding]
    devices_meet: bool = False
    unbounded: str = ""
    allowed_by_default: bool = False
    report_plan: Callable[[int, float], Any] | None = None
    usual_epsilon: float


def check_enough(fleet: Fleet, num_devices: int) -> int:
    """Raise ProtocolError if too few devices are left to embed; returns their number."""
    if num_devices < MIN_DEVICES:
        left = counted(num_devices, "device is", "devices are")
        raise ProtocolError(
            f"{left} left ({fleet.losses()}): an embedding needs at least {MIN_DEVICES}, joined by an edge."
        )
    return num_devices
