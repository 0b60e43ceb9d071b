"""Requests at the public port: who may send them, how many bytes, and how long they may take."""

import asyncio
import base64
import json
from pathlib import Path
from typing import Any

import pytest

from fedwalk.federation.flower_guards import request_limits
from fedwalk.federation.flower_guards.request_limits import (
    MAX_BODY,
    MAX_IN_FLIGHT,
    MAX_IN_FLIGHT_PER_HOLDER,
    RequestLimits,
)
from helpers.asgi_requests import CONTROL, PULL, START, Call, Inner, ask, length, members, node_key, scope_of, shown_key

HOLDERS = [f"holder-{i}" for i in range(8)]


@pytest.fixture
def limits(tmp_path: Path) -> Any:
    """Makes limits for a federation of ann, bob and some more."""
    known = members(tmp_path, "ann", "bob", *HOLDERS)
    return lambda app, max_answer, counts=None: RequestLimits(app, known, max_answer, counts)


@pytest.mark.parametrize(
    "path", [CONTROL, START, "/v1/runtime/pull", "/docs", "/health", "/", "/v1/fleet", "/v1/fleets/", "//v1/fleet/"]
)
def test_every_api_but_the_fleets_is_refused_before_a_byte_is_read(limits: Any, path: str) -> None:
    inner = Inner()
    refused = ask(limits(inner, 1000), path)
    assert refused.status == 403
    assert "refused: this API is for the server's own processes" in refused.reason
    assert refused.read == 0
    assert inner.bodies == []


def test_only_members_are_answered_and_a_removal_counts_at_once(limits: Any, tmp_path: Path) -> None:
    inner = Inner()
    guard = limits(inner, 1000)
    assert ask(guard).status == 200
    for stranger in ("cyd", "", "Ann"):
        refused = ask(guard, holder=stranger)
        assert (refused.status, refused.read) == (503, 0)
        assert "isn't a member" in refused.reason
    members(tmp_path, "bob")
    assert ask(guard).status == 503
    assert ask(guard, holder="bob").status == 200
    (tmp_path / "members.json").write_text("damaged")
    assert ask(guard, holder="bob").status == 503
    members(tmp_path, "ann", "bob")
    assert ask(guard).status == 200
    assert len(inner.bodies) == 3


def test_a_holder_can_not_use_anothers_node_key(limits: Any) -> None:
    inner = Inner()
    guard = limits(inner, 1000)
    for keys in ([shown_key("bob")], [], [shown_key("ann")] * 2, [shown_key("ann"), shown_key("bob")], [b"\xff*"]):
        refused = ask(guard, headers=tuple((b"flwr-public-key", key) for key in keys))
        assert (refused.status, refused.read) == (503, 0)
        assert "not the node key of the roster" in refused.reason
    assert inner.bodies == []
    assert base64.b64decode(shown_key("ann")).startswith(b"-----BEGIN PUBLIC KEY")
    assert node_key("ann").startswith("ecdsa-sha2")


def test_a_body_that_says_it_is_too_long_is_refused_before_a_byte_is_read(limits: Any) -> None:
    inner = Inner()
    for size in (1001, 10**9, 10**17):
        refused = ask(limits(inner, 1000), headers=length(size))
        assert refused.status == 413
        assert "larger than this federation allows" in refused.reason
        assert refused.read == 0
    assert inner.bodies == []


@pytest.mark.parametrize("claimed", ["-1", "1e3", "", "0x10", " 5", "५", "1_0", "9" * 19, "9" * 5000])
def test_a_length_that_is_no_number_is_refused(limits: Any, claimed: str) -> None:
    refused = ask(limits(Inner(), 1000), headers=length(claimed))
    assert (refused.status, refused.read) == (400, 0)


def test_a_body_without_a_length_is_read_up_to_the_bound_and_no_further(limits: Any) -> None:
    inner = Inner()
    refused = ask(limits(inner, 1000), pieces=(b"x" * 400,) * 50)
    assert (refused.status, refused.read) == (413, 3)
    assert inner.bodies == []


