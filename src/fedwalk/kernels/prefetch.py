"""Asking for memory before it is needed: a kernel goes on while the line is on its way.

Numba has no such function, LLVM has: this one emits it.
"""

from importlib import import_module
from typing import Any

from numba import types

# LLVM's builder and numba's side of it have no types of their own; `Any` says so once.
ir: Any = import_module("llvmlite.ir")
cgutils: Any = import_module("numba.core.cgutils")
extending: Any = import_module("numba.extending")


@extending.intrinsic  # type: ignore[untyped-decorator]
def prefetch(_typing: Any, array: Any, _index: Any) -> Any:
    """Fetch the line of `array[index]` for reading; any index is allowed, nothing is read."""

    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        data = context.make_array(signature.args[0])(context, builder, args[0]).data
        byte, word = ir.IntType(8).as_pointer(), ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [byte, word, word, word])
        function = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0i8")
        address = builder.bitcast(builder.gep(data, [args[1]]), byte)
        # For reading (0), wanted in every level (3), data and not code (1).
        builder.call(function, [address, word(0), word(3), word(1)])
        return context.get_dummy_value()

    return types.void(array, types.intp), emit
