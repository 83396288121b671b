# SPDX-License-Identifier: Apache-2.0
"""Primitives that move elements, and those that reduce, accumulate or order them."""
from __future__ import annotations

from typing import Any

import numpy as np

from .graph import FLOATS
from .lowering import Node, Value, handles, size

WIDE = {"bf16": "f32", "f16": "f32", "i8": "i64", "u8": "i64", "i16": "i64", "u32": "i64", "bool": "i32"}  # to reduce in


@handles("reshape", "squeeze", "expand_dims")
def reshape(n: Node) -> Value:
    v = n.inputs[0]
    if n.get("dimensions") is not None and n.primitive == "reshape":
        raise n.refuse("in another order of dimensions")
    if v.known is not None:
        return Value(n.dtype, n.shape, known=v.known.reshape(n.shape))
    return Value(n.dtype, n.shape, n.g.reshape(n.tensor(0), n.shape), active=v.active)


@handles("transpose")
def transpose(n: Node) -> Value:
    return n.made(n.g.transpose(n.tensor(0), n.need("permutation")))


@handles("broadcast_in_dim")
def broadcast(n: Node) -> Value:
    v, places = n.inputs[0], n.need("broadcast_dimensions")
    if v.known is not None and v.known.size == 1 and size(n.shape) <= 1 << 16:
        return Value(n.dtype, n.shape, known=np.broadcast_to(v.known.reshape(()), n.shape))
    shape = [1] * len(n.shape)
    for axis, place in enumerate(places):
        shape[place] = v.shape[axis]
    return n.made(n.g.reshape(n.tensor(0), shape))


@handles("iota")
def iota(n: Node) -> Value:
    axis = int(n.need("dimension"))
    dtype = n.dtype if n.dtype in ("f32", "f64", "i32", "i64", "u32") else "i32"
    return Value(n.dtype, n.shape, n.g.broadcast(n.g.cast(n.g.iota(n.shape[axis], dtype, axis, len(n.shape)), n.dtype), n.shape))


@handles("concatenate")
def concatenate(n: Node) -> Value:
    parts = [n.tensor(i) for i, v in enumerate(n.inputs)]
    return n.made(n.g.op("concat", *parts, axis=int(n.need("dimension"))))


@handles("stack")
def stack(n: Node) -> Value:
    axis = int(n.get("axis", n.get("dimension", 0)))
    parts = [n.g.reshape(n.tensor(i), [*v.shape[:axis], 1, *v.shape[axis:]]) for i, v in enumerate(n.inputs)]
    return n.made(n.g.op("concat", *parts, axis=axis))


@handles("unstack")
def unstack(n: Node) -> list[Value]:
    axis, x = int(n.get("axis", n.get("dimension", 0))), n.tensor(0)
    return [n.made(n.g.reshape(n.g.slice(x, axis, i, i + 1), s), i) for i, (_, s) in enumerate(n.e.outputs)]


@handles("split")
def split(n: Node) -> list[Value]:
    axis, x, at, made = int(n.need("axis")), n.tensor(0), 0, []
    for i, length in enumerate(n.need("sizes")):
        made.append(n.made(n.g.slice(x, axis, at, at + length), i))
        at += length
    return made


@handles("tile")
def tile(n: Node) -> Value:
    x = n.tensor(0)
    for axis, times in enumerate(n.need("reps")):
        if times != 1:
            s = tuple(x.shape)
            wide = n.g.broadcast(n.g.reshape(x, [*s[:axis], 1, *s[axis:]]), [*s[:axis], times, *s[axis:]])
            x = n.g.reshape(wide, [*s[:axis], times * s[axis], *s[axis + 1:]])
    return n.made(x)


@handles("slice")
def slice_(n: Node) -> Value:
    begin, end, step = n.need("start_indices"), n.need("limit_indices"), n.get("strides")
    if step is None or all(s == 1 for s in step):
        return n.made(n.g.op("slice", n.tensor(0), begin=list(begin), end=list(end)))
    return n.made(n.g.op("slice_step", n.tensor(0), begin=[b if k else 0 for b, k in zip(begin, n.shape)], size=list(n.shape),
                         step=list(step)))


@handles("rev")
def rev(n: Node) -> Value:
    axes = set(n.need("dimensions"))
    return n.made(n.g.op("slice_step", n.tensor(0), begin=[max(k - 1, 0) if a in axes else 0 for a, k in enumerate(n.shape)],
                         size=list(n.shape), step=[-1 if a in axes else 1 for a in range(len(n.shape))]))


