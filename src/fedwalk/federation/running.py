"""Starting a run on a federation's server and following it from the same machine, until it ends or breaks off."""

import json
import secrets
import time
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

from fedwalk.errors import FedWalkError, FedWalkWarning, InputError, RunFolderError, SettingsError
from fedwalk.federation.flower import FlowerError, flwr
from fedwalk.federation.flower_guards.database import forget_ended_runs
from fedwalk.federation.folders import FederationFolder, HolderFolder
from fedwalk.federation.job import EVENTS, check_settings
from fedwalk.federation.locks import held, is_busy
from fedwalk.federation.private_file import write_text
from fedwalk.federation.processes import is_alive
from fedwalk.federation.registration import register_holders
from fedwalk.federation.service import is_running, last_words
from fedwalk.federation.shared_files import read_events, read_progress, read_run_id
from fedwalk.job import read_run
from fedwalk.run_folder import FREE_TO_CHANGE, PROGRESS, open_run_folder
from fedwalk.settings import Settings
from fedwalk.signals import postponed
from fedwalk.stages import Progress

POLL = 0.2
MOST_PATIENCE = 3600.0
"""More is refused by holders, who would be kept waiting."""
STARTING = 120.0
"""Seconds that the server may take to begin a run."""
ENDING = 60.0
"""Seconds that it may take to end one that was stopped."""


class RunError(FedWalkError):
    """A federated run broke off."""


def run(
    folder: FederationFolder, settings: Settings, output: Path, *, patience: float, force: bool = False,
    resume: bool = False, keep_walks: bool = False, need: int = 1, progress: Progress | None = None,
    local: Sequence[HolderFolder] = (),
) -> dict[str, Any]:  # fmt: skip
    """Have the server do a run, report its progress, return its record.

    `local` are holders on this machine: their own count of finished walks is shown, which the server doesn't know.
    """
    check_settings(settings)
    if not 0 < patience <= MOST_PATIENCE:
        raise SettingsError(f"patience = {patience:g}: must be above 0, and {MOST_PATIENCE:g} seconds at most.")
    _check_up(folder)
    job = {
        "federation": str(folder.path.resolve()), "output": str(output.resolve()), "patience": float(patience),
        "keep_walks": keep_walks, "need": need,
        "settings": {name: value for name, value in asdict(settings).items() if value is not None},
    }  # fmt: skip
    with _alone(folder):
        if resume:
            _check_resumable(output)
            if (output / "run.json").exists():
                return _finished(output, settings)
        open_run_folder(output, force=force, resume=resume)
        try:
            register_holders(folder)
        except FlowerError as error:
            warnings.warn(str(error), FedWalkWarning, stacklevel=2)
        with _started(folder, job) as events:
            _report(_follow(folder, events, local), progress)
    return read_run(output)


@contextmanager
def _alone(folder: FederationFolder) -> Iterator[None]:
    """Refuse a second run: beside a command that follows one, or beside one that nobody follows any more."""
    with held(folder.follow_lock) as free:
        if not free or is_busy(folder.run_lock):
            raise RunError(
                f"{folder.path}: another run is going on. Wait for it to end, or stop it: Ctrl-C in its window; if "
                f"that is gone, `fedwalk federate down {folder.path}` ends run and server."
            )
        yield


@contextmanager
def _started(folder: FederationFolder, job: dict[str, Any]) -> Iterator[Path]:
    """Flower's run of this job while the block follows it, by the file of its events; an interrupt stops it."""
    # It may have noticed by itself, or never have heard of that run.
    with suppress(FlowerError):
        _end_forgotten(folder)
    forget_ended_runs(folder.database)
    path = folder.path.resolve() / f"job-{secrets.token_hex(8)}.json"
    events = Path(job["output"]) / EVENTS
    events.unlink(missing_ok=True)
    write_text(path, json.dumps(job, indent=1))
    try:
        try:
            # A signal in between would leave a run whose id no one knows.
            with postponed():
                answer = flwr(folder, "run", str(folder.app.resolve()), "--run-config", f"job={json.dumps(str(path))}")
                write_text(folder.flower_run, str(answer["run-id"]))
            yield events
        except KeyboardInterrupt:
            _end_forgotten(folder)
            _await_end(folder)
            raise
        folder.flower_run.unlink(missing_ok=True)
    finally:
        path.unlink(missing_ok=True)
        events.unlink(missing_ok=True)


