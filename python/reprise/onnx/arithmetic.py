# SPDX-License-Identifier: Apache-2.0
"""ONNX's elementwise operators, comparisons, reductions and products in the operations of programs."""
from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from .graph import CARRIERS, NUMPY, TENSORFLOW, Graph, Node, Value, handles
from ..solvers import determined, joined

UNARY = {"Abs": "abs", "Neg": "neg", "Exp": "exp", "Log": "log", "Sqrt": "sqrt", "Tanh": "tanh", "Sigmoid": "sigmoid",
         "Erf": "erf", "Relu": "relu", "Sin": "sin", "Cos": "cos", "Tan": "tan", "Sinh": "sinh", "Cosh": "cosh",
         "Asin": "asin", "Acos": "acos", "Atan": "atan", "Floor": "floor", "Ceil": "ceil", "Round": "round",
         "Sign": "sign", "Silu": "silu"}
OF_TENSORFLOW = {"Erfc": "erfc", "Erfinv": "erf_inv", "Expm1": "expm1", "Log1p": "log1p"}  # which ONNX lacks; its gelu is of Erfc
BINARY = {"Add": "add", "Sub": "sub", "Mul": "mul", "Max": "maximum", "Min": "minimum", "BitwiseAnd": "bitwise_and",
          "BitwiseOr": "bitwise_or", "BitwiseXor": "bitwise_xor"}
COMPARE = {"Equal": "eq", "Less": "lt", "Greater": "gt", "LessOrEqual": "le", "GreaterOrEqual": "ge"}
LOGIC = {"And": "logical_and", "Or": "logical_or", "Xor": "logical_xor"}
BYTES, MOST_BYTES = (1 << 24) // 255 ** 2, (1 << 31) // 255 ** 2  # products of bytes whose sums are exact in binary32, and fit i32
FEW_ROWS = 4  # of which a product waits for the other operand's elements


def constants(n: Node) -> Any:
    """A function that makes a number of the first operand's type."""
    return lambda v: n.g.fill(v, n.value(0).dtype)


@handles(*UNARY)
def unary(n: Node) -> Value:
    v = n.value(0)
    if v.dtype == "u64" and n.kind in ("Abs", "Sign") or v.dtype == "bool":
        raise n.refuse(f"elements of type {v.dtype}")
    if n.kind == "Relu" and not v.real:
        return n.g.result(n.g.op("maximum", n.tensor(0), constants(n)(0)), v.dtype, v)
    return n.g.result(n.g.op(UNARY[n.kind], n.tensor(0)), v.dtype, v)


@handles(*(f"{TENSORFLOW}.{kind}" for kind in OF_TENSORFLOW))
def of_tensorflow(n: Node) -> Value:
    if not n.value(0).real:
        raise n.refuse(f"elements of type {n.value(0).dtype}")
    return n.g.result(n.g.op(OF_TENSORFLOW[n.kind], n.tensor(0)), n.value(0).dtype, n.value(0))


@handles("Identity")
def identity(n: Node) -> Value:
    return n.value(0)


@handles("Not")
def logical_not(n: Node) -> Value:
    return n.g.made(n.g.op("logical_not", n.tensor(0)), "bool", n.value(0))


@handles(*BINARY, "Sum", "Mean")
def binary(n: Node) -> Value:
    op = BINARY.get(n.kind, "add")
    values = [n.value(i) for i in range(len(n.inputs))]
    dtype = values[0].dtype
    if dtype == "u64" and op in ("maximum", "minimum"):
        raise n.refuse("elements of type u64")
    t = n.tensor(0)
    for i in range(1, len(values)):
        t = n.g.op(op, t, operand(n, i))
        if dtype in ("f16", "bf16") and i + 1 < len(values):
            t = n.g.narrow(t, dtype)
    if n.kind == "Mean":
        t = n.g.op("div", t, n.g.fill(len(values), dtype))
    return n.g.result(t, dtype, *values)


def operand(n: Node, i: int) -> Any:
    """Operand i, at an axis where an old version says so."""
    t = n.tensor(i)
    if n.version < 7 and n.get("broadcast") and "axis" in n.attributes:
        rank = n.value(0).rank
        axis = n.axis(0, rank)
        return n.g.reshape(t, [*t.shape, *[1] * (rank - axis - len(t.shape))])
    return t


