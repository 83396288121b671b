# SPDX-License-Identifier: Apache-2.0
"""Elementwise operations as ONNX's operators: each element a function of the elements beside it, so layouts do not matter."""
from __future__ import annotations

import math
from typing import Any

import numpy as np

from .writer import Call, Value, Writer, composed, one

UNARY = {"neg": "Neg", "abs": "Abs", "exp": "Exp", "log": "Log", "sqrt": "Sqrt", "tanh": "Tanh", "sigmoid": "Sigmoid", "erf": "Erf",
         "relu": "Relu", "gelu": "Gelu", "sin": "Sin", "cos": "Cos", "tan": "Tan", "sinh": "Sinh", "cosh": "Cosh", "asin": "Asin",
         "acos": "Acos", "atan": "Atan", "sign": "Sign", "floor": "Floor", "ceil": "Ceil", "round": "Round", "logical_not": "Not",
         "stop_gradient": "Identity"}
BINARY = {"add": "Add", "sub": "Sub", "mul": "Mul", "div": "Div", "maximum": "Max", "minimum": "Min", "pow": "Pow",
          "bitwise_and": "BitwiseAnd", "bitwise_or": "BitwiseOr", "bitwise_xor": "BitwiseXor", "logical_and": "And",
          "logical_or": "Or", "logical_xor": "Xor", "eq": "Equal", "lt": "Less", "le": "LessOrEqual", "gt": "Greater",
          "ge": "GreaterOrEqual"}
GELU = 0.7071067811865476, 0.3989422804014327  # sqrt(1/2), 1/sqrt(2 pi)


class E:
    """Writes formulas of the operands in the layout that they have in common."""

    def __init__(self, w: Writer, call: Call, operands: list[Value] | None = None) -> None:
        self.w, self.call = w, call
        given = call.ins if operands is None else operands
        self.x, self.first = w.alike(given)
        self.dtype = given[-1].dtype

    def __call__(self, kind: str, *names: str, **attributes: Any) -> str:
        return str(self.w.node(kind, *names, **attributes))

    def where(self, condition: str, a: str, b: str, dtype: str | None = None) -> str:
        """Where, by a wider type where runtimes commonly have none of this."""
        kind = dtype or self.dtype
        wide = {"u32": "i64", "i8": "i32", "i16": "i32", "f16": "f32", "bf16": "f32"}.get(kind)
        if wide is None:
            return self("Where", condition, a, b)
        names = [self("Cast", n, to=self.w.type(wide)) for n in (a, b)]
        return self("Cast", self("Where", condition, *names), to=self.w.type(kind))

    def c(self, value: float) -> str:
        return self.w.scalar(value, self.dtype)

    def done(self, name: str) -> list[Value]:
        return [self.w.value(self.call, name, self.first)]


@one(**UNARY, leaky_relu="LeakyRelu", elu="Elu", hardtanh="Clip")
def unary(w: Writer, call: Call) -> list[Value]:
    e = E(w, call)
    x = e.x[0]
    if call.op == "leaky_relu":
        return e.done(e("LeakyRelu", x, alpha=call.real("negative_slope")))
    if call.op == "elu":
        return e.done(e("Elu", x, alpha=call.real("alpha")))
    if call.op == "hardtanh":
        return e.done(e("Clip", x, e.c(call.real("min_val")), e.c(call.real("max_val"))))
    return e.done(e(UNARY[call.op], x))


@one(**BINARY)
def binary(w: Writer, call: Call) -> list[Value]:
    if call.op == "add" and (joined := with_bias(w, call)):
        return joined
    e = E(w, call)
    return e.done(e(BINARY[call.op], *e.x))


def with_bias(w: Writer, call: Call) -> list[Value] | None:
    """A convolution takes the channels' addends as its third operand."""
    a, b = call.ins
    if a.conv is None or b.weight is None or b.shape != a.shape[-1:] or a.shape != call.outs[0][0] or len(a.conv.input) != 2:
        return None
    a.conv.input.append(w.last(b))
    return [w.value(call, str(a.first), True)]


@composed(ne="Not(Equal)", silu="Mul(x, Sigmoid)", log1p="Log and a quotient that takes back what 1 + x lost",
          expm1="Exp and Log likewise", exp2="2 ^ x", log2="Log times 1 / ln 2", log10="Log times 1 / ln 10",
          rsqrt="Reciprocal(Sqrt)", cbrt="Sign, Pow(abs, 1/3)", trunc="Sign, Floor(Abs)", softplus="Softplus below the threshold")
