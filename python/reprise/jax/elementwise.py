# SPDX-License-Identifier: Apache-2.0
"""Primitives that compute element by element, comparisons, conversions and bits.

Types that operations do not take are computed in a wider one and brought back, which gives the same numbers."""
from __future__ import annotations

from typing import Any

import numpy as np

from .graph import FLOATS, NUMPY
from .lowering import COMPUTED, Lowering, Node, Value, handles

SAME = {n: n for n in ("exp", "log", "log1p", "sqrt", "tanh", "erf", "expm1", "exp2", "sin", "cos", "tan", "sinh", "cosh", "asin",
                       "acos", "atan", "erfc", "erf_inv", "rsqrt", "cbrt", "floor", "ceil")} | {"logistic": "sigmoid"}
TWO = {"add": "add", "add_any": "add", "sub": "sub", "mul": "mul"}
COMPARED = {"lt": "lt", "le": "le", "gt": "gt", "ge": "ge", "eq": "eq", "ne": "ne", "lt_to": "lt", "le_to": "le"}
BITS = {"u8": 8, "i8": 8, "i16": 16, "u32": 32, "i32": 32, "i64": 64, "u64": 64}


@handles(*SAME)
def same(n: Node) -> Value:
    return n.made(n.g.op(SAME[n.primitive], n.computed(0)))


@handles(*TWO)
def two(n: Node) -> Value:
    if n.dtype == "bool":
        name = {"add": "logical_or", "add_any": "logical_or", "mul": "logical_and"}.get(n.primitive)
        if name is None:
            raise n.refuse("of bool")
        return n.made(n.g.op(name, n.tensor(0), n.tensor(1)))
    return n.made(n.g.op(TWO[n.primitive], n.computed(0), n.computed(1)))


@handles("neg")
def neg(n: Node) -> Value:
    if n.dtype == "u32":
        return n.made(n.g.op("sub", n.g.fill(0, "u32"), n.tensor(0)))
    return n.made(n.g.op("neg", n.computed(0)))


@handles("abs", "sign")
def numbers(n: Node) -> Value:
    if n.dtype == "u32" or n.dtype == "u8":
        one = n.g.where(n.g.op("ne", n.tensor(0), n.g.fill(0, n.dtype)), n.g.fill(1, n.dtype), n.g.fill(0, n.dtype))
        return n.made(n.tensor(0) if n.primitive == "abs" else one)
    if n.primitive == "abs" and n.active:  # jax's derivative is 1 at 0
        x = n.computed(0)
        zero = n.g.fill(0, x.dtype)
        return n.made(n.g.where(n.g.op("ge", x, zero), n.g.op("add", x, zero), n.g.op("neg", x)))
    return n.made(n.g.op(n.primitive, n.computed(0)))


@handles("square")
def square(n: Node) -> Value:
    x = n.computed(0)
    return n.made(n.g.op("mul", x, x))


@handles("asinh", "acosh", "atanh")
def inverse(n: Node) -> Value:
    from .. import functions
    return n.made(getattr(functions, n.primitive)(n.computed(0)))


@handles("round")
def rounded(n: Node) -> Value:
    g, x = n.g, n.computed(0)
    if n.get("rounding_method") in ("TO_NEAREST_EVEN", 1):
        return n.made(g.op("round", x))
    a = g.op("abs", x)  # away from zero: the fraction is exact
    whole = g.op("floor", a)
    up = g.op("ge", g.op("sub", a, whole), g.fill(0.5, x.dtype))
    found = g.where(up, g.op("add", whole, g.fill(1, x.dtype)), whole)
    signed = g.where(g.op("lt", x, g.fill(0, x.dtype)), g.op("neg", found), found)
    return n.made(g.op("stop_gradient", g.where(g.op("eq", x, g.fill(0, x.dtype)), x, signed)))


@handles("div")
def div(n: Node) -> Value:
    g = n.g
    if n.dtype in FLOATS:
        return n.made(g.op("div", n.computed(0), n.computed(1)))
    a, b = (g.cast(n.tensor(i), "i64") if n.dtype == "u32" else n.computed(i) for i in (0, 1))
    by_zero = g.where(g.op("eq", b, g.fill(0, b.dtype)), g.fill(-1, b.dtype), g.op("div_trunc", a, b))  # as XLA has it
    return n.made(by_zero)


@handles("rem")
def rem(n: Node) -> Value:
    g = n.g
    if n.dtype == "u64":
        return n.made(rem_of_words(g, n.tensor(0), n.tensor(1)))
    a, b = (g.cast(n.tensor(i), "i64") if n.dtype == "u32" else n.computed(i) for i in (0, 1))
    found = g.op("fmod", a, b)
    if n.dtype not in FLOATS:
        found = g.where(g.op("eq", b, g.fill(0, b.dtype)), a, found)
    return n.made(found)


