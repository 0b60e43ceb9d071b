"""The doorkeeper: who may use which API, and how much anybody may send."""

import asyncio
import base64
import json
from pathlib import Path
from typing import Any

import pytest

from doors import ANN, BOB, CONTROL, HERE, START, THERE, Call, Inner, ask, length, scope_of
from fedwalk.federation.doorkeeper import LARGEST_BODY, MOST_IN_FLIGHT, Doorkeeper


@pytest.mark.parametrize(
    "path", [CONTROL, START, "/v1/runtime/pull", "/docs", "/health", "/", "/v1/fleet", "/v1/fleets/"]
)
def test_every_api_but_the_fleets_is_for_this_machine_only(path: str) -> None:
    inner = Inner()
    door = Doorkeeper(inner, 1000)
    for client in (THERE, ("127.0.0.2", 1), ("::ffff:192.0.2.9", 1), ("", 0), None):
        refused = ask(door, path, client=client)
        assert refused.status == 403
        assert "refused: this API is for the server's own machine" in refused.reason
        assert refused.read == 0
    assert inner.bodies == []
    for client in (HERE, ("::1", 4000)):
        assert ask(door, path, client=client).status == 200


@pytest.mark.parametrize("client", [HERE, THERE, ("127.0.0.2", 1), None])
def test_the_fleets_is_for_everybody(client: tuple[str, int] | None) -> None:
    assert ask(Doorkeeper(Inner(), 1000), client=client).status == 200


def test_a_body_that_says_it_is_too_long_is_refused_before_a_byte_is_read() -> None:
    inner = Inner()
    for size in (1001, 10**9, 10**17, 10**30, "9" * 5000):
        refused = ask(Doorkeeper(inner, 1000), headers=length(size))
        assert refused.status == 413
        assert "larger than this federation allows" in refused.reason
        assert refused.read == 0
    assert inner.bodies == []


@pytest.mark.parametrize("claimed", [b"-1", b"1e3", b"", b"0x10", b" 5", "५".encode(), b"1_0"])
def test_a_length_that_is_no_number_is_refused(claimed: bytes) -> None:
    refused = ask(Doorkeeper(Inner(), 1000), headers=((b"content-length", claimed),))
    assert refused.status == 413
    assert refused.read == 0


def test_a_body_without_a_length_is_read_up_to_the_bound_and_no_further() -> None:
    inner = Inner()
    refused = ask(Doorkeeper(inner, 1000), pieces=(b"x" * 400,) * 50)
    assert (refused.status, refused.read) == (413, 3)
    assert inner.bodies == []


def test_a_body_longer_than_it_said_is_stopped_too() -> None:
    refused = ask(Doorkeeper(Inner(), 1000), pieces=(b"x" * 400,) * 50, headers=length(10))
    assert (refused.status, refused.read) == (413, 3)


def test_one_body_has_a_bound_however_much_a_holder_may_send() -> None:
    assert ask(Doorkeeper(Inner(), 1 << 40), headers=length(LARGEST_BODY + 1)).status == 413


def test_what_a_holder_sends_in_one_run_adds_up() -> None:
    door = Doorkeeper(Inner(), 1000)
    statuses = [ask(door, pieces=(b"x" * 300,)).status for _ in range(4)]
    assert statuses == [200, 200, 200, 413]
    assert ask(door, pieces=(b"x" * 100,)).status == 200
    assert ask(door, pieces=(b"x",)).status == 413


def test_a_new_run_is_a_new_allowance() -> None:
    door = Doorkeeper(Inner(), 1000)
    assert ask(door, pieces=(b"x" * 1000,)).status == 200
    assert ask(door, pieces=(b"x",)).status == 413
    assert ask(door, START, client=THERE).status == 403
    assert ask(door, pieces=(b"x",)).status == 413
    assert ask(door, START, client=HERE).status == 200
    assert ask(door, pieces=(b"x" * 1000,)).status == 200


