"""What numba's kernels lack and LLVM has: functions that emit LLVM's own instructions.

LLVM's builder and numba's side of it have no types of their own; `Any` says so once, here.
"""

from collections.abc import Callable
from importlib import import_module
from typing import Any, cast

ir: Any = import_module("llvmlite.ir")
cgutils: Any = import_module("numba.core.cgutils")
extending: Any = import_module("numba.extending")


def operation(emit: Callable[..., Any]) -> Callable[..., Any]:
    """Make a function for kernels from one that emits LLVM's instructions; the first argument is numba's own."""
    return cast(Callable[..., Any], extending.intrinsic(emit))


def address(context: Any, builder: Any, kind: Any, array_type: Any, array: Any, index: Any) -> Any:
    """Where `array[index]`, which must be in the array, lies: as a pointer to that kind of value."""
    data = context.make_array(array_type)(context, builder, array).data
    return builder.bitcast(builder.gep(data, [index], inbounds=True), kind.as_pointer())


def call(builder: Any, name: str, result: Any, args: list[Any]) -> Any:
    """Call one of LLVM's intrinsics."""
    kind = ir.FunctionType(result, [arg.type for arg in args])
    return builder.call(cgutils.get_or_insert_function(builder.module, kind, name), args)
