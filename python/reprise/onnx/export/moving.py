# SPDX-License-Identifier: Apache-2.0
"""Moving data, order and reductions as ONNX's operators. Where a value has rows, their number is the model's to say when it
runs: a shape has -1 in its place, or a 1 that broadcasts."""
from __future__ import annotations

import copy
import math

import numpy as np

from .writer import FIRST, LAST, Call, Value, Writer, composed, numpy_type, one

LARGEST = 1 << 16  # elements of a constant that is written out


@one(reshape="Reshape")
def reshape(w: Writer, call: Call) -> list[Value]:
    v, shape = call.ins[0], call.outs[0][0]
    name = w.last(v) if v.first is None or len(v.shape) != 4 or v.shape[1] != 1 or v.shape[2] != 1 else v.first
    wanted = list(shape)
    if call.rows and call.rows[0] is not None:
        wanted[call.rows[0][0]] = -1
    zero = {"allowzero": 1} if 0 in wanted else {}
    return [w.value(call, w.node("Reshape", name, w.ints(wanted), **zero))]


@one(transpose="Transpose")
def transpose(w: Writer, call: Call) -> list[Value]:
    v, order = call.ins[0], call.ints("permutation")
    found = w.value(call, "")
    if order == FIRST and v.first is not None:  # it lies so already
        found.last = v.first
        return [found]
    if v.weight is not None and v.last is None:  # a convolution may want it as it was
        found.last, found.turned, found.weight = None, (v, order), (v.weight[0], np.transpose(v.weight[1], order))
        return [found]
    if order == LAST:
        found.last, found.first = None, w.last(v)
        return [found]
    return [w.value(call, w.node("Transpose", w.last(v), perm=order))]


@one(broadcast_to="Expand")
def broadcast_to(w: Writer, call: Call) -> list[Value]:
    v, found = call.ins[0], w.value(call, "")
    found.last = None
    if v.row is None:
        found.thin = w.thinnest(v)
        return [found]
    assert found.row is not None
    shape = [1 if i == found.row[0] else n for i, n in enumerate(found.shape)]
    found.last = w.node("Expand", w.last(v), w.ints(shape))
    return [found]


@one(slice="Slice", slice_step="Slice")
def cut(w: Writer, call: Call) -> list[Value]:
    v, step = call.ins[0], call.op == "slice_step"
    begin = call.ints("begin")
    steps = call.ints("step") if step else [1] * len(begin)
    sizes = call.ints("size") if step else [e - b for b, e in zip(begin, call.ints("end"))]
    axes = [i for i, n in enumerate(v.shape) if sizes[i] != n or (steps[i] != 1 and n > 1)]
    if not axes:
        return [w.value(call, w.node("Identity", w.last(v)))]
    first = [begin[i] if sizes[i] else 0 for i in axes]
    ends = [b + s * n if n else b for b, s, n in zip(first, (steps[i] for i in axes), (sizes[i] for i in axes))]
    ends = [e if e >= 0 else np.iinfo(np.int64).min for e in ends]
    more = [w.ints([steps[i] for i in axes])] if any(steps[i] != 1 for i in axes) else []
    return [w.value(call, w.node("Slice", w.last(v), w.ints(first), w.ints(ends), w.ints(axes), *more))]


@one(fill="a constant, Expand")
def fill(w: Writer, call: Call) -> list[Value]:
    found, given = w.value(call, ""), call.attributes["value"]
    kind, value = numpy_type(found.dtype), float(given)
    if found.dtype not in ("f32", "f64", "bf16", "f16", "bool"):
        array = np.array(int(given) if not isinstance(given, str) or given.lstrip("-").isdigit() else int(value)).astype(kind)
    else:
        with np.errstate(over="ignore"):
            array = np.array(value).astype(kind)
    found.last, found.thin = None, (w.const(array), ())
    return [found]


@one(iota="a constant, Range")
def iota(w: Writer, call: Call) -> list[Value]:
    n, dtype = call.whole("n"), call.outs[0][1]
    if n <= LARGEST:
        return [w.value(call, w.const(np.arange(n).astype(numpy_type(dtype))))]
    whole = w.node("Range", w.scalar(0, "i64"), w.scalar(n, "i64"), w.scalar(1, "i64"))
    return [w.value(call, w.node("Cast", whole, to=w.type(dtype)))]


