"""The messages of protocol `paper`: their content, their size, and their observers.

`size` gives a message's bytes without building it.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from fedwalk.protocols.messages import EVERYONE, ID, NUMBER, PARAMETER, Message
from fedwalk.protocols.paper.encoder import EncoderTable
from fedwalk.protocols.paper.tree import Tree


@dataclass(frozen=True, slots=True, eq=False)
class GroupPlan:
    """Server → device: the bin of every vertex, and ε."""

    phase: ClassVar[str] = "plan"
    route: ClassVar[str] = "server → device"
    observers: ClassVar[tuple[str, ...]] = EVERYONE
    bins: NDArray[np.int32]
    k: int
    epsilon: float

    @staticmethod
    def size(vertices: int, k: int) -> int:
        """Bytes of a plan."""
        return NUMBER + PARAMETER + vertices * np.min_scalar_type(k - 1).itemsize

    @property
    def nbytes(self) -> int:
        """Bytes on the wire."""
        return self.size(self.bins.size, self.k)


@dataclass(frozen=True, slots=True, eq=False)
class DegreeVector:
    """Device → server: the noised counts c_v."""

    phase: ClassVar[str] = "vectors"
    route: ClassVar[str] = "device → server"
    observers: ClassVar[tuple[str, ...]] = ("server",)
    device: int
    vector: NDArray[np.float32]

    @staticmethod
    def size(k: int) -> int:
        """Bytes of a vector."""
        return ID + NUMBER * k

    @property
    def nbytes(self) -> int:
        """Bytes on the wire."""
        return self.size(self.vector.size)


@dataclass(frozen=True, slots=True, eq=False)
class Dictionary:
    """Server → device: every device's c_v."""

    phase: ClassVar[str] = "dictionary"
    route: ClassVar[str] = "server → device"
    observers: ClassVar[tuple[str, ...]] = EVERYONE
    vectors: NDArray[np.float32]

    @staticmethod
    def size(vertices: int, k: int) -> int:
        """Bytes of a dictionary."""
        return NUMBER * vertices * k

    @property
    def nbytes(self) -> int:
        """Bytes on the wire."""
        return self.size(*self.vectors.shape)


@dataclass(frozen=True, slots=True, eq=False)
class DegreeMatrix:
    """Device → server: M_v. Its rows are rows of the dictionary, so they identify every neighbour."""

    phase: ClassVar[str] = "matrices"
    route: ClassVar[str] = "device → server"
    observers: ClassVar[tuple[str, ...]] = ("server",)
    device: int
    rows: NDArray[np.float32]

    @staticmethod
    def size(rows: int, k: int) -> int:
        """Bytes of a matrix."""
        return ID + NUMBER + NUMBER * rows * k

    @property
    def nbytes(self) -> int:
        """Bytes on the wire."""
        return self.size(*self.rows.shape)


@dataclass(frozen=True, slots=True, eq=False)
class TreeTable:
    """Server → device: the tree's joins (without heights), the encoder's table, which predictor and what burst."""

    phase: ClassVar[str] = "tree"
    route: ClassVar[str] = "server → device"
    observers: ClassVar[tuple[str, ...]] = EVERYONE
    tree: Tree
    encoder: EncoderTable
    predictor: str
    burst: int

    @property
    def nbytes(self) -> int:
        """Bytes on the wire."""
        return 2 * ID * (self.tree.leaves - 1) + self.encoder.nbytes + len(self.predictor) + NUMBER


@dataclass(frozen=True, slots=True)
class Start:
    """Server → device: begin a walk, the paper's tuple (l, ε, p)."""

    phase: ClassVar[str] = "starts"
    route: ClassVar[str] = "server → device"
    observers: ClassVar[tuple[str, ...]] = ("server", "the device")
    device: int
    walk: int
    length: int
    epsilon: float
    predict: float

    @staticmethod
    def size() -> int:
        """Bytes of a start."""
        return PARAMETER + NUMBER + 2 * PARAMETER

    @property
    def nbytes(self) -> int:
        """Bytes on the wire."""
        return self.size()


@dataclass(frozen=True, slots=True)
class Token:
    """Device → device: an unfinished walk, (remaining, ε, p) and the encoded entries so far.

    `walk` is its number, by which the server knows which walks are finished. The number also reveals the start
    vertex (walk mod n) to the devices on the way.

    Only the two devices see its content; the network that carries it sees that they are in contact.
    """

    phase: ClassVar[str] = "hops"
    route: ClassVar[str] = "device → device"
    observers: ClassVar[tuple[str, ...]] = ("both devices", "the network: which device contacts which")
    device: int
    walk: int
    remaining: int
    epsilon: float
    predict: float
    entries: tuple[int, ...]

    @staticmethod
    def size(entries: int) -> int:
        """Bytes of a token with this many entries."""
        return Start.size() + ID * entries

    @property
    def nbytes(self) -> int:
        """Bytes on the wire."""
        return self.size(len(self.entries))


@dataclass(frozen=True, slots=True)
class Sequence:
    """Device → server: a finished encoded walk."""

    phase: ClassVar[str] = "sequences"
    route: ClassVar[str] = "device → server"
    observers: ClassVar[tuple[str, ...]] = ("server",)
    walk: int
    entries: tuple[int, ...]

    @staticmethod
    def size(entries: int) -> int:
        """Bytes of a sequence."""
        return PARAMETER + ID * entries

    @property
    def nbytes(self) -> int:
        """Bytes on the wire."""
        return self.size(len(self.entries))


KINDS: tuple[type[Message], ...] = (
    GroupPlan, DegreeVector, Dictionary, DegreeMatrix, TreeTable, Start, Token, Sequence,
)  # fmt: skip
"""In the order in which the protocol sends them."""
