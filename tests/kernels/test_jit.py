"""Kernels compiled from the same loop with other parts inside are never taken for each other."""

import inspect
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from fedwalk.kernels.jit import kernel, specialised


def part() -> int:
    raise TypeError("a compiled copy has a kernel here")


def loop(times: int) -> int:
    total = 0
    for _ in range(times):
        total += part()
    return total


def make(value: int) -> Callable[..., Any]:
    @kernel
    def constant() -> int:
        return value

    return constant


def test_parts_from_one_factory_are_told_apart() -> None:
    assert [specialised(loop, part=make(value))(10) for value in (7, 11)] == [70, 110]


def test_parts_without_a_source_file_are_told_apart() -> None:
    for value in (5555, 7777):
        scope: dict[str, Any] = {}
        exec(f"def constant():\n    return {value}\n", {"__name__": "nowhere"}, scope)
        compiled = kernel_without_cache(scope["constant"])
        assert specialised(loop, part=compiled)(2) == 2 * value


NOTEBOOK = """
from fedwalk.kernels.jit import specialised
import numba, notebook_loop
scope = {}
exec("def constant(): return 21", {"__name__": "nowhere"}, scope)
print(specialised(notebook_loop.loop, part=numba.njit(scope["constant"]))(2))
"""


def test_what_was_made_on_the_fly_is_not_looked_for_by_the_next_process(tmp_path: Path) -> None:
    (tmp_path / "notebook_loop.py").write_text(inspect.getsource(loop))
    environment = {**os.environ, "PYTHONPATH": str(tmp_path), "NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    for _ in range(2):
        command = [sys.executable, "-c", NOTEBOOK]
        assert subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout == "42\n"


def kernel_without_cache(function: Callable[..., Any]) -> Callable[..., Any]:
    """Numba can't cache what has no file."""
    import numba

    compiled: Callable[..., Any] = numba.njit(function)
    return compiled


def test_constants_are_told_apart() -> None:
    assert specialised(scale, FACTOR=3)(5) == 15
    assert specialised(scale, FACTOR=4)(5) == 20


FACTOR = 1


def scale(x: int) -> int:
    return x * FACTOR
