"""Answers the server's questions: checks a question, asks the holder's devices, and combines what they release.

The functions are pure: the caller passes the neighbour lists, the devices and the randomness, and stores what must be
stored before an answer is sent (`federation.holder.answer_store`). The server is not trusted: `terms` refuses what the
owner hasn't agreed to, and a question that breaks the protocol is refused here with the name of the wrong field.
"""

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fedwalk.errors import InputError, ProtocolError
from fedwalk.federation.holder.neighbour_lists import KnownNeighbours, OwnNeighbours, check_participants
from fedwalk.federation.names import check_devices
from fedwalk.federation.wire.questions import (
    MatricesAnswer,
    MatricesQuestion,
    ReportsAnswer,
    ReportsQuestion,
    RollAnswer,
    RollQuestion,
    VectorsAnswer,
    VectorsQuestion,
)
from fedwalk.privacy.ledger import Release
from fedwalk.privacy.mechanisms import Unprotected
from fedwalk.privacy.randomness import Randomness, SystemRandomness
from fedwalk.protocols.ldp.device import MAX_EPOCHS, ReportDevice
from fedwalk.protocols.ldp.mechanism import MAX_EPSILON, MIN_EPSILON
from fedwalk.protocols.ldp.messages import ReportPlan
from fedwalk.protocols.paper.device import Device
from fedwalk.protocols.paper.messages import Dictionary, GroupPlan
from fedwalk.protocols.registry import federated_protocols, find_protocol
from fedwalk.util.checked_json import parse_json

MAX_NAMES = 1 << 30
"""Bytes of the names of all vertices; the roster's file has the same limit."""


def record_unbounded(protocol: str, devices: dict[int, ReportDevice]) -> bool:
    """Record in each device's ledger that it takes part in a protocol without a bound; returns whether any changed.

    The caller must store the changed devices before it answers. One entry is enough for all runs, because nothing can
    be added to an unbounded cost. From then on the device can't satisfy any budget.
    """
    why = federated_protocols()[protocol].unbounded
    # ends=2: both devices of an edge reveal it.
    release = Release.of(Unprotected(why), f"protocol {protocol}", why, ends=2)
    # Not `any`, which would stop at the first ledger that changes and leave the others without the entry.
    return sum(device.ledger.spend(protocol, release) for device in devices.values()) > 0


def vertex_names(question: RollQuestion) -> list[str]:
    """The names of the federation's vertices in the order of their ids; raises ProtocolError if they are malformed."""
    try:
        names = parse_json(question.names.tobytes(), MAX_NAMES)
    except ValueError as error:
        raise ProtocolError(f"RollQuestion.names: isn't JSON ({error}).") from None
    if not isinstance(names, list) or not all(isinstance(name, str) and name for name in names):
        raise ProtocolError("RollQuestion.names: must be a list of names.")
    # `resolve` would map a repeated name to its last id, although an earlier roll call may have used the first.
    if len(set(names)) < len(names):
        raise ProtocolError("RollQuestion.names: two vertices have the same name.")
    try:
        check_devices(names)
    except InputError as error:
        raise ProtocolError(f"RollQuestion.names: {error}") from None
    return names


def answer_roll(question: RollQuestion, neighbours: KnownNeighbours, name: str, simulated: bool = False) -> RollAnswer:
    """Say which devices take part.

    In `paper` these are the devices with a neighbour. In `ldp` they are all devices: leaving a device out would reveal
    that it has no neighbour.
    """
    if question.protocol not in federated_protocols():
        able = " or ".join(federated_protocols())
        raise ProtocolError(f"RollQuestion.protocol: {question.protocol!r} must be {able}.")
    if find_protocol(question.protocol).isolated_take_part:
        return RollAnswer(name, neighbours.devices, simulated)
    return RollAnswer(name, neighbours.devices[np.diff(neighbours.indptr) > 0], simulated)


def answer_reports(
    question: ReportsQuestion, neighbours: KnownNeighbours, devices: dict[int, ReportDevice]
) -> ReportsAnswer:
    """Protocol `ldp`: the report of every device; raises BudgetError if the budget of one doesn't allow it.

    The caller must store the devices, with their ledgers, before it sends the answer.
    """
    _check_reports(question, neighbours)
    plan = ReportPlan(question.vertices, question.epsilon, question.epoch)
    # Devices are asked in descending order of what they have spent. Then the first one that has to draw is also the
    # first one whose budget would refuse, so a refusal comes before any noise is drawn.
    order = sorted(neighbours.devices.tolist(), key=lambda device: -devices[device].ledger.per_edge)
    reports = {device: devices[device].report(plan).ids for device in order}
    starts, ids = _stack([reports[device] for device in neighbours.devices.tolist()], np.empty(0, np.int32))
    return ReportsAnswer(neighbours.devices, starts, ids)


