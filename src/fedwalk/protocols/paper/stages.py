"""The stages of protocol `paper`, each declared once: its name, its files, and how its value is stored.

bins → vectors → matrices → tree → encoder → walks → skipgram.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fedwalk.kernels.encoder import EncoderArrays
from fedwalk.protocols.paper.degree_vectors import DegreeMatrices
from fedwalk.protocols.paper.encoder import EncoderTable
from fedwalk.protocols.paper.tree import Tree
from fedwalk.protocols.stages import SKIPGRAM, WALKS, Stage, array_stage, arrays_stage, file_stage

BINS: Stage[NDArray[np.int32]] = array_stage("bins")
VECTORS: Stage[NDArray[np.float32]] = array_stage("vectors")
MATRICES: Stage[DegreeMatrices] = arrays_stage("matrices", DegreeMatrices, ("starts", "rows"))
TREE: Stage[Tree] = arrays_stage("tree", Tree, ("linkage",))
ENCODER: Stage[EncoderTable] = file_stage(
    "encoder",
    ".npz",
    lambda table: table.arrays._asdict(),
    lambda arrays: EncoderTable(EncoderArrays(**arrays)),
)
STAGES: tuple[Stage[Any], ...] = (BINS, VECTORS, MATRICES, TREE, ENCODER, WALKS, SKIPGRAM)