def further(w: Writer, call: Call) -> list[Value]:
    e = E(w, call)
    x = e.x[0]
    if call.op == "ne":
        return e.done(e("Not", e("Equal", *e.x)))
    if call.op == "silu":
        return e.done(e("Mul", x, e("Sigmoid", x)))
    if call.op == "log1p":
        return e.done(log1p(e, x))
    if call.op == "expm1":
        u = e("Exp", x)
        down = e("Sub", u, e.c(1))
        exact = e("Div", e("Mul", down, x), e("Log", u))
        plain = e("Or", e("Greater", e("Abs", x), e.c(1)), e("Equal", u, e.c(1)))
        near = e.where(e("Equal", u, e.c(1)), x, down)
        return e.done(e.where(plain, near, exact))
    if call.op == "exp2":
        return e.done(e("Pow", e.c(2), x))
    if call.op in ("log2", "log10"):
        return e.done(e("Mul", e("Log", x), e.c(1 / math.log(2 if call.op == "log2" else 10))))
    if call.op == "rsqrt":
        return e.done(e("Reciprocal", e("Sqrt", x)))
    if call.op == "cbrt":
        return e.done(e("Mul", e("Sign", x), e("Pow", e("Abs", x), e.c(1 / 3))))
    if call.op == "trunc":
        return e.done(e("Mul", e("Sign", x), e("Floor", e("Abs", x))))
    beta, threshold = call.real("beta"), call.real("threshold")
    z = e("Mul", x, e.c(beta))
    return e.done(e.where(e("Greater", z, e.c(threshold)), x, e("Div", e("Softplus", z), e.c(beta))))


def log1p(e: E, x: str) -> str:
    u = e("Add", x, e.c(1))
    exact = e("Mul", e("Log", u), e("Div", x, e("Sub", u, e.c(1))))  # the quotient is near 1: no product beyond the range
    near = e("Equal", u, e.c(1))
    far = e("Equal", e("Abs", u), e.c(math.inf))
    return e.where(near, x, e.where(far, e("Log", u), exact))


@composed(hypot="the greater times Sqrt(1 + the quotient squared)", bce_logits="Relu, Mul, Softplus(-abs)",
          relu_grad="Where", tanh_grad="Mul, Sub", sigmoid_grad="Mul, Sub", gelu_grad="Erf, Exp, Mul", pow_int="Pow",
          fmod="Mod, with what a zero or -1 below gives", remainder="Mod likewise, and its sign")
def pairs(w: Writer, call: Call) -> list[Value]:
    e = E(w, call)
    a, b = e.x[0], e.x[-1]
    if call.op == "pow_int":
        return e.done(e("Pow", a, e.c(call.whole("exponent"))))
    if call.op == "hypot":
        a, b = e("Abs", a), e("Abs", b)
        most, least = e("Max", a, b), e("Min", a, b)
        q = e("Div", least, e.where(e("Equal", most, e.c(0)), e.c(1), most))
        y = e("Mul", most, e("Sqrt", e("Add", e("Mul", q, q), e.c(1))))
        far = e("Or", e("Equal", a, e.c(math.inf)), e("Equal", b, e.c(math.inf)))
        return e.done(e.where(far, e.c(math.inf), y))
    if call.op == "bce_logits":
        tail = e("Softplus", e("Neg", e("Abs", a)))
        return e.done(e("Add", e("Sub", e("Relu", a), e("Mul", a, b)), tail))
    if call.op == "relu_grad":
        return e.done(e.where(e("Greater", b, e.c(0)), a, e.where(e("Equal", b, b), e.c(0), b)))
    if call.op == "tanh_grad":
        return e.done(e("Mul", a, e("Sub", e.c(1), e("Mul", b, b))))
    if call.op == "sigmoid_grad":
        return e.done(e("Mul", a, e("Mul", b, e("Sub", e.c(1), b))))
    if call.op == "gelu_grad":
        half = e("Mul", e.c(0.5), e("Add", e.c(1), e("Erf", e("Mul", b, e.c(GELU[0])))))
        bell = e("Mul", e("Exp", e("Mul", e.c(-0.5), e("Mul", b, b))), e.c(GELU[1]))
        return e.done(e("Mul", a, e("Add", half, e("Mul", b, bell))))
    return e.done(rest(e, a, b, call.op == "remainder"))


