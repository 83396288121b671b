# SPDX-License-Identifier: Apache-2.0
"""ONNX's operators that move elements: shapes, slices, indices, order."""
from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from .graph import MOST_KNOWN, NUMPY, Graph, Node, Unsupported, Value, handles
from .selection import chosen


def moved(n: Node, t: Any, *operands: int) -> Value:
    """A value whose elements are operand 0's."""
    return n.g.made(t, n.value(0).dtype, *[n.value(i) for i in operands or (0,)])


@handles("Reshape")
def reshape(n: Node) -> Value:
    v, shape = n.value(0), n.integers(1, "shape") or []
    zero = bool(n.get("allowzero", 0))
    shape = [v.shape[i] if d == 0 and not zero and i < v.rank else d for i, d in enumerate(shape)]
    if -1 in shape:
        rest = math.prod(d for d in shape if d != -1)
        shape[shape.index(-1)] = v.size // rest if rest else 0
    if math.prod(shape) != v.size or min(shape, default=0) < 0:
        raise n.refuse(f"{v.size} elements as {shape}")
    return moved(n, n.g.reshape(n.tensor(0), shape))


@handles("Flatten")
def flatten(n: Node) -> Value:
    v, axis = n.value(0), int(n.get("axis", 1))
    axis += v.rank if axis < 0 else 0
    return moved(n, n.g.reshape(n.tensor(0), [math.prod(v.shape[:axis]), math.prod(v.shape[axis:])]))


@handles("Squeeze")
def squeeze(n: Node) -> Value:
    v, axes = n.value(0), n.integers(1, "axes")
    gone = [i for i, d in enumerate(v.shape) if d == 1] if axes is None else [a % v.rank for a in axes]
    if any(v.shape[a] != 1 for a in gone):
        raise n.refuse(f"axes {axes} of {list(v.shape)}")
    return moved(n, n.g.reshape(n.tensor(0), [d for i, d in enumerate(v.shape) if i not in gone]))


@handles("Unsqueeze")
def unsqueeze(n: Node) -> Value:
    v, axes = n.value(0), n.integers(1, "axes") or []
    rank = v.rank + len(axes)
    new, rest = {a % rank for a in axes if -rank <= a < rank}, iter(v.shape)
    if len(new) != len(axes):
        raise n.refuse(f"axes {axes} of {rank} axes, which are outside or twice")
    return moved(n, n.g.reshape(n.tensor(0), [1 if i in new else next(rest) for i in range(rank)]))


@handles("Transpose")
def transpose(n: Node) -> Value:
    rank = n.value(0).rank
    return moved(n, n.g.transpose(n.tensor(0), [int(a) for a in n.get("perm", range(rank - 1, -1, -1))]))


@handles("Concat")
def concat(n: Node) -> Value:
    count = len(n.inputs)
    axis = n.axis(1, n.value(0).rank)
    if count > 1 and axis == 1 and all(n.value(i).image for i in range(count)):
        last = [n.g.transpose(n.tensor(i), [0, 2, 3, 1]) for i in range(count)]
        return moved(n, n.g.transpose(n.g.op("concat", *last, axis=3), [0, 3, 1, 2]), *range(count))
    t = n.tensor(0) if count == 1 else n.g.op("concat", *map(n.tensor, range(count)), axis=axis)
    return moved(n, t, *range(count))


