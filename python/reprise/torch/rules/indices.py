# SPDX-License-Identifier: Apache-2.0
"""Rules for PyTorch's indices: rows that are taken or written by places that are computed. A place outside of its axis is an
error of the step."""
from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from .forms import axis_of, concat, move, number, op, room, taken, wrapped
from ..graph import Node
from ..lower import Lowering, Value, lowers

Tensor = Any
MODES = {"set": 0, "sum": 1, "add": 1, "prod": 2, "multiply": 2, "amax": 3, "amin": 4}


@lowers("aten.embedding.default", "aten.embedding_copy.default")
def embedding(g: Lowering, node: Node, weight: Any, index: Any, padding_idx: int = -1, scale_grad_by_freq: bool = False,
              sparse: bool = False) -> Any:
    """Rows of a table. The row padding_idx has no gradient: it is taken from a copy through which none passes."""
    if scale_grad_by_freq:
        raise g.refuse("scale_grad_by_freq", "Leave it off")
    i = index.tensor if index.dtype in ("i32", "i64") else g.cast(index.tensor, "i64")
    flat = g.reshape(i, [index.size])
    y = g.op("gather", weight.tensor, flat, axis=0)
    if padding_idx >= 0:
        plain = g.op("eq", g.reshape(flat, [index.size, 1]), g.fill(padding_idx, i.dtype))
        y = g.op("where", plain, g.op("stop_gradient", y), y)
    return g.reshape(y, [*index.shape, *weight.shape[1:]])


@lowers("aten._embedding_bag.default", "aten.embedding_bag.padding_idx", "aten.embedding_bag.default",
        "aten._embedding_bag_forward_only.default")
def embedding_bag(g: Lowering, node: Node, weight: Any, index: Any, offsets: Any, scale_grad_by_freq: bool = False, mode: int = 0,
                  sparse: bool = False, weights: Any = None, include_last_offset: bool = False, padding_idx: Any = -1) -> Any:
    """Sums (mode 0), means (1) or maxima (2) of the rows of each bag; bag b begins at offsets[b]. One without rows is 0."""
    if scale_grad_by_freq:
        raise g.refuse("scale_grad_by_freq", "Leave it off")
    n, bags = index.size, offsets.size - int(include_last_offset)
    width, dtype = weight.shape[1], weight.dtype
    if not n or not bags:
        return [g.fill(0, dtype, [bags, width]), None, None, None]
    starts = g.slice(g.cast(offsets.tensor, "i64"), 0, 0, bags)
    bag = g.op("searchsorted", starts, g.op("iota", n=n, dtype="i64"), right=True)
    bag = g.op("sub", g.cast(bag, "i64"), g.fill(1, "i64"))
    i = g.reshape(index.tensor, [n])
    rows = g.op("gather", weight.tensor, i, axis=0)
    if weights is not None:
        rows = g.op("mul", rows, g.reshape(weights.tensor, [n, 1]))
    counts = g.fill(1, dtype, [n, 1])
    if padding_idx is not None and padding_idx >= 0:
        plain = g.op("eq", g.reshape(i, [n, 1]), g.fill(padding_idx, i.dtype))
        rows = g.op("where", plain, g.fill(-math.inf if mode == 2 else 0, dtype), rows)
        counts = g.op("where", plain, g.fill(0, dtype), counts)
    count = g.op("scatter_add", counts, bag, axis=0, size=bags)
    if mode == 2:
        places = g.broadcast(g.reshape(bag, [n, 1]), [n, width])
        y = g.op("scatter_along", g.fill(-math.inf, dtype, [bags, width]), places, rows, axis=0, mode=MODES["amax"])
        y = g.op("where", g.op("gt", count, g.fill(0, dtype)), y, g.fill(0, dtype))
    else:
        y = g.op("scatter_add", rows, bag, axis=0, size=bags)
    if mode == 1:
        y = g.op("div", y, g.op("maximum", count, g.fill(1, dtype)))
    return [y, None, None, None] if isinstance(node.meta, list) else y


