# SPDX-License-Identifier: Apache-2.0
"""Products, attention, convolutions, pools, norms and resizing as ONNX's operators."""
from __future__ import annotations

import math
from typing import Any

import numpy as np

from .moving import reduced
from .writer import FIRST, Call, Value, Writer, composed, one

WEIGHT = [3, 2, 0, 1]  # [r, s, c / groups, k] as ONNX has it: [k, c / groups, r, s]


@one(matmul="MatMul")
def matmul(w: Writer, call: Call) -> list[Value]:
    names = [w.last(v) if v.dtype != "bf16" else w.node("Cast", w.last(v), to=w.type("f32")) for v in call.ins]
    return [w.value(call, w.node("MatMul", *names))]


@one(softmax="Softmax", log_softmax="LogSoftmax")
def softmax(w: Writer, call: Call) -> list[Value]:
    kind, v = "Softmax" if call.op == "softmax" else "LogSoftmax", call.ins[0]
    if v.first is not None and v.last is None:
        return [w.value(call, w.node(kind, v.first, axis=1), True)]
    return [w.value(call, w.node(kind, w.last(v), axis=-1))]


@composed(softmax_grad="Mul, ReduceSum, Sub", log_softmax_grad="Exp, ReduceSum, Mul, Sub")
def softmax_grads(w: Writer, call: Call) -> list[Value]:
    g, y = (w.last(v) for v in call.ins)
    axis = [len(call.ins[0].shape) - 1]
    if call.op == "softmax_grad":
        total = reduced(w, "ReduceSum", w.node("Mul", g, y), axis)
        return [w.value(call, w.node("Mul", y, w.node("Sub", g, total)))]
    total = w.node("Mul", w.node("Exp", y), reduced(w, "ReduceSum", g, axis))
    return [w.value(call, w.node("Sub", g, total))]


@composed(cross_entropy="LogSoftmax, GatherElements, Neg", cross_entropy_grad="Softmax, OneHot, Sub, Mul")
def cross_entropy(w: Writer, call: Call) -> list[Value]:
    x, k = call.ins[-2:]
    index = w.node("Unsqueeze", w.last(k), w.ints([-1]))
    if call.op == "cross_entropy":
        chosen = w.node("GatherElements", w.node("LogSoftmax", w.last(x), axis=-1), index, axis=len(x.shape) - 1)
        return [w.value(call, w.node("Neg", w.node("Squeeze", chosen, w.ints([-1]))))]
    kind = np.float32 if x.dtype == "f32" else np.float64
    hot = w.node("OneHot", w.last(k), w.scalar(x.shape[-1], "i64"), w.const(np.array([0, 1], kind)), axis=-1)
    difference = w.node("Sub", w.node("Softmax", w.last(x), axis=-1), hot)
    return [w.value(call, w.node("Mul", difference, w.node("Unsqueeze", w.last(call.ins[0]), w.ints([-1]))))]


@one(layer_norm="LayerNormalization")
def layer_norm(w: Writer, call: Call) -> list[Value]:
    return [w.value(call, w.node("LayerNormalization", *(w.last(v) for v in call.ins), axis=-1, epsilon=call.real("eps")))]


@composed(rms_norm="Mul, ReduceMean, Sqrt, Div")
def rms_norm(w: Writer, call: Call) -> list[Value]:
    x, gamma = (w.last(v) for v in call.ins)
    v = call.ins[0]
    mean = reduced(w, "ReduceMean", w.node("Mul", x, x), [len(v.shape) - 1])
    root = w.node("Sqrt", w.node("Add", mean, w.scalar(call.real("eps"), v.dtype)))
    return [w.value(call, w.node("Mul", w.node("Div", x, root), gamma))]