def _end_forgotten(folder: FederationFolder) -> None:
    """Tell Flower that a run is over which broke off: else its holders wait a minute for the rest of a question."""
    if folder.flower_run.exists():
        flwr(folder, "stop", read_run_id(folder.flower_run))
        folder.flower_run.unlink(missing_ok=True)


def _await_end(folder: FederationFolder) -> None:
    """Return when the server's part of a stopped run is gone, so that whoever resumes at once can."""
    end = time.monotonic() + ENDING
    while is_busy(folder.run_lock):
        if time.monotonic() > end:
            text = f"the server's part still computes after {ENDING:g} s; it ends with the stage. Resume then."
            warnings.warn(text, FedWalkWarning, stacklevel=2)
            return
        time.sleep(POLL)


def _report(events: Iterator[dict[str, Any]], progress: Progress | None) -> None:
    """Pass the run's progress on until it has ended."""
    for event in events:
        if "error" in event:
            raise RunError(f"{event['error']} Finished phases are kept: go on with --resume.")
        if progress is not None and "stage" in event:
            progress(event["stage"], event["done"], event["total"])


def _check_resumable(output: Path) -> None:
    """A slip in the folder's name would start another run, which costs what a run costs."""
    if not any((output / name).exists() for name in ("run.json", f"{PROGRESS}/manifest.json")):
        raise RunFolderError(f"{output}: there is no run to go on with. Check the name, or leave --resume out.")


def _finished(output: Path, settings: Settings) -> dict[str, Any]:
    """The record of a finished run, if it is the one that was asked for."""
    record = read_run(output)
    if not isinstance(record["settings"], dict) or not isinstance(record.get("federation"), dict):
        raise RunFolderError(f"{output}: its run.json isn't that of a federated run. Use --force to replace it.")
    for name, value in asdict(settings).items():
        old = record["settings"].get(name)
        if name in record["settings"] and name not in FREE_TO_CHANGE and value is not None and value != old:
            raise RunFolderError(f"{output}: is finished, with {name} = {old}; now it is {value}. Name another folder.")
    return record


def _check_up(folder: FederationFolder) -> None:
    if not is_running(folder.state):
        raise RunError(f"{folder.path}: its server isn't running. Start it: fedwalk federate server {folder.path}")


def _follow(folder: FederationFolder, events: Path, local: Sequence[HolderFolder]) -> Iterator[dict[str, Any]]:
    """Every event of the run up to its end; RunError if the server, or the process that does the run, ends before."""
    at, began, stage, pid = 0, time.time(), "", 0
    while True:
        alive = is_running(folder.state) and (is_alive(pid) if pid else time.time() < began + STARTING)
        arrived, at = read_events(events, at)
        for event in arrived:
            stage, pid = event.get("stage", stage), event.get("pid", pid)
            yield event
            if "ended" in event or "error" in event:
                return
        if not arrived and not alive:
            what = "the server has ended" if not is_running(folder.state) else "the server's part of the run has ended"
            raise RunError(f"{what}: {last_words(folder.log)}. Mend that, start it again, then go on with --resume.")
        if stage == "walks" and local:
            yield from _walking(local, began)
        time.sleep(POLL)


def _walking(local: Sequence[HolderFolder], began: float) -> Iterator[dict[str, Any]]:
    """How many walks have ended, by the holders' own count."""
    known = []
    for holder in local:
        # Only shown: a holder whose file can't be read isn't counted.
        with suppress(InputError):
            known.append(read_progress(holder.progress))
    current = [progress for progress in known if progress["began"] >= began]
    if total := sum(progress["begun"] for progress in current):
        done = sum(progress["finished"] for progress in current)
        yield {"stage": "walks", "done": min(done, total - 1), "total": total}