@lowers("aten.embedding_dense_backward.default")
def embedding_dense_backward(g: Lowering, node: Node, grad: Any, index: Any, rows: int, padding_idx: int, scale: bool) -> Any:
    if scale:
        raise g.refuse("scale_grad_by_freq")
    t = g.reshape(grad.tensor, [index.size, grad.shape[-1]])
    i = g.reshape(index.tensor, [index.size])
    if padding_idx >= 0:
        t = g.op("where", g.op("eq", g.reshape(i, [index.size, 1]), g.fill(padding_idx, i.dtype)), g.fill(0, t.dtype), t)
    return g.op("scatter_add", t, i, axis=0, size=rows)


@lowers("aten.index_select.default")
def index_select(g: Lowering, node: Node, x: Any, dim: int, index: Any) -> Any:
    i = g.reshape(index.tensor, [index.size])
    if x.rank == 0:
        return g.reshape(g.op("gather", g.reshape(x.tensor, [1]), i, axis=0), g.meta(node).shape)
    return g.op("gather", x.tensor, i, axis=axis_of(dim, x.rank))


@lowers("aten.gather.default", "aten.take_along_dim.default")
def gather(g: Lowering, node: Node, x: Any, dim: Any, index: Any, *, sparse_grad: bool = False) -> Any:
    if "take_along" in node.op:
        dim, index = index, dim
        if dim is None:
            x, index, dim = g.value(g.reshape(x.tensor, [x.size])), g.value(g.reshape(index.tensor, [index.size])), 0
        axis = axis_of(dim, x.rank)
        lead = np.broadcast_shapes(*[tuple(1 if k == axis else n for k, n in enumerate(s)) for s in (x.shape, index.shape)])
        x, index = (g.value(g.broadcast(v.tensor, [v.shape[k] if k == axis else n for k, n in enumerate(lead)])) for v in (x, index))
        index = g.value(wrapped(g, index.tensor, x.shape[axis]))
    if index.size == 0:
        return g.fill(0, x.dtype, index.shape)
    if x.rank == 0 or index.rank == 0:
        t = g.op("gather", g.reshape(x.tensor, [x.size]), g.reshape(index.tensor, [index.size]), axis=0)
        return g.reshape(t, index.shape)
    axis = axis_of(dim, x.rank)
    t = part(g, x.tensor, index.shape, axis)
    return g.op("take_along", t, index.tensor, axis=axis)


def part(g: Lowering, t: Tensor, shape: Sequence[int], axis: int) -> Tensor:
    """What an index of this shape reaches on the other axes."""
    for k, n in enumerate(shape):
        if k != axis:
            t = g.slice(t, k, 0, n)
    return t


@lowers("aten.scatter.src", "aten.scatter.value", "aten.scatter.reduce", "aten.scatter.value_reduce", "aten.scatter_add.default",
        "aten.scatter_reduce.two")
def scatter(g: Lowering, node: Node, x: Any, dim: int, index: Any, source: Any, reduce: str = "set", *, include_self: bool = True) -> Any:
    """Places that occur twice are written in their order."""
    reduce = "add" if "scatter_add" in node.op else reduce
    if index.size == 0:
        return x
    if x.rank == 0:
        one = [g.value(g.reshape(v.tensor, [v.size])) if isinstance(v, Value) else v for v in (x, index, source)]
        return g.reshape(scattered(g, one[0], 0, one[1], one[2], reduce, include_self), [])
    return scattered(g, x, axis_of(dim, x.rank), index, source, reduce, include_self)


def scattered(g: Lowering, x: Value, axis: int, index: Value, source: Any, reduce: str, include: bool = True) -> Tensor:
    if not isinstance(source, Value):
        source = g.value(g.fill(source, x.dtype, index.shape))
    i = index.tensor if index.rank else g.reshape(index.tensor, [1])
    source = number(g, source if source.rank else g.value(g.reshape(source.tensor, [1])), x.dtype)
    src = source.tensor
    for k, n in enumerate(i.shape):
        src = g.slice(src, k, 0, n)
    reached = part(g, x.tensor, i.shape, axis)
    if reduce == "mean" or not include or reduce != "set" and x.dtype == "bool":
        done = reduced_scatter(g, reached, i, src, axis, reduce, include)
    else:
        done = g.op("scatter_along", reached, i, src, axis=axis, mode=MODES[reduce])
    if done.shape == tuple(x.shape):
        return done
    after = [n - d for n, d in zip(x.shape, done.shape)]
    inside = g.op("pad", g.fill(1, "bool", done.shape), before=[0] * x.rank, after=after)
    return g.op("where", inside, g.op("pad", done, before=[0] * x.rank, after=after), x.tensor)


