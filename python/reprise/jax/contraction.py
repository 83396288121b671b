# SPDX-License-Identifier: Apache-2.0
"""Products, convolutions and windows. Convolutions are [n, h, w, c] with weights [h, w, in, out] inside."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .graph import FLOATS
from .lowering import COMPUTED, Node, Value, handles, size
from .moving import WIDE, padded

MOST_TAPS = 4096


@handles("dot_general")
def dot_general(n: Node) -> Value:
    """Batch, own and contracted axes of both become one axis each of a matrix product."""
    g = n.g
    (lc, rc), (lb, rb) = n.need("dimension_numbers")
    ls, rs = n.inputs[0].shape, n.inputs[1].shape
    own = [[i for i in range(len(s)) if i not in c and i not in b] for s, c, b in ((ls, lc, lb), (rs, rc, rb))]
    a = g.transpose(n.tensor(0), [*lb, *own[0], *lc])
    b = g.transpose(n.tensor(1), [*rb, *rc, *own[1]])
    batch, k = [ls[i] for i in lb], size([ls[i] for i in lc])
    rows, cols = size([ls[i] for i in own[0]]), size([rs[i] for i in own[1]])
    head = [size(batch)] if batch else []
    a, b = g.reshape(a, [*head, rows, k]), g.reshape(b, [*head, k, cols])
    both = {n.inputs[0].dtype, n.inputs[1].dtype}
    if both & set(FLOATS):
        wide = "f64" if "f64" in both | {n.dtype} else "f32"
        if len(both) > 1 or both & set(COMPUTED) or n.dtype == "f64":
            a, b = g.cast(a, wide), g.cast(b, wide)
        found = g.op("matmul", a, b)
    else:
        a, b = (g.cast(t, "i64") for t in (a, b))
        deep = len(head)
        products = g.op("mul", g.reshape(a, [*head, rows, k, 1]), g.reshape(b, [*head, 1, k, cols]))
        found = g.reduce("sum", products, [deep + 1])
    return n.made(g.reshape(found, n.shape))


# ---- convolutions ----

@handles("conv_general_dilated")
def convolution(n: Node) -> Value:
    g, spec = n.g, n.need("dimension_numbers")
    left, right, out = (list(spec[k]) for k in ("lhs_spec", "rhs_spec", "out_spec"))
    rank = len(left) - 2
    if n.get("batch_group_count", 1) != 1:
        raise n.refuse("with batch_group_count, of a gradient that jax made: give the loss itself")
    if not 1 <= rank <= 3 or n.dtype not in FLOATS:
        raise n.refuse(f"of {rank} dimensions" if n.dtype in FLOATS else f"of {n.dtype}")
    wide = "f64" if n.dtype == "f64" else "f32"  # asked for by preferred_element_type, or the operands' own
    x = g.transpose(g.cast(n.computed(0), wide), [left[0], *left[2:], left[1]])
    w = g.transpose(g.cast(n.computed(1), wide), [*right[2:], right[1], right[0]])
    pads = [tuple(p) for p in n.need("padding")]
    inner = [d - 1 for d in n.get("lhs_dilation", [1] * rank)]
    moved = [(min(lo, 0), min(hi, 0), i) if not i else (lo, hi, i) for (lo, hi), i in zip(pads, inner)]
    x = padded(n, x, [(0, 0, 0), *moved, (0, 0, 0)], None) if any(any(m) for m in moved) else x
    pads = [(max(lo, 0), max(hi, 0)) if not i else (0, 0) for (lo, hi), i in zip(pads, inner)]
    how = (list(n.need("window_strides")), pads, list(n.get("rhs_dilation", [1] * rank)), int(n.get("feature_group_count", 1)))
    y = convolved(n, x, w, *how)
    order = [0] * (rank + 2)  # y is batch, space, features
    order[out[0]], order[out[1]] = 0, rank + 1
    for k, place in enumerate(out[2:]):
        order[place] = k + 1
    return n.made(g.transpose(y, order))


def convolved(n: Node, x: Any, w: Any, stride: list[int], pads: list[tuple[int, int]], dilation: list[int], groups: int) -> Any:
    g, rank = n.g, len(stride)
    if rank == 1:
        s, v = tuple(x.shape), tuple(w.shape)
        y = convolved(n, g.reshape(x, [s[0], 1, *s[1:]]), g.reshape(w, [1, *v]), [1, *stride], [(0, 0), *pads], [1, *dilation], groups)
        return g.reshape(y, [s[0], *y.shape[2:]])
    if rank == 3:
        return by_depth(n, x, w, stride, pads, dilation, groups)
    if not size(x.shape) or not size(w.shape):
        raise n.refuse("of no elements")
    (top, bottom), (before, after) = pads
    return g.op("conv2d", x, w, stride=stride, padding=[top, before, bottom, after], dilation=dilation, groups=groups)


def by_depth(n: Node, x: Any, w: Any, stride: list[int], pads: list[tuple[int, int]], dilation: list[int], groups: int) -> Any:
    """The sum over the weights' depth of convolutions of slices."""
    g = n.g
    x = padded(n, x, [(0, 0, 0), (*pads[0], 0), (0, 0, 0), (0, 0, 0), (0, 0, 0)], None)
    taps = w.shape[0]
    deep = (x.shape[1] - (taps - 1) * dilation[0] - 1) // stride[0] + 1
    if deep < 1:
        raise n.refuse("a window larger than what it lies on")
    total: Any = None
    for k in range(taps):
        s = [x.shape[0], deep, *x.shape[2:]]
        part = g.op("slice_step", x, begin=[0, k * dilation[0], 0, 0, 0], size=s, step=[1, stride[0], 1, 1, 1])
        part = g.reshape(part, [s[0] * deep, *s[2:]])
        y = convolved(n, part, g.reshape(g.slice(w, 0, k, k + 1), w.shape[1:]), stride[1:], pads[1:], dilation[1:], groups)
        total = y if total is None else g.op("add", total, y)
    return g.reshape(total, [x.shape[0], deep, *total.shape[1:]])