def rem_of_words(g: Lowering, a: Any, b: Any) -> Any:
    """Of 64 bits without a sign, in integers with one: of half of a by b twice, and what is left."""
    one, top = g.fill(1, "i64"), g.op("shift_left", g.fill(1, "i64"), g.fill(63, "i64"))

    def least(x: Any) -> Any:
        """x - b where that is no less than 0, else x, both without a sign."""
        below = g.op("lt", g.op("bitwise_xor", x, top), g.op("bitwise_xor", b, top))
        return g.where(below, x, g.op("sub", x, b))
    small = g.op("gt", b, g.fill(0, "i64"))
    half = g.op("bitwise_and", g.op("shift_right", a, one), g.op("bitwise_xor", top, g.fill(-1, "i64")))
    twice = g.op("shift_left", g.op("fmod", half, g.where(small, b, one)), one)
    found = g.where(small, least(g.op("add", twice, g.op("bitwise_and", a, one))), least(a))
    return g.where(g.op("eq", b, g.fill(0, "i64")), a, found)


@handles("pow")
def power(n: Node) -> Value:
    if n.dtype not in FLOATS:
        raise n.refuse("of integers; x ** 2 with a number of Python is integer_pow, which is taken")
    return n.made(n.g.op("pow", n.computed(0), n.g.cast(n.tensor(1), COMPUTED.get(n.dtype, n.dtype))))


@handles("atan2", "nextafter")
def atan2(n: Node) -> Value:
    if n.primitive == "nextafter":
        return nextafter(n)
    return n.made(n.g.op("atan2", n.computed(0), n.computed(1)))


def nextafter(n: Node) -> Value:
    """The next number towards the second, by its bits."""
    g = n.g
    if n.dtype not in ("f32", "f64"):
        raise n.refuse(f"of {n.dtype}")
    word = "i32" if n.dtype == "f32" else "i64"
    x, y = g.broadcast(n.tensor(0), n.shape), g.broadcast(n.tensor(1), n.shape)
    bits, zero = g.op("bitcast", x, dtype=word), g.fill(0, n.dtype)
    outward = g.op("eq", g.op("gt", x, zero), g.op("gt", y, x))
    step = g.where(outward, g.fill(1, word), g.fill(-1, word))
    moved = g.op("bitcast", g.op("add", bits, step), dtype=n.dtype)
    least = g.op("bitcast", g.broadcast(g.fill(1, word), n.shape), dtype=n.dtype)
    moved = g.where(g.op("eq", x, zero), g.where(g.op("gt", y, zero), least, g.op("neg", least)), moved)
    found = g.where(g.op("eq", x, y), y, moved)
    nan = g.op("logical_or", g.op("ne", x, x), g.op("ne", y, y))
    return n.made(g.where(nan, g.fill(float("nan"), n.dtype), found))


@handles("integer_pow")
def integer_power(n: Node) -> Value:
    """By squaring and multiplying, as XLA has it; the operation pow_int rounds a power once, which costs more."""
    g, y, x = n.g, int(n.need("y")), n.computed(0)
    real = n.dtype in FLOATS
    if abs(y) > 64 and real:
        return n.made(g.op("pow_int", x, exponent=y))
    if y < 0 and not real:
        raise n.refuse("a negative power of integers")
    one = g.fill(1, x.dtype)
    found: Any = None
    left, square_ = abs(y), x
    while left:
        if left & 1:
            found = square_ if found is None else g.op("mul", found, square_)
        left >>= 1
        square_ = g.op("mul", square_, square_) if left else square_
    if found is None:
        return Value(n.dtype, n.shape, g.broadcast(g.cast(one, n.dtype), n.shape))
    return n.made(g.op("div", one, found) if y < 0 else found)


@handles("max", "min")
def extreme(n: Node) -> Value:
    """jax gives each of two equal operands half of the gradient."""
    g = n.g
    if n.dtype == "bool":
        return n.made(g.op("logical_or" if n.primitive == "max" else "logical_and", n.tensor(0), n.tensor(1)))
    a, b = (g.cast(n.tensor(i), "i64") if n.dtype == "u32" else n.computed(i) for i in (0, 1))
    found = g.op("maximum" if n.primitive == "max" else "minimum", a, b)
    if n.active and n.dtype in FLOATS and not far(n):
        half = g.fill(0.5, a.dtype)
        found = g.where(g.op("eq", a, b), g.op("add", g.op("mul", a, half), g.op("mul", b, half)), found)
    return n.made(found)


