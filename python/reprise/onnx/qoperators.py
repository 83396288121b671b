# SPDX-License-Identifier: Apache-2.0
"""onnxruntime's own operators of 8-bit integers, which its static quantization writes beside the standard's in the format QOperator. Most are
an operator of real numbers between scales: bytes become binary32, the operator is the standard's, and what comes of it is rounded to nearest,
ties to even, and then moved by the zero point. Sums and products of bytes are exact, as onnxruntime's are."""
from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from .arithmetic import centred, product
from .graph import CARRIERS, HANDLERS, Graph, Node, Value, handles
from .layers import LIMITS, Window, an_image
from .quantised import MICROSOFT, bytes_of, scaled

TYPES = ("u8", "i8")


def number(n: Node, i: int, dtype: str, default: float | None = None) -> Any:
    """A scale or a zero point, which is one number; a zero point that is not there is 0."""
    if not n.has(i) and default is not None:
        return n.g.fill(default, dtype)
    v = n.value(i)
    if v.size != 1 or v.dtype not in ("f32", *TYPES):
        raise n.refuse(f"a scale or a zero point {v.dtype}{list(v.shape)}, expected one number")
    return n.g.cast(n.g.reshape(n.tensor(i), []), dtype)


def operand(n: Node, at: int) -> Value:
    """Bytes at an input, with a zero point of their type two behind it."""
    bytes_of(n, at)
    v = n.value(at)
    if n.has(at + 2) and n.value(at + 2).dtype != v.dtype:
        raise n.refuse(f"a zero point of {n.value(at + 2).dtype} of {v.dtype}")
    return v


def real(n: Node, at: int) -> Value:
    """Bytes by their scale, as binary32."""
    g, v = n.g, operand(n, at)
    y = g.op("sub", g.cast(n.tensor(at), "f32"), number(n, at + 2, "f32", 0))
    return g.result(g.op("mul", y, number(n, at + 1, "f32")), "f32", v)


def rounded(n: Node, y: Any, zero: int, dtype: str) -> Value:
    """Scaled numbers to nearest, by the zero point, in a byte."""
    g, (low, high) = n.g, LIMITS[dtype]
    y = g.op("add", g.op("round", y), number(n, zero, y.dtype, 0))
    y = g.op("minimum", g.op("maximum", y, g.fill(low, y.dtype)), g.fill(high, y.dtype))
    return g.made(g.cast(y, CARRIERS[dtype]), dtype, *[v for v in n.inputs if v is not None])


def kind_of(n: Node, zero: int, other: int) -> str:
    """Of the result: of its zero point, or of an operand where there is none."""
    return n.value(zero if n.has(zero) else other).dtype


def between(n: Node, kind: str, inputs: Sequence[Value], to: int, dtype: str, version: int | None = None, **attributes: Any) -> Value:
    """The standard's operator of real numbers, and its result in bytes."""
    found = HANDLERS[kind](Node(n.g, kind, n.version if version is None else version, inputs, {**n.attributes, **attributes}, 1, n.name))
    v = found if isinstance(found, Value) else found[0]
    if v is None:
        raise n.refuse("of no value")
    made = rounded(n, n.g.op("div", n.g.tensor(v), number(n, to, "f32")), to + 1, dtype)
    return an_image(made) if v.image else made


@handles(f"{MICROSOFT}.QLinearSigmoid", f"{MICROSOFT}.QLinearLeakyRelu")
def by_one(n: Node) -> Value:
    return between(n, n.kind.removeprefix("QLinear"), [real(n, 0)], 3, kind_of(n, 4, 0), **({"alpha": n.get("alpha", 0.01)} if "Leaky" in n.kind
                                                                                           else {}))


@handles(f"{MICROSOFT}.QLinearAveragePool")
def average_pool(n: Node) -> Value:
    if n.get("channels_last", 0):
        raise n.refuse("channels_last")
    if n.get("count_include_pad", 0) and any(Window(n, n.value(0).shape[2:], n.get("kernel_shape")).extra):
        raise n.refuse("count_include_pad with windows that ceil_mode lets end behind the image: onnxruntime divides by their whole size, and "
                       "its AveragePool by what is there")
    return between(n, "AveragePool", [real(n, 0)], 3, kind_of(n, 4, 0))


@handles(f"{MICROSOFT}.QLinearSoftmax")
def softmax(n: Node) -> Value:
    """As the version of the standard's that `opset` says."""
    version = int(n.get("opset", 0))
    if not 1 <= version <= n.version:
        raise n.refuse(f"of opset {version}")
    return between(n, "Softmax", [real(n, 0)], 3, kind_of(n, 4, 0), version, axis=n.get("axis", -1 if version >= 13 else 1))


