# SPDX-License-Identifier: Apache-2.0
"""gather and scatter in all their forms, and slices whose place is computed.

In general each element of the output has one number, the place in the flattened operand where it comes from or goes to;
what lies outside is clamped, filled or dropped as jax's mode says, so that no index is out of range."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .graph import FLOATS
from .lowering import Node, Value, handles, size

LEAST = {"i8": -2 ** 7, "i16": -2 ** 15, "i32": -2 ** 31, "i64": -2 ** 63, "u8": 2 ** 8 - 1, "u32": 2 ** 32 - 1, "bool": 1}


def strides(shape: Sequence[int]) -> list[int]:
    return [size(shape[a + 1:]) for a in range(len(shape))]


class Places:
    """Where elements of `shape` lie in an operand: `flat` is a tensor of i64, `inside` of bool, or None where all are."""

    def __init__(self, n: Node, operand: Sequence[int], index: Any, shape: Sequence[int], sizes: Sequence[int],
                 starts: Sequence[int], batched: Sequence[int], index_batched: Sequence[int], window: dict[int, int], check: bool) -> None:
        """index: i64 [batch axes.., k]; sizes: the window's length on each of the operand's axes; starts: the axis of each of
        k; window: operand's axis -> axis of shape. The other axes of shape are the index's, in order."""
        g = n.g
        self.g, self.rank = g, len(shape)
        self.batch = [a for a in range(len(shape)) if a not in window.values()]
        self.inside: Any = None
        flat: Any = None
        for axis, stride in enumerate(strides(operand)):
            parts = []
            if axis in starts:
                at = self.spread(g.reshape(g.slice(index, len(index.shape) - 1, list(starts).index(axis), list(starts).index(axis) + 1),
                                           index.shape[:-1]))
                last = max(operand[axis] - sizes[axis], 0)
                if check:
                    fits = g.op("logical_and", g.op("ge", at, g.fill(0, "i64")), g.op("le", at, g.fill(last, "i64")))
                    self.inside = fits if self.inside is None else g.op("logical_and", self.inside, fits)
                parts.append(g.clamp_index(at, last))
            if axis in batched:
                place = self.batch[list(index_batched)[list(batched).index(axis)]]
                parts.append(g.iota(operand[axis], "i64", place, self.rank))
            if axis in window and sizes[axis] > 1:
                parts.append(g.iota(sizes[axis], "i64", window[axis], self.rank))
            for t in parts:
                t = t if stride == 1 else g.op("mul", t, g.fill(stride, "i64"))
                flat = t if flat is None else g.op("add", flat, t)
        self.flat = g.broadcast(g.fill(0, "i64") if flat is None else flat, shape)
        self.inside = None if self.inside is None else g.broadcast(self.inside, shape)

    def spread(self, t: Any) -> Any:
        """[batch axes..] beside axes of length 1 for the window."""
        shape = [1] * self.rank
        for axis, place in enumerate(self.batch):
            shape[place] = t.shape[axis]
        return self.g.reshape(t, shape)


def wide_index(n: Node, i: int) -> Any:
    return n.g.cast(n.tensor(i), "i64")


@handles("gather")
def gather(n: Node) -> Value:
    g, spec = n.g, n.need("dimension_numbers")
    v, index, sizes = n.inputs[0], n.inputs[1], list(n.need("slice_sizes"))
    mode = n.get("mode", "PROMISE_IN_BOUNDS")
    if n.get("words"):
        spec = {**spec, "offset_dims": [*spec["offset_dims"], len(n.shape) - 1]}
    offset, gone, starts = list(spec["offset_dims"]), list(spec["collapsed_slice_dims"]), list(spec["start_index_map"])
    batched = list(spec.get("operand_batching_dims") or [])
    index_batched = list(spec.get("start_indices_batching_dims") or [])
    promised = n.inputs[0].active and mode in ("PROMISE_IN_BOUNDS", 2)
    check = promised or mode in ("FILL_OR_DROP", 1)
    if not size(v.shape):
        if size(n.shape):
            raise n.refuse("from no elements")
        return n.made(g.broadcast(g.fill(0, n.dtype), n.shape))
    rows = [a for a in range(len(v.shape)) if a not in gone]
    if gone == starts and len(starts) == 1 and not batched and all(sizes[a] == v.shape[a] for a in rows):
        return n.made(whole_rows(n, starts[0], offset, check, promised))
    window = dict(zip([a for a in range(len(v.shape)) if a not in gone and a not in batched], offset))
    if not index.shape:
        raise n.refuse("without an axis of indices")
    p = Places(n, v.shape, wide_index(n, 1), n.shape, sizes, starts, batched, index_batched, window, check)
    found = g.op("gather", g.reshape(n.tensor(0), [size(v.shape)]), p.flat, axis=0)
    return n.made(found if p.inside is None else g.where(p.inside, found, outside(n, found, promised)))


def outside(n: Node, found: Any, promised: bool) -> Any:
    """What stands where an index lies outside: jax's filling; of a promise that none does the nearest place's value, which jax
    gives no gradient there."""
    return n.g.op("stop_gradient", found) if promised else filling(n)


def filling(n: Node) -> Any:
    """What jax puts where an index lies outside."""
    value = n.get("fill_value")
    if value is None:
        value = float("nan") if n.dtype in FLOATS else LEAST[n.dtype]
    if n.dtype == "i64" and abs(int(value)) > 1 << 53 and int(value) != -2 ** 63:
        raise n.refuse(f"filling with {value}")
    return n.g.fill(value, n.dtype)


def whole_rows(n: Node, axis: int, offset: list[int], check: bool, promised: bool) -> Any:
    """Whole slices along one axis by their numbers, as an embedding is looked up."""
    g, v = n.g, n.inputs[0]
    index = n.tensor(1)
    index = g.reshape(index if index.dtype in ("i32", "i64") else g.cast(index, "i64"), index.shape[:-1])
    safe = g.clamp_index(index, v.shape[axis] - 1)
    found = g.op("gather", n.tensor(0), safe, axis=axis)  # the index's axes lie where the axis was
    count = len(index.shape)
    places = [a for a in range(len(n.shape)) if a not in offset]
    order = [0] * len(n.shape)
    for k, place in enumerate(places):
        order[place] = axis + k
    for k, place in enumerate(offset):
        order[place] = k if k < axis else k + count
    found = g.transpose(found, order)
    if not check:
        return found
    fits = g.op("eq", index, safe)
    shape = [1] * len(n.shape)
    for k, place in enumerate(places):
        shape[place] = index.shape[k]
    return g.where(g.reshape(fits, shape), found, outside(n, found, promised))


MODES = {"scatter": 0, "scatter-add": 1, "scatter_add": 1, "scatter-mul": 2, "scatter_mul": 2, "scatter-max": 3, "scatter_max": 3,
         "scatter-min": 4, "scatter_min": 4}


@handles(*MODES)
def scatter(n: Node) -> Value:
    g, spec = n.g, n.need("dimension_numbers")
    v, u = n.inputs[0], n.inputs[2]
    mode, how, own = MODES[n.primitive], n.get("mode", "FILL_OR_DROP"), n.get("update_jaxpr")
    if mode == 0 and own is not None and (own.equations or own.outputs != [1]):  # which of (there, update) is not the update
        raise n.refuse("of a function of what is there, as x.at[i].apply(f): x.at[i].set(f(x[i])) is taken")
    if n.active and mode == 2 and not n.get("unique_indices", False):
        raise n.refuse("a gradient through it where indices may be equal")
    gone = list(spec["inserted_window_dims"])
    batched = list(spec.get("operand_batching_dims") or [])
    index_batched = list(spec.get("scatter_indices_batching_dims") or [])
    axes = [a for a in range(len(v.shape)) if a not in gone and a not in batched]
    window = dict(zip(axes, spec["update_window_dims"]))
    sizes = [u.shape[window[a]] if a in window else 1 for a in range(len(v.shape))]
    check = how not in ("CLIP", 0)  # XLA drops what lies outside where it was promised that nothing does
    total = size(v.shape)
    if not size(u.shape) or not total:
        return n.made(n.tensor(0))
    p = Places(n, v.shape, wide_index(n, 1), u.shape, sizes, list(spec["scatter_dims_to_operand_dims"]), batched, index_batched,
               window, check)
    own = v.dtype if mode == 0 else "i64" if v.dtype in ("i8", "i16", "u8", "u32") else "f32" if v.dtype in ("bf16", "f16") else v.dtype
    if own == "bool" and mode:
        raise n.refuse("of bool")
    flat, source = g.reshape(g.cast(n.tensor(0), own), [total]), g.reshape(g.cast(n.tensor(2), own), [size(u.shape)])
    where = g.reshape(p.flat, [size(u.shape)])
    if p.inside is not None:  # what is dropped goes to a place of its own behind all others
        where = g.where(g.reshape(p.inside, [size(u.shape)]), where, g.fill(total, "i64"))
        flat = g.op("pad", flat, before=[0], after=[1])
    if n.active and mode == 2:  # places are unique: a product with the factors, whose gradient divides by nothing
        ones = g.broadcast(g.fill(1, own), flat.shape)
        found = g.op("mul", flat, g.op("scatter_along", ones, where, source, axis=0, mode=0))
    else:
        found = g.op("scatter_along", flat, where, source, axis=0, mode=mode)
    return n.made(g.reshape(g.slice(found, 0, 0, total), n.shape))


# ---- slices at a computed place ----

def start(n: Node, i: int, last: int) -> Any:
    """A start as it is clamped: an int where it is known, else i64 []."""
    v = n.inputs[i]
    if v.known is not None:
        return min(max(int(v.known), 0), last)
    return n.g.clamp_index(wide_index(n, i), last)


@handles("dynamic_slice")
def dynamic_slice(n: Node) -> Value:
    g, x, sizes = n.g, n.tensor(0), list(n.need("slice_sizes"))
    for axis, length in enumerate(sizes):
        whole = x.shape[axis]
        if length == whole or axis + 1 >= len(n.inputs):
            continue
        at = start(n, axis + 1, whole - length)
        if isinstance(at, int):
            x = g.slice(x, axis, at, at + length)
        else:
            x = g.op("gather", x, g.op("add", g.op("iota", n=length, dtype="i64"), at), axis=axis)
    return n.made(x)


@handles("dynamic_update_slice")
def dynamic_update_slice(n: Node) -> Value:
    """Along each axis the update is moved to its place; elements that it covers are taken from it."""
    g, x, u = n.g, n.tensor(0), n.tensor(1)
    rank, covered = len(n.shape), None
    if not size(u.shape):
        return n.made(x)
    for axis in range(rank):
        length, whole = u.shape[axis], n.shape[axis]
        if length == whole:
            continue
        at = start(n, axis + 2, whole - length)
        if isinstance(at, int):
            mask = np.arange(whole)
            inside = g.reshape(g.array((mask >= at) & (mask < at + length)), [whole if a == axis else 1 for a in range(rank)]) \
                if n.g.data is not None else None
            at = g.fill(at, "i64") if inside is None else at
        else:
            inside = None
        if inside is not None:
            before, after = [0] * rank, [0] * rank
            before[axis], after[axis] = at, whole - at - length
            u = g.op("pad", u, before=before, after=after)
        else:
            place = g.op("sub", g.op("iota", n=whole, dtype="i64"), at)
            fits = g.op("logical_and", g.op("ge", place, g.fill(0, "i64")), g.op("lt", place, g.fill(length, "i64")))
            inside = g.reshape(fits, [whole if a == axis else 1 for a in range(rank)])
            u = g.op("gather", u, g.clamp_index(place, length - 1), axis=axis)
        covered = inside if covered is None else g.op("logical_and", covered, inside)
    return n.made(u if covered is None else g.where(covered, u, x))