def far(n: Node) -> bool:
    """Whether an operand is an infinity, which only infinities equal, whose gradients are lost anyway."""
    return any(v.known is not None and v.known.size == 1 and np.isinf(v.known).all() for v in n.inputs)


@handles("clamp")
def clamp(n: Node) -> Value:
    """Of (least, x, greatest); at a bound jax's gradient is 0."""
    g = n.g
    low, x, high = (g.cast(n.tensor(i), "i64") if n.dtype == "u32" else n.computed(i) for i in (0, 1, 2))
    if not n.active:
        return n.made(g.op("minimum", g.op("maximum", x, low), high))
    inside = g.op("logical_and", g.op("gt", x, low), g.op("lt", x, high))
    if n.inputs[0].active or n.inputs[2].active:  # bounds that cross or meet: only one that is passed has a gradient, as jax's do
        below = g.op("logical_and", g.op("lt", x, low), g.op("lt", low, high))
        still = g.op("stop_gradient", g.op("minimum", g.op("maximum", x, low), high))
        return n.made(g.where(inside, x, g.where(g.op("gt", x, high), high, g.where(below, low, still))))
    rest = g.where(g.op("gt", x, high), high, g.op("stop_gradient", x))
    rest = g.where(g.op("lt", x, low), g.where(g.op("gt", low, high), high, low), rest)
    return n.made(g.where(inside, x, rest))


@handles(*COMPARED)
def compared(n: Node) -> Value:
    g = n.g
    a, b = n.computed(0), n.computed(1)
    if a.dtype == "bool" and n.primitive not in ("eq", "ne"):
        a, b = g.cast(a, "i32"), g.cast(b, "i32")
    return n.made(g.op(COMPARED[n.primitive], a, b))


@handles("is_finite")
def is_finite(n: Node) -> Value:
    g, x = n.g, n.computed(0)
    return n.made(g.op("lt", g.op("abs", x), g.fill(float("inf"), x.dtype)))


@handles("select_n")
def select(n: Node) -> Value:
    g, c = n.g, n.tensor(0)
    cases = [n.tensor(i) for i in range(1, len(n.inputs))]
    if c.dtype == "bool":
        if len(cases) == 1:
            return n.made(cases[0])
        return n.made(g.where(c, cases[1], cases[0]))
    found = cases[-1]
    for k in range(len(cases) - 2, -1, -1):
        found = g.where(g.op("le", g.cast(c, "i64"), g.fill(k, "i64")), cases[k], found)
    return n.made(found)


@handles("stop_gradient")
def stop(n: Node) -> Value:
    t = n.tensor(0)
    return Value(n.dtype, n.shape, n.g.op("stop_gradient", t) if n.active else t)


@handles("copy", "copy_p", "optimization_barrier", "pvary", "sharding_constraint", "mesh_cast", "reshard", "device_put")
def same_value(n: Node) -> list[Value]:
    return n.inputs


# ---- logic and bits ----

@handles("and", "or", "xor")
def bits(n: Node) -> Value:
    name = f"logical_{n.primitive}" if n.dtype == "bool" else f"bitwise_{n.primitive}"
    return n.made(n.g.op(name, n.computed(0), n.computed(1)))


@handles("not")
def negated(n: Node) -> Value:
    if n.dtype == "bool":
        return n.made(n.g.op("logical_not", n.tensor(0)))
    x = n.computed(0)
    return n.made(n.g.op("bitwise_xor", x, n.g.fill(-1 if x.dtype != "u32" else 4294967295, x.dtype)))


