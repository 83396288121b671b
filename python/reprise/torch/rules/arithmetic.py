# SPDX-License-Identifier: Apache-2.0
"""Rules for PyTorch's elementwise arithmetic, comparisons, logic and bounds. Operands are brought into the type that
PyTorch's promotion gives before anything is computed."""
from __future__ import annotations

import math
from typing import Any

from .forms import INTEGER, REAL, elementwise, number, op, pair, promoted
from ..graph import Node
from ..lower import Lowering, Value, lowers

UNARY = ["exp", "log", "log1p", "sqrt", "tanh", "sigmoid", "erf", "expm1", "exp2", "log2", "log10", "sin", "cos", "tan", "sinh",
         "cosh", "asin", "acos", "atan", "erfc", "rsqrt"]
WHOLE = {"floor": "floor", "ceil": "ceil", "trunc": "trunc", "fix": "trunc", "round": "round"}


def dtype_of(g: Lowering, node: Node) -> str:
    return g.meta(node).dtype


def computable(g: Lowering, dtype: str) -> str:
    if dtype not in (*REAL, *INTEGER):
        raise g.refuse(f"elements of {dtype}", "Convert them to float32, or integers to int32 or int64")
    return dtype


@lowers(*(f"aten.{n}.default" for n in UNARY), "aten.special_erfinv.default", "aten.erfinv.default", "aten.special_expm1.default",
        "aten.special_exp2.default", "aten.special_erf.default", "aten.special_erfc.default", "aten.special_expit.default",
        "aten.special_log1p.default")
def unary(g: Lowering, node: Node, x: Any) -> Any:
    name = node.op.split(".")[1].removeprefix("special_")
    name = {"expit": "sigmoid", "erfinv": "erf_inv"}.get(name, name)
    return elementwise(g, name, number(g, x, computable(g, dtype_of(g, node))))


@lowers("aten.neg.default", "aten.abs.default", "aten.sign.default", "aten.sgn.default")
def signed(g: Lowering, node: Node, x: Any) -> Any:
    if x.dtype == "bool" and node.op != "aten.neg.default":
        return x
    computable(g, x.dtype)
    return elementwise(g, {"sgn": "sign"}.get(node.op.split(".")[1], node.op.split(".")[1]), x)


@lowers("aten.positive.default", "aten.clone.default", "aten.contiguous.default", "aten.alias.default", "aten.lift_fresh_copy.default",
        "aten.lift_fresh.default", "aten.alias_copy.default", "aten.resolve_conj.default", "aten.resolve_neg.default",
        "aten.real.default", "aten.conj.default",
        "aten._conj.default", "aten.view_as.default", "aten.clone_preserve_strides.default", "aten.lift.default")
def same(g: Lowering, node: Node, x: Any, *_: Any, **__: Any) -> Any:
    return x


@lowers("aten.deg2rad.default", "aten.rad2deg.default")
def degrees(g: Lowering, node: Node, x: Any) -> Any:
    return op(g, "mul", number(g, x, computable(g, dtype_of(g, node))), math.pi / 180 if "deg2rad" in node.op else 180 / math.pi)


@lowers("aten.angle.default")
def angle(g: Lowering, node: Node, x: Any) -> Any:
    """Of real numbers 0 or pi, a NaN stays."""
    m = g.meta(node)
    x = elementwise(g, "stop_gradient", x) if x.real else number(g, x, m.dtype)
    found = elementwise(g, "where", op(g, "lt", x, 0), g.fill(math.pi, m.dtype), g.fill(0, m.dtype))
    return elementwise(g, "where", elementwise(g, "eq", x, x), found, x)


def angle_of(g: Lowering, re: Value, im: Value) -> Value:
    """Of a point. At 0 its gradient is 0."""
    zero = elementwise(g, "logical_and", op(g, "eq", re, 0), op(g, "eq", im, 0))
    found = elementwise(g, "atan2", im, elementwise(g, "where", zero, g.fill(1, re.dtype), re))
    return elementwise(g, "where", zero, elementwise(g, "stop_gradient", elementwise(g, "atan2", im, re)), found)


@lowers("aten.detach.default", "aten.detach_copy.default")
def detach(g: Lowering, node: Node, x: Any) -> Any:
    return stopped(g, x)


def stopped(g: Lowering, x: Any) -> Any:
    """A value through which no gradient passes."""
    return elementwise(g, "stop_gradient", x) if x.real else x


