# SPDX-License-Identifier: Apache-2.0
"""Rules for PyTorch's own backward operations, which stand in graphs that were made by its autograd: the forward is written
and Reprise's gradient of it taken, with what comes back as its seed."""
from __future__ import annotations

import math
from typing import Any

from .activations import gelu
from .forms import axis_of, elementwise, move, number, op
from .images import adaptive, avg_pool, convolution, max_pool
from ..graph import GRADIENT, Meta, Node, refs
from ..lower import LIMITS, Lowering, Unsupported, Value, lowers

Tensor = Any


def pulled(g: Lowering, y: Any, grad: Value, wrt: list[Value]) -> list[Tensor]:
    """Gradients of y by Values, seeded with grad."""
    t = y.tensor if isinstance(y, Value) else y
    return list(g.builder.gradients([t], [w.tensor for w in wrt], seeds=[grad.tensor], zeros=True))


def leaf(g: Lowering, x: Value) -> Value:
    """A value of its own, so that a gradient by it is by this use alone."""
    return g.value(g.op("reshape", x.tensor, shape=list(x.shape)))


def forward(node: Node, shape: Any, dtype: str, op_name: str) -> Node:
    return Node(node.name, op_name, meta=Meta(dtype, tuple(shape)), where=node.where)


@lowers("aten.convolution_backward.default")
def convolution_backward(g: Lowering, node: Node, grad: Any, x: Any, weight: Any, bias_sizes: Any, stride: Any, padding: Any, dilation: Any,
                         transposed: bool, output_padding: Any, groups: int, output_mask: Any) -> Any:
    x, weight = leaf(g, x), leaf(g, weight)
    y = convolution(g, forward(node, grad.shape, x.dtype, "aten.convolution.default"), x, weight, None, stride, padding, dilation,
                    transposed, output_padding, groups)
    dx, dw = pulled(g, y, grad, [x, weight])
    axes = [i for i in range(grad.rank) if i != 1]
    db = g.reshape(g.op("sum", grad.tensor, axes=axes), [grad.shape[1]]) if output_mask[2] else None
    return [dx if output_mask[0] else None, dw if output_mask[1] else None, db]


@lowers("aten.avg_pool2d_backward.default", "aten.avg_pool3d_backward.default")
def avg_pool_backward(g: Lowering, node: Node, grad: Any, x: Any, *args: Any) -> Any:
    x = leaf(g, x)
    return pulled(g, avg_pool(g, forward(node, grad.shape, x.dtype, node.op.replace("_backward", "")), x, *args), grad, [x])[0]


@lowers("aten.max_pool2d_with_indices_backward.default", "aten.max_pool3d_with_indices_backward.default")
def max_pool_backward(g: Lowering, node: Node, grad: Any, x: Any, kernel: Any, stride: Any, padding: Any, dilation: Any, ceil: bool,
                      indices: Any) -> Any:
    x = leaf(g, x)
    name = node.op.replace("_with_indices_backward", "")
    return pulled(g, max_pool(g, forward(node, grad.shape, x.dtype, name), x, kernel, stride, padding, dilation, ceil), grad, [x])[0]


@lowers("aten._adaptive_avg_pool2d_backward.default", "aten._adaptive_avg_pool3d_backward.default")
def adaptive_backward(g: Lowering, node: Node, grad: Any, x: Any) -> Any:
    x, axes = leaf(g, x), 3 if "3d" in node.op else 2
    return pulled(g, adaptive(g, x, list(grad.shape[-axes:]), axes, "mean"), grad, [x])[0]


@lowers("aten.native_layer_norm_backward.default")
def layer_norm_backward(g: Lowering, node: Node, grad: Any, x: Any, normalized: Any, mean: Any, rstd: Any, weight: Any, bias: Any,
                        mask: Any) -> Any:
    """By the deviation that the forward gave, whose eps is not known here: x is normalised by it, and written out."""
    n = math.prod(normalized)
    axes = list(range(x.rank - len(normalized), x.rank))
    hat = elementwise(g, "mul", elementwise(g, "sub", x, mean), rstd)
    scaled = grad if weight is None else elementwise(g, "mul", grad, weight)
    return [*normal_backward(g, scaled, hat, rstd, axes, mask[0]),
            *by_weights(g, grad, hat, list(range(x.rank - len(normalized))), tuple(normalized), mask, n)]


def normal_backward(g: Lowering, scaled: Value, hat: Value, rstd: Value, axes: list[int], wanted: bool) -> list[Any]:
    """rstd (s - mean(s) - hat mean(s hat)) of means over axes."""
    if not wanted:
        return [None]
    first = g.value(g.op("mean", scaled.tensor, axes=axes))
    second = g.value(g.op("mean", elementwise(g, "mul", scaled, hat).tensor, axes=axes))
    inner = elementwise(g, "sub", elementwise(g, "sub", scaled, first), elementwise(g, "mul", hat, second))
    return [elementwise(g, "mul", inner, rstd)]


def by_weights(g: Lowering, grad: Value, hat: Value, axes: list[int], shape: Any, mask: Any, n: int) -> list[Any]:
    def total(v: Value) -> Tensor:
        return g.reshape(g.op("sum", v.tensor, axes=axes) if axes else v.tensor, list(shape))
    return [total(elementwise(g, "mul", grad, hat)) if mask[1] else None, total(grad) if mask[2] else None]


