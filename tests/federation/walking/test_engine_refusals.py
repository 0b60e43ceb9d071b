"""What a peer may send to a walk engine: bad input does no harm, and every refusal is counted by its reason."""

from functools import lru_cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedwalk.errors import ProtocolError
from fedwalk.federation.walking.engine import WalkEngine
from fedwalk.federation.walking.losses import REFUSED, STRANDED
from fedwalk.federation.wire.questions import WalksQuestion
from fedwalk.federation.wire.token_batches import MAX_BATCH_BYTES, Receipt, TokenBatch
from fedwalk.kernels.token_batches import VERDICTS
from fedwalk.privacy.randomness import SimulatedRandomness
from helpers.simulation import GRAPHS
from helpers.walk_questions import KEY, own_neighbours, random_owners, small_question

GRAPH = GRAPHS["communities"]
OWNER = random_owners(GRAPH, 4)
MINE, THEIRS = np.flatnonzero(OWNER == 0).tolist(), np.flatnonzero(OWNER == 1).tolist()
WALK = THEIRS[0]
Token = tuple[int, int, list[int]]


@lru_cache(maxsize=1)
def the_question() -> WalksQuestion:
    return small_question(GRAPH, OWNER, 0)


def fresh_mill() -> WalkEngine:
    return WalkEngine(the_question(), own_neighbours(GRAPH, OWNER, 0), 0, SimulatedRandomness(0))


def wire(*tokens: Token, number: int = 0, key: str = KEY) -> bytes:
    batch = TokenBatch(
        np.array([device for device, _, _ in tokens], np.int32),
        np.array([walk for _, walk, _ in tokens], np.int64),
        np.array([len(entries) for _, _, entries in tokens], np.int32),
        np.array([entry for _, _, entries in tokens for entry in entries], np.int32),
    )
    return batch.to_bytes(bytes.fromhex(key), number)


def receive(engine: WalkEngine, sender: int, data: bytes) -> tuple[int, int]:
    """How many tokens of a batch were accepted and refused, as the receipt has it when it arrives."""
    receipt = engine.receive(sender, data)
    again = Receipt.from_bytes(receipt.to_bytes(), receipt.verdicts.size)
    assert np.array_equal(again.verdicts, receipt.verdicts)
    return again.accepted, again.refused


def finish(engine: WalkEngine) -> list[int]:
    """Advance until no token is left; returns the walks that were passed on or finished."""
    seen: set[int] = set()
    while not engine.passive:
        for batch in engine.advance().values():
            seen |= set(batch.walk.tolist())
    return sorted(seen | set(engine.sequences()[0].tolist()))


def content(engine: WalkEngine) -> list[bytes]:
    return [array.tobytes() for array in engine.sequences()]


def queued(engine: WalkEngine) -> int:
    """The number of queued tokens, counted by advancing them: each is passed on, finished or stranded."""
    before = engine.finished + engine.given_up.count(STRANDED)
    return sum(map(len, engine.advance().values())) + engine.finished + engine.given_up.count(STRANDED) - before


GOOD: list[Token] = [(MINE[0], THEIRS[1], [0, 1, 2]), (MINE[1], THEIRS[2], [59])]