@one(concat="Concat")
def concat(w: Writer, call: Call) -> list[Value]:
    if len(call.ins) == 1:  # a copy
        return [copy.copy(call.ins[0])]
    axis, rowed = call.whole("axis"), next((v for v in call.ins if v.row is not None), None)
    image = all(v.first is not None and v.last is None for v in call.ins)
    if image:
        return [w.value(call, w.node("Concat", *(str(v.first) for v in call.ins), axis=FIRST.index(axis)), True)]
    names = [w.last(v) if v.row is not None or rowed is None else as_rows(w, v, rowed) for v in call.ins]
    return [w.value(call, w.node("Concat", *names, axis=axis))]


def as_rows(w: Writer, v: Value, like: Value) -> str:
    """A value that is the same for all rows, once for each row of another."""
    assert like.row is not None
    name, _ = w.thinnest(v)
    count, axis = w.count(like), like.row[0]
    parts = [w.ints(v.shape[:axis]), count, w.ints(v.shape[axis + 1:])]
    return str(w.node("Expand", name, w.node("Concat", *parts, axis=0)))


@one(pad="Pad")
def pad(w: Writer, call: Call) -> list[Value]:
    v = call.ins[0]
    pads = w.ints(call.ints("before") + call.ints("after"))
    if v.dtype == "bool":
        wide = w.node("Pad", w.node("Cast", w.last(v), to=w.type("i32")), pads, w.scalar(0, "i32"))
        return [w.value(call, w.node("Cast", wide, to=w.type("bool")))]
    return [w.value(call, w.node("Pad", w.last(v), pads, w.scalar(0, v.dtype)))]


@one(gather="Gather", take_along="GatherElements")
def gather(w: Writer, call: Call) -> list[Value]:
    x, index = (w.last(v) for v in call.ins)
    return [w.value(call, w.node("Gather" if call.op == "gather" else "GatherElements", x, index, axis=call.whole("axis")))]


@one(scatter_along="ScatterElements")
def scatter_along(w: Writer, call: Call) -> list[Value]:
    kind = ("none", "add", "mul", "max", "min")[call.whole("mode")]
    return [w.value(call, w.node("ScatterElements", *(w.last(v) for v in call.ins), axis=call.whole("axis"), reduction=kind))]


@composed(scatter_add="ScatterND that adds, of rows that were brought in front")
def scatter_add(w: Writer, call: Call) -> list[Value]:
    g, index = call.ins
    axis, size, count = call.whole("axis"), call.whole("size"), math.prod(index.shape)
    before, behind = g.shape[:axis], g.shape[axis + len(index.shape):]
    a, b = math.prod(before), math.prod(behind)
    rows = w.node("Transpose", w.node("Reshape", w.last(g), w.ints([a, count, b])), perm=[1, 0, 2])
    zeros = w.node("Expand", w.scalar(0, g.dtype), w.ints([size, a, b]))
    at = w.node("Cast", w.node("Reshape", w.last(index), w.ints([count, 1])), to=w.type("i64"))
    y = w.node("Transpose", w.node("ScatterND", zeros, at, rows, reduction="add"), perm=[1, 0, 2])
    return [w.value(call, w.node("Reshape", y, w.ints(call.outs[0][0])))]


@one(one_hot="OneHot")
def one_hot(w: Writer, call: Call) -> list[Value]:
    values = w.const(np.array([0, 1]).astype(numpy_type(call.outs[0][1])))
    index = w.node("Cast", w.last(call.ins[0]), to=w.type("i64")) if call.ins[0].dtype != "i64" else w.last(call.ins[0])
    return [w.value(call, w.node("OneHot", index, w.scalar(call.whole("depth"), "i64"), values, axis=-1))]


@one(sort="TopK", topk="TopK")
def order(w: Writer, call: Call) -> list[Value]:
    v = call.ins[0]
    k = call.whole("k") if call.op == "topk" else v.shape[-1]
    largest = bool(call.attributes["largest" if call.op == "topk" else "descending"])
    names = w.node("TopK", w.last(v), w.ints([k]), outputs=2, axis=-1, largest=int(largest), sorted=1)
    return [w.value(call, names[0]), w.value(call, names[1], out=1)]