def reduced_scatter(g: Lowering, t: Tensor, i: Tensor, src: Tensor, axis: int, reduce: str, include: bool) -> Tensor:
    """Means, and reductions without what was there before: places that are reached begin with the neutral element."""
    if t.dtype == "bool":
        raise g.refuse(f"the reduction {reduce} of bool")
    zero = g.fill(0, "i64", t.shape)
    count = g.op("scatter_along", zero, i, g.fill(1, "i64", src.shape), axis=axis, mode=1)
    hit = g.op("gt", count, g.fill(0, "i64"))
    if not include:
        if reduce in ("amax", "amin") and t.dtype[0] == "i":
            limits = np.iinfo(np.int32 if t.dtype == "i32" else np.int64)
            first = g.constant(np.array(limits.min if reduce == "amax" else limits.max, limits.dtype))
        else:
            first = g.fill({"prod": 1.0, "amax": -math.inf, "amin": math.inf}.get(reduce, 0.0), t.dtype)
        start = g.op("where", hit, first, t)
    else:
        start = t
    y = g.op("scatter_along", start, i, src, axis=axis, mode=MODES["sum" if reduce == "mean" else reduce])
    if reduce != "mean":
        return y
    count = g.op("add", count, g.fill(1, "i64")) if include else g.op("where", hit, count, g.fill(1, "i64"))
    if t.dtype[0] == "i":
        return g.op("div_floor", y, g.cast(count, t.dtype))
    return g.op("div", y, g.cast(count, t.dtype))


@lowers("aten.index_add.default", "aten.index_copy.default", "aten.index_fill.int_Scalar", "aten.index_fill.int_Tensor")
def index_write(g: Lowering, node: Node, x: Any, dim: int, index: Any, source: Any, *, alpha: Any = 1) -> Any:
    if x.rank == 0:
        raise g.refuse("a tensor without axes")
    axis = axis_of(dim, x.rank)
    shape = [index.size if k == axis else n for k, n in enumerate(x.shape)]
    i = g.broadcast(g.reshape(index.tensor, [index.size if k == axis else 1 for k in range(x.rank)]), shape)
    s = g.value(g.broadcast(number(g, source, x.dtype).tensor, shape))
    s = s if alpha == 1 else op(g, "mul", s, alpha)
    if index.size == 0:
        return x
    return g.op("scatter_along", x.tensor, i, s.tensor, axis=axis, mode=1 if "index_add" in node.op else 0)


# ---- indexing by tensors ----

def masks_known(g: Lowering, indices: Sequence[Any]) -> list[Any]:
    """Indices with each bool mask as the indices of what it has, which must be known."""
    found: list[Any] = []
    for i in indices:
        if isinstance(i, Value) and i.dtype in ("bool", "u8"):
            if i.known is None:
                raise g.refuse("a mask that is computed: the shape would be", "Use torch.where")
            found += [Value(g, "i64", p.shape, known=p.astype(np.int64)) for p in np.nonzero(np.asarray(i.known))]
        else:
            found.append(i)
    return found


