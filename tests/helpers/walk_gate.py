"""Gates in real federations: a fault "during the walks" or "in a phase" must not depend on the machine's speed.

While the gate in the walks is closed, no token moves after each holder's first step: the walks can't end, but holders
still send what they have, answer each other's calls and write their progress. The server can also be made to wait in a
phase, after it has announced it.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from helpers.flower_federation import hook, inject, pass_on

_VARIABLE = "FEDWALK_TEST_GATE"
_CODE = f"""
import os, time

def change(engine):
    advance, walking = engine.WalkEngine.advance, set()

    def gated(self, *given):
        while self in walking and os.path.exists(os.environ["{_VARIABLE}"]):
            time.sleep(0.02)
        walking.add(self)
        return advance(self, *given)

    engine.WalkEngine.advance = gated
"""

_SERVER_CODE = f"""
import os, time

def change(stages):
    announce = stages.StageRunner.announce

    def gated(self, name, *given):
        announce(self, name, *given)
        while os.path.exists(os.environ["{_VARIABLE}"] + "-" + name):
            time.sleep(0.02)

    stages.StageRunner.announce = gated
"""


@dataclass(frozen=True)
class WalkGate:
    """The gate in the walks is closed while this file exists."""

    file: Path

    def close(self) -> None:
        self.file.touch()

    def open(self) -> None:
        self.file.unlink(missing_ok=True)

    @contextmanager
    def server_held_in(self, phase: str) -> Iterator[None]:
        """During the block, a server that announces this phase goes no further."""
        file = self.file.with_name(f"{self.file.name}-{phase}")
        file.touch()
        try:
            yield
        finally:
            file.unlink()


@contextmanager
def walk_gate(path: Path) -> Iterator[WalkGate]:
    """A gate, at first open, for all processes of federations that are started in the block."""
    with pytest.MonkeyPatch.context() as patch:
        hooks = hook("fedwalk.federation.walking.engine", "WalkEngine", _CODE)
        hooks += hook("fedwalk.run.stages", "StageRunner", _SERVER_CODE)
        code = inject(path, hooks)
        gate = WalkGate(path / "closed")
        pass_on(patch, PYTHONPATH=code, **{_VARIABLE: str(gate.file)})
        try:
            yield gate
        finally:
            gate.open()
