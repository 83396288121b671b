# SPDX-License-Identifier: Apache-2.0
"""Complex numbers, which a program has as pairs of real ones: each primitive that meets them, written with real primitives of jax. It is
captured like all else, so a gradient is that of both parts."""
from __future__ import annotations

import functools
import importlib
import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from .graph import Unsupported
from ..shared import fourier

PARTS = {"complex64": "float32", "complex128": "float64"}


class Pair(NamedTuple):
    re: Any
    im: Any


Rule = Callable[..., Any]
RULES: dict[str, Rule] = {}


def jax() -> Any:
    return importlib.import_module("jax")


def is_complex(x: Any) -> bool:
    """Of an array, or of what has a type."""
    return str(getattr(x, "dtype", "")) in PARTS


def rule(*names: str) -> Callable[[Rule], Rule]:
    def register(f: Rule) -> Rule:
        RULES.update({n: f for n in names})
        return f
    return register


def both(x: Any) -> Pair:
    return x if isinstance(x, Pair) else Pair(x, jax().numpy.zeros_like(x))


# ---- both parts alike ----

ALIKE = ("reshape", "squeeze", "expand_dims", "transpose", "broadcast_in_dim", "concatenate", "stack", "unstack", "split", "tile", "slice",
         "rev", "pad", "reduce_sum", "cumsum", "neg", "add", "sub", "add_any", "select_n", "copy", "copy_p", "dynamic_slice",
         "dynamic_update_slice", "optimization_barrier", "reduce_precision", "reduce_window_sum", "psum", "psum_invariant", "stop_gradient")


def alike(eqn: Any, *xs: Any) -> Any:
    """Operands that are not complex (indices, conditions) are those of both parts."""
    made = [eqn.primitive.bind(*(x[k] if isinstance(x, Pair) else x for x in xs), **eqn.params) for k in (0, 1)]
    return [Pair(*p) for p in zip(*made)] if eqn.primitive.multiple_results else Pair(*made)


RULES.update(dict.fromkeys(ALIKE, alike))


@rule("gather")
def gather(eqn: Any, x: Pair, index: Any) -> Pair:
    """What lies outside is filled with a NaN and 0."""
    p = dict(eqn.params)
    fill = p.pop("fill_value", None)
    parts = (np.nan, 0.0) if fill is None else (complex(fill).real, complex(fill).imag)
    return Pair(*(eqn.primitive.bind(v, index, **p, fill_value=f) for v, f in zip(x, parts)))


@rule("scatter", "scatter-add", "scatter_add", "scatter-sub", "scatter_sub")
def scatter(eqn: Any, x: Pair, index: Any, update: Pair) -> Pair:
    name, p = eqn.primitive.name.replace("-", "_"), eqn.params
    own = p.get("update_jaxpr")
    if name == "scatter" and own is not None and getattr(own, "jaxpr", own).eqns:
        raise Unsupported("of a function of what is there, as x.at[i].apply(f): x.at[i].set(f(x[i])) is taken")
    f = getattr(jax().lax, name)
    return Pair(*(f(v, index, u, p["dimension_numbers"], indices_are_sorted=p["indices_are_sorted"], unique_indices=p["unique_indices"],
                    mode=p["mode"]) for v, u in zip(x, update)))


# ---- from real numbers, and to them ----

@rule("convert_element_type")
def convert(eqn: Any, x: Any) -> Any:
    kind = str(np.dtype(eqn.params["new_dtype"]))
    if kind not in PARTS:
        if kind == "bool":
            return (x.re != 0) | (x.im != 0)
        return x.re.astype(kind)
    return Pair(*(v.astype(PARTS[kind]) for v in both(x)))


@rule("complex")
def complex_(eqn: Any, re: Any, im: Any) -> Pair:
    """One of them may be a number for all elements."""
    return Pair(*jax().numpy.broadcast_arrays(re, im))


@rule("real")
def real(eqn: Any, x: Pair) -> Any:
    return x.re


