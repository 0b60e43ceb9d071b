"""Following a run: it ends with the run, and with whoever was doing it."""

import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fedwalk.errors import FedWalkWarning, RunFolderError, SettingsError
from fedwalk.federation import running
from fedwalk.federation.folders import FederationFolder, FederationSettings, write_settings
from fedwalk.federation.locks import held, is_busy
from fedwalk.federation.processes import Started, start, stop
from fedwalk.federation.running import RunError, _await_end, _follow, run
from fedwalk.settings import Settings

SLEEP = [sys.executable, "-c", "import time; time.sleep(600)"]


@pytest.fixture
def folder(tmp_path: Path) -> FederationFolder:
    found = FederationFolder(tmp_path)
    write_settings(found.settings_file, FederationSettings("demo", "127.0.0.1:9", "127.0.0.1:9"))
    return found


@pytest.fixture
def server(folder: FederationFolder) -> Iterator[Started]:
    """A process that stands for the server: it is there, and that is all that matters here."""
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
    """Nobody has taken notice of its end yet: it is a zombie, as Flower leaves them."""
    events, doing = tmp_path / "events", subprocess.Popen(SLEEP)
    try:
        write(events, {"pid": doing.pid}, {"stage": "roll", "done": 1, "total": 4})
        following = _follow(folder, events, ())
        assert "pid" in next(following)
        assert next(following)["stage"] == "roll"
        doing.kill()
        with pytest.raises(RunError, match="the server's part of the run has ended"):
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
from fedwalk.federation.locks import held
with held(Path(sys.argv[1])) as free:
    print(free, flush=True)
    sys.stdin.read()
"""


def test_a_run_that_was_stopped_is_over_when_its_process_is(
    folder: FederationFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    command = [sys.executable, "-c", HOLD, str(folder.run_lock)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as doing:
        assert doing.stdin is not None
        assert doing.stdout is not None
        assert doing.stdout.readline() == "True\n"
        monkeypatch.setattr(running, "ENDING", 0.0)
        with pytest.warns(FedWalkWarning, match="still computes"):
            _await_end(folder)
        assert is_busy(folder.run_lock)
        monkeypatch.setattr(running, "ENDING", 60.0)
        ending = threading.Timer(0.3, doing.stdin.close)
        ending.start()
        _await_end(folder)
        assert not is_busy(folder.run_lock)
        ending.join()


def test_a_second_run_is_refused_while_somebody_follows_the_first(
    folder: FederationFolder, server: Started, tmp_path: Path
) -> None:
    with held(folder.follow_lock), pytest.raises(RunError, match="another run is going on"):
        run(folder, Settings(), tmp_path / "run", patience=5)
    with held(folder.run_lock), pytest.raises(RunError, match="another run is going on"):
        run(folder, Settings(), tmp_path / "run", patience=5)
    assert not (tmp_path / "run").exists()


def test_only_what_is_there_can_be_gone_on_with(folder: FederationFolder, server: Started, tmp_path: Path) -> None:
    with pytest.raises(RunFolderError, match="there is no run to go on with"):
        run(folder, Settings(), tmp_path / "typo", patience=5, resume=True)
    assert not (tmp_path / "typo").exists()


@pytest.mark.parametrize("chosen", [{"runtime": "stepwise"}, {"protocol": "deepwalk"}, {"budget": 4.0}])
def test_what_only_a_simulation_can_do_is_refused(
    folder: FederationFolder, server: Started, tmp_path: Path, chosen: dict[str, Any]
) -> None:
    with pytest.raises(SettingsError, match=next(iter(chosen))):
        run(folder, Settings(**chosen), tmp_path / "run", patience=5)
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("patience", [0, -1, 3601, float("nan")])
def test_patience_has_its_bounds(folder: FederationFolder, server: Started, tmp_path: Path, patience: float) -> None:
    with pytest.raises(SettingsError, match="patience"):
        run(folder, Settings(), tmp_path / "run", patience=patience)
