# SPDX-License-Identifier: Apache-2.0
"""Images that lie channels last where the model has channels first. What computes element by element does so in the order in which the
elements lie, so that a step between two convolutions never turns an image around, and none reads one that is turned."""
from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence

from .graph import Handler, Node, Value

ELEMENTWISE = frozenset("""Abs Add Celu Ceil Clip Div Elu Erf Exp Floor Gelu HardSigmoid HardSwish LeakyRelu Log Max Mean Min Mish Mul Neg
PRelu Pow Reciprocal Relu Round Selu Sigmoid Softplus Softsign Sqrt Sub Sum Swish Tanh ThresholdedRelu""".split())
BY_ONE = frozenset(("Cast", "DequantizeLinear", "QuantizeLinear"))  # element by element, where other operands are one number each
LAST, FIRST = [0, 2, 3, 1], [0, 3, 1, 2]


def suits(n: Node) -> bool:
    """Whether an image is among the operands, and no other computed tensor of pixels, which would lie in another order."""
    given = [v for v in n.inputs if v is not None]
    if n.kind in BY_ONE:
        return given[0].image and math.prod(given[0].shape[2:]) > 1 and all(v.size == 1 for v in given[1:])
    return n.kind in ELEMENTWISE and any(v.image and math.prod(v.shape[2:]) > 1 for v in given) and all(
        v.image or v.size == 1 or v.rank <= 4 and (v.known is not None or v.weight is not None or of_channels(v)) for v in given)


def of_channels(v: Value) -> bool:
    """Whether a tensor is one number for each channel, which is turned without being moved."""
    return v.rank in (3, 4) and v.size == v.shape[-3]


def applied(n: Node, handler: Handler) -> Value | Sequence[Value | None]:
    """An elementwise operator on its operands channels last."""
    given, g = list(n.inputs), n.g
    for i, v in enumerate(given):
        if v is not None and v.size > 1:
            t = g.transpose(g.reshape(g.tensor(v), [1] * (4 - v.rank) + list(v.shape)), LAST)
            n.inputs[i] = Value(v.dtype, tuple(t.shape), t, of=v.of)
    found = handler(n)
    assert isinstance(found, Value)
    made = g.made(g.transpose(g.tensor(found), FIRST), found.dtype, *[v for v in given if v is not None])
    return dataclasses.replace(made, image=True)
