"""Predictor `triad`, not in the paper: continue with further neighbours of the device itself.

Friends of a friend are often friends, so the device's own neighbours are likely neighbours of each other. A burst
continues with vertices drawn uniformly from the device's neighbour list, never the same twice in a row. It needs no
model of another neighbourhood, and a token only ever goes to a neighbour. A device with one neighbour can't continue.
As every entry is a neighbour, a burst may complete the walk: at least 2 entries must remain, where the others need 3.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fedwalk.kernels.jit import kernel
from fedwalk.kernels.random import below
from fedwalk.protocols.paper.predictors import Broadcast, Predictor


class NoTables(NamedTuple):
    """Nothing is precomputed, but numba needs a tuple that isn't empty."""

    vertices: int


def prepare(broadcast: Broadcast) -> NoTables:
    """Return empty tables: the device's own neighbour list is all that is needed."""
    return NoTables(len(broadcast.plan))


@kernel
def extend(tables: NoTables, neighbours: NDArray[np.int32], last: int, bits: np.uint64, more: np.uint64) -> int:
    """A uniform draw from the ascending neighbours without `last`; −1 if there is no other."""
    if neighbours.size < 2:
        return -1
    # A place among one fewer, moved up by one from the place of `last` on.
    place = below(bits, neighbours.size - 1)
    return int(neighbours[place + 1] if neighbours[place] >= last else neighbours[place])


PREDICTOR = Predictor("triad", min_remaining=2, prepare=prepare, extend=extend)