@lowers("aten.native_group_norm_backward.default")
def group_norm_backward(g: Lowering, node: Node, grad: Any, x: Any, mean: Any, rstd: Any, weight: Any, n: int, c: int, hw: int, groups: int,
                        mask: Any) -> Any:
    grouped = [n, groups, c // groups, hw]
    gx, gg = (g.value(g.reshape(v.tensor, grouped)) for v in (x, grad))
    m, r = (g.value(g.reshape(v.tensor, [n, groups, 1, 1])) for v in (mean, rstd))
    hat = elementwise(g, "mul", elementwise(g, "sub", gx, m), r)
    scaled = gg if weight is None else elementwise(g, "mul", gg, g.value(g.reshape(weight.tensor, [1, groups, c // groups, 1])))
    dx = normal_backward(g, scaled, hat, r, [2, 3], mask[0])[0]
    return [None if dx is None else g.reshape(dx.tensor, x.shape), *by_weights(g, gg, hat, [0, 3], (c,), mask, c)]


@lowers("aten._softmax_backward_data.default", "aten._log_softmax_backward_data.default")
def softmax_backward(g: Lowering, node: Node, grad: Any, y: Any, dim: int, dtype: Any) -> Any:
    name = "log_softmax_grad" if "log" in node.op else "softmax_grad"
    if y.rank == 0:
        return g.fill(0, y.dtype)
    axis, last = axis_of(dim, y.rank), y.rank - 1
    return move(g, g.op(name, move(g, grad.tensor, axis, last), move(g, y.tensor, axis, last)), last, axis)


@lowers("aten.threshold_backward.default")
def threshold_backward(g: Lowering, node: Node, grad: Any, x: Any, threshold: float) -> Any:
    return elementwise(g, "where", op(g, "le", x, threshold), g.fill(0, grad.dtype), grad)


@lowers("aten.tanh_backward.default", "aten.sigmoid_backward.default")
def output_backward(g: Lowering, node: Node, grad: Any, y: Any) -> Any:
    return elementwise(g, "tanh_grad" if "tanh" in node.op else "sigmoid_grad", number(g, grad, y.dtype), y)


@lowers("aten.silu_backward.default")
def silu_backward(g: Lowering, node: Node, grad: Any, x: Any) -> Any:
    """s (1 + x (1 - s)), s the sigmoid."""
    s = elementwise(g, "sigmoid", x)
    one = number(g, 1.0, x.dtype)
    return elementwise(g, "mul", grad, elementwise(g, "mul", s, elementwise(g, "add", one, elementwise(
        g, "mul", x, elementwise(g, "sub", one, s)))))


@lowers("aten.softplus_backward.default")
def softplus_backward(g: Lowering, node: Node, grad: Any, x: Any, beta: float, threshold: float) -> Any:
    """The sigmoid of beta x, and 1 above the threshold."""
    scaled = elementwise(g, "mul", x, number(g, beta, x.dtype))
    slope = elementwise(g, "mul", grad, elementwise(g, "sigmoid", scaled))
    above = elementwise(g, "gt", scaled, number(g, threshold, x.dtype))
    return g.op("where", above.tensor, grad.tensor, slope.tensor)


@lowers("aten.gelu_backward.default")
def gelu_backward(g: Lowering, node: Node, grad: Any, x: Any, *, approximate: str = "none") -> Any:
    if approximate == "none":
        return elementwise(g, "gelu_grad", grad, x)
    x = leaf(g, x)
    return pulled(g, gelu(g, node, x, approximate=approximate), grad, [x])[0]


@lowers("reprise.leaf.default")
def apart(g: Lowering, node: Node, x: Value, beside: list[Value]) -> Value:
    return leaf(g, x)


@lowers(GRADIENT)
def gradient(g: Lowering, node: Node, y: list[Value], seeds: list[Value], x: list[Value]) -> list[Tensor]:
    refuse_beyond(g, node)
    return list(g.builder.gradients([v.tensor for v in y], [v.tensor for v in x], seeds=[s.tensor for s in seeds], zeros=True))


def refuse_beyond(g: Lowering, node: Node) -> None:
    """What has no derivative of as many orders as the gradients that come after it need: a step's own is one more."""
    orders = {node.name: 0}
    bodies = [n for sub in g.graph.graphs for n in sub.walk() if n.op in LIMITS]  # which of them come before is not looked at
    for n in [*reversed(list(g.graph.walk())), *bodies]:
        if n.name in orders or n in bodies:
            order = (max(orders.values()) if n in bodies else orders[n.name]) + (n.op == GRADIENT)
            if order + g.later > LIMITS.get(n.op, order + g.later) + 1:
                kind = "derivative of a derivative" if LIMITS[n.op] == 0 else "third derivative"
                raise Unsupported(f"its {kind} is asked for by a gradient in the forward or the loss, which its rule has not", n,
                                  "Compute what is differentiated twice by other operations, or keep it outside of what is compiled")
            for name in refs(n.args[:2] if n.op == GRADIENT else [n.args, n.kwargs]):
                orders[name] = max(orders.get(name, 0), order)
