"""Runs the stages of a run: each is computed once, timed, counted, and kept, so that an interrupted run can resume.

A `StageRunner` is given a stage and a function that computes it. A value that was passed in, or that a store has from
an earlier attempt, is used instead.
"""

import sys
import time
from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, Protocol, TypeVar

from fedwalk.protocols.stages import Stage
from fedwalk.protocols.transcript import Transcript
from fedwalk.util.parallel import Progress

T = TypeVar("T")
StageProgress = Callable[[str, int, int], None]
"""Called with (stage, done, total) during a run."""


def ignore_progress(stage: str, done: int, total: int) -> None:
    """A StageProgress that does nothing."""


@dataclass(frozen=True, slots=True)
class Account:
    """The cost of a finished stage: seconds, messages, and the peak memory of the process at its end."""

    seconds: float
    transcript: Transcript
    peak_rss_bytes: int | None = None


def peak_rss_bytes() -> int | None:
    """The peak memory of this process, or None if the system doesn't report it.

    Linux is asked for the process's own high-water mark: `getrusage` there counts what the process that started this
    one held at that moment, so a run started from a large notebook would include the notebook's memory.
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
    # macOS reports bytes, other systems kilobytes.
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


class Store(Protocol):
    """Where finished stages are kept between attempts."""

    def finished(self) -> dict[str, Account]:
        """The stages done so far, by name."""
        ...

    def has(self, stage: Stage[Any]) -> bool:
        """Whether the stage's value can be loaded."""
        ...

    def load(self, stage: Stage[T]) -> T:
        """The stage's value."""
        ...

    def save(self, stage: Stage[T], value: T | None, account: Account) -> None:
        """Store a finished stage; `value` is None if only the account is to be stored."""
        ...


@dataclass(slots=True)
class StageRunner:
    """Runs stages in order and keeps their values and accounts."""

    store: Store | None = None
    on_progress: StageProgress | None = None
    values: dict[str, Any] = field(default_factory=dict)
    accounts: dict[str, Account] = field(default_factory=dict)
    transcript: Transcript = field(default_factory=Transcript)

    def __post_init__(self) -> None:
        if self.store is not None:
            self.accounts.update(self.store.finished())

    def has(self, stage: Stage[Any]) -> bool:
        """Whether the value is available without computing it."""
        return stage.name in self.values or (self.store is not None and self.store.has(stage))

    def get(self, stage: Stage[T]) -> T:
        """The value of an available stage, loaded from the store if necessary."""
        if stage.name not in self.values and self.store is not None:
            self.values[stage.name] = self.store.load(stage)
            self.announce(stage.name, 1, 1)
        value: T = self.values[stage.name]
        return value

    def run(self, stage: Stage[T], compute: Callable[[Progress], T], *, keep: bool = True) -> T:
        """The stage's value: passed in, stored, or computed now; with `keep=False` only its account is stored."""
        if self.has(stage):
            return self.get(stage)
        value, account = self._compute(stage.name, compute)
        # After an interrupt, a value that isn't stored is computed again; its messages and seconds count only once.
        self.accounts.setdefault(stage.name, account)
        if self.store is not None:
            self.store.save(stage, value if keep else None, self.accounts[stage.name])
        self.values[stage.name] = value
        return value

    def drop(self, stage: Stage[Any]) -> None:
        """Free the memory of a value that no later stage needs."""
        self.values.pop(stage.name, None)

    def _compute(self, name: str, compute: Callable[[Progress], T]) -> tuple[T, Account]:
        self.announce(name, 0, 1)
        # The transcript counts over all stages, so a stage's own messages are the difference.
        before, began = deepcopy(self.transcript), time.perf_counter()
        value = compute(partial(self.announce, name))
        self.announce(name, 1, 1)
        return value, Account(time.perf_counter() - began, self.transcript.since(before), peak_rss_bytes())

    def announce(self, name: str, done: int, total: int) -> None:
        """Pass progress on to the caller's callback."""
        if self.on_progress is not None:
            self.on_progress(name, done, total)

    def total(self) -> Transcript:
        """The messages of all stages, including those of earlier attempts, in the protocol's order."""
        total = Transcript(
            {phase: replace(entry, count=0, bytes=0) for phase, entry in self.transcript.traffic.items()}
        )
        for account in self.accounts.values():
            total.add(account.transcript)
        return total

    def seconds(self) -> dict[str, float]:
        """Seconds per stage."""
        return {name: account.seconds for name, account in self.accounts.items()}

    def peaks(self) -> dict[str, int]:
        """The peak memory at the end of each stage, if the system reports it."""
        peaks = {name: account.peak_rss_bytes for name, account in self.accounts.items()}
        return {name: peak for name, peak in peaks.items() if peak is not None}
