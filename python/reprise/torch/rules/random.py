# SPDX-License-Identifier: Apache-2.0
"""Rules for what draws random numbers. Each place has a stream of its own, in the order of the graph; the numbers are not
PyTorch's, but those of the contract, by seed, step and stream."""
from __future__ import annotations

from typing import Any

from .arithmetic import computable
from .forms import number, op, room
from ..graph import Node
from ..lower import Lowering, Value, lowers

Tensor = Any


@lowers("aten.dropout.default", "aten.native_dropout.default")
def dropout(g: Lowering, node: Node, x: Any, p: float, train: Any = True) -> Any:
    """native_dropout's second value, what was kept, is a draw of its own of ones by the same stream."""
    native = "native" in node.op
    if p == 0 or train is False:
        return [x, g.fill(1, "bool", x.shape) if g.wants(node, 1) else None] if native else x
    if p == 1:
        zero = op(g, "mul", x, 0)  # its gradient is 0, where a constant has none: an optimizer tells these apart
        return [zero, g.fill(0, "bool", x.shape)] if native else zero
    y, stream = dropped(g, x, p)
    if not native:
        return y
    if not g.wants(node, 1):
        return [y, None]
    kept = g.op("dropout", g.fill(1, x.dtype, x.shape), g.rng(), rate=float(p), stream=stream)
    return [y, g.cast(kept, "bool")]


def dropped(g: Lowering, x: Value, p: float) -> tuple[Value, int]:
    computable(g, x.dtype)
    stream = g.next_stream()
    if x.channels_last:
        return g.value_last(g.op("dropout", x.last, g.rng(), rate=float(p), stream=stream)), stream
    return g.value(g.op("dropout", x.tensor, g.rng(), rate=float(p), stream=stream)), stream


@lowers("aten.feature_dropout.default", "aten.alpha_dropout.default")
def feature_dropout(g: Lowering, node: Node, x: Any, p: float, train: bool) -> Any:
    if not train or p == 0:
        return x
    if "alpha" in node.op:
        raise g.refuse("alpha dropout", "Use dropout")
    mask, _ = dropped(g, g.value(g.fill(1, x.dtype, [*x.shape[:2], *[1] * (x.rank - 2)])), p)
    return g.op("mul", x.tensor, mask.tensor)


@lowers("aten.rand.default", "aten.rand_like.default", "aten.uniform.default", "aten.randn.default", "aten.randn_like.default",
        "aten.normal_functional.default")
def drawn(g: Lowering, node: Node, *args: Any, **_: Any) -> Any:
    m, name = g.meta(node), node.op.split(".")[1]
    computable(g, m.dtype)
    stream, shape = g.next_stream(), list(m.shape)
    if name in ("randn", "randn_like", "normal_functional"):
        mean, deviation = args[1:3] if name == "normal_functional" and len(args) > 2 else (0, 1)
        return g.op("normal", g.rng(), mean=float(mean), deviation=float(deviation), stream=stream, shape=shape, dtype=m.dtype)
    low, high = args[1:3] if name == "uniform" and len(args) > 2 else (0, 1)
    return g.op("uniform", g.rng(), low=float(low), high=float(high), stream=stream, shape=shape, dtype=m.dtype)


def uniform(g: Lowering, shape: Any, dtype: str = "f32") -> Tensor:
    return g.op("uniform", g.rng(), low=0.0, high=1.0, stream=g.next_stream(), shape=list(shape), dtype=dtype)


@lowers("aten.bernoulli.default", "aten.bernoulli.p", "aten.bernoulli.Tensor", "aten.bernoulli.p_")
def bernoulli(g: Lowering, node: Node, x: Any, p: Any = None) -> Any:
    m = g.meta(node)
    chance = x if node.op == "aten.bernoulli.default" else p
    dtype = chance.dtype if isinstance(chance, Value) and chance.real else "f32"
    chance = number(g, chance, dtype)
    return g.cast(g.op("lt", uniform(g, m.shape, dtype), g.broadcast(chance.tensor, m.shape)), m.dtype)


@lowers("aten.randint.default", "aten.randint.low", "aten.randint_like.default", "aten.randint_like.low_dtype")
def randint(g: Lowering, node: Node, *args: Any, **_: Any) -> Any:
    """Whole parts of uniform numbers of binary64, whose 53 bits are many more than the range has."""
    m = g.meta(node)
    ends = [a for a in args if isinstance(a, int) and not isinstance(a, bool)]
    low, high = ends if len(ends) == 2 else (0, ends[0])
    if high - low > 1 << 40:
        raise g.refuse("more than 2^40 numbers")
    t = op(g, "mul", g.value(uniform(g, m.shape, "f64")), float(high - low))
    return op(g, "add", g.value(g.cast(g.cast(g.op("floor", t.tensor), "i64"), m.dtype)), low)


@lowers("aten.randperm.default")
def randperm(g: Lowering, node: Node, n: int, **_: Any) -> Any:
    room(g, n)
    _, index = g.op("sort", uniform(g, [n], "f64"), descending=False)
    return g.cast(index, g.meta(node).dtype)


@lowers("aten.multinomial.default", "aten.exponential.default", "aten.geometric.default", "aten.cauchy.default", "aten.log_normal.default",
        "aten.normal.Tensor_Tensor", "aten.poisson.default", "aten._standard_gamma.default", "aten.rrelu_with_noise.default")
def no_draw(g: Lowering, node: Node, *_: Any, **__: Any) -> Any:
    raise g.refuse("a distribution that programs do not draw", "Compose it of torch.rand or torch.randn")
