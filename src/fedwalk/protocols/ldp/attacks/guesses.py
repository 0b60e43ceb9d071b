"""What the server of protocol `ldp` can guess: it has the reports and what it decodes from them.

No function here reads the true graph.
"""

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from fedwalk.graph.pairs import Pairs, among, distinct_pairs
from fedwalk.protocols.ldp.edge_posterior import WeightedGraph
from fedwalk.protocols.ldp.messages import Report, ReportPlan
from fedwalk.protocols.ldp.reports import Reports
from fedwalk.protocols.messages import Message


@dataclass(frozen=True, slots=True, eq=False)
class ReportView:
    """The server of protocol `ldp`: the plan that it published, and every device's report."""

    observer: ClassVar[str] = "server"
    messages: ClassVar[tuple[type[Message], ...]] = (ReportPlan, Report)
    beside: ClassVar[tuple[str, ...]] = ()
    plan: ReportPlan
    reports: Reports


@dataclass(frozen=True, slots=True, eq=False)
class NetworkView:
    """The network of protocol `ldp`: which device contacted which, in rows. No message goes from device to device."""

    observer: ClassVar[str] = "network"
    messages: ClassVar[tuple[type[Message], ...]] = ()
    beside: ClassVar[tuple[str, ...]] = ("contacts between devices",)
    contacts: Pairs

    @classmethod
    def nothing(cls) -> "NetworkView":
        """What the network sees: no contact at all."""
        return cls(np.empty((0, 2), np.int64))


def reported_pairs(view: ReportView) -> Pairs:
    """The reported pairs, taken for edges."""
    return distinct_pairs(*view.reports.pairs())


def are_reported(view: ReportView, pairs: Pairs) -> NDArray[np.bool_]:
    """The bit that was sent for each pair: the best guess if edge and non-edge are equally likely beforehand."""
    return among(pairs, reported_pairs(view))


def most_likely(decoded: WeightedGraph, count: int) -> Pairs:
    """The pairs to which the decoder gives the highest probability; `decoded` is made from the reports alone."""
    rows = np.repeat(np.arange(decoded.vertices), np.diff(decoded.indptr))
    once = np.flatnonzero(rows < decoded.indices)
    chosen = once[np.argsort(-decoded.weights[once], kind="stable")[:count]]
    return np.column_stack([rows[chosen], decoded.indices[chosen].astype(np.int64)])


def max_precision(epsilon: float, density: float) -> float:
    """The largest share of right guesses about a pair if only its report is known.

    Posterior odds are at most e^ε times the prior odds, here those of a random pair.

    >>> round(max_precision(4.0, 0.00628), 2)
    0.26
    """
    raised = math.exp(epsilon) * density
    return raised / (raised + 1 - density)
