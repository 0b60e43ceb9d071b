"""Requests at a local port are read only if they carry the folder's secret."""

import os
import stat
from pathlib import Path

import pytest

from fedwalk.errors import InputError
from fedwalk.federation.flower_guards.local_requests import MAX_LOCAL_BODY, OWNER, LocalRequests
from fedwalk.federation.flower_guards.local_secret import make_secret, read_secret, secret_file
from helpers.asgi_requests import CONTROL, PULL, START, Inner, ask

SECRET = "5" * 64
SHOWN = ((b"fedwalk-secret", SECRET.encode()),)


@pytest.mark.parametrize("headers", [
    (), ((b"fedwalk-secret", b""),), ((b"fedwalk-secret", b"5" * 63),), ((b"fedwalk-secret", b"5" * 63 + b"6"),),
    (*SHOWN, *SHOWN), ((b"x-forwarded-for", b"127.0.0.1"),), ((b"authorization", SECRET.encode()),),
])  # fmt: skip
@pytest.mark.parametrize("path", [START, CONTROL, "/v1/runtime/acquire-task", "/docs", "/health", PULL])
def test_without_the_secret_nothing_is_read(path: str, headers: tuple[tuple[bytes, bytes], ...]) -> None:
    inner = Inner()
    refused = ask(LocalRequests(inner, SECRET), path, headers=headers, pieces=(b"x" * 1000,))
    assert (refused.status, refused.read) == (403, 0)
    assert SECRET not in refused.reason
    assert refused.known == []
    assert inner.bodies == []


def test_a_request_with_the_secret_is_counted_for_the_owner_and_answered() -> None:
    inner, runs = Inner(), list[None]()
    guard = LocalRequests(inner, SECRET, lambda: runs.append(None))
    call = ask(guard, CONTROL, headers=SHOWN, pieces=(b"x" * 1000,))
    assert (call.status, call.known, runs) == (200, [OWNER], [])
    assert ask(guard, START, headers=SHOWN).status == 200
    assert runs == [None]
    assert inner.bodies == [b"x" * 1000, b""]


def test_the_fleet_api_is_refused_and_sizes_are_bounded() -> None:
    assert ask(LocalRequests(Inner(), SECRET), PULL, headers=SHOWN).status == 403
    large = (*SHOWN, (b"content-length", str(MAX_LOCAL_BODY + 1).encode()))
    assert ask(LocalRequests(Inner(), SECRET), CONTROL, headers=large).status == 413


def test_the_secret_is_new_each_time_and_for_its_owner_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = os.umask(0)
    try:
        first, second = make_secret(tmp_path / "flower"), make_secret(tmp_path / "flower")
    finally:
        os.umask(before)
    assert first != second
    assert len(second) == 64
    assert stat.S_IMODE(secret_file(tmp_path / "flower").stat().st_mode) == 0o600
    assert stat.S_IMODE((tmp_path / "flower").stat().st_mode) == 0o700
    monkeypatch.setenv("FLWR_HOME", str(tmp_path / "flower"))
    assert read_secret() == second
    secret_file(tmp_path / "flower").unlink()
    with pytest.raises(InputError, match="secret: can't be read"):
        read_secret()
