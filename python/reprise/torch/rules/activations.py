# SPDX-License-Identifier: Apache-2.0
"""Rules for PyTorch's activations and softmaxes."""
from __future__ import annotations

import math
from typing import Any

from .arithmetic import computable, dtype_of
from .forms import axis_of, elementwise, move, number, op
from ..graph import Node
from ..lower import Lowering, Value, lowers


@lowers("aten.relu.default")
def relu(g: Lowering, node: Node, x: Any) -> Any:
    return elementwise(g, "relu", x) if x.real else op(g, "maximum", x, 0)


@lowers("aten.relu6.default")
def relu6(g: Lowering, node: Node, x: Any) -> Any:
    return hardtanh(g, node, x, 0, 6)


@lowers("aten.hardtanh.default")
def hardtanh(g: Lowering, node: Node, x: Any, min_val: float = -1, max_val: float = 1) -> Any:
    if not x.real:
        return op(g, "minimum", op(g, "maximum", x, int(min_val)), int(max_val))
    return elementwise(g, "hardtanh", x, min_val=float(min_val), max_val=float(max_val))


@lowers("aten.silu.default")
def silu(g: Lowering, node: Node, x: Any) -> Any:
    return elementwise(g, "silu", x)


@lowers("aten.gelu.default")
def gelu(g: Lowering, node: Node, x: Any, *, approximate: str = "none") -> Any:
    if approximate == "none":
        return elementwise(g, "gelu", x)
    cube = elementwise(g, "mul", elementwise(g, "mul", x, x), x)
    inner = op(g, "mul", elementwise(g, "add", x, op(g, "mul", cube, 0.044715)), math.sqrt(2 / math.pi))
    return elementwise(g, "mul", op(g, "mul", x, 0.5), op(g, "add", elementwise(g, "tanh", inner), 1))


@lowers("aten.leaky_relu.default")
def leaky_relu(g: Lowering, node: Node, x: Any, negative_slope: float = 0.01) -> Any:
    return elementwise(g, "leaky_relu", x, negative_slope=float(negative_slope))


@lowers("aten.prelu.default", "aten._prelu_kernel.default")
def prelu(g: Lowering, node: Node, x: Any, weight: Any) -> Any:
    if node.op == "aten.prelu.default" and weight.size > 1:
        weight = g.value(g.reshape(weight.tensor, [weight.size if i == 1 else 1 for i in range(max(x.rank, 2))][-x.rank:]))
    elif node.op == "aten.prelu.default":
        weight = g.value(g.reshape(weight.tensor, []))
    return elementwise(g, "where", op(g, "gt", x, 0), x, elementwise(g, "mul", weight, x))


@lowers("aten.elu.default")
def elu(g: Lowering, node: Node, x: Any, alpha: float = 1, scale: float = 1, input_scale: float = 1) -> Any:
    if scale == 1 and input_scale == 1:
        return elementwise(g, "elu", x, alpha=float(alpha))
    low = op(g, "mul", elementwise(g, "expm1", op(g, "mul", negative(g, x), input_scale)), alpha)
    y = elementwise(g, "where", op(g, "gt", x, 0), x, low)
    return y if scale == 1 else op(g, "mul", y, scale)


def negative(g: Lowering, x: Value) -> Value:
    """x where it is at most 0, so that what is not chosen does not overflow."""
    return elementwise(g, "where", op(g, "gt", x, 0), g.fill(0, x.dtype), x)


@lowers("aten.selu.default")
def selu(g: Lowering, node: Node, x: Any) -> Any:
    return op(g, "mul", elementwise(g, "elu", x, alpha=1.6732632423543772848170429916717), 1.0507009873554804934193349852946)


@lowers("aten.celu.default")
def celu(g: Lowering, node: Node, x: Any, alpha: float = 1.0) -> Any:
    low = op(g, "mul", elementwise(g, "expm1", op(g, "div", negative(g, x), alpha)), alpha)
    return elementwise(g, "where", op(g, "gt", x, 0), x, low)


@lowers("aten.softplus.default")
def softplus(g: Lowering, node: Node, x: Any, beta: float = 1, threshold: float = 20) -> Any:
    return elementwise(g, "softplus", x, beta=float(beta), threshold=float(threshold))


@lowers("aten.mish.default")
def mish(g: Lowering, node: Node, x: Any) -> Any:
    return elementwise(g, "mul", x, elementwise(g, "tanh", elementwise(g, "softplus", x, beta=1.0, threshold=20.0)))


