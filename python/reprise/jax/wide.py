# SPDX-License-Identifier: Apache-2.0
"""A loss that computes in binary16 or bfloat16, computed in binary32: what tells whose rounding it is where the gradients of two
programs differ. A function of jax is traced and its operations are made again, each of the wider type."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .trees import jax

CALLS = ("jit", "pjit", "closed_call", "core_call", "checkpoint", "remat2")  # which are made again operation by operation


def is_narrow(dtype: Any) -> bool:
    return str(dtype) in ("float16", "bfloat16")


def widened(x: Any) -> Any:
    """An array, or the type of one."""
    if is_narrow(getattr(x, "dtype", None)):
        return jax().numpy.asarray(x, np.float32)
    return np.dtype(np.float32) if type(x) is not str and is_narrow(x) else x


def as_it_is(equation: Any, operands: list[Any]) -> list[Any]:
    """In its own types: what has a derivative of its own, which is to stay that, loops, and what looks at bits."""
    given = [jax().numpy.asarray(o, v.aval.dtype) if is_narrow(v.aval.dtype) else o for o, v in zip(operands, equation.invars)]
    parts = equation.primitive.get_bind_params(equation.params)
    functions, parameters = parts if isinstance(parts, tuple) else ((), parts)  # of versions of jax
    made = equation.primitive.bind(*functions, *given, **parameters)
    return list(map(widened, made if equation.primitive.multiple_results else [made]))


def has_functions(value: Any) -> bool:
    return any(map(has_functions, value)) if isinstance(value, (tuple, list)) else any(hasattr(value, n) for n in ("eqns", "jaxpr", "call"))


def results(jaxpr: Any, constants: Any, given: Any) -> list[Any]:
    known: dict[Any, Any] = dict(zip([*jaxpr.constvars, *jaxpr.invars], map(widened, [*constants, *given])))

    def value(v: Any) -> Any:
        return widened(v.val) if hasattr(v, "val") else known[v]
    for e in jaxpr.eqns:
        operands, name = [value(v) for v in e.invars], e.primitive.name
        called = next((e.params[k] for k in ("jaxpr", "call_jaxpr") if k in e.params), None) if name in CALLS else None
        if called is not None:
            found = results(getattr(called, "jaxpr", called), getattr(called, "consts", ()), operands)
        elif name == "reduce_precision" and (e.params["exponent_bits"], e.params["mantissa_bits"]) in ((5, 10), (8, 7)):
            found = operands
        elif "bitcast" in name or name.startswith("custom_") or has_functions(list(e.params.values())):
            found = as_it_is(e, operands)
        else:
            made = e.primitive.bind(*operands, **{k: widened(v) for k, v in e.params.items()})
            found = list(made) if e.primitive.multiple_results else [made]
        known.update(zip(e.outvars, found))
    return [value(v) for v in jaxpr.outvars]


def in_binary32(f: Callable[..., Any], *example: Any) -> Callable[..., list[Any]]:
    """f's results, in a list, with what it computes in narrower types computed in binary32, but in loops and where a derivative is one's own."""
    closed = jax().make_jaxpr(f)(*example)
    return lambda *given: results(closed.jaxpr, closed.consts, given)
