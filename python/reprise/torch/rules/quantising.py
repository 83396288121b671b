# SPDX-License-Identifier: Apache-2.0
"""Rules for quantisation that is only acted (torch.fake_quantize_per_.., torch.ao's modules): elements become those that integers between two
bounds stand for, and gradients pass where the bounds did not hold them."""
from __future__ import annotations

from typing import Any

from .forms import number
from ..graph import Node
from ..lower import Lowering, lowers
from ...solvers import joined, moved, still


def acted(g: Lowering, x: Any, scale: Any, zero_point: Any, low: int, high: int, kind: str) -> list[Any]:
    """As PyTorch: 1 / scale in binary32, the product rounded to even, and which elements are within the bounds. kind: in which the result is
    computed."""
    if x.dtype not in ("f32", "f64"):
        raise g.refuse(f"of elements of {x.dtype}", "Convert them to float32")
    rest = still(g, x.tensor)
    inverse = g.cast(g.op("div", g.fill(1.0, "f32"), g.cast(scale, "f32")), x.dtype)
    place = g.op("add", g.op("round", g.op("mul", rest, inverse)), g.cast(zero_point, x.dtype))
    least, most = g.fill(float(low), x.dtype), g.fill(float(high), x.dtype)
    bounded = g.op("minimum", g.op("maximum", place, least), most)
    value = g.op("mul", g.cast(g.op("sub", bounded, g.cast(zero_point, x.dtype)), kind), g.cast(g.cast(scale, "f32"), kind))
    mask = g.op("logical_and", g.op("ge", place, least), g.op("le", place, most))
    dot = g.op("where", mask, moved(g, x.tensor, rest), g.fill(0.0, x.dtype))
    return [joined(g, g.cast(value, x.dtype), dot), mask]


@lowers("aten.fake_quantize_per_tensor_affine_cachemask.default", "aten._fake_quantize_per_tensor_affine_cachemask_tensor_qparams.default")
def of_a_tensor(g: Lowering, node: Node, x: Any, scale: Any, zero_point: Any, *bounds: Any) -> list[Any]:
    """The tensors that PyTorch's modules give: one element each, and a flag whether anything is done."""
    step, at = (still(g, g.reshape(number(g, v, kind).tensor, [])) for v, kind in ((scale, "f32"), (zero_point, "i32")))
    value, mask = acted(g, x, step, at, bounds[-2], bounds[-1], "f32")
    if len(bounds) == 3:
        on = g.op("ne", g.reshape(number(g, bounds[0], "i64").tensor, []), g.fill(0, "i64"))
        value = g.op("where", on, value, x.tensor)
        mask = g.op("logical_or", mask, g.op("logical_not", g.broadcast(on, mask.shape)))
    return [value, mask]


@lowers("aten.fake_quantize_per_channel_affine_cachemask.default")
def of_channels(g: Lowering, node: Node, x: Any, scale: Any, zero_point: Any, axis: int, low: int, high: int) -> list[Any]:
    if zero_point.real:
        raise g.refuse("whose zero points are real numbers", "Give integers (torch.int32)")
    shape = [n if k == axis % x.rank else 1 for k, n in enumerate(x.shape)]
    step, at = (still(g, g.reshape(v.tensor, shape)) for v in (scale, zero_point))
    return acted(g, x, step, at, low, high, x.dtype)
