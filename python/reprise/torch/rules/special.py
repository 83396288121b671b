# SPDX-License-Identifier: Apache-2.0
"""Rules for the gamma function's logarithm and its derivative, as torch.distributions have them."""
from __future__ import annotations

from typing import Any

from .systems import real
from ...gamma import digamma, log_gamma, trigamma
from ...solvers import joined, moved, still
from ..graph import Node
from ..lower import LIMITS, Lowering, lowers

LIMITS.update({"aten.lgamma.default": 1, "aten.special_gammaln.default": 1})
LIMITS.update({f"aten.{n}.default": 0 for n in ("digamma", "special_digamma", "special_psi", "polygamma", "special_polygamma")})


@lowers("aten.lgamma.default", "aten.special_gammaln.default")
def lgamma(g: Lowering, node: Node, x: Any) -> Any:
    """Where the forward takes gradients of its own the second derivative is there too, as Taylor's series has it."""
    rest = still(g, x.tensor)
    step = moved(g, x.tensor, rest)
    change = g.op("mul", digamma(g, rest), step)
    if g.twice:
        half = g.op("mul", g.op("mul", step, step), g.fill(0.5, real(g, x)))
        change = g.op("add", change, g.op("mul", trigamma(g, rest), half))
    return joined(g, log_gamma(g, rest), change)


@lowers("aten.digamma.default", "aten.special_digamma.default", "aten.special_psi.default")
def psi(g: Lowering, node: Node, x: Any) -> Any:
    rest = still(g, x.tensor)
    zero = g.fill(0.0, real(g, x))
    value = g.op("where", g.op("eq", rest, zero), g.op("neg", g.op("div", g.fill(1.0, x.dtype), rest)), digamma(g, rest))
    return joined(g, value, g.op("mul", trigamma(g, rest), moved(g, x.tensor, rest)))


@lowers("aten.polygamma.default", "aten.special_polygamma.default")
def polygamma(g: Lowering, node: Node, n: int, x: Any) -> Any:
    if n == 0:
        return psi(g, node, x)
    if n != 1:
        raise g.refuse(f"the derivative of order {n} of digamma", "Orders 0 and 1 are taken")
    if g.later or g.twice:
        raise g.refuse("the derivative of order 1 of digamma where a gradient goes through it", "Detach it, or keep it outside of what is compiled")
    real(g, x)
    return trigamma(g, still(g, x.tensor))
