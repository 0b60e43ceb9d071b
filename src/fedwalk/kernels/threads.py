"""Threads over kernels that release the interpreter lock: tasks in order, progress, a clean interrupt."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from itertools import pairwise
from typing import TypeVar

import numpy as np

T = TypeVar("T")
Report = Callable[[int, int], None]
"""Told (done, total) as a stage goes on; the units are the stage's own."""


def silent(done: int, total: int) -> None:
    """A report that nobody reads."""


def run_tasks(
    tasks: Sequence[Callable[[], T]],
    threads: int,
    report: Report = silent,
    costs: Sequence[int] | None = None,
) -> list[T]:
    """Run the tasks on `threads` threads, the costliest first; results in the tasks' own order."""
    weights = costs if costs is not None else [1] * len(tasks)
    order = sorted(range(len(tasks)), key=lambda i: -weights[i])
    results: dict[int, T] = {}
    total, done = sum(weights), 0
    report(0, total)
    with ThreadPoolExecutor(threads) if threads > 1 and len(tasks) > 1 else nullcontext() as pool:
        waiting = [(i, pool.submit(tasks[i]).result if pool else tasks[i]) for i in order]
        try:
            for i, result in waiting:
                results[i] = result()
                done += weights[i]
                report(done, total)
        except BaseException:
            if pool:
                pool.shutdown(cancel_futures=True)
            raise
    return [results[i] for i in range(len(tasks))]


def ranges(count: int, pieces: int) -> list[tuple[int, int]]:
    """0 … count cut into at most `pieces` neighbouring ranges of nearly equal length, none empty."""
    cuts = np.linspace(0, count, min(max(pieces, 1), max(count, 1)) + 1).astype(int)
    return [(int(a), int(b)) for a, b in pairwise(cuts) if b > a]
