"""Run tasks on threads, with progress and a clean interrupt.

Threads are enough: the tasks are kernels, which release the interpreter's lock, and threads share their arrays.
"""

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from itertools import pairwise
from typing import TypeVar

T = TypeVar("T")
Progress = Callable[[int, int], None]
"""A callback (done, total) that a stage calls as it advances; the unit depends on the stage."""


def silent(done: int, total: int) -> None:
    """Ignore progress."""


def run_tasks(
    tasks: Sequence[Callable[[], T]],
    threads: int,
    on_progress: Progress = silent,
    costs: Sequence[int] | None = None,
) -> list[T]:
    """Run the tasks on `threads` threads; results are in the order of the tasks.

    The costliest tasks start first, so that no thread is left with a long one at the end. `costs` are also the units of
    progress. If a task fails or the user interrupts, tasks that haven't started are cancelled.
    """
    weights = costs if costs is not None else [1] * len(tasks)
    order = sorted(range(len(tasks)), key=lambda i: -weights[i])
    results: dict[int, T] = {}
    total, done = sum(weights), 0
    on_progress(0, total)
    with ThreadPoolExecutor(threads) if threads > 1 and len(tasks) > 1 else nullcontext() as pool:
        # With one thread the tasks run here, one by one, when their results are asked for.
        waiting = [(i, pool.submit(tasks[i]).result if pool else tasks[i]) for i in order]
        try:
            for i, result in waiting:
                results[i] = result()
                done += weights[i]
                on_progress(done, total)
        # BaseException, because KeyboardInterrupt must not wait for the whole queue either.
        except BaseException:
            if pool:
                pool.shutdown(cancel_futures=True)
            raise
    return [results[i] for i in range(len(tasks))]


def ranges(count: int, pieces: int) -> list[tuple[int, int]]:
    """Split 0 … count into at most `pieces` consecutive ranges of nearly equal length, none of them empty."""
    pieces = min(max(pieces, 1), max(count, 1))
    cuts = [*(int(i * (count / pieces)) for i in range(pieces)), count]
    return [(a, b) for a, b in pairwise(cuts) if b > a]


def available_cores() -> int:
    """The cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
