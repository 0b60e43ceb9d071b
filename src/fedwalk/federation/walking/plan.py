"""Checks the plan of a walk phase at a holder, and prepares it for the kernels.

The kernels don't check bounds, so every array in the question must be valid before it is used as an index. `unpack` has
checked types and dimensions. Here sizes, ranges and consistency are checked field by field; ProtocolError names the
field that is wrong.
"""

import hashlib
import math
import re
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fedwalk.errors import InputError, ProtocolError, SettingsError
from fedwalk.federation.holder.neighbour_lists import OwnNeighbours
from fedwalk.federation.names import check_address
from fedwalk.federation.wire.questions import MAX_PATIENCE, WalksQuestion
from fedwalk.federation.wire.token_batches import batch_key
from fedwalk.kernels.encoder import EncoderArrays
from fedwalk.kernels.tree import lay_out
from fedwalk.kernels.visits import VisitJob
from fedwalk.protocols.paper.predictors import Broadcast, Predictor, find_predictor
from fedwalk.protocols.paper.tree import Tree

MAX_INT32 = 2**31 - 1
MAX_ENTRIES = 1 << 18
"""Entries of a walk. A token with more might not fit into one message."""
MAX_VECTOR = 1e18
"""Bound on the numbers in degree vectors: predictors round them to 64-bit integers."""
MAX_ADDRESS = 300
"""Characters of an address. A host name has at most 253."""


@dataclass(frozen=True, slots=True, eq=False)
class WalkPlan:
    """A checked plan, in the form that the walk engine uses.

    For each place, `mine` says whether this holder accepts tokens for it, and `owner` which holder does.
    """

    key: bytes
    count: int
    walks: NDArray[np.int64]
    owner: NDArray[Any]
    mine: NDArray[np.bool_]
    predictor: Predictor
    tables: Any
    job: VisitJob


def read_plan(question: WalksQuestion, neighbours: OwnNeighbours, me: int) -> WalkPlan:
    """Check the question to holder number `me`, and convert it for the kernels."""
    n = question.participants.size
    # In this order: later checks use indices and sizes that earlier ones have checked.
    _check_numbers(question)
    _check_holders(question, me)
    _check_sessions(question, me)
    _check_own(question, neighbours, me)
    _check_walks(question, me)
    encoder = _encoder(question, n)
    tree, predictor = tree_of(question.joins, n), _predictor(question.predictor)
    _check_public(question, n)
    bins, vectors = _plain(question.bins), _plain(question.vectors)
    indptr, indices = living_neighbours(neighbours, question.alive)
    job = VisitJob(
        indptr, indices, _plain(question.alive), encoder,
        question.length, question.predict, question.burst, predictor.min_remaining,
    )  # fmt: skip
    return WalkPlan(
        batch_key(question.key), question.count, question.walks,
        # As narrow as possible, because numpy sorts 16-bit integers faster.
        question.owner.astype(np.min_scalar_type(len(question.holders))),
        (question.owner == me) & question.alive,
        predictor, predictor.prepare(Broadcast(bins, vectors, tree)), job,
    )  # fmt: skip


def living_neighbours(
    neighbours: OwnNeighbours, alive: NDArray[np.bool_]
) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """The neighbours that take part in this attempt, in CSR form over all places; other holders' devices have none."""
    # Rows are by place among all participants, so that a kernel can look up the device of any token.
    kept = alive[neighbours.indices]
    device = np.repeat(neighbours.devices, np.diff(neighbours.indptr))[kept]
    sizes = np.bincount(device, minlength=alive.size)
    return np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64), neighbours.indices[kept].astype(np.int32)