@handles("Div")
def div(n: Node) -> Value:
    v = n.value(0)
    if v.dtype == "u64":
        raise n.refuse("elements of type u64")
    return n.g.result(n.g.op("div" if v.real else "div_trunc", n.tensor(0), operand(n, 1)), v.dtype, v, n.value(1))


@handles("Mod")
def mod(n: Node) -> Value:
    v = n.value(0)
    if v.dtype == "u64":
        raise n.refuse("elements of type u64")
    if n.get("fmod", 0) not in (0, 1):
        raise n.refuse(f"fmod {n.get('fmod')}")
    op = "fmod" if n.get("fmod", 0) else "remainder"
    return n.g.result(n.g.op(op, n.tensor(0), n.tensor(1)), v.dtype, v, n.value(1))


def first_bit(g: Graph) -> Any:
    """What turns the order of u64's carrier into its own, by bitwise_xor."""
    return g.tensor(g.constant(np.array(-1 << 63, np.int64)))


@handles(*COMPARE)
def compare(n: Node) -> Value:
    a, b = n.tensor(0), operand(n, 1)
    if n.value(0).dtype == "u64" and n.kind != "Equal":  # its order is that of the bits with the first one turned
        top = first_bit(n.g)
        a, b = n.g.op("bitwise_xor", a, top), n.g.op("bitwise_xor", b, top)
    return n.g.made(n.g.op(COMPARE[n.kind], a, b), "bool", n.value(0), n.value(1))


@handles(*LOGIC)
def logic(n: Node) -> Value:
    return n.g.made(n.g.op(LOGIC[n.kind], n.tensor(0), operand(n, 1)), "bool", n.value(0), n.value(1))


@handles("BitwiseNot")
def bitwise_not(n: Node) -> Value:
    v = n.value(0)
    return n.g.result(n.g.op("bitwise_xor", n.tensor(0), n.g.fill(-1, v.dtype)), v.dtype, v)


@handles("BitShift")
def bit_shift(n: Node) -> Value:
    g, v, (x, count) = n.g, n.value(0), (n.tensor(0), n.tensor(1))
    if n.get("direction") == "LEFT":
        return g.result(g.op("shift_left", x, count), v.dtype, v, n.value(1))
    found = g.op("shift_right", x, count)
    if v.dtype == "u64":  # the first of its bits is no sign
        rest = g.op("shift_right", x, g.fill(1, "i64"))
        rest = g.op("bitwise_and", rest, g.tensor(g.constant(np.array((1 << 63) - 1, np.int64))))
        rest = g.op("shift_right", rest, g.op("sub", count, g.fill(1, "i64")))
        found = g.op("where", g.op("eq", count, g.fill(0, "i64")), x, rest)
    return g.result(found, v.dtype, v, n.value(1))


@handles("Pow")
def power(n: Node) -> Value:
    g, v, e = n.g, n.value(0), n.value(1)
    if v.real:
        fixed = e.known is not None and not e.trained and e.size == 1
        if fixed and v.dtype in ("f32", "f64") and float(e.known.reshape(())) in (2.0, 3.0):
            t = g.op("pow_int", n.tensor(0), exponent=int(e.known.reshape(())))
            shape = np.broadcast_shapes(v.shape, e.shape)
            return g.result(g.broadcast(t, shape), v.dtype, v, e)
        return g.result(g.op("pow", n.tensor(0), g.cast(n.tensor(1), CARRIERS[v.dtype])), v.dtype, v, e)
    if e.real or v.dtype == "u64" or e.dtype == "u64":
        raise n.refuse(f"{v.dtype} to the power of {e.dtype}")
    first, exponent = n.tensor(0), n.tensor(1)
    base, bits = first, g.cast(exponent, CARRIERS[v.dtype])
    one, zero = g.fill(1, v.dtype), g.fill(0, v.dtype)
    uneven = g.op("ne", g.op("bitwise_and", bits, one), zero)
    found = one
    for _ in range(31 if bits.dtype == "i32" else 63):  # by squares, one a bit of the exponent: to the bit, and it wraps
        odd = g.op("ne", g.op("bitwise_and", bits, one), g.fill(0, v.dtype))
        found = g.op("where", odd, g.op("mul", found, base), found)
        base, bits = g.op("mul", base, base), g.op("shift_right", bits, one)
    if e.dtype[0] == "i":  # a negative exponent: 1 / base^n, cut to an integer
        minus = g.fill(-1, v.dtype)
        share = g.op("where", g.op("eq", first, minus), g.op("where", uneven, minus, one), zero)
        share = g.op("where", g.op("eq", first, one), one, share)
        found = g.op("where", g.op("lt", exponent, g.fill(0, e.dtype)), share, found)
    return g.result(found, v.dtype, v, e)


