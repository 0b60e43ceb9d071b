"""Questions and answers between the server and a holder, as typed values: one of each per phase.

A holder has many devices, so a question is sent once per holder, and an answer covers several devices. There are two
numberings of vertices. An *id* is a vertex's number in the federation (phases `roll` and `reports`). A *place* is its
index among the participants of a run (all phases of `paper`, in which vertices without neighbours don't take part).

`pack` turns a question or answer into plain fields, `unpack` turns them back and refuses fields of another type or
shape than the class declares. Whether the values are allowed by the protocol is checked by the code that uses them.
"""

from dataclasses import dataclass, fields
from typing import Annotated, Any, ClassVar, Generic, Protocol, TypeVar, get_args, get_origin, get_type_hints

import numpy as np
from numpy.typing import NDArray

from fedwalk.errors import ProtocolError
from fedwalk.protocols.federated import ROLL
from fedwalk.protocols.ldp.stages import REPORTS
from fedwalk.protocols.paper.stages import MATRICES, VECTORS
from fedwalk.protocols.stages import WALKS

M = TypeVar("M")
Fields = dict[str, Any]
"""Arrays, numbers, texts and lists of texts, by name."""
MAX_PATIENCE = 3600.0
"""Seconds that a run may wait for a silent holder. In the walk phase holders wait several times as long for each other,
with their ports open, so they refuse a question with more."""

# Arrays on the wire: the annotation's second part is the dtype and the number of dimensions that `unpack` requires.
Bytes = Annotated[NDArray[np.uint8], (np.uint8, 1)]
Flags = Annotated[NDArray[np.bool_], (np.bool_, 1)]
Ids = Annotated[NDArray[np.int32], (np.int32, 1)]
Longs = Annotated[NDArray[np.int64], (np.int64, 1)]
Reals = Annotated[NDArray[np.float64], (np.float64, 1)]
IdRows = Annotated[NDArray[np.int32], (np.int32, 2)]
Rows = Annotated[NDArray[np.float32], (np.float32, 2)]

# All classes have eq=False: `==` between arrays gives an array, so a generated __eq__ would raise.


@dataclass(frozen=True, slots=True, eq=False)
class RollQuestion:
    """Roll call: asks which devices take part in a run with this protocol, ε and, in `paper`, walks per device.

    `names` has the names of the federation's vertices in the order of their ids, as a JSON list.
    """

    phase: ClassVar[str] = ROLL.name
    run: str
    protocol: str
    names: Bytes
    epsilon: float = 0.0
    walks: int = 0


@dataclass(frozen=True, slots=True, eq=False)
class RollAnswer:
    """The ids of the devices that take part: in `paper` those with a neighbour, in `ldp` all.

    `simulated` is True if the holder's noise comes from a seed and protects nothing.
    """

    holder: str
    devices: Ids
    simulated: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class ReportsQuestion:
    """Protocol `ldp`: asks for the devices' reports under this plan."""

    phase: ClassVar[str] = REPORTS.name
    run: str
    vertices: int
    epsilon: float
    epoch: int


@dataclass(frozen=True, slots=True, eq=False)
class ReportsAnswer:
    """Reports: device devices[i] reports ids[starts[i] : starts[i + 1]]."""

    devices: Ids
    starts: Longs
    ids: Ids


@dataclass(frozen=True, slots=True, eq=False)
class VectorsQuestion:
    """Protocol `paper`: asks for degree vectors under this group plan.

    `participants` are ids, ascending; a place is an index into them.
    """

    phase: ClassVar[str] = VECTORS.name
    run: str
    k: int
    epsilon: float
    participants: Ids
    bins: Ids


@dataclass(frozen=True, slots=True, eq=False)
class VectorsAnswer:
    """Degree vectors c_v, one row per device; `devices` are places."""

    devices: Ids
    vectors: Rows


@dataclass(frozen=True, slots=True, eq=False)
class MatricesQuestion:
    """Protocol `paper`: asks for degree matrices, given the vectors of all participants that answered."""

    phase: ClassVar[str] = MATRICES.name
    run: str
    participants: Ids
    vectors: Rows


@dataclass(frozen=True, slots=True, eq=False)
class MatricesAnswer:
    """Degree matrices: M_v of device devices[i] is rows[starts[i] : starts[i + 1]].

    Devices without a neighbour among the participants are left out.
    """

    devices: Ids
    starts: Longs
    rows: Rows