@rule("imag")
def imag(eqn: Any, x: Pair) -> Any:
    return x.im


@rule("conj")
def conj(eqn: Any, x: Any) -> Pair:
    re, im = both(x)
    return Pair(re, -im)


def scale_of(x: Pair) -> Any:
    """The larger part's size, without a gradient; 1 where that is 0 or no finite number: parts over it square to what a type holds."""
    j = jax()
    s = j.lax.stop_gradient(j.numpy.maximum(abs(x.re), abs(x.im)))
    return j.numpy.where((s > 0) & (s < np.inf), s, 1)


def size_of(x: Pair) -> Any:
    """Of 0 it is 0 with a gradient of 0, as jax has it."""
    j = jax()
    s = scale_of(x)
    zero = (x.re == 0) & (x.im == 0)
    a, b = x.re / s, x.im / s
    return j.numpy.where(zero, 0, s * j.lax.sqrt(j.numpy.where(zero, 1, a * a + b * b)))


@rule("abs")
def abs_(eqn: Any, x: Pair) -> Any:
    return size_of(x)


@rule("sign")
def sign(eqn: Any, x: Pair) -> Pair:
    """Without a gradient, as jax has it."""
    j = jax()
    x = Pair(*map(j.lax.stop_gradient, x))
    r = size_of(x)
    zero = r == 0
    r = j.numpy.where(zero, 1, r)
    return Pair(*(j.numpy.where(zero, 0, v / r) for v in x))


@rule("eq")
def eq(eqn: Any, x: Pair, y: Pair) -> Any:
    return (x.re == y.re) & (x.im == y.im)


@rule("ne")
def ne(eqn: Any, x: Pair, y: Pair) -> Any:
    return (x.re != y.re) | (x.im != y.im)


@rule("is_finite")
def is_finite(eqn: Any, x: Pair) -> Any:
    return jax().lax.is_finite(x.re) & jax().lax.is_finite(x.im)


# ---- arithmetic ----

def times(f: Callable[[Any, Any], Any], x: Any, y: Any) -> Pair:
    if not isinstance(x, Pair):
        return Pair(*(f(x, v) for v in y))
    if not isinstance(y, Pair):
        return Pair(*(f(v, y) for v in x))
    return Pair(f(x.re, y.re) - f(x.im, y.im), f(x.re, y.im) + f(x.im, y.re))


def product(x: Pair, y: Pair) -> Pair:
    return times(lambda a, b: a * b, x, y)


@rule("mul")
def mul(eqn: Any, x: Pair, y: Pair) -> Pair:
    return product(x, y)


@rule("square")
def square(eqn: Any, x: Pair) -> Pair:
    return product(x, x)


@rule("reduce_prod")
def reduce_prod(eqn: Any, x: Pair) -> Pair:
    """Halves until one is left, along each axis."""
    for axis in sorted(eqn.params["axes"], reverse=True):
        length = x.re.shape[axis]
        if not length:
            raise Unsupported("of no elements")
        while length > 1:
            half = length // 2
            low, high, left = ([jax().lax.slice_in_dim(v, a, b, axis=axis) for v in x]
                               for a, b in ((0, half), (half, 2 * half), (2 * half, length)))
            made = product(Pair(*low), Pair(*high))
            x = Pair(*(jax().lax.concatenate([v, w], axis) for v, w in zip(made, left))) if length % 2 else made
            length -= half
        x = Pair(*(v.squeeze(axis) for v in x))
    return x


@rule("dot_general", "conv_general_dilated")
def bilinear(eqn: Any, x: Any, y: Any) -> Pair:
    p = dict(eqn.params)
    kind = p.get("preferred_element_type")
    p["preferred_element_type"] = None if kind is None else np.dtype(PARTS.get(str(np.dtype(kind)), np.dtype(kind)))
    return times(lambda a, b: eqn.primitive.bind(a, b, **p), x, y)


