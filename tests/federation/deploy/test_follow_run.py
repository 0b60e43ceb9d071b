"""Following a run: it ends with the run, with the run's process and with the server."""

import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fedwalk.errors import FedWalkWarning, RunFolderError, SettingsError
from fedwalk.federation.deploy import follow_run as running
from fedwalk.federation.deploy.follow_run import RunError, _await_end, _follow, run
from fedwalk.federation.deploy.processes import Started, start, stop
from fedwalk.federation.membership.folders import FederationFolder, FederationSettings, write_settings
from fedwalk.settings import Settings
from fedwalk.util.files import is_locked, try_lock

SLEEP = [sys.executable, "-c", "import time; time.sleep(600)"]


@pytest.fixture
def folder(tmp_path: Path) -> FederationFolder:
    folder = FederationFolder(tmp_path)
    write_settings(folder.settings_file, FederationSettings("demo", "127.0.0.1:9", "127.0.0.1:9"))
    return folder


@pytest.fixture
def server(folder: FederationFolder) -> Iterator[Started]:
    """A sleeping process in place of the server."""
    started = start(SLEEP, {}, folder.log)
    folder.state.write_text(json.dumps({"tag": started.tag}))
    try:
        yield started
    finally:
        stop(started)


def write(events: Path, *lines: dict[str, object]) -> None:
    with events.open("a") as file:
        file.writelines(json.dumps(line) + "\n" for line in lines)


def test_events_are_passed_on_until_the_run_has_ended(
    folder: FederationFolder, server: Started, tmp_path: Path
) -> None:
    events = tmp_path / "events"
    write(events, {"stage": "roll", "done": 1, "total": 4}, {"ended": True}, {"stage": "never", "done": 1, "total": 1})
    assert [event.get("stage") for event in _follow(folder, events, ())] == ["roll", None]


def test_a_run_whose_process_dies_is_not_waited_for(folder: FederationFolder, server: Started, tmp_path: Path) -> None:
    """The process becomes a zombie, as Flower's processes do: it has ended, and its parent hasn't waited for it."""
    events, doing = tmp_path / "events", subprocess.Popen(SLEEP)
    try:
        write(events, {"pid": doing.pid}, {"stage": "roll", "done": 1, "total": 4})
        following = _follow(folder, events, ())
        assert "pid" in next(following)
        assert next(following)["stage"] == "roll"
        doing.kill()
        with pytest.raises(RunError, match="the run's process has ended"):
            next(following)
    finally:
        doing.kill()
        doing.wait()


def test_a_run_whose_server_dies_is_not_waited_for(folder: FederationFolder, server: Started, tmp_path: Path) -> None:
    stop(server, grace=0)
    with pytest.raises(RunError, match="the server has ended"):
        next(_follow(folder, tmp_path / "events", ()))


HOLD = """
import sys
from pathlib import Path
from fedwalk.util.files import try_lock
with try_lock(Path(sys.argv[1])) as free:
    print(free, flush=True)
    sys.stdin.read()
"""


def test_a_stopped_run_has_ended_when_its_process_has(
    folder: FederationFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    command = [sys.executable, "-c", HOLD, str(folder.run_lock)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as doing:
        assert doing.stdin is not None
        assert doing.stdout is not None
        assert doing.stdout.readline() == "True\n"
        monkeypatch.setattr(running, "END_TIMEOUT", 0.0)
        with pytest.warns(FedWalkWarning, match="ends after the current stage; use --resume then"):
            _await_end(folder)
        assert is_locked(folder.run_lock)
        monkeypatch.setattr(running, "END_TIMEOUT", 60.0)
        ending = threading.Timer(0.3, doing.stdin.close)
        ending.start()
        _await_end(folder)
        assert not is_locked(folder.run_lock)
        ending.join()


def test_a_second_run_is_refused_while_the_first_goes_on(
    folder: FederationFolder, server: Started, tmp_path: Path
) -> None:
    with try_lock(folder.follow_lock), pytest.raises(RunError, match="another run is going on"):
        run(folder, Settings(), tmp_path / "run", patience=5)
    with try_lock(folder.run_lock), pytest.raises(RunError, match="another run is going on"):
        run(folder, Settings(), tmp_path / "run", patience=5)
    assert not (tmp_path / "run").exists()


def test_only_a_run_that_exists_can_be_resumed(folder: FederationFolder, server: Started, tmp_path: Path) -> None:
    with pytest.raises(RunFolderError, match="there is no run to resume"):
        run(folder, Settings(), tmp_path / "typo", patience=5, resume=True)
    assert not (tmp_path / "typo").exists()


@pytest.mark.parametrize("chosen", [{"runtime": "stepwise"}, {"protocol": "deepwalk"}, {"budget": 4.0}])
def test_settings_of_simulations_are_refused(
    folder: FederationFolder, server: Started, tmp_path: Path, chosen: dict[str, Any]
) -> None:
    with pytest.raises(SettingsError, match=next(iter(chosen))):
        run(folder, Settings(**chosen), tmp_path / "run", patience=5)
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("patience", [0, -1, 3601, float("nan")])
def test_patience_is_bounded(folder: FederationFolder, server: Started, tmp_path: Path, patience: float) -> None:
    with pytest.raises(SettingsError, match="patience"):
        run(folder, Settings(), tmp_path / "run", patience=patience)