# ---- functions with parameters ----

@handles("Reciprocal")
def reciprocal(n: Node) -> Value:
    return n.g.result(n.g.op("div", constants(n)(1), n.tensor(0)), n.value(0).dtype, n.value(0))


@handles("Elu", "LeakyRelu", "Selu", "HardSigmoid", "HardSwish", "Celu", "ThresholdedRelu", "Gelu", "Mish", "Swish",
         "Softplus", "Softsign", "Asinh", "Acosh", "Atanh", "Shrink", "PRelu", "IsNaN", "IsInf")
def curve(n: Node) -> Value:
    g, v, x, c = n.g, n.value(0), n.tensor(0), constants(n)
    op = g.op

    def far(a: Any) -> tuple[Any, Any, Any]:
        """Where a^2 + 1 is a^2 to the last bit, log(2 a) there, and a elsewhere: each of numbers whose slope is finite."""
        limit = c(2.0 ** 28 if v.dtype == "f64" else 2.0 ** 12)
        big = op("gt", a, limit)
        return big, op("add", op("log", op("where", big, a, limit)), c(0.6931471805599453)), op("where", big, limit, a)

    if n.kind in ("IsNaN", "IsInf"):
        if n.kind == "IsNaN":
            return g.made(op("ne", x, x), "bool", v)
        above, below = op("eq", x, c(math.inf)), op("eq", x, c(-math.inf))
        kept = [t for t, wanted in ((above, n.get("detect_positive", 1)), (below, n.get("detect_negative", 1))) if wanted]
        none = op("ne", op("eq", x, x), op("eq", x, x))
        return g.made(op("logical_or", *kept) if len(kept) == 2 else kept[0] if kept else none, "bool", v)
    if n.kind == "Elu":
        y = op("elu", x, alpha=float(n.get("alpha", 1.0)))
    elif n.kind == "LeakyRelu":
        y = op("leaky_relu", x, negative_slope=float(n.get("alpha", 0.01)))
    elif n.kind == "PRelu" and v.dtype[0] == "u":  # nothing is below 0
        y = x
    elif n.kind == "PRelu":
        y = op("where", op("lt", x, c(0)), op("mul", x, n.tensor(1)), x)
    elif n.kind == "Selu":
        alpha, gamma = float(n.get("alpha", 1.67326319217681884765625)), float(n.get("gamma", 1.05070102214813232421875))
        y = op("mul", op("elu", x, alpha=alpha), c(gamma))
    elif n.kind in ("HardSigmoid", "HardSwish"):
        alpha, beta = (n.get("alpha", 0.2), n.get("beta", 0.5)) if n.kind == "HardSigmoid" else (1 / 6, 0.5)
        y = op("minimum", op("maximum", op("add", op("mul", x, c(alpha)), c(beta)), c(0)), c(1))
        y = op("mul", x, y) if n.kind == "HardSwish" else y
    elif n.kind == "Celu":
        alpha = float(n.get("alpha", 1.0))
        if alpha == 0 or not math.isfinite(alpha):
            raise n.refuse(f"alpha {alpha}")
        y = op("where", op("gt", x, c(0)), x, op("mul", c(alpha), op("expm1", op("div", x, c(alpha)))))
    elif n.kind == "ThresholdedRelu":
        y = op("where", op("gt", x, c(n.get("alpha", 1.0))), x, c(0))
    elif n.kind == "Gelu" and n.get("approximate", "none") == "tanh":
        inner = op("mul", c(math.sqrt(2 / math.pi)), op("add", x, op("mul", c(0.044715), op("mul", x, op("mul", x, x)))))
        y = op("mul", op("mul", c(0.5), x), op("add", c(1), op("tanh", inner)))
    elif n.kind == "Gelu":
        y = op("gelu", x)
    elif n.kind in ("Softplus", "Mish"):
        y = op("add", op("maximum", x, c(0)), op("log1p", op("exp", op("neg", op("abs", x)))))
        y = op("mul", x, op("tanh", y)) if n.kind == "Mish" else y
    elif n.kind == "Swish":
        y = op("mul", x, op("sigmoid", op("mul", x, c(n.get("alpha", 1.0)))))
    elif n.kind == "Softsign":
        y = op("div", x, op("add", c(1), op("abs", x)))
    elif n.kind == "Asinh":  # odd, and near 0 without cancellation
        big, beyond, a = far(op("abs", x))
        inner = op("add", a, op("div", op("mul", a, a), op("add", c(1), op("hypot", a, c(1)))))
        size = op("where", big, beyond, op("log1p", inner))
        y = op("where", op("lt", x, c(0)), op("neg", size), size)
    elif n.kind == "Acosh":
        big, beyond, a = far(x)
        z = op("sub", a, c(1))
        y = op("where", big, beyond, op("log1p", op("add", z, op("sqrt", op("mul", z, op("add", a, c(1)))))))
    elif n.kind == "Atanh":
        y = op("mul", c(0.5), op("sub", op("log1p", x), op("log1p", op("neg", x))))
    else:  # Shrink
        bias, least = n.get("bias", 0.0), n.get("lambd", 0.5)
        high = op("where", op("gt", x, c(least)), op("sub", x, c(bias)), c(0))
        y = op("where", op("lt", x, c(-least)), op("add", x, c(bias)), high)  # below first, where lambd is negative
    return g.result(y, v.dtype, v, *([n.value(1)] if n.kind == "PRelu" else []))


