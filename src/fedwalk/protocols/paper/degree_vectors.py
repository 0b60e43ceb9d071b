"""Degree vectors c_v and ordered degree matrices M_v (Sec. 4.2, Eq. 5): what a device uploads."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fedwalk.privacy.mechanisms import NoisedCounts
from fedwalk.privacy.randomness import Randomness


def degree_vector(
    device: int,
    neighbours: NDArray[np.int32],
    plan: NDArray[np.int32],
    k: int,
    epsilon: float,
    randomness: Randomness,
) -> NDArray[np.float32]:
    """Device operation 1: the number of neighbours in each bin, each count with Lap(0, 1/ε) added.

    The numbers are real and may be negative. docs/fidelity.md says what this ε means, and that it doesn't bound what
    the protocol as a whole reveals.
    """
    return NoisedCounts(epsilon).release(device, np.bincount(plan[neighbours], minlength=k), randomness)


def estimated_degrees(vectors: NDArray[np.float32]) -> NDArray[np.float64]:
    """Σ c_v for each row: the noised degree, which every party can compute from the dictionary."""
    # Added bin by bin: numpy's sum over an axis may add in another order for another number of rows, and a device's
    # order of its neighbours must not depend on how many rows were summed at once.
    total = np.zeros(len(vectors))
    for column in vectors.T:
        total += column
    return total


def degree_matrix(neighbours: NDArray[np.int32], dictionary: NDArray[np.float32]) -> NDArray[np.float32]:
    """Device operation 2: the neighbours' vectors, ascending by estimated degree, ties by lower id."""
    rows = dictionary[neighbours]
    return rows[np.argsort(estimated_degrees(rows), kind="stable")]


@dataclass(frozen=True, slots=True, eq=False)
class DegreeMatrices:
    """All uploaded M_v, stacked: vertex v's rows are rows[starts[v] : starts[v + 1]]."""

    starts: NDArray[np.int64]
    rows: NDArray[np.float32]

    @classmethod
    def stack(cls, matrices: list[NDArray[np.float32]]) -> "DegreeMatrices":
        """The matrices of vertices 0, 1, … one below the other."""
        starts = np.concatenate([[0], np.cumsum([len(m) for m in matrices])]).astype(np.int64)
        return cls(starts, np.concatenate(matrices))

    def __len__(self) -> int:
        return self.starts.size - 1

    def __getitem__(self, v: int) -> NDArray[np.float32]:
        return self.rows[self.starts[v] : self.starts[v + 1]]

    @property
    def lengths(self) -> NDArray[np.int64]:
        """The number of rows of each matrix, which is the vertex's exact degree."""
        return np.diff(self.starts)

    def lengths_of(self, members: NDArray[np.int64]) -> NDArray[np.int64]:
        """The number of rows for some vertices, without computing those of all."""
        return self.starts[members + 1] - self.starts[members]
