"""The walk phase as a holder reads it: everything in the question is checked before a kernel indexes with it.

`unpack` has seen to types and dimensions. Here sizes, ranges and what must agree are looked at, field by field; what
is wrong is a ProtocolError that names the field.
"""

import hashlib
import math
import re
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fedwalk.errors import InputError, ProtocolError, SettingsError
from fedwalk.federation.lists import OwnLists
from fedwalk.federation.naming import check_address
from fedwalk.federation.parcels import WalksQuestion
from fedwalk.federation.tokens import batch_key
from fedwalk.kernels.encoder import EncoderArrays
from fedwalk.kernels.tree import lay_out
from fedwalk.kernels.visits import VisitJob
from fedwalk.protocol.predictor import Broadcast, Predictor, find_predictor
from fedwalk.protocol.tree import Tree

MOST = 2**31 - 1
MOST_ENTRIES = 1 << 18
"""Of a walk: more, and a token wouldn't fit into one message with room to spare."""
MOST_VECTOR = 1e18
"""Of a degree vector's number: predictors round them to 64-bit integers."""
MOST_PATIENCE = 3600.0
"""Seconds: a holder waits several times as long for the others, its port open."""
MOST_ADDRESS = 300
"""Characters: a host name has at most 253."""


@dataclass(frozen=True, slots=True, eq=False)
class WalkPlan:
    """A question that has been checked, in the form in which the mill needs it.

    `mine` says for each place whether a token may come here for it, `owner` who is to be handed a token for it.
    """

    key: bytes
    count: int
    walks: NDArray[np.int64]
    owner: NDArray[Any]
    mine: NDArray[np.bool_]
    predictor: Predictor
    tables: Any
    job: VisitJob


def read_plan(question: WalksQuestion, lists: OwnLists, me: int) -> WalkPlan:
    """Check the question to holder number `me`, and make of it what the kernels take."""
    n = question.participants.size
    _check_numbers(question)
    _check_holders(question, me)
    _check_sessions(question, me)
    _check_own(question, lists, me)
    _check_walks(question, me)
    encoder = _encoder(question, n)
    tree, predictor = tree_of(question.joins, n), _predictor(question.predictor)
    _check_public(question, n)
    bins, vectors = _plain(question.bins), _plain(question.vectors)
    indptr, indices = living_lists(lists, question.alive)
    job = VisitJob(
        indptr, indices, _plain(question.alive), encoder,
        question.length, question.predict, question.burst, predictor.least,
    )  # fmt: skip
    return WalkPlan(
        batch_key(question.key), question.count, question.walks,
        # As narrow as possible: numpy sorts 16 bits faster.
        question.owner.astype(np.min_scalar_type(len(question.holders))),
        (question.owner == me) & question.alive,
        predictor, predictor.prepare(Broadcast(bins, vectors, tree)), job,
    )  # fmt: skip


def living_lists(lists: OwnLists, alive: NDArray[np.bool_]) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Neighbours that take part in this attempt, with a list for every place: empty where the device is another's."""
    kept = alive[lists.indices]
    device = np.repeat(lists.devices, np.diff(lists.indptr))[kept]
    sizes = np.bincount(device, minlength=alive.size)
    return np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64), lists.indices[kept].astype(np.int32)


def tree_of(joins: NDArray[np.int32], leaves: int) -> Tree:
    """The tree that the server sent without heights: row i joins two nodes into node `leaves` + i."""
    _require(joins.shape == (leaves - 1, 2), "joins", f"must be {leaves - 1} rows of two nodes")
    earlier = (joins < leaves + np.arange(leaves - 1)[:, None]).all()
    each_once = np.array_equal(np.sort(joins, axis=None), np.arange(2 * leaves - 2))
    _require(bool(earlier) and each_once, "joins", "isn't a tree: each node but the last is joined once, bottom-up")
    parent, size, first = (np.empty(2 * leaves - 1, np.int32) for _ in range(3))
    lay_out(_plain(joins), parent, size, first)
    return Tree(np.column_stack([joins, np.zeros(leaves - 1), size[leaves:]]))


def _check_numbers(question: WalksQuestion) -> None:
    for name, most in (("burst", MOST), ("length", MOST_ENTRIES), ("count", MOST)):
        _require(1 <= getattr(question, name) <= most, name, f"must be from 1 to {most}")
    _require(0.0 <= question.predict <= 1.0, "predict", "must be a probability")
    _require(math.isfinite(question.epsilon) and question.epsilon > 0.0, "epsilon", "must be a finite number above 0")
    patient = 0.0 < question.patience <= MOST_PATIENCE
    _require(patient, "patience", f"must be above 0 and at most {MOST_PATIENCE:g} seconds")


def _check_holders(question: WalksQuestion, me: int) -> None:
    holders, n = len(question.holders), question.participants.size
    _require(len(set(question.holders)) == holders > me >= 0, "holders", "must name each holder once, and this one")
    _require(len(question.addresses) == holders, "addresses", "must be one per holder")
    short = all(len(address) <= MOST_ADDRESS for address in question.addresses)
    _require(short, "addresses", f"must have at most {MOST_ADDRESS} characters each")
    _require(n > 0 and _ascending(question.participants, MOST), "participants", "must be ids, ascending, each once")
    _require(question.owner.size == n, "owner", "must be one per participant")
    _require(_within(question.owner, holders), "owner", "must be indices of holders")
    _require(question.alive.size == n, "alive", "must be one per participant")
    reachable = all(question.addresses[i] for i in np.unique(question.owner[question.alive]).tolist())
    _require(reachable, "addresses", "must say where each holder is that takes part")
    for address in filter(None, question.addresses):
        try:
            check_address(address)
        except InputError as error:
            raise ProtocolError(f"WalksQuestion.addresses: {error}") from error


