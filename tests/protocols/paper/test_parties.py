"""Device and server on their own: what they do with messages that the protocol does not allow, and what they hold."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest

from fedwalk.errors import ProtocolError
from fedwalk.privacy.randomness import SystemRandomness
from fedwalk.protocols.ldp import messages as ldp_messages
from fedwalk.protocols.paper import messages as paper_messages
from fedwalk.protocols.paper.device import Device
from fedwalk.protocols.paper.encoder import identity
from fedwalk.protocols.paper.messages import DegreeMatrix, DegreeVector, Sequence, Start, Token, TreeTable
from fedwalk.protocols.paper.predictors import Broadcast, find_predictor
from fedwalk.protocols.paper.server import Server
from fedwalk.protocols.transcript import Transcript
from helpers.simulation import GRAPHS, federation


@pytest.fixture
def server() -> Server:
    return Server(vertices=3, k=2, epsilon=2.0)


def vectors(*changes: tuple[int, list[float]]) -> Iterator[DegreeVector]:
    return (DegreeVector(v, np.array(c, np.float32)) for v, c in changes)


@pytest.mark.parametrize(
    ("messages", "complaint"),
    [
        ([(0, [1, 2]), (1, [1, 2])], "missing for 1 of 3"),
        ([(0, [1, 2]), (0, [1, 2])], "device 0: sent its degree vector twice"),
        ([(3, [1, 2])], "device 3: unknown"),
        ([(-1, [1, 2])], "device -1: unknown"),
        ([(1, [1, 2, 3])], "device 1: a degree vector must be 2 finite numbers"),
        ([(1, [1, float("nan")])], "device 1: a degree vector must be 2 finite numbers"),
    ],
)
def test_server_refuses_wrong_vectors(server: Server, messages: list[tuple[int, list[float]]], complaint: str) -> None:
    with pytest.raises(ProtocolError, match=complaint):
        server.collect_vectors(vectors(*messages))


@pytest.mark.parametrize(
    ("rows", "complaint"),
    [
        (np.empty((0, 2)), "rows of 2 finite numbers"),
        (np.ones((2, 3)), "rows of 2 finite numbers"),
        (np.ones(2), "rows of 2 finite numbers"),
        (np.full((1, 2), np.inf), "rows of 2 finite numbers"),
    ],
)
def test_server_refuses_wrong_matrices(server: Server, rows: np.ndarray, complaint: str) -> None:
    with pytest.raises(ProtocolError, match=complaint):
        server.collect_matrices(iter([DegreeMatrix(0, rows.astype(np.float32))]))


@pytest.mark.parametrize(
    ("entries", "walk", "complaint"),
    [
        ((0, 1), 0, "has 2 entries, not 3"),
        ((0, 1, 3), 0, "outside 0 … 2"),
        ((0, 1, -1), 0, "outside 0 … 2"),
        ((0, 1, 2), 5, "never started"),
    ],
)
def test_server_refuses_wrong_sequences(server: Server, entries: tuple[int, ...], walk: int, complaint: str) -> None:
    with pytest.raises(ProtocolError, match=complaint):
        server.collect_sequences(iter([Sequence(walk, entries)]), walks=2, length=3)


def test_server_refuses_a_walk_that_finishes_twice(server: Server) -> None:
    with pytest.raises(ProtocolError, match="finished already"):
        server.collect_sequences(iter([Sequence(0, (0, 1, 2))] * 2), walks=2, length=3)


def test_server_starts_every_walk_once_round_by_round(server: Server) -> None:
    starts = list(server.starts(rounds=2, length=5, predict=0.1))
    assert [start.device for start in starts] == [0, 1, 2, 0, 1, 2]
    assert [start.walk for start in starts] == list(range(6))


def test_a_device_refuses_a_walk_before_it_has_the_table() -> None:
    device = Device(0, np.array([1], np.int32), SystemRandomness())
    with pytest.raises(ProtocolError, match="device 0: a walk arrived before"):
        device.begin(Start(0, 0, 5, 2.0, 0.0))


def test_a_device_with_system_randomness_walks_to_its_neighbours() -> None:
    fed = federation(GRAPHS["karate"])
    predictor = find_predictor("triad")
    device = Device(0, fed.graph.neighbours(0), SystemRandomness())
    tables = predictor.prepare(Broadcast(fed.plan.bins, fed.vectors, fed.tree))
    device.learn(TreeTable(fed.tree, identity(fed.matrices, fed.tree, 2.0), "triad", 3), tables)
    destinations = set()
    for walk in range(400):
        message = device.begin(Start(0, walk, 9, 2.0, 1.0))
        assert isinstance(message, Token)
        assert len(message.entries) == 3
        assert message.remaining == 6
        assert message.device == message.entries[-1]
        destinations.add(message.device)
    assert destinations == set(fed.graph.neighbours(0).tolist())


@pytest.mark.parametrize(("device", "remaining"), [(1, 5), (0, 0), (0, -3)])
def test_a_device_refuses_tokens_that_are_not_for_it_or_have_nothing_to_go(device: int, remaining: int) -> None:
    fed = federation(GRAPHS["karate"])
    receiver = Device(0, fed.graph.neighbours(0), SystemRandomness())
    receiver.learn(TreeTable(fed.tree, identity(fed.matrices, fed.tree, 2.0), "triad", 3), None)
    with pytest.raises(ProtocolError, match=f"token for device {device} with {remaining} entries"):
        receiver.visit(Token(device, 0, remaining, 2.0, 0.0, ()))


def test_noise_from_the_system_differs_every_time() -> None:
    fed = federation(GRAPHS["karate"])
    device = Device(0, fed.graph.neighbours(0), SystemRandomness())
    first, second = device.degree_vector(fed.plan), device.degree_vector(fed.plan)
    assert not np.array_equal(first.vector, second.vector)


def test_every_kind_of_message_says_its_route_and_observers() -> None:
    kinds = (*paper_messages.KINDS, *ldp_messages.KINDS)
    assert [kind.phase for kind in kinds] == [
        "plan", "vectors", "dictionary", "matrices", "tree", "starts", "hops", "sequences", "report plan",
        "reports",
    ]  # fmt: skip
    for kind in kinds:
        sender, receiver = kind.route.split(" → ")
        assert {sender, receiver} <= {"server", "device"}
        assert kind.observers
        # What a device sends to another device is no business of the server.
        assert ("server" in kind.observers) == (kind.phase != "hops")


def test_a_token_grows_by_four_bytes_an_entry() -> None:
    token = Token(1, 0, 9, 2.0, 0.2, ())
    assert replace(token, entries=(1, 2, 3)).nbytes - token.nbytes == 12


def test_transcript_survives_its_own_dictionary_and_counts_what_came_since() -> None:
    transcript = Transcript()
    transcript.record(Sequence(0, (1, 2)))
    earlier = Transcript.from_dict(transcript.as_dict())
    transcript.record(Sequence(1, (1, 2, 3)))
    assert transcript.since(earlier).traffic["sequences"].count == 1
    assert transcript.since(earlier).traffic["sequences"].bytes == 20
    earlier.add(transcript.since(earlier))
    assert earlier == transcript