@composed(attention="MatMul, Mul, Where, Softmax, MatMul")
def attention(w: Writer, call: Call) -> list[Value]:
    """By the clause: keys and values once for each query head, scores, masks, weights."""
    if call.real("rate") > 0:
        raise call.refuse("dropout with a rate draws numbers, and ONNX's have no fixed values")
    q, k, v = call.ins[:3]
    heads = q.shape[-3] // k.shape[-3] if len(q.shape) > 2 and k.shape[-3] else 1
    keys, values = (repeated(w, x, heads) for x in (k, v))
    rank, m, n = len(q.shape), q.shape[-2], k.shape[-2]
    turned = w.node("Transpose", keys, perm=[*range(rank - 2), rank - 1, rank - 2])
    z = w.node("Mul", w.node("MatMul", w.last(q), turned), w.scalar(call.real("scale"), q.dtype))
    low = w.scalar(-math.inf, q.dtype)
    for mask in call.ins[3:4]:
        z = w.node("Where", w.last(mask), z, low) if mask.dtype == "bool" else w.node("Add", z, w.last(mask))
    window = call.whole("window")
    if call.attributes["causal"] or window:
        i, j = np.arange(m)[:, None], np.arange(n)[None, :]
        seen = (j <= i if call.attributes["causal"] else np.ones((m, n), bool)) & (abs(i - j) < window if window else True)
        z = z if seen.all() else w.node("Where", w.const(seen), z, low)
    return [w.value(call, w.node("MatMul", w.node("Softmax", z, axis=-1), values))]


def repeated(w: Writer, v: Value, times: int) -> str:
    """Each head so many times in a row."""
    if times == 1:
        return w.last(v)
    front, (h, n, d) = [1 if v.row else s for s in v.shape[:-3]], v.shape[-3:]
    wide = w.node("Expand", w.node("Unsqueeze", w.last(v), w.ints([len(v.shape) - 2])), w.ints([*front, h, times, n, d]))
    return str(w.node("Reshape", wide, w.ints([*([0] if v.row else v.shape[:1])[:len(front)], *v.shape[1:-3], h * times, n, d])))


# ---- images ----

def weights(w: Writer, v: Value) -> str:
    """A convolution's weight as ONNX has it; one that is a state is written so."""
    if v.weight is not None and v.last is None:
        return w.initializer(v, WEIGHT)
    return str(w.node("Transpose", w.last(v), perm=WEIGHT))


def window(call: Call) -> dict[str, Any]:
    """Strides, dilations and pads; (top, left, bottom, right) is ONNX's order too."""
    return {"strides": call.ints("stride"), "dilations": call.ints("dilation"), "pads": call.ints("padding")}


@one(conv2d="Conv", conv2d_winograd="Conv")
def conv2d(w: Writer, call: Call) -> list[Value]:
    x, weight = call.ins
    y = w.node("Conv", w.channels_first(x), weights(w, weight), group=call.whole("groups"), kernel_shape=list(weight.shape[:2]),
               **window(call))
    found = w.value(call, y, True)
    found.conv = w.nodes[-1]
    return [found]


@one(conv2d_grad_input="ConvTranspose")
def conv_transpose(w: Writer, call: Call) -> list[Value]:
    g, weight = call.ins
    place, size = window(call), call.ints("size")
    span = [d * (k - 1) + 1 for d, k in zip(place["dilations"], weight.shape[:2])]
    pads = [place["pads"][i] + place["pads"][i + 2] for i in (0, 1)]
    more = [size[i] - ((g.shape[1 + i] - 1) * place["strides"][i] + span[i] - pads[i]) for i in (0, 1)]
    if any(m < 0 or m >= max(place["strides"][i], place["dilations"][i]) and m for i, m in enumerate(more)):
        raise call.refuse(f"a size of {size} needs an output_padding of {more}")
    y = w.node("ConvTranspose", w.channels_first(g), weights(w, weight), group=call.whole("groups"), output_padding=more,
               kernel_shape=list(weight.shape[:2]), **place)
    return [w.value(call, y, True)]


@one(max_pool="MaxPool", avg_pool="AveragePool")
def pool(w: Writer, call: Call) -> list[Value]:
    kind = "MaxPool" if call.op == "max_pool" else "AveragePool"
    return [w.value(call, w.node(kind, w.channels_first(call.ins[0]), kernel_shape=call.ints("window"), **window(call)), True)]