@lowers(*(f"aten.{n}.default" for n in WHOLE))
def whole(g: Lowering, node: Node, x: Any) -> Any:
    return x if not x.real else elementwise(g, WHOLE[node.op.split(".")[1]], x)


@lowers("aten.round.decimals")
def round_decimals(g: Lowering, node: Node, x: Any, *, decimals: int = 0) -> Any:
    if not x.real:
        return x
    if decimals == 0:
        return elementwise(g, "round", x)
    scale = 10.0 ** abs(decimals)
    first, then = ("mul", "div") if decimals > 0 else ("div", "mul")
    return op(g, then, elementwise(g, "round", op(g, first, x, scale)), scale)


@lowers("aten.frac.default")
def frac(g: Lowering, node: Node, x: Any) -> Any:
    return elementwise(g, "sub", x, elementwise(g, "trunc", x))


@lowers("aten.reciprocal.default")
def reciprocal(g: Lowering, node: Node, x: Any) -> Any:
    x = number(g, x, computable(g, dtype_of(g, node)))
    return op(g, "div", g.fill(1, x.dtype), x)


@lowers("aten.square.default")
def square(g: Lowering, node: Node, x: Any) -> Any:
    computable(g, x.dtype)
    return elementwise(g, "mul", x, x)


@lowers("aten.asinh.default", "aten.acosh.default", "aten.atanh.default")
def inverse_hyperbolic(g: Lowering, node: Node, x: Any) -> Any:
    """Without cancellation near 0, and without overflow: beyond 2^12 (2^27 in binary64) 1 is lost beside x^2."""
    x = number(g, x, computable(g, dtype_of(g, node)))
    name = node.op.split(".")[1]
    if name == "atanh":
        return op(g, "mul", elementwise(g, "sub", op(g, "log1p", x), op(g, "log1p", op(g, "neg", x))), 0.5)
    size = x if name == "acosh" else elementwise(g, "abs", x)
    limit = 2.0 ** (12 if x.dtype == "f32" else 27)
    big = op(g, "gt", size, limit)
    beyond = op(g, "add", elementwise(g, "log", elementwise(g, "where", big, size, g.fill(1, x.dtype))), math.log(2))
    a = elementwise(g, "where", big, g.fill(1, x.dtype), size)
    if name == "acosh":
        z = op(g, "sub", a, 1)
        near = op(g, "log1p", elementwise(g, "add", z, op(g, "sqrt", elementwise(g, "mul", z, op(g, "add", a, 1)))))
        return elementwise(g, "where", big, beyond, near)
    inner = elementwise(g, "add", a, elementwise(g, "div", elementwise(g, "mul", a, a),
                                                 op(g, "add", op(g, "sqrt", op(g, "add", elementwise(g, "mul", a, a), 1)), 1)))
    found = elementwise(g, "where", big, beyond, op(g, "log1p", inner))
    return elementwise(g, "where", op(g, "lt", x, 0), op(g, "neg", found), found)


# ---- two operands ----

BINARY = {"add": "add", "sub": "sub", "mul": "mul", "multiply": "mul", "subtract": "sub"}
OF_BOOL = {"add": "logical_or", "mul": "logical_and", "multiply": "logical_and"}


@lowers(*(f"aten.{n}.{o}" for n in BINARY for o in ("Tensor", "Scalar")))
def binary(g: Lowering, node: Node, a: Any, b: Any, alpha: Any = 1) -> Any:
    name, dtype = node.op.split(".")[1], dtype_of(g, node)
    if dtype == "bool" and name in OF_BOOL:
        return elementwise(g, OF_BOOL[name], *pair(g, a, b, dtype))
    a, b = pair(g, a, b, computable(g, dtype))
    return elementwise(g, BINARY[name], a, b if alpha == 1 else op(g, "mul", b, alpha))


@lowers("aten.rsub.Tensor", "aten.rsub.Scalar")
def reversed_sub(g: Lowering, node: Node, a: Any, b: Any, alpha: Any = 1) -> Any:
    a, b = pair(g, a, b, computable(g, dtype_of(g, node)))
    return elementwise(g, "sub", b, a if alpha == 1 else op(g, "mul", a, alpha))


@lowers(*(f"aten.{n}.{o}" for n in ("div", "divide", "true_divide") for o in ("Tensor", "Scalar")))
def div(g: Lowering, node: Node, a: Any, b: Any) -> Any:
    return elementwise(g, "div", *pair(g, a, b, computable(g, dtype_of(g, node))))


