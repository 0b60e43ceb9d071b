"""A guarded SuperNode: it runs only fedwalk's own app, and keeps asking after errors."""

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest
from flwr.app import Message, RecordDict
from flwr.cli.build import build_fab_from_disk
from flwr.supercore.fab import Fab
from flwr.supercore.inflatable.inflatable_object import get_object_tree
from flwr.supercore.object_store import ObjectStoreFactory
from flwr.supercore.run import Run
from flwr.supernode import start_client_internal
from flwr.supernode.nodestate.in_memory_nodestate import InMemoryNodeState

from fedwalk.errors import ProtocolError
from fedwalk.federation.app_folder import write_app
from fedwalk.federation.flower_guards import supernode
from fedwalk.federation.flower_guards.app_bundle import app_digest, check_app
from fedwalk.federation.flower_guards.hooks import FlowerChangedError
from fedwalk.federation.flower_guards.supernode import run_only
from fedwalk.federation.owner_log import ChangeLogger
from helpers import local_holders as holders

STEPS = ("get_fused_config_from_fab", "_pull_and_store_message")


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_app(tmp_path_factory.mktemp("guards") / "app")


@pytest.fixture
def guarded(app: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Flower's module with the guard in it, while the test runs."""
    for step in STEPS:
        monkeypatch.setattr(start_client_internal, step, getattr(start_client_internal, step))
    run_only(app_digest(app))
    return start_client_internal


class UnreadError(Exception):
    """The content of the message is of no interest here."""


def receive(module: Any, content: bytes) -> tuple[InMemoryNodeState, object]:
    """Have a SuperNode take a message whose run has this app; what it then stores, and says."""
    store = ObjectStoreFactory(":flwr-in-memory:").store()
    state = InMemoryNodeState(store)
    state.set_node_id(holders.NODE)
    message = Message(RecordDict(), dst_node_id=holders.NODE, message_type="query.roll")
    message.metadata.__dict__["_message_id"] = message.object_id
    digest = hashlib.sha256(content).hexdigest()

    def unread(*_: object) -> bytes:
        raise UnreadError

    result = module._pull_and_store_message(
        state=state, object_store=store, node_config={}, receive=lambda: (message, get_object_tree(message)),
        get_run=Run.create_empty, get_fab=lambda *_: Fab(digest, content, {}), pull_object=unread,
        confirm_message_received=unread, trusted_entities=None,
    )  # fmt: skip
    return state, result


def pull(module: Any, receive: Callable[[], object]) -> object:
    """Have a SuperNode ask for a message in this way."""
    store = ObjectStoreFactory(":flwr-in-memory:").store()
    return module._pull_and_store_message(
        state=InMemoryNodeState(store), object_store=store, node_config={}, receive=receive, get_run=None,
        get_fab=None, pull_object=None, confirm_message_received=None, trusted_entities=None,
    )  # fmt: skip


def test_an_app_of_other_bytes_is_refused(app: Path) -> None:
    content = build_fab_from_disk(app)
    check_app(content, app_digest(app), "the server")
    for other in (b"", content[:-1], content + b"\0", bytes([content[0] ^ 1]) + content[1:]):
        with pytest.raises(ProtocolError, match=r"ships an app .* that isn't this fedwalk's own"):
            check_app(other, app_digest(app), "the server")


def test_a_supernode_stores_our_own_app(guarded: Any, app: Path) -> None:
    content = build_fab_from_disk(app)
    state, _ = receive(guarded, content)
    assert [fab.content for fab in state.fab_store.values()] == [content]


def test_a_supernode_does_not_store_another_app(
    guarded: Any, app: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = write_app(tmp_path / "app")
    spy = other / "fedwalk_app" / "client.py"
    spy.write_text(spy.read_text(encoding="utf-8") + "print(open('neighbours.adj').read())\n", encoding="utf-8")
    state, result = receive(guarded, build_fab_from_disk(other))
    assert result is None
    assert (state.fab_store, state.run_store, state.msg_store) == ({}, {}, {})
    assert "refused: the server ships an app" in capsys.readouterr().err


def test_the_same_supernode_without_the_guard_stores_it(tmp_path: Path) -> None:
    other = write_app(tmp_path / "app")
    (other / "fedwalk_app" / "spy.py").write_text("print('hello')\n", encoding="utf-8")
    state, _ = receive(start_client_internal, build_fab_from_disk(other))
    assert len(state.fab_store) == 1


def test_a_guard_whose_target_is_missing_is_an_error(guarded: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(start_client_internal, STEPS[0])
    with pytest.raises(FlowerChangedError, match=f"has no flwr.*:{STEPS[0]}, which fedwalk guards"):
        run_only("digest")


def test_the_next_question_is_looked_for_only_while_a_run_is_likely_to_be_on(monkeypatch: pytest.MonkeyPatch) -> None:
    run_ids: list[int | None] = [None, 7, None, None, 7, None, 7]
    monkeypatch.setattr(start_client_internal, STEPS[1], lambda: run_ids.pop(0))
    monkeypatch.setattr(supernode, "QUESTION_POLL", 0.0)
    supernode.poll_often()
    looking: Any = start_client_internal._pull_and_store_message
    assert [looking() for _ in range(3)] == [None, 7, 7]
    monkeypatch.setattr(supernode, "RUN_IS_ON", -1.0)
    assert [looking(), looking()] == [None, 7]


@pytest.mark.parametrize("error", [
    httpx.ConnectError("[SSL: UNEXPECTED_EOF_WHILE_READING] EOF occurred in violation of protocol"),
    httpx.HTTPStatusError("500", request=httpx.Request("POST", "https://server"), response=httpx.Response(500)),
])  # fmt: skip
def test_no_error_of_the_connection_stops_the_polling(
    guarded: Any, error: Exception, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without the guard Flower stops asking, and the process stays there idle."""
    monkeypatch.setattr(supernode, "CONNECTION", ChangeLogger())

    def failing() -> None:
        raise error

    for _ in range(2):
        assert pull(guarded, failing) is None
    assert capsys.readouterr().err.splitlines() == [f"fedwalk: the server can't be asked, trying again: {error}"]
