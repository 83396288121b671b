# SPDX-License-Identifier: Apache-2.0
"""Rules for PyTorch's shapes: views, moves, cuts, joins, pads, and tensors that are made of numbers. Most views need nothing
but the shape that the graph says the value has."""
from __future__ import annotations

import math
from typing import Any

import numpy as np

from .forms import axes_of, axis_of, concat, cut, elementwise, filled_pad, move, number, numbers, pick, room, stack, taken
from ..graph import Node
from ..lower import Lowering, Value, lowers

Tensor = Any


@lowers("aten.view.default", "aten.reshape.default", "aten._unsafe_view.default", "aten.unsqueeze.default", "aten.squeeze.default",
        "aten.squeeze.dim", "aten.squeeze.dims", "aten.flatten.using_ints", "aten.unflatten.int", "aten.view_copy.default",
        "aten.ravel.default", "aten.atleast_1d.default", "aten.atleast_2d.default", "aten.atleast_3d.default",
        "aten._reshape_alias.default", "aten.reshape_as.default", "aten.unsqueeze_copy.default", "aten.squeeze_copy.default",
        "aten.squeeze_copy.dim", "aten.squeeze_copy.dims", "aten._reshape_copy.default")
def view(g: Lowering, node: Node, x: Any, *_: Any, **__: Any) -> Any:
    shape = g.meta(node).shape
    if shape == x.shape:
        return x
    if x.channels_last and shape == (*x.shape[:2], *shape[2:]) and math.prod(x.shape[2:]) == 1:  # one pixel an image
        return g.reshape(x.last, shape)
    return g.reshape(x.tensor, shape)


@lowers("aten.view.dtype", "aten.view_copy.dtype")
def view_dtype(g: Lowering, node: Node, x: Any, dtype: str) -> Any:
    if g.meta(node).shape != x.shape:
        raise g.refuse("the bits of another width")
    return x if dtype == x.dtype else g.op("bitcast", x.tensor, dtype=dtype)


@lowers("aten.permute.default", "aten.permute_copy.default")
def permute(g: Lowering, node: Node, x: Any, dims: Any) -> Any:
    order = [axis_of(int(d), x.rank) for d in dims]
    if x.channels_last and order == [0, *range(2, x.rank), 1]:
        return x.last
    if order == [0, x.rank - 1, *range(1, x.rank - 1)] and x.rank > 3 and not x.channels_last:
        return g.value_last(x.tensor)
    return g.transpose(x.tensor, order)


@lowers("aten.transpose.int", "aten.t.default", "aten.numpy_T.default", "aten.mT.default", "aten.swapaxes.default", "aten.swapdims.default",
        "aten.transpose_copy.int", "aten.t_copy.default", "aten.adjoint.default", "aten.mH.default", "aten.matrix_H.default")
def transpose(g: Lowering, node: Node, x: Any, a: int = -2, b: int = -1) -> Any:
    order = list(range(x.rank))
    if "numpy_T" in node.op:
        order.reverse()
    elif x.rank > 1 or x.rank == 1 and "t.default" not in node.op and "t_copy" not in node.op:
        i, j = axis_of(a, x.rank), axis_of(b, x.rank)
        order[i], order[j] = order[j], order[i]
    return g.transpose(x.tensor, order)


@lowers("aten.movedim.int", "aten.movedim.intlist", "aten.moveaxis.int", "aten.moveaxis.intlist")
def movedim(g: Lowering, node: Node, x: Any, source: Any, destination: Any) -> Any:
    a, b = ([axis_of(int(i), x.rank) for i in (s if isinstance(s, (list, tuple)) else [s])] for s in (source, destination))
    rest = iter(i for i in range(x.rank) if i not in a)
    return g.transpose(x.tensor, [a[b.index(k)] if k in b else next(rest) for k in range(x.rank)])