@lowers("aten.hardsigmoid.default", "aten.hardswish.default")
def hardsigmoid(g: Lowering, node: Node, x: Any) -> Any:
    y = op(g, "mul", elementwise(g, "hardtanh", op(g, "add", x, 3), min_val=0.0, max_val=6.0), 1 / 6)
    return elementwise(g, "mul", x, y) if "swish" in node.op else y


@lowers("aten.log_sigmoid.default")
def log_sigmoid(g: Lowering, node: Node, x: Any) -> Any:
    # of what is positive the same number, less: |x| has no gradient at 0, where this has one of a half
    low = op(g, "lt", x, 0)
    size = elementwise(g, "where", low, op(g, "neg", x), x)
    rest = op(g, "log1p", elementwise(g, "exp", op(g, "neg", size)))
    return elementwise(g, "sub", elementwise(g, "where", low, x, g.fill(0, x.dtype)), rest)


@lowers("aten.log_sigmoid_forward.default")
def log_sigmoid_forward(g: Lowering, node: Node, x: Any) -> Any:
    return [log_sigmoid(g, node, x), None]


@lowers("aten.softshrink.default", "aten.hardshrink.default")
def shrink(g: Lowering, node: Node, x: Any, lambd: float = 0.5) -> Any:
    zero = op(g, "mul", x, 0) if "soft" in node.op else g.fill(0, x.dtype)  # a NaN stays one
    if "hard" in node.op:
        inside = elementwise(g, "logical_and", op(g, "ge", x, -lambd), op(g, "le", x, lambd))
        return elementwise(g, "where", inside, zero, x)
    low = elementwise(g, "where", op(g, "lt", x, -lambd), op(g, "add", x, lambd), zero)
    return elementwise(g, "where", op(g, "gt", x, lambd), op(g, "sub", x, lambd), low)


@lowers("aten.threshold.default")
def threshold(g: Lowering, node: Node, x: Any, threshold: float, value: float) -> Any:
    return elementwise(g, "where", op(g, "le", x, threshold), g.value(g.fill(value, x.dtype)), x)


@lowers("aten.softsign.default")
def softsign(g: Lowering, node: Node, x: Any) -> Any:
    return elementwise(g, "div", x, op(g, "add", elementwise(g, "abs", x), 1))


@lowers("aten.glu.default")
def glu(g: Lowering, node: Node, x: Any, dim: int = -1) -> Any:
    axis = axis_of(dim, x.rank)
    half, t = x.shape[axis] // 2, x.tensor
    return g.op("mul", g.slice(t, axis, 0, half), g.op("sigmoid", g.slice(t, axis, half, 2 * half)))


@lowers("aten.logit.default", "aten.special_logit.default")
def logit(g: Lowering, node: Node, x: Any, eps: float | None = None) -> Any:
    x = number(g, x, computable(g, dtype_of(g, node)))
    if eps is not None:
        low = elementwise(g, "where", op(g, "lt", x, eps), g.fill(eps, x.dtype), x)
        x = elementwise(g, "where", op(g, "gt", low, 1 - eps), g.fill(1 - eps, x.dtype), low)
    return elementwise(g, "log", elementwise(g, "div", x, op(g, "sub", g.fill(1, x.dtype), x)))


@lowers("aten.softmax.int", "aten._softmax.default", "aten.log_softmax.int", "aten._log_softmax.default", "aten._safe_softmax.default",
        "aten.special_softmax.int", "aten.special_log_softmax.int")
def softmax(g: Lowering, node: Node, x: Any, dim: int, *_: Any, **__: Any) -> Any:
    x = number(g, x, computable(g, dtype_of(g, node)))
    name = "log_softmax" if "log" in node.op else "softmax"
    y = along(g, name, x, dim)
    if "safe" in node.op:  # of rows that are -inf throughout: 0
        dead = op(g, "eq", g.value(g.op("max", x.tensor, axes=[axis_of(dim, x.rank)])), -math.inf)
        return elementwise(g, "where", dead, g.fill(0, x.dtype), g.value(y))
    return y


def along(g: Lowering, name: str, x: Value, dim: int) -> Any:
    """softmax or log_softmax along an axis; of what has no axis it is that of one element."""
    if x.rank == 0:
        return g.reshape(g.op(name, g.reshape(x.tensor, [1])), [])
    axis = axis_of(dim, x.rank)
    if x.channels_last and axis == 1:
        return g.value_last(g.op(name, x.last))
    return move(g, g.op(name, move(g, x.tensor, axis, x.rank - 1)), x.rank - 1, axis)


@lowers("aten.softmin.int")
def softmin(g: Lowering, node: Node, x: Any, dim: int, *_: Any, **__: Any) -> Any:
    return along(g, "softmax", op(g, "neg", number(g, x, dtype_of(g, node))), dim)
