# SPDX-License-Identifier: Apache-2.0
"""Logarithm of the gamma function and its derivatives in operations of a program, for the doors: by Lanczos' series with the
coefficients that XLA has (g = 7, 8 terms). `g` is a door's lowering."""
from __future__ import annotations

import math
from typing import Any

G = 7.0
BASE = 0.99999999999980993227684700473478
TERMS = (676.520368121885098567009190444019, -1259.13921672240287047156078755283, 771.3234287776530788486528258894,
         -176.61502916214059906584551354, 12.507343278686904814458936853, -0.13857109526572011689554707,
         9.984369578019570859563e-6, 1.50563273514931155834e-7)


def where(g: Any, which: Any, a: Any, b: Any) -> Any:
    return g.op("where", which, a, b)


class Series:
    """Of x, at z = x - 1, or at -x where x < 1/2 and a reflection gives the value."""

    def __init__(self, g: Any, x: Any, curved: bool = False) -> None:
        def number(v: float) -> Any:
            return g.fill(v, x.dtype)
        self.number = number
        self.reflected = g.op("lt", x, number(0.5))
        self.z = where(g, self.reflected, g.op("neg", x), g.op("sub", x, number(1)))
        self.sum: Any = number(BASE)
        self.slope: Any = number(0)
        self.curve: Any = number(0) if curved else None
        for i, c in enumerate(TERMS):
            at = g.op("add", self.z, number(i + 1))
            part = g.op("div", number(c), at)
            self.sum = g.op("add", self.sum, part)
            part = g.op("div", part, at)
            self.slope = g.op("sub", self.slope, part)
            if curved:
                self.curve = g.op("add", self.curve, g.op("div", g.op("mul", number(2), part), at))
        self.t = g.op("add", self.z, number(G + 0.5))
        self.log_t = g.op("add", number(math.log(G + 0.5)), g.op("log1p", g.op("div", self.z, number(G + 0.5))))


def log_gamma(g: Any, x: Any) -> Any:
    s = Series(g, x)
    power = g.op("sub", g.op("add", s.z, s.number(0.5)), g.op("div", s.t, s.log_t))
    value = g.op("add", g.op("add", g.op("mul", power, s.log_t), s.number(math.log(2 * math.pi) / 2)), g.op("log", s.sum))
    a = g.op("abs", x)
    part = g.op("sub", a, g.op("floor", a))
    part = where(g, g.op("gt", part, s.number(0.5)), g.op("sub", s.number(1), part), part)
    sine = g.op("log", g.op("sin", g.op("mul", part, s.number(math.pi))))
    other = g.op("sub", g.op("sub", s.number(math.log(math.pi)), sine), value)
    pole = g.op("eq", sine, s.number(float("-inf")))
    found = where(g, s.reflected, where(g, pole, s.number(float("inf")), other), value)
    return where(g, g.op("eq", a, s.number(float("inf"))), s.number(float("inf")), found)


def digamma(g: Any, x: Any) -> Any:
    s = Series(g, x)
    value = g.op("sub", g.op("add", s.log_t, g.op("div", s.slope, s.sum)), g.op("div", s.number(G), s.t))
    near = g.op("sub", x, g.op("floor", g.op("add", x, s.number(0.5))))  # the cotangent repeats with each whole number
    angle = g.op("mul", near, s.number(math.pi))
    other = g.op("sub", value, g.op("div", g.op("mul", s.number(math.pi), g.op("cos", angle)), g.op("sin", angle)))
    found = where(g, s.reflected, other, value)
    pole = g.op("logical_and", g.op("le", x, s.number(0)), g.op("eq", x, g.op("floor", x)))
    return where(g, pole, s.number(float("nan")), found)


def trigamma(g: Any, x: Any) -> Any:
    """The derivative of digamma: of the series' logarithm the second one."""
    s = Series(g, x, curved=True)
    ratio = g.op("div", s.slope, s.sum)
    inner = g.op("sub", g.op("div", s.curve, s.sum), g.op("mul", ratio, ratio))
    upon = g.op("div", g.op("add", s.t, s.number(G)), g.op("mul", s.t, s.t))
    value = g.op("add", inner, upon)
    near = g.op("sub", x, g.op("floor", g.op("add", x, s.number(0.5))))
    part = g.op("div", s.number(math.pi), g.op("sin", g.op("mul", near, s.number(math.pi))))
    return where(g, s.reflected, g.op("sub", g.op("mul", part, part), value), value)
