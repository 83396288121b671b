# SPDX-License-Identifier: Apache-2.0
"""Rules for PyTorch's norms of layers. Where the operations of programs have channels last, so have the rules."""
from __future__ import annotations

import math
from typing import Any

from .arithmetic import computable, stopped
from .forms import elementwise, number, op
from ..graph import Node
from ..lower import Lowering, Value, lowers

Tensor = Any


def vector(g: Lowering, v: Any, n: int, dtype: str, default: float) -> Tensor:
    """Weights as [n]; ones or zeros where there are none."""
    return g.fill(default, dtype, [n]) if v is None else g.reshape(number(g, v, dtype).tensor, [n])


@lowers("aten.layer_norm.default", "aten.native_layer_norm.default")
def layer_norm(g: Lowering, node: Node, x: Any, normalized: Any, weight: Any = None, bias: Any = None, eps: float = 1e-5,
               cudnn_enable: bool = False) -> Any:
    """Over the last axes, written as one; of native_layer_norm mean and reciprocal deviation too."""
    computable(g, x.dtype)
    n = math.prod(normalized)
    lead = list(x.shape[:x.rank - len(normalized)])
    t = g.reshape(x.tensor, [*lead, n])
    gamma, beta = vector(g, weight, n, x.dtype, 1), vector(g, bias, n, x.dtype, 0)
    if x.size == 0:
        y: Any = x
    elif 0 <= eps < 1e30:
        y = g.reshape(g.op("layer_norm", t, gamma, beta, eps=float(eps)), x.shape)
    else:
        y = g.reshape(g.op("add", g.op("mul", normalised(g, t, [len(lead)], eps), gamma), beta), x.shape)
    if "native" not in node.op:
        return y
    shape = [*lead, *[1] * len(normalized)]
    if x.size == 0:
        return [y, g.fill(0, x.dtype, shape), g.fill(0, x.dtype, shape)]
    axis = [len(lead)]
    mean = g.reshape(g.op("mean", t, axes=axis), shape)
    dev = g.op("rsqrt", g.op("add", g.op("var", t, axes=axis, correction=0), g.fill(eps, x.dtype)))
    return [y, mean, g.reshape(dev, shape)]


def normalised(g: Lowering, t: Tensor, axes: list[int], eps: float) -> Tensor:
    """(t - mean) / sqrt(var + eps) in single operations, where the norms do not take an eps that is below 0."""
    centred = g.op("sub", t, g.op("mean", t, axes=axes))
    return g.op("mul", centred, g.op("rsqrt", g.op("add", g.op("var", t, axes=axes, correction=0), g.fill(eps, t.dtype))))


@lowers("aten.rms_norm.default", "aten._fused_rms_norm.default")
def rms_norm(g: Lowering, node: Node, x: Any, normalized: Any, weight: Any = None, eps: Any = None) -> Any:
    n = math.prod(normalized)
    eps = (1.1920928955078125e-07 if x.dtype == "f32" else 2.220446049250313e-16) if eps is None else eps
    t = g.reshape(x.tensor, [*x.shape[:x.rank - len(normalized)], n])
    if x.size == 0:
        return x
    y = g.reshape(g.op("rms_norm", t, vector(g, weight, n, x.dtype, 1), eps=float(eps)), x.shape)
    return y if "fused" not in node.op else [y, None]