def padded(n: Node, x: Any, config: Any, fill: Any) -> Any:
    """lax.pad of x with zeros, or with fill, a tensor of one number. Negative amounts take away."""
    g, rank = n.g, len(x.shape)
    low, high, inner = ([int(c[k]) for c in config] for k in (0, 1, 2))
    if fill is not None:
        mask = g.broadcast(g.fill(True, "bool"), x.shape)
        return g.where(padded(n, mask, config, None), padded(n, x, config, None), fill)
    for a in range(rank):
        if inner[a] and x.shape[a] > 1:
            s = tuple(x.shape)
            gap = [0] * (rank + 1)
            gap[a + 1] = inner[a]
            x = g.op("pad", g.reshape(x, [*s[:a + 1], 1, *s[a + 1:]]), before=[0] * (rank + 1), after=gap)
            x = g.slice(g.reshape(x, [*s[:a], s[a] * (inner[a] + 1), *s[a + 1:]]), a, 0, s[a] * (inner[a] + 1) - inner[a])
    if any(k > 0 for k in low + high):
        x = g.op("pad", x, before=[max(k, 0) for k in low], after=[max(k, 0) for k in high])
    for a in range(rank):
        x = g.slice(x, a, max(-low[a], 0), max(x.shape[a] - max(-high[a], 0), max(-low[a], 0)))
    return x


@handles("pad")
def pad(n: Node) -> Value:
    fill = n.inputs[1]
    plain = fill.known is not None and not fill.known.any() and not np.signbit(fill.known.astype(np.float64)).any()
    return n.made(padded(n, n.tensor(0), n.need("padding_config"), None if plain else n.tensor(1)))


# ---- reductions ----

@handles("reduce_sum", "reduce_max", "reduce_min", "reduce_prod")
def reduce(n: Node) -> Value:
    name, v, axes = n.primitive[7:], n.inputs[0], n.need("axes")
    x = n.g.cast(n.tensor(0), WIDE.get(v.dtype, v.dtype))
    return n.made(n.g.reduce(name, x, axes))


@handles("psum", "psum_invariant", "pmax", "pmin")
def collective(n: Node) -> list[Value]:
    """vmap leaves its own axis by its number; one of several devices has a name."""
    if n.params.get("axis_index_groups") or any(isinstance(a, str) for a in n.get("axes", [])):
        raise n.refuse(f"over {n.get('axes')}, an axis of several devices: programs run on one")
    axes = [int(a) for a in n.get("axes", [])]
    name = {"pmax": "max", "pmin": "min"}.get(n.primitive, "sum")
    return [n.made(n.g.reduce(name, n.g.cast(n.tensor(i), WIDE.get(v.dtype, v.dtype)), axes), i) if axes else v
            for i, v in enumerate(n.inputs)]


@handles("reduce_or", "reduce_and", "reduce_xor")
def reduce_bits(n: Node) -> Value:
    g, v, axes = n.g, n.inputs[0], sorted(n.need("axes"))
    if v.dtype == "bool" and n.primitive != "reduce_xor":
        name, empty = ("max", False) if n.primitive == "reduce_or" else ("min", True)
        if not size(v.shape):
            return n.made(g.fill(empty, "bool"))
        return n.made(g.reduce(name, g.cast(n.tensor(0), "i32"), axes))
    if v.dtype == "bool":
        return n.made(g.op("bitwise_and", g.reduce("sum", g.cast(n.tensor(0), "i32"), axes), g.fill(1, "i32")))
    x = n.computed(0)
    for a in reversed(axes):  # halves until one is left
        while x.shape[a] > 1:
            half = x.shape[a] // 2
            both = g.op(f"bitwise_{n.primitive[7:]}", g.slice(x, a, 0, half), g.slice(x, a, half, 2 * half))
            x = both if x.shape[a] == 2 * half else g.op("concat", both, g.slice(x, a, 2 * half, x.shape[a]), axis=a)
        if not x.shape[a]:
            raise n.refuse("of no elements")
        x = g.reshape(x, [k for i, k in enumerate(x.shape) if i != a])
    return n.made(x)


