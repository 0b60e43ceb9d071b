"""The views of the observers of protocol `paper`, and the messages that each view is made from."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from fedwalk.graph.pairs import Pairs
from fedwalk.protocols.messages import Message
from fedwalk.protocols.paper.degree_vectors import DegreeMatrices
from fedwalk.protocols.paper.messages import DegreeMatrix, DegreeVector, Dictionary, Sequence, Start, Token

Kinds = tuple[type[Message], ...]


@dataclass(frozen=True, slots=True, eq=False)
class MatrixView:
    """The paper's server after Algorithm 2: every device's c_v and M_v."""

    observer: ClassVar[str] = "server"
    messages: ClassVar[Kinds] = (DegreeVector, DegreeMatrix)
    beside: ClassVar[tuple[str, ...]] = ()
    vectors: NDArray[np.float32]
    matrices: DegreeMatrices


@dataclass(frozen=True, slots=True, eq=False)
class SequenceView:
    """The paper's server after Algorithm 1: where it started each walk, and the finished sequences."""

    observer: ClassVar[str] = "server"
    messages: ClassVar[Kinds] = (Start, Sequence)
    beside: ClassVar[tuple[str, ...]] = ()
    starts: NDArray[np.int64]
    sequences: NDArray[np.int32]


@dataclass(frozen=True, slots=True, eq=False)
class DeviceView:
    """One device: its own M, the dictionary, and the dissimilarity of every vertex to it.

    The dissimilarities are what the paper broadcasts. Here devices receive the encoder's sparse table instead,
    so this view exists only in an implementation that follows the paper literally.
    """

    observer: ClassVar[str] = "device"
    messages: ClassVar[Kinds] = (Dictionary,)
    beside: ClassVar[tuple[str, ...]] = ("dissimilarities, if they were broadcast",)
    own: NDArray[np.float32]
    vectors: NDArray[np.float32]
    dissimilarities: NDArray[np.float32]


@dataclass(frozen=True, slots=True, eq=False)
class RelayView:
    """The network that carries the tokens: sender and receiver of each, in rows."""

    observer: ClassVar[str] = "network"
    messages: ClassVar[Kinds] = (Token,)
    beside: ClassVar[tuple[str, ...]] = ()
    contacts: Pairs