class Places:
    """x[indices] as rows: the indexed axes first, as one, and `row` the number of each wanted row in them."""

    def __init__(self, g: Lowering, x: Value, indices: Sequence[Any]) -> None:
        indices = masks_known(g, indices)
        self.g, self.x = g, x
        self.axes = [k for k, i in enumerate(indices) if i is not None]
        self.rest = [k for k in range(x.rank) if k not in self.axes]
        given = [indices[k] for k in self.axes]
        self.shape = np.broadcast_shapes(*[i.shape for i in given])
        self.count, self.lengths = math.prod(self.shape), [x.shape[k] for k in self.axes]
        self.row: Tensor = None
        outside: Tensor = None
        for i, n in zip(given, self.lengths):
            t = g.broadcast(wrapped(g, i.tensor, n), self.shape)
            t = g.reshape(g.cast(t, "i64"), [self.count])
            if len(given) > 1:
                bad = g.op("logical_or", g.op("lt", t, g.fill(0, "i64")), g.op("ge", t, g.fill(n, "i64")))
                outside = bad if outside is None else g.op("logical_or", outside, bad)
            self.row = t if self.row is None else g.op("add", g.op("mul", self.row, g.fill(n, "i64")), t)
        if outside is not None:  # no row, so that whoever takes it refuses it
            self.row = g.op("where", outside, g.fill(-(1 << 40), "i64"), self.row)
        # where the indexed axes stand together the result has them there, else in front
        together = self.axes == list(range(self.axes[0], self.axes[-1] + 1))
        self.at = self.axes[0] if together else 0

    def rows(self) -> Tensor:
        t = self.g.transpose(self.x.tensor, [*self.axes, *self.rest])
        return self.g.reshape(t, [math.prod(self.lengths), math.prod(self.x.shape[k] for k in self.rest)])

    def result(self, t: Tensor) -> Tensor:
        """[count, rest] as x[indices]."""
        g, others = self.g, [self.x.shape[k] for k in self.rest]
        t = g.reshape(t, [self.count, math.prod(others[:self.at]), math.prod(others[self.at:])])
        return g.reshape(g.transpose(t, [1, 0, 2]), [*others[:self.at], *self.shape, *others[self.at:]])

    def back(self, t: Tensor) -> Tensor:
        """Rows as x again."""
        order = [*self.axes, *self.rest]
        t = self.g.reshape(t, [self.x.shape[k] for k in order])
        return self.g.transpose(t, [order.index(k) for k in range(self.x.rank)])

    def source(self, values: Tensor) -> Tensor:
        """Values of the shape of x[indices], or that broadcast to it, as [count, rest]."""
        g, others = self.g, [self.x.shape[k] for k in self.rest]
        t = g.broadcast(values, [*others[:self.at], *self.shape, *others[self.at:]])
        t = g.reshape(t, [math.prod(others[:self.at]), self.count, math.prod(others[self.at:])])
        return g.reshape(g.transpose(t, [1, 0, 2]), [self.count, math.prod(others)])


@lowers("aten.index.Tensor", "aten._unsafe_index.Tensor")
def index(g: Lowering, node: Node, x: Any, indices: Any) -> Any:
    if not math.prod(g.meta(node).shape):
        return g.fill(0, x.dtype, g.meta(node).shape)
    given = [i for i in indices if i is not None]
    if len(given) == 1 and given[0].known is not None and given[0].dtype != "bool" and given[0].rank == 1:
        axis = next(k for k, i in enumerate(indices) if i is not None)
        n = x.shape[axis]
        return taken(g, x.tensor, [int(k) % n if -n <= int(k) < n else int(k) for k in given[0].known], axis)
    p = Places(g, x, indices)
    return p.result(g.op("gather", p.rows(), p.row, axis=0))


@lowers("aten.index_put.default", "aten._unsafe_index_put.default", "aten._index_put_impl.default")
def index_put(g: Lowering, node: Node, x: Any, indices: Any, values: Any, accumulate: bool = False, unsafe: bool = False) -> Any:
    values = number(g, values, x.dtype)
    if len(indices) == 1 and indices[0] is not None and indices[0].dtype == "bool" and indices[0].known is None:
        if values.size != 1 or accumulate:
            raise g.refuse("a mask that is computed, with more than one value", "Use torch.where")
        mask = g.reshape(indices[0].tensor, [*indices[0].shape, *[1] * (x.rank - indices[0].rank)])
        return g.op("where", mask, g.reshape(values.tensor, []), x.tensor)
    p = Places(g, x, indices)
    if p.count == 0:
        return x
    source = p.source(values.tensor)
    rows = p.rows()
    if x.dtype == "bool" and accumulate:
        raise g.refuse("accumulate of bool")
    i = g.broadcast(g.reshape(p.row, [p.count, 1]), [p.count, rows.shape[1]])
    return p.back(g.op("scatter_along", rows, i, source, axis=0, mode=int(bool(accumulate))))


@lowers("aten.take.default", "aten.put.default")
def take(g: Lowering, node: Node, x: Any, index: Any, source: Any = None, accumulate: bool = False) -> Any:
    i = g.reshape(wrapped(g, index.tensor, x.size), [index.size])
    if index.size == 0:
        return x if source is not None else g.fill(0, x.dtype, index.shape)
    flat = g.reshape(x.tensor, [x.size])
    if source is None:
        return g.reshape(g.op("gather", flat, i, axis=0), index.shape)
    s = g.reshape(source.tensor, [index.size])
    return g.reshape(g.op("scatter_along", flat, i, s, axis=0, mode=int(accumulate)), x.shape)