def test_a_body_longer_than_it_said_is_stopped_too(limits: Any) -> None:
    refused = ask(limits(Inner(), 1000), pieces=(b"x" * 400,) * 50, headers=length(10))
    assert (refused.status, refused.read) == (413, 3)


def test_one_body_has_a_bound_however_much_a_holder_may_send(limits: Any) -> None:
    assert ask(limits(Inner(), 1 << 40), headers=length(MAX_BODY + 1)).status == 413


def test_what_a_holder_sends_in_one_run_adds_up(limits: Any) -> None:
    guard = limits(Inner(), 1000)
    statuses = [ask(guard, pieces=(b"x" * 300,)).status for _ in range(4)]
    assert statuses == [200, 200, 200, 413]
    assert ask(guard, pieces=(b"x" * 100,)).status == 200
    assert ask(guard, pieces=(b"x",)).status == 413
    assert ask(guard, pieces=(b"x" * 1000,), holder="bob").status == 200
    guard.reset_counts()
    assert ask(guard, pieces=(b"x" * 1000,)).status == 200


def test_what_the_app_refuses_does_not_count(limits: Any) -> None:
    inner = Inner(status=401)
    guard = limits(inner, 1000)
    assert ask(guard, pieces=(b"x" * 900,)).status == 401
    inner.status = 200
    assert ask(guard, pieces=(b"x" * 1000,)).status == 200


def test_what_was_accepted_counts_before_its_sender_can_send_more(limits: Any) -> None:
    guard = limits(Inner(), 1000)
    second = Call(pieces=(b"x",))

    class Hasty(Call):
        async def send(self, message: Any) -> None:
            if not self.sent:
                await guard(scope_of(second), second.receive, second.send)
            await super().send(message)

    first = Hasty(pieces=(b"x" * 1000,))
    asyncio.run(guard(scope_of(first), first.receive, first.send))
    assert (first.status, second.status) == (200, 413)


def test_nothing_but_http_passes(limits: Any) -> None:
    inner = Inner()
    for kind in ("websocket", "lifespan"):
        assert ask(limits(inner, 1000), kind=kind).sent == []
    assert inner.scopes == []


def test_a_body_that_was_cut_off_is_refused_whatever_the_app_makes_of_it(limits: Any) -> None:
    async def wrapping(scope: Any, receive: Any, send: Any) -> None:
        try:
            await receive()
        except Exception as error:
            raise ExceptionGroup("all sorts of things", [error]) from None

    async def answering(scope: Any, receive: Any, send: Any) -> None:
        try:
            await receive()
        except Exception:
            await send({"type": "http.response.start", "status": 500, "headers": []})

    for app in (wrapping, answering):
        assert ask(limits(app, 10), pieces=(b"x" * 11,)).status == 413


def test_a_fault_of_the_app_stays_its_own(limits: Any) -> None:
    async def faulty(scope: Any, receive: Any, send: Any) -> None:
        raise LookupError

    with pytest.raises(LookupError):
        ask(limits(faulty, 10))