@pytest.mark.parametrize(
    ("token", "reason"),
    [
        ((THEIRS[0], WALK, [1]), "not the receiver's device"),
        ((-1, WALK, [1]), "not the receiver's device"),
        ((60, WALK, [1]), "not the receiver's device"),
        ((2**31 - 1, WALK, [1]), "not the receiver's device"),
        ((MINE[0], -1, [1]), "unknown walk"),
        ((MINE[0], 180, [1]), "unknown walk"),
        ((MINE[0], 2**63 - 1, [1]), "unknown walk"),
        ((MINE[0], WALK, []), "wrong length"),
        ((MINE[0], WALK, [1] * 13), "wrong length"),
        ((MINE[0], WALK, [1] * 5000), "wrong length"),
        ((MINE[0], WALK, [1, 60, 1]), "id out of range"),
        ((MINE[0], WALK, [1, 1, -1]), "id out of range"),
        ((MINE[0], WALK, [-(2**31)]), "id out of range"),
        ((MINE[0], MINE[0], [1] * 12), "replayed"),
        ((MINE[2], GOOD[0][1], [1] * 12), "replayed"),
    ],
)
def test_a_bad_token_is_refused_and_the_rest_of_its_batch_is_kept(token: Token, reason: str) -> None:
    engine = fresh_mill()
    assert receive(engine, 1, wire(GOOD[0], token, GOOD[1])) == (2, 1)
    assert engine.refused == {f"ben: {reason}": 1}
    assert finish(engine) == sorted(walk for _, walk, _ in GOOD)


@pytest.mark.parametrize(
    ("sender", "data", "reason"),
    [
        (1, b"junk", "malformed"),
        (1, wire(*GOOD)[:-4], "malformed"),
        (1, bytes(MAX_BATCH_BYTES + 1), "too large"),
        (1, wire(*GOOD, key="ff" * 16), "other run"),
        (0, wire(*GOOD), "unknown sender"),
        (4, wire(*GOOD), "unknown sender"),
        (-1, wire(*GOOD), "unknown sender"),
    ],
    ids=["junk", "cut off", "too large", "other key", "myself", "beyond", "negative"],
)
def test_a_bad_batch_is_refused_and_counted(sender: int, data: bytes, reason: str) -> None:
    engine = fresh_mill()
    with pytest.raises(ProtocolError, match="batch"):
        engine.receive(sender, data)
    name = {0: "ada: ", 1: "ben: "}.get(sender, "")
    assert engine.refused == {f"{name}{reason}": 1}
    assert engine.passive
    # It didn't count as the sender's first.
    assert receive(engine, 1, wire(*GOOD)) == (2, 0)


def test_a_holder_that_is_no_part_of_the_attempt_is_an_unknown_sender() -> None:
    asked = small_question(GRAPH, OWNER, 0, alive=OWNER != 2)
    engine = WalkEngine(asked, own_neighbours(GRAPH, OWNER, 0), 0, SimulatedRandomness(0))
    with pytest.raises(ProtocolError, match="holder number 2"):
        engine.receive(2, wire(*GOOD))
    assert engine.refused == {"cleo: unknown sender": 1}


def test_a_device_of_mine_that_is_no_part_of_the_attempt_gets_no_token() -> None:
    alive = np.ones(GRAPH.vertices, np.bool_)
    alive[MINE[0]] = False
    asked = small_question(GRAPH, OWNER, 0, alive=alive)
    engine = WalkEngine(asked, own_neighbours(GRAPH, OWNER, 0), 0, SimulatedRandomness(0))
    assert receive(engine, 1, wire(*GOOD)) == (1, 1)
    assert engine.refused == {"ben: not the receiver's device": 1}


def test_a_batch_sent_twice_gets_the_same_receipt_and_no_second_walk() -> None:
    engine = fresh_mill()
    data = wire(*GOOD, (THEIRS[0], WALK, [1]))
    assert receive(engine, 1, data) == receive(engine, 1, data) == receive(engine, 1, data) == (2, 1)
    assert engine.refused == {"ben: not the receiver's device": 1, "ben: sent twice": 2}
    assert queued(engine) == 2


def test_an_older_batch_is_refused_as_a_whole() -> None:
    engine = fresh_mill()
    old, new = wire(GOOD[0]), wire(GOOD[1], number=1)
    assert receive(engine, 1, old) == receive(engine, 1, new) == (1, 0)
    assert receive(engine, 1, old) == (0, 1)
    assert engine.refused == {"ben: sent twice": 1}