@lowers("aten.expand.default", "aten.expand_copy.default", "aten.expand_as.default", "aten.broadcast_to.default")
def expand(g: Lowering, node: Node, x: Any, *_: Any, **__: Any) -> Any:
    return x if x.shape == g.meta(node).shape else g.broadcast(x.tensor, g.meta(node).shape)


@lowers("aten.broadcast_tensors.default")
def broadcast_tensors(g: Lowering, node: Node, xs: Any) -> Any:
    return [g.broadcast(x.tensor, g.meta(node, i).shape) for i, x in enumerate(xs)]


@lowers("aten.slice.Tensor", "aten.slice_copy.Tensor")
def slice_(g: Lowering, node: Node, x: Any, dim: int = 0, start: Any = None, end: Any = None, step: int = 1) -> Any:
    axis = axis_of(dim, x.rank)
    places = range(*slice(start, end, step).indices(x.shape[axis]))
    if len(places) == x.shape[axis]:
        return x
    if x.channels_last and axis == 1 and places.step == 1:
        return g.value_last(cut(g, x.last, x.rank - 1, places.start, len(places)))
    return taken(g, x.tensor, places, axis)


@lowers("aten.narrow.default", "aten.narrow_copy.default")
def narrow(g: Lowering, node: Node, x: Any, dim: int, start: int, length: int) -> Any:
    axis = axis_of(dim, x.rank)
    return cut(g, x.tensor, axis, start + x.shape[axis] if start < 0 else start, length)


@lowers("aten.select.int", "aten.select_copy.int")
def select(g: Lowering, node: Node, x: Any, dim: int, index: int) -> Any:
    axis = axis_of(dim, x.rank)
    return pick(g, x.tensor, axis, index + x.shape[axis] if index < 0 else index)


@lowers("aten.unbind.int", "aten.unbind_copy.int")
def unbind(g: Lowering, node: Node, x: Any, dim: int = 0) -> Any:
    axis = axis_of(dim, x.rank)
    return [pick(g, x.tensor, axis, i) for i in range(x.shape[axis])]


@lowers("aten.split.Tensor", "aten.split_with_sizes.default", "aten.split.sizes", "aten.chunk.default", "aten.tensor_split.sections",
        "aten.tensor_split.indices", "aten.split_copy.Tensor", "aten.split_with_sizes_copy.default", "aten.unsafe_split.Tensor",
        "aten.unsafe_chunk.default", "aten.unsafe_split_with_sizes.default", "aten.hsplit.int", "aten.vsplit.int", "aten.dsplit.int")
def split(g: Lowering, node: Node, x: Any, sizes: Any, dim: int = 0) -> Any:
    name = node.op.split(".")[1]
    axis = {"hsplit": min(1, x.rank - 1), "vsplit": 0, "dsplit": 2}.get(name, axis_of(dim, x.rank))
    parts = node.meta if isinstance(node.meta, list) else [node.meta]
    found: list[Value] = []
    at = 0
    for m in parts:
        assert m is not None
        size = m.shape[axis]
        if name == "tensor_split" and isinstance(sizes, (list, tuple)) and len(found):
            at = range(x.shape[axis])[slice(sizes[len(found) - 1], None)].start if size else at
        if x.channels_last and axis == 1:
            found.append(g.value_last(cut(g, x.last, x.rank - 1, at, size)))
        else:
            found.append(g.value(cut(g, x.tensor, axis, at, size)))
        at += size
    return found


@lowers("aten.cat.default", "aten.concat.default", "aten.concatenate.default", "aten.hstack.default", "aten.vstack.default",
        "aten.dstack.default", "aten.column_stack.default")
