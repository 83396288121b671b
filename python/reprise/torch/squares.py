# SPDX-License-Identifier: Apache-2.0
"""torch.linalg.lstsq, of which the exporter knows no shapes: while a model is exported it is an operation of this package, whose rule is
in rules/systems.py. What else it gives beside the solution is refused where somebody takes hold of it."""
from __future__ import annotations

import collections
import functools
from typing import Any

from .refusals import refused
from .traps import framework

Solved = collections.namedtuple("Solved", "solution residuals rank singular_values")


class Untold:
    """One of the others."""

    def __init__(self, name: str) -> None:
        object.__setattr__(self, "_name", name)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name == "_name":  # what Python and PyTorch ask of any object
            raise AttributeError(name)
        raise self.refusal()

    def refusal(self) -> Exception:
        return refused("linalg.lstsq", f"whose {self._name} {'are' if self._name.endswith('s') else 'is'} used", "The solution alone is "
                       "taken; the residuals are (a @ x - b).square().sum(-2)")

    def __mul__(self, other: Any = None) -> Any:
        raise self.refusal()

    __rmul__ = __add__ = __radd__ = __sub__ = __rsub__ = __truediv__ = __rtruediv__ = __neg__ = __pow__ = __iter__ = __len__ = \
        __getitem__ = __lt__ = __gt__ = __bool__ = __float__ = __int__ = __mul__

    @classmethod
    def __torch_function__(cls, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        raise next((a for a in args if isinstance(a, Untold)), cls("residuals")).refusal()


@functools.lru_cache(None)
def operation() -> Any:
    """torch.ops.reprise.lstsq: of [.., m, n] and [.., m, k] the solution [.., n, k]."""
    torch = framework()

    def shape(a: Any, b: Any) -> Any:
        return a.new_empty(*torch.broadcast_shapes(a.shape[:-2], b.shape[:-2]), a.shape[-1], b.shape[-1])
    library = torch.library.Library("reprise", "FRAGMENT")
    library.define("lstsq(Tensor a, Tensor b) -> Tensor")
    torch.library.register_fake("reprise::lstsq", shape, lib=library)
    return library, torch.ops.reprise.lstsq.default


def lstsq(input: Any, B: Any, rcond: Any = None, *, driver: str | None = None) -> Any:
    m, n = input.shape[-2:]
    if rcond is not None:
        raise refused("linalg.lstsq", "with an rcond", "Leave it out: matrices are of full rank")
    if m < n:
        raise refused("linalg.lstsq", f"of {m} equations for {n} unknowns: of all solutions PyTorch gives the smallest",
                      "a.mT @ torch.linalg.solve(a @ a.mT, b) is it where a has full rank")
    vector = B.dim() == 1 or (input.dim() - 1 == B.dim() and B.shape == input.shape[:-1])
    x = operation()[1](input, B.unsqueeze(-1) if vector else B)
    return Solved(x.squeeze(-1) if vector else x, *map(Untold, Solved._fields[1:]))