@handles(f"{MICROSOFT}.QLinearConcat")
def concat(n: Node) -> Value:
    """The result's scale and zero point come first."""
    if len(n.inputs) < 5 or len(n.inputs) % 3 != 2 or not n.has(1):
        raise n.refuse(f"{len(n.inputs)} inputs")
    return between(n, "Concat", [real(n, i) for i in range(2, len(n.inputs), 3)], 0, n.value(1).dtype)


@handles(f"{MICROSOFT}.QLinearGlobalAveragePool")
def global_average(n: Node) -> Value:
    """A sum of bytes, which is exact, by one factor."""
    g, v = n.g, operand(n, 0)
    if n.get("channels_last", 0) or v.rank < 3 or not v.size:
        raise n.refuse(f"channels_last, or {list(v.shape)}")
    t = g.op("sub", g.cast(n.tensor(0), "f64"), number(n, 2, "f64", 0))
    count = math.prod(v.shape[2:])
    share = g.op("div", number(n, 1, "f32"), g.op("mul", number(n, 3, "f32"), g.fill(count, "f32")))
    y = g.op("mul", g.op("sum", t, axes=list(range(2, v.rank))), g.cast(share, "f64"))
    return rounded(n, y, 4, kind_of(n, 4, 0))


def pair(n: Node) -> tuple[Graph, str]:
    if operand(n, 0).dtype != operand(n, 3).dtype:
        raise n.refuse(f"of {n.value(0).dtype} and {n.value(3).dtype}")
    return n.g, kind_of(n, 7, 0)


@handles(f"{MICROSOFT}.QLinearMul")
def mul(n: Node) -> Value:
    g, dtype = pair(n)
    a, b = (g.op("sub", g.cast(n.tensor(i), "f64"), number(n, i + 2, "f64", 0)) for i in (0, 3))
    share = g.op("div", g.op("mul", number(n, 1, "f32"), number(n, 4, "f32")), number(n, 6, "f32"))
    return rounded(n, g.op("mul", g.op("mul", a, b), g.cast(share, "f64")), 7, dtype)


@handles(f"{MICROSOFT}.QLinearAdd")
def add(n: Node) -> Value:
    """onnxruntime adds the zero point before it rounds."""
    g, dtype = pair(n)
    parts = []
    for i in (0, 3):
        t = g.op("sub", g.cast(n.tensor(i), "f64"), number(n, i + 2, "f64", 0))
        parts.append(g.op("mul", t, g.cast(g.op("div", number(n, i + 1, "f32"), number(n, 6, "f32")), "f64")))
    zero = number(n, 7, "f64", 0)
    y = g.op("round", g.op("add", g.op("add", *parts), zero))
    return rounded(n, g.op("sub", y, zero), 7, dtype)


@handles(f"{MICROSOFT}.QGemm")
def gemm(n: Node) -> Value:
    """Bytes' sums with the bias, exact; binary32 where no scale of the result is given."""
    g, columns = n.g, bool(n.get("transB", 0))
    if operand(n, 0).rank != 2 or operand(n, 3).rank != 2 or n.value(1).size != 1 or n.value(2).size != 1:
        raise n.refuse("of other than matrices, or a first factor of several scales")
    if n.value(4).size > 1 and n.has(7):
        width = n.value(3).shape[0 if columns else 1]
        if n.value(4).size != width:
            raise n.refuse(f"{n.value(4).size} scales of {width} columns")
    if float(n.get("alpha", 1.0)) != 1.0 and n.has(7):
        raise n.refuse(f"alpha {n.get('alpha')}")
    a, b = centred(n, 0, 2, -2), centred(n, 3, 5, -2 if columns else -1)
    a = g.transpose(a, [1, 0]) if n.get("transA", 0) else a
    sums = product(g, a, g.transpose(b, [1, 0]) if columns else b)
    if n.has(6):
        sums = g.op("add", sums, g.cast(n.tensor(6), "f64"))
    if n.has(7):
        return scaled(n, sums, (1, 4, 7), (-2, -1), 2)
    scale = g.op("mul", g.reshape(n.tensor(1), []), n.tensor(4) if n.value(4).size > 1 else g.reshape(n.tensor(4), []))
    scale = g.op("mul", scale, g.fill(float(n.get("alpha", 1.0)), "f32"))
    return g.result(g.op("mul", g.cast(sums, "f32"), scale), "f32", *[v for v in n.inputs if v is not None])