# ---- windows ----

@handles("reduce_window_sum", "reduce_window_max", "reduce_window_min")
def window(n: Node) -> Value:
    """Axis by axis, the last first: so that of equal extremes the first in the window's order has the gradient, as in jax."""
    g, v = n.g, n.inputs[0]
    rank = len(v.shape)
    lengths, strides, pads = n.need("window_dimensions"), n.need("window_strides"), n.need("padding")
    base, dilation = n.get("base_dilation", [1] * rank), n.get("window_dilation", [1] * rank)
    x = g.cast(n.tensor(0), WIDE.get(v.dtype, v.dtype))
    least = n.primitive == "reduce_window_min"
    extreme = least or n.primitive == "reduce_window_max"
    if sum(lengths) > MOST_TAPS:
        raise n.refuse(f"windows of {sum(lengths)} elements along their axes")
    neutral = None
    turned = least and x.dtype in FLOATS  # the least integer has no negative
    if extreme:
        x = g.op("neg", x) if turned else x
        whole = g.number(2 ** 31 - 1 if x.dtype == "i32" else 2 ** 63 - 1, x.dtype) if least and not turned else None
        neutral = whole if whole is not None else \
            g.fill(float("-inf") if x.dtype in FLOATS else -2.0 ** (31 if x.dtype == "i32" else 63), x.dtype)
    for a in reversed(range(rank)):
        config = [(0, 0, 0)] * rank
        config[a] = (pads[a][0], pads[a][1], base[a] - 1)
        plain = (lengths[a], strides[a]) == (1, 1)
        pool = extreme and x.dtype in FLOATS and not plain and n.active
        x = padded(n, x, config, neutral) if any(config[a]) else x
        if not plain:
            x = pooled(n, x, a, lengths[a], strides[a], dilation[a]) if pool else \
                folded(n, x, a, lengths[a], strides[a], dilation[a],
                       "minimum" if extreme and least and not turned else "maximum" if extreme else "add")
    return n.made(g.op("neg", x) if turned else x)


def pooled(n: Node, x: Any, axis: int, length: int, stride: int, dilation: int) -> Any:
    """Maxima along one axis, whose gradient goes to the first of equal ones."""
    g, s = n.g, tuple(x.shape)
    flat = g.reshape(x, [size(s[:axis]), s[axis], 1, size(s[axis + 1:])])
    y = g.op("max_pool", flat, window=[length, 1], stride=[stride, 1], dilation=[dilation, 1], padding=[0, 0, 0, 0])
    return g.reshape(y, [*s[:axis], y.shape[1], *s[axis + 1:]])


def folded(n: Node, x: Any, axis: int, length: int, stride: int, dilation: int, name: str) -> Any:
    """Sums or extremes along one axis, tap by tap."""
    g, s = n.g, list(x.shape)
    s[axis] = (s[axis] - (length - 1) * dilation - 1) // stride + 1
    if s[axis] < 1:
        raise n.refuse("a window larger than what it lies on")
    found = None
    for k in range(length):
        part = g.op("slice_step", x, begin=at(len(s), axis, k * dilation, 0), size=s, step=at(len(s), axis, stride, 1))
        found = part if found is None else g.op(name, found, part)
    return found


def at(rank: int, axis: int, value: int, other: int) -> Sequence[int]:
    return [value if a == axis else other for a in range(rank)]
