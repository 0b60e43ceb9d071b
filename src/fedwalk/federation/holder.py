"""What a holder does with each question of the server: check it, ask its devices, answer for all of them.

Pure: the lists, the devices and the randomness are handed in, and what must be kept before an answer leaves is kept by
the caller (`fedwalk.federation.memory`). The server is not trusted: what the owner didn't agree to (`Terms`) isn't
done, and what isn't the protocol's is refused by the name of its field.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fedwalk.errors import BudgetError, InputError, ProtocolError, SettingsError
from fedwalk.federation.checked_json import parse_json
from fedwalk.federation.lists import KnownLists, OwnLists, check_participants
from fedwalk.federation.naming import check_devices
from fedwalk.federation.parcels import (
    ListsAnswer,
    ListsQuestion,
    MatricesAnswer,
    MatricesQuestion,
    RollAnswer,
    RollQuestion,
    VectorsAnswer,
    VectorsQuestion,
)
from fedwalk.privacy.device import MOST_EPOCHS, ListDevice
from fedwalk.privacy.ledger import Release
from fedwalk.privacy.mechanisms import Unprotected
from fedwalk.protocol.device import Device
from fedwalk.protocol.messages import Dictionary, GroupPlan, ListPlan
from fedwalk.protocol.randomness import Randomness, SystemRandomness
from fedwalk.settings import LEAST_EPSILON, MOST_LDP_EPSILON

PROTOCOLS = ("ldp", "paper")
PROTOCOL_OF = {"lists": "ldp", "vectors": "paper", "matrices": "paper", "walks": "paper"}
"""By phase; the roll call says for which protocol it is."""

MAX_NAMES = 1 << 30
"""Bytes of all vertices' names, as in a roster's file."""

UNBOUNDED = "its degree matrices, hops and encoded entries have no privacy bound"


@dataclass(frozen=True, slots=True)
class Terms:
    """What the owner of a holder has agreed to; nothing beyond it is answered.

    Parameters
    ----------
    protocols
        Of `ldp` and `paper`. The second has to be named: nothing bounds what it tells of the lists.
    budget
        The most ε per edge that all runs together may cost; None for no limit.
    most_walks
        How many walks each device may start in a run; None for any number.

    Examples
    --------
    >>> Terms().protocols
    ('ldp',)
    >>> Terms(budget=0)
    Traceback (most recent call last):
    fedwalk.errors.SettingsError: budget = 0: must be a finite number above 0, or left out.
    """

    protocols: tuple[str, ...] = ("ldp",)
    budget: float | None = None
    most_walks: int | None = None

    def __post_init__(self) -> None:
        for name in self.protocols:
            if name not in PROTOCOLS:
                raise SettingsError(f"protocols: there is no {name!r} for holders; choose from {', '.join(PROTOCOLS)}.")
        budget, most = self.budget, self.most_walks
        if budget is not None and not (_is_number(budget) and 0 < budget < math.inf):
            raise SettingsError(f"budget = {budget!r}: must be a finite number above 0, or left out.")
        if most is not None and not (_is_number(most) and isinstance(most, int) and most >= 1):
            raise SettingsError(f"most_walks = {most!r}: must be a whole number from 1 on, or left out.")


def check_terms(terms: Terms, phase: str, question: Any) -> None:
    """Refuse what the owner didn't agree to, before anything is looked up or drawn."""
    protocol = question.protocol if phase == "roll" else PROTOCOL_OF[phase]
    if protocol not in terms.protocols:
        raise ProtocolError(
            f"protocol {protocol!r}: the owner of this holder has agreed to {', '.join(terms.protocols) or 'none'}. "
            "To take part, the owner has to add it to `protocols` in the holder's terms."
        )
    if protocol == "paper" and terms.budget is not None:
        raise BudgetError(
            f"protocol paper: {UNBOUNDED}, so no budget allows it; the owner's is {terms.budget:g}. To take part all "
            "the same, the owner has to take `budget` out of the holder's terms."
        )
    each = _walks_per_device(phase, question)
    if terms.most_walks is not None and each > terms.most_walks:
        raise ProtocolError(
            f"{each} walks per device, and the owner of this holder has agreed to {terms.most_walks}. To take part, "
            "the owner has to raise `most_walks` in the holder's terms."
        )


