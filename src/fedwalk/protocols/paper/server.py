"""The server of protocol `paper`: its part of Algorithms 1 and 2. It has no neighbour lists."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from fedwalk.errors import ProtocolError
from fedwalk.privacy.randomness import Randomness
from fedwalk.protocols.paper.degree_vectors import DegreeMatrices
from fedwalk.protocols.paper.encoder import ENCODERS, EncoderTable
from fedwalk.protocols.paper.group_plan import group_plan
from fedwalk.protocols.paper.messages import DegreeMatrix, DegreeVector, GroupPlan, Sequence, Start
from fedwalk.protocols.paper.tree import Tree
from fedwalk.protocols.paper.tree_builders import BUILDERS
from fedwalk.util.parallel import Progress, silent


class Server:
    """The server, which knows the vertex ids 0 … n − 1 and the run's parameters."""

    def __init__(self, vertices: int, k: int, epsilon: float) -> None:
        self.vertices, self.k, self.epsilon = vertices, k, epsilon

    def group_plan(self, randomness: Randomness) -> GroupPlan:
        """Algorithm 2, line 1: k balanced random bins."""
        return GroupPlan(group_plan(self.vertices, self.k, randomness), self.k, self.epsilon)

    def collect_vectors(self, messages: Iterator[DegreeVector]) -> NDArray[np.float32]:
        """Collect every device's c_v, one row per vertex: the dictionary."""
        # NaN marks the devices whose vector hasn't arrived: no valid vector has one.
        vectors = np.full((self.vertices, self.k), np.nan, np.float32)
        for message in messages:
            self._check_device(message.device)
            if message.vector.shape != (self.k,) or not np.isfinite(message.vector).all():
                raise ProtocolError(f"device {message.device}: a degree vector must be {self.k} finite numbers.")
            if np.isfinite(vectors[message.device, 0]):
                raise ProtocolError(f"device {message.device}: sent its degree vector twice.")
            vectors[message.device] = message.vector
        self._check_complete(np.isfinite(vectors[:, 0]), "degree vector")
        return vectors

    def collect_matrices(self, messages: Iterator[DegreeMatrix]) -> DegreeMatrices:
        """Collect every device's M_v, stacked."""
        matrices: list[NDArray[np.float32]] = [np.empty((0, self.k), np.float32)] * self.vertices
        for message in messages:
            self._check_device(message.device)
            rows = message.rows
            if rows.ndim != 2 or rows.shape[1] != self.k or len(rows) == 0 or not np.isfinite(rows).all():
                raise ProtocolError(f"device {message.device}: M_v must be rows of {self.k} finite numbers.")
            if len(matrices[message.device]):
                raise ProtocolError(f"device {message.device}: sent its degree matrix twice.")
            matrices[message.device] = rows
        self._check_complete(np.array([len(m) > 0 for m in matrices]), "degree matrix")
        return DegreeMatrices.stack(matrices)

    def build_tree(
        self, matrices: DegreeMatrices, builder: str, seed: int, threads: int = 1, on_progress: Progress = silent
    ) -> Tree:
        """Algorithm 2, lines 13 and 14: dissimilarities by DTW, then the HCT."""
        return BUILDERS[builder](matrices, seed, threads, on_progress)

    def encoder_table(
        self, matrices: DegreeMatrices, tree: Tree, encoder: str, threads: int = 1, on_progress: Progress = silent
    ) -> EncoderTable:
        """The table that devices encode with; it replaces the whole matrix of dissimilarities (Eq. 12)."""
        return ENCODERS[encoder](matrices, tree, self.epsilon, threads, on_progress)

    def starts(self, rounds: int, length: int, predict: float) -> Iterator[Start]:
        """Algorithm 1, lines 2 to 4: γ rounds, in each a walk from every device."""
        for walk in range(rounds * self.vertices):
            yield Start(walk % self.vertices, walk, length, self.epsilon, predict)

    def collect_sequences(self, messages: Iterator[Sequence], walks: int, length: int) -> NDArray[np.int32]:
        """Collect the finished walks, by number, and check each."""
        sequences = np.full((walks, length), -1, np.int32)
        for message in messages:
            if not 0 <= message.walk < walks or sequences[message.walk, 0] >= 0:
                raise ProtocolError(f"walk {message.walk}: was never started, or is finished already.")
            if len(message.entries) != length:
                raise ProtocolError(f"walk {message.walk}: has {len(message.entries)} entries, not {length}.")
            if min(message.entries) < 0 or max(message.entries) >= self.vertices:
                raise ProtocolError(f"walk {message.walk}: names a vertex outside 0 … {self.vertices - 1}.")
            sequences[message.walk] = message.entries
        self._check_complete(sequences[:, 0] >= 0, "walk")
        return sequences

    def _check_device(self, device: int) -> None:
        if not 0 <= device < self.vertices:
            raise ProtocolError(f"device {device}: unknown; the devices are 0 … {self.vertices - 1}.")

    def _check_complete(self, present: NDArray[np.bool_], what: str) -> None:
        missing = np.flatnonzero(~present)
        if missing.size:
            raise ProtocolError(f"{what} missing for {missing.size} of {present.size}; the first is {missing[0]}.")
