# SPDX-License-Identifier: Apache-2.0
"""Logarithm of the gamma function and its derivative; the transform of lines that complexes.py asks for."""
from __future__ import annotations

from ..gamma import digamma, log_gamma, trigamma
from ..solvers import moved
from .lowering import Node, Value, handles
from .regions import at_rest, joined


@handles("lgamma")
def lgamma(n: Node) -> Value:
    g, x = n.g, n.computed(0)
    rest = at_rest(g, x, n.inputs[0])
    value = log_gamma(g, rest)
    if not n.active:
        return n.made(value)
    return n.made(joined(n, value, g.op("mul", digamma(g, rest), moved(g, x, rest))))


@handles("digamma")
def digamma_(n: Node) -> Value:
    g, x = n.g, n.computed(0)
    rest = at_rest(g, x, n.inputs[0])
    value = digamma(g, rest)
    if not n.active:
        return n.made(value)
    return n.made(joined(n, value, g.op("mul", trigamma(g, rest), moved(g, x, rest))))


@handles("fft_of_lines")
def fft_of_lines(n: Node) -> list[Value]:
    made = n.g.op("fft", n.tensor(0), n.tensor(1), inverse=bool(n.need("inverse")), transposed=bool(n.need("transposed")))
    return [n.made(t, i) for i, t in enumerate(made)]
