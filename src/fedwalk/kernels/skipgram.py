"""One window of SkipGram with negative sampling, on vectors of eight floats held in registers.

word2vec trains one pair (context, target) at a time, and spends more time on memory than on arithmetic. Here the
negatives of a centre are shared by the context words of its window (the idea of pWord2Vec, Ji et al. 2016). Two context
rows X and six output rows Y (the centre and five negatives) are processed together: gains G = (label − σ(X·Yᵀ))·rate,
then, row by row as in word2vec, x += g·Y and Y += g·x. Only the gains of the second row are stale. A whole window at
once would be a tenth faster, but diverges where a window repeats a vertex, as windows around every hub do.

LLVM keeps such tiles in registers if the code has vectors instead of loops: hence the type `Lanes` and its operations.
Eight floats are one register of AVX, or two of SSE or NEON. Sixteen gain nothing on Zen 4, and on AVX2 they don't fit
into the registers. Matrices are flat; their rows are `stride` floats long, a multiple of `LANES`; the padding is zero
and stays zero.
"""

from typing import Any

import numpy as np
from numba import types
from numpy.typing import NDArray

from fedwalk.kernels.jit import fast_kernel
from fedwalk.kernels.llvm import address, call, cgutils, extending, ir, operation

tuple_of: Any = types.UniTuple

Floats = NDArray[np.float32]
Longs = NDArray[np.int64]

LANES = 8
SLOTS = 6
"""Output rows per call: the centre and word2vec's usual five negatives. More negatives take more calls."""

_VECTOR = ir.VectorType(ir.FloatType(), LANES)
# Lets LLVM fuse products and sums and reorder sums. Training isn't part of a protocol, so its last bits may differ.
_FAST = ("fast",)


class Lanes(types.Type):
    """Numba's type of eight floats in a register."""

    def __init__(self) -> None:
        super().__init__(name=f"float32x{LANES}")


# Numba then passes a value of this type as one LLVM vector, which LLVM can keep in a register.
def _model(manager: Any, lanes: Lanes) -> Any:
    return extending.models.PrimitiveModel(manager, lanes, _VECTOR)


extending.register_model(Lanes)(_model)
_lanes = Lanes()


@operation
def load(_typing: Any, array: Any, _index: Any) -> Any:
    """The lanes at `array[index : index + LANES]`."""

    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        # Without `align` LLVM assumes 32 bytes, and a load may fault: `rates` is read at multiples of SLOTS floats.
        return builder.load(address(context, builder, _VECTOR, signature.args[0], *args), align=4)

    return _lanes(array, types.intp), emit


@operation
def save(_typing: Any, array: Any, _index: Any, _value: Any) -> Any:
    """Write the lanes to `array[index : index + LANES]`."""

    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        builder.store(args[2], address(context, builder, _VECTOR, signature.args[0], *args[:2]), align=4)
        return context.get_dummy_value()

    return types.void(array, types.intp, _lanes), emit


@operation
def splat(_typing: Any, _value: Any) -> Any:
    """The same float in every lane."""

    def emit(_context: Any, builder: Any, _signature: Any, args: Any) -> Any:
        # LLVM turns these two instructions into one broadcast.
        single = builder.insert_element(ir.Constant(_VECTOR, ir.Undefined), args[0], ir.IntType(32)(0))
        return _shuffle(builder, single, single, [0] * LANES)

    return _lanes(types.float32), emit


@operation
def fma(_typing: Any, _a: Any, _b: Any, _c: Any) -> Any:
    """a·b + c, lane by lane."""

    def emit(_context: Any, builder: Any, _signature: Any, args: Any) -> Any:
        # Not llvm.fma: on processors without that instruction it is a slow call of a library function.
        return builder.fadd(builder.fmul(args[0], args[1], flags=_FAST), args[2], flags=_FAST)

    return _lanes(_lanes, _lanes, _lanes), emit


