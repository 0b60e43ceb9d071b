"""How every kernel is compiled: cached between runs, without the interpreter lock, checked types kept.

Numba notices when a kernel's own file changes, not when a kernel that it calls changes elsewhere. So every cached
kernel carries a digest of all kernel sources in its cache name: what is loaded is never stale.
"""

import hashlib
from collections.abc import Callable
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any, TypeVar, cast
from weakref import WeakSet

import numba

F = TypeVar("F", bound=Callable[..., Any])


def _digest(files: list[Path]) -> str:
    """A short name for the contents of these files."""
    return hashlib.sha256(b"\0".join(file.read_bytes() for file in files)).hexdigest()[:12]


_HERE = Path(__file__).parent
_SOURCES = _digest(sorted([*_HERE.glob("*.py"), *(_HERE.parent / "protocol").rglob("*.py")]))


_PASSING: "WeakSet[Callable[..., Any]]" = WeakSet()
"""Functions that no later process can load: a part of them was made on the fly, in a notebook, say."""


def _compile(function: F, **options: Any) -> F:
    """numba.njit with the house's options, cached under the digest of all sources."""
    function.__qualname__ = f"{function.__qualname__}-{_SOURCES}"
    cached = function not in _PASSING
    return cast(F, numba.njit(cache=cached, nogil=True, error_model="numpy", **options)(function))


def kernel(function: F) -> F:
    """Compile with strict IEEE arithmetic: the same bits whatever the batch or the thread."""
    return _compile(function)


def fast_kernel(function: F) -> F:
    """Compile with reassociation allowed, so that sums vectorise; for training, not for the protocol."""
    return _compile(function, fastmath=True)


def lane_kernel(function: F) -> F:
    """Compile without regard for NaN and signed zero, so that minima vectorise; sums keep their order."""
    return _compile(function, fastmath={"nnan", "nsz"})


def lean_kernel(function: F) -> F:
    """Compile without reference counts, which cost more than a step of a walk: for kernels that make no array."""
    return _compile(function, _nrt=False)


def specialised(function: F, compiler: Callable[[F], F] = kernel, **bindings: Any) -> F:
    """Compile a copy of a plain function in which the given names mean the given kernels and constants.

    This is how one loop serves many strategies and stays cached: numba can cache a kernel that calls a global
    kernel, but not one that is handed a kernel as an argument; and only a constant bound lets it unroll a loop.
    """
    plain = cast(FunctionType, function)
    copy = FunctionType(
        plain.__code__, {**plain.__globals__, **bindings}, plain.__name__, plain.__defaults__, plain.__closure__
    )
    # Numba's cache doesn't look at the compiler's options, so they are part of the name.
    names = [compiler.__name__, *(f"{name}={_identity(value)}" for name, value in sorted(bindings.items()))]
    copy.__qualname__ = f"{plain.__name__}-{hashlib.sha256('-'.join(names).encode()).hexdigest()[:12]}"
    if not all(_lasts(value) for value in bindings.values()):
        _PASSING.add(copy)
    return compiler(cast(F, copy))


def _lasts(binding: Any) -> bool:
    """Whether another process can have it too: a constant, or a kernel whose source is a file."""
    return not hasattr(binding, "py_func") or Path(binding.py_func.__code__.co_filename).is_file()


def _identity(binding: Any) -> str:
    """What tells this binding from another across processes: a constant's value, a kernel's name, code and closure."""
    if not hasattr(binding, "py_func"):
        return repr(binding)
    function = binding.py_func
    source = Path(function.__code__.co_filename)
    content = _digest([source]) if source.is_file() else ""
    held = [_identity(cell.cell_contents) for cell in function.__closure__ or ()]
    return f"{function.__module__}.{function.__qualname__}:{content}:{_code(function.__code__)}:{held}"


def _code(code: CodeType) -> str:
    """The code itself, nested functions included, without addresses."""
    constants = [_code(c) if isinstance(c, CodeType) else repr(c) for c in code.co_consts]
    return f"{code.co_code.hex()}{constants}{code.co_names}"
