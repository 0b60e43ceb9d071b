"""How every kernel is compiled: cached between runs, and without the interpreter's lock.

A kernel is a function that numba translates to machine code when it is first called with arguments of some types.
Later processes load that code from numba's cache. Numba notices when a kernel's own file changes, but not when a
kernel that it calls changes in another file. So the cache name of every kernel includes a digest of all files that
contain kernels: a stale kernel is never loaded. For a kernel outside the package, such as a user's predictor, the name
includes the files of the kernels that it calls; if one of them is defined later, the kernel isn't cached at all.
"""

import builtins
import dis
import hashlib
from collections.abc import Callable, Iterator
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any, TypeVar, cast
from weakref import WeakSet

import numba

F = TypeVar("F", bound=Callable[..., Any])


def kernel_sources() -> list[Path]:
    """Every file of the package that contains kernels or may: predictors are kernels too, inside their protocol."""
    here = Path(__file__).parent
    return sorted([*here.rglob("*.py"), *(here.parent / "protocols").rglob("*.py")])


def _digest(files: list[Path]) -> str:
    """A short name for the contents of these files."""
    return hashlib.sha256(b"\0".join(file.read_bytes() for file in files)).hexdigest()[:12]


_SOURCES = _digest(kernel_sources())

_UNCACHED: "WeakSet[Callable[..., Any]]" = WeakSet()
"""Functions that no later process can load from the cache, because a part of them has no file (a notebook's cell)."""


def _compile(function: F, **options: Any) -> F:
    """numba.njit with the options that all kernels share, cached under the digest of all sources."""
    # Numba names its cache files by the qualified name, so a new digest means new files.
    function.__qualname__ = f"{function.__qualname__}-{_SOURCES}{_called_files(function)}"
    cached = function not in _UNCACHED
    # numpy's error model: a division by zero is infinite. Python's would raise, and a check before every
    # division keeps loops from being vectorised.
    return cast(F, numba.njit(cache=cached, nogil=True, error_model="numpy", **options)(function))


def kernel(function: F) -> F:
    """Compile with strict IEEE arithmetic: the same bits for any batch size and any number of threads."""
    return _compile(function)


def fast_kernel(function: F) -> F:
    """Compile with reassociation allowed, so that sums are vectorised; for training, never for a protocol.

    The order of a sum then depends on the processor's vector width, and with it the last bits of the result.
    """
    return _compile(function, fastmath=True)


def lane_kernel(function: F) -> F:
    """Compile without regard for NaN and signed zero, so that minima are vectorised; sums keep their order.

    No input has a NaN or depends on the sign of zero, so the results are those of strict arithmetic.
    """
    return _compile(function, fastmath={"nnan", "nsz"})


def lean_kernel(function: F) -> F:
    """Compile without reference counts, which cost more than a step of a walk: for kernels that make no array."""
    # An undocumented option of numba. Without its runtime, numba refuses to compile a kernel that allocates.
    return _compile(function, _nrt=False)


def inlined_kernel(function: F) -> F:
    """Compile as `lean_kernel` does, and copy the code into every caller.

    LLVM inlines small functions by itself. A larger one with tuples of arrays would receive dozens of
    arguments over the stack, which makes a step of a walk three times as slow.
    """
    return _compile(function, _nrt=False, forceinline=True)


def specialised(function: F, compiler: Callable[[F], F] = kernel, **bindings: Any) -> F:
    """Compile a copy of a plain function in which the given names mean the given kernels and constants.

    This is how one loop serves many strategies and stays cached: numba can cache a kernel that calls a global
    kernel, but not one that receives a kernel as an argument. And it unrolls a loop only if its bound is a constant.
    """
    # Numba reads globals when it compiles and treats them as constants, so a copy with other globals is enough.
    plain = cast(FunctionType, function)
    copy = FunctionType(
        plain.__code__, {**plain.__globals__, **bindings}, plain.__name__, plain.__defaults__, plain.__closure__
    )
    # Numba's cache ignores the compiler's options, so they are part of the name.
    names = [compiler.__name__, *(f"{name}={_identity(value)}" for name, value in sorted(bindings.items()))]
    copy.__qualname__ = f"{plain.__name__}-{hashlib.sha256('-'.join(names).encode()).hexdigest()[:12]}"
    if not all(_is_cacheable(value) for value in bindings.values()):
        _UNCACHED.add(copy)
    return compiler(cast(F, copy))


def to_be_bound(*_arguments: Any) -> Any:
    """Placeholder for a kernel in a plain function, until `specialised` binds the real one."""
    raise TypeError("this name stands for a kernel that specialised() binds: call the compiled copy instead")


def _called_files(function: Callable[..., Any]) -> str:
    """A digest of the files of all kernels outside the package that a kernel outside the package calls."""
    plain = cast(FunctionType, function)
    if _is_ours(plain) or not Path(plain.__code__.co_filename).is_file():
        return ""
    called, waiting = {plain}, [plain]
    while waiting:
        fresh = {one for one in _calls(waiting.pop()) if not _is_ours(one)} - called
        called |= fresh
        waiting += fresh
    files = sorted({Path(one.__code__.co_filename) for one in called})
    if not all(file.is_file() for file in files) or any(_is_incomplete(one) for one in called):
        _UNCACHED.add(function)
        return ""
    return f"-{_digest(files)}"


def _calls(function: FunctionType) -> Iterator[FunctionType]:
    """The functions of the kernels that a kernel calls, by a global name or from the function that encloses it."""
    cells = [cell.cell_contents for cell in function.__closure__ or ()]
    for value in (*(function.__globals__.get(name) for name in _global_names(function.__code__)), *cells):
        if hasattr(value, "py_func"):
            yield value.py_func


def _is_incomplete(function: FunctionType) -> bool:
    """Whether a global name is defined later: what it will be is known only when the kernel is compiled."""
    names = _global_names(function.__code__)
    return any(name not in function.__globals__ and not hasattr(builtins, name) for name in names)


def _is_ours(function: FunctionType) -> bool:
    """Whether a kernel is the package's own, so that `_SOURCES` covers its file."""
    return Path(function.__code__.co_filename).is_relative_to(Path(__file__).parents[1])


def _global_names(code: CodeType) -> set[str]:
    """The global names that a function reads."""
    return {str(one.argval) for one in dis.get_instructions(code) if one.opname == "LOAD_GLOBAL"}


def _is_cacheable(binding: Any) -> bool:
    """Whether another process can have the same binding: a constant, or a kernel whose source is a file."""
    # Only compiled kernels have `py_func`; any other binding is a constant.
    if not hasattr(binding, "py_func"):
        return True
    return binding.py_func not in _UNCACHED and Path(binding.py_func.__code__.co_filename).is_file()


def _identity(binding: Any) -> str:
    """What distinguishes this binding across processes: a constant's value, or a kernel's name, code and closure."""
    if not hasattr(binding, "py_func"):
        return repr(binding)
    function = binding.py_func
    # A predictor registered by a user lies outside of the package: _SOURCES doesn't cover its file.
    source = Path(function.__code__.co_filename)
    content = _digest([source]) + _called_files(function) if source.is_file() else ""
    closure = [_identity(cell.cell_contents) for cell in function.__closure__ or ()]
    return f"{function.__module__}.{function.__qualname__}:{content}:{_code(function.__code__)}:{closure}"


def _code(code: CodeType) -> str:
    """The byte code, nested functions included, without addresses, which differ between processes."""
    constants = [_code(c) if isinstance(c, CodeType) else repr(c) for c in code.co_consts]
    return f"{code.co_code.hex()}{constants}{code.co_names}"
