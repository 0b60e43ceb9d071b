"""What may cross a boundary between parties, its size in bytes, and who can observe it.

Sizes are those of a plain binary encoding: 4 bytes for an id, a count or a released number, 8 for
a parameter or a walk's number, as few bytes as hold a bin. `size` gives a message's bytes without building it.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from fedwalk.protocol.encoder import EncoderTable
from fedwalk.protocol.tree import Tree

ID, NUMBER, PARAMETER = 4, 4, 8
EVERYONE = ("server", "every device")


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
    """Server → device: everybody's c_v."""

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
    """Device → server: M_v. Its rows are rows of the dictionary, so it names every neighbour."""

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
    """Device → device: a walk under way, (remaining, ε, p) and the encoded entries so far.

    `walk` numbers it, so that the server can tell which walks are finished; in this simulation it also names the
    start vertex (walk mod n), which the devices on the way could read.

    Its content is seen by the two devices alone; that the two are in contact, by whoever carries it.
    """

    phase: ClassVar[str] = "hops"
    route: ClassVar[str] = "device → device"
    observers: ClassVar[tuple[str, ...]] = ("both devices", "the network: who contacts whom")
    device: int
    walk: int
    remaining: int
    epsilon: float
    predict: float
    entries: tuple[int, ...]

    @staticmethod
    def size(entries: int) -> int:
        """Bytes of a token that carries so many entries."""
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


@dataclass(frozen=True, slots=True)
class ListPlan:
    """Server → device, protocol `ldp`: how many vertices there are, ε, and which epoch this is.

    The key of the hash that names each pair's owner is part of the protocol and not of the plan: a server that could
    choose it might tell both ends of a pair that the pair is theirs, and learn twice as much. Within an epoch a device
    gives one answer, whatever becomes of its list; the next epoch is another release.
    """

    phase: ClassVar[str] = "list plan"
    route: ClassVar[str] = "server → device"
    observers: ClassVar[tuple[str, ...]] = EVERYONE
    key: ClassVar[int] = 0x6665_6477_616C_6B31
    vertices: int
    epsilon: float
    epoch: int = 0

    @staticmethod
    def size() -> int:
        """Bytes of a plan."""
        return 2 * NUMBER + PARAMETER

    @property
    def nbytes(self) -> int:
        """Bytes on the wire."""
        return self.size()


@dataclass(frozen=True, slots=True, eq=False)
class NoisyList:
    """Device → server, protocol `ldp`: the ids of the reported pairs that the device owns, ascending."""

    phase: ClassVar[str] = "lists"
    route: ClassVar[str] = "device → server"
    observers: ClassVar[tuple[str, ...]] = ("server",)
    device: int
    ids: NDArray[np.int32]

    @staticmethod
    def size(ids: int) -> int:
        """Bytes of a list of so many ids."""
        return ID + NUMBER + ID * ids

    @property
    def nbytes(self) -> int:
        """Bytes on the wire."""
        return self.size(self.ids.size)


Message = (
    GroupPlan | DegreeVector | Dictionary | DegreeMatrix | TreeTable | Start | Token | Sequence | ListPlan | NoisyList
)
KINDS: tuple[type[Message], ...] = (
    GroupPlan, DegreeVector, Dictionary, DegreeMatrix, TreeTable, Start, Token, Sequence, ListPlan, NoisyList,
)  # fmt: skip
