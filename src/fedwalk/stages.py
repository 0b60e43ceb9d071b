"""Stages of a run: each is computed once, timed, counted, and kept, so that a run can be broken off and resumed.

A `Stages` object is asked for a stage by name and a function that computes it. A value that was passed in, or that a
store has from an earlier attempt, is taken instead.
"""

import sys
import time
from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Protocol, TypeVar, cast

from fedwalk.kernels.threads import Report
from fedwalk.protocol.transcript import Transcript

T = TypeVar("T")
Progress = Callable[[str, int, int], None]
"""Told (stage, done, total) as a run goes on."""


@dataclass(frozen=True, slots=True)
class Account:
    """What a finished stage took: seconds, the messages it sent, the most memory the process had held by its end."""

    seconds: float
    transcript: Transcript
    peak_rss_bytes: int | None = None


def peak_rss_bytes() -> int | None:
    """The most memory this process has held, or None where the system doesn't say.

    Linux is asked for the process's own high-water mark: `getrusage` there counts what the process that started this
    one held at that moment, so a run started from a large notebook would be charged for the notebook.
    """
    try:
        own = Path("/proc/self/status").read_text(encoding="ascii", errors="replace")
        return 1024 * int(own.split("VmHWM:")[1].split()[0])
    except (OSError, IndexError, ValueError):
        return _peak_by_usage()


def _peak_by_usage() -> int | None:
    try:
        import resource
    except ImportError:
        return None
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


class Store(Protocol):
    """Where finished stages are kept between attempts."""

    def finished(self) -> dict[str, Account]:
        """The stages done so far."""
        ...

    def has(self, stage: str) -> bool:
        """Whether the stage's value can be loaded."""
        ...

    def load(self, stage: str) -> Any:
        """The stage's value."""
        ...

    def save(self, stage: str, value: Any, account: Account) -> None:
        """Keep a finished stage; `value` is None where only the account is kept."""
        ...


@dataclass(slots=True)
class Stages:
    """Runs stages in order and remembers their values and accounts."""

    store: Store | None = None
    progress: Progress | None = None
    values: dict[str, Any] = field(default_factory=dict)
    accounts: dict[str, Account] = field(default_factory=dict)
    transcript: Transcript = field(default_factory=Transcript)

    def __post_init__(self) -> None:
        if self.store is not None:
            self.accounts.update(self.store.finished())

    def has(self, name: str) -> bool:
        """Whether the value is at hand without computing."""
        return name in self.values or (self.store is not None and self.store.has(name))

    def get(self, name: str) -> Any:
        """The value of a stage that is at hand, loaded if need be."""
        if name not in self.values and self.store is not None:
            self.values[name] = self.store.load(name)
            self.report(name, 1, 1)
        return self.values[name]

    def run(self, name: str, compute: Callable[[Report], T], *, keep: bool = True) -> T:
        """The stage's value: passed in, stored, or computed now. `keep=False` stores its account alone."""
        if self.has(name):
            return cast(T, self.get(name))
        value, account = self._compute(name, compute)
        # A value that isn't stored may have to be computed again after an interrupt; it counts once.
        self.accounts.setdefault(name, account)
        if self.store is not None:
            self.store.save(name, value if keep else None, self.accounts[name])
        self.values[name] = value
        return value

    def _compute(self, name: str, compute: Callable[[Report], T]) -> tuple[T, Account]:
        self.report(name, 0, 1)
        before, began = deepcopy(self.transcript), time.perf_counter()
        value = compute(partial(self.report, name))
        self.report(name, 1, 1)
        return value, Account(time.perf_counter() - began, self.transcript.since(before), peak_rss_bytes())

    def report(self, name: str, done: int, total: int) -> None:
        """Tell whoever listens."""
        if self.progress is not None:
            self.progress(name, done, total)

    def total(self) -> Transcript:
        """All messages of all stages, those of earlier attempts included."""
        total = Transcript()
        for account in self.accounts.values():
            total.add(account.transcript)
        return total

    def seconds(self) -> dict[str, float]:
        """Seconds per stage."""
        return {name: account.seconds for name, account in self.accounts.items()}

    def peaks(self) -> dict[str, int]:
        """The most memory held by the end of each stage, where the system says."""
        found = {name: account.peak_rss_bytes for name, account in self.accounts.items()}
        return {name: peak for name, peak in found.items() if peak is not None}
