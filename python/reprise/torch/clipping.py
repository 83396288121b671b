# SPDX-License-Identifier: Apache-2.0
"""Clipping of gradients between backward and update, as a part of the program; and a guard on PyTorch's own clipping, which would
find no gradients at the parameters of a compiled step and do nothing, in silence."""
from __future__ import annotations

import functools
import inspect
import math
import weakref
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .lower import Lowering, Unsupported
from .traps import framework
from .updates import Term

STEPS: weakref.WeakSet[Any] = weakref.WeakSet()  # compiled steps that live
CLIPPING = ("clip_grad_norm_", "clip_grad_value_", "_clip_grads_with_norm_")


@dataclass(frozen=True)
class Clip:
    """As torch.nn.utils.clip_grad_norm_(.., norm, kind) or clip_grad_value_(.., value) over all gradients of the optimizer's
    parameters. Raises TypeError and ValueError."""

    norm: float | None = None
    kind: float = 2.0
    value: float | None = None

    def __post_init__(self) -> None:
        for name, x in (("clip_norm", self.norm), ("norm_type", self.kind), ("clip_value", self.value)):
            if x is not None and (isinstance(x, bool) or not isinstance(x, (int, float))):
                raise TypeError(f"{name} is a number, not {x!r}")
            if x is not None and not x >= 0:
                raise ValueError(f"{name} is {x!r}, and has to be 0 or more")
        if self.kind == 0:
            raise ValueError("norm_type is 0: take 1, 2, another order above 0, or math.inf")
        if self.norm is not None and self.value is not None:
            raise TypeError("clip_norm or clip_value, not both: which comes first would be open")

    def of(self, g: Lowering, gradients: Mapping[str, Any]) -> dict[str, Any]:
        """The gradients as the optimizer has them."""
        if self.value is not None:
            return {s: Term(g, t).most(-self.value).least(self.value).tensor for s, t in gradients.items()}
        if self.norm is None:
            return dict(gradients)
        kept = self.norm / (self.total(g, gradients) + 1e-6)
        factor = kept.least(1.0)
        return {s: Term(g, g.op("mul", t, g.cast(factor.tensor, t.dtype))).tensor for s, t in gradients.items()}

    def refuse_pairs(self, names: Sequence[str]) -> None:
        """Of complex elements the norm of order 2 alone is that of their parts."""
        if names and (self.value is not None or self.norm is not None and self.kind != 2):
            raise Unsupported(f"clipping by {'value' if self.value is not None else f'a norm of order {self.kind}'} of {names[0]}, which has "
                              "complex elements", remedy="clip_norm= of order 2 is taken")

    def total(self, g: Lowering, gradients: Mapping[str, Any]) -> Term:
        """The norm of all elements of all gradients."""
        wide = "f64" if any(t.dtype == "f64" for t in gradients.values()) else "f32"
        found: Term | None = None
        for t in gradients.values():
            part = Term(g, g.cast(self.part(g, Term(g, t)).tensor, wide))
            found = part if found is None else found.most(part) if self.kind == math.inf else found + part
        assert found is not None
        return found if self.kind in (1, math.inf) else found.op("sqrt") if self.kind == 2 else found ** (1 / self.kind)

    def part(self, g: Lowering, t: Term) -> Term:
        """Of one tensor the sum of powers, or the largest element."""
        axes = list(range(len(t.tensor.shape)))
        size = t * t if self.kind == 2 else t.op("abs")
        size = size if self.kind in (1, 2, math.inf) else size ** self.kind
        return Term(g, g.reduce("max" if self.kind == math.inf else "sum", size.tensor, axes, False)) if axes else size


def guard(step: Any) -> None:
    """From now on PyTorch's clipping of this step's parameters is an error. Its functions are looked into once a process, so that
    steps cost nothing: each is a wrapper whose variable `func` is what it does, wherever the wrapper was imported to."""
    STEPS.add(step)
    module = framework("torch.nn.utils.clip_grad")
    for name in CLIPPING:
        outer = getattr(module, name, None)
        cells = dict(zip(outer.__code__.co_freevars, outer.__closure__ or ())) if inspect.isfunction(outer) else {}
        if "func" in cells and not hasattr(cells["func"].cell_contents, "reprise"):
            cells["func"].cell_contents = looking(name, cells["func"].cell_contents)


def looking(name: str, was: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(was)
    def clip(parameters: Any, *args: Any, **kwargs: Any) -> Any:
        found = [parameters] if isinstance(parameters, framework().Tensor) else list(parameters)
        refuse(name, found)
        return was(found, *args, **kwargs)
    clip.reprise = True  # type: ignore[attr-defined]
    return clip


def refuse(name: str, parameters: list[Any]) -> None:
    """Where none has a gradient, and a compiled step trains one of them."""
    if all(p.grad is None for p in parameters):
        trained = {id(p) for step in list(STEPS) for p in step._own}
        if any(id(p) in trained for p in parameters):
            raise Unsupported(f"{name.strip('_')} of parameters that a compiled step trains: their gradients are in the program, and "
                              "none is here to clip", remedy="compile(.., clip_norm=most) or compile(.., clip_value=most) clips between "
                              "gradients and update; norm_type= is the norm's order")