def test_a_batch_with_a_number_ahead_of_the_next_is_refused() -> None:
    engine = fresh_mill()
    assert receive(engine, 1, wire(*GOOD, number=1)) == (0, 2)
    assert receive(engine, 1, wire(*GOOD, number=2**64 - 1)) == (0, 2)
    assert engine.refused == {"ben: out of order": 2}
    assert engine.passive
    assert receive(engine, 1, wire(*GOOD)) == (2, 0)


def test_the_sender_gives_up_just_the_walks_whose_tokens_were_refused() -> None:
    engine, sender = (
        fresh_mill(),
        WalkEngine(small_question(GRAPH, OWNER, 1), own_neighbours(GRAPH, OWNER, 1), 1, SimulatedRandomness(0)),
    )
    _, batch = TokenBatch.from_bytes(wire(GOOD[0], (THEIRS[0], WALK, [1]), GOOD[1]), bytes.fromhex(KEY))
    sender.delivered(0, batch, engine.receive(1, batch.to_bytes(bytes.fromhex(KEY), 0)))
    walks, reasons, at = sender.given_up.columns()
    assert (walks.tolist(), at.tolist()) == ([WALK], [0])
    assert VERDICTS[reasons[0] - REFUSED] == "not the receiver's device"


def test_the_batches_of_each_sender_are_numbered_separately() -> None:
    engine = fresh_mill()
    assert receive(engine, 1, wire(GOOD[0])) == receive(engine, 2, wire(GOOD[1])) == (1, 0)
    assert not engine.refused


def test_a_walk_is_accepted_again_only_with_more_entries() -> None:
    engine = fresh_mill()
    device, walk, entries = GOOD[0]
    assert receive(engine, 1, wire((device, walk, entries))) == (1, 0)
    # While it is here, no other token of that walk can be true.
    assert receive(engine, 2, wire((device, walk, [1] * 12))) == (0, 1)
    (left,) = engine.advance().values()
    for size in range(1, int(left.written[0]) + 1):
        assert receive(engine, 1, wire((device, walk, [1] * size), number=size)) == (0, 1)
    assert receive(engine, 2, wire((device, walk, [1] * (int(left.written[0]) + 1)), number=1)) == (1, 0)
    assert engine.refused == {"cleo: replayed": 1, "ben: replayed": int(left.written[0])}


def test_a_walk_that_ended_here_is_never_accepted_again() -> None:
    engine = fresh_mill()
    device, walk, _ = GOOD[0]
    assert receive(engine, 1, wire((device, walk, [1] * 12))) == (1, 0)
    assert engine.advance() == {}
    before = content(engine)
    assert receive(engine, 1, wire((device, walk, [1] * 12), number=1)) == (0, 1)
    assert engine.passive
    assert engine.finished == 1
    assert content(engine) == before


@given(st.integers(-2, 6), st.binary(max_size=300))
def test_arbitrary_bytes_raise_protocol_errors_and_change_nothing(sender: int, data: bytes) -> None:
    engine = fresh_mill()
    engine.begin()
    engine.advance()
    assert receive(engine, 1, wire(*GOOD)) == (2, 0)
    before, finished = content(engine), engine.finished
    with pytest.raises(ProtocolError):
        engine.receive(sender, data)
    assert sum(engine.refused.values()) == 1
    assert engine.finished == finished
    assert content(engine) == before
    assert queued(engine) == 2


@given(st.lists(st.tuples(st.integers(0, 10_000), st.integers(0, 255)), min_size=1, max_size=6))
def test_a_damaged_batch_never_breaks_the_engine(damage: list[tuple[int, int]]) -> None:
    engine, data = fresh_mill(), bytearray(wire(*GOOD, (MINE[2], WALK, [3] * 11)))
    for place, value in damage:
        data[place % len(data)] = value
    try:
        accepted, refused = receive(engine, 1, bytes(data))
    except ProtocolError:
        accepted = 0
    else:
        assert accepted + refused == 3
    assert len(finish(engine)) == accepted
    rows = engine.sequences()[1]
    assert rows.size == 0 or 0 <= rows.min() <= rows.max() < GRAPH.vertices