@dataclass(frozen=True, slots=True, eq=False)
class WalksQuestion:
    """Protocol `paper`: asks for walks, given tree, encoder table, parameters and which holder has which device.

    `walks` are the walks that this holder starts; walk w starts at place w mod n. `key` identifies the attempt: lost
    walks are reissued under another key. `owner` gives for each place the index of its holder in `holders`, and `alive`
    whether that holder takes part in this attempt.

    `session` is this holder's secret, which it sends to other holders with each call. `sessions` has the SHA-256 of
    each holder's secret, so that a holder can tell a call by another holder from one by a copy of its certificate.
    """

    phase: ClassVar[str] = WALKS.name
    run: str
    key: str
    session: str
    # `sessions`, `holders` and `addresses` have one entry for each holder of the roster, in the same order.
    sessions: list[str]
    predictor: str
    burst: int
    length: int
    # Number of walks in the whole run, of all holders.
    count: int
    epsilon: float
    predict: float
    patience: float
    holders: list[str]
    addresses: list[str]
    # `participants`, `owner`, `alive`, `bins` and `vectors` have one entry or row for each of the n places.
    participants: Ids
    owner: Ids
    alive: Flags
    walks: Longs
    bins: Ids
    vectors: Rows
    # The tree, bottom-up: row i (of n - 1) joins two nodes into node n + i; its leaves are the places.
    joins: IdRows
    # The fields of `EncoderArrays`, in the same order.
    encoder_starts: Longs
    encoder_outputs: Ids
    encoder_cumulative: Reals
    encoder_kin: Ids
    encoder_kin_starts: Longs
    encoder_kin_members: Ids
    encoder_certain: Flags


@dataclass(frozen=True, slots=True, eq=False)
class WalksAnswer:
    """The walks that ended at this holder, one row of entries each, and statistics of the attempt.

    `hops` counts the hops from this holder's devices, also those between two of its own devices, and `carried` the
    entries that their tokens carried. `batches` counts the batches that were sent to other holders, with `sent_bytes`
    bytes in all, and `seconds` is the duration of the attempt. Walk given_up[i] was given up here for reason
    given_up_reasons[i] (`walking.losses`), which concerns the holder with index given_up_at[i]. `interrupted` is
    True if an earlier process of this holder began the attempt and ended, so that the tokens it held are lost.
    `refused` counts refused calls by peer and reason, as JSON.
    """

    hops: int
    carried: int
    batches: int
    sent_bytes: int
    seconds: float
    interrupted: bool
    refused: str
    unreachable: list[str]
    given_up: Longs
    given_up_reasons: Ids
    given_up_at: Ids
    walks: Longs
    entries: IdRows


class Question(Protocol):
    """What all questions have: the name of their phase, and that of the run."""

    phase: ClassVar[str]

    @property
    def run(self) -> str:
        """The run's name."""
        ...


Q = TypeVar("Q", bound=Question)
A = TypeVar("A")


@dataclass(frozen=True, slots=True)
class Phase(Generic[Q, A]):
    """A phase of a run: the class of its questions, and that of their answers."""

    question: type[Q]
    answer: type[A]

    @property
    def name(self) -> str:
        """The phase's name, which is that of the stage that asks the question."""
        return self.question.phase


ROLL_PHASE = Phase(RollQuestion, RollAnswer)
REPORTS_PHASE = Phase(ReportsQuestion, ReportsAnswer)
VECTORS_PHASE = Phase(VectorsQuestion, VectorsAnswer)
MATRICES_PHASE = Phase(MatricesQuestion, MatricesAnswer)
WALKS_PHASE = Phase(WalksQuestion, WalksAnswer)
PHASES: dict[str, Phase[Any, Any]] = {
    phase.name: phase for phase in (ROLL_PHASE, REPORTS_PHASE, VECTORS_PHASE, MATRICES_PHASE, WALKS_PHASE)
}
"""Every phase by its name."""


def pack(message: Any) -> Fields:
    """The fields of a question or answer by name."""
    return {f.name: getattr(message, f.name) for f in fields(message)}


def unpack(kind: type[M], content: Fields) -> M:
    """The question or answer of this kind; ProtocolError if a field is missing, unknown, or has another type."""
    # Without include_extras, the dtypes and dimensions would be removed from the hints.
    hints = get_type_hints(kind, include_extras=True)
    # A question's `phase` belongs to its class, and isn't sent.
    declared = {name: hint for name, hint in hints.items() if get_origin(hint) is not ClassVar}
    if wrong := sorted(declared.keys() ^ content.keys()):
        raise ProtocolError(f"{kind.__name__}: field {wrong[0]!r} is missing or unknown.")
    for name, hint in declared.items():
        _check(f"{kind.__name__}.{name}", content[name], hint)
    return kind(**content)


def _check(where: str, value: Any, hint: Any) -> None:
    if get_origin(hint) is Annotated:
        dtype, ndim = get_args(hint)[1]
        # Byte order is part of a dtype, so the kernels get native arrays only.
        if not isinstance(value, np.ndarray) or value.dtype != dtype or value.ndim != ndim:
            raise ProtocolError(f"{where}: must be {ndim}-dimensional, of {np.dtype(dtype)}.")
    elif hint == list[str]:
        if not isinstance(value, list) or not all(isinstance(text, str) for text in value):
            raise ProtocolError(f"{where}: must be a list of texts.")
    # Not isinstance: a bool would pass as an int.
    elif type(value) is not hint:
        raise ProtocolError(f"{where}: must be of type {hint.__name__}.")
