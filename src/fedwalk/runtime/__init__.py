"""Who carries the messages between the parties.

A runtime does the devices' part of the device-side phases (three in `paper`, one in `ldp`) and hands the server what it
receives. `local` computes all devices at once over arrays; `stepwise` is Device objects and messages, one at
a time. For the same seed they give the same values, bit for bit, and the same transcript.
"""

from collections.abc import Callable
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from fedwalk.graph import Graph
from fedwalk.kernels.threads import Report
from fedwalk.privacy.reports import Reports
from fedwalk.protocol.degree import DegreeMatrices
from fedwalk.protocol.messages import GroupPlan, ListPlan, TreeTable
from fedwalk.protocol.server import Server
from fedwalk.protocol.transcript import Transcript
from fedwalk.protocol.walk import Walks
from fedwalk.settings import Settings


class Runtime(Protocol):
    """What the pipeline asks of the devices, whoever carries the messages."""

    def vectors(self, plan: GroupPlan, report: Report) -> NDArray[np.float32]:
        """Send the plan to every device, collect every c_v."""
        ...

    def matrices(self, vectors: NDArray[np.float32], report: Report) -> DegreeMatrices:
        """Send the dictionary to every device, collect every M_v."""
        ...

    def walks(self, plan: GroupPlan, vectors: NDArray[np.float32], table: TreeTable, report: Report) -> Walks:
        """Send the tree and the encoder table, start the walks, collect the sequences."""
        ...

    def lists(self, plan: ListPlan, report: Report) -> Reports:
        """Protocol `ldp`: send the plan to every device, collect every list."""
        ...


RuntimeFactory = Callable[[Graph, Server, Settings, Transcript], Runtime]


def runtimes() -> dict[str, RuntimeFactory]:
    """All runtimes by name."""
    from fedwalk.runtime.local import LocalRuntime
    from fedwalk.runtime.stepwise import StepwiseRuntime

    return {"local": LocalRuntime, "stepwise": StepwiseRuntime}
