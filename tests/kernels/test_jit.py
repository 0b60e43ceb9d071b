"""The cache never confuses two kernels, and never returns one that is older than a source it depends on."""

import inspect
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import fedwalk
from fedwalk.kernels.jit import kernel, kernel_sources, specialised

PACKAGE = Path(fedwalk.__file__).parent


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


def test_parts_from_one_factory_are_distinguished() -> None:
    assert [specialised(loop, part=make(value))(10) for value in (7, 11)] == [70, 110]


def test_parts_without_a_source_file_are_distinguished() -> None:
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


def test_kernels_without_a_source_file_are_not_cached_for_the_next_process(tmp_path: Path) -> None:
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


def test_constants_are_distinguished() -> None:
    assert specialised(scale, FACTOR=3)(5) == 15
    assert specialised(scale, FACTOR=4)(5) == 20


FACTOR = 1


def scale(x: int) -> int:
    return x * FACTOR


def test_every_file_with_a_kernel_is_part_of_the_digest() -> None:
    users = {file for file in PACKAGE.rglob("*.py") if "kernels.jit import" in file.read_text(encoding="utf-8")}
    assert {file.parent.name for file in users} >= {"kernels", "predictors"}
    assert users <= set(kernel_sources())


DRAW = """
import numpy as np
from fedwalk.protocols.paper.predictors.triad import NoTables, extend
print(extend(NoTables(9), np.arange(9, dtype=np.int32), 8, np.uint64(2**63), np.uint64(0)))
"""


def test_a_kernel_is_compiled_again_when_one_that_it_calls_changes_in_another_file(tmp_path: Path) -> None:
    copy = tmp_path / "fedwalk"
    shutil.copytree(PACKAGE, copy, ignore=shutil.ignore_patterns("__pycache__"))
    environment = {**os.environ, "PYTHONPATH": str(tmp_path), "NUMBA_CACHE_DIR": str(tmp_path / "cache")}

    def drawn() -> int:
        command = [sys.executable, "-c", DRAW]
        return int(subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout)

    assert drawn() == 4
    source = copy / "kernels" / "random.py"
    text = source.read_text(encoding="utf-8")
    assert "2.0**-53" in text
    source.write_text(text.replace("2.0**-53", "2.0**-54"), encoding="utf-8")
    assert drawn() == 2


CALLER = """
from fedwalk.kernels.jit import kernel, specialised
import called, loops

@kernel
def extend():
    return {body}

{late}
print(extend(), specialised(loops.loop, part=extend)(2))
"""


@pytest.mark.parametrize("late", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_a_users_kernel_is_compiled_again_when_one_that_it_calls_changes(tmp_path: Path, late: bool) -> None:
    """Also one that the user's module defines after the kernel that calls it."""
    (tmp_path / "loops.py").write_text(inspect.getsource(loop))
    (tmp_path / "caller.py").write_text(
        CALLER.format(body="later() + 1", late="from called import value as later")
        if late
        else CALLER.format(body="value() + 1", late="").replace("import called,", "from called import value\nimport")
    )
    environment = {**os.environ, "PYTHONPATH": str(tmp_path), "NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    for value in (1, 1000):
        text = f"from fedwalk.kernels.jit import kernel\n\n@kernel\ndef value():\n    return {value}\n"
        (tmp_path / "called.py").write_text(text)
        command = [sys.executable, "-c", "import caller"]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
        assert done.stdout == f"{value + 1} {2 * value + 2}\n"