@handles("Clip")
def clip(n: Node) -> Value:
    v, t = n.value(0), n.tensor(0)
    if v.dtype == "u64":
        raise n.refuse("elements of type u64")
    c = constants(n)
    if n.version < 11:  # whose bounds are binary32's ends unless they are given, so nothing stays infinite
        n.attributes = {"min": -3.4028234663852886e38, "max": 3.4028234663852886e38, **n.attributes}
    if n.has(1) or "min" in n.attributes:
        t = n.g.op("maximum", t, n.tensor(1) if n.has(1) else c(n.get("min")))
    if n.has(2) or "max" in n.attributes:
        t = n.g.op("minimum", t, n.tensor(2) if n.has(2) else c(n.get("max")))
    return n.g.result(t, v.dtype, *[n.value(i) for i in range(3) if n.has(i)])


@handles("Where")
def where(n: Node) -> Value:
    return n.g.made(n.g.op("where", n.tensor(0), n.tensor(1), n.tensor(2)), n.value(1).dtype, *map(n.value, range(3)))


@handles("Cast", "CastLike")
def cast(n: Node) -> Value:
    from .graph import ONNX
    if n.kind == "CastLike":
        return n.g.convert(n.value(0), n.value(1).dtype, bool(n.get("saturate", 1)))
    name = str(n.get("to_name"))
    if name not in ONNX:
        raise n.refuse(f"elements of type {name}")
    return n.g.convert(n.value(0), ONNX[name], bool(n.get("saturate", 1)))


WIDTHS = {"bool": 8, "i8": 8, "u8": 8, "i16": 16, "u16": 16, "i32": 32, "u32": 32, "i64": 64, "u64": 64}


@handles("BitCast")
def bit_cast(n: Node) -> Value:
    """Numbers of one width. Of integers the bits of a number are those of another one, which wraps."""
    from .graph import ONNX
    g, v, to = n.g, n.value(0), ONNX.get(str(n.get("to_name")), "")
    if (v.dtype, to) in (("f32", "i32"), ("f64", "i64")):  # the other way bits that are no number would become those of one NaN
        return g.made(g.op("bitcast", n.tensor(0), dtype=to), to, v)
    if v.dtype not in WIDTHS or WIDTHS.get(to) != WIDTHS[v.dtype] or to == "bool":
        raise n.refuse(f"the bits of {v.dtype} as {n.get('to_name')}")
    if {v.dtype, to} == {"i64", "u64"}:
        return g.made(n.tensor(0), to, v)
    return g.convert(v, to) if v.dtype != "bool" else g.made(g.cast(n.tensor(0), CARRIERS[to]), to, v)


