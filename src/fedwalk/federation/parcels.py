"""What passes between the server and a holder: one question and one answer per phase, as typed values.

A holder has many devices, so a question is sent once per holder and an answer speaks for several devices. Vertices are
numbered twice: by their id in the federation (`roll`, `lists`), and by their place among the participants of a run
(everything in protocol `paper`, where vertices without neighbours take no part).

A parcel becomes plain fields and back (`pack`, `unpack`). What doesn't have the shape that its class declares is
refused here; what contradicts the protocol is refused by whoever reads it.
"""

from dataclasses import dataclass, fields
from typing import Annotated, Any, TypeVar, get_args, get_origin, get_type_hints

import numpy as np
from numpy.typing import NDArray

from fedwalk.errors import ProtocolError

P = TypeVar("P")
Fields = dict[str, Any]
"""Arrays, numbers, texts and lists of texts, by name."""


Bytes = Annotated[NDArray[np.uint8], (np.uint8, 1)]
Flags = Annotated[NDArray[np.bool_], (np.bool_, 1)]
Ids = Annotated[NDArray[np.int32], (np.int32, 1)]
Longs = Annotated[NDArray[np.int64], (np.int64, 1)]
Reals = Annotated[NDArray[np.float64], (np.float64, 1)]
IdRows = Annotated[NDArray[np.int32], (np.int32, 2)]
Rows = Annotated[NDArray[np.float32], (np.float32, 2)]


@dataclass(frozen=True, slots=True, eq=False)
class RollQuestion:
    """Who is there, for which protocol, ε and, in `paper`, walks per device?

    `names`: the federation's vertices in the order of their ids, as JSON.
    """

    run: str
    protocol: str
    names: Bytes
    epsilon: float = 0.0
    walks: int = 0


@dataclass(frozen=True, slots=True, eq=False)
class RollAnswer:
    """The ids of the devices that take part: in `paper` those with a neighbour, in `ldp` all.

    `simulated` says that the owner is trying things out, with noise from a seed.
    """

    holder: str
    devices: Ids
    simulated: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class ListsQuestion:
    """Protocol `ldp`: the plan."""

    run: str
    vertices: int
    epsilon: float
    epoch: int


@dataclass(frozen=True, slots=True, eq=False)
class ListsAnswer:
    """Device devices[i] reports ids[starts[i] : starts[i + 1]]."""

    devices: Ids
    starts: Longs
    ids: Ids


@dataclass(frozen=True, slots=True, eq=False)
class VectorsQuestion:
    """The group plan; `participants` are ids, ascending, and a place is an index into them."""

    run: str
    k: int
    epsilon: float
    participants: Ids
    bins: Ids


@dataclass(frozen=True, slots=True, eq=False)
class VectorsAnswer:
    """c_v, a row per device; devices by place."""

    devices: Ids
    vectors: Rows


@dataclass(frozen=True, slots=True, eq=False)
class MatricesQuestion:
    """The dictionary, over the participants that are left."""

    run: str
    participants: Ids
    vectors: Rows


@dataclass(frozen=True, slots=True, eq=False)
class MatricesAnswer:
    """M_v of device devices[i] is rows[starts[i] : starts[i + 1]]; devices without a neighbour are left out."""

    devices: Ids
    starts: Longs
    rows: Rows


@dataclass(frozen=True, slots=True, eq=False)
class WalksQuestion:
    """Tree, encoder table, parameters, who holds whom, and which walks this holder is to start.

    `key` names the attempt: walks that were lost are asked for again under another key. `owner` has for each place an
    index into `holders`, and `alive` whether that holder is part of this attempt. Walk w starts at place w mod n.

    `session` is this holder's alone: it shows it to the others with each call. `sessions` has the SHA-256 of each
    holder's, so the others can tell a call of this holder from one by a copy of its certificate.
    """

    run: str
    key: str
    session: str
    sessions: list[str]
    predictor: str
    burst: int
    length: int
    count: int
    epsilon: float
    predict: float
    patience: float
    holders: list[str]
    addresses: list[str]
    participants: Ids
    owner: Ids
    alive: Flags
    walks: Longs
    bins: Ids
    vectors: Rows
    joins: IdRows
    encoder_starts: Longs
    encoder_outputs: Ids
    encoder_cumulative: Reals
    encoder_kin: Ids
    encoder_kin_starts: Longs
    encoder_kin_members: Ids
    encoder_certain: Flags


@dataclass(frozen=True, slots=True, eq=False)
class WalksAnswer:
    """The walks that ended here, one row of entries each, and what it took.

    `hops` tokens were handed on by this holder's devices, with `carried` entries in all. Walk given_up[i] was given up
    here for reason given_up_reasons[i]; given_up_at[i] is the index of the holder concerned (`walk_losses`). With
    `interrupted` an earlier process of this holder began the attempt and ended: what it held is lost.
    `batches`, `sent_bytes` and `seconds` are the wire's; `refused` says how often a peer was refused, and why, as JSON.
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


def pack(parcel: Any) -> Fields:
    """The parcel's fields by name."""
    return {f.name: getattr(parcel, f.name) for f in fields(parcel)}


def unpack(kind: type[P], content: Fields) -> P:
    """The parcel of this kind, or ProtocolError if a field is missing, is one too many, or has another shape."""
    declared = get_type_hints(kind, include_extras=True)
    if wrong := sorted(declared.keys() ^ content.keys()):
        raise ProtocolError(f"{kind.__name__}: field {wrong[0]!r} is missing, or doesn't belong here.")
    for name, hint in declared.items():
        _check(f"{kind.__name__}.{name}", content[name], hint)
    return kind(**content)


def _check(where: str, value: Any, hint: Any) -> None:
    if get_origin(hint) is Annotated:
        dtype, ndim = get_args(hint)[1]
        if not isinstance(value, np.ndarray) or value.dtype != dtype or value.ndim != ndim:
            raise ProtocolError(f"{where}: must be {ndim}-dimensional, of {np.dtype(dtype)}.")
    elif hint == list[str]:
        if not isinstance(value, list) or not all(isinstance(text, str) for text in value):
            raise ProtocolError(f"{where}: must be a list of texts.")
    elif type(value) is not hint:
        raise ProtocolError(f"{where}: must be of type {hint.__name__}.")
