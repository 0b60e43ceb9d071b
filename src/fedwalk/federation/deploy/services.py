"""Runs a server or a holder until it is told to stop.

The folder's state file has the tag of all processes that serve the folder, so `down` can end them even if the command
that started them was killed.
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
from fedwalk.federation.app_folder import write_app
from fedwalk.federation.deploy.flower_commands import FlowerError, start_superlink, start_supernode
from fedwalk.federation.deploy.ports import is_free
from fedwalk.federation.deploy.processes import Started, stop, stop_tagged, tagged
from fedwalk.federation.deploy.registration import register_holders
from fedwalk.federation.flower_guards.app_bundle import app_digest
from fedwalk.federation.flower_guards.database import delete_ended_runs
from fedwalk.federation.membership.admission import check_reachable
from fedwalk.federation.membership.folders import FederationFolder, HolderFolder
from fedwalk.federation.membership.members import write_members
from fedwalk.federation.membership.passes import NEW_AUTHORITY, NEW_PASS, read_pass
from fedwalk.federation.membership.roster import Roster
from fedwalk.federation.membership.validity import check_validity
from fedwalk.federation.wire.descriptors import server_descriptors, shortage
from fedwalk.util.checked_json import read_json
from fedwalk.util.files import write_private
from fedwalk.util.install_files import finish_install
from fedwalk.util.log_file import shrink_log
from fedwalk.util.signals import postponed, undisturbed

START_TIMEOUT = 90.0
"""Seconds that a SuperLink may take until it listens."""
POLL = 0.2
"""Seconds between two checks whether a process is still running."""


class ServiceError(FedWalkError):
    """A server or a holder can't be started, or ended by itself."""


@contextmanager
def running_server(folder: FederationFolder) -> Iterator[Started]:
    """Run the federation's server during the block: it listens, and every admitted holder is registered."""
    # First, so that the checks see the certificates of a renewal that was interrupted.
    finish_install(folder.path)
    check_server_certificates(folder)
    # At each start, because an upgrade of fedwalk may have changed the app.
    write_app(folder.app)
    roster = Roster.load(folder.roster)
    write_members(folder.members, roster)
    if text := shortage(server_descriptors(len(roster.holders))):
        warnings.warn(text, FedWalkWarning, stacklevel=2)
    _check_free(folder.state, folder.settings().listen, folder.settings_file)
    # Only while no SuperLink has the database open; _running_process refuses a second one.
    if not is_running(folder.state):
        delete_ended_runs(folder.database, compact=True)
    with _running_process(folder.state, folder.log, lambda: start_superlink(folder)) as started:
        await_listening(folder, started)
        try:
            register_holders(folder)
        except FlowerError as error:
            # The other holders can take part, and a run names those that are missing.
            warnings.warn(str(error), FedWalkWarning, stacklevel=2)
        yield started


@contextmanager
def running_holder(folder: HolderFolder) -> Iterator[Started]:
    """Run the holder during the block; it connects as soon as the server answers."""
    finish_install(folder.path)
    check_holder_certificates(folder)
    server = read_pass(folder.own_pass).server
    digest = app_digest(write_app(folder.app))
    settings = folder.settings()
    check_reachable(settings)
    # The port serves only protocols in which devices send each other messages.
    if settings.terms.need_address:
        _check_free(folder.state, settings.listen, folder.settings_file)
    with _running_process(folder.state, folder.log, lambda: start_supernode(folder, server, digest)) as started:
        yield started


def check_server_certificates(folder: FederationFolder) -> None:
    """Refuse to start a server whose certificate or authority has expired: every holder would refuse it."""
    own, renew = folder.credentials(), f"Renew it: fedwalk federate renew {folder.path}"
    check_validity(own.authority, f"{folder.authority}: the federation's authority", f"{renew} --authority")
    check_validity(own.certificate, f"{folder.certificate}: the server's certificate", renew)


def check_holder_certificates(folder: HolderFolder) -> None:
    """Refuse to start a holder whose certificate or authority has expired: every other party would refuse it."""
    own, then = folder.credentials(), f"Then: fedwalk federate holder {folder.path} --pass FILE"
    check_validity(own.certificate, f"{folder.certificate}: this holder's certificate", f"{NEW_PASS} {then}")
    check_validity(own.authority, f"{folder.authority}: the federation's authority", NEW_AUTHORITY)


