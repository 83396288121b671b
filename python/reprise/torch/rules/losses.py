# SPDX-License-Identifier: Apache-2.0
"""Rules for PyTorch's losses. `reduction` is 0 for none, 1 for the mean, 2 for the sum."""
from __future__ import annotations

import math
from typing import Any

from .arithmetic import computable, dtype_of, stopped, xlogy_of
from .forms import elementwise, number, op, pair, promoted
from ..graph import Node
from ..lower import LIMITS, Lowering, Value, lowers

Tensor = Any


def finished(g: Lowering, y: Any, reduction: int) -> Any:
    """A loss of elements, reduced."""
    t = y.tensor if isinstance(y, Value) else y
    return t if reduction == 0 else g.reduce("mean" if reduction == 1 else "sum", t, [], False) if t.shape else t


# ---- of classes ----

@lowers("aten.cross_entropy_loss.default")
def cross_entropy(g: Lowering, node: Node, x: Any, target: Any, weight: Any = None, reduction: int = 1, ignore_index: int = -100,
                  label_smoothing: float = 0.0) -> Any:
    """Logits [n, classes, ..] or [classes], labels [n, ..] or probabilities of the logits' shape."""
    computable(g, x.dtype)
    t, classes = classes_last(g, x)
    if target.real:
        return of_probabilities(g, t, classes_last(g, target)[0], weight, reduction, label_smoothing, x)
    if weight is None and not label_smoothing and in_range(g):
        return finished(g, of_labels(g, t, target.tensor), reduction)
    valid, labels = checked(g, target, ignore_index)
    loss = of_labels(g, t, labels)
    if weight is None and not label_smoothing:
        return averaged(g, loss, valid, None, reduction)
    scale = None if weight is None else g.reshape(g.op("gather", weight.tensor, g.reshape(labels, [target.size]), axis=0), target.shape)
    y = loss if scale is None else g.op("mul", loss, scale)
    if label_smoothing:
        logs = g.op("log_softmax", t)
        logs = logs if weight is None else g.op("mul", logs, weight.tensor)
        smooth = g.op("neg", g.reduce("sum", logs, [len(logs.shape) - 1], False))
        smooth = g.op("mul", smooth, g.fill(label_smoothing / classes, x.dtype))
        y = g.op("add", g.op("mul", y, g.fill(1 - label_smoothing, x.dtype)), smooth)
    return averaged(g, y, valid, scale, reduction)


def of_labels(g: Lowering, t: Tensor, labels: Tensor) -> Tensor:
    """The loss of each label, in the labels' shape: the operation takes rows, images and sequences are as many rows as they have labels."""
    if len(t.shape) == 2:
        return g.op("cross_entropy", t, labels)
    rows = math.prod(labels.shape)
    return g.reshape(g.op("cross_entropy", g.reshape(t, [rows, t.shape[-1]]), g.reshape(labels, [rows])), labels.shape)


def in_range(g: Lowering) -> bool:
    """Whether whoever lowers says that no label is to be ignored: one that is then is an error of the step."""
    return bool(getattr(g, "labels_in_range", False))


def classes_last(g: Lowering, x: Value) -> tuple[Tensor, int]:
    """[n, classes, ..] as [n, .., classes]."""
    if x.rank < 3:
        return x.tensor, x.shape[-1]
    return x.last, x.shape[1]


def checked(g: Lowering, target: Value, ignore: int) -> tuple[Tensor, Tensor]:
    """Which labels count, and the labels with 0 where they do not."""
    k = target.tensor if target.dtype in ("i32", "i64") else g.cast(target.tensor, "i64")
    valid = g.op("ne", k, g.fill(ignore, k.dtype))
    return valid, g.op("where", valid, k, g.fill(0, k.dtype))


def averaged(g: Lowering, loss: Tensor, valid: Tensor, scale: Any, reduction: int) -> Tensor:
    """Losses of labels that count; the mean is by their weights."""
    y = g.op("where", valid, loss, g.fill(0, loss.dtype))
    if reduction != 1:
        return finished(g, y, reduction)
    weight = g.cast(valid, loss.dtype) if scale is None else g.op("where", valid, scale, g.fill(0, loss.dtype))
    return g.op("div", *[g.reduce("sum", t, [], False) if t.shape else t for t in (y, weight)])


def of_probabilities(g: Lowering, t: Tensor, p: Tensor, weight: Any, reduction: int, smoothing: float, x: Value) -> Tensor:
    logs = g.op("log_softmax", t)
    if smoothing:
        p = g.op("add", g.op("mul", p, g.fill(1 - smoothing, p.dtype)), g.fill(smoothing / p.shape[-1], p.dtype))
    y = g.op("mul", logs, p)
    y = y if weight is None else g.op("mul", y, weight.tensor)
    y = g.op("neg", g.reduce("sum", y, [len(y.shape) - 1], False))
    if reduction != 1 or not y.shape:
        return finished(g, y, reduction)
    return g.op("div", g.reduce("sum", y, [], False), g.fill(math.prod(y.shape), y.dtype))


