"""SkipGram with negative sampling over a block of walks, on vectors of eight floats held in registers.

word2vec trains one pair (context, target) at a time, which moves more memory than it computes. Here the negatives
of a centre are shared by the context words of its window (the idea of pWord2Vec, Ji et al. 2016), so that four
context rows X meet six output rows Y (the centre and five negatives) in one go: gains G = (label − σ(X·Yᵀ))·rate,
then, row by row as word2vec does, x += g·Y and Y += g·x. Only the gains of those four rows are stale. A whole
window at once would be a quarter faster, but diverges where a window repeats a vertex, as near every hub.

A negative that was drawn twice for a centre, or is the centre, counts for nothing. Matrices are flat, their rows
`stride` floats long, a multiple of `LANES`; the padding is zero and stays zero.

LLVM keeps such tiles in registers if it is handed vectors, not loops: hence the type `Lanes` and the operations on
it. Eight floats are a register of AVX and two of SSE or NEON; with sixteen, AVX-512 gains nothing on Zen 4.
"""

from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar, cast

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic, models, register_model
from numpy.typing import NDArray

from fedwalk.kernels.jit import fast_kernel, kernel
from fedwalk.kernels.random import TRAINING, below, draw, stream, uniform

F = TypeVar("F", bound=Callable[..., Any])
Floats = NDArray[np.float32]
Longs = NDArray[np.int64]

LANES = 8
_SLOTS = 6
_BLOCK = 4
_VECTOR = ir.VectorType(ir.FloatType(), LANES)
_FAST = ("fast",)


class Lanes(types.Type):  # type: ignore[misc]
    """Numba's type of eight floats in a register."""

    def __init__(self) -> None:
        super().__init__(name=f"float32x{LANES}")


@register_model(Lanes)  # type: ignore[untyped-decorator]
class _LanesModel(models.PrimitiveModel):  # type: ignore[misc]
    def __init__(self, manager: Any, lanes: Lanes) -> None:
        super().__init__(manager, lanes, _VECTOR)


_lanes = Lanes()


def _operation(emit: F) -> F:
    """Make a numba function of lanes from one that emits LLVM's instructions."""
    return cast(F, intrinsic(emit))


def _address(context: Any, builder: Any, array_type: Any, array: Any, index: Any) -> Any:
    data = context.make_array(array_type)(context, builder, array).data
    return builder.bitcast(builder.gep(data, [index], inbounds=True), _VECTOR.as_pointer())


def _call(builder: Any, name: str, result: Any, args: list[Any]) -> Any:
    kind = ir.FunctionType(result, [arg.type for arg in args])
    return builder.call(cgutils.get_or_insert_function(builder.module, kind, name), args)


@_operation
def load(_typing: Any, array: Any, _index: Any) -> Any:
    """The lanes at `array[index : index + LANES]`."""

    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.load(_address(context, builder, signature.args[0], *args), align=4)

    return _lanes(array, types.intp), emit


@_operation
def save(_typing: Any, array: Any, _index: Any, _value: Any) -> Any:
    """Write the lanes to `array[index : index + LANES]`."""

    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        builder.store(args[2], _address(context, builder, signature.args[0], *args[:2]), align=4)
        return context.get_dummy_value()

    return types.void(array, types.intp, _lanes), emit


@_operation
def prefetch(_typing: Any, array: Any, _index: Any) -> Any:
    """Ask for the cache line of `array[index]`, soon to be written."""

    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        number = ir.IntType(32)
        address = builder.bitcast(
            _address(context, builder, signature.args[0], *args), ir.IntType(8).as_pointer()
        )
        _call(builder, "llvm.prefetch.p0", ir.VoidType(), [address, number(1), number(3), number(1)])
        return context.get_dummy_value()

    return types.void(array, types.intp), emit


@_operation
def splat(_typing: Any, _value: Any) -> Any:
    """The same float in every lane."""

    def emit(_context: Any, builder: Any, _signature: Any, args: Any) -> Any:
        single = builder.insert_element(ir.Constant(_VECTOR, ir.Undefined), args[0], ir.IntType(32)(0))
        return _shuffle(builder, single, single, [0] * LANES)

    return _lanes(types.float32), emit