@composed(fft="DFT of both parts side by side")
def fft(w: Writer, call: Call) -> list[Value]:
    x = w.node("Concat", *(w.node("Unsqueeze", w.last(v), w.ints([-1])) for v in call.ins), axis=-1)
    inverse, transposed = bool(call.attributes["inverse"]), bool(call.attributes["transposed"])
    n, dtype = call.ins[0].shape[-1], call.ins[0].dtype
    y = w.node("DFT", w.node("Unsqueeze", x, w.ints([0])), "", w.scalar(-2, "i64"), inverse=int(inverse != transposed))
    y = w.node("Squeeze", y, w.ints([0]))
    if transposed:  # the sums the other way, which are over n where those are not
        y = w.node("Mul", y, w.scalar(1 / n if inverse else n, dtype))
    return [w.value(call, w.node("Gather", y, w.scalar(k, "i64"), axis=-1), out=k) for k in range(2)]


@composed(searchsorted="ReduceSum of a comparison with each element")
def searchsorted(w: Writer, call: Call) -> list[Value]:
    line, x = call.ins
    wide = w.node("Unsqueeze", w.last(x), w.ints([-1]))
    table = w.node("Unsqueeze", w.last(line), w.ints([-2])) if len(line.shape) > 1 else w.last(line)
    below = w.node("LessOrEqual" if call.attributes["right"] else "Less", table, wide)
    if line.dtype in ("f32", "f64"):  # a NaN lies behind all numbers, which no comparison says
        nan = w.node("Not", w.node("Equal", wide, wide))
        if not call.attributes["right"]:
            nan = w.node("And", nan, w.node("Equal", table, table))
        below = w.node("Or", below, nan)
    whole = w.node("Cast", below, to=w.type("i64"))
    return [w.value(call, w.node("ReduceSum", whole, w.ints([-1]), keepdims=0))]


REDUCE = {"sum": "ReduceSum", "mean": "ReduceMean", "max": "ReduceMax", "min": "ReduceMin", "prod": "ReduceProd",
          "logsumexp": "ReduceLogSumExp"}


@one(**REDUCE)
def reduce(w: Writer, call: Call) -> list[Value]:
    v, axes = call.ins[0], call.ints("axes")
    if call.op == "mean" and not math.prod(v.shape[a] for a in axes):
        raise call.refuse("a mean of no elements, a NaN here, has no fixed value there")
    if v.first is not None and v.last is None:
        return [w.value(call, w.node(REDUCE[call.op], v.first, w.ints(sorted(FIRST.index(a) for a in axes)), keepdims=1,
                                     noop_with_empty_axes=1), True)]
    return [w.value(call, reduced(w, REDUCE[call.op], w.last(v), axes))]


def reduced(w: Writer, kind: str, name: str, axes: list[int]) -> str:
    return str(w.node(kind, name, w.ints(axes), keepdims=1, noop_with_empty_axes=1))


@composed(var="ReduceMean, Sub, ReduceSum, Div")
def var(w: Writer, call: Call) -> list[Value]:
    v, axes = call.ins[0], call.ints("axes")
    x = w.last(v)
    d = w.node("Sub", x, reduced(w, "ReduceMean", x, axes))
    total = reduced(w, "ReduceSum", w.node("Mul", d, d), axes)
    n = max(0, math.prod(v.shape[a] for a in axes) - call.whole("correction"))
    return [w.value(call, w.node("Div", total, w.scalar(n, v.dtype)))]


@one(argmax="ArgMax", argmin="ArgMin")
def arg(w: Writer, call: Call) -> list[Value]:
    kind = "ArgMax" if call.op == "argmax" else "ArgMin"
    return [w.value(call, w.node(kind, w.last(call.ins[0]), axis=call.whole("axis"), keepdims=1))]


@one(cumsum="CumSum", cumprod="CumProd")
def cumulative(w: Writer, call: Call) -> list[Value]:
    if call.op == "cumprod" and w.opset < 26:
        raise call.refuse(f"CumProd came with opset 26, and this is {w.opset}")
    axis = w.scalar(call.whole("axis"), "i64")
    return [w.value(call, w.node("CumSum" if call.op == "cumsum" else "CumProd", w.last(call.ins[0]), axis,
                                 reverse=int(bool(call.attributes["reverse"]))))]