def quotient(x: Pair, y: Pair) -> Pair:
    """By what is infinite a finite number is 0."""
    j, s = jax(), scale_of(y)
    endless = (abs(y.re) == np.inf) | (abs(y.im) == np.inf)
    c, d = (j.numpy.where(endless, j.numpy.where(abs(v) == np.inf, j.lax.sign(v), 0 * v), v / s) for v in y)
    s = j.numpy.where(endless, np.inf, s)
    below = c * c + d * d
    return Pair((x.re * c + x.im * d) / below / s, (x.im * c - x.re * d) / below / s)


@rule("div")
def div(eqn: Any, x: Pair, y: Pair) -> Pair:
    return quotient(x, y)


def one(x: Pair) -> Pair:
    return Pair(jax().numpy.ones_like(x.re), jax().numpy.zeros_like(x.re))


@rule("integer_pow")
def integer_pow(eqn: Any, x: Pair) -> Pair:
    y = int(eqn.params["y"])
    found, square_, left = one(x), x, abs(y)
    while left:
        found = product(found, square_) if left & 1 else found
        left //= 2
        square_ = product(square_, square_) if left else square_
    return found if y >= 0 else quotient(one(x), found)


# ---- functions ----

def grown(a: Any, b: Any) -> Any:
    """a b, and of what is infinite and 0 it is 0: what has overflown has no imaginary part where there is none."""
    return jax().numpy.where((b == 0) & (abs(a) == np.inf), b, a * b)


def exponential(x: Pair) -> Pair:
    lax = jax().lax
    e = lax.exp(x.re)
    return Pair(e * lax.cos(x.im), grown(e, lax.sin(x.im)))


def logistic(x: Pair) -> Pair:
    """1 / (1 + exp(-x)) and exp(x) / (1 + exp(x)), by which of them does not overflow."""
    j = jax()
    right = x.re >= 0
    e = exponential(Pair(*(j.numpy.where(right, -v, v) for v in x)))
    above = Pair(j.numpy.where(right, 1, e.re), j.numpy.where(right, 0, e.im))
    return quotient(above, Pair(1 + e.re, e.im))


def logarithm(x: Pair) -> Pair:
    j, s = jax(), scale_of(x)
    a, b = x.re / s, x.im / s
    return Pair(j.lax.log(s) + j.lax.log(a * a + b * b) / 2, j.lax.atan2(x.im, x.re))


def less_one(x: Pair) -> Pair:
    """exp(x) - 1 = (exp(a) - 1) cos b - 2 sin(b / 2)^2 and exp(a) sin b."""
    lax = jax().lax
    half = lax.sin(x.im / 2)
    return Pair(lax.expm1(x.re) * lax.cos(x.im) - 2 * half * half, lax.exp(x.re) * lax.sin(x.im))


def with_one(x: Pair) -> Pair:
    """log(1 + x): where |1 + x|^2 is near 1 by how far, which is x (2 + conj x)'s real part; elsewhere that may overflow, or end at 0."""
    j = jax()
    near = abs(x.re * (2 + x.re) + x.im * x.im) < 0.5
    a, b = j.numpy.where(near, x.re, 0), j.numpy.where(near, x.im, 0)
    other = logarithm(Pair(j.numpy.where(near, 1, 1 + x.re), j.numpy.where(near, 0, x.im))).re
    return Pair(j.numpy.where(near, j.lax.log1p(a * (2 + a) + b * b) / 2, other), j.lax.atan2(x.im, 1 + x.re))


def root(x: Pair) -> Pair:
    """The root whose real part is not negative; of -1 - 0i it is i, as jax has it."""
    j = jax()
    zero = (x.re == 0) & (x.im == 0)
    safe = Pair(j.numpy.where(zero, 1, x.re), j.numpy.where(zero, 0, x.im))
    w = j.lax.sqrt((size_of(safe) + abs(safe.re)) / 2)
    other = safe.im / (2 * w)
    right, below = safe.re >= 0, safe.im < 0
    re = j.numpy.where(right, w, abs(other))
    im = j.numpy.where(right, other, j.numpy.where(below, -w, w))
    return Pair(j.numpy.where(zero, 0, re), j.numpy.where(zero, 0, im))


