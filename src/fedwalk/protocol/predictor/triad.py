"""Predictor `triad`, ours: friends of a friend are mostly friends, and the device holds such a list, its own.

A burst goes on with vertices drawn uniformly from the visiting device's neighbours, never the same twice in a row. No
model of anybody else's neighbourhood is needed, and no stranger ever gets a token. A device with one neighbour
can't go on. As the last entry is a neighbour too, a burst may use up the whole walk.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fedwalk.kernels.jit import kernel
from fedwalk.kernels.random import below
from fedwalk.protocol.predictor import Broadcast, Predictor


class NoTables(NamedTuple):
    """Nothing is precomputed; numba wants a tuple that isn't empty."""

    vertices: int


def prepare(broadcast: Broadcast) -> NoTables:
    """The device's own list is all there is to know."""
    return NoTables(len(broadcast.plan))


@kernel
def extend(tables: NoTables, neighbours: NDArray[np.int32], last: int, bits: np.uint64, more: np.uint64) -> int:
    """A uniform draw from the ascending list without `last`; −1 if nobody else is in it."""
    if neighbours.size < 2:
        return -1
    place = below(bits, neighbours.size - 1)
    return int(neighbours[place + 1] if neighbours[place] >= last else neighbours[place])


PREDICTOR = Predictor("triad", least=2, prepare=prepare, extend=extend)