def test_one_holders_junk_leaves_the_others_their_allowance() -> None:
    door = Doorkeeper(Inner(), 1000)
    assert ask(door, pieces=(b"x" * 1000,)).status == 200
    assert ask(door, pieces=(b"x" * 1000,), headers=((b"flwr-public-key", BOB),)).status == 200


def test_a_stranger_under_anothers_key_does_not_use_up_its_allowance() -> None:
    inner = Inner(status=401)
    door = Doorkeeper(inner, 1000)
    assert ask(door, pieces=(b"x" * 900,)).status == 401
    inner.status = 200
    assert ask(door, pieces=(b"x" * 1000,)).status == 200


def test_a_holder_cannot_name_another_beside_itself() -> None:
    inner = Inner()
    door = Doorkeeper(inner, 1000)
    both = ask(door, pieces=(b"x" * 900,), headers=((b"flwr-public-key", ANN), (b"flwr-public-key", BOB)))
    assert (both.status, both.read) == (400, 0)
    assert inner.bodies == []
    assert ask(door, pieces=(b"x" * 1000,), headers=((b"flwr-public-key", BOB),)).status == 200


def test_a_key_spelt_otherwise_is_the_same_sender() -> None:
    # The last bits of the last letter but one don't count.
    other = ANN[:-2] + bytes([ANN[-2] + 1]) + ANN[-1:]
    assert base64.b64decode(other, validate=True) == base64.b64decode(ANN)
    door = Doorkeeper(Inner(), 1000)
    assert ask(door, pieces=(b"x" * 1000,)).status == 200
    assert ask(door, pieces=(b"x",), headers=((b"flwr-public-key", other),)).status == 413


def test_a_key_that_is_no_base64_is_refused() -> None:
    assert ask(Doorkeeper(Inner(), 1000), headers=((b"flwr-public-key", b"\xff*"),)).status == 400


def test_the_servers_own_processes_may_send_more() -> None:
    inner = Inner()
    assert ask(Doorkeeper(inner, 10), START, client=HERE, pieces=(b"x" * 1000,)).status == 200
    assert inner.bodies == [b"x" * 1000]


def test_nothing_but_http_and_the_start_of_the_server_passes() -> None:
    inner = Inner()
    door = Doorkeeper(inner, 1000)
    for client in (HERE, THERE):
        assert ask(door, CONTROL, client=client, kind="websocket").sent == [{"type": "websocket.close"}]
    assert inner.scopes == []
    ask(door, kind="lifespan")
    assert inner.scopes == ["lifespan"]


def test_what_was_accepted_counts_before_its_sender_can_send_more() -> None:
    door = Doorkeeper(Inner(), 1000)
    second = Call(pieces=(b"x",))

    class Hasty(Call):
        async def send(self, message: Any) -> None:
            if not self.sent:
                await door(scope_of(second), second.receive, second.send)
            await super().send(message)

    first = Hasty(pieces=(b"x" * 1000,))
    asyncio.run(door(scope_of(first), first.receive, first.send))
    assert (first.status, second.status) == (200, 413)


def test_a_body_that_was_cut_off_is_refused_whatever_the_app_makes_of_it() -> None:
    async def wrapping(scope: Any, receive: Any, send: Any) -> None:
        try:
            await receive()
        except Exception as error:
            raise ExceptionGroup("all sorts of things", [error]) from None

    assert ask(Doorkeeper(wrapping, 10), pieces=(b"x" * 11,)).status == 413


def test_a_fault_of_the_app_stays_its_own() -> None:
    async def faulty(scope: Any, receive: Any, send: Any) -> None:
        raise LookupError

    with pytest.raises(LookupError):
        ask(Doorkeeper(faulty, 10))