def half_turn(x: Pair) -> Pair:
    """i x."""
    return Pair(-x.im, x.re)


def sine(x: Pair, hyperbolic: bool) -> Pair:
    lax = jax().lax
    if not hyperbolic:
        return Pair(grown(lax.cosh(x.im), lax.sin(x.re)), lax.cos(x.re) * lax.sinh(x.im))
    return Pair(lax.sinh(x.re) * lax.cos(x.im), grown(lax.cosh(x.re), lax.sin(x.im)))


def cosine(x: Pair, hyperbolic: bool) -> Pair:
    lax = jax().lax
    if not hyperbolic:
        return Pair(lax.cos(x.re) * lax.cosh(x.im), -grown(lax.sinh(x.im), lax.sin(x.re)))
    return Pair(lax.cosh(x.re) * lax.cos(x.im), grown(lax.sinh(x.re), lax.sin(x.im)))


def tangent(x: Pair) -> Pair:
    """tanh: with t = tanh of the first part and u = tan of the second (t + i u) / (1 + i t u)."""
    lax = jax().lax
    t, u = lax.tanh(x.re), lax.tan(x.im)
    below = 1 + t * t * u * u
    return Pair(t * (1 + u * u) / below, u * (1 - t * t) / below)


FUNCTIONS: dict[str, Callable[[Pair], Pair]] = {
    "exp": exponential, "log": logarithm, "sqrt": root, "rsqrt": lambda x: quotient(one(x), root(x)), "tanh": tangent,
    "expm1": less_one, "log1p": with_one,
    "exp2": lambda x: exponential(Pair(x.re * math.log(2), x.im * math.log(2))),
    "tan": lambda x: Pair(*(v * s for v, s in zip(reversed(tangent(half_turn(x))), (1, -1)))),
    "logistic": logistic,
    "sin": functools.partial(sine, hyperbolic=False), "cos": functools.partial(cosine, hyperbolic=False),
    "sinh": functools.partial(sine, hyperbolic=True), "cosh": functools.partial(cosine, hyperbolic=True)}


@rule(*FUNCTIONS)
def function(eqn: Any, x: Pair) -> Pair:
    return FUNCTIONS[eqn.primitive.name](x)


@rule("pow")
def power(eqn: Any, x: Any, y: Any) -> Pair:
    """exp(y log x), and of 0 it is 1 to the 0, 0 to what is real and above, else no number, as jax has it."""
    j, x, y = jax(), both(x), both(y)
    zero, real_ = (x.re == 0) & (x.im == 0), y.im == 0
    found = exponential(product(y, logarithm(Pair(j.numpy.where(zero, 1, x.re), x.im))))
    of_0 = [j.numpy.where(real_ & (y.re >= 0), v, np.nan).astype(found.re.dtype) for v in (j.numpy.where(y.re == 0, 1, 0), 0)]
    return Pair(*(j.numpy.where(zero, v, f) for v, f in zip(of_0, found)))


# ---- Fourier transforms ----