@handles("shift_left", "shift_right_logical", "shift_right_arithmetic")
def shift(n: Node) -> Value:
    g, wide = n.g, BITS.get(n.dtype, 0)
    x, count = n.computed(0), n.computed(1)
    if n.primitive == "shift_left":
        found = g.op("shift_left", x, count)
        if wide < 32:  # a narrow count of this many or more shifts everything out
            found = g.where(beyond(n, count, wide), g.fill(0, x.dtype), found)
        return n.made(found)
    if n.primitive == "shift_right_arithmetic":
        if n.dtype == "u32":  # as XLA has it: its top bit is the sign
            found = g.op("shift_right", g.op("bitcast", x, dtype="i32"), g.op("bitcast", count, dtype="i32"))
            return n.made(g.op("bitcast", g.broadcast(found, n.shape), dtype="u32"))
        if n.dtype == "u8":
            x = g.cast(g.op("bitcast", n.tensor(0), dtype="i8"), "i32")
            return n.made(g.where(beyond(n, count, 8), g.op("shift_right", x, g.fill(8, "i32")), g.op("shift_right", x, count)))
        return n.made(g.op("shift_right", x, count))
    if n.dtype in ("i64", "u64"):
        mask = g.op("sub", g.op("shift_left", g.fill(1, "i64"), g.op("sub", g.fill(64, "i64"), count)), g.fill(1, "i64"))
        moved = g.op("bitwise_and", g.op("shift_right", x, count), mask)
        none, all_ = g.op("eq", count, g.fill(0, "i64")), beyond(n, count, 64)
        return n.made(g.where(none, x, g.where(all_, g.fill(0, "i64"), moved)))
    if n.dtype in ("i8", "i16"):
        x = g.op("bitwise_and", x, g.fill((1 << wide) - 1, "i32"))
    if n.dtype == "i32":
        x, count = (g.op("bitcast", g.broadcast(t, n.shape), dtype="u32") for t in (x, count))
        return n.made(g.op("bitcast", g.op("shift_right", x, count), dtype="i32"))
    found = g.op("shift_right", x, count)
    return n.made(g.where(beyond(n, count, wide), g.fill(0, x.dtype), found) if wide < 32 else found)


def beyond(n: Node, count: Any, wide: int) -> Any:
    g = n.g
    return g.op("logical_or", g.op("lt", count, g.fill(0, count.dtype)), g.op("ge", count, g.fill(wide, count.dtype)))


@handles("population_count", "clz")
def counted(n: Node) -> Value:
    """Ones, or zeros in front: bit by bit."""
    g, wide = n.g, BITS[n.dtype]
    x = n.computed(0)
    one, zero = g.fill(1, x.dtype), g.fill(0, x.dtype)
    found, seen = zero, zero
    for k in range(wide - 1, -1, -1):
        bit = g.op("bitwise_and", g.op("shift_right", x, g.fill(k, x.dtype)), one)
        seen = g.op("bitwise_or", seen, bit)
        found = g.op("add", found, bit if n.primitive == "population_count" else g.op("bitwise_xor", seen, one))
    return n.made(found)


# ---- types ----

@handles("convert_element_type")
def convert(n: Node) -> Value:
    v = n.inputs[0]
    if "u64" in (v.dtype, n.dtype) and (v.dtype in FLOATS or n.dtype in (*FLOATS, "bool")):
        raise n.refuse(f"from {v.dtype} to {n.dtype}")
    if v.known is not None and n.dtype in NUMPY and not (v.dtype in FLOATS and n.dtype not in FLOATS):
        with np.errstate(all="ignore"):
            return Value(n.dtype, n.shape, known=v.known.astype(NUMPY[n.dtype]))
    made = n.made(n.tensor(0))
    return made if v.dtype in FLOATS else Value(made.dtype, made.shape, made.tensor)


@handles("bitcast_convert_type")
def bitcast(n: Node) -> Value:
    v = n.inputs[0]
    if v.shape != n.shape or "bool" in (v.dtype, n.dtype):
        raise n.refuse(f"from {v.dtype} to {n.dtype}: of other widths")
    return n.made(n.g.op("bitcast", n.tensor(0), dtype="i64") if n.dtype == "u64" else
                  n.g.op("bitcast", n.tensor(0), dtype=n.dtype))


@handles("reduce_precision")
def reduce_precision(n: Node) -> Value:
    kind = (int(n.need("exponent_bits")), int(n.need("mantissa_bits")))
    narrow = {(8, 7): "bf16", (5, 10): "f16", (8, 23): "f32", (11, 52): n.dtype}.get(kind)
    if narrow is None or n.dtype not in ("f32", "f64") and narrow != n.dtype:
        raise n.refuse(f"to {kind[0]} bits of exponent and {kind[1]} of fraction")
    g, x = n.g, n.tensor(0)
    found = g.cast(g.cast(x, narrow), n.dtype)
    own = {"f64": 11, "f32": 8, "bf16": 8, "f16": 5}[n.dtype]
    if kind[0] < own:  # what would be below the narrow type's normal numbers is a zero of its sign
        least = g.fill(2.0 ** (2 - 2 ** (kind[0] - 1)) * (1 - 2.0 ** -(kind[1] + 2)), x.dtype)
        found = g.where(g.op("lt", g.op("abs", x), least), g.op("mul", x, g.fill(0, x.dtype)), found)
    return n.made(found)


@handles("constant")
def constant(n: Node) -> Value:
    array = np.asarray(n.need("value"))
    return Value(n.dtype, n.shape, n.g.cast(n.g.array(array), n.dtype))
