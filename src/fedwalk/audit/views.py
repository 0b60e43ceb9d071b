"""What an observer has: one view for each, with the messages it was made from, and what came `beside` them.

An attack takes a view. Whether its observer may see those messages is written at the messages themselves
(`protocol/messages.py`, `observers`), and a test compares the two. Vertices are numbered as the parties number them:
0 … n − 1 among those that take part.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from fedwalk.audit.pairs import Pairs
from fedwalk.privacy.reports import Reports
from fedwalk.protocol.degree import DegreeMatrices
from fedwalk.protocol.messages import (
    DegreeMatrix,
    DegreeVector,
    Dictionary,
    ListPlan,
    Message,
    NoisyList,
    Sequence,
    Start,
    Token,
)

Kinds = tuple[type[Message], ...]


@dataclass(frozen=True, slots=True, eq=False)
class MatrixView:
    """The paper's server after Algorithm 2: everybody's c_v and everybody's M_v."""

    observer: ClassVar[str] = "server"
    messages: ClassVar[Kinds] = (DegreeVector, DegreeMatrix)
    beside: ClassVar[tuple[str, ...]] = ()
    vectors: NDArray[np.float32]
    matrices: DegreeMatrices


@dataclass(frozen=True, slots=True, eq=False)
class SequenceView:
    """The paper's server after Algorithm 1: where it started each walk, and what came back."""

    observer: ClassVar[str] = "server"
    messages: ClassVar[Kinds] = (Start, Sequence)
    beside: ClassVar[tuple[str, ...]] = ()
    starts: NDArray[np.int64]
    sequences: NDArray[np.int32]


@dataclass(frozen=True, slots=True, eq=False)
class DeviceView:
    """One device: its own M, the dictionary, and how dissimilar everybody is to it.

    The dissimilarities are what the paper broadcasts. Here devices receive the encoder's sparse table in their place,
    so this view exists only where the paper is followed to the letter.
    """

    observer: ClassVar[str] = "device"
    messages: ClassVar[Kinds] = (Dictionary,)
    beside: ClassVar[tuple[str, ...]] = ("dissimilarities, were they broadcast",)
    own: NDArray[np.float32]
    vectors: NDArray[np.float32]
    dissimilarities: NDArray[np.float32]


@dataclass(frozen=True, slots=True, eq=False)
class RelayView:
    """Whoever carries the tokens: sender and receiver of each, in rows."""

    observer: ClassVar[str] = "network"
    messages: ClassVar[Kinds] = (Token,)
    beside: ClassVar[tuple[str, ...]] = ()
    contacts: Pairs


@dataclass(frozen=True, slots=True, eq=False)
class ListView:
    """The server of protocol `ldp`: the plan that it published, and everybody's list."""

    observer: ClassVar[str] = "server"
    messages: ClassVar[Kinds] = (ListPlan, NoisyList)
    beside: ClassVar[tuple[str, ...]] = ()
    plan: ListPlan
    reports: Reports


@dataclass(frozen=True, slots=True, eq=False)
class PublicView:
    """Anyone who is given the embedding: the vectors, none of the messages."""

    observer: ClassVar[str] = "anyone"
    messages: ClassVar[Kinds] = ()
    beside: ClassVar[tuple[str, ...]] = ("vectors of the embedding",)
    vectors: NDArray[np.float32]


View = MatrixView | SequenceView | DeviceView | RelayView | ListView | PublicView
