"""Asking for memory before it is needed: a kernel goes on while the line is on its way."""

from typing import Any

from numba import types

from fedwalk.kernels.llvm import address, call, ir, operation


@operation
def prefetch(_typing: Any, array: Any, _index: Any) -> Any:
    """Fetch the line of `array[index]` for reading, and don't wait for it."""

    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        word = ir.IntType(32)
        place = address(context, builder, ir.IntType(8), signature.args[0], *args)
        # For reading (0), wanted in every level (3), data and not code (1).
        call(builder, "llvm.prefetch.p0i8", ir.VoidType(), [place, word(0), word(3), word(1)])
        return context.get_dummy_value()

    return types.void(array, types.intp), emit