def cat(g: Lowering, node: Node, xs: Any, dim: int = 0) -> Any:
    """What is [0] beside tensors of more axes is left out, as PyTorch does."""
    m, name = g.meta(node), node.op.split(".")[1]
    least = {"hstack": 1, "vstack": 2, "dstack": 3, "column_stack": 2}.get(name, 0)
    values = [number(g, x, m.dtype) for x in xs]
    if least:
        values = [g.value(g.reshape(v.tensor, at_least(v.shape, least, name))) for v in values]
        dim = {"hstack": min(1, values[0].rank - 1), "vstack": 0, "dstack": 2, "column_stack": 1}[name]
    values = [v for v in values if len(v.shape) == len(m.shape) and (v.shape != (0,) or m.shape == (0,))]
    axis = axis_of(dim, len(m.shape))
    if not values:
        return g.fill(0, m.dtype, m.shape)
    if axis == 1 and len(m.shape) > 3 and all(v.channels_last for v in values):
        return g.value_last(concat(g, [v.last for v in values], len(m.shape) - 1))
    return concat(g, [v.tensor for v in values], axis)


def at_least(shape: tuple[int, ...], rank: int, name: str) -> list[int]:
    if len(shape) >= rank:
        return list(shape)
    if name == "column_stack":
        return [math.prod(shape), 1]
    one = list(shape) or [1]
    if rank >= 2 and len(one) == 1:
        one = [1, *one]
    return [*one, 1] if rank == 3 and len(one) == 2 else one


@lowers("aten.stack.default")
def stack_(g: Lowering, node: Node, xs: Any, dim: int = 0) -> Any:
    m = g.meta(node)
    return stack(g, [number(g, x, m.dtype).tensor for x in xs], axis_of(dim, len(m.shape)))


@lowers("aten.flip.default", "aten.fliplr.default", "aten.flipud.default")
def flip(g: Lowering, node: Node, x: Any, dims: Any = None) -> Any:
    dims = [1] if "fliplr" in node.op else [0] if "flipud" in node.op else dims
    axes = axes_of(dims, x.rank) if dims else []
    begin = [x.shape[i] - 1 if i in axes else 0 for i in range(x.rank)]
    if not axes or x.size == 0:
        return x
    return g.op("slice_step", x.tensor, begin=begin, size=list(x.shape), step=[-1 if i in axes else 1 for i in range(x.rank)])


@lowers("aten.roll.default")
def roll(g: Lowering, node: Node, x: Any, shifts: Any, dims: Any = ()) -> Any:
    shifts = shifts if isinstance(shifts, (list, tuple)) else [shifts]
    dims = dims if isinstance(dims, (list, tuple)) else [dims]
    t = x.tensor if dims else g.reshape(x.tensor, [x.size])
    for s, d in zip(shifts, dims or [0]):
        axis = axis_of(int(d), max(len(t.shape), 1))
        n = t.shape[axis] if t.shape else 0
        s = int(s) % n if n else 0
        t = concat(g, [g.slice(t, axis, n - s, n), g.slice(t, axis, 0, n - s)], axis) if s else t
    return g.reshape(t, x.shape)


@lowers("aten.repeat.default", "aten.tile.default")
def repeat(g: Lowering, node: Node, x: Any, repeats: Any) -> Any:
    rank = max(len(repeats), x.rank)
    times = [1] * (rank - len(repeats)) + [int(r) for r in repeats]
    shape = [1] * (rank - x.rank) + list(x.shape)
    t = g.reshape(x.tensor, shape)
    for axis in range(rank):  # one axis at a time, as a program's tensors have at most eight
        if times[axis] != 1:
            t = copied(g, t, axis, times[axis])
    return t


def copied(g: Lowering, t: Tensor, axis: int, times: int) -> Tensor:
    """An axis `times` times behind itself."""
    s = list(t.shape)
    before, behind = math.prod(s[:axis]), math.prod(s[axis:])
    wide = g.broadcast(g.reshape(t, [before, 1, behind]), [before, times, behind])
    return g.reshape(wide, [*s[:axis], s[axis] * times, *s[axis + 1:]])