@_operation
def fma(_typing: Any, _a: Any, _b: Any, _c: Any) -> Any:
    """a·b + c, lane by lane."""

    def emit(_context: Any, builder: Any, _signature: Any, args: Any) -> Any:
        return builder.fadd(builder.fmul(args[0], args[1], flags=_FAST), args[2], flags=_FAST)

    return _lanes(_lanes, _lanes, _lanes), emit


@_operation
def ratio(_typing: Any, _a: Any, _b: Any) -> Any:
    """a / b, lane by lane."""

    def emit(_context: Any, builder: Any, _signature: Any, args: Any) -> Any:
        return builder.fdiv(args[0], args[1], flags=_FAST)

    return _lanes(_lanes, _lanes), emit


@_operation
def clamp(_typing: Any, _value: Any, _low: Any, _high: Any) -> Any:
    """The value, or the bound it exceeds, lane by lane."""

    def emit(_context: Any, builder: Any, _signature: Any, args: Any) -> Any:
        raised = _call(builder, f"llvm.maxnum.v{LANES}f32", _VECTOR, [args[0], args[1]])
        return _call(builder, f"llvm.minnum.v{LANES}f32", _VECTOR, [raised, args[2]])

    return _lanes(_lanes, _lanes, _lanes), emit


@_operation
def totals(_typing: Any, _a: Any, _b: Any, _c: Any, _d: Any, _e: Any, _f: Any) -> Any:
    """The sums of six vectors, each in a lane of its own; the last two lanes are zero."""

    def emit(_context: Any, builder: Any, _signature: Any, args: Any) -> Any:
        zero = ir.Constant(_VECTOR, [0.0] * LANES)
        quads = [_fold(builder, a, b, 1, 4) for a, b in zip(args[::2], args[1::2], strict=True)]
        halves = [_fold(builder, *quads[:2], 1, 4), _fold(builder, quads[2], zero, 1, 4)]
        return _fold(builder, *halves, 4, 8)

    return _lanes(_lanes, _lanes, _lanes, _lanes, _lanes, _lanes), emit


def _fold(builder: Any, a: Any, b: Any, unit: int, chunk: int) -> Any:
    """In each chunk: sums of neighbouring units of `a`, then those of `b`."""
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
    return builder.shuffle_vector(a, b, ir.Constant(ir.VectorType(ir.IntType(32), LANES), lanes))


class Model(NamedTuple):
    """Input and output rows of all vertices, flat."""

    inputs: Floats
    outputs: Floats
    stride: int


class Noise(NamedTuple):
    """The distribution of negatives as an alias table: vertex v stays v below cut[v], else becomes alias[v]."""

    cut: Floats
    alias: NDArray[np.int32]


class Plan(NamedTuple):
    """What holds for the whole training."""

    window: int
    negative: int
    seed: np.uint64
    walks: int
    start_rate: float
    end_rate: float


class _Desk(NamedTuple):
    """Scratch of one thread: what was drawn for a walk, and the rows and gains of a window."""

    spans: Longs
    slots: Longs
    rates: Floats
    rows: Longs
    gains: Floats
    labels: Floats


_ZERO, _HALF, _BOUND = np.float32(0), np.float32(0.5), np.float32(4.97)
_P0, _P1, _P2 = np.float32(135135), np.float32(17325), np.float32(378)
_Q1, _Q2, _Q3 = np.float32(62370), np.float32(3150), np.float32(28)


@fast_kernel
def half_tanh(score: Any) -> Any:
    """σ(score) − ½ by the continued fraction of tanh(score / 2), off by 5·10⁻⁵ at most."""
    x = fma(splat(_HALF), score, splat(_ZERO))
    x = clamp(x, splat(-_BOUND), splat(_BOUND))
    q = fma(x, x, splat(_ZERO))
    above = fma(q, fma(q, fma(q, splat(np.float32(1)), splat(_P2)), splat(_P1)), splat(_P0))
    below_ = fma(q, fma(q, fma(q, splat(_Q3), splat(_Q2)), splat(_Q1)), splat(_P0))
    return fma(splat(_HALF), ratio(fma(x, above, splat(_ZERO)), below_), splat(_ZERO))


