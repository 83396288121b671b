# SPDX-License-Identifier: Apache-2.0
"""Gradients of Python functions. Arguments and values may be nested tuples, lists and dicts of tensors."""
from __future__ import annotations

from . import _core
from ._core import Tensor


def _flatten(tree, leaves):
    """Appends the tree's leaves, in order, and returns its form."""
    if isinstance(tree, dict):
        return (type(tree), list(tree), [_flatten(v, leaves) for v in tree.values()])
    if isinstance(tree, (tuple, list)):
        return (type(tree), None, [_flatten(v, leaves) for v in tree])
    leaves.append(tree)
    return None


def _unflatten(form, leaves):
    """The tree of that form; leaves is an iterator."""
    if form is None:
        return next(leaves)
    kind, keys, inner = form
    values = [_unflatten(f, leaves) for f in inner]
    if keys is not None:
        return dict(zip(keys, values))
    return kind(*values) if hasattr(kind, "_fields") else kind(values)


def _place(trace, leaves):
    """The leaves as values of their own in the trace, views that cost nothing: what the function takes from elsewhere is
    a constant, also where it is the same tensor."""
    placed = []
    for leaf in leaves:
        x = trace.place(leaf)
        if x.dtype not in ("f32", "f64", "bf16", "f16"):
            raise TypeError(f"no gradient with respect to {x.dtype}: only to f32, f64, bf16 and f16")
        placed.append(x.reshape(x.shape))
    return tuple(placed)


def _first_of(args, argnums):
    several = not isinstance(argnums, int)
    numbers = tuple(argnums) if several else (argnums,)
    for i in numbers:
        if not -len(args) <= i < len(args):
            raise ValueError(f"argnums: there is no argument {i} of {len(args)}")
    return several, [i % len(args) for i in numbers]


def value_and_grad(function, argnums=0, has_aux=False):
    """A function that returns function's value, one element, and its gradients with respect to the arguments that
    argnums names (an int, or several), in the form in which these were given. has_aux: function returns (value, more),
    and so does this: ((value, more), gradients). What the value does not depend on has a gradient of zeros."""

    def both(*args, **kwargs):
        several, numbers = _first_of(args, argnums)
        trace = _core.Trace()
        try:
            leaves, forms, given = [], [], list(args)
            for i in numbers:
                forms.append(_flatten(args[i], leaves))
            placed = _place(trace, leaves)
            walk = iter(placed)
            for i, form in zip(numbers, forms):
                given[i] = _unflatten(form, walk)
            out = function(*given, **kwargs)
            value = out[0] if has_aux else out
            if not isinstance(value, Tensor) or value.size != 1:
                raise TypeError(f"a gradient is of a tensor of one element, found {value!r}")
            walk = iter(trace.gradients((value,), placed, None, True)) if placed else iter(())
            grads = tuple(_unflatten(form, walk) for form in forms)
        finally:
            trace.close()
        return out, grads if several else grads[0]

    both.__name__ = getattr(function, "__name__", "function")
    return both


def grad(function, argnums=0, has_aux=False):
    """As value_and_grad, the gradients alone; with has_aux (gradients, more)."""
    both = value_and_grad(function, argnums, has_aux)

    def gradients(*args, **kwargs):
        out, grads = both(*args, **kwargs)
        return (grads, out[1]) if has_aux else grads

    gradients.__name__ = both.__name__
    return gradients


def vjp(function, *args):
    """function's value, and a function that takes seeds of its form and returns the gradients with respect to all
    arguments: sum of seed . d value / d argument. Until this one goes the step keeps what it needs."""
    trace = _core.Trace()
    leaves = []
    form = _flatten(args, leaves)
    placed = _place(trace, leaves)
    out = function(*_unflatten(form, iter(placed)))
    values = []
    out_form = _flatten(out, values)

    def pull(seeds):
        given = []
        if _flatten(seeds, given) != out_form:
            raise ValueError("vjp: seeds have the form of the value")
        return _unflatten(form, iter(trace.gradients(tuple(values), placed, tuple(given), True)))

    return out, pull
