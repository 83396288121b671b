# SPDX-License-Identifier: Apache-2.0
"""ONNX's layers: convolutions, pools, norms, recurrent layers, quantisation. Programs have channels last; ONNX has them
first, so images are turned around before and after."""
from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from .graph import CARRIERS, MOST_MASK, NARROW, ONNX, Graph, Node, Unsupported, Value, handles
from .arithmetic import centred, centred_weights, exact_in_f32
from .shapes import cut


MOST_COUNTED = 1 << 22
GATES = {"RNN": 1, "GRU": 3, "LSTM": 4}


def channels_last(g: Graph, t: Any) -> Any:
    return g.transpose(t, [0, *range(2, len(t.shape)), 1])


def channels_first(g: Graph, t: Any) -> Any:
    return g.transpose(t, [0, len(t.shape) - 1, *range(1, len(t.shape) - 1)])


def as_image(g: Graph, t: Any) -> Any:
    """[n, c, h, w] or [n, c, w] as [n, h, w, c]; a row of samples has h = 1."""
    if len(t.shape) == 3:
        t = g.reshape(t, [t.shape[0], t.shape[1], 1, t.shape[2]])
    return channels_last(g, t)


def from_image(g: Graph, t: Any, rank: int) -> Any:
    t = channels_first(g, t)
    return g.reshape(t, [t.shape[0], t.shape[1], t.shape[3]]) if rank == 3 else t


def an_image(v: Value) -> Value:
    return dataclasses.replace(v, image=v.rank == 4)