def rest(e: E, a: str, b: str, by_divisor: bool) -> str:
    """What is left of a by whole multiples of b. A divisor of 0, or of -1 below the least number, would end the process that
    divides integers: neither reaches ONNX's operator."""
    if e.dtype in ("f32", "f64"):
        r = e("Mod", a, b, fmod=1)
    else:
        zero = e("Equal", b, e.c(0))
        unsafe = zero if e.dtype == "u32" else e("Or", zero, e("Equal", b, e.c(-1)))
        r = e.where(zero, a, e("Mod", a, e.where(unsafe, e.c(1), b), fmod=1))
    if not by_divisor or e.dtype == "u32":
        return r
    other = e("Xor", e("Less", r, e.c(0)), e("Less", b, e.c(0)))
    wrong = e("And", other, e("And", e("Not", e("Equal", r, e.c(0))), e("Not", e("Equal", b, e.c(0)))))
    return e.where(wrong, e("Add", r, b), r)


@composed(div_trunc="Div, with what a zero or -1 below gives", div_floor="Div likewise, and its sign")
def quotients(w: Writer, call: Call) -> list[Value]:
    e = E(w, call)
    a, b = e.x
    zero = e("Equal", b, e.c(0))
    if e.dtype == "u32":
        return e.done(e.where(zero, e.c(0), e("Div", a, e.where(zero, e.c(1), b))))
    minus = e("Equal", b, e.c(-1))
    safe = e.where(e("Or", zero, minus), e.c(1), b)
    q = e("Div", a, safe)
    if call.op == "div_floor":
        r = e("Sub", a, e("Mul", q, safe))
        below = e("And", e("Not", e("Equal", r, e.c(0))), e("Xor", e("Less", r, e.c(0)), e("Less", safe, e.c(0))))
        q = e.where(below, e("Sub", q, e.c(1)), q)
    return e.done(e.where(zero, e.c(0), e.where(minus, e("Sub", e.c(0), a), q)))


@composed(shift_left="BitShift of u32, none beyond its bits", shift_right="BitShift of u32, none beyond its bits")
def shifts(w: Writer, call: Call) -> list[Value]:
    e = E(w, call)
    if e.dtype != "u32":
        raise call.refuse(f"BitShift has unsigned integers alone, and this is {e.dtype}")
    a, b = e.x
    far = e("GreaterOrEqual", b, e.c(32))
    y = e("BitShift", a, e.where(far, e.c(0), b), direction="LEFT" if call.op == "shift_left" else "RIGHT")
    return e.done(e.where(far, e.c(0), y))


@one(where="Where")
def where(w: Writer, call: Call) -> list[Value]:
    e = E(w, call)
    return e.done(e.where(*e.x))


@one(cast="Cast")
def cast(w: Writer, call: Call) -> list[Value]:
    """Conversions to integers have the ends of the range beyond it, where ONNX's has no fixed value."""
    e = E(w, call)
    to, x = call.outs[0][1], e.x[0]
    if e.dtype in ("bf16", "f16") and to not in ("f32", "f64", "bool"):
        x, e.dtype = e("Cast", x, to=w.type("f32")), "f32"
    if e.dtype not in ("f32", "f64") or to in ("f32", "f64", "f16", "bf16", "bool"):
        return e.done(e("Cast", x, to=w.type(to)))
    info = np.iinfo({"i8": "i1", "u8": "u1", "i16": "i2", "i32": "i4", "i64": "i8", "u32": "u4"}[to])
    limit = w.const(np.array(info.max).astype(info.dtype)), w.const(np.array(info.min).astype(info.dtype))
    over = e("GreaterOrEqual", x, e.c(float(info.max) + 1))
    under = e("LessOrEqual", x, e.c(float(info.min)))
    inside = e("And", e("Not", over), e("And", e("Not", under), e("Equal", x, x)))
    y = e("Cast", e.where(inside, x, e.c(0)), to=w.type(to))
    return e.done(e.where(over, limit[0], e.where(under, limit[1], y, to), to))


@one(bitcast="BitCast")
def bitcast(w: Writer, call: Call) -> list[Value]:
    if w.opset < 26:
        raise call.refuse(f"BitCast came with opset 26, and this is {w.opset}")
    e = E(w, call)
    return e.done(e("BitCast", e.x[0], to=w.type(call.outs[0][1])))
