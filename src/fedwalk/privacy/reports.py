"""What the server has in protocol `ldp`: the reported pairs. Everything it makes of them is free (PROOFS.md, 4)."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fedwalk.errors import ProtocolError
from fedwalk.kernels.lists import owns
from fedwalk.protocol.messages import ListPlan, NoisyList


@dataclass(frozen=True, slots=True, eq=False)
class Reports:
    """All lists, one after the other: device v reported ids[starts[v] : starts[v + 1]]."""

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
        """In how many reported pairs each vertex stands."""
        return np.asarray(np.diff(self.starts) + np.bincount(self.ids, minlength=self.vertices))


def collect_lists(plan: ListPlan, messages: Iterable[NoisyList]) -> Reports:
    """Everybody's list, each checked before it is kept."""
    lists: dict[int, NDArray[np.int32]] = {}
    for message in messages:
        check_list(plan, message)
        if message.device in lists:
            raise ProtocolError(f"device {message.device}: sent its list twice.")
        lists[message.device] = message.ids
    missing = plan.vertices - len(lists)
    if missing:
        first = next(v for v in range(plan.vertices) if v not in lists)
        raise ProtocolError(f"list missing for {missing} of {plan.vertices} devices; the first is {first}.")
    starts = np.concatenate([[0], np.cumsum([lists[v].size for v in range(plan.vertices)])]).astype(np.int64)
    return Reports(starts, np.concatenate([lists[v] for v in range(plan.vertices)]).astype(np.int32))


def check_list(plan: ListPlan, message: NoisyList) -> None:
    """Refuse a list that no honest device sends."""
    v, ids = message.device, message.ids
    if not 0 <= v < plan.vertices:
        raise ProtocolError(f"device {v}: unknown; the devices are 0 … {plan.vertices - 1}.")
    if ids.ndim != 1 or not np.issubdtype(ids.dtype, np.integer) or ids.size >= plan.vertices:
        raise ProtocolError(f"device {v}: a list must be at most {plan.vertices - 1} ids.")
    if ids.size and (ids[0] < 0 or ids[-1] >= plan.vertices or (np.diff(ids.astype(np.int64)) <= 0).any()):
        raise ProtocolError(f"device {v}: a list must ascend from 0 to {plan.vertices - 1} at most, without repeats.")
    if not all(owns(np.uint64(plan.key), v, int(u)) for u in ids if u != v) or v in ids:
        raise ProtocolError(f"device {v}: reports a pair that it does not own.")