@fast_kernel
def _weigh(model: Model, desk: _Desk, first: int, count: int, at: int, label: int) -> None:
    """Gains of `count` context rows against the six output rows from slot `at`; two rows at a time."""
    inputs, outputs, slots = model.inputs, model.outputs, desk.slots
    t0, t1, t2, t3, t4, t5 = slots[at], slots[at + 1], slots[at + 2], slots[at + 3], slots[at + 4], slots[at + 5]
    rates, labels = load(desk.rates, at), load(desk.labels, label)
    for i in range(0, count, 2):
        u, v = desk.rows[first + i], desk.rows[first + i + 1]
        a0 = a1 = a2 = a3 = a4 = a5 = splat(_ZERO)
        b0 = b1 = b2 = b3 = b4 = b5 = splat(_ZERO)
        for d in range(0, model.stride, LANES):
            a, b = load(inputs, u + d), load(inputs, v + d)
            y = load(outputs, t0 + d)
            a0, b0 = fma(a, y, a0), fma(b, y, b0)
            y = load(outputs, t1 + d)
            a1, b1 = fma(a, y, a1), fma(b, y, b1)
            y = load(outputs, t2 + d)
            a2, b2 = fma(a, y, a2), fma(b, y, b2)
            y = load(outputs, t3 + d)
            a3, b3 = fma(a, y, a3), fma(b, y, b3)
            y = load(outputs, t4 + d)
            a4, b4 = fma(a, y, a4), fma(b, y, b4)
            y = load(outputs, t5 + d)
            a5, b5 = fma(a, y, a5), fma(b, y, b5)
        minus = splat(np.float32(-1))
        a, b = half_tanh(totals(a0, a1, a2, a3, a4, a5)), half_tanh(totals(b0, b1, b2, b3, b4, b5))
        save(desk.gains, i * LANES, fma(rates, fma(minus, a, labels), splat(_ZERO)))
        save(desk.gains, (i + 1) * LANES, fma(rates, fma(minus, b, labels), splat(_ZERO)))


@fast_kernel
def _update(model: Model, desk: _Desk, first: int, count: int, at: int) -> None:
    """Move the context rows and the six output rows by their gains, context after context."""
    inputs, outputs, slots, rows, gains = model.inputs, model.outputs, desk.slots, desk.rows, desk.gains
    t0, t1, t2, t3, t4, t5 = slots[at], slots[at + 1], slots[at + 2], slots[at + 3], slots[at + 4], slots[at + 5]
    for d in range(0, model.stride, LANES):
        y0, y1, y2 = load(outputs, t0 + d), load(outputs, t1 + d), load(outputs, t2 + d)
        y3, y4, y5 = load(outputs, t3 + d), load(outputs, t4 + d), load(outputs, t5 + d)
        for i in range(count):
            row, k = rows[first + i] + d, i * LANES
            g0, g1, g2 = splat(gains[k]), splat(gains[k + 1]), splat(gains[k + 2])
            g3, g4, g5 = splat(gains[k + 3]), splat(gains[k + 4]), splat(gains[k + 5])
            x = load(inputs, row)
            moved = fma(g2, y2, fma(g1, y1, fma(g0, y0, x)))
            save(inputs, row, fma(g5, y5, fma(g4, y4, fma(g3, y3, moved))))
            y0, y1, y2 = fma(g0, x, y0), fma(g1, x, y1), fma(g2, x, y2)
            y3, y4, y5 = fma(g3, x, y3), fma(g4, x, y4), fma(g5, x, y5)
        # Backwards: where slots repeat a row, the first one, the only one that counts, has the last word.
        save(outputs, t5 + d, y5)
        save(outputs, t4 + d, y4)
        save(outputs, t3 + d, y3)
        save(outputs, t2 + d, y2)
        save(outputs, t1 + d, y1)
        save(outputs, t0 + d, y0)