@operation
def ratio(_typing: Any, _a: Any, _b: Any) -> Any:
    """a / b, lane by lane."""

    def emit(_context: Any, builder: Any, _signature: Any, args: Any) -> Any:
        return builder.fdiv(args[0], args[1], flags=_FAST)

    return _lanes(_lanes, _lanes), emit


@operation
def clamp(_typing: Any, _value: Any, _low: Any, _high: Any) -> Any:
    """The value, or the bound it exceeds, lane by lane."""

    def emit(_context: Any, builder: Any, _signature: Any, args: Any) -> Any:
        raised = call(builder, f"llvm.maxnum.v{LANES}f32", _VECTOR, [args[0], args[1]])
        return call(builder, f"llvm.minnum.v{LANES}f32", _VECTOR, [raised, args[2]])

    return _lanes(_lanes, _lanes, _lanes), emit


@operation
def totals(_typing: Any, six: Any) -> Any:
    """The sums of six vectors as lanes 0 … 5 of one vector; the last two lanes are zero.

    Adding neighbouring lanes of two vectors at a time takes six additions. Six separate sums would take eighteen.
    """

    def emit(_context: Any, builder: Any, _signature: Any, args: Any) -> Any:
        a, b, c, d, e, f = cgutils.unpack_tuple(builder, args[0])
        zero = ir.Constant(_VECTOR, [0.0] * LANES)
        left = _fold(builder, _fold(builder, a, b, 1, 4), _fold(builder, c, d, 1, 4), 1, 4)
        # `left` has the half sums of a, b, c, d over lanes 0 … 3, then those over lanes 4 … 7; `right` those of e, f.
        right = _fold(builder, _fold(builder, e, f, 1, 4), zero, 1, 4)
        return _fold(builder, left, right, 4, 8)

    return _lanes(six), emit


@operation
def spread(_typing: Any, _value: Any) -> Any:
    """Six vectors, each with one of the first six lanes in all of its lanes."""

    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        copies = [_shuffle(builder, args[0], args[0], [lane] * LANES) for lane in range(SLOTS)]
        return context.make_tuple(builder, signature.return_type, copies)

    return tuple_of(_lanes, SLOTS)(_lanes), emit


def _fold(builder: Any, a: Any, b: Any, unit: int, chunk: int) -> Any:
    """Sums of neighbouring groups of `unit` lanes: in each chunk of lanes first those of `a`, then those of `b`."""
    pairs = range(0, chunk, 2 * unit)
    even = [
        side + start + pair + i
        for start in range(0, LANES, chunk)
        for side in (0, LANES)
        for pair in pairs
        for i in range(unit)
    ]
    odd = [lane + unit for lane in even]
    return builder.fadd(_shuffle(builder, a, b, even), _shuffle(builder, a, b, odd), flags=_FAST)


def _shuffle(builder: Any, a: Any, b: Any, lanes: list[int]) -> Any:
    # Lane numbers from LANES on are lanes of `b`.
    return builder.shuffle_vector(a, b, ir.Constant(ir.VectorType(ir.IntType(32), LANES), lanes))


# tanh(x) by Lambert's continued fraction: x·(135135 + 17325 q + 378 q² + q³) / (135135 + 62370 q + 3150 q² + 28 q³)
# with q = x². Beyond ±4.97 tanh is ±1, to the accuracy given below.
_ZERO, _HALF, _ONE, _BOUND = np.float32(0), np.float32(0.5), np.float32(1), np.float32(4.97)
_P0, _P1, _P2 = np.float32(135135), np.float32(17325), np.float32(378)
_Q1, _Q2, _Q3 = np.float32(62370), np.float32(3150), np.float32(28)


