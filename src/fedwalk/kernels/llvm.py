"""Functions for kernels that emit LLVM instructions directly, for what numba itself can't express.

Numba translates Python to LLVM's intermediate code. An `operation` writes a part of that code by hand. LLVM's builder
and numba's interface to it have no type annotations, hence `Any`.
"""

from collections.abc import Callable
from importlib import import_module
from typing import Any, cast

from numba import types

ir: Any = import_module("llvmlite.ir")
cgutils: Any = import_module("numba.core.cgutils")
extending: Any = import_module("numba.extending")


def operation(emit: Callable[..., Any]) -> Callable[..., Any]:
    """Make a function that kernels can call from one that emits LLVM instructions.

    `emit` receives numba's typing context and the types of the arguments, and returns the signature and the emitter.
    """
    return cast(Callable[..., Any], extending.intrinsic(emit))


def address(context: Any, builder: Any, kind: Any, array_type: Any, array: Any, index: Any) -> Any:
    """A pointer to `array[index]`, cast to that kind of value. The index isn't checked: it must be inside the array."""
    data = context.make_array(array_type)(context, builder, array).data
    return builder.bitcast(builder.gep(data, [index], inbounds=True), kind.as_pointer())


def call(builder: Any, name: str, result: Any, args: list[Any]) -> Any:
    """Call one of LLVM's intrinsics."""
    # A name may be declared only once per module, and several calls may share the module.
    kind = ir.FunctionType(result, [arg.type for arg in args])
    return builder.call(cgutils.get_or_insert_function(builder.module, kind, name), args)


@operation
def prefetch(_typing: Any, array: Any, _index: Any) -> Any:
    """Fetch the cache line of `array[index]` for reading, and don't wait for it."""

    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        word = ir.IntType(32)
        # A pointer to bytes, because the intrinsic's name says so (p0i8).
        place = address(context, builder, ir.IntType(8), signature.args[0], *args)
        # For reading (0), wanted in every level (3), data and not code (1).
        call(builder, "llvm.prefetch.p0i8", ir.VoidType(), [place, word(0), word(3), word(1)])
        return context.get_dummy_value()

    return types.void(array, types.intp), emit