@handles("argmax", "argmin")
def argmax(n: Node) -> Value:
    """A NaN is the greatest, and the least: jax takes the first for both."""
    g, v, axis = n.g, n.inputs[0], int(n.need("axes")[0])
    x = g.cast(n.tensor(0), WIDE.get(v.dtype, v.dtype))
    if n.primitive == "argmin" and v.dtype in FLOATS:
        x = g.where(g.op("ne", x, x), g.fill(float("nan"), x.dtype), g.op("neg", x))
    found = g.op("argmax" if n.primitive == "argmax" or v.dtype in FLOATS else "argmin", x, axis=axis)
    return n.made(g.reshape(found, n.shape))


@handles("cumsum", "cumprod")
def cumulative(n: Node) -> Value:
    v = n.inputs[0]
    x = n.g.cast(n.tensor(0), WIDE.get(v.dtype, v.dtype))
    return n.made(n.g.op(n.primitive, x, axis=int(n.need("axis")), reverse=bool(n.get("reverse", False))))


@handles("cummax", "cummin")
def cumulative_extreme(n: Node) -> Value:
    """By steps of 1, 2, 4 ..."""
    if n.active:
        return n.g.run(n.need("jaxpr"), n.inputs)[0]
    g, v, axis = n.g, n.inputs[0], int(n.need("axis"))
    x, back, step = g.cast(n.tensor(0), WIDE.get(v.dtype, v.dtype)), bool(n.get("reverse", False)), 1
    name, length = "maximum" if n.primitive == "cummax" else "minimum", v.shape[axis]
    while step < length:
        near, far = (0, length - step), (step, length)
        if back:
            both = g.op(name, g.slice(x, axis, *near), g.slice(x, axis, *far))
            x = g.op("concat", both, g.slice(x, axis, length - step, length), axis=axis)
        else:
            both = g.op(name, g.slice(x, axis, *far), g.slice(x, axis, *near))
            x = g.op("concat", g.slice(x, axis, 0, step), both, axis=axis)
        step *= 2
    return n.made(x)


@handles("cumlogsumexp")
def cumulative_logsumexp(n: Node) -> Value:
    """By steps of 1, 2, 4 ...: each joins two by max + log(1 + exp(-distance))."""
    g, axis, step = n.g, int(n.need("axis")), 1
    x, back, length = n.computed(0), bool(n.get("reverse", False)), n.shape[int(n.need("axis"))]
    while step < length:
        a, b = g.slice(x, axis, 0, length - step), g.slice(x, axis, step, length)
        top = g.op("stop_gradient", g.op("maximum", a, b))
        top = g.where(g.op("eq", g.op("abs", top), g.fill(float("inf"), x.dtype)), g.fill(0, x.dtype), top)
        both = g.op("add", g.op("log", g.op("add", g.op("exp", g.op("sub", a, top)), g.op("exp", g.op("sub", b, top)))), top)
        rest = g.slice(x, axis, length - step, length) if back else g.slice(x, axis, 0, step)
        x = g.op("concat", *((both, rest) if back else (rest, both)), axis=axis)
        step *= 2
    return n.made(x)


# ---- order ----

def last(n: Node, x: Any, axis: int) -> Any:
    """Exchanges an axis with the last."""
    order = list(range(len(x.shape)))
    order[axis], order[-1] = order[-1], order[axis]
    return n.g.transpose(x, order)


@handles("sort")
def sort(n: Node) -> list[Value]:
    """Stable, by the first num_keys operands: the last of them is ordered first."""
    g, axis, keys = n.g, int(n.need("dimension")), int(n.get("num_keys", 1))
    if not n.inputs[0].shape:
        return list(n.inputs)
    values = [last(n, n.tensor(i), axis) for i in range(len(n.inputs))]
    deepest = len(values[0].shape) - 1
    for k in reversed(range(keys)):
        v = n.inputs[k]
        _, index = g.op("sort", g.cast(values[k], WIDE.get(v.dtype, v.dtype)), descending=False)
        values = [g.op("take_along", x, index, axis=deepest) for x in values]
    return [n.made(last(n, x, axis), i) for i, x in enumerate(values)]


@handles("top_k")
def top_k(n: Node) -> list[Value]:
    g, v, axis = n.g, n.inputs[0], int(n.get("axis", -1)) % len(n.inputs[0].shape)
    x = last(n, g.cast(n.tensor(0), WIDE.get(v.dtype, v.dtype)), axis)
    best, index = g.op("topk", x, k=int(n.need("k")), largest=True)
    return [n.made(last(n, best, axis), 0), n.made(last(n, index, axis), 1)]
