# SPDX-License-Identifier: Apache-2.0
"""Rules for variances, interpolations and sums of products of complex elements, and for their convolutions with a named padding."""
from __future__ import annotations

from typing import Any

from .complexes import both, combined, quotient, times, whole
from .forms import elementwise
from .reductions import root
from ..graph import Meta, Node
from ..lower import RULES, Complex, Lowering, Value, lowers_complex

SPREADS = tuple(f"aten.{n}.{o}" for n in ("var", "std", "var_mean", "std_mean") for o in ("default", "dim", "correction"))


@lowers_complex(*SPREADS)
def spread(g: Lowering, node: Node, x: Any, *args: Any, **kwargs: Any) -> Any:
    """A variance is the sum of those of both parts; a mean has both."""
    name, _, form = node.op.removeprefix("aten.").partition(".")
    metas = node.meta if isinstance(node.meta, list) else [node.meta]
    real: list[Meta | None] = [Meta(x.re.dtype, m.shape) for m in metas if m is not None]
    meta = real if len(real) > 1 else real[0]
    made = Node(node.name, f"aten.{name.replace('std', 'var')}.{form}", node.args, node.kwargs, meta, node.where)
    found = [RULES[made.op](g, made, v, *args, **kwargs) for v in (x.re, x.im)]
    found = [f if isinstance(f, list) else [f] for f in found]
    values = [[v if isinstance(v, Value) else g.value(v) for v in f] for f in found]
    total = elementwise(g, "add", values[0][0], values[1][0])
    total = total if isinstance(total, Value) else g.value(total)
    total = root(g, total) if name.startswith("std") else total
    return [total, Complex(g, values[0][1], values[1][1])] if "_mean" in name else total


def added(g: Lowering, node: Node, a: Any, b: Any, name: str = "add") -> Complex:
    dtype = next(v.re.dtype for v in (a, b) if isinstance(v, Complex))
    return whole(g, node, *(elementwise(g, name, *p) for p in zip(both(g, a, dtype), both(g, b, dtype))))


@lowers_complex("aten.lerp.Scalar", "aten.lerp.Tensor")
def lerp(g: Lowering, node: Node, a: Any, b: Any, weight: Any) -> Any:
    return added(g, node, a, times(g, node, added(g, node, b, a, "sub"), weight))


@lowers_complex("aten.addcmul.default", "aten.addcdiv.default")
def addc(g: Lowering, node: Node, x: Any, a: Any, b: Any, *, value: Any = 1) -> Any:
    y = times(g, node, a, b) if "addcmul" in node.op else quotient(g, node, a, b)
    return added(g, node, y if value == 1 else times(g, node, y, value), x)


@lowers_complex(*(f"aten.conv{k}d.padding" for k in (1, 2, 3)))
def convolved(g: Lowering, node: Node, x: Any, weight: Any, bias: Any = None, *rest: Any, **more: Any) -> Any:
    y = combined(g, node, [x, weight], lambda xs: RULES[node.op](g, node, *xs, None, *rest, **more))
    if bias is None:
        return y
    shape = [bias.size, *[1] * (y.rank - 2 if x.rank == weight.rank else y.rank - 1)]
    return added(g, node, y, Complex(g, *(g.value(g.reshape(b.tensor, shape)) for b in both(g, bias, y.re.dtype))))