@one(resize="Resize")
def resize(w: Writer, call: Call) -> list[Value]:
    """Along one axis, as an image of which the others stay."""
    v, axis, size = call.ins[0], call.whole("axis"), call.whole("size")
    how: dict[str, Any] = {"mode": ("nearest", "linear", "cubic")[call.whole("mode")],
           "coordinate_transformation_mode": ("half_pixel", "align_corners", "asymmetric")[call.whole("coordinates")],
           "nearest_mode": ("floor", "ceil", "round_prefer_floor", "round_prefer_ceil")[call.whole("rounding")]}
    if len(v.shape) == 4 and axis in (1, 2):
        shape = [size if FIRST[i] == axis else v.shape[FIRST[i]] for i in range(4)]
        return [w.value(call, resized(w, w.channels_first(v), shape, v.row is not None, how), True)]
    a, b = math.prod(v.shape[:axis]), math.prod(v.shape[axis + 1:])
    image = w.node("Reshape", w.last(v), w.ints([-1 if v.row else a, 1, v.shape[axis], b]))
    y, wanted = resized(w, image, [a, 1, size, b], v.row is not None, how), list(call.outs[0][0])
    if v.row:
        wanted[v.row[0]] = -1
    return [w.value(call, w.node("Reshape", y, w.ints(wanted)))]


def resized(w: Writer, name: str, shape: list[int], free: bool, how: dict[str, Any]) -> str:
    """To lengths of all four axes, of which the first may be known when the model runs."""
    sizes = w.ints(shape)
    if free:
        sizes = w.node("Concat", w.node("Shape", name, start=0, end=1), w.ints(shape[1:]), axis=0)
    return str(w.node("Resize", name, "", "", sizes, **how))


@one(batch_norm="BatchNormalization")
def batch_norm(w: Writer, call: Call) -> list[Value]:
    v, more = call.ins[0], [w.last(x) for x in call.ins[1:]]
    eps, rank = call.real("eps"), len(v.shape)
    if rank == 4:
        return [w.value(call, w.node("BatchNormalization", w.channels_first(v), *more, epsilon=eps), True)]
    if rank == 2:
        return [w.value(call, w.node("BatchNormalization", w.last(v), *more, epsilon=eps))]
    flat = w.node("Reshape", w.last(v), w.ints([-1, v.shape[-1]]))
    shape = list(v.shape)
    if v.row:
        shape[v.row[0]] = -1
    return [w.value(call, w.node("Reshape", w.node("BatchNormalization", flat, *more, epsilon=eps), w.ints(shape)))]


@composed(batch_norm_train="ReduceMean, Sub, Mul, Sqrt, Div", group_norm="Reshape, ReduceMean, Sub, Mul, Sqrt, Div")
def own_statistics(w: Writer, call: Call) -> list[Value]:
    """Norms by means and variances of the values themselves, which are results too."""
    v, gamma, beta = call.ins
    x, shape = w.last(v), v.shape
    axes = list(range(len(shape) - 1))
    if call.op == "group_norm":
        groups = call.whole("groups")
        rows = -1 if v.row else shape[0]
        x = w.node("Reshape", x, w.ints([rows, math.prod(shape[1:-1]), groups, shape[-1] // groups]))
        axes = [1, 3]
    mean = reduced(w, "ReduceMean", x, axes)
    d = w.node("Sub", x, mean)
    var = reduced(w, "ReduceMean", w.node("Mul", d, d), axes)
    y = w.node("Div", d, w.node("Sqrt", w.node("Add", var, w.scalar(call.real("eps"), v.dtype))))
    if call.op == "group_norm":
        y = w.node("Reshape", y, w.ints([rows, *shape[1:]]))
    y = w.node("Add", w.node("Mul", y, w.last(gamma)), w.last(beta))
    wanted = [[-1 if v.row else n for n in s[:1]] + list(s[1:]) for s, _ in call.outs[1:]]
    flat = [w.node("Reshape", s, w.ints(to)) for s, to in zip((mean, var), wanted)]
    return [w.value(call, y), w.value(call, flat[0], out=1), w.value(call, flat[1], out=2)]