class Arrays:
    """Operations of a program, as shared/fourier.py writes them, on arrays that jax traces."""

    def op(self, name: str, *ts: Any, **how: Any) -> Any:
        j = jax()
        if name == "fft":
            return lines().bind(*ts, **how)
        if name == "slice_step":  # backwards along the last axis
            (_, last), (rows, count) = how["begin"], how["size"]
            return j.lax.rev(j.lax.slice(ts[0], (0, last - count + 1), (rows, last + 1)), (1,))
        f = {"concat": lambda *x: j.lax.concatenate(x, how["axis"]), "where": j.numpy.where, "add": j.numpy.add, "sub": j.numpy.subtract,
             "mul": j.numpy.multiply, "neg": j.lax.neg, "matmul": lambda a, b: j.numpy.matmul(a, b, precision="highest")}[name]
        return f(*ts)

    def reshape(self, t: Any, shape: Sequence[int]) -> Any:
        return t.reshape(tuple(shape))

    def transpose(self, t: Any, order: Sequence[int]) -> Any:
        return t if list(order) == sorted(order) else jax().lax.transpose(t, tuple(order))

    def slice(self, t: Any, axis: int, begin: int, end: int) -> Any:
        return jax().lax.slice_in_dim(t, begin, end, axis=axis)

    def fill(self, value: float, dtype: Any, shape: Sequence[int] = ()) -> Any:
        return jax().numpy.full(tuple(shape), value, dtype)

    def constant(self, array: Any) -> Any:
        return jax().numpy.asarray(array)

    def refuse(self, what: str, remedy: str = "") -> Unsupported:
        return Unsupported(f"{what[0].lower()}{what[1:]}{'. ' if remedy else ''}{remedy}")


@functools.cache
def lines() -> Any:
    """The program's own transform of lines, as a primitive that is captured."""
    made = importlib.import_module("jax.extend.core").Primitive("fft_of_lines")
    made.multiple_results = True
    made.def_abstract_eval(lambda x, y, **_: [x, y])
    return made


@rule("fft")
def fft(eqn: Any, x: Any) -> Any:
    """Along the last axes. What goes back is divided by the number of elements."""
    kind, lengths = eqn.params["fft_type"], [int(n) for n in eqn.params["fft_lengths"]]
    kind, g = str(getattr(kind, "name", kind)), Arrays()
    re, im = both(x)
    rank = len(re.shape)
    axes = list(range(rank - len(lengths), rank))
    if 0 in (*re.shape, *lengths):
        raise Unsupported("of no elements")

    def line(parts: Pair, axis: int, back: bool) -> Pair:
        """Of exchanged parts the transform is the one that goes back, with parts exchanged."""
        u, v = fourier.along(g, list(reversed(parts) if back else parts), axis, lambda a, b: fourier.transformed(g, a, b))
        return Pair(v, u) if back else Pair(u, v)
    z = Pair(re, im)
    if kind == "RFFT":
        z = Pair(*fourier.along(g, [re], axes[-1], lambda a: fourier.transformed(g, a, None), lengths[-1] // 2 + 1))
    for axis in axes[:-1] if kind in ("RFFT", "IRFFT") else axes:
        z = line(z, axis, kind in ("IFFT", "IRFFT"))
    if kind in ("RFFT", "FFT"):
        return z
    count = math.prod(lengths)
    if kind == "IFFT":
        return Pair(z.re / count, z.im / count)
    n = lengths[-1]
    z = Pair(*(g.slice(v, axes[-1], 0, n // 2 + 1) for v in z))
    return fourier.along(g, list(z), axes[-1], lambda a, b: [fourier.returned(g, a, b, n)])[0] / count


# ---- what capture.py asks for ----

def of_parts(eqn: Any) -> Callable[..., list[Any]]:
    """What an equation computes, as a function of its operands' parts one after the other, which gives its outputs' parts."""
    def f(*flat: Any) -> list[Any]:
        left = iter(flat)
        xs = [Pair(next(left), next(left)) if is_complex(v.aval) else next(left) for v in eqn.invars]
        made = RULES[eqn.primitive.name](eqn, *xs)
        made = made if isinstance(made, list) else [made]
        return [p for x in made for p in (x if isinstance(x, Pair) else (x,))]
    return f


def joined(x: Any) -> Any:
    """An array of pairs, [.., 2], as complex numbers."""
    return jax().lax.complex(x[..., 0], x[..., 1])


def apart(x: Any) -> Any:
    """Complex numbers as an array of pairs, all else as it is."""
    return jax().numpy.stack([x.real, x.imag], -1) if is_complex(x) else x
