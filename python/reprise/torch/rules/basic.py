# SPDX-License-Identifier: Apache-2.0
"""Sums and products of tensors and numbers, elementwise functions of one operand, linear layers, reshaping without more, and
where gradients end. Promotion is by casts to the type that the graph says the value has."""
from __future__ import annotations

from typing import Any

from ..graph import Node
from ..lower import Lowering, Value, lowers

UNARY = {"neg": "neg", "exp": "exp", "log": "log", "log1p": "log1p", "sqrt": "sqrt", "tanh": "tanh", "sigmoid": "sigmoid", "erf": "erf",
         "relu": "relu", "abs": "abs", "sin": "sin", "cos": "cos", "rsqrt": "rsqrt", "expm1": "expm1", "tan": "tan"}


def elementwise(g: Lowering, node: Node, name: str, operands: list[Any], dtype: str, **attributes: Any) -> Value:
    """One elementwise operation of operands cast to dtype; channels last where all images among them are held so."""
    values = [v for v in operands if isinstance(v, Value)]
    rank = len(g.meta(node).shape)
    last = any(v.channels_last for v in values) and all(v.channels_last or v.size == 1 and v.rank == 0 for v in values) and rank > 2
    if last:
        return g.value_last(g.op(name, *(g.cast(v.last if isinstance(v, Value) and v.rank else g.tensor(v, dtype), dtype)
                                         for v in operands), **attributes))
    return g.value(g.op(name, *(g.cast(g.tensor(v, dtype), dtype) for v in operands), **attributes))


def unary(name: str) -> Any:
    def rule(g: Lowering, node: Node, x: Value) -> Value:
        return elementwise(g, node, name, [x], g.meta(node).dtype)
    return rule


for _torch, _own in UNARY.items():
    lowers(f"aten.{_torch}.default")(unary(_own))


def scaled(g: Lowering, node: Node, name: str, a: Any, b: Any, alpha: Any) -> Value:
    dtype = g.meta(node).dtype
    if alpha != 1:
        b = b * alpha if isinstance(b, (int, float)) else elementwise_product(g, b, alpha, dtype)
    return elementwise(g, node, name, [a, b], dtype)


def elementwise_product(g: Lowering, v: Value, factor: Any, dtype: str) -> Value:
    if v.channels_last:
        return g.value_last(g.op("mul", g.cast(v.last, dtype), g.fill(factor, dtype)))
    return g.value(g.op("mul", g.cast(v.tensor, dtype), g.fill(factor, dtype)))


@lowers("aten.add.Tensor", "aten.add.Scalar")
def add(g: Lowering, node: Node, a: Any, b: Any, alpha: Any = 1) -> Value:
    return scaled(g, node, "add", a, b, alpha)


@lowers("aten.sub.Tensor", "aten.sub.Scalar")
def sub(g: Lowering, node: Node, a: Any, b: Any, alpha: Any = 1) -> Value:
    return scaled(g, node, "sub", a, b, alpha)


@lowers("aten.mul.Tensor", "aten.mul.Scalar")
def mul(g: Lowering, node: Node, a: Any, b: Any) -> Value:
    return elementwise(g, node, "mul", [a, b], g.meta(node).dtype)


@lowers("aten.div.Tensor", "aten.div.Scalar")
def div(g: Lowering, node: Node, a: Any, b: Any) -> Value:
    return elementwise(g, node, "div", [a, b], g.meta(node).dtype)


@lowers("aten.linear.default")
def linear(g: Lowering, node: Node, x: Value, weight: Value, bias: Value | None = None) -> Any:
    """x [.., in], weight [out, in], bias [out]: [.., out]."""
    y = g.op("matmul", x.tensor, g.swap(weight.tensor))
    return y if bias is None else g.op("add", y, bias.tensor)


@lowers("aten.view.default", "aten.reshape.default", "aten._unsafe_view.default", "aten.unsqueeze.default", "aten.squeeze.default",
        "aten.squeeze.dim", "aten.squeeze.dims", "aten.flatten.using_ints", "aten.unflatten.int")
def reshape(g: Lowering, node: Node, x: Value, *args: Any) -> Any:
    return g.reshape(x.tensor, g.meta(node).shape)


@lowers("aten.clone.default", "aten.contiguous.default", "aten.alias.default", "aten.lift_fresh_copy.default")
def same(g: Lowering, node: Node, x: Value, **form: Any) -> Value:
    return x


@lowers("aten.detach.default", "aten.detach_.default", "reprise.stop_gradient")
def stop_gradient(g: Lowering, node: Node, x: Value) -> Any:
    """The gradient ends here."""
    if not x.real or x.known is not None:
        return x
    if x.channels_last:
        return g.value_last(g.op("stop_gradient", x.last))
    return g.op("stop_gradient", x.tensor)


@lowers("aten.cross_entropy_loss.default")
def cross_entropy(g: Lowering, node: Node, x: Value, y: Value, weight: Any = None, reduction: int = 1, ignore_index: int = -100,
                  label_smoothing: float = 0.0) -> Any:
    """Logits [n, classes], labels i64 [n]."""
    if weight is not None or reduction != 1 or label_smoothing or x.rank != 2 or y.rank != 1:
        raise g.refuse("weights, label smoothing, other axes or another reduction than the mean")
    return g.reduce("mean", g.op("cross_entropy", x.tensor, y.tensor), [0], False)
