"""What the server has in protocol `ldp`: the reported pairs. Computing with them costs no privacy (PROOFS.md, 4)."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fedwalk.errors import ProtocolError
from fedwalk.kernels.ldp.randomised_response import owns
from fedwalk.protocols.ldp.messages import Report, ReportPlan


@dataclass(frozen=True, slots=True, eq=False)
class Reports:
    """The reports of all devices, concatenated: device v reported ids[starts[v] : starts[v + 1]]."""

    starts: NDArray[np.int64]
    ids: NDArray[np.int32]

    @property
    def vertices(self) -> int:
        """How many vertices there are."""
        return self.starts.size - 1

    def pairs(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The reported pairs: owner and other end."""
        return np.repeat(np.arange(self.vertices), np.diff(self.starts)), self.ids.astype(np.int64)

    def counts(self) -> NDArray[np.int64]:
        """The number of reported pairs of each vertex, as owner or as other end."""
        return np.asarray(np.diff(self.starts) + np.bincount(self.ids, minlength=self.vertices))


def collect_reports(plan: ReportPlan, messages: Iterable[Report]) -> Reports:
    """Collect the reports of all devices, and check each."""
    ids_by_device: dict[int, NDArray[np.int32]] = {}
    for message in messages:
        check_report(plan, message)
        if message.device in ids_by_device:
            raise ProtocolError(f"device {message.device}: sent its report twice.")
        ids_by_device[message.device] = message.ids
    missing = plan.vertices - len(ids_by_device)
    if missing:
        first = next(v for v in range(plan.vertices) if v not in ids_by_device)
        raise ProtocolError(f"report missing for {missing} of {plan.vertices} devices; the first is {first}.")
    ordered = [ids_by_device[v] for v in range(plan.vertices)]
    starts = np.concatenate([[0], np.cumsum([ids.size for ids in ordered])]).astype(np.int64)
    return Reports(starts, np.concatenate(ordered).astype(np.int32))


def check_report(plan: ReportPlan, message: Report) -> None:
    """Raise ProtocolError for a report that no correct device sends."""
    v, ids = message.device, message.ids
    if not 0 <= v < plan.vertices:
        raise ProtocolError(f"device {v}: unknown; the devices are 0 … {plan.vertices - 1}.")
    if ids.ndim != 1 or not np.issubdtype(ids.dtype, np.integer) or ids.size >= plan.vertices:
        raise ProtocolError(f"device {v}: a report must be at most {plan.vertices - 1} ids.")
    if ids.size and (ids[0] < 0 or ids[-1] >= plan.vertices or (np.diff(ids.astype(np.int64)) <= 0).any()):
        raise ProtocolError(f"device {v}: a report must ascend from 0 to {plan.vertices - 1} at most, without repeats.")
    # The decoder assumes that only the owner reports a pair.
    if not all(owns(np.uint64(plan.key), v, int(u)) for u in ids if u != v) or v in ids:
        raise ProtocolError(f"device {v}: reports a pair that it does not own.")