@lowers("aten.div.Tensor_mode", "aten.div.Scalar_mode", "aten.divide.Tensor_mode", "aten.divide.Scalar_mode")
def div_mode(g: Lowering, node: Node, a: Any, b: Any, rounding_mode: Any = None) -> Any:
    return divided(g, *pair(g, a, b, computable(g, dtype_of(g, node))), rounding_mode)


@lowers("aten.floor_divide.default", "aten.floor_divide.Scalar")
def floor_divide(g: Lowering, node: Node, a: Any, b: Any) -> Any:
    return divided(g, *pair(g, a, b, computable(g, dtype_of(g, node))), "floor")


def divided(g: Lowering, a: Value, b: Value, mode: Any) -> Any:
    """A quotient; rounded down it is the whole number nearest to (a - remainder) / b, as PyTorch has it: what a / b rounds up
    to a whole number is not one too high. Without a gradient where it is rounded."""
    if mode is None:
        return elementwise(g, "div", a, b)
    if a.dtype in INTEGER:
        return elementwise(g, "div_floor" if mode == "floor" else "div_trunc", a, b)
    quotient = elementwise(g, "div", a, b)
    if mode == "trunc":
        return elementwise(g, "trunc", quotient)
    rest = elementwise(g, "remainder", a, b)
    low = elementwise(g, "round", elementwise(g, "div", elementwise(g, "sub", a, rest), b))
    # where nothing is left of a the sign of a zero is the quotient's; b = 0 and infinities are those of the quotient
    return elementwise(g, "where", op(g, "eq", low, low), low, elementwise(g, "floor", quotient))


@lowers("aten.remainder.Tensor", "aten.remainder.Scalar", "aten.remainder.Scalar_Tensor", "aten.fmod.Tensor", "aten.fmod.Scalar",
        "aten.atan2.default", "aten.hypot.default", "aten.special_atan2.default", "aten.arctan2.default")
def quotients(g: Lowering, node: Node, a: Any, b: Any) -> Any:
    name = node.op.split(".")[1].replace("arctan2", "atan2").removeprefix("special_")
    return elementwise(g, name, *pair(g, a, b, computable(g, dtype_of(g, node))))


@lowers("aten.maximum.default", "aten.minimum.default", "aten.max.other", "aten.min.other", "aten.fmax.default", "aten.fmin.default")
def extreme(g: Lowering, node: Node, a: Any, b: Any) -> Any:
    """Where both are equal each has half of the gradient, as in PyTorch. fmax and fmin take the other one of a NaN."""
    dtype, name = dtype_of(g, node), node.op.split(".")[1]
    greater = name in ("maximum", "max", "fmax")
    if dtype == "bool":
        return elementwise(g, "logical_or" if greater else "logical_and", *pair(g, a, b, dtype))
    a, b = pair(g, a, b, computable(g, dtype))
    if name[0] == "f" and a.real:
        a, b = elementwise(g, "where", op(g, "eq", a, a), a, b), elementwise(g, "where", op(g, "eq", b, b), b, a)
    return halved(g, a, b, "maximum" if greater else "minimum")


def halved(g: Lowering, a: Value, b: Value, name: str) -> Value:
    found = elementwise(g, name, a, b)
    if not a.real:
        return found
    both = elementwise(g, "add", op(g, "mul", a, 0.5), op(g, "mul", b, 0.5))
    # the value stays the operand's, as half a subnormal number may be another one
    both = elementwise(g, "add", both, elementwise(g, "stop_gradient", elementwise(g, "sub", a, both)))
    finite = op(g, "lt", elementwise(g, "abs", a), math.inf)
    same_ = elementwise(g, "logical_and", elementwise(g, "eq", a, b), finite)
    return elementwise(g, "where", same_, both, found)


COMPARE = {"eq": "eq", "ne": "ne", "not_equal": "ne", "lt": "lt", "less": "lt", "le": "le", "less_equal": "le", "gt": "gt", "greater": "gt",
           "ge": "ge", "greater_equal": "ge"}


@lowers(*(f"aten.{n}.{o}" for n in COMPARE for o in ("Tensor", "Scalar")))
def compare(g: Lowering, node: Node, a: Any, b: Any) -> Any:
    name, dtype = COMPARE[node.op.split(".")[1]], promoted(a, b)
    if dtype == "bool" and name not in ("eq", "ne") or dtype in ("u8", "i8", "i16"):
        dtype = "i32"
    if dtype in ("f16", "bf16"):  # exact in binary32
        dtype = "f32"
    return elementwise(g, name, *pair(g, a, b, dtype))