@fast_kernel
def _gain(score: Any, label: Any, rate: Any) -> Any:
    """(label − σ(score))·rate, with label ± ½ for 1 and 0: σ − ½ = ½ tanh(score / 2) as a continued fraction.

    The error is at most 5·10⁻⁵. word2vec's own table of 1000 values has a larger one.
    """
    zero, half = splat(_ZERO), splat(_HALF)
    x = clamp(fma(half, score, zero), splat(-_BOUND), splat(_BOUND))
    q = fma(x, x, zero)
    above = fma(q, fma(q, fma(q, splat(_ONE), splat(_P2)), splat(_P1)), splat(_P0))
    under = fma(q, fma(q, fma(q, splat(_Q3), splat(_Q2)), splat(_Q1)), splat(_P0))
    tanh = ratio(fma(x, above, zero), under)
    return fma(fma(splat(-_HALF), tanh, label), rate, zero)


@fast_kernel
def _rows(matrix: Floats, at: Any, d: int) -> Any:
    """Columns d … d + LANES − 1 of the six rows that start at `at`."""
    return (
        load(matrix, at[0] + d),
        load(matrix, at[1] + d),
        load(matrix, at[2] + d),
        load(matrix, at[3] + d),
        load(matrix, at[4] + d),
        load(matrix, at[5] + d),
    )


@fast_kernel
def _save_rows(matrix: Floats, at: Any, d: int, y: Any) -> None:
    """Write six rows, the last one first.

    A row may be repeated among the six; only its first place has a rate above zero, so that one must be written last.
    """
    save(matrix, at[5] + d, y[5])
    save(matrix, at[4] + d, y[4])
    save(matrix, at[3] + d, y[3])
    save(matrix, at[2] + d, y[2])
    save(matrix, at[1] + d, y[1])
    save(matrix, at[0] + d, y[0])


@fast_kernel
def _add(x: Any, f: Any, y: Any) -> Any:
    """y + x·f for six f and y."""
    return (
        fma(x, f[0], y[0]),
        fma(x, f[1], y[1]),
        fma(x, f[2], y[2]),
        fma(x, f[3], y[3]),
        fma(x, f[4], y[4]),
        fma(x, f[5], y[5]),
    )


@fast_kernel
def _add_all(x: Any, f: Any, y: Any) -> Any:
    """x + Σ f·y over six f and y."""
    x = fma(f[2], y[2], fma(f[1], y[1], fma(f[0], y[0], x)))
    return fma(f[5], y[5], fma(f[4], y[4], fma(f[3], y[3], x)))


@fast_kernel
def train_window(
    inputs: Floats,
    outputs: Floats,
    stride: int,
    rows: Longs,
    count: int,
    slots: Longs,
    rates: Floats,
    first: int,
    labels: Floats,
) -> None:
    """Train `count` input rows against the six output rows that start at `slots[first]`.

    Rows are taken by twos. An odd number is completed by the row that follows, with the zeros at the end of `rates`.
    """
    at = (slots[first], slots[first + 1], slots[first + 2], slots[first + 3], slots[first + 4], slots[first + 5])
    label, zero = load(labels, 0), splat(_ZERO)
    for i in range(0, count, 2):
        # First pass over the columns: the inner products of both input rows with the six output rows.
        u, v = rows[i], rows[i + 1]
        a = b = (zero, zero, zero, zero, zero, zero)
        for d in range(0, stride, LANES):
            y = _rows(outputs, at, d)
            a, b = _add(load(inputs, u + d), y, a), _add(load(inputs, v + d), y, b)
        last = first if i + 1 < count else rates.shape[0] - LANES
        # Eight rates are loaded, the last two from beyond this group: `spread` reads only the first six lanes.
        g = spread(_gain(totals(a), label, load(rates, first)))
        h = spread(_gain(totals(b), label, load(rates, last)))
        # Loaded again: all columns of eight rows don't fit into registers, but they are in the fastest cache by now.
        for d in range(0, stride, LANES):
            y = _rows(outputs, at, d)
            x = load(inputs, u + d)
            save(inputs, u + d, _add_all(x, g, y))
            # The second input row meets output rows that the first has already changed, as in word2vec.
            y = _add(x, g, y)
            # Loaded after the first row is saved, because a window may contain the same vertex twice.
            x = load(inputs, v + d)
            save(inputs, v + d, _add_all(x, h, y))
            _save_rows(outputs, at, d, _add(x, h, y))