@fast_kernel
def _draw_walk(walk: NDArray[np.int32], number: int, stride: int, noise: Noise, plan: Plan, desk: _Desk) -> None:
    """Window sizes and output rows for every centre of a walk."""
    key = stream(plan.seed, TRAINING, number + 1)
    rate = plan.start_rate - (plan.start_rate - plan.end_rate) * (number / plan.walks)
    width = desk.slots.shape[0] // (walk.shape[0] + 2)
    for p in range(walk.shape[0]):
        counter, at = p * (1 + plan.negative), p * width
        desk.spans[p] = 1 + below(draw(key, counter), plan.window)
        desk.slots[at : at + width] = walk[p] * stride
        desk.rates[at : at + width] = 0
        desk.rates[at] = rate
        for j in range(1, 1 + plan.negative):
            point = uniform(draw(key, counter + j)) * noise.cut.shape[0]
            vertex = int(point)
            if point - vertex >= noise.cut[vertex]:
                vertex = noise.alias[vertex]
            row, repeated = vertex * stride, False
            for k in range(j):
                repeated |= desk.slots[at + k] == row
            desk.slots[at + j] = row
            desk.rates[at + j] = 0 if repeated else rate


@fast_kernel
def _context(walk: NDArray[np.int32], centre: int, span: int, stride: int, rows: Longs) -> int:
    """List the input rows of a window; one more is listed, so that rows can be taken by twos."""
    count = 0
    for p in range(max(0, centre - span), min(walk.shape[0], centre + span + 1)):
        if p != centre:
            rows[count] = walk[p] * stride
            count += 1
    rows[count] = rows[0]
    return count


@fast_kernel
def train_walks(walks: NDArray[np.int32], first: int, model: Model, noise: Noise, plan: Plan) -> None:
    """Train on walks number `first` and up, in place."""
    length = walks.shape[1]
    width = (plan.negative + _SLOTS) // _SLOTS * _SLOTS
    size = (length + 2) * width
    labels = np.full(2 * LANES, -_HALF)
    labels[0] = _HALF
    desk = _Desk(
        np.empty(length, np.int64),
        np.zeros(size, np.int64),
        np.zeros(size, np.float32),
        np.zeros(2 * plan.window + 1, np.int64),
        np.zeros(_BLOCK * LANES, np.float32),
        labels,
    )
    for w in range(walks.shape[0]):
        walk = walks[w]
        _draw_walk(walk, first + w, model.stride, noise, plan, desk)
        for p in range(length):
            count = _context(walk, p, desk.spans[p], model.stride, desk.rows)
            for ahead in range((p + 1) * width, (p + 2) * width):
                for d in range(0, model.stride, 16):
                    prefetch(model.outputs, desk.slots[ahead] + d)
            for at in range(p * width, (p + 1) * width, _SLOTS):
                for b in range(0, count, _BLOCK):
                    m = min(_BLOCK, count - b)
                    _weigh(model, desk, b, m, at, 0 if at == p * width else LANES)
                    _update(model, desk, b, m, at)


@kernel
def alias_table(weights: NDArray[np.float64]) -> Noise:
    """The alias table of a distribution (Vose 1991); a weight of zero is never drawn."""
    n = weights.shape[0]
    cut = (weights > 0).astype(np.float32)
    alias = np.full(n, np.argmax(weights), np.int32)
    scaled = weights * (n / weights.sum())
    stack = np.empty(n, np.int64)
    small, large = 0, n
    for v in range(n):
        if scaled[v] < 1:
            stack[small] = v
            small += 1
        else:
            large -= 1
            stack[large] = v
    while small > 0 and large < n:
        small -= 1
        v, u = stack[small], stack[large]
        cut[v], alias[v] = scaled[v], u
        scaled[u] -= 1 - scaled[v]
        if scaled[u] < 1:
            large += 1
            stack[small] = u
            small += 1
    return Noise(cut, alias)


@kernel
def initial_vectors(counts: Longs, dim: int, stride: int, seed: np.uint64) -> Floats:
    """Uniform in ±½/dim for vertices that occur, zero for the others."""
    vectors = np.zeros(counts.shape[0] * stride, np.float32)
    key = stream(seed, TRAINING, 0)
    for v in range(counts.shape[0]):
        if counts[v] > 0:
            for d in range(dim):
                vectors[v * stride + d] = (uniform(draw(key, v * dim + d)) - 0.5) / dim
    return vectors