def tree_of(joins: NDArray[np.int32], leaves: int) -> Tree:
    """The tree, which the server sends without heights: row i joins two nodes into node `leaves` + i."""
    _require(joins.shape == (leaves - 1, 2), "joins", f"must be {leaves - 1} rows of two nodes")
    # `lay_out` reads and writes at these numbers, and needs both children before their parent.
    earlier = (joins < leaves + np.arange(leaves - 1)[:, None]).all()
    each_once = np.array_equal(np.sort(joins, axis=None), np.arange(2 * leaves - 2))
    is_tree = bool(earlier) and each_once
    _require(is_tree, "joins", "isn't a tree: each node except the root must be joined once, bottom-up")
    parent, size, first = (np.empty(2 * leaves - 1, np.int32) for _ in range(3))
    lay_out(_plain(joins), parent, size, first)
    # The columns of a scipy linkage matrix: two nodes, the height (unknown here), the number of leaves.
    return Tree(np.column_stack([joins, np.zeros(leaves - 1), size[leaves:]]))


def _check_numbers(question: WalksQuestion) -> None:
    for name, bound in (("burst", MAX_INT32), ("length", MAX_ENTRIES), ("count", MAX_INT32)):
        _require(1 <= getattr(question, name) <= bound, name, f"must be from 1 to {bound}")
    # Comparisons with NaN are False, so these checks refuse NaN, too.
    _require(0.0 <= question.predict <= 1.0, "predict", "must be a probability")
    _require(math.isfinite(question.epsilon) and question.epsilon > 0.0, "epsilon", "must be a finite number above 0")
    valid = 0.0 < question.patience <= MAX_PATIENCE
    _require(valid, "patience", f"must be above 0 and at most {MAX_PATIENCE:g} seconds")


def _check_holders(question: WalksQuestion, me: int) -> None:
    holders, n = len(question.holders), question.participants.size
    once = len(set(question.holders)) == holders > me >= 0
    _require(once, "holders", "must name each holder once, including this one")
    _require(len(question.addresses) == holders, "addresses", "must be one per holder")
    short = all(len(address) <= MAX_ADDRESS for address in question.addresses)
    _require(short, "addresses", f"must have at most {MAX_ADDRESS} characters each")
    ascending = n > 0 and _ascending(question.participants, MAX_INT32)
    _require(ascending, "participants", "must be ascending ids without repeats")
    _require(question.owner.size == n, "owner", "must be one per participant")
    _require(_within(question.owner, holders), "owner", "must be indices of holders")
    _require(question.alive.size == n, "alive", "must be one per participant")
    reachable = all(question.addresses[i] for i in np.unique(question.owner[question.alive]).tolist())
    _require(reachable, "addresses", "must have an address for each holder that takes part")
    # This holder will connect to them: a forged one could lead to a service of its own machine or network.
    for address in filter(None, question.addresses):
        try:
            check_address(address)
        except InputError as error:
            raise ProtocolError(f"WalksQuestion.addresses: {error}") from error


def session_digest(session: str) -> str:
    """What the other holders are told about a session: enough to recognise it, not to use it."""
    return hashlib.sha256(session.encode()).hexdigest()


def _check_sessions(question: WalksQuestion, me: int) -> None:
    _require(re.fullmatch("[0-9a-f]{32}", question.session) is not None, "session", "must be 32 hexadecimal digits")
    _require(len(question.sessions) == len(question.holders), "sessions", "must be one per holder")
    digests = all(re.fullmatch("[0-9a-f]{64}", digest) for digest in question.sessions)
    _require(digests, "sessions", "must be 64 hexadecimal digits each")
    # With another session than the peers know, all calls of this holder would be refused.
    own = session_digest(question.session)
    _require(question.sessions[me] == own, "sessions", "doesn't match the session of this holder")


def _check_own(question: WalksQuestion, neighbours: OwnNeighbours, me: int) -> None:
    # Otherwise tokens would arrive for devices whose neighbour lists this holder doesn't have.
    same = np.array_equal(np.flatnonzero(question.owner == me), neighbours.devices)
    _require(same, "owner", "doesn't match the devices of this holder")
    inside = _within(neighbours.indices, question.participants.size)
    _require(inside, "participants", "are fewer than this holder's neighbour lists name")


def _check_walks(question: WalksQuestion, me: int) -> None:
    _require(_ascending(question.walks, question.count), "walks", "must ascend without repeats, below the count")
    starts = question.walks % question.participants.size
    own = (question.owner[starts] == me) & question.alive[starts]
    _require(bool(own.all()), "walks", "must all start at living devices of this holder")