def answer_vectors(question: VectorsQuestion, neighbours: KnownNeighbours, randomness: Randomness) -> VectorsAnswer:
    """Protocol `paper`: c_v, device operation 1, of every own device that takes part."""
    _check_vectors(question, neighbours)
    own = neighbours.restrict(question.participants)
    plan = GroupPlan(question.bins, question.k, question.epsilon)
    vectors = [device.degree_vector(plan).vector for device in _devices(own, randomness)]
    # The reshape gives the array its k columns even if no own device takes part.
    return VectorsAnswer(own.devices, np.array(vectors, np.float32).reshape(-1, question.k))


def answer_matrices(question: MatricesQuestion, neighbours: KnownNeighbours) -> MatricesAnswer:
    """Protocol `paper`: M_v, device operation 2, of every own device with a neighbour among the participants."""
    _check_matrices(question, neighbours)
    own, dictionary = neighbours.restrict(question.participants), Dictionary(question.vectors)
    connected = np.diff(own.indptr) > 0
    # This operation draws no noise, so the source of randomness doesn't matter.
    devices = _devices(own, SystemRandomness())
    matrices = [device.degree_matrix(dictionary).rows for device, some in zip(devices, connected, strict=True) if some]
    starts, rows = _stack(matrices, np.empty((0, question.vectors.shape[1]), np.float32))
    return MatricesAnswer(own.devices[connected], starts, rows)


def _devices(own: OwnNeighbours, randomness: Randomness) -> Iterator[Device]:
    for row, place in enumerate(own.devices.tolist()):
        yield Device(place, own.of(row), randomness)


def _stack(parts: list[NDArray[Any]], none: NDArray[Any]) -> tuple[NDArray[np.int64], NDArray[Any]]:
    """Concatenate the parts; returns where each begins, followed by where the last ends, and the values."""
    starts = np.cumsum([0, *(len(part) for part in parts)], dtype=np.int64)
    return starts, np.concatenate([none, *parts])


def _check_reports(question: ReportsQuestion, neighbours: KnownNeighbours) -> None:
    # The number of vertices is part of what a device's stored report answers. Another number would make the device
    # report, and spend its budget, a second time.
    if question.vertices != neighbours.vertices:
        raise ProtocolError(f"ReportsQuestion.vertices: {question.vertices}; the roll call had {neighbours.vertices}.")
    if not MIN_EPSILON <= question.epsilon <= MAX_EPSILON:
        raise ProtocolError(
            f"ReportsQuestion.epsilon: {question.epsilon:g} isn't from {MIN_EPSILON:g} to {MAX_EPSILON:g}."
        )
    if not 0 <= question.epoch < MAX_EPOCHS:
        raise ProtocolError(f"ReportsQuestion.epoch: {question.epoch} isn't one of 0 … {MAX_EPOCHS - 1}.")


def _check_vectors(question: VectorsQuestion, neighbours: KnownNeighbours) -> None:
    check_participants("VectorsQuestion.participants", question.participants, neighbours.vertices)
    n, k, bins = question.participants.size, question.k, question.bins
    if not 1 <= k <= n:
        raise ProtocolError(f"VectorsQuestion.k: {k} bins for {n} participants; must be 1 … {n}.")
    if not MIN_EPSILON <= question.epsilon < math.inf:
        raise ProtocolError(
            f"VectorsQuestion.epsilon: {question.epsilon:g} isn't a finite number above 0 (at least {MIN_EPSILON:g})."
        )
    if bins.size != n or bins.min() < 0 or bins.max() >= k:
        raise ProtocolError(f"VectorsQuestion.bins: must be {n} numbers from 0 to {k - 1}, one per participant.")


def _check_matrices(question: MatricesQuestion, neighbours: KnownNeighbours) -> None:
    check_participants("MatricesQuestion.participants", question.participants, neighbours.vertices)
    n, (rows, k) = question.participants.size, question.vectors.shape
    # The rows become rows of M_v, ordered by their sums; NaN has no place in an order.
    if rows != n or k < 1 or not np.isfinite(question.vectors).all():
        raise ProtocolError(f"MatricesQuestion.vectors: must be {n} rows, one per participant, of finite numbers.")