def test_what_the_app_has_begun_to_answer_is_left_to_it() -> None:
    async def hasty(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await receive()
        await receive()

    answered = ask(Doorkeeper(hasty, 10), pieces=(b"x" * 9, b"x" * 9))
    assert [message["type"] for message in answered.sent] == ["http.response.start"]


class Slow(Inner):
    """Reads nothing until it is told to; the requests that reach it are all under way at once."""

    def __init__(self, fault: type[Exception] | None = None) -> None:
        super().__init__()
        self.go, self.fault = asyncio.Event(), fault

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        await self.go.wait()
        if self.fault is not None:
            raise self.fault
        await super().__call__(scope, receive, send)


async def together(door: Doorkeeper, inner: Slow, calls: list[Call]) -> list[BaseException | None]:
    """Begin them all, one after another, before any is answered by the app."""
    tasks = []
    for call in calls:
        tasks.append(asyncio.ensure_future(door(scope_of(call), call.receive, call.send)))
        await asyncio.sleep(0)
    inner.go.set()
    return list(await asyncio.gather(*tasks, return_exceptions=True))


FULL = MOST_IN_FLIGHT // LARGEST_BODY
CHUNKED = ((b"flwr-public-key", ANN), (b"transfer-encoding", b"chunked"))
BOTH = (*CHUNKED, (b"content-length", b"1"))


@pytest.mark.parametrize("headers", [length(LARGEST_BODY), CHUNKED, BOTH], ids=["length", "chunked", "both"])
def test_all_bodies_at_one_time_have_a_bound_too(headers: tuple[tuple[bytes, bytes], ...]) -> None:
    inner = Slow()
    door = Doorkeeper(inner, 1 << 40)
    calls = [Call(headers=headers) for _ in range(FULL + 2)]
    asyncio.run(together(door, inner, calls))
    assert [call.status for call in calls] == [200] * FULL + [503] * 2
    assert "too much at once" in calls[-1].reason
    assert calls[-1].read == 0
    assert door.refused == {"too much at once": 2}
    assert ask(door, headers=headers).status == 200


def test_small_requests_take_little_of_the_room() -> None:
    inner = Slow()
    calls = [Call(headers=length(1000)) for _ in range(FULL * 5)]
    asyncio.run(together(Doorkeeper(inner, 1 << 40), inner, calls))
    assert {call.status for call in calls} == {200}


def test_the_servers_own_processes_take_no_room_and_need_none() -> None:
    inner = Slow()
    own = [Call(CONTROL, HERE, headers=length(LARGEST_BODY)) for _ in range(FULL)]
    fleet = [Call(headers=length(LARGEST_BODY)) for _ in range(FULL)]
    last = Call(CONTROL, HERE, headers=length(1))
    asyncio.run(together(Doorkeeper(inner, 1 << 40), inner, [*own, *fleet, last]))
    assert {call.status for call in (*own, *fleet, last)} == {200}


def test_room_is_given_back_however_a_request_ends() -> None:
    inner = Slow(fault=LookupError)
    door = Doorkeeper(inner, 1 << 40)
    calls = [Call(headers=length(LARGEST_BODY)) for _ in range(FULL)]
    ended = asyncio.run(together(door, inner, calls))
    assert all(isinstance(error, LookupError) for error in ended)
    inner.fault = None
    assert ask(door, headers=length(LARGEST_BODY)).status == 200


def test_what_is_turned_away_is_counted_until_the_next_run_starts(tmp_path: Path) -> None:
    notes = tmp_path / "refused.json"
    door = Doorkeeper(Inner(), 1000, notes)
    ask(door, headers=length(5000))
    ask(door, headers=length(5000))
    ask(door, CONTROL, client=THERE)
    assert json.loads(notes.read_text()) == {
        "larger than this federation allows": 2, "this API is for the server's own machine": 1,
    }  # fmt: skip
    ask(door, START, client=HERE)
    assert json.loads(notes.read_text()) == {}


def test_the_count_is_whole_at_any_time(tmp_path: Path) -> None:
    notes = tmp_path / "refused.json"
    door = Doorkeeper(Inner(), 1000, notes)
    ask(door, headers=length(5000))
    with notes.open() as before:
        ask(door, CONTROL, client=THERE)
        assert json.load(before) == {"larger than this federation allows": 1}
    assert sum(json.loads(notes.read_text()).values()) == 2
    assert list(tmp_path.iterdir()) == [notes]