@lowers("aten.logical_and.default", "aten.logical_or.default", "aten.logical_xor.default", "aten.logical_not.default")
def logic(g: Lowering, node: Node, *xs: Any) -> Any:
    return elementwise(g, node.op.split(".")[1], *[number(g, x, "bool") for x in xs])


BITS = {"bitwise_and": "and", "bitwise_or": "or", "bitwise_xor": "xor", "__and__": "and", "__or__": "or", "__xor__": "xor"}


@lowers(*(f"aten.{n}.{o}" for n in BITS for o in ("Tensor", "Scalar")), "aten.bitwise_and.Scalar_Tensor",
        "aten.bitwise_or.Scalar_Tensor", "aten.bitwise_xor.Scalar_Tensor")
def bitwise(g: Lowering, node: Node, a: Any, b: Any) -> Any:
    dtype, name = dtype_of(g, node), BITS[node.op.split(".")[1]]
    if dtype == "bool":
        return elementwise(g, f"logical_{name}", *pair(g, a, b, dtype))
    return elementwise(g, f"bitwise_{name}", *pair(g, a, b, computable(g, dtype)))


@lowers("aten.bitwise_not.default")
def bitwise_not(g: Lowering, node: Node, x: Any) -> Any:
    if x.dtype == "bool":
        return elementwise(g, "logical_not", x)
    computable(g, x.dtype)
    return op(g, "bitwise_xor", x, -1)


@lowers(*(f"aten.{n}.{o}" for n in ("bitwise_left_shift", "bitwise_right_shift", "__lshift__", "__rshift__")
          for o in ("Tensor", "Tensor_Scalar", "Scalar")))
def shift(g: Lowering, node: Node, a: Any, b: Any) -> Any:
    a, b = pair(g, a, b, computable(g, dtype_of(g, node)))
    return elementwise(g, "shift_left" if "left" in node.op or "lshift" in node.op else "shift_right", a, b)


# ---- powers ----

@lowers("aten.pow.Tensor_Scalar", "aten.pow.Tensor_Tensor", "aten.pow.Scalar", "aten.float_power.Tensor_Scalar",
        "aten.float_power.Tensor_Tensor", "aten.float_power.Scalar")
def power(g: Lowering, node: Node, a: Any, b: Any) -> Any:
    dtype = computable(g, dtype_of(g, node))
    if dtype in INTEGER:
        return integer_power(g, number(g, a, dtype), b, dtype)
    if not isinstance(b, Value):
        x, e = number(g, a, dtype), float(b)
        if e == 0.5:
            return elementwise(g, "sqrt", x)
        if e in (0.0, 1.0):
            return x if e else ones_like(g, x)
        if math.isfinite(e) and e == int(e) and abs(e) <= 1024:
            return elementwise(g, "pow_int", x, exponent=int(e))
    return elementwise(g, "pow", *pair(g, a, b, dtype))


def ones_like(g: Lowering, x: Value) -> Value:
    return g.value(g.fill(1, x.dtype, x.shape))


def integer_power(g: Lowering, x: Value, e: Any, dtype: str) -> Any:
    """By squares, which wrap as the type does."""
    if not isinstance(e, Value):
        if e < 0:
            raise g.refuse("an integer to a negative power")
        found, base, e = ones_like(g, x), x, int(e)
        while e:
            found = elementwise(g, "mul", found, base) if e & 1 else found
            e >>= 1
            base = elementwise(g, "mul", base, base) if e else base
        return found
    bits, base = number(g, e, dtype), x
    one, zero = g.fill(1, dtype), g.fill(0, dtype)
    found = g.value(one)
    minus, first = op(g, "lt", bits, 0), bits
    for _ in range(31 if dtype == "i32" else 63):
        odd = elementwise(g, "ne", elementwise(g, "bitwise_and", bits, one), zero)
        found = elementwise(g, "where", odd, elementwise(g, "mul", found, base), found)
        base, bits = elementwise(g, "mul", base, base), elementwise(g, "shift_right", bits, one)
    uneven = elementwise(g, "ne", elementwise(g, "bitwise_and", first, one), zero)
    share = elementwise(g, "where", op(g, "eq", x, -1), elementwise(g, "where", uneven, g.fill(-1, dtype), one), zero)
    share = elementwise(g, "where", op(g, "eq", x, 1), one, share)
    return elementwise(g, "where", minus, share, found)