def _walks_per_device(phase: str, question: Any) -> int:
    """What the server means to ask for at the roll call, and what it does ask for when it comes to it."""
    if phase == "walks":
        return int(-(-question.count // max(1, question.participants.size)))
    return int(question.walks) if phase == "roll" and question.protocol == "paper" else 0


def check_budget(question: RollQuestion, devices: dict[int, ListDevice]) -> None:
    """Refuse at the roll call of `ldp` what would be refused later: by then others would have released for nothing."""
    if LEAST_EPSILON <= question.epsilon <= MOST_LDP_EPSILON:
        plan = ListPlan(len(vertex_names(question)), question.epsilon)
        for device in devices.values():
            device.check_budget(plan)


def enter_paper(devices: dict[int, ListDevice]) -> bool:
    """Write into each device's ledger that it takes part in `paper`; the caller keeps the devices, then answers.

    Whether anything was written: if not, there is nothing to keep.

    One entry does for all runs: nothing can be added to what is unbounded. From then on no budget holds for the device.
    """
    release = Release.of(Unprotected(UNBOUNDED), "protocol paper", UNBOUNDED, ends=2)
    return sum(device.ledger.spend("paper", release) for device in devices.values()) > 0


def vertex_names(question: RollQuestion) -> list[str]:
    """The federation's vertices in the order of their ids."""
    try:
        names = parse_json(question.names.tobytes(), MAX_NAMES)
    except ValueError as error:
        raise ProtocolError(f"RollQuestion.names: isn't JSON ({error}).") from None
    if not isinstance(names, list) or not all(isinstance(name, str) and name for name in names):
        raise ProtocolError("RollQuestion.names: must be a list of names.")
    if len(set(names)) < len(names):
        raise ProtocolError("RollQuestion.names: the same name stands for two vertices.")
    try:
        check_devices(names)
    except InputError as error:
        raise ProtocolError(f"RollQuestion.names: {error}") from None
    return names


def answer_roll(question: RollQuestion, lists: KnownLists, name: str, simulated: bool = False) -> RollAnswer:
    """Who takes part: in `paper` whoever has a neighbour, in `ldp` everybody, since that would be telling."""
    if question.protocol not in PROTOCOLS:
        raise ProtocolError(f"RollQuestion.protocol: {question.protocol!r} is none of {', '.join(PROTOCOLS)}.")
    if question.protocol == "ldp":
        return RollAnswer(name, lists.devices, simulated)
    return RollAnswer(name, lists.devices[np.diff(lists.indptr) > 0], simulated)


def answer_lists(question: ListsQuestion, lists: KnownLists, devices: dict[int, ListDevice]) -> ListsAnswer:
    """Protocol `ldp`: every device's report, or BudgetError. The caller keeps the devices, then sends."""
    _check_lists(question, lists)
    plan = ListPlan(question.vertices, question.epsilon, question.epoch)
    # Whoever has spent most is asked first: a budget that refuses anybody then does so before anything is drawn.
    order = sorted(lists.devices.tolist(), key=lambda device: -devices[device].ledger.per_edge)
    reports = {device: devices[device].report(plan).ids for device in order}
    starts, ids = _stack([reports[device] for device in lists.devices.tolist()], np.empty(0, np.int32))
    return ListsAnswer(lists.devices, starts, ids)


def answer_vectors(question: VectorsQuestion, lists: KnownLists, randomness: Randomness) -> VectorsAnswer:
    """Protocol `paper`, device operation 1 of every own device that takes part."""
    _check_vectors(question, lists)
    own = lists.restrict(question.participants)
    plan = GroupPlan(question.bins, question.k, question.epsilon)
    vectors = [device.degree_vector(plan).vector for device in _devices(own, randomness)]
    return VectorsAnswer(own.devices, np.array(vectors, np.float32).reshape(-1, question.k))


def answer_matrices(question: MatricesQuestion, lists: KnownLists) -> MatricesAnswer:
    """Protocol `paper`, device operation 2 of every own device with a neighbour among the participants."""
    _check_matrices(question, lists)
    own, dictionary = lists.restrict(question.participants), Dictionary(question.vectors)
    some = np.diff(own.indptr) > 0
    # Nothing is drawn in this operation.
    devices = _devices(own, SystemRandomness())
    matrices = [device.degree_matrix(dictionary).rows for device, rows in zip(devices, some, strict=True) if rows]
    return MatricesAnswer(own.devices[some], *_stack(matrices, np.empty((0, question.vectors.shape[1]), np.float32)))


def _devices(own: OwnLists, randomness: Randomness) -> Iterator[Device]:
    for row, place in enumerate(own.devices.tolist()):
        yield Device(place, own.neighbours(row), randomness)


def _stack(parts: list[NDArray[Any]], none: NDArray[Any]) -> tuple[NDArray[np.int64], NDArray[Any]]:
    """Where each part begins and the last one ends, and all of them one below the other."""
    starts = np.cumsum([0, *(len(part) for part in parts)], dtype=np.int64)
    return starts, np.concatenate([none, *parts])


def _check_lists(question: ListsQuestion, lists: KnownLists) -> None:
    # Another number would be another question to the devices, and cost them again.
    if question.vertices != lists.vertices:
        raise ProtocolError(f"ListsQuestion.vertices: {question.vertices}; the roll call named {lists.vertices}.")
    if not LEAST_EPSILON <= question.epsilon <= MOST_LDP_EPSILON:
        raise ProtocolError(
            f"ListsQuestion.epsilon: {question.epsilon:g} isn't from {LEAST_EPSILON:g} to {MOST_LDP_EPSILON:g}."
        )
    if not 0 <= question.epoch < MOST_EPOCHS:
        raise ProtocolError(f"ListsQuestion.epoch: {question.epoch} isn't one of 0 … {MOST_EPOCHS - 1}.")


def _check_vectors(question: VectorsQuestion, lists: KnownLists) -> None:
    check_participants("VectorsQuestion.participants", question.participants, lists.vertices)
    n, k, bins = question.participants.size, question.k, question.bins
    if not 1 <= k <= n:
        raise ProtocolError(f"VectorsQuestion.k: {k} bins for {n} participants; must be 1 … {n}.")
    if not LEAST_EPSILON <= question.epsilon < math.inf:
        raise ProtocolError(
            f"VectorsQuestion.epsilon: {question.epsilon:g} isn't a finite number above 0 (at least {LEAST_EPSILON:g})."
        )
    if bins.size != n or bins.min() < 0 or bins.max() >= k:
        raise ProtocolError(f"VectorsQuestion.bins: must be {n} numbers from 0 to {k - 1}, one per participant.")


def _check_matrices(question: MatricesQuestion, lists: KnownLists) -> None:
    check_participants("MatricesQuestion.participants", question.participants, lists.vertices)
    n, (rows, k) = question.participants.size, question.vectors.shape
    if rows != n or k < 1 or not np.isfinite(question.vectors).all():
        raise ProtocolError(f"MatricesQuestion.vectors: must be {n} rows, one per participant, of finite numbers.")


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
