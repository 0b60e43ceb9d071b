"""A gate in the walk phase of real holders: while it is closed, no token moves after each holder's first step.

A fault "during the walks" must not depend on how fast the machine walks. A closed gate keeps the walks from ending, but
holders still send what they have, answer each other's calls and write their progress.
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


@dataclass(frozen=True)
class WalkGate:
    """The gate is closed while this file exists."""

    file: Path

    def close(self) -> None:
        self.file.touch()

    def open(self) -> None:
        self.file.unlink(missing_ok=True)


@contextmanager
def walk_gate(path: Path) -> Iterator[WalkGate]:
    """A gate, at first open, for all holders that are started in the block."""
    with pytest.MonkeyPatch.context() as patch:
        code = inject(path, hook("fedwalk.federation.walking.engine", "WalkEngine", _CODE))
        gate = WalkGate(path / "closed")
        pass_on(patch, PYTHONPATH=code, **{_VARIABLE: str(gate.file)})
        try:
            yield gate
        finally:
            gate.open()