@lowers("aten.nll_loss_nd.default", "aten.nll_loss.default", "aten.nll_loss2d.default", "aten.nll_loss_forward.default",
        "aten.nll_loss2d_forward.default")
def nll_loss(g: Lowering, node: Node, x: Any, target: Any, weight: Any = None, reduction: int = 1, ignore_index: int = -100) -> Any:
    """x [n, classes, ..] of log-probabilities. The forward forms give the total weight too."""
    t, classes = classes_last(g, x)
    valid, labels = checked(g, target, ignore_index)
    one = [*labels.shape, 1]
    taken = g.reshape(g.op("take_along", t, g.reshape(labels, one), axis=len(one) - 1), labels.shape)
    loss = g.op("neg", taken)
    scale = None if weight is None else g.reshape(g.op("gather", weight.tensor, g.reshape(labels, [target.size]), axis=0), target.shape)
    y = averaged(g, loss if scale is None else g.op("mul", loss, scale), valid, scale, reduction)
    if "forward" not in node.op:
        return y
    total = g.cast(valid, x.dtype) if scale is None else g.op("where", valid, scale, g.fill(0, x.dtype))
    return [y, (g.reduce("sum", total, [], False) if total.shape else total) if reduction else g.fill(0, x.dtype)]


@lowers("aten.multi_margin_loss.default")
def multi_margin(g: Lowering, node: Node, x: Any, target: Any, p: float = 1, margin: float = 1, weight: Any = None,
                 reduction: int = 1) -> Any:
    t = x.tensor if x.rank == 2 else g.reshape(x.tensor, [1, x.size])
    n, c = t.shape
    labels = g.reshape(target.tensor, [n, 1])
    right = g.op("take_along", t, labels, axis=1)
    z = op(g, "relu", op(g, "add", g.value(g.op("sub", t, right)), margin))
    z = z if p == 1 else elementwise(g, "mul", z, z)
    if weight is not None:
        z = elementwise(g, "mul", z, g.value(g.reshape(g.op("gather", weight.tensor, g.reshape(labels, [n]), axis=0), [n, 1])))
    own = g.op("eq", labels, g.reshape(g.op("iota", n=c, dtype=labels.dtype), [1, c]))
    z = elementwise(g, "where", own, g.fill(0, x.dtype), z)
    y = op(g, "div", g.value(g.reduce("sum", z.tensor, [1], False)), float(c))
    return finished(g, y if x.rank == 2 else g.value(g.reshape(y.tensor, [])), reduction)


# ---- of numbers ----

@lowers("aten.mse_loss.default", "aten.l1_loss.default", "aten.smooth_l1_loss.default", "aten.huber_loss.default")
def distance(g: Lowering, node: Node, x: Any, target: Any, reduction: int = 1, beta: float = 1.0) -> Any:
    x, target = pair(g, x, target, computable(g, dtype_of(g, node)))
    name, d = node.op.split(".")[1], elementwise(g, "sub", x, target)
    if name == "mse_loss":
        return finished(g, elementwise(g, "mul", d, d), reduction)
    size = elementwise(g, "abs", d)
    if name == "l1_loss" or name == "smooth_l1_loss" and beta == 0:
        return finished(g, size, reduction)
    square = op(g, "mul", elementwise(g, "mul", d, d), 0.5)
    if name == "smooth_l1_loss":
        near, far = op(g, "div", square, beta), op(g, "sub", size, 0.5 * beta)
        inside = op(g, "lt", size, beta)
    else:
        near, far = square, op(g, "mul", op(g, "sub", size, 0.5 * beta), beta)
        inside = op(g, "le", size, beta)
    return finished(g, elementwise(g, "where", inside, near, far), reduction)


@lowers("aten.binary_cross_entropy.default")
def binary_cross_entropy(g: Lowering, node: Node, x: Any, target: Any, weight: Any = None, reduction: int = 1) -> Any:
    """Logarithms are at least -100, and the gradient by x is (x - t) / max(x (1 - x), 1e-12), as in PyTorch also where x is 0 or
    1: the value is taken of an x without gradient, and x less itself brings it."""
    target, one, whole = number(g, target, x.dtype), g.fill(1, x.dtype), x
    x = elementwise(g, "stop_gradient", whole)

    def log(v: Value) -> Value:
        y = elementwise(g, "log", v)
        return elementwise(g, "where", op(g, "lt", y, -100.0), g.fill(-100.0, x.dtype), y)

    rest = elementwise(g, "sub", one, x)
    y = elementwise(g, "sub", elementwise(g, "mul", elementwise(g, "sub", target, one), log(rest)), elementwise(g, "mul", target, log(x)))
    slope = elementwise(g, "div", elementwise(g, "sub", x, target), op(g, "maximum", elementwise(g, "mul", x, rest), 1e-12))
    y = elementwise(g, "add", y, elementwise(g, "mul", elementwise(g, "sub", whole, x), elementwise(g, "stop_gradient", slope)))
    if g.twice:  # and the second derivative, as Taylor's series has it: (x^2 - 2 x t + t) / max(x (1 - x), 1e-12)^2
        step, least = elementwise(g, "sub", whole, x), op(g, "maximum", elementwise(g, "mul", x, rest), 1e-12)
        bend = elementwise(g, "add", elementwise(g, "mul", x, elementwise(g, "sub", x, op(g, "mul", target, 2.0))), target)
        bend = elementwise(g, "stop_gradient", elementwise(g, "div", bend, elementwise(g, "mul", least, least)))
        y = elementwise(g, "add", y, elementwise(g, "mul", op(g, "mul", elementwise(g, "mul", step, step), 0.5), bend))
    return finished(g, y if weight is None else elementwise(g, "mul", y, number(g, weight, x.dtype)), reduction)