@lowers("aten.select_scatter.default", "aten.slice_scatter.default")
def region_scatter(g: Lowering, node: Node, x: Any, source: Any, dim: int = 0, start: Any = None, end: Any = None, step: int = 1) -> Any:
    axis = axis_of(dim, x.rank)
    n = x.shape[axis]
    source = number(g, source, x.dtype)
    if "select" in node.op:
        start = start + n if start < 0 else start
        places = range(start, start + 1)
        t = g.reshape(source.tensor, [1 if k == axis else m for k, m in enumerate(x.shape)])
    else:
        places, t = range(*slice(start, end, step).indices(n)), source.tensor
    if not len(places):
        return x
    if places.step == 1:
        parts = [g.slice(x.tensor, axis, 0, places[0]), t, g.slice(x.tensor, axis, places[-1] + 1, n)]
        return concat(g, [p for p in parts if p.shape[axis]], axis)
    i = np.array(places, np.int64).reshape([-1 if k == axis else 1 for k in range(x.rank)])
    room(g, *t.shape)
    return g.op("scatter_along", x.tensor, g.broadcast(g.constant(i), t.shape), t, axis=axis, mode=0)


@lowers("aten.diagonal_scatter.default")
def diagonal_scatter(g: Lowering, node: Node, x: Any, source: Any, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Any:
    a, b = axis_of(dim1, x.rank), axis_of(dim2, x.rank)
    count = source.shape[-1]
    rows, columns = (np.arange(count) + max(s, 0) for s in (-offset, offset))
    indices: list[Any] = [None] * x.rank
    order = [a, b, *[i for i in range(x.rank) if i not in (a, b)]]
    y = g.value(g.transpose(x.tensor, order))
    indices[0], indices[1] = (Value(g, "i64", p.shape, known=p.astype(np.int64)) for p in (rows, columns))
    p = Places(g, y, indices)
    s = p.source(move(g, source.tensor, source.rank - 1, 0))
    t = p.rows()
    t = p.back(g.op("scatter_along", t, g.broadcast(g.reshape(p.row, [count, 1]), [count, t.shape[1]]), s, axis=0, mode=0))
    return g.transpose(t, [order.index(k) for k in range(x.rank)])


@lowers("aten.masked_scatter.default")
def masked_scatter(g: Lowering, node: Node, x: Any, mask: Any, source: Any) -> Any:
    """The n-th true place takes the n-th element of the source."""
    shape = g.meta(node).shape
    m, t = g.broadcast(mask.tensor, shape), g.broadcast(x.tensor, shape)
    count = math.prod(shape)
    if not count:
        return t
    flat = g.reshape(m, [count])
    nth = g.op("sub", g.op("cumsum", g.cast(flat, "i64"), axis=0, reverse=False), g.fill(1, "i64"))
    nth = g.op("where", flat, nth, g.fill(0, "i64"))
    if source.size == 0:
        return t
    values = g.reshape(g.op("gather", g.reshape(source.tensor, [source.size]), nth, axis=0), shape)
    return g.op("where", m, values, t)


@lowers("aten.one_hot.default")
def one_hot(g: Lowering, node: Node, x: Any, classes: int = -1) -> Any:
    if classes < 0:
        raise g.refuse("as many classes as the values have", "Give num_classes")
    ones = g.op("one_hot", g.reshape(x.tensor, [x.size]), depth=classes, dtype="f32")  # the operation has floats alone
    return g.reshape(g.cast(ones, "i64"), [*x.shape, classes])


@lowers("aten.nonzero.default", "aten.masked_select.default", "aten.unique_consecutive.default",
        "aten._unique2.default", "aten.nonzero_numpy.default", "aten.unique_dim.default")
def data_dependent(g: Lowering, node: Node, x: Any, *_: Any, **__: Any) -> Any:
    """Of what is known; a shape or a number of Python that values decide is no program's."""
    if node.op == "aten.nonzero.default" and x.known is not None:
        return g.constant(np.stack(np.nonzero(np.asarray(x.known)), axis=-1).astype(np.int64))
    raise g.refuse("a shape, or a number of Python, that the values decide", "Use torch.where with the whole shape, or keep it outside")
