# SPDX-License-Identifier: Apache-2.0
"""Weights that are computed from others: torch.nn.utils.parametrizations.weight_norm."""
from __future__ import annotations

from typing import Any

from ..graph import Node
from ..lower import Lowering, Value, lowers


@lowers("aten._weight_norm.default", "aten._weight_norm_interface.default")
def weight_norm(g: Lowering, node: Node, v: Value, magnitude: Value, dim: int = 0) -> Any:
    """v (magnitude / |v|), the norms over all axes but dim; over all with dim -1. The second form gives the norms too."""
    axes = [a for a in range(v.rank) if dim == -1 or a != dim % v.rank]
    norms = g.op("sqrt", g.reduce("sum", g.op("mul", v.tensor, v.tensor), axes, True))
    scale = g.op("div", magnitude.tensor, norms)
    weight = g.op("mul", v.tensor, scale)
    return weight if node.op == "aten._weight_norm.default" else [weight, norms]