def _check_free(state: Path, listen: str, settings: Path) -> None:
    """Refuse to start anything if another process uses the port."""
    # If this folder's own process uses the port, `check_stopped` raises a better error later.
    if not is_running(state) and not is_free(listen):
        raise ServiceError(
            f"{listen}: is in use, or isn't an address of this machine. Stop what uses it, or change `listen` in "
            f"{settings}."
        )


@contextmanager
def _running_process(state: Path, log: Path, begin: Callable[[], Started]) -> Iterator[Started]:
    """Start a process for the block, and write its state file; afterwards stop it with all that it started."""
    check_stopped(state)
    started: Started | None = None
    shrink_log(log)
    try:
        # A signal between the two steps would leave processes whose tag isn't written down.
        with postponed():
            started = begin()
            write_private(state, json.dumps({"pid": started.process.pid, "tag": started.tag, "log": str(log)}))
        yield started
    finally:
        if started is not None:
            with undisturbed():
                stop(started)
                # After the processes have ended: until then `down` needs the tag.
                state.unlink(missing_ok=True)


def check_stopped(state: Path) -> None:
    """Raise ServiceError while a process serves the folder of this state file."""
    if is_running(state):
        raise ServiceError(f"{state.parent}: is already running. Stop it with `fedwalk federate down {state.parent}`.")


def await_listening(folder: FederationFolder, started: Started) -> None:
    """Wait until the server accepts connections; ServiceError with the end of its log if it doesn't."""
    host, _, text = folder.settings().listen.rpartition(":")
    # A server on all interfaces listens on loopback too.
    host, port = host.strip("[]") if host not in ("0.0.0.0", "[::]") else "127.0.0.1", int(text)
    end = time.monotonic() + START_TIMEOUT
    while time.monotonic() < end:
        if not started.running:
            raise ServiceError(f"the server ended with code {started.process.returncode}: {log_tail(folder.log)}")
        try:
            socket.create_connection((host, port), timeout=1).close()
            return
        except OSError:
            time.sleep(0.1)
    raise ServiceError(f"the server doesn't listen on port {port} after {START_TIMEOUT:g} s: {log_tail(folder.log)}")


def log_tail(log: Path, lines: int = 3) -> str:
    """The last lines of a log without terminal colours, and the path of the whole log."""
    try:
        text = log.read_text(encoding="utf-8", errors="replace").strip().splitlines()
    except OSError:
        text = []
    plain = [re.sub(r"\x1b\[[0-9;]*m", "", line).strip() for line in text]
    return " / ".join([line for line in plain if line][-lines:]) + f" (full log: {log})"


def read_tag(state: Path) -> str | None:
    """The tag of the processes that serve a folder, or that served it until they were killed; None if there is none."""
    try:
        return str(read_json(state)["tag"])
    except (OSError, ValueError, KeyError, TypeError):
        return None


def is_running(state: Path) -> bool:
    """Whether a process serves the folder of this state file."""
    tag = read_tag(state)
    # By the tag: the system may have given the process id to another process.
    return tag is not None and bool(tagged(tag))


def state_file(path: Path) -> Path:
    """The state file of a federation's or a holder's folder."""
    for folder in (FederationFolder(path), HolderFolder(path)):
        if folder.settings_file.exists():
            return folder.state
    raise InputError(
        f"{path}: is neither a federation nor a holder (no federation.toml, no holder.toml). Name a folder that "
        "`fedwalk federate init` or `enrol` made."
    )


def stop_service(path: Path) -> int:
    """End every process that serves this folder; returns their number."""
    state = state_file(path)
    tag = read_tag(state)
    num_ended = stop_tagged(tag) if tag else 0
    state.unlink(missing_ok=True)
    return num_ended


def wait_until_stopped(
    started: Started,
    log: Path,
    on_poll: Callable[[], None] = lambda: None,
    *,
    on_start: Callable[[], None] = lambda: None,
) -> int:
    """Wait until the process ends or a signal asks to stop, and keep the log within its bounds.

    Returns the process's exit code, or 0 if it was asked to stop. `on_poll` is called several times a second.
    `on_start` is called first, for output that says that the service is running.
    """
    try:
        # A caller that has read this output may send SIGTERM at once, which must already count as a request to stop.
        on_start()
        while started.running:
            on_poll()
            shrink_log(log)
            time.sleep(POLL)
        # Once more, for what the process wrote between the last poll and its end.
        on_poll()
    except KeyboardInterrupt:
        return 0
    # `down` ends the process by SIGTERM, which is no failure.
    code = int(started.process.returncode or 0)
    return 0 if code in (-signal.SIGTERM, -signal.SIGINT) else code
