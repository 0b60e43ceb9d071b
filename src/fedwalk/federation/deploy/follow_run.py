"""Starts a run on a federation's server and follows it, on the same machine, until it ends or fails."""

import json
import secrets
import time
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from fedwalk.errors import FedWalkError, FedWalkWarning, InputError, RunFolderError, SettingsError
from fedwalk.federation.deploy.flower_commands import FlowerError, flwr
from fedwalk.federation.deploy.processes import is_alive
from fedwalk.federation.deploy.registration import register_holders
from fedwalk.federation.deploy.services import is_running, log_tail
from fedwalk.federation.flower_guards.database import delete_ended_runs
from fedwalk.federation.membership.folders import FederationFolder, HolderFolder
from fedwalk.federation.server.execute import EVENTS, check_settings
from fedwalk.federation.shared_files import read_events, read_progress, read_run_id
from fedwalk.federation.wire.questions import MAX_PATIENCE
from fedwalk.protocols.stages import WALKS
from fedwalk.run.folder import FREE_TO_CHANGE, RECORD_FILE, holds_run, open_run_folder
from fedwalk.run.record import RunRecord, read_run
from fedwalk.run.stages import StageProgress
from fedwalk.settings import Settings
from fedwalk.util.files import is_locked, try_lock, write_private
from fedwalk.util.signals import postponed

POLL = 0.2
"""Seconds between two polls of a run's events."""
START_TIMEOUT = 120.0
"""Seconds that the server may take to begin a run."""
END_TIMEOUT = 60.0
"""Seconds that the server may take to end a run that was stopped."""


class RunError(FedWalkError):
    """A federated run failed or couldn't be started."""


def run(
    folder: FederationFolder, settings: Settings, output: Path, *, patience: float, force: bool = False,
    resume: bool = False, keep_walks: bool = False, min_holders: int = 1, on_progress: StageProgress | None = None,
    local: Sequence[HolderFolder] = (),
) -> RunRecord:  # fmt: skip
    """Start a run on the server, follow it to its end, and return its record.

    `patience` is how many seconds the run waits for a silent holder, `min_holders` how many holders must answer the
    roll call. `local` are holders on this machine: progress then includes their counts of finished walks, which the
    server doesn't know.
    """
    check_run(settings, patience)
    _check_server_running(folder)
    request = {
        "federation": str(folder.path.resolve()), "output": str(output.resolve()), "patience": float(patience),
        "keep_walks": keep_walks, "min_holders": min_holders,
        "settings": {name: value for name, value in settings.as_dict().items() if value is not None},
    }  # fmt: skip
    with _only_run(folder):
        if resume:
            _check_resumable(output)
            if (output / RECORD_FILE).exists():
                return _finished(output, settings)
        open_run_folder(output, force=force, resume=resume)
        try:
            # Holders may have been admitted or removed since the server started.
            register_holders(folder)
        except FlowerError as error:
            # The other holders can take part; `min_holders` decides whether they are enough.
            warnings.warn(str(error), FedWalkWarning, stacklevel=2)
        with _flower_run(folder, request) as events:
            _pass_on(_follow(folder, events, local), on_progress)
    return read_run(output)


def check_run(settings: Settings, patience: float) -> None:
    """Refuse settings that a federated run can't have."""
    check_settings(settings)
    if not 0 < patience <= MAX_PATIENCE:
        raise SettingsError(f"patience = {patience:g}: must be above 0 and at most {MAX_PATIENCE:g} seconds.")


@contextmanager
def _only_run(folder: FederationFolder) -> Iterator[None]:
    """Refuse to start while another run is on, whether or not its command still follows it."""
    # This command holds follow_lock. The run's own process holds run_lock, and can outlive the command.
    with try_lock(folder.follow_lock) as free:
        if not free or is_locked(folder.run_lock):
            raise RunError(
                f"{folder.path}: another run is going on. Wait for its end, or stop it with Ctrl-C in its terminal. If "
                f"the terminal is closed, `fedwalk federate down {folder.path}` ends the run and the server."
            )
        yield


@contextmanager
def _flower_run(folder: FederationFolder, request: dict[str, Any]) -> Iterator[Path]:
    """Start the requested run; the block follows its file of events. An interrupt of the block stops the run."""
    # A run that an earlier command left behind. Flower may have ended it, or may not know it if its database is new.
    with suppress(FlowerError):
        _stop_flower_run(folder)
    delete_ended_runs(folder.database)
    path = folder.path.resolve() / f"run-request-{secrets.token_hex(8)}.json"
    events = Path(request["output"]) / EVENTS
    # Events of an earlier run in this folder would be taken for this one's.
    events.unlink(missing_ok=True)
    write_private(path, json.dumps(request, indent=1))
    try:
        try:
            # A signal between the two steps would leave a run whose id isn't written down.
            with postponed():
                config = f"run_request={json.dumps(str(path))}"
                answer = flwr(folder, "run", str(folder.app.resolve()), "--run-config", config)
                write_private(folder.flower_run, str(answer["run-id"]))
            yield events
        except KeyboardInterrupt:
            _stop_flower_run(folder)
            _await_end(folder)
            raise
        # Not in `finally`: after an error the run may go on, and the next command stops it by the id in this file.
        folder.flower_run.unlink(missing_ok=True)
    finally:
        path.unlink(missing_ok=True)
        events.unlink(missing_ok=True)