# ---- bounds and choices ----

@lowers("aten.clamp.default", "aten.clip.default", "aten.clamp.Tensor", "aten.clip.Tensor", "aten.clamp_min.default",
        "aten.clamp_max.default", "aten.clamp_min.Tensor", "aten.clamp_max.Tensor")
def clamp(g: Lowering, node: Node, x: Any, low: Any = None, high: Any = None, **named: Any) -> Any:
    """The gradient passes at a bound, but not where at_bounds is False and the bound a number; and to a bound that is a tensor where x is
    beyond it. A NaN stays."""
    below, above = [name if named.get("at_bounds", True) or isinstance(b, Value) else other
                    for name, other, b in (("lt", "le", named.get("min", low)),
                                           ("gt", "ge", named.get("max", low if "clamp_max" in node.op else high)))]
    low, high = named.get("min", low), named.get("max", high)
    if "clamp_max" in node.op:
        low, high = None, low
    dtype = computable(g, dtype_of(g, node))
    x = number(g, x, dtype)
    low, high = (None if b is None else number(g, b, dtype) for b in (low, high))
    start, found = x, x
    if low is not None:
        found = elementwise(g, "where", elementwise(g, below, start, low), low, found)
    if high is not None:  # the upper bound counts where the lower one is above it
        found = elementwise(g, "where", elementwise(g, above, found, high), high, found)
    for b in (low, high):  # a bound that is NaN
        if b is not None and b.real and b.rank:
            found = elementwise(g, "where", elementwise(g, "eq", b, b), found, b)
    return found


@lowers("aten.where.self", "aten.where.ScalarSelf", "aten.where.ScalarOther", "aten.where.Scalar")
def where(g: Lowering, node: Node, condition: Any, a: Any, b: Any) -> Any:
    dtype = dtype_of(g, node)
    return elementwise(g, "where", number(g, condition, "bool"), *pair(g, a, b, dtype))


@lowers("aten.masked_fill.Scalar", "aten.masked_fill.Tensor")
def masked_fill(g: Lowering, node: Node, x: Any, mask: Any, value: Any) -> Any:
    return elementwise(g, "where", number(g, mask, "bool"), number(g, value, x.dtype), x)


@lowers("aten.isnan.default")
def isnan(g: Lowering, node: Node, x: Any) -> Any:
    return elementwise(g, "ne", x, x) if x.real else g.value(g.fill(0, "bool", x.shape))


@lowers("aten.isinf.default", "aten.isposinf.default", "aten.isneginf.default")
def isinf(g: Lowering, node: Node, x: Any) -> Any:
    if not x.real:
        return g.value(g.fill(0, "bool", x.shape))
    size = elementwise(g, "abs", x) if node.op == "aten.isinf.default" else x
    return op(g, "eq", size, -math.inf if "neg" in node.op else math.inf)


@lowers("aten.isfinite.default")
def isfinite(g: Lowering, node: Node, x: Any) -> Any:
    if not x.real:
        return g.value(g.fill(1, "bool", x.shape))
    return op(g, "lt", elementwise(g, "abs", x), math.inf)


@lowers("aten.signbit.default")
def signbit(g: Lowering, node: Node, x: Any) -> Any:
    if x.real:
        bits = "i32" if x.dtype == "f32" else "i64"
        return op(g, "lt", g.value(g.op("bitcast", x.tensor, dtype=bits)), 0)
    return g.value(g.fill(0, "bool", x.shape)) if x.dtype in ("bool", "u8") else op(g, "lt", x, 0)


@lowers("aten.nan_to_num.default")
def nan_to_num(g: Lowering, node: Node, x: Any, nan: Any = None, posinf: Any = None, neginf: Any = None) -> Any:
    if not x.real:
        return x
    most = 3.4028234663852886e38 if x.dtype == "f32" else 1.7976931348623157e308
    found = elementwise(g, "where", elementwise(g, "eq", x, x), x, g.fill(0.0 if nan is None else nan, x.dtype))
    for limit, value in ((math.inf, most if posinf is None else posinf), (-math.inf, -most if neginf is None else neginf)):
        found = elementwise(g, "where", op(g, "eq", x, limit), g.fill(value, x.dtype), found)
    return found


