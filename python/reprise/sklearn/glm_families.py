# SPDX-License-Identifier: Apache-2.0
"""Families and links of generalised linear models, in operations on binary64 tensors, eager or symbolic.

A mean goes through these formulas as the pair (mu, 1 - mu), so that a probability near 1 keeps its digits."""
from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from .base import Array, append


def less(a: Any, b: Any) -> Any:
    return append("lt", a, b)


def xlogy(x: Any, y: Any) -> Any:
    """x log(y), 0 where x is 0."""
    zero = x * 0.0
    return append("where", append("eq", x, zero), zero, x * append("where", append("eq", x, zero), zero + 1.0, y).log())


# ---- links: eta to (mu, 1 - mu, d mu / d eta), and mu to eta ----

@dataclass(frozen=True)
class Link:
    """inverse: eta to (mu, 1 - mu, slope); forward: mu to eta; unit: eta's own scale, 0 where it has that of the target."""

    name: str
    inverse: Callable[[Any], tuple[Any, Any, Any]]
    forward: Callable[[Any], Any]
    unit: float


def of_mu(mu: Any, slope: Any) -> tuple[Any, Any, Any]:
    return mu, 1.0 - mu, slope


def logit(eta: Any) -> tuple[Any, Any, Any]:
    mu, rest = eta.sigmoid(), (-eta).sigmoid()
    return mu, rest, mu * rest


def probit(eta: Any) -> tuple[Any, Any, Any]:
    scaled = eta * math.sqrt(0.5)
    return (append("erfc", -scaled) * 0.5, append("erfc", scaled) * 0.5, (eta * eta * -0.5).exp() * (1 / math.sqrt(2 * math.pi)))


def cloglog(eta: Any) -> tuple[Any, Any, Any]:
    hazard = eta.exp()
    rest = (-hazard).exp()
    return -append("expm1", -hazard), rest, hazard * rest


LINKS = {k.name: k for k in (
    Link("identity", lambda e: of_mu(e, e * 0.0 + 1.0), lambda m: m, 0.0),
    Link("log", lambda e: of_mu(e.exp(), e.exp()), lambda m: m.log(), 1.0),
    Link("logit", logit, lambda m: m.log() - append("log1p", -m), 1.0),
    Link("probit", probit, lambda m: append("erf_inv", m * 2.0 - 1.0) * math.sqrt(2.0), 1.0),
    Link("cloglog", cloglog, lambda m: (-append("log1p", -m)).log(), 1.0),
    Link("inverse", lambda e: of_mu(1.0 / e, -1.0 / (e * e)), lambda m: 1.0 / m, 0.0),
    Link("inverse squared", lambda e: of_mu(1.0 / e.sqrt(), -0.5 / (e * e.sqrt())), lambda m: 1.0 / (m * m), 0.0),
    Link("sqrt", lambda e: of_mu(e * e, e * 2.0), lambda m: m.sqrt(), 0.0),
)}


# ---- families ----

@dataclass(frozen=True)
class Family:
    """variance(mu, 1 - mu); deviance(y, mu, 1 - mu) of a row of weight 1; positive: means have to be above 0."""

    name: str
    variance: Callable[[Any, Any], Any]
    deviance: Callable[[Any, Any, Any], Any]
    link: str                # the link where none is named
    canonical: str           # the link for which slope / variance is 1
    least: float             # of targets
    open: bool = False       # targets are above the least
    most: float = math.inf
    positive: bool = True
    dispersed: bool = True   # the dispersion is estimated, by Pearson's sum

    def check(self, y: Array) -> None:
        """Errors: ValueError that says what a target of the family is, and which row is none."""
        bad = (y <= self.least if self.open else y < self.least) | (y > self.most)
        if bad.any():
            row = int(np.flatnonzero(bad)[0])
            raise ValueError(f"target {y[row]!r} (row {row} of those with a weight): family {self.name!r} takes targets "
                             f"{'above' if self.open else 'from'} {self.least:g}" + (f" to {self.most:g}" if self.most < math.inf else ""))
        if self.link in ("log", "logit") and not self.open and y.size and ((y == self.least).all() or (y == self.most).all()):
            raise ValueError(f"every target is {y[0]!r}: with family {self.name!r} no finite estimate fits that best")

    def valid(self, mu: Any, rest: Any) -> Any:
        """bool []: all means are ones that the family can have; false where one is a NaN."""
        zero = mu * 0.0
        fine = append("logical_and", less(zero, mu), less(mu, zero + math.inf)) if self.positive else append("eq", zero, zero)
        if self.most < math.inf:
            fine = append("logical_and", fine, less(zero, rest))
        return fine.all()


def power_family(power: float) -> Family:
    """Tweedie's family, whose variance is mu^power: 0, 1, 2 and 3 are the normal, Poisson, gamma and inverse Gaussian ones."""
    known = {0.0: "normal", 1.0: "poisson", 2.0: "gamma", 3.0: "inverse gaussian"}.get(power)
    if known is not None:
        return FAMILIES[known]
    if not 1.0 < power < math.inf:
        raise ValueError(f"power is {power}: it has to be 0, or 1 and more")
    a, b = 1.0 - power, 2.0 - power

    def raised(x: Any, e: float) -> Any:
        return append("pow", x, x * 0.0 + e)

    def deviance(y: Any, mu: Any, _: Any) -> Any:
        return (raised(y, b) * (1.0 / (a * b)) - y * raised(mu, a) * (1.0 / a) + raised(mu, b) * (1.0 / b)) * 2.0
    return Family(f"tweedie of power {power:g}", lambda m, _: raised(m, power), deviance, "log", "", 0.0, power > 2.0)


FAMILIES = {f.name: f for f in (
    Family("normal", lambda m, _: m * 0.0 + 1.0, lambda y, m, _: (y - m) * (y - m), "identity", "identity", -math.inf, positive=False),
    Family("binomial", lambda m, r: m * r, lambda y, m, r: (xlogy(y, y / m) + xlogy(1.0 - y, (1.0 - y) / r)) * 2.0,
           "logit", "logit", 0.0, most=1.0, dispersed=False),
    Family("poisson", lambda m, _: m, lambda y, m, _: (xlogy(y, y / m) - (y - m)) * 2.0, "log", "log", 0.0, dispersed=False),
    Family("gamma", lambda m, _: m * m, lambda y, m, _: ((y - m) / m - (y / m).log()) * 2.0, "log", "", 0.0, open=True),
    Family("inverse gaussian", lambda m, _: m * m * m, lambda y, m, _: (y - m) * (y - m) / (m * m * y), "log", "", 0.0, open=True),
)}


def family_of(name: str, power: float) -> Family:
    if name == "tweedie":
        return power_family(float(power))
    if name not in FAMILIES:
        raise ValueError(f"family {name!r}: it is one of {', '.join([*FAMILIES, 'tweedie'])}")
    return FAMILIES[name]


def link_of(name: str | None, family: Family) -> Link:
    found = family.link if name is None else name
    if found not in LINKS:
        raise ValueError(f"link {name!r}: it is one of {', '.join(LINKS)}, or None for the family's own")
    if found in ("logit", "probit", "cloglog") and family.name != "binomial":
        raise ValueError(f"link {found!r} gives means between 0 and 1: it is for family 'binomial', not {family.name!r}")
    return LINKS[found]