def _stop_flower_run(folder: FederationFolder) -> None:
    """Stop the run whose id is in `flower-run`, if there is one.

    Otherwise a holder that is receiving a question would wait a minute for its missing parts.
    """
    if folder.flower_run.exists():
        flwr(folder, "stop", read_run_id(folder.flower_run))
        folder.flower_run.unlink(missing_ok=True)


def _await_end(folder: FederationFolder) -> None:
    """Wait until the server's process of a stopped run has ended, so that the run can be resumed at once."""
    end = time.monotonic() + END_TIMEOUT
    while is_locked(folder.run_lock):
        if time.monotonic() > end:
            text = f"the server's process of this run hasn't ended in {END_TIMEOUT:g} s."
            advice = "It ends after the current stage; use --resume then."
            warnings.warn(f"{text} {advice}", FedWalkWarning, stacklevel=2)
            return
        time.sleep(POLL)


def _pass_on(events: Iterator[dict[str, Any]], on_progress: StageProgress | None) -> None:
    """Call `on_progress` for each event until the run has ended; RunError if it failed."""
    for event in events:
        if "error" in event:
            raise RunError(f"{event['error']} Finished phases are kept: continue with --resume.")
        if on_progress is not None and "stage" in event:
            on_progress(event["stage"], event["done"], event["total"])


def _check_resumable(output: Path) -> None:
    """Refuse --resume if there is no run: a typing error in the name would start a new one and spend its epsilon."""
    if not holds_run(output):
        raise RunFolderError(f"{output}: there is no run to resume. Check the name, or leave out --resume.")


def _finished(output: Path, settings: Settings) -> RunRecord:
    """The record of a finished run; RunFolderError if its settings aren't those of the command."""
    record = read_run(output)
    if record.federation is None:
        raise RunFolderError(f"{output}: its run.json isn't that of a federated run. Use --force to replace it.")
    for name, value in settings.as_dict().items():
        old = record.settings.get(name)
        if name in record.settings and name not in FREE_TO_CHANGE and value is not None and value != old:
            raise RunFolderError(f"{output}: is finished with {name} = {old}, not {value}. Name another folder.")
    return record


def _check_server_running(folder: FederationFolder) -> None:
    if not is_running(folder.state):
        raise RunError(f"{folder.path}: its server isn't running. Start it: fedwalk federate server {folder.path}")


def _follow(folder: FederationFolder, events: Path, local: Sequence[HolderFolder]) -> Iterator[dict[str, Any]]:
    """Yield every event of the run up to its end; RunError if the server or the run's process ends before that."""
    # Wall-clock time, because `_walk_progress` compares it with times that the holders' processes wrote.
    position, began, stage, pid = 0, time.time(), "", 0
    while True:
        # Asked before the events are read: a process may write its last event and end in between.
        alive = is_running(folder.state) and (is_alive(pid) if pid else time.time() < began + START_TIMEOUT)
        arrived, position = read_events(events, position)
        for event in arrived:
            stage, pid = event.get("stage", stage), event.get("pid", pid)
            yield event
            if "ended" in event or "error" in event:
                return
        if not arrived and not alive:
            what = "the run's process" if is_running(folder.state) else "the server"
            raise RunError(f"{what} has ended: {log_tail(folder.log)}. Fix the problem and continue with --resume.")
        if stage == WALKS.name and local:
            yield from _walk_progress(local, began)
        time.sleep(POLL)


def _walk_progress(local: Sequence[HolderFolder], began: float) -> Iterator[dict[str, Any]]:
    """How many walks have ended, as counted by the holders on this machine."""
    known = []
    for holder in local:
        # This is only for display, so a holder whose file can't be read is left out.
        with suppress(InputError):
            known.append(read_progress(holder.progress))
    # A holder's file may still be that of an earlier run.
    current = [progress for progress in known if progress["began"] >= began]
    if total := sum(progress["begun"] for progress in current):
        done = sum(progress["finished"] for progress in current)
        # The stage is done only when the server says so.
        yield {"stage": WALKS.name, "done": min(done, total - 1), "total": total}
