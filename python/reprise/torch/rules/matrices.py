# SPDX-License-Identifier: Apache-2.0
"""Rules for PyTorch's functions of matrices."""
from __future__ import annotations

import math
from typing import Any

import numpy as np

from .arithmetic import computable
from .linear import product
from ..graph import Node
from ..lower import Lowering, Value, lowers

Tensor = Any
DEGREE, SQUARINGS = 19, 16  # of a matrix of norm 1 at most the rest of the series is below 1e-18


@lowers("aten.linalg_matrix_exp.default", "aten.matrix_exp.default")
def matrix_exp(g: Lowering, node: Node, x: Value) -> Any:
    """exp(a) = exp(a / 2^s)^(2^s), s the smallest for which a norm is 1 at most: a power series, then squares. A matrix whose norm is
    above 2^16 is NaN."""
    dtype, n = computable(g, x.dtype), x.shape[-1]
    if not x.size:
        return x
    one = [*x.shape[:-2], 1, 1]
    size = g.reduce("max", g.reduce("sum", g.op("abs", g.op("stop_gradient", x.tensor)), [x.rank - 2], True), [x.rank - 1], True)
    above = [g.op("gt", size, g.fill(2.0 ** k, dtype, one)) for k in range(SQUARINGS + 1)]
    scale = g.fill(1.0, dtype, one)
    for k in above[:SQUARINGS]:
        scale = g.op("mul", scale, g.op("where", k, g.fill(0.5, dtype, one), g.fill(1.0, dtype, one)))
    unit = g.constant(np.eye(n, dtype={"f32": np.float32, "f64": np.float64}[dtype]))
    powers = [unit, g.op("mul", x.tensor, scale)]
    for _ in range(3):
        powers.append(product(g, powers[-1], powers[1]))
    y: Any = None
    for first in range(DEGREE - 3, -1, -4):  # in powers of the fourth power, from the highest
        part: Any = None
        for k in range(4):
            term = g.op("mul", powers[k], g.fill(1 / math.factorial(first + k), dtype))
            part = term if part is None else g.op("add", term, part)
        y = part if y is None else g.op("add", product(g, y, powers[4]), part)
    for k in above[:SQUARINGS]:
        y = g.op("where", g.broadcast(k, x.shape), product(g, y, y), y)
    return g.op("where", g.broadcast(above[SQUARINGS], x.shape), g.fill(math.nan, dtype, x.shape), y)
