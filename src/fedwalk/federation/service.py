"""A server or a holder as a process that runs until it is told to stop, and can be found by its folder.

The folder's state file says which process serves it and by what tag all that it started are known, so that `down` ends
them even if the command that started them was killed.
"""

import json
import re
import signal
import socket
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from fedwalk.errors import FedWalkError, FedWalkWarning, InputError
from fedwalk.federation.app_folder import app_digest, write_app
from fedwalk.federation.checked_json import read_json
from fedwalk.federation.descriptors import server_descriptors, shortage
from fedwalk.federation.enrolment import check_reachable
from fedwalk.federation.flower import FlowerError, start_superlink, start_supernode
from fedwalk.federation.flower_guards.database import compact
from fedwalk.federation.folders import FederationFolder, HolderFolder
from fedwalk.federation.installing import finish_install
from fedwalk.federation.log_file import shrink_log
from fedwalk.federation.members import write_members
from fedwalk.federation.passes import NEW_AUTHORITY, NEW_PASS, read_pass
from fedwalk.federation.private_file import write_text
from fedwalk.federation.processes import Started, is_free, stop, stop_tagged, tagged
from fedwalk.federation.registration import register_holders
from fedwalk.federation.roster import Roster
from fedwalk.federation.validity import check_validity
from fedwalk.signals import postponed, undisturbed

STARTING = 90.0
"""Seconds that a SuperLink may take to listen."""


class ServiceError(FedWalkError):
    """A server or a holder can't be started, or ended by itself."""


@contextmanager
def serving(folder: FederationFolder) -> Iterator[Started]:
    """The federation's server while the block runs: listening, with every admitted holder's key registered."""
    finish_install(folder.path)
    check_server_certificates(folder)
    write_app(folder.app)
    roster = Roster.load(folder.roster)
    write_members(folder.members, roster)
    if text := shortage(server_descriptors(len(roster.holders))):
        warnings.warn(text, FedWalkWarning, stacklevel=2)
    _check_free(folder.state, folder.settings().listen, folder.settings_file)
    if not is_running(folder.state):
        compact(folder.database)
    with _running(folder.state, folder.log, lambda: start_superlink(folder)) as started:
        await_listening(folder, started)
        try:
            register_holders(folder)
        except FlowerError as error:
            # The others can work; a run will say the same of whom it misses.
            warnings.warn(str(error), FedWalkWarning, stacklevel=2)
        yield started


@contextmanager
def holding(folder: HolderFolder) -> Iterator[Started]:
    """The holder while the block runs; it connects as soon as there is a server."""
    finish_install(folder.path)
    check_holder_certificates(folder)
    server = read_pass(folder.path / "pass.json").server
    digest = app_digest(write_app(folder.app))
    settings = folder.settings()
    check_reachable(settings)
    if "paper" in settings.terms.protocols:
        _check_free(folder.state, settings.listen, folder.settings_file)
    with _running(folder.state, folder.log, lambda: start_supernode(folder, server, digest)) as started:
        yield started


def check_server_certificates(folder: FederationFolder) -> None:
    """Refuse to start a server that every holder would refuse, because its certificate or its authority has ended."""
    own, renew = folder.credentials(), f"Renew it: fedwalk federate renew {folder.path}"
    check_validity(own.authority, f"{folder.path}/authority.pem: the federation's authority", f"{renew} --authority")
    check_validity(own.certificate, f"{folder.path}/server.pem: the server's certificate", renew)


def check_holder_certificates(folder: HolderFolder) -> None:
    """Refuse to start a holder that its server and the other holders would refuse."""
    own, then = folder.credentials(), f"Then: fedwalk federate holder {folder.path} --pass FILE"
    check_validity(own.certificate, f"{folder.path}/holder.pem: this holder's certificate", f"{NEW_PASS} {then}")
    check_validity(own.authority, f"{folder.path}/authority.pem: the federation's authority", NEW_AUTHORITY)


def _check_free(state: Path, listen: str, settings: Path) -> None:
    """Refuse a port that somebody else has, before anything is started."""
    if not is_running(state) and not is_free(listen):
        raise ServiceError(f"{listen}: is in use. Stop what uses it, or change `listen` in {settings}.")


@contextmanager
def _running(state: Path, log: Path, begin: Callable[[], Started]) -> Iterator[Started]:
    check_stopped(state)
    started: Started | None = None
    shrink_log(log)
    try:
        with postponed():
            started = begin()
            write_text(state, json.dumps({"pid": started.process.pid, "tag": started.tag, "log": str(log)}))
        yield started
    finally:
        if started is not None:
            with undisturbed():
                stop(started)
                state.unlink(missing_ok=True)


def check_stopped(state: Path) -> None:
    """Refuse while a process serves the folder of this state file."""
    if is_running(state):
        raise ServiceError(f"{state.parent}: runs already. Stop it with `fedwalk federate down {state.parent}`.")


def await_listening(folder: FederationFolder, started: Started) -> None:
    """Return when the server takes connections; its log says why if it doesn't."""
    host, _, text = folder.settings().listen.rpartition(":")
    # What listens on all addresses listens on this one too.
    host, port = host.strip("[]") if host not in ("0.0.0.0", "[::]") else "127.0.0.1", int(text)
    end = time.monotonic() + STARTING
    while time.monotonic() < end:
        if not started.running:
            raise ServiceError(f"the server ended with code {started.process.returncode}: {last_words(folder.log)}")
        try:
            socket.create_connection((host, port), timeout=1).close()
            return
        except OSError:
            time.sleep(0.1)
    raise ServiceError(f"the server doesn't listen on port {port} after {STARTING:g} s: {last_words(folder.log)}")


def last_words(log: Path, lines: int = 3) -> str:
    """The end of a log, and where the rest is."""
    try:
        text = log.read_text(encoding="utf-8", errors="replace").strip().splitlines()
    except OSError:
        text = []
    plain = [re.sub(r"\x1b\[[0-9;]*m", "", line).strip() for line in text]
    return " / ".join([line for line in plain if line][-lines:]) + f" (all of it: {log})"


def read_tag(state: Path) -> str | None:
    """The tag of the processes that serve a folder, if any do or did."""
    try:
        return str(read_json(state)["tag"])
    except (OSError, ValueError, KeyError, TypeError):
        return None


def is_running(state: Path) -> bool:
    """Whether a process serves the folder of this state file."""
    tag = read_tag(state)
    return tag is not None and bool(tagged(tag))


def state_of(path: Path) -> Path:
    """The state file of a federation's or a holder's folder."""
    for folder in (FederationFolder(path), HolderFolder(path)):
        if folder.settings_file.exists():
            return folder.state
    raise InputError(f"{path}: is neither a federation nor a holder (no federation.toml, no holder.toml).")


def down(path: Path) -> int:
    """End everything that serves this folder; returns how many processes there were."""
    state = state_of(path)
    tag = read_tag(state)
    ended = stop_tagged(tag) if tag else 0
    state.unlink(missing_ok=True)
    return ended


def until_stopped(started: Started, log: Path, meanwhile: Callable[[], None] = lambda: None) -> int:
    """Wait until the process ends or a signal asks to stop: its code, or 0 when asked. Keeps the log within bounds."""
    try:
        while started.running:
            meanwhile()
            shrink_log(log)
            time.sleep(0.2)
        meanwhile()
    except KeyboardInterrupt:
        return 0
    code = int(started.process.returncode or 0)
    return 0 if code in (-signal.SIGTERM, -signal.SIGINT) else code