def session_digest(session: str) -> str:
    """What the other holders are told of a session."""
    return hashlib.sha256(session.encode()).hexdigest()


def _check_sessions(question: WalksQuestion, me: int) -> None:
    _require(re.fullmatch("[0-9a-f]{32}", question.session) is not None, "session", "must be 32 hexadecimal digits")
    _require(len(question.sessions) == len(question.holders), "sessions", "must be one per holder")
    digests = all(re.fullmatch("[0-9a-f]{64}", digest) for digest in question.sessions)
    _require(digests, "sessions", "must be 64 hexadecimal digits each")
    _require(question.sessions[me] == session_digest(question.session), "sessions", "has another one for this holder")


def _check_own(question: WalksQuestion, lists: OwnLists, me: int) -> None:
    same = np.array_equal(np.flatnonzero(question.owner == me), lists.devices)
    _require(same, "owner", "gives this holder other devices than its own")
    _require(
        _within(lists.indices, question.participants.size), "participants", "are fewer than this holder's lists say"
    )


def _check_walks(question: WalksQuestion, me: int) -> None:
    _require(_ascending(question.walks, question.count), "walks", "must ascend, each once, below the count")
    starts = question.walks % question.participants.size
    own = (question.owner[starts] == me) & question.alive[starts]
    _require(bool(own.all()), "walks", "one of them doesn't start at a device of this holder")


def _check_public(question: WalksQuestion, n: int) -> None:
    """The group plan and the dictionary, which predictors read."""
    k = question.vectors.shape[1]
    _require(question.vectors.shape[0] == n and k > 0, "vectors", "must be one per participant, not empty")
    _require(bool((np.abs(question.vectors) <= MOST_VECTOR).all()), "vectors", "must be finite, and no vast numbers")
    _require(question.bins.size == n and _within(question.bins, k), "bins", f"must be one of 0 … {k - 1} each")


def _encoder(question: WalksQuestion, n: int) -> EncoderArrays:
    """The encoder's table: for every vertex a list of outputs whose cumulative shares rise to 1."""
    table = EncoderArrays(*(_plain(getattr(question, f"encoder_{name}")) for name in EncoderArrays._fields))
    _require(_splits(table.starts, n, table.outputs.size), "encoder_starts", "must give every vertex outputs")
    _require(_within(table.outputs, n), "encoder_outputs", "must be places")
    _require(_shares(table.starts, table.cumulative), "encoder_cumulative", "must rise to 1 for every vertex")
    classes = table.kin_starts.size - 1
    _require(table.kin.size == n and _within(table.kin, classes), "encoder_kin", "must be one class per vertex")
    _require(_splits(table.kin_starts, classes, n), "encoder_kin_starts", "must give every class members")
    everyone = np.array_equal(np.sort(table.kin_members), np.arange(n))
    sizes = np.diff(table.kin_starts)
    grouped = everyone and np.array_equal(table.kin[table.kin_members], np.repeat(np.arange(classes), sizes))
    _require(grouped, "encoder_kin_members", "must be all vertices, class by class")
    certain = (np.diff(table.starts) == 1) & (sizes[table.kin] == 1)
    _require(np.array_equal(table.certain, certain), "encoder_certain", "contradicts the table")
    return table


def _predictor(name: str) -> Predictor:
    try:
        return find_predictor(name)
    except SettingsError as error:
        raise ProtocolError(f"WalksQuestion.predictor: {error}") from error


def _plain(array: NDArray[Any]) -> NDArray[Any]:
    """The array as kernels are compiled for: contiguous, aligned, writable; a copy only if it must be."""
    return np.require(array, requirements=["C", "A", "W"])


def _within(array: NDArray[Any], size: int) -> bool:
    return array.size == 0 or bool(array.min() >= 0 and array.max() < size)


def _ascending(array: NDArray[Any], size: int) -> bool:
    return _within(array, size) and bool((array[1:] > array[:-1]).all())


def _splits(starts: NDArray[np.int64], parts: int, total: int) -> bool:
    """Whether the starts cut 0 … total into so many parts, none of them empty."""
    ends = starts.size == parts + 1 > 1 and starts[0] == 0 and starts[-1] == total
    return bool(ends and (starts[1:] > starts[:-1]).all())


def _shares(starts: NDArray[np.int64], cumulative: NDArray[np.float64]) -> bool:
    """Whether each part rises to exactly 1: a draw below 1 then always ends inside."""
    if cumulative.size != starts[-1] or not ((cumulative > 0.0) & (cumulative <= 1.0)).all():
        return False
    first = np.zeros(cumulative.size, np.bool_)
    first[starts[:-1]] = True
    rising = first[1:] | (cumulative[1:] >= cumulative[:-1])
    return bool(rising.all() and (cumulative[starts[1:] - 1] == 1.0).all())


def _require(holds: bool, field: str, problem: str) -> None:
    if not holds:
        raise ProtocolError(f"WalksQuestion.{field}: {problem}.")