LIMITS["aten.binary_cross_entropy.default"] = 1


@lowers("aten.binary_cross_entropy_with_logits.default")
def bce_with_logits(g: Lowering, node: Node, x: Any, target: Any, weight: Any = None, pos_weight: Any = None, reduction: int = 1) -> Any:
    dtype = dtype_of(g, node)
    x, target = number(g, x, dtype), number(g, target, dtype)
    if pos_weight is None:
        y = elementwise(g, "bce_logits", x, target)
    else:  # (1 - t) x + (1 + (w - 1) t) log(1 + e^-x)
        scale = op(g, "add", elementwise(g, "mul", op(g, "sub", pos_weight, 1), target), 1)
        soft = elementwise(g, "softplus", op(g, "neg", x), beta=1.0, threshold=40.0)
        rest = elementwise(g, "mul", elementwise(g, "sub", g.fill(1, dtype), target), x)
        y = elementwise(g, "add", rest, elementwise(g, "mul", scale, soft))
    return finished(g, y if weight is None else elementwise(g, "mul", y, number(g, weight, dtype)), reduction)


@lowers("aten.kl_div.default")
def kl_div(g: Lowering, node: Node, x: Any, target: Any, reduction: int = 1, *, log_target: bool = False) -> Any:
    x, target = pair(g, x, target, dtype_of(g, node))
    if log_target:
        y = elementwise(g, "mul", elementwise(g, "exp", target), elementwise(g, "sub", target, x))
    else:
        y = elementwise(g, "sub", xlogy_of(g, target, target), elementwise(g, "mul", target, x))
    return finished(g, y, reduction)


@lowers("aten.poisson_nll_loss.default")
def poisson(g: Lowering, node: Node, x: Any, target: Any, log_input: bool, full: bool, eps: float, reduction: int) -> Any:
    target = number(g, target, x.dtype)
    if log_input:
        y = elementwise(g, "sub", elementwise(g, "exp", x), elementwise(g, "mul", target, x))
    else:
        y = elementwise(g, "sub", x, elementwise(g, "mul", target, elementwise(g, "log", op(g, "add", x, eps))))
    if full:
        safe = elementwise(g, "where", op(g, "gt", target, 1), target, g.fill(1, x.dtype))
        stirling = elementwise(g, "sub", elementwise(g, "mul", safe, elementwise(g, "log", safe)), safe)
        stirling = elementwise(g, "add", stirling, op(g, "mul", elementwise(g, "log", op(g, "mul", safe, 2 * math.pi)), 0.5))
        y = elementwise(g, "add", y, elementwise(g, "where", op(g, "gt", target, 1), stirling, g.fill(0, x.dtype)))
    return finished(g, y, reduction)


@lowers("aten.soft_margin_loss.default")
def soft_margin(g: Lowering, node: Node, x: Any, target: Any, reduction: int = 1) -> Any:
    z = op(g, "neg", elementwise(g, "mul", *pair(g, target, x, promoted(target, x))))
    return finished(g, elementwise(g, "softplus", z, beta=1.0, threshold=40.0), reduction)


@lowers("aten.hinge_embedding_loss.default")
def hinge_embedding(g: Lowering, node: Node, x: Any, target: Any, margin: float = 1.0, reduction: int = 1) -> Any:
    target = number(g, target, x.dtype)
    zero = g.fill(0, x.dtype)
    far = elementwise(g, "where", op(g, "ne", target, 1), op(g, "relu", elementwise(g, "sub", g.fill(margin, x.dtype), x)), zero)
    near = elementwise(g, "where", op(g, "ne", target, -1), x, zero)
    return finished(g, elementwise(g, "add", far, near), reduction)


@lowers("aten.margin_ranking_loss.default")
def margin_ranking(g: Lowering, node: Node, a: Any, b: Any, target: Any, margin: float = 0.0, reduction: int = 1) -> Any:
    d = elementwise(g, "sub", *pair(g, a, b, promoted(a, b)))
    d = elementwise(g, "mul", *pair(g, op(g, "neg", target), d, promoted(target, d)))
    return finished(g, op(g, "relu", op(g, "add", d, margin)), reduction)