def test_what_the_app_has_begun_to_answer_is_left_to_it(limits: Any) -> None:
    async def hasty(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await receive()
        await receive()

    answered = ask(limits(hasty, 10), pieces=(b"x" * 9, b"x" * 9))
    assert [message["type"] for message in answered.sent] == ["http.response.start"]


class Slow(Inner):
    """Answers nothing until it is told to; the requests that reach it are all under way at once."""

    def __init__(self) -> None:
        super().__init__()
        self.go = asyncio.Event()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        for _ in range(2):
            await receive()
        await self.go.wait()
        await send({"type": "http.response.start", "status": 200, "headers": []})


async def together(guard: RequestLimits, inner: Slow, calls: list[Call]) -> None:
    """Begin them all, one after another, before any is answered by the app."""
    tasks = []
    for call in calls:
        tasks.append(asyncio.ensure_future(guard(scope_of(call), call.receive, call.send)))
        for _ in range(20):
            await asyncio.sleep(0)
    inner.go.set()
    await asyncio.gather(*tasks)


HALF = b"x" * (MAX_BODY // 2)
EACH, ALL = MAX_IN_FLIGHT_PER_HOLDER // MAX_BODY, MAX_IN_FLIGHT // MAX_BODY


def test_bytes_that_have_arrived_are_bounded_for_one_holder_and_others_have_room(limits: Any) -> None:
    inner = Slow()
    guard = limits(inner, 1 << 40)
    greedy = [Call(pieces=(HALF, HALF)) for _ in range(EACH + 2)]
    other = Call(pieces=(HALF, HALF), holder="bob")
    asyncio.run(together(guard, inner, [*greedy, other]))
    assert [call.status for call in greedy] == [200] * EACH + [503] * 2
    assert other.status == 200
    assert guard.refused == {"ann: too many bytes at once": 2}
    inner.go = asyncio.Event()
    again = Call(pieces=(HALF, HALF))
    asyncio.run(together(guard, inner, [again]))
    assert again.status == 200


def test_all_bytes_that_have_arrived_are_bounded_too(limits: Any) -> None:
    inner = Slow()
    calls = [Call(pieces=(HALF, HALF), holder=HOLDERS[i % len(HOLDERS)]) for i in range(ALL + 2)]
    asyncio.run(together(limits(inner, 1 << 40), inner, calls))
    assert [call.status for call in calls] == [200] * ALL + [503] * 2


def test_what_is_announced_and_does_not_arrive_takes_no_room(limits: Any) -> None:
    """If announced bytes counted, sixteen requests would keep every other holder out."""
    inner = Slow()
    idle = [Call(pieces=(b"x", b""), headers=length(MAX_BODY)) for _ in range(100)]
    busy = Call(pieces=(HALF, HALF), holder="bob")
    asyncio.run(together(limits(inner, 1 << 40), inner, [*idle, busy]))
    assert {call.status for call in (*idle, busy)} == {200}


def test_a_body_that_arrives_too_slowly_is_cut_off(limits: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(request_limits, "BODY_SECONDS", 0.05)
    monkeypatch.setattr(request_limits, "BODY_BYTES_PER_SECOND", 1 << 30)

    class Dripping(Call):
        async def receive(self) -> dict[str, Any]:
            await asyncio.sleep(0.01)
            return {"type": "http.request", "body": b"x", "more_body": True}

    inner = Inner()
    guard, slow = limits(inner, 1 << 40), Dripping()
    asyncio.run(guard(scope_of(slow), slow.receive, slow.send))
    assert slow.status == 408
    assert guard.refused == {"ann: the body arrives too slowly": 1}
    assert inner.bodies == []


def test_what_is_refused_is_counted_by_holder_until_the_next_run(limits: Any, tmp_path: Path) -> None:
    counts = tmp_path / "refused.json"
    guard = limits(Inner(), 1000, counts)
    for _ in range(2):
        ask(guard, headers=length(5000))
    with counts.open() as before:
        ask(guard, CONTROL, holder="bob")
        assert json.load(before) == {"ann: larger than this federation allows": 2}
    guard.unknown["no certificate"] = 3
    guard.save_counts()
    assert json.loads(counts.read_text()) == {
        "ann: larger than this federation allows": 2, "bob: this API is for the server's own processes": 1,
        "no certificate": 3,
    }  # fmt: skip
    guard.reset_counts()
    assert json.loads(counts.read_text()) == {}
    assert {path.name for path in tmp_path.iterdir()} == {"refused.json", "members.json"}


def test_a_refusal_closes_the_connection(limits: Any) -> None:
    refused = ask(limits(Inner(), 1000), PULL, headers=length(5000))
    assert (b"connection", b"close") in refused.sent[0]["headers"]
