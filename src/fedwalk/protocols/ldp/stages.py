"""The stages of protocol `ldp`, each declared once: its name, its files, and how its value is stored.

reports → posterior → posterior_power → spectral, or reports → posterior → walks → skipgram.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fedwalk.protocols.ldp.edge_posterior import WeightedGraph
from fedwalk.protocols.ldp.reports import Reports
from fedwalk.protocols.stages import SKIPGRAM, SPECTRAL, WALKS, Stage, arrays_stage, file_stage

REPORTS: Stage[Reports] = arrays_stage("reports", Reports, ("starts", "ids"))
POSTERIOR: Stage[WeightedGraph] = arrays_stage("posterior", WeightedGraph, ("indptr", "indices", "weights"))
POSTERIOR_POWER: Stage[float] = file_stage("posterior_power", ".npy", np.array, float)
COLLECTED_REPORTS: Stage[dict[str, NDArray[Any]]] = file_stage("collected_reports", ".npz", dict, dict)
"""In a federation: the reports of all devices of the federation, and which of these devices sent one."""
STAGES: tuple[Stage[Any], ...] = (REPORTS, POSTERIOR, POSTERIOR_POWER, SPECTRAL, WALKS, SKIPGRAM)