@handles("Split")
def split(n: Node) -> Sequence[Value]:
    v = n.value(0)
    axis, sizes, length = n.axis(0, v.rank), n.integers(1, "split"), v.shape[n.axis(0, v.rank)]
    if sizes is None:
        count = int(n.get("num_outputs", n.outputs))
        if count != n.outputs or count < 1:
            raise n.refuse(f"num_outputs {count} of {n.outputs} outputs")
        each = -(-length // count)
        sizes = [max(0, min(each, length - i * each)) for i in range(count)]
    if sum(sizes) != length:
        raise n.refuse(f"{sizes} of an axis of {length}")
    return [moved(n, cut(n.g, n.tensor(0), axis, sum(sizes[:i]), size)) for i, size in enumerate(sizes)]


def cut(g: Graph, t: Any, axis: int, begin: int, size: int) -> Any:
    if (begin, size) == (0, t.shape[axis]):
        return t
    return g.op("slice", t, begin=[begin if i == axis else 0 for i in range(len(t.shape))],
                end=[begin + size if i == axis else d for i, d in enumerate(t.shape)])


@handles("Slice")
def slice_(n: Node) -> Value:
    v = n.value(0)
    starts, ends = n.integers(1, "starts") or [], n.integers(2, "ends") or []
    axes = n.integers(3, "axes")
    steps = n.integers(4, "steps") or [1] * len(starts)
    begin, size, step = [0] * v.rank, list(v.shape), [1] * v.rank
    for a, s, e, k in zip(range(len(starts)) if axes is None else axes, starts, ends, steps):
        s = max(s, -v.shape[a]) if k < 0 else s  # a start in front of the axis is its first element
        ranges = range(*slice(s, max(e, -(1 << 62)) if k > 0 or e > -(1 << 31) else None, k).indices(v.shape[a]))
        if k < 0 and e <= -v.shape[a] - 1:
            ranges = range(*slice(s, None, k).indices(v.shape[a]))
        begin[a], size[a], step[a] = ranges.start if len(ranges) else 0, len(ranges), k if len(ranges) > 1 else 1
    if all(k == 1 for k in step):
        t = n.g.op("slice", n.tensor(0), begin=begin, end=[b + s for b, s in zip(begin, size)])
    else:
        t = n.g.op("slice_step", n.tensor(0), begin=begin, size=size, step=step)
    return moved(n, t)


@handles("Expand")
def expand(n: Node) -> Value:
    shape = np.broadcast_shapes(n.value(0).shape, tuple(n.g.integers(n.value(1))))
    return moved(n, n.g.broadcast(n.tensor(0), shape))


@handles("Tile")
def tile(n: Node) -> Value:
    v, repeats = n.value(0), n.g.integers(n.value(1))
    if len(repeats) != v.rank:
        raise n.refuse(f"{len(repeats)} repeats of {v.rank} axes")
    if v.rank > 4:  # axis by axis, as each needs one more
        t, shape = n.tensor(0), list(v.shape)
        for axis, (r, s) in enumerate(zip(repeats, v.shape)):
            if r != 1:
                before, after = math.prod(shape[:axis]), math.prod(shape[axis:])
                t = n.g.broadcast(n.g.reshape(t, [before, 1, after]), [before, r, after])
                shape[axis] = r * s
        return moved(n, n.g.reshape(t, shape))
    t = n.g.reshape(n.tensor(0), [d for s in v.shape for d in (1, s)])
    t = n.g.broadcast(t, [d for r, s in zip(repeats, v.shape) for d in (r, s)])
    return moved(n, n.g.reshape(t, [r * s for r, s in zip(repeats, v.shape)]))


@handles("Shape")
def shape(n: Node) -> Value:
    v = n.value(0)
    start, end = int(n.get("start", 0)), n.get("end")
    return n.g.constant(np.array(v.shape[slice(start, None if end is None else int(end))], np.int64))


@handles("Size")
def size(n: Node) -> Value:
    return n.g.constant(np.array(n.value(0).size, np.int64))


@handles("Constant")
def constant(n: Node) -> Value:
    for name, kind in (("value", None), ("value_float", np.float32), ("value_floats", np.float32), ("value_int", np.int64),
                       ("value_ints", np.int64)):
        if name in n.attributes:
            return n.g.constant(np.asarray(n.attributes[name], kind))
    raise n.refuse(f"a constant of {', '.join(n.attributes)}")


@handles("ConstantOfShape")
def constant_of_shape(n: Node) -> Value:
    value = np.asarray(n.get("value", np.zeros(1, np.float32))).reshape(-1)[:1]
    wanted = n.g.integers(n.value(0))
    if math.prod(wanted) <= MOST_KNOWN:
        return n.g.constant(np.full(wanted, value[0], value.dtype), n.value(0).of)
    one = n.g.constant(value)
    return n.g.made(n.g.broadcast(n.g.tensor(one), wanted), one.dtype, n.value(0))


@handles("Range")
def range_(n: Node) -> Value:
    start, limit, delta = (np.asarray(n.g.known(n.value(i))).reshape(()) for i in range(3))
    count = max(0, math.ceil((float(limit) - float(start)) / float(delta)))
    if count > MOST_KNOWN:
        raise n.refuse(f"{count} numbers")
    return n.g.constant((start + np.arange(count) * delta).astype(start.dtype), n.value(0).of)


@handles("EyeLike")
def eye_like(n: Node) -> Value:
    from .graph import ONNX
    v = n.value(0)
    name = n.get("dtype_name")
    dtype = ONNX.get(str(name), "") if name else v.dtype
    if dtype not in NUMPY:
        raise n.refuse(f"elements of type {name}")
    return n.g.constant(np.eye(n.g.room(*v.shape)[0], v.shape[1], int(n.get("k", 0)), dtype=NUMPY[dtype]))


@handles("Trilu")
def trilu(n: Node) -> Value:
    v, k = n.value(0), n.g.integers(n.value(1))[0] if n.has(1) else 0
    ones = np.ones(n.g.room(*v.shape[-2:]), np.bool_)
    kept = np.triu(ones, k) if n.get("upper", 1) else np.tril(ones, k)
    zero = n.g.fill(0, v.dtype)
    return moved(n, n.g.op("where", n.g.tensor(n.g.constant(kept)), n.tensor(0), zero))


@handles("DepthToSpace", "SpaceToDepth")
def depth_space(n: Node) -> Value:
    g, (b, c, h, w), k = n.g, n.value(0).shape, int(n.get("blocksize"))
    t = n.tensor(0)
    if n.kind == "SpaceToDepth":
        depth_first = n.get("mode", "DCR") == "DCR"
        t = g.transpose(g.reshape(t, [b, c, h // k, k, w // k, k]), [0, 3, 5, 1, 2, 4] if depth_first else [0, 1, 3, 5, 2, 4])
        return moved(n, g.reshape(t, [b, c * k * k, h // k, w // k]))
    if n.get("mode", "DCR") == "DCR":
        t = g.transpose(g.reshape(t, [b, k, k, c // (k * k), h, w]), [0, 3, 4, 1, 5, 2])
    else:
        t = g.transpose(g.reshape(t, [b, c // (k * k), k, k, h, w]), [0, 1, 4, 2, 5, 3])
    return moved(n, g.reshape(t, [b, c // (k * k), h * k, w * k]))


# ---- indices ----

@handles("Gather")
def gather(n: Node) -> Value:
    g, v = n.g, n.value(0)
    axis = n.axis(0, v.rank)
    index = g.indices(n.value(1), v.shape[axis])
    flat = g.op("gather", n.tensor(0), g.reshape(index, [math.prod(index.shape)]), axis=axis)
    return moved(n, g.reshape(flat, [*v.shape[:axis], *index.shape, *v.shape[axis + 1:]]), 0, 1)


@handles("GatherElements")
def gather_elements(n: Node) -> Value:
    v = n.value(0)
    axis = n.axis(0, v.rank)
    return moved(n, along(n.g, n.tensor(0), n.g.indices(n.value(1), v.shape[axis]), axis), 0, 1)


def along(g: Graph, t: Any, index: Any, axis: int) -> Any:
    """Elements at an index's places along an axis; of other axes only what the index has."""
    t = g.op("slice", t, begin=[0] * len(t.shape), end=[d if i == axis else index.shape[i] for i, d in enumerate(t.shape)])
    return g.op("take_along", t, index, axis=axis)


MODES = {"none": 0, "add": 1, "mul": 2, "max": 3, "min": 4}


@handles("ScatterElements", "Scatter")
def scatter_elements(n: Node) -> Value:
    g, v = n.g, n.value(0)
    axis, index = n.axis(0, v.rank), n.value(1)
    i = g.indices(index, v.shape[axis])
    if any(index.shape[k] != d for k, d in enumerate(v.shape) if k != axis):
        # what the index does not reach stays: the part that it reaches is written, then put where it was
        part = g.op("slice", n.tensor(0), begin=[0] * v.rank,
                    end=[d if k == axis else index.shape[k] for k, d in enumerate(v.shape)])
        done = scattered(n, part, i, n.tensor(2), axis)
        after = [d - done.shape[k] for k, d in enumerate(v.shape)]
        inside = np.zeros(g.room(*v.shape), np.bool_)
        inside[tuple(slice(0, d) for d in done.shape)] = True
        done = g.op("pad", done, before=[0] * v.rank, after=after)
        return g.result(g.op("where", g.tensor(g.constant(inside)), done, n.tensor(0)), v.dtype, v, index, n.value(2))
    return g.result(scattered(n, n.tensor(0), i, n.tensor(2), axis), v.dtype, v, index, n.value(2))


def scattered(n: Node, t: Any, index: Any, source: Any, axis: int) -> Any:
    mode = str(n.get("reduction", "none"))
    if mode not in MODES or mode != "none" and n.value(0).dtype in ("f16", "bf16", "u64", "bool"):
        raise n.refuse(f"reduction {mode} of {n.value(0).dtype}")
    return n.g.op("scatter_along", t, index, source, axis=axis, mode=MODES[mode])


def linear(g: Graph, index: Value, lengths: Sequence[int]) -> Any:
    """Tuples of indices, the last axis of `index`, as one row number each."""
    if index.known is not None:
        most = np.array(lengths, np.int64)
        if ((index.known < -most) | (index.known >= most)).any():
            raise Unsupported(f"an index outside its axis of {list(lengths)}", g.operator)
        wrapped = np.where(index.known < 0, index.known + most, index.known)
        index = g.constant(wrapped.astype(index.known.dtype), index.of)
    t, total, outside = g.tensor(index), None, None
    for k, length in enumerate(lengths):
        one = g.reshape(cut(g, t, index.rank - 1, k, 1), index.shape[:-1])
        if index.known is None:
            one = g.wrapped(one, length)
            bad = g.op("logical_or", g.op("lt", one, g.fill(0, one.dtype)), g.op("ge", one, g.fill(length, one.dtype)))
            outside = bad if outside is None else g.op("logical_or", outside, bad)
        total = one if total is None else g.op("add", g.op("mul", total, g.fill(length, one.dtype)), one)
    if outside is None or total is None:
        return total
    return g.op("where", outside, g.fill(-(1 << 40), total.dtype), total)  # no row, so that whoever takes it refuses it


@handles("GatherND")
def gather_nd(n: Node) -> Value:
    g, v, index = n.g, n.value(0), n.value(1)
    batch, deep = int(n.get("batch_dims", 0)), index.shape[-1]
    rows = v.shape[batch:batch + deep]
    i = linear(g, index, rows)
    rest, lead = v.shape[batch + deep:], math.prod(v.shape[:batch])
    flat = g.reshape(n.tensor(0), [lead * math.prod(rows), math.prod(rest)])
    if batch:
        i = g.reshape(i, [lead, math.prod(i.shape) // lead])
        first: Any = np.arange(g.room(lead)[0], dtype=NUMPY[i.dtype])[:, None] * math.prod(rows)
        i = g.op("add", i, g.tensor(g.constant(first)))
    taken = g.op("gather", flat, g.reshape(i, [math.prod(i.shape)]), axis=0)
    return moved(n, g.reshape(taken, [*index.shape[:-1], *rest]), 0, 1)


@handles("ScatterND")
def scatter_nd(n: Node) -> Value:
    g, v, index = n.g, n.value(0), n.value(1)
    deep = index.shape[-1]
    rows, rest = v.shape[:deep], v.shape[deep:]
    i = linear(g, index, rows)
    count, wide = math.prod(index.shape[:-1]), math.prod(rest)
    if n.value(2).shape != (*index.shape[:-1], *rest):
        raise n.refuse(f"updates {list(n.value(2).shape)}, expected {[*index.shape[:-1], *rest]}")
    i = g.broadcast(g.reshape(i, [count, 1]), [count, wide])
    t = scattered(n, g.reshape(n.tensor(0), [math.prod(rows), wide]), i, g.reshape(n.tensor(2), [count, wide]), 0)
    return g.result(g.reshape(t, v.shape), v.dtype, v, index, n.value(2))


@handles("OneHot")
def one_hot(n: Node) -> Value:
    """Indices beyond the depth are no class: their row is all off."""
    g, v, pair = n.g, n.value(0), n.value(2)
    depth = g.room(int(np.asarray(g.known(n.value(1))).reshape(-1)[0]))[0]
    axis = int(n.get("axis", -1))
    axis += v.rank + 1 if axis < 0 else 0
    i = g.wrapped(g.cast(n.tensor(0), "i64"), depth)
    i = g.reshape(i, [*v.shape[:axis], 1, *v.shape[axis:]])
    classes = np.arange(depth, dtype=np.int64).reshape([depth if k == axis else 1 for k in range(v.rank + 1)])
    hit = g.op("eq", i, g.tensor(g.constant(classes)))
    off, on = (g.reshape(cut(g, n.tensor(2), 0, k, 1), []) for k in (0, 1))
    return g.made(g.op("where", hit, on, off), pair.dtype, v, pair)


@handles("Compress")
def compress(n: Node) -> Value:
    g, v = n.g, n.value(0)
    if n.value(1).known is None:
        return chosen(n)
    kept = np.flatnonzero(np.asarray(g.known(n.value(1))))
    flat = "axis" not in n.attributes
    t = g.reshape(n.tensor(0), [v.size]) if flat else n.tensor(0)
    return moved(n, g.op("gather", t, g.tensor(g.constant(kept.astype(np.int64))), axis=0 if flat else n.axis(0, v.rank)))


@handles("TopK")
def top_k(n: Node) -> Sequence[Value]:
    g, v = n.g, n.value(0)
    axis = n.axis(-1, v.rank)
    k = (n.integers(1, "k") or [0])[0]
    if v.dtype == "u64":
        raise n.refuse("elements of type u64")
    order = [i for i in range(v.rank) if i != axis] + [axis]
    back = [order.index(i) for i in range(v.rank)]
    y, index = g.op("topk", g.transpose(n.tensor(0), order), k=k, largest=bool(n.get("largest", 1)))
    return [moved(n, g.transpose(y, back)), g.made(g.transpose(g.cast(index, "i64"), back), "i64", v)]


@handles("Pad")
def pad(n: Node) -> Value:
    g, v = n.g, n.value(0)
    pads = n.integers(1, "pads") or n.integers(1, "paddings") or []
    axes = [a % v.rank for a in n.g.integers(n.value(3))] if n.has(3) else list(range(v.rank))
    before, after = [0] * v.rank, [0] * v.rank
    for k, a in enumerate(axes):
        before[a], after[a] = pads[k], pads[k + len(axes)]
    mode, t = str(n.get("mode", "constant")), n.tensor(0)
    t = g.op("slice", t, begin=[max(0, -b) for b in before], end=[d - max(0, -a) for d, a in zip(v.shape, after)])
    before, after = [max(0, b) for b in before], [max(0, a) for a in after]
    if mode == "constant":
        inside = g.op("pad", t, before=before, after=after)
        value = n.tensor(2) if n.has(2) else g.fill(n.get("value", 0), v.dtype)
        if n.has(2) or n.get("value", 0):
            g.room(*inside.shape)
            mask = np.pad(np.ones(t.shape, np.bool_), list(zip(before, after)))
            inside = g.op("where", g.tensor(g.constant(mask)), inside, g.reshape(value, []))
        t = inside
        return moved(n, t, *[i for i in (0, 2) if n.has(i)])
    if mode not in ("edge", "reflect", "wrap"):
        raise n.refuse(f"mode {mode}")
    for a in range(v.rank):
        if before[a] or after[a]:
            g.room(before[a] + t.shape[a] + after[a])
            index = np.pad(np.arange(t.shape[a], dtype=np.int64), (before[a], after[a]), mode=mode)  # type: ignore[call-overload]
            t = g.op("gather", t, g.tensor(g.constant(index)), axis=a)
    return moved(n, t)


@handles("ReverseSequence")
def reverse_sequence(n: Node) -> Value:
    g, v = n.g, n.value(0)
    time, batch = int(n.get("time_axis", 0)), int(n.get("batch_axis", 1))
    if {time, batch} != {0, 1} or v.rank < 2:
        raise n.refuse(f"time_axis {time} and batch_axis {batch} of {v.rank} axes")
    g.room(v.shape[time])
    steps = g.tensor(g.constant(np.arange(v.shape[time], dtype=np.int64).reshape(
        [v.shape[time] if i == time else 1 for i in range(v.rank)])))
    lengths = g.reshape(n.tensor(1), [v.shape[batch] if i == batch else 1 for i in range(v.rank)])
    back = g.op("sub", g.op("sub", lengths, g.fill(1, "i64")), steps)
    index = g.op("where", g.op("lt", steps, lengths), back, steps)
    return moved(n, g.op("take_along", n.tensor(0), g.broadcast(index, v.shape), axis=time), 0, 1)


@handles("TensorScatter")
def tensor_scatter(n: Node) -> Value:
    g, v, update = n.g, n.value(0), n.value(1)
    axis, b = n.axis(-2, v.rank), v.shape[0]
    start = n.tensor(2) if n.has(2) else g.fill(0, "i64", [b])
    if update.rank != v.rank or update.shape[axis] > v.shape[axis]:
        raise n.refuse(f"an update {list(update.shape)} of {list(v.shape)}")
    g.room(update.shape[axis])
    steps = np.arange(update.shape[axis], dtype=np.int64).reshape([-1 if i == axis else 1 for i in range(v.rank)])
    index = g.op("add", g.reshape(start, [b, *[1] * (v.rank - 1)]), g.tensor(g.constant(steps)))
    if n.get("mode", "linear") == "circular":
        index = g.op("remainder", index, g.fill(v.shape[axis], "i64"))
    index = g.broadcast(index, update.shape)
    t = g.op("scatter_along", n.tensor(0), index, n.tensor(1), axis=axis, mode=0)
    return moved(n, t, *range(3 if n.has(2) else 2))


@handles("Dropout")
def dropout(n: Node) -> Sequence[Value]:
    v = n.value(0)
    training = n.has(2) and bool(np.asarray(n.g.known(n.value(2))).reshape(()))
    if training and (not n.has(1) or float(np.asarray(n.g.known(n.value(1))).reshape(())) != 0):
        raise n.refuse("training_mode, whose random numbers ONNX does not define")
    return [v, n.g.made(n.g.fill(1, "bool", v.shape), "bool", v)]