@lowers("aten.addcmul.default", "aten.addcdiv.default")
def addc(g: Lowering, node: Node, x: Any, a: Any, b: Any, value: Any = 1) -> Any:
    dtype = computable(g, dtype_of(g, node))
    a, b = pair(g, a, b, dtype)
    y = elementwise(g, "mul" if "addcmul" in node.op else "div", a, b)
    return elementwise(g, "add", number(g, x, dtype), y if value == 1 else op(g, "mul", y, value))


@lowers("aten.lerp.Scalar", "aten.lerp.Tensor")
def lerp(g: Lowering, node: Node, a: Any, b: Any, weight: Any) -> Any:
    """From the nearer end, as PyTorch computes it."""
    dtype = computable(g, dtype_of(g, node))
    w, d = number(g, weight, dtype), elementwise(g, "sub", b, a)
    low = elementwise(g, "add", a, elementwise(g, "mul", w, d))
    high = elementwise(g, "sub", b, elementwise(g, "mul", d, elementwise(g, "sub", g.fill(1, dtype), w)))
    return elementwise(g, "where", op(g, "lt", elementwise(g, "abs", w), 0.5), low, high)


@lowers("aten.xlogy.Tensor", "aten.xlogy.Scalar_Self", "aten.xlogy.Scalar_Other", "aten.special_xlogy.default",
        "aten.special_xlog1py.default")
def xlogy(g: Lowering, node: Node, a: Any, b: Any) -> Any:
    dtype = computable(g, dtype_of(g, node))
    a, b = pair(g, a, b, dtype)
    return xlogy_of(g, a, b, "log1p" if "1p" in node.op else "log")


def xlogy_of(g: Lowering, a: Value, b: Value, log: str = "log") -> Value:
    """a log(b), 0 where a is 0 and b no NaN."""
    zero = elementwise(g, "logical_and", op(g, "eq", a, 0), elementwise(g, "eq", b, b))
    safe = elementwise(g, "where", zero, g.fill(1, b.dtype), b)
    return elementwise(g, "where", zero, g.fill(0, a.dtype), elementwise(g, "mul", a, elementwise(g, log, safe)))


@lowers("aten._to_copy.default", "aten.to.dtype", "aten.to.dtype_layout", "aten.to.device", "aten.to.other", "aten.type_as.default",
        "prims.convert_element_type.default", "aten.to.prim_Device", "aten.bool.default", "aten.float.default")
def convert(g: Lowering, node: Node, x: Any, *_: Any, **__: Any) -> Any:
    return number(g, x, dtype_of(g, node))


@lowers("aten.copy.default")
def copy(g: Lowering, node: Node, x: Any, source: Any, non_blocking: bool = False) -> Any:
    y = number(g, source, x.dtype)
    return y if y.shape == x.shape else g.value(g.broadcast(y.tensor, x.shape))


@lowers("aten._assert_tensor_metadata.default", "aten.sym_constrain_range_for_size.default")
def assertion(g: Lowering, node: Node, *_: Any, **__: Any) -> Any:
    return None


@lowers("aten.copysign.Tensor", "aten.copysign.Scalar")
def copysign(g: Lowering, node: Node, a: Any, b: Any) -> Any:
    a, b = pair(g, a, b, computable(g, dtype_of(g, node)))
    size = elementwise(g, "abs", a)
    return elementwise(g, "where", signbit(g, node, b), op(g, "neg", size), size)


@lowers("aten.logaddexp.default", "aten.logaddexp2.default")
def logaddexp(g: Lowering, node: Node, a: Any, b: Any) -> Any:
    """The greater one and log1p of e to minus their distance; equal infinities are themselves."""
    dtype = computable(g, dtype_of(g, node))
    a, b = pair(g, a, b, dtype)
    top = elementwise(g, "stop_gradient", elementwise(g, "maximum", a, b))
    finite = op(g, "lt", elementwise(g, "abs", top), math.inf)
    safe = elementwise(g, "where", finite, top, g.fill(0, dtype))
    power_of, log = ("exp2", "log2") if "2" in node.op else ("exp", "log")
    total = elementwise(g, "add", *[elementwise(g, power_of, elementwise(g, "sub", x, safe)) for x in (a, b)])
    return elementwise(g, "where", op(g, "eq", top, top), elementwise(g, "add", safe, elementwise(g, log, total)), top)