def _check_public(question: WalksQuestion, n: int) -> None:
    """Check the group plan and the dictionary, which predictors use."""
    k = question.vectors.shape[1]
    _require(question.vectors.shape[0] == n and k > 0, "vectors", "must be one per participant, not empty")
    bounded = bool((np.abs(question.vectors) <= MAX_VECTOR).all())
    _require(bounded, "vectors", f"must be finite numbers of at most {MAX_VECTOR:g}")
    _require(question.bins.size == n and _within(question.bins, k), "bins", f"must be one of 0 … {k - 1} each")


def _encoder(question: WalksQuestion, n: int) -> EncoderArrays:
    """Check the encoder's table: for each vertex, outputs whose cumulative probabilities rise to 1."""
    table = EncoderArrays(*(_plain(getattr(question, f"encoder_{name}")) for name in EncoderArrays._fields))
    _require(_splits(table.starts, n, table.outputs.size), "encoder_starts", "must give each vertex an output")
    _require(_within(table.outputs, n), "encoder_outputs", "must be places")
    _require(_shares(table.starts, table.cumulative), "encoder_cumulative", "must rise to 1 for every vertex")
    # Vertices with equal M_v are kin: the first output in a vertex's part stands for all its kin, itself included.
    classes = table.kin_starts.size - 1
    _require(table.kin.size == n and _within(table.kin, classes), "encoder_kin", "must be one class per vertex")
    _require(_splits(table.kin_starts, classes, n), "encoder_kin_starts", "must give each class a member")
    all_vertices = np.array_equal(np.sort(table.kin_members), np.arange(n))
    sizes = np.diff(table.kin_starts)
    grouped = all_vertices and np.array_equal(table.kin[table.kin_members], np.repeat(np.arange(classes), sizes))
    _require(grouped, "encoder_kin_members", "must be all vertices, class by class")
    # For a `certain` vertex the kernel returns the vertex itself without looking at the table.
    certain = (np.diff(table.starts) == 1) & (sizes[table.kin] == 1)
    _require(np.array_equal(table.certain, certain), "encoder_certain", "contradicts the table")
    return table


def _predictor(name: str) -> Predictor:
    try:
        return find_predictor(name)
    except SettingsError as error:
        raise ProtocolError(f"WalksQuestion.predictor: {error}") from error


def _plain(array: NDArray[Any]) -> NDArray[Any]:
    """The array in the form that kernels are compiled for: contiguous, aligned, writable. Copied only if necessary."""
    return np.require(array, requirements=["C", "A", "W"])


def _within(array: NDArray[Any], size: int) -> bool:
    return array.size == 0 or bool(array.min() >= 0 and array.max() < size)


def _ascending(array: NDArray[Any], size: int) -> bool:
    return _within(array, size) and bool((array[1:] > array[:-1]).all())


def _splits(starts: NDArray[np.int64], parts: int, total: int) -> bool:
    """Whether the starts divide 0 … total into this number of parts, none of them empty."""
    ends = starts.size == parts + 1 > 1 and starts[0] == 0 and starts[-1] == total
    return bool(ends and (starts[1:] > starts[:-1]).all())


def _shares(starts: NDArray[np.int64], cumulative: NDArray[np.float64]) -> bool:
    """Whether each part rises to exactly 1, so that a uniform draw below 1 always selects an output of the part."""
    if cumulative.size != starts[-1] or not ((cumulative > 0.0) & (cumulative <= 1.0)).all():
        return False
    first = np.zeros(cumulative.size, np.bool_)
    first[starts[:-1]] = True
    # Where the next vertex's part begins, the cumulative probability may fall.
    rising = first[1:] | (cumulative[1:] >= cumulative[:-1])
    return bool(rising.all() and (cumulative[starts[1:] - 1] == 1.0).all())


def _require(holds: bool, field: str, problem: str) -> None:
    if not holds:
        raise ProtocolError(f"WalksQuestion.{field}: {problem}.")
