"""Threads over kernels that release the interpreter lock: tasks in order, progress, a clean interrupt."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
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
    """Run the tasks on `threads` threads; results in the tasks' order, whichever ends first."""
    weights = costs if costs is not None else [1] * len(tasks)
    total, done, results = sum(weights), 0, []
    report(0, total)
    if threads <= 1 or len(tasks) <= 1:
        for task, weight in zip(tasks, weights, strict=True):
            results.append(task())
            done += weight
            report(done, total)
        return results
    with ThreadPoolExecutor(threads) as pool:
        futures = [pool.submit(task) for task in tasks]
        try:
            for future, weight in zip(futures, weights, strict=True):
                results.append(future.result())
                done += weight
                report(done, total)
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise
    return results


def ranges(count: int, pieces: int) -> list[tuple[int, int]]:
    """0 … count cut into at most `pieces` neighbouring ranges of nearly equal length, none empty."""
    cuts = np.linspace(0, count, min(max(pieces, 1), max(count, 1)) + 1).astype(int)
    return [(int(a), int(b)) for a, b in pairwise(cuts) if b > a]
