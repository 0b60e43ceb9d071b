"""A federation of real processes for the tests: a SuperLink, SuperNodes and the processes that they start."""

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from textwrap import indent
from typing import Any

import pytest

from fedwalk.federation.deploy import flower_commands as flower
from fedwalk.federation.deploy.follow_run import run
from fedwalk.federation.deploy.local_federation import LocalFederation, make_federation
from fedwalk.federation.deploy.processes import Started, stop_tagged, tagged
from fedwalk.federation.deploy.services import running_holder, running_server
from fedwalk.federation.membership.folders import HolderFolder
from fedwalk.graph import Graph
from fedwalk.settings import Settings
from fedwalk.util.signals import interruptible

PATIENCE = 25.0
"""Seconds: several times what four processes need to start on two busy cores."""
UNHURRIED = 100.0
"""The same where no holder may be lost: waiting costs nothing there, and a machine may be very slow."""
CONNECTED = "SuperNode ID:"
Watch = Callable[[str, int, int], None]


@dataclass
class Running:
    """A running federation whose processes a test can kill and start again."""

    federation: LocalFederation
    server: ExitStack = field(default_factory=ExitStack)
    holders: dict[str, ExitStack] = field(default_factory=dict)
    started: dict[str, Started] = field(default_factory=dict)
    changing: threading.Lock = field(default_factory=threading.Lock)
    """Held while a party is killed or started. A thread may kill one, and the test sees that its process has ended
    before that thread has closed its stack: without the lock it would close the stack of the party's next process."""

    def start_server(self) -> None:
        with self.changing:
            self.server = ExitStack()
            self.started["server"] = self.server.enter_context(running_server(self.federation.server))

    def start_holder(self, name: str) -> None:
        """Start a holder, or restart it."""
        with self.changing:
            if name in self.holders:
                self.holders[name].close()
            self.holders[name] = ExitStack()
            self.started[name] = self.holders[name].enter_context(running_holder(self.folder(name)))

    def start_all(self) -> None:
        self.start_server()
        for holder in self.federation.holders:
            self.start_holder(holder.path.name)

    def bring_back(self, *names: str) -> None:
        """Start holders that were killed, and wait until the server accepts them, which may take 20 seconds."""
        logs = {name: self.folder(name).log for name in names}
        before = {name: log.read_text(errors="replace").count(CONNECTED) for name, log in logs.items()}
        for name in names:
            self.start_holder(name)
        end = time.monotonic() + UNHURRIED
        for name, log in logs.items():
            while log.read_text(errors="replace").count(CONNECTED) == before[name]:
                alive = self.started[name].running and time.monotonic() < end
                assert alive, log.read_text(errors="replace")[-2000:]
                time.sleep(0.1)

    def folder(self, name: str) -> HolderFolder:
        return next(holder for holder in self.federation.holders if holder.path.name == name)

    def kill(self, name: str) -> None:
        """Kill a party's process and all that it started with SIGKILL."""
        with self.changing:
            for process in tagged(self.started[name].tag):
                with suppress(ProcessLookupError):
                    os.kill(process.pid, signal.SIGKILL)
            stop_tagged(self.started[name].tag, grace=0)
            (self.server if name == "server" else self.holders[name]).close()

    def stop(self) -> None:
        with self.changing, ExitStack() as stack:
            for one in (self.server, *self.holders.values()):
                stack.callback(one.close)

    def run(self, settings: Settings, output: Path, watch: Watch | None = None, **options: Any) -> dict[str, Any]:
        options = {"patience": PATIENCE, "keep_walks": True, **options}
        return run(self.federation.server, settings, output, on_progress=watch, **options).as_dict()


HOOK = """
def install():
    import builtins, sys

{body}

    real = builtins.__import__

    def hooked(name, *rest, **options):
        imported = real(name, *rest, **options)
        module = sys.modules.get({module!r})
        if module is not None and hasattr(module, {attribute!r}) and not hasattr(module, "hooked"):
            module.hooked = True
            change(module)
        return imported

    builtins.__import__ = hooked

install()
"""


def hook(module: str, attribute: str, body: str) -> str:
    """Code for `inject`: calls the body's `change(module)` as soon as the module has this attribute.

    Several such pieces of code can follow each other.
    """
    return HOOK.format(module=module, attribute=attribute, body=indent(body.strip(), "    "))


def inject(path: Path, code: str) -> str:
    """A folder for PYTHONPATH whose `sitecustomize` is this code, which every Python process runs first."""
    path.mkdir(parents=True, exist_ok=True)
    (path / "sitecustomize.py").write_text(code, encoding="utf-8")
    return str(path)


def pass_on(patch: pytest.MonkeyPatch, **variables: str) -> None:
    """Give Flower's processes these variables, which fedwalk would otherwise remove."""
    for name, value in variables.items():
        patch.setenv(name, value)
    patch.setattr(flower, "PASSED_ON", (*flower.PASSED_ON, *variables))


@contextmanager
def running(
    path: Path,
    graph: Graph,
    seed: int | None = None,
    prepare: Callable[[Running], None] = lambda _: None,
    holders: int = 4,
) -> Iterator[Running]:
    """Run a federation during the block, and check that no process is left afterwards."""
    up = Running(make_federation(path, graph, holders, seed))
    prepare(up)
    # SIGTERM must stop these processes too.
    with interruptible():
        try:
            up.start_all()
            yield up
        finally:
            up.stop()
    assert not [process for started in up.started.values() for process in tagged(started.tag)]


def once(stage: str, act: Callable[[], None]) -> Watch:
    """A progress callback that acts when the run reaches this stage for the first time."""
    seen: list[str] = []

    def watch(name: str, done: int, total: int) -> None:
        if name == stage and not seen:
            seen.append(name)
            act()

    return watch