def repeat_heads(g: Lowering, t: Tensor, heads: int) -> Tensor:
    """[.., h, n, d] with each head heads / h times in a row."""
    *lead, h, n, d = t.shape
    wide = g.broadcast(g.reshape(t, [math.prod(lead), h, 1, n, d]), [math.prod(lead), h, heads // h, n, d])
    return g.reshape(wide, [*lead, heads, n, d])


@lowers("aten.repeat_interleave.self_int", "aten.repeat_interleave.self_Tensor")
def repeat_interleave(g: Lowering, node: Node, x: Any, repeats: Any, dim: Any = None, *, output_size: Any = None) -> Any:
    if isinstance(repeats, Value):
        if repeats.known is None:
            raise g.refuse("repeats that are computed: the shape would be")
        repeats = repeats.known.reshape(-1)
    t = g.reshape(x.tensor, [x.size]) if dim is None else x.tensor
    axis = 0 if dim is None else axis_of(dim, x.rank)
    if not isinstance(repeats, int):
        places = np.repeat(np.arange(t.shape[axis]), repeats)
        return taken(g, t, [int(i) for i in places], axis)
    s = list(t.shape)
    wide = g.broadcast(g.reshape(t, [math.prod(s[:axis + 1]), 1, math.prod(s[axis + 1:])]),
                       [math.prod(s[:axis + 1]), repeats, math.prod(s[axis + 1:])])
    return g.reshape(wide, [*s[:axis], s[axis] * repeats, *s[axis + 1:]])


@lowers("aten.unfold.default", "aten.unfold_copy.default")
def unfold(g: Lowering, node: Node, x: Any, dim: int, size: int, step: int) -> Any:
    if x.rank == 0:
        return g.reshape(x.tensor, g.meta(node).shape)
    axis = axis_of(dim, x.rank)
    count = (x.shape[axis] - size) // step + 1
    places = [i * step + k for i in range(count) for k in range(size)]
    t = taken(g, x.tensor, places, axis)
    t = g.reshape(t, [*x.shape[:axis], count, size, *x.shape[axis + 1:]])
    return move(g, t, axis + 1, x.rank)


@lowers("aten.constant_pad_nd.default", "aten.pad.default")
def pad(g: Lowering, node: Node, x: Any, pads: Any, mode: Any = "constant", value: Any = None) -> Any:
    """Pads from the last axis on, in pairs."""
    if node.op == "aten.constant_pad_nd.default":
        mode, value = "constant", mode if mode != "constant" else value
    if mode != "constant":
        return mirrored(g, x, pads, {"reflect": "reflect", "replicate": "edge", "circular": "wrap"}[mode])
    before, after = sides(pads, x.rank)
    rank = x.rank
    if x.channels_last:
        order = [0, *range(2, rank), 1]
        return g.value_last(filled_pad(g, x.last, [before[i] for i in order], [after[i] for i in order], value or 0))
    return filled_pad(g, x.tensor, before, after, value or 0)


def sides(pads: Any, rank: int) -> tuple[list[int], list[int]]:
    before, after = [0] * rank, [0] * rank
    for k in range(len(pads) // 2):
        before[rank - 1 - k], after[rank - 1 - k] = int(pads[2 * k]), int(pads[2 * k + 1])
    return before, after


@lowers(*(f"aten.{n}_pad{d}d.default" for n in ("reflection", "replication") for d in (1, 2, 3)), "aten._pad_circular.default")
def pad_mirrored(g: Lowering, node: Node, x: Any, pads: Any) -> Any:
    mode = "reflect" if "reflection" in node.op else "wrap" if "circular" in node.op else "edge"
    return mirrored(g, x, pads, mode)


def mirrored(g: Lowering, x: Value, pads: Any, mode: str) -> Tensor:
    before, after = sides(pads, x.rank)
    t = x.tensor
    for axis in range(x.rank):
        if mode == "wrap" and (before[axis] < 0 or after[axis] < 0):  # what is cut off is not repeated
            t = g.slice(t, axis, max(0, -before[axis]), t.shape[axis] - max(0, -after[axis]))
            before[axis], after[axis] = max(0, before[axis]), max(0, after[axis])
        if before[axis] or after[axis]:
            n = t.shape[axis]
            places = np.arange(-before[axis], n + after[axis])
            if mode == "reflect":
                places = np.abs(places)
                places = np.where(places >= n, 2 * (n - 1) - places, places)
            else:
                places = places % n if mode == "wrap" else np.clip(places, 0, n - 1)
            t = taken(g, t, [int(p) for p in places], axis)
    return t


@lowers("aten.diagonal.default", "aten.diagonal_copy.default", "aten.linalg_diagonal.default")
def diagonal(g: Lowering, node: Node, x: Any, offset: int = 0, dim1: int = 0, dim2: int = 1, **named: Any) -> Any:
    if "linalg" in node.op:
        offset, dim1, dim2 = named.get("offset", offset), named.get("dim1", -2), named.get("dim2", -1)
    a, b = axis_of(dim1, x.rank), axis_of(dim2, x.rank)
    order = [i for i in range(x.rank) if i not in (a, b)] + [a, b]
    t, (h, w) = g.transpose(x.tensor, order), (x.shape[a], x.shape[b])
    lead = list(t.shape[:-2])
    first = -offset * w if offset < 0 else offset
    count = g.meta(node).shape[-1]
    return g.reshape(taken(g, g.reshape(t, [*lead, h * w]), [first + i * (w + 1) for i in range(count)], len(lead)), [*lead, count])


@lowers("aten.diag.default", "aten.diag_embed.default")
def diag(g: Lowering, node: Node, x: Any, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Any:
    if "embed" not in node.op and x.rank == 2:
        return diagonal(g, node, x, offset)
    n = x.shape[-1]
    size = n + abs(offset)
    t = g.op("pad", g.reshape(x.tensor, [*x.shape, 1]), before=[0] * (x.rank + 1), after=[0] * x.rank + [size])
    t = g.reshape(t, [*x.shape[:-1], n * (size + 1)])  # n rows, each one place further to the right
    low, up = max(-offset, 0) * size, max(offset, 0)
    t = filled_pad(g, t, [0] * (x.rank - 1) + [low + up], [0] * (x.rank - 1) + [size * size], 0)
    t = g.reshape(g.slice(t, x.rank - 1, 0, size * size), [*x.shape[:-1], size, size])
    if "embed" not in node.op:
        return t
    a, b = axis_of(dim1, x.rank + 1), axis_of(dim2, x.rank + 1)
    rest = iter(range(x.rank - 1))
    return g.transpose(t, [x.rank - 1 if k == a else x.rank if k == b else next(rest) for k in range(x.rank + 1)])


@lowers("aten.tril.default", "aten.triu.default")
def triangle(g: Lowering, node: Node, x: Any, diagonal: int = 0) -> Any:
    h, w = x.shape[-2:]
    return elementwise(g, "where", g.constant(corner(g, h, w, diagonal, "triu" in node.op)), x, g.fill(0, x.dtype))


def corner(g: Lowering, h: int, w: int, k: int, upper: bool) -> Any:
    room(g, h, w)
    ones: Any = np.ones((h, w), np.bool_)
    return np.triu(ones, k) if upper else np.tril(ones, k)


@lowers("aten.pixel_shuffle.default", "aten.pixel_unshuffle.default")
def pixel_shuffle(g: Lowering, node: Node, x: Any, factor: int) -> Any:
    *lead, c, h, w = x.shape
    n, k, r = math.prod(lead), factor, len(lead)
    if "unshuffle" in node.op:
        t = g.transpose(g.reshape(x.tensor, [n, c, h // k, k, w // k, k]), [0, 1, 3, 5, 2, 4])
    else:
        t = g.transpose(g.reshape(x.tensor, [n, c // (k * k), k, k, h, w]), [0, 1, 4, 2, 5, 3])
    assert r <= 5
    return g.reshape(t, g.meta(node).shape)


@lowers("aten.channel_shuffle.default", "aten.native_channel_shuffle.default")
def channel_shuffle(g: Lowering, node: Node, x: Any, groups: int) -> Any:
    n, c, *rest = x.shape
    t = g.reshape(x.tensor, [n, groups, c // groups, math.prod(rest)])
    return g.reshape(g.transpose(t, [0, 2, 1, 3]), x.shape)


@lowers("aten.as_strided.default", "aten.as_strided_copy.default")
def as_strided(g: Lowering, node: Node, x: Any, size: Any, stride: Any, storage_offset: Any = None) -> Any:
    """Of what lies in the memory one after the other; the graph has no other strides."""
    flat = g.reshape(x.tensor, [x.size])
    return g.reshape(taken(g, flat, [int(p) for p in strided(g, size, stride, storage_offset)], 0), size)


def strided(g: Lowering, size: Any, stride: Any, offset: Any) -> Any:
    """Where in the memory these elements are."""
    room(g, *size)
    places: Any = np.full((), int(offset or 0), np.int64)
    for n, s in zip(size, stride):
        places = places[..., None] + np.arange(n) * s
    return places.reshape(-1)


@lowers("aten.as_strided_scatter.default")
def as_strided_scatter(g: Lowering, node: Node, x: Any, source: Any, size: Any, stride: Any, storage_offset: Any = None) -> Any:
    """What fill_diagonal_ and others that write into such a view are."""
    places = strided(g, size, stride, storage_offset)
    if np.unique(places).size != places.size:
        raise g.refuse("of a view that has an element twice", "Write into a view without overlaps")
    s = g.reshape(g.cast(source.tensor, x.dtype), [places.size])
    flat = g.op("scatter_along", g.reshape(x.tensor, [x.size]), g.constant(places), s, axis=0, mode=0)
    return g.reshape(flat, x.shape)


@lowers("aten.im2col.default")
def im2col(g: Lowering, node: Node, x: Any, kernel: Any, dilation: Any, padding: Any, stride: Any) -> Any:
    places, before = windows(x.shape[-2:], kernel, dilation, padding, stride)
    lead = list(x.shape[:-2])
    t = filled_pad(g, x.tensor, [0] * len(lead) + before, [0] * len(lead) + before, 0)
    t = g.reshape(t, [*lead, math.prod(t.shape[-2:])])
    return g.reshape(taken(g, t, [int(p) for p in places.reshape(-1)], len(lead)), g.meta(node).shape)


@lowers("aten.col2im.default")
def col2im(g: Lowering, node: Node, x: Any, size: Any, kernel: Any, dilation: Any, padding: Any, stride: Any) -> Any:
    """Elements are added where they came from."""
    places, before = windows(size, kernel, dilation, padding, stride)
    m = g.meta(node)
    padded = [n + 2 * b for n, b in zip(size, before)]
    rows = math.prod(m.shape[:-2])
    t = g.reshape(x.tensor, [rows, places.size])
    t = g.op("scatter_add", t, g.constant(places.reshape(-1)), axis=1, size=math.prod(padded))
    t = g.reshape(t, [rows, *padded])
    return g.reshape(cut(g, cut(g, t, 1, before[0], size[0]), 2, before[1], size[1]), m.shape)


def windows(size: Any, kernel: Any, dilation: Any, padding: Any, stride: Any) -> tuple[Any, list[int]]:
    """[taps, windows]: where each tap of each window lies in the padded image."""
    k, d, p, s = (numbers(v, 2) for v in (kernel, dilation, padding, stride))
    full = [n + 2 * b for n, b in zip(size, p)]
    count = [(n - (a - 1) * e - 1) // t + 1 for n, a, e, t in zip(full, k, d, s)]
    rows = (np.arange(k[0]) * d[0])[:, None, None, None] + (np.arange(count[0]) * s[0])[None, None, :, None]
    columns = (np.arange(k[1]) * d[1])[None, :, None, None] + (np.arange(count[1]) * s[1])[None, None, None, :]
    return (rows * full[1] + columns).reshape(k[0] * k[1], -1).astype(np.int64), p
