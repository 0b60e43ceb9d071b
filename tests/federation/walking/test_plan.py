"""What the server may ask a holder to walk: a question that makes no sense is refused by the field that is wrong."""

from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np
import pytest

from fedwalk.errors import ProtocolError
from fedwalk.federation.walking.engine import WalkEngine
from fedwalk.federation.wire.questions import WalksQuestion
from fedwalk.privacy.randomness import SimulatedRandomness
from helpers.simulation import GRAPHS
from helpers.walk_questions import own_neighbours, random_owners, small_question

GRAPH = GRAPHS["communities"]
OWNER = random_owners(GRAPH, 4)
MINE, THEIRS = np.flatnonzero(OWNER == 0).tolist(), np.flatnonzero(OWNER == 1).tolist()


@lru_cache(maxsize=1)
def the_question() -> WalksQuestion:
    return small_question(GRAPH, OWNER, 0)


Change = Callable[[Any], Any]


def at(place: Any, value: Any) -> Change:
    def change(array: Any) -> Any:
        array = array.copy()
        array[place] = value
        return array

    return change


def to(value: Any) -> Change:
    return lambda _: value


def shorter(array: Any) -> Any:
    return array[:-1]


@pytest.mark.parametrize(
    ("field", "change"),
    [
        ("key", to("run 1")),
        ("session", to("run 1")),
        ("session", to("AB" * 16)),
        ("sessions", shorter),
        ("sessions", at(0, "ab" * 32)),
        ("sessions", at(3, "run 1")),
        ("predictor", to("crystal ball")),
        ("burst", to(0)),
        ("length", to(0)),
        ("length", to(2**30)),
        ("count", to(0)),
        ("count", to(2**62)),
        ("epsilon", to(float("nan"))),
        ("epsilon", to(0.0)),
        ("patience", to(float("inf"))),
        ("patience", to(float("nan"))),
        ("patience", to(-1.0)),
        ("patience", to(0.0)),
        ("patience", to(3600.5)),
        ("predict", to(float("nan"))),
        ("predict", to(1.5)),
        ("holders", to([])),
        ("holders", to(["ada", "ben", "cleo", "ada"])),
        ("addresses", shorter),
        ("addresses", at(1, "")),
        ("addresses", at(3, "x" * 301)),
        ("addresses", at(3, "nowhere")),
        ("addresses", at(3, "169.254.169.254:80")),
        ("participants", to(np.empty(0, np.int32))),
        ("participants", at(3, 1)),
        ("participants", at(0, -1)),
        ("owner", shorter),
        ("owner", at(THEIRS[0], 4)),
        ("owner", at(THEIRS[0], -1)),
        ("owner", at(MINE[0], 1)),
        ("owner", at(THEIRS[0], 0)),
        ("alive", shorter),
        ("walks", at(0, THEIRS[0])),
        ("walks", at(-1, 180)),
        ("walks", at(0, -1)),
        ("walks", lambda walks: walks[::-1].copy()),
        ("walks", lambda walks: np.repeat(walks, 2)),
        ("bins", shorter),
        ("bins", at(0, 4)),
        ("bins", at(0, -1)),
        ("vectors", shorter),
        ("vectors", lambda rows: rows[:, :0]),
        ("vectors", at((5, 1), np.nan)),
        ("vectors", at((5, 1), -np.inf)),
        ("vectors", at((5, 1), 1e30)),
        ("joins", shorter),
        ("joins", lambda joins: joins[:, :1]),
        ("joins", at((0, 0), 119)),
        ("joins", at((0, 0), -1)),
        ("joins", at((0, 0), 60)),
        ("joins", lambda joins: joins[::-1].copy()),
        ("encoder_starts", shorter),
        ("encoder_starts", at(0, 1)),
        ("encoder_starts", at(5, 10**6)),
        ("encoder_starts", lambda starts: starts + np.append(np.zeros(starts.size - 1, np.int64), 1)),
        ("encoder_outputs", at(0, 60)),
        ("encoder_outputs", at(-1, -1)),
        ("encoder_cumulative", shorter),
        ("encoder_cumulative", at(-1, 0.5)),
        ("encoder_cumulative", at(0, np.nan)),
        ("encoder_cumulative", at(0, -0.1)),
        ("encoder_kin", shorter),
        ("encoder_kin", at(0, 60)),
        ("encoder_kin", at(0, -1)),
        ("encoder_kin_starts", at(0, 1)),
        ("encoder_kin_starts", lambda starts: np.insert(starts, 1, 0)),
        ("encoder_kin_members", shorter),
        ("encoder_kin_members", at(0, 59)),
        ("encoder_kin_members", at(0, -60)),
        ("encoder_kin_members", lambda members: members[::-1].copy()),
        ("encoder_certain", shorter),
        ("encoder_certain", lambda flags: ~flags),
    ],
)
def test_a_question_that_makes_no_sense_is_refused_by_its_field(field: str, change: Change) -> None:
    asked = the_question()
    malformed = replace(asked, **{field: change(getattr(asked, field))})
    with pytest.raises(ProtocolError, match=rf"WalksQuestion\.{field}:"):
        WalkEngine(malformed, own_neighbours(GRAPH, OWNER, 0), 0, SimulatedRandomness(0))


def test_a_neighbour_beyond_the_participants_is_refused() -> None:
    own = own_neighbours(GRAPH, OWNER, 0)
    beyond = replace(own, indices=at(own.indptr[1] - 1, 60)(own.indices))
    with pytest.raises(ProtocolError, match=r"WalksQuestion\.participants:"):
        WalkEngine(the_question(), beyond, 0, SimulatedRandomness(0))


def test_a_walk_may_not_start_at_a_dead_device() -> None:
    malformed = replace(the_question(), alive=at(MINE[0], False)(the_question().alive))
    with pytest.raises(ProtocolError, match=r"WalksQuestion\.walks:"):
        WalkEngine(malformed, own_neighbours(GRAPH, OWNER, 0), 0, SimulatedRandomness(0))


def test_a_holder_that_the_question_does_not_name_refuses_it() -> None:
    with pytest.raises(ProtocolError, match=r"WalksQuestion\.holders:"):
        WalkEngine(the_question(), own_neighbours(GRAPH, OWNER, 0), 4, SimulatedRandomness(0))


def test_a_patience_of_an_hour_and_a_long_address_are_taken() -> None:
    asked = replace(the_question(), patience=3600.0, addresses=[".".join(["x" * 60] * 4) + ":65535"] * 4)
    WalkEngine(asked, own_neighbours(GRAPH, OWNER, 0), 0, SimulatedRandomness(0))


def test_a_holder_without_a_living_device_needs_no_address() -> None:
    asked = small_question(GRAPH, OWNER, 0, alive=OWNER != 1)
    WalkEngine(
        replace(asked, addresses=at(1, "")(asked.addresses)), own_neighbours(GRAPH, OWNER, 0), 0, SimulatedRandomness(0)
    )