@lowers("aten.group_norm.default", "aten.native_group_norm.default")
def group_norm(g: Lowering, node: Node, x: Any, *args: Any) -> Any:
    if "native" in node.op:
        weight, bias, _, _, _, groups, eps = args
    else:
        groups, weight, bias, eps = (*args, *(None, None, 1e-5)[len(args) - 1:])[:4]
    c = x.shape[1]
    if x.size == 0:
        return [x, None, None] if "native" in node.op else x
    gamma, beta = vector(g, weight, c, x.dtype, 1), vector(g, bias, c, x.dtype, 0)
    if 0 <= eps < 1e30:
        y, mean, var = g.op("group_norm", spread(g, x), gamma, beta, eps=float(eps), groups=int(groups))
        out = gathered(g, y, x)
    else:
        t = g.reshape(x.tensor, [x.shape[0], int(groups), x.size // (x.shape[0] * int(groups))])
        mean, var = g.op("mean", t, axes=[2]), g.op("var", t, axes=[2], correction=0)
        hat = g.reshape(normalised(g, t, [2], eps), [*x.shape[:2], math.prod(x.shape[2:])])
        y = g.op("add", g.op("mul", hat, g.reshape(gamma, [c, 1])), g.reshape(beta, [c, 1]))
        out = g.value(g.reshape(y, x.shape))
    if "native" not in node.op:
        return out
    dev = g.op("rsqrt", g.op("add", var, g.fill(eps, x.dtype)))
    return [out, g.reshape(mean, g.meta(node, 1).shape), g.reshape(dev, g.meta(node, 2).shape)]


def spread(g: Lowering, x: Value) -> Tensor:
    """[n, c, ..] as [n, .., c] with at least one axis between; [n, c] as [n, c] is as [n, 1, c]."""
    return x.last if x.rank > 2 else g.reshape(x.tensor, [x.shape[0], 1, x.shape[1]])


def gathered(g: Lowering, t: Tensor, x: Value) -> Value:
    return g.value_last(t) if x.rank > 2 else g.value(g.reshape(t, x.shape))


@lowers("aten.instance_norm.default")
def instance_norm(g: Lowering, node: Node, x: Any, weight: Any, bias: Any, mean: Any, var: Any, use_input_stats: bool, momentum: float,
                  eps: float, cudnn: bool = False) -> Any:
    c = x.shape[1]
    if not use_input_stats:
        return scaled(g, x, mean, var, weight, bias, eps)
    if mean is not None or var is not None:
        raise g.refuse("running statistics of an instance norm", "Use track_running_stats=False")
    y, _, _ = g.op("group_norm", spread(g, x), vector(g, weight, c, x.dtype, 1), vector(g, bias, c, x.dtype, 0), eps=float(eps), groups=c)
    return gathered(g, y, x)


def scaled(g: Lowering, x: Value, mean: Value, var: Value, weight: Any, bias: Any, eps: float) -> Value:
    """By statistics that are given."""
    c = x.shape[1]
    t = x.last if x.rank > 2 else x.tensor
    y = g.op("batch_norm", t, vector(g, weight, c, x.dtype, 1), vector(g, bias, c, x.dtype, 0), vector(g, mean, c, x.dtype, 0),
             vector(g, var, c, x.dtype, 1), eps=float(eps))
    return g.value_last(y) if x.rank > 2 else g.value(y)


@lowers("aten.batch_norm.default", "aten._native_batch_norm_legit.default", "aten._native_batch_norm_legit.no_stats",
        "aten._native_batch_norm_legit_no_training.default", "aten._native_batch_norm_legit_functional.default",
        "aten.native_batch_norm.default", "aten._batch_norm_no_update.default", "aten.cudnn_batch_norm.default",
        "aten._batch_norm_with_update_functional.default")
def batch_norm(g: Lowering, node: Node, x: Any, weight: Any, bias: Any, *args: Any) -> Any:
    """Normalised by the batch's statistics in training, and then of the functional form the new running statistics: the
    variance that is kept has a correction of one."""
    name = node.op.split(".")[1]
    computable(g, x.dtype)
    given: list[Any] = list(args)
    if node.op.endswith("no_stats"):
        given = [None, None, *given]
    elif "no_training" in name or "no_update" in name or "with_update" in name:
        given.insert(2, "with_update" in name)
    mean, var, training, momentum, eps = given[:5]
    functional, single = name.endswith("functional"), name == "batch_norm"
    if not training:
        y: Any = scaled(g, x, mean, var, weight, bias, eps)
        if single:
            return y
        saved = [g.fill(0, x.dtype, g.meta(node, i).shape) if len_of(node) > i and g.meta(node, i).size == 0 else None for i in (1, 2)]
        return [y, *saved, *([mean, var] if functional else [None])][:len_of(node)]
    c, t = x.shape[1], x.last if x.rank > 2 else x.tensor
    y, m, v = g.op("batch_norm_train", t, vector(g, weight, c, x.dtype, 1), vector(g, bias, c, x.dtype, 0), eps=float(eps))
    out = g.value_last(y) if x.rank > 2 else g.value(y)
    if single:
        if mean is not None:
            raise g.refuse("running statistics that are updated in place", "Export it functionally")
        return out
    save = [m, g.op("rsqrt", g.op("add", v, g.fill(eps, x.dtype)))]
    if not functional:
        return [out, *save, None][:len_of(node)]
    count = x.size // c
    kept = [running(g, mean, m, momentum, 1.0), running(g, var, v, momentum, count / max(count - 1, 1))]
    return [out, *save, *([None] if "with_update" in name else []), *kept]


def len_of(node: Node) -> int:
    return len(node.meta) if isinstance(node.meta, list) else 1


def running(g: Lowering, old: Value, new: Tensor, momentum: float, factor: float) -> Tensor:
    """(1 - momentum) old + momentum factor new, without a gradient."""
    new = g.op("stop_gradient", new)
    fresh = new if momentum * factor == 1 else g.op("mul", new, g.fill(momentum * factor, new.dtype))
    fresh = g.cast(fresh, old.dtype)
    return fresh if momentum == 1 else g.op("add", g.op("mul", old.tensor, g.fill(1 - momentum, old.dtype)), fresh)


@lowers("aten.local_response_norm.default")
def local_response_norm(g: Lowering, node: Node, x: Any, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0) -> Any:
    c, lead, behind = x.shape[1], size // 2, (size - 1) // 2
    t = x.tensor
    square = g.op("pad", g.op("mul", t, t), before=[0, lead, *[0] * (x.rank - 2)], after=[0, behind, *[0] * (x.rank - 2)])
    total = g.slice(square, 1, 0, c)
    for i in range(1, size):
        total = g.op("add", total, g.slice(square, 1, i, i + c))
    base = op(g, "add", op(g, "mul", g.value(total), alpha / size), k)
    return elementwise(g, "div", x, elementwise(g, "pow", base, g.fill(beta, x.dtype)))


@lowers("reprise.stop_gradient", "aten.detach_.default")
def stop_gradient(g: Lowering, node: Node, x: Any) -> Any:
    """The gradient ends here."""
    return x if x.known is not None else stopped(g, x)