class Window:
    """Kernel, strides, dilations and paddings of an operator, of images' two axes."""

    def __init__(self, n: Node, lengths: Sequence[int], kernel: Sequence[int]) -> None:
        axes = len(lengths)
        if axes not in (1, 2, 3) or axes == 3 and not n.kind.endswith("Pool") and n.kind != "Conv":
            raise n.refuse(f"{axes} axes of space")
        self.kernel = list(map(int, kernel))
        for name, length in (("kernel_shape", axes), ("strides", axes), ("dilations", axes), ("pads", 2 * axes)):
            if n.get(name) is not None and len(n.get(name)) != length:
                raise n.refuse(f"{name} {list(n.get(name))[:8]} of {axes} axes")
        if n.get("kernel_shape") is not None and list(map(int, n.get("kernel_shape"))) != self.kernel:
            raise n.refuse(f"kernel_shape {list(n.get('kernel_shape'))[:8]} of weights whose kernel is {self.kernel}")
        self.stride = list(map(int, n.get("strides", [1] * axes)))
        self.dilation = list(map(int, n.get("dilations", [1] * axes)))
        pads = list(map(int, n.get("pads", [0] * (2 * axes))))
        self.before, self.after = pads[:axes], pads[axes:]
        self.span = [(k - 1) * d + 1 for k, d in zip(self.kernel, self.dilation)]
        auto = str(n.get("auto_pad", "NOTSET"))
        if auto in ("SAME_UPPER", "SAME_LOWER"):
            total = [max(0, (-(-length // s) - 1) * s + w - length)
                     for length, s, w in zip(lengths, self.stride, self.span)]
            low, high = [t // 2 for t in total], [t - t // 2 for t in total]
            self.before, self.after = (low, high) if auto == "SAME_UPPER" else (high, low)
        elif auto == "VALID":
            self.before, self.after = [0] * axes, [0] * axes
        if min(self.before + self.after) < 0:
            raise n.refuse("negative pads")
        self.extra = [0] * axes
        if n.get("ceil_mode", 0):
            for i, length in enumerate(lengths):
                room = length + self.before[i] + self.after[i] - self.span[i]
                count = -(-room // self.stride[i]) + 1
                if (count - 1) * self.stride[i] >= length + self.before[i]:
                    count -= 1  # a window that would begin behind the image
                self.extra[i] = max(0, (count - 1) * self.stride[i] - room)

    def two(self, values: Sequence[int], one: int) -> list[int]:
        return [one, *values] if len(values) == 1 else list(values)

    def place(self, padded: bool = True) -> dict[str, list[int]]:
        zeros = [0] * len(self.before)
        after = [a + e for a, e in zip(self.after, self.extra)]
        return {"stride": self.two(self.stride, 1), "dilation": self.two(self.dilation, 1),
                "padding": self.two(self.before if padded else zeros, 0) + self.two(after if padded else zeros, 0)}

    def size(self) -> list[int]:
        return self.two(self.kernel, 1)

    def part(self, axes: slice, behind: bool) -> Window:
        """The window along some axes; `behind`: and one of length 1 behind them."""
        found = object.__new__(Window)
        for name, one in (("kernel", 1), ("stride", 1), ("dilation", 1), ("before", 0), ("after", 0), ("span", 1),
                          ("extra", 0)):
            setattr(found, name, [*getattr(self, name)[axes], *([one] if behind else [])])
        return found


def pooled(g: Graph, t: Any, window: Window, pool: Any) -> Any:
    """A pool of [n, c, ..]: of volumes along the depth, then along height and width."""
    if len(t.shape) != 5:
        return from_image(g, pool(as_image(g, t), window), len(t.shape))
    t = channels_last(g, t)
    n, d, h, w, c = t.shape
    t = pool(g.reshape(t, [n, d, h * w, c]), window.part(slice(0, 1), True))
    d = t.shape[1]
    t = pool(g.reshape(t, [n * d, h, w, c]), window.part(slice(1, 3), False))
    return channels_first(g, g.reshape(t, [n, d, *t.shape[1:]]))


def convolve(g: Graph, x: Any, weight: Any, window: Window, groups: int) -> Any:
    return convolve_image(g, as_image(g, x), weight, window, groups)


def convolve_image(g: Graph, x: Any, weight: Any, window: Window, groups: int) -> Any:
    w = as_image(g, weight)  # [k, r, s, c / groups]
    return g.op("conv2d", x, g.transpose(w, [1, 2, 3, 0]), groups=groups, **window.place())


def convolve_volume(g: Graph, x: Any, weight: Any, window: Window, groups: int) -> Any:
    """[n, c, d, h, w] -> [n, k, od, oh, ow]: a convolution of images for each tap of the depth, their results added."""
    x = channels_last(g, x)
    before, after = window.before[0], window.after[0]
    x = g.op("pad", x, before=[0, before, 0, 0, 0], after=[0, after, 0, 0, 0]) if before or after else x
    count = (x.shape[1] - window.span[0]) // window.stride[0] + 1
    image, total = window.part(slice(1, 3), False), None
    for tap in range(window.kernel[0]):
        begin = [0, tap * window.dilation[0], 0, 0, 0]
        part = g.op("slice_step", x, begin=begin, size=[x.shape[0], count, *x.shape[2:]], step=[1, window.stride[0], 1, 1, 1])
        w = cut(g, weight, 2, tap, 1)
        w = g.transpose(g.reshape(w, [*w.shape[:2], *w.shape[3:]]), [2, 3, 1, 0])
        y = g.op("conv2d", g.reshape(part, [x.shape[0] * count, *x.shape[2:]]), w, groups=groups, **image.place())
        total = y if total is None else g.op("add", total, y)
    assert total is not None
    return channels_first(g, g.reshape(total, [x.shape[0], count, *total.shape[1:]]))


@handles("Conv")
def conv(n: Node) -> Value:
    g, v, w = n.g, n.value(0), n.value(1)
    window = Window(n, v.shape[2:], w.shape[2:])
    if v.rank == 5:
        y = convolve_volume(g, n.tensor(0), n.tensor(1), window, int(n.get("group", 1)))
        y = g.op("add", y, g.reshape(n.tensor(2), [w.shape[0], 1, 1, 1])) if n.has(2) else y
        return g.result(y, v.dtype, *[x for x in n.inputs if x is not None])
    y = convolve(g, n.tensor(0), n.tensor(1), window, int(n.get("group", 1)))
    y = g.op("add", y, n.tensor(2)) if n.has(2) else y
    return an_image(g.result(from_image(g, y, v.rank), v.dtype, *[x for x in n.inputs if x is not None]))


@handles("ConvInteger")
def conv_integer(n: Node) -> Value:
    g, v = n.g, n.value(0)
    y = convolve_bytes(n, (0, 1), (2, 3))
    return an_image(g.made(from_image(g, g.cast(y, "i32"), v.rank), "i32", *[x for x in n.inputs if x is not None]))


def convolve_bytes(n: Node, operands: tuple[int, int], zeros: tuple[int, int]) -> Any:
    """The sums [n, h, w, k] of bytes less their zero points, in binary32 where weights that are known leave them exact, else in
    binary64."""
    g, v, w = n.g, *map(n.value, operands)
    window, axes = Window(n, v.shape[2:], w.shape[2:]), (1 - v.rank, -w.rank)
    known = centred_weights(n, operands[1], zeros[1], axes[1])
    kind = "f32" if known is not None and exact_in_f32(known.reshape(known.shape[0], -1), -1) else "f64"
    weight = centred(n, operands[1], zeros[1], axes[1], kind)
    if v.known is not None or n.has(zeros[0]) and n.value(zeros[0]).size != 1:
        x = as_image(g, centred(n, operands[0], zeros[0], axes[0], kind))
    else:  # where it lies channels last it stays so
        x = g.cast(as_image(g, n.tensor(operands[0])), kind)
        x = g.op("sub", x, g.cast(g.reshape(n.tensor(zeros[0]), []), kind)) if n.has(zeros[0]) else x
    return convolve_image(g, x, weight, window, int(n.get("group", 1)))


@handles("ConvTranspose")
def conv_transpose(n: Node) -> Value:
    """The gradient of the convolution that has these weights."""
    g, v, w = n.g, n.value(0), n.value(1)
    axes, groups = v.rank - 2, int(n.get("group", 1))
    given = str(n.get("auto_pad", "NOTSET"))
    n.attributes["auto_pad"] = "NOTSET"
    window = Window(n, v.shape[2:], w.shape[2:])
    more = list(map(int, n.get("output_padding", [0] * axes)))
    full = [(d - 1) * s + k + m for d, s, k, m in zip(v.shape[2:], window.stride, window.span, more)]
    shape = n.get("output_shape")
    if shape or given in ("SAME_UPPER", "SAME_LOWER"):
        wanted = list(map(int, shape))[-axes:] if shape else [d * s for d, s in zip(v.shape[2:], window.stride)]
        total = [max(0, f - x) for f, x in zip(full, wanted)]
        small, large = [t // 2 for t in total], [t - t // 2 for t in total]
        window.before, window.after = (small, large) if given == "SAME_UPPER" else (large, small)
        full = [x + t for x, t in zip(wanted, total)]
    # the whole gradient, without padding; what padding takes away is cut
    weight = g.transpose(as_image(g, n.tensor(1)), [1, 2, 3, 0])  # [r, s, k / groups, c]
    x = as_image(g, n.tensor(0))
    size = window.two(full, 1)
    place = window.place(padded=False)
    y = g.op("conv2d_grad_input", x, weight, groups=groups, size=size, **place)
    for axis, (b, a) in enumerate(zip(window.two(window.before, 0), window.two(window.after, 0)), 1):
        y = cut(g, y, axis, b, y.shape[axis] - b - a)
    y = g.op("add", y, n.tensor(2)) if n.has(2) else y
    return an_image(g.result(from_image(g, y, v.rank), v.dtype, *[x for x in n.inputs if x is not None]))


POOLED = ("f32", "f64", "f16", "bf16")


@handles("MaxPool")
def max_pool(n: Node) -> Value | Sequence[Value]:
    g, v = n.g, n.value(0)
    whole = v.dtype in ("i8", "u8")  # which binary32 holds
    if v.dtype not in POOLED and not (whole and n.outputs < 2):
        raise n.refuse(f"elements of type {v.dtype}")
    window = Window(n, v.shape[2:], n.get("kernel_shape"))
    if any(p >= s for p, s in zip(window.before + [a + e for a, e in zip(window.after, window.extra)], window.span * 2)):
        raise n.refuse("a padding not smaller than the window")
    y = pooled(g, g.cast(n.tensor(0), "f32") if whole else n.tensor(0), window, lambda t, w: g.op("max_pool", t, window=w.size(), **w.place()))
    if whole:
        return g.made(g.cast(y, "i32"), v.dtype, v)
    found = g.result(y, v.dtype, v)
    if n.outputs < 2:
        return found
    from .pools import places  # which stands on this module
    return [found, places(n, window, found.shape[2:])]


@handles("AveragePool", "LpPool")
def average_pool(n: Node) -> Value:
    g, v = n.g, n.value(0)
    if v.dtype not in POOLED:
        raise n.refuse(f"elements of type {v.dtype}")
    window = Window(n, v.shape[2:], n.get("kernel_shape"))
    if any(p >= s for p, s in zip(window.before + [a + e for a, e in zip(window.after, window.extra)], window.span * 2)):
        raise n.refuse("a padding not smaller than the window")
    x = n.tensor(0)
    if n.kind == "LpPool":
        p = float(n.get("p", 2))
        total = pooled(g, power_of(g, g.op("abs", x), p), window, lambda t, w: sum_pool(g, t, w))
        return g.result(power_of(g, total, 1 / p), v.dtype, v)
    if v.rank != 5 and not n.get("count_include_pad", 0):
        return g.result(pooled(g, x, window, lambda t, w: g.op("avg_pool", t, window=w.size(), **w.place())), v.dtype, v)
    # sums by counts that are known; pads count where it is asked for, what ceil_mode adds behind them never
    counts = counted(v.shape[2:], window, bool(n.get("count_include_pad", 0)))
    total = pooled(g, x, window, lambda t, w: sum_pool(g, t, w))
    return g.result(g.op("div", total, g.cast(g.tensor(g.constant(counts)), x.dtype)), v.dtype, v)


def power_of(g: Graph, t: Any, p: float) -> Any:
    if p in (0.5, 1.0, 2.0):
        return t if p == 1 else g.op("sqrt", t) if p == 0.5 else g.op("mul", t, t)
    return g.op("pow", t, g.fill(p, t.dtype))


def sum_pool(g: Graph, t: Any, window: Window) -> Any:
    """Sums over windows: a convolution of each channel with ones."""
    c = t.shape[3]
    return g.op("conv2d", t, g.fill(1, t.dtype, [*window.size(), 1, c]), groups=c, **window.place())


def counted(lengths: Sequence[int], window: Window, pads: bool) -> Any:
    """How many elements each window counts: [1, 1, ..]."""
    grid: Any = np.ones(())  # the total has as many elements, so this is not the greatest
    for i, length in enumerate(lengths):
        low = 0 if pads else window.before[i]
        high = length + window.before[i] + (window.after[i] if pads else 0)
        end, at, places = length + window.before[i] + window.after[i] + window.extra[i], 0, []
        if end // window.stride[i] * window.kernel[i] > MOST_COUNTED or grid.size * (end // window.stride[i] + 1) > MOST_MASK:
            raise Unsupported(f"windows of {window.kernel[i]} along {end} places are too many to count here", "AveragePool")
        while at + window.span[i] <= end:
            places.append(sum(low <= at + k * window.dilation[i] < high for k in range(window.kernel[i])))
            at += window.stride[i]
        grid = grid[..., None] * np.array(places, np.float64)
    return grid[None, None]


@handles("GlobalAveragePool", "GlobalMaxPool")
def global_pool(n: Node) -> Value:
    v = n.value(0)
    op = "mean" if n.kind == "GlobalAveragePool" else "max"
    return n.g.result(n.g.op(op, n.tensor(0), axes=list(range(2, v.rank))), v.dtype, v)


# ---- norms ----

def batch_norm_train(n: Node, eps: float) -> Sequence[Value]:
    """By the batch's own statistics, which the running ones that come out are drawn toward; the variance is the population's."""
    g, v, keep = n.g, n.value(0), float(n.get("momentum", 0.9))
    if n.version < 14 or v.rank < 2 or not v.size or not 0 <= eps < 1e30 or not math.isfinite(keep) or \
            any(n.value(i).dtype != v.dtype or v.dtype not in ("f32", "f64") for i in range(5)) or \
            any(n.value(i).shape != (v.shape[1],) for i in range(1, 5)):
        raise n.refuse(f"training_mode of opset {n.version} and {v.dtype}{list(v.shape)}")
    x = channels_last(g, n.tensor(0))
    given = [n.value(i) for i in range(5)]
    y, mean, _ = g.op("batch_norm_train", x, n.tensor(1), n.tensor(2), eps=eps)
    centre, axes = g.op("sub", x, mean), list(range(v.rank - 1))
    var = g.reshape(g.op("mean", g.op("mul", centre, centre), axes=axes), [v.shape[1]])
    running = [g.op("add", g.op("mul", n.tensor(i), g.fill(keep, v.dtype)), g.op("mul", new, g.fill(1 - keep, v.dtype)))
               for i, new in ((3, g.reshape(mean, [v.shape[1]])), (4, var))]
    return [g.result(t, v.dtype, *given) for t in (channels_first(g, y), *running)][:n.outputs]


@handles("BatchNormalization")
def batch_norm(n: Node) -> Value | Sequence[Value]:
    """By the statistics that are given, or in training the batch's."""
    g, v = n.g, n.value(0)
    eps = float(n.get("epsilon", 1e-5))
    if n.get("training_mode", 0) or n.outputs > 1:
        return batch_norm_train(n, eps)
    if v.rank > 1 and v.shape[1] and 0 <= eps < 1e30 and all(n.value(i).dtype == v.dtype in ("f32", "f64") for i in range(5)):
        y = g.op("batch_norm", channels_last(g, n.tensor(0)), *(n.tensor(i) for i in range(1, 5)), eps=eps)
        return g.result(channels_first(g, y), v.dtype, *map(n.value, range(5)))
    shape = [v.shape[1] if i == 1 else 1 for i in range(v.rank)]
    gamma, beta, mean, var = (g.reshape(n.tensor(i), shape) for i in range(1, 5))
    dev = g.op("sqrt", g.op("add", var, g.fill(n.get("epsilon", 1e-5), v.dtype)))
    y = g.op("add", g.op("mul", g.op("div", g.op("sub", n.tensor(0), mean), dev), gamma), beta)
    return g.result(y, v.dtype, *map(n.value, range(5)))


@handles("InstanceNormalization")
def instance_norm(n: Node) -> Value:
    g, v = n.g, n.value(0)
    axes, x = list(range(2, v.rank)), n.tensor(0)
    shape = [v.shape[1] if i == 1 else 1 for i in range(v.rank)]
    centre = g.op("sub", x, g.op("mean", x, axes=axes))
    var = g.op("mean", g.op("mul", centre, centre), axes=axes)
    y = g.op("div", centre, g.op("sqrt", g.op("add", var, g.fill(n.get("epsilon", 1e-5), v.dtype))))
    y = g.op("add", g.op("mul", y, g.reshape(n.tensor(1), shape)), g.reshape(n.tensor(2), shape))
    return g.result(y, v.dtype, *map(n.value, range(3)))


@handles("LRN")
def local_norm(n: Node) -> Value:
    g, v, x = n.g, n.value(0), n.tensor(0)
    size, c = int(n.get("size")), v.shape[1]
    if size < 1 or v.rank < 2:
        raise n.refuse(f"size {size} of {v.rank} axes")
    if not all(math.isfinite(float(n.get(k, 1.0))) for k in ("alpha", "beta", "bias")):
        raise n.refuse("alpha, beta or bias that is no finite number")
    square = g.op("mul", x, x)
    before, after = min((size - 1) // 2, c), min(size - 1 - (size - 1) // 2, c)  # beyond the channels there is nothing
    padded = g.op("pad", square, before=[before if i == 1 else 0 for i in range(v.rank)],
                  after=[after if i == 1 else 0 for i in range(v.rank)])
    total = cut(g, padded, 1, 0, c)
    for k in range(1, before + after + 1):
        total = g.op("add", total, cut(g, padded, 1, k, c))
    scale = g.op("mul", total, g.fill(float(n.get("alpha", 1e-4)) / size, v.dtype))
    base = g.op("add", scale, g.fill(n.get("bias", 1.0), v.dtype))
    return g.result(g.op("div", x, g.op("pow", base, g.fill(n.get("beta", 0.75), v.dtype))), v.dtype, v)


@handles("LpNormalization")
def lp_norm(n: Node) -> Value:
    g, v, x = n.g, n.value(0), n.tensor(0)
    axis = n.axis(-1, v.rank)
    if int(n.get("p", 2)) not in (1, 2):
        raise n.refuse(f"p {n.get('p')}")
    if int(n.get("p", 2)) == 1:
        total = g.op("sum", g.op("abs", x), axes=[axis])
    else:
        total = g.op("sqrt", g.op("sum", g.op("mul", x, x), axes=[axis]))
    zero = g.fill(0, v.dtype)
    y = g.op("where", g.op("eq", total, zero), zero, g.op("div", x, total))
    return g.result(y, v.dtype, v)


# ---- recurrent layers, written out step by step ----

def activation(n: Node, name: str) -> Any:
    known = {"Sigmoid": "sigmoid", "Tanh": "tanh", "Relu": "relu"}
    if name not in known or n.get("activation_alpha") or n.get("activation_beta"):
        raise n.refuse(f"activation {name}, or its parameters")
    return lambda t: n.g.op(known[name], t)


@handles("RNN", "GRU", "LSTM")
def recurrent(n: Node) -> Sequence[Value | None]:
    return recurrent_layers(n, n.kind, n.value(2).shape[-1], Layer)


def recurrent_layers(n: Node, kind: str, units: int, form: type[Layer]) -> Sequence[Value | None]:
    """Both directions of a layer; `form` is what one of them is, `units` how many its weights have."""
    g, v = n.g, n.value(0)
    if n.get("clip") is not None or n.get("input_forget", 0) or v.dtype not in ("f32", "f64"):
        raise n.refuse("clip, input_forget, or another element type")
    direction = str(n.get("direction", "forward"))
    sides = 2 if direction == "bidirectional" else 1
    if n.get("layout", 0) not in (0, 1) or direction not in ("forward", "reverse", "bidirectional"):
        raise n.refuse(f"layout {n.get('layout')}, direction {direction}")
    x = g.transpose(n.tensor(0), [1, 0, 2]) if n.get("layout", 0) else n.tensor(0)
    default = {"RNN": ["Tanh"], "GRU": ["Sigmoid", "Tanh"], "LSTM": ["Sigmoid", "Tanh", "Tanh"]}[kind]
    names = [s.decode() if isinstance(s, bytes) else str(s) for s in n.get("activations", default * sides)]
    hidden = int(n.get("hidden_size", units))
    if len(names) != sides * len(default):
        raise n.refuse(f"activations {names[:8]} of {sides} directions")
    first = (x.shape[1], sides, hidden) if n.get("layout", 0) else (sides, x.shape[1], hidden)
    for i, shape in ((3, (sides, 2 * GATES[kind] * hidden)), (5, first), (6, first), (7, (sides, 3 * hidden))):
        if n.has(i) and n.value(i).shape != shape:
            raise n.refuse(f"input {i} is {list(n.value(i).shape)}, expected {list(shape)} by direction, hidden_size and weights")
    if any(n.value(i).rank != 3 or n.value(i).shape[0] != sides for i in (1, 2)):
        raise n.refuse(f"weights {list(n.value(1).shape)} and {list(n.value(2).shape)} of {sides} directions")
    outs, lasts, cells, lengths = [], [], [], lengths_of(n, form, x)
    for side in range(sides):
        layer = form(n, kind, side, hidden, x.shape[1],
                     [activation(n, a) for a in names[side * len(default):(side + 1) * len(default)]])
        layer.lengths = lengths
        steps, h, c = layer.run(x, direction == "reverse" or side == 1)
        outs.append(g.op("concat", *[g.reshape(s, [1, 1, *s.shape]) for s in steps], axis=0) if len(steps) > 1 else
                    g.reshape(steps[0], [1, 1, *steps[0].shape]))
        lasts.append(g.reshape(h, [1, *h.shape]))
        cells.append(None if c is None else g.reshape(c, [1, *c.shape]))
    y = outs[0] if sides == 1 else g.op("concat", *outs, axis=1)
    ends = [lasts, cells] if kind == "LSTM" else [lasts]
    last = [e[0] if sides == 1 else g.op("concat", *e, axis=0) for e in ends]
    if n.get("layout", 0):
        y, last = g.transpose(y, [2, 0, 1, 3]), [g.transpose(t, [1, 0, 2]) for t in last]
    given = [w for w in n.inputs if w is not None]
    return [g.result(t, v.dtype, *given) for t in (y, *last)]


def lengths_of(n: Node, form: type[Layer], x: Any) -> Any:
    """sequence_lens as a tensor [batch, 1], or None where each row has all steps."""
    if not n.has(4):
        return None
    g, v, steps = n.g, n.value(4), x.shape[0]
    if v.dtype != "i32" or v.shape != (x.shape[1],) or form is not Layer:
        raise n.refuse(f"sequence_lens {v.dtype}{list(v.shape)} of a batch of {x.shape[1]}")
    if v.known is not None:
        if (v.known < 1).any() or (v.known > steps).any():
            raise n.refuse(f"sequence_lens beyond 1 to {steps}")
        if (v.known == steps).all():
            return None
    every = g.tensor(g.constant(np.arange(1, steps + 1, dtype=np.int32)))  # an index beyond its places is an error of the run
    return g.reshape(g.op("gather", every, g.op("sub", g.tensor(v), g.fill(1, "i32")), axis=0), [x.shape[1], 1])


class Layer:
    """One direction of a recurrent layer. The order of the gates is ONNX's: iofc, zrh."""

    lengths: Any = None

    def __init__(self, n: Node, kind: str, side: int, hidden: int, batch: int, functions: Sequence[Any]) -> None:
        self.n, self.kind, self.g, self.hidden, self.f = n, kind, n.g, hidden, list(functions)
        self.dtype = n.value(0).dtype

        def pick(t: Any) -> Any:
            return self.pick(t, side)

        self.whole: Any = None  # the products of all steps' inputs with W, whose elements are read once for them
        self.w, self.r = self.matrices(side)
        gates = self.w.shape[1] // hidden
        zeros = self.g.fill(0, self.dtype, [2 * gates * hidden])
        bias = pick(n.tensor(3)) if n.has(3) else zeros
        self.wb, self.rb = (cut(self.g, bias, 0, k * gates * hidden, gates * hidden) for k in (0, 1))

        def start(i: int) -> Any:
            if not n.has(i):
                return self.g.fill(0, self.dtype, [batch, hidden])
            return pick(self.g.transpose(n.tensor(i), [1, 0, 2]) if n.get("layout", 0) else n.tensor(i))

        self.h, self.c = start(5), start(6) if kind == "LSTM" else None
        self.peep = pick(n.tensor(7)) if kind == "LSTM" and n.has(7) else None

    def pick(self, t: Any, side: int) -> Any:
        return self.g.reshape(cut(self.g, t, 0, side, 1), t.shape[1:])

    def matrices(self, side: int) -> tuple[Any, Any]:
        w, r = (self.g.transpose(self.pick(self.n.tensor(i), side), [1, 0]) for i in (1, 2))
        if w.shape[1] != GATES[self.kind] * self.hidden or r.shape != (self.hidden, w.shape[1]):
            raise self.n.refuse(f"weights {list(self.n.value(1).shape)} and {list(self.n.value(2).shape)} of {self.hidden} units")
        return w, r

    def entered(self, x: Any, at: int) -> Any:
        """The product of a step's input with W."""
        if self.whole is None:
            self.whole = self.multiplied(x)
        return self.g.reshape(cut(self.g, self.whole, 0, at, 1), self.whole.shape[1:])

    def multiplied(self, x: Any) -> Any:
        y = self.g.op("matmul", self.g.reshape(x, [math.prod(x.shape[:2]), x.shape[2]]), self.w)
        return self.g.reshape(y, [*x.shape[:2], y.shape[-1]])

    def recurred(self) -> Any:
        return self.g.op("matmul", self.h, self.r)

    def gate(self, t: Any, k: int) -> Any:
        return cut(self.g, t, len(t.shape) - 1, k * self.hidden, self.hidden)

    def run(self, x: Any, backwards: bool) -> tuple[list[Any], Any, Any]:
        steps: list[Any] = []
        for at in (range(x.shape[0] - 1, -1, -1) if backwards else range(x.shape[0])):
            h, c = self.h, self.c
            getattr(self, self.kind.lower())(self.g.op("add", self.entered(x, at), self.wb))
            steps.append(self.h if self.lengths is None else self.stayed(at, h, c))
        return steps[::-1] if backwards else steps, self.h, self.c

    def stayed(self, at: int, h: Any, c: Any) -> Any:
        """Rows that are over, or backwards have not begun, keep their states, and their output is 0."""
        op = self.g.op
        there = op("lt", self.g.fill(at, "i32"), self.lengths)
        self.h = op("where", there, self.h, h)
        self.c = None if c is None else op("where", there, self.c, c)
        return op("where", there, self.h, self.g.fill(0, self.dtype))

    def rnn(self, wx: Any) -> None:
        rh = self.g.op("add", self.recurred(), self.rb)
        self.h = self.f[0](self.g.op("add", wx, rh))

    def gru(self, wx: Any) -> None:
        op = self.g.op
        rh = self.recurred()
        z, r = (self.f[0](op("add", self.gate(wx, k), op("add", self.gate(rh, k), self.gate(self.rb, k)))) for k in (0, 1))
        if self.n.get("linear_before_reset", 0):
            inner = op("mul", r, op("add", self.gate(rh, 2), self.gate(self.rb, 2)))
        else:
            inner = op("add", op("matmul", op("mul", r, self.h), self.gate(self.r, 2)), self.gate(self.rb, 2))
        h = self.f[1](op("add", self.gate(wx, 2), inner))
        rest = op("sub", self.g.fill(1, self.dtype), z)
        self.h = op("add", op("mul", rest, h), op("mul", z, self.h))

    def lstm(self, wx: Any) -> None:
        op = self.g.op
        s = op("add", wx, op("add", self.recurred(), self.rb))
        i, o, f, c = (self.gate(s, k) for k in range(4))
        if self.peep is not None:
            i = op("add", i, op("mul", self.gate(self.peep, 0), self.c))
            f = op("add", f, op("mul", self.gate(self.peep, 2), self.c))
        self.c = op("add", op("mul", self.f[0](f), self.c), op("mul", self.f[0](i), self.f[1](c)))
        if self.peep is not None:
            o = op("add", o, op("mul", self.gate(self.peep, 1), self.c))
        self.h = op("mul", self.f[0](o), self.f[2](self.c))


# ---- quantisation ----

LIMITS = {"u8": (0, 255), "i8": (-128, 127), "u16": (0, 65535), "i16": (-32768, 32767), "u4": (0, 15), "i4": (-8, 7),
          "u2": (0, 3), "i2": (-2, 1)}


def spread(n: Node, i: int, v: Value) -> Any:
    """A scale or zero point as it stretches over the tensor: one, one along an axis, or one a block."""
    g, t = n.g, n.tensor(i)
    if len(t.shape) == 0 or math.prod(t.shape) == 1:
        return g.reshape(t, [])
    axis, block = n.axis(1, v.rank), int(n.get("block_size", 0))
    if block:
        wide = g.reshape(t, [d for k, s in enumerate(t.shape) for d in ((s, 1) if k == axis else (s,))])
        wide = g.broadcast(wide, [d for k, s in enumerate(t.shape) for d in ((s, block) if k == axis else (s,))])
        t = g.reshape(wide, [s * block if k == axis else s for k, s in enumerate(t.shape)])
        return cut(g, t, axis, 0, v.shape[axis])
    return g.reshape(t, [t.shape[0] if k == axis else 1 for k in range(v.rank)])


@handles("DequantizeLinear", "com.microsoft.DequantizeLinear")
def dequantize(n: Node) -> Value:
    g, v, scale = n.g, n.value(0), n.value(1)
    if scale.dtype != "f32":
        raise n.refuse(f"a scale of {scale.dtype}")
    named = str(n.get("output_dtype_name", "UNDEFINED"))
    if named != "UNDEFINED" and ONNX.get(named) != scale.dtype:
        raise n.refuse(f"output_dtype {named} of a scale of {scale.dtype}")
    x = n.tensor(0)
    if n.has(2):
        x = g.op("sub", x, spread(n, 2, v))
    y = g.op("mul", g.cast(x, CARRIERS[scale.dtype]), spread(n, 1, v))
    return g.result(y, scale.dtype, *[w for w in n.inputs if w is not None])


@handles("QuantizeLinear", "com.microsoft.QuantizeLinear")
def quantize(n: Node) -> Value:
    g, v = n.g, n.value(0)
    named = str(n.get("output_dtype_name", "UNDEFINED"))
    dtype = n.value(2).dtype if n.has(2) else ONNX.get(named, "u8")
    if v.dtype != "f32" or n.value(1).dtype != "f32" or n.get("precision", 0) not in (0, 1) or \
            not (dtype in LIMITS or dtype in NARROW):
        raise n.refuse(f"elements of {v.dtype} to {dtype}, or precision")
    y = g.op("div", n.tensor(0), spread(n, 1, v))
    if dtype in NARROW:
        y = g.op("add", y, spread(n, 2, v)) if n.has(2) else y
        return g.made(g.rounded(y, dtype, True), dtype, *[w for w in n.inputs if w is not None])
    low, high = LIMITS[dtype]
    y = g.op("round", y)
    y = g.op("minimum", g.op("maximum", y, g.fill(-200000, "f32")), g.fill(200000, "f32"))
    y = g.cast(y, "i32")
    y = g.op("add", y, spread(n, 2, v)) if n.has(2) else y
    y = g.op("minimum", g.op("maximum", y, g.fill(low, "i32")), g.fill(high, "i32"))
    return g.made(y, dtype, *[w for w in n.inputs if w is not None])