# ---- reductions ----

def axes_of(n: Node, rank: int) -> list[int]:
    axes = n.integers(1, "axes")
    if not axes:
        return list(range(rank))
    if any(not -rank <= a < rank for a in axes):
        raise n.refuse(f"axes {axes} of {rank} axes")
    return sorted({a % rank for a in axes})


def squeezed(g: Graph, t: Any, axes: Sequence[int], keep: bool) -> Any:
    return t if keep else g.reshape(t, [d for i, d in enumerate(t.shape) if i not in axes])


REDUCE = {"ReduceSum": "sum", "ReduceMean": "mean", "ReduceMax": "max", "ReduceMin": "min", "ReduceProd": "prod",
          "ReduceL1": "sum", "ReduceL2": "sum", "ReduceSumSquare": "sum", "ReduceLogSum": "sum",
          "ReduceLogSumExp": "logsumexp"}


@handles(*REDUCE)
def reduce(n: Node) -> Value:
    g, v, x = n.g, n.value(0), n.tensor(0)
    if v.dtype == "u64" and n.kind in ("ReduceMax", "ReduceMin"):
        raise n.refuse("elements of type u64")
    axes = axes_of(n, v.rank)
    op = REDUCE[n.kind]
    if v.image and op in ("max", "min") and v.dtype != "bool" and axes:  # of any order, so of that in which the elements lie
        return extreme_of_image(n, axes, op)
    before = {"ReduceL1": lambda t: t if v.dtype[0] == "u" else g.op("abs", t), "ReduceL2": lambda t: g.op("mul", t, t),
              "ReduceSumSquare": lambda t: g.op("mul", t, t)}.get(n.kind)
    after = {"ReduceL2": "sqrt", "ReduceLogSum": "log"}.get(n.kind)
    x = before(x) if before else x
    if n.get("noop_with_empty_axes", 0) and not n.integers(1, "axes"):
        return g.result(g.op(after, x) if after else x, v.dtype, v)
    if not v.real and n.kind in ("ReduceMean", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp"):
        raise n.refuse(f"elements of type {v.dtype}")
    if v.dtype == "bool":
        x = g.cast(x, "i32")
    if op in ("max", "min") and not math.prod(v.shape[a] for a in axes):
        x = empty_extreme(g, v, axes, op)
    elif v.size == 0 and op == "logsumexp":
        x = g.fill(-math.inf, v.dtype, [1 if i in axes else d for i, d in enumerate(v.shape)])
    elif axes:
        x = g.op(op, x, axes=axes)
    x = g.op(after, x) if after else x
    x = squeezed(g, x, axes, bool(n.get("keepdims", 1)))
    return g.result(g.cast(x, "bool") if v.dtype == "bool" else x, v.dtype, v)


def extreme_of_image(n: Node, axes: Sequence[int], op: str) -> Value:
    g, v, last = n.g, n.value(0), [0, 2, 3, 1]
    x = g.op(op, g.transpose(n.tensor(0), last), axes=sorted(last.index(a) for a in axes))
    return g.result(squeezed(g, g.transpose(x, [0, 3, 1, 2]), axes, bool(n.get("keepdims", 1))), v.dtype, v)


def empty_extreme(g: Graph, v: Value, axes: Sequence[int], op: str) -> Any:
    """What a maximum or minimum of no elements is: the least or greatest of the type."""
    shape = [1 if i in axes else d for i, d in enumerate(v.shape)]
    if v.real:
        return g.fill(-math.inf if op == "max" else math.inf, v.dtype, shape)
    limits = None if v.dtype == "bool" else np.iinfo(NUMPY[v.dtype])
    low, high = (0, 1) if limits is None else (limits.min, limits.max)
    t = g.tensor(g.constant(np.array(low if op == "max" else high, np.int32 if v.dtype == "bool" else NUMPY[v.dtype])))
    return g.broadcast(t, shape)


@handles("ArgMax", "ArgMin")
def arg(n: Node) -> Value:
    g, v = n.g, n.value(0)
    axis, op = n.axis(0, v.rank), "argmax" if n.kind == "ArgMax" else "argmin"
    t, length = n.tensor(0), v.shape[axis]
    if v.dtype == "u64":
        t = g.op("bitwise_xor", t, first_bit(g))
    if n.get("select_last_index", 0):
        t = g.op("slice_step", t, begin=[length - 1 if i == axis else 0 for i in range(v.rank)], size=list(v.shape),
                 step=[-1 if i == axis else 1 for i in range(v.rank)])
    t = g.cast(g.op(op, t, axis=axis), "i64")
    if n.get("select_last_index", 0):
        t = g.op("sub", g.fill(length - 1, "i64"), t)
    kept = [1 if i == axis else d for i, d in enumerate(v.shape)]
    shape = kept if n.get("keepdims", 1) else [d for i, d in enumerate(v.shape) if i != axis]
    return g.made(g.reshape(t, shape), "i64", v)


@handles("CumSum", "CumProd")
def cumulative(n: Node) -> Value:
    g, v = n.g, n.value(0)
    axis, reverse = g.integers(n.value(1))[0] % v.rank, bool(n.get("reverse", 0))
    op, first = ("cumsum", 0) if n.kind == "CumSum" else ("cumprod", 1)
    t = n.tensor(0)
    if n.get("exclusive", 0):  # the neutral element comes first, the last one goes
        length = v.shape[axis]
        edge = g.fill(first, v.dtype, [1 if i == axis else d for i, d in enumerate(v.shape)])
        kept = g.op("slice", t, begin=[1 if reverse and i == axis else 0 for i in range(v.rank)],
                    end=[length - 1 if not reverse and i == axis else d for i, d in enumerate(v.shape)])
        t = g.op("concat", *([kept, edge] if reverse else [edge, kept]), axis=axis)
    return g.result(g.op(op, t, axis=axis, reverse=reverse), v.dtype, v)


@handles("Softmax", "LogSoftmax", "Hardmax")
def softmax(n: Node) -> Value:
    g, v, t = n.g, n.value(0), n.tensor(0)
    axis = n.axis(1 if n.version < 13 else -1, v.rank)
    if n.version < 13:
        t = g.reshape(t, [math.prod(v.shape[:axis]), math.prod(v.shape[axis:])])
        return g.result(g.reshape(along_last(g, t, n.kind, v.dtype), v.shape), v.dtype, v)
    moved = [i for i in range(v.rank) if i != axis] + [axis]
    back = [moved.index(i) for i in range(v.rank)]
    return g.result(g.transpose(along_last(g, g.transpose(t, moved), n.kind, v.dtype), back), v.dtype, v)


def along_last(g: Graph, t: Any, kind: str, dtype: str) -> Any:
    if kind == "Softmax" and dtype in ("f16", "bf16"):  # each step in the type, as ONNX's definition of it is
        last = [len(t.shape) - 1]
        e = g.narrow(g.op("exp", g.narrow(g.op("sub", t, g.op("max", t, axes=last)), dtype)), dtype)
        return g.op("div", e, g.narrow(g.op("sum", e, axes=last), dtype))
    if kind != "Hardmax":
        return g.op("softmax" if kind == "Softmax" else "log_softmax", t)
    index = g.op("argmax", t, axis=len(t.shape) - 1)
    index = g.reshape(index, t.shape[:-1])
    return g.op("one_hot", index, depth=t.shape[-1], dtype=t.dtype)


# ---- products ----

def product(g: Graph, a: Any, b: Any) -> Any:
    """NumPy's matmul: vectors are rows and columns that go again, batches broadcast."""
    row, column = len(a.shape) == 1, len(b.shape) == 1
    a = g.reshape(a, [1, *a.shape]) if row else a
    b = g.reshape(b, [*b.shape, 1]) if column else b
    batch = list(np.broadcast_shapes(tuple(a.shape[:-2]), tuple(b.shape[:-2])))
    a, b = g.broadcast(a, [*batch, *a.shape[-2:]]), g.broadcast(b, [*batch, *b.shape[-2:]])
    y = g.op("matmul", a, b)
    return g.reshape(y, [*batch, *([] if row else [y.shape[-2]]), *([] if column else [y.shape[-1]])])


@handles("MatMul")
def matmul(n: Node) -> Value:
    v, w = n.value(0), n.value(1)
    if not v.real:
        raise n.refuse(f"elements of type {v.dtype}")
    return n.g.result(product(n.g, n.tensor(0), n.tensor(1)), v.dtype, v, w)


@handles("MatMulInteger")
def matmul_integer(n: Node) -> Value:
    """In binary32, where sums of BYTES products of bytes are exact, of known weights more, and their sums in i32; of vectors, and where
    those might wrap, in binary64."""
    g, k = n.g, n.value(0).shape[-1] if n.value(0).rank else 0
    narrow = min(n.value(0).rank, n.value(1).rank) > 1 and 0 < k < MOST_BYTES
    a, b = (centred(n, i, i + 2, -2 if i == 0 else -1, "f32" if narrow else "f64") for i in (0, 1))
    known = centred_weights(n, 1, 3, -1)
    size = exact_size(known, k) if narrow else k
    if narrow and known is not None and math.prod(a.shape[:-1]) <= FEW_ROWS:
        b = g.cast(b, "bf16")  # which has all bits of a byte less another, and of which few rows read half as much
    if narrow and size < k:
        ends = [(at, min(at + size, k)) for at in range(0, k, size)]
        parts = [g.cast(product(g, part(g, a, -1, *e), part(g, b, -2, *e)), "i32") for e in ends]
        total = parts[0]
        for other in parts[1:]:
            total = g.op("add", total, other)
    else:
        total = g.cast(product(g, a, b), "i32")
    return g.made(total, "i32", *[v for v in n.inputs if v is not None])


def part(g: Graph, t: Any, axis: int, begin: int, end: int) -> Any:
    low, high = [0] * len(t.shape), list(t.shape)
    low[axis], high[axis] = begin, end
    return g.op("slice", t, begin=low, end=high)


def exact_in_f32(weights: Any, axis: int) -> bool:
    """Whether sums along an axis of bytes less their zero point by these whole numbers are exact in binary32. Such a byte is between -l and
    255 - l for an l from 0 to 255, so no sum of some of the products is beyond 255 times the weights above 0, or those below, whichever
    is more; and whole numbers up to 2^24 have all their bits there, in any order of the sum."""
    above, below = (np.maximum(s * weights, 0).sum(axis).max(initial=0) for s in (1, -1))
    return bool(255 * max(above, below) <= 1 << 24)


def exact_size(weights: Any, k: int) -> int:
    """Into how long parts k is cut for sums of products with matrices [.., k, n] to be exact in binary32, as equal as can be."""
    most = -(-k // BYTES)
    for parts in range(1, most) if weights is not None else ():
        size = -(-k // parts)
        if all(exact_in_f32(weights[..., at:at + size, :], -2) for at in range(0, k, size)):
            return size
    return -(-k // most)


def centred_weights(n: Node, i: int, zero: int, axis: int) -> Any:
    """Bytes that are known less their zero point, which is one number or one for each along an axis, in binary64, or None."""
    v = n.value(i)
    if v.known is None or v.trained or n.has(zero) and (n.value(zero).known is None or n.value(zero).trained):
        return None
    known = np.asarray(v.known).astype(np.float64)
    if n.has(zero):
        z = np.asarray(n.value(zero).known).astype(np.float64)
        known = known - (z.reshape([-1 if k == known.ndim + axis else 1 for k in range(known.ndim)]) if z.ndim == 1 < known.ndim else z)
    return known


def centred(n: Node, i: int, zero: int, axis: int, kind: str = "f64") -> Any:
    """An operand less its zero point. Of weights that is known: they are kept so, as an answer would else take longer to cast them than
    to multiply."""
    g, known = n.g, centred_weights(n, i, zero, axis)
    if known is not None:
        return g.tensor(g.constant(np.ascontiguousarray(known, NUMPY[kind])))
    t = g.cast(n.tensor(i), kind)
    if not n.has(zero):
        return t
    z = g.cast(n.tensor(zero), kind)
    if len(z.shape) == 1 and len(t.shape) > 1:
        z = g.reshape(z, [z.shape[0] if k == len(t.shape) + axis else 1 for k in range(len(t.shape))])
    return g.op("sub", t, z)


@handles("Gemm")
def gemm(n: Node) -> Value:
    g, v = n.g, n.value(0)
    if not v.real:
        raise n.refuse(f"elements of type {v.dtype}")
    a = g.transpose(n.tensor(0), [1, 0] if n.get("transA", 0) else [0, 1])
    b = g.transpose(n.tensor(1), [1, 0] if n.get("transB", 0) else [0, 1])
    y, alpha, beta = g.op("matmul", a, b), float(n.get("alpha", 1.0)), float(n.get("beta", 1.0))
    if alpha != 1:
        y = g.op("mul", y, g.fill(alpha, v.dtype))
    if n.has(2):
        c = n.tensor(2)
        y = g.op("add", y, c if beta == 1 else g.op("mul", c, g.fill(beta, v.dtype)))
    return g.result(y, v.dtype, *[x for x in n.inputs if x is not None])


@handles("Det")
def det(n: Node) -> Value:
    """Of square matrices, by elimination; its slope is the determinant times the inverse, which a singular one has none of."""
    g, v = n.g, n.value(0)
    if not v.real or v.rank < 2 or v.shape[-1] != v.shape[-2]:
        raise n.refuse(f"elements of type {v.dtype} and shape {list(v.shape)}")
    if not v.size:  # of no elements it is 1
        return g.made(g.fill(1, v.dtype, v.shape[:-2]), v.dtype, v)
    _, _, value, change = determined(g, n.refuse, n.tensor(0))
    return g.result(joined(g, value, g.op("mul", value, change)), v.dtype, v)


@handles("Einsum")
def einsum(n: Node) -> Value:
    """Products of all that is named, summed over what the result does not name; an ellipsis is named axes too."""
    g, v = n.g, n.value(0)
    left, arrow, right = str(n.get("equation")).replace(" ", "").partition("->")
    terms = left.split(",")
    wide = max([x.rank - len(t.replace("...", "")) for t, x in zip(terms, map(n.value, range(len(terms)))) if "..." in t],
               default=0)
    dots = "".join(chr(0x2460 + i) for i in range(wide))
    terms = [t.replace("...", dots[wide - (n.value(i).rank - len(t.replace("...", ""))):] if "..." in t else "")
             for i, t in enumerate(terms)]
    letters = "".join(terms)
    if not arrow:
        right = dots + "".join(sorted(c for c in set(letters) - set(dots) if letters.count(c) == 1))
    right = right.replace("...", dots)
    order = list(dict.fromkeys(right + letters))
    total = None
    for i, term in enumerate(terms):
        t = n.tensor(i)
        for c in [c for c in dict.fromkeys(term) if term.count(c) > 1]:  # in their order: one model, one program
            t, term = diagonal(g, t, term, c, v.dtype)
        t = g.transpose(t, [term.index(c) for c in order if c in term])
        t = g.reshape(t, [n_of(t, sorted(term, key=order.index), c) for c in order])
        total = t if total is None else g.op("mul", total, t)
    over = list(range(len(right), len(order)))
    total = g.op("sum", total, axes=over) if over else total
    return g.result(squeezed(g, total, over, False), v.dtype, *[x for x in n.inputs if x is not None])


def n_of(t: Any, term: Sequence[str], c: str) -> int:
    return int(t.shape[term.index(c)]) if c in term else 1


def diagonal(g: Graph, t: Any, term: str, c: str, dtype: str) -> tuple[Any, str]:
    """Two axes of one name: zeros off their diagonal, then the sum along the second."""
    i = term.index(c)
    j = term.index(c, i + 1)
    size = t.shape[i]
    g.room(size, size)
    eye = np.eye(size, dtype=np.bool_).reshape([size if k in (i, j) else 1 for k in range(len(term))])
    t = g.op("sum", g.op("where", g.tensor(g.constant(eye)), t, g.fill(0, dtype)), axes=[j])
    return squeezed(g, t, [j], False), term[:j] + term[j + 1:]


