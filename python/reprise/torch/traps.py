# SPDX-License-Identifier: Apache-2.0
"""What export would leave out of a graph in silence: hooks, backward functions of one's own, changes in place without gradient, numbers
of Python that the forward changes, random numbers that are not PyTorch's. Each is refused with the line of the model and a remedy."""
from __future__ import annotations

import contextlib
import importlib
import random
import sys
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from .graph import Node
from .lower import Unsupported


def framework(name: str = "torch") -> Any:
    """PyTorch, or a module of it: imported when it is used."""
    return importlib.import_module(name)


def refuse_hooks(module: Any) -> None:
    """Hooks on gradients are no part of an exported graph."""
    everywhere = framework("torch.nn.modules.module")
    for name in ("_global_backward_hooks", "_global_backward_pre_hooks"):
        if getattr(everywhere, name, None):
            raise Unsupported("a backward hook is registered on all modules, which the program would not have",
                              remedy="Remove it, or write what it does into the forward or the loss")
    for path, m in module.named_modules():
        if getattr(m, "_backward_hooks", None) or getattr(m, "_backward_pre_hooks", None):
            raise Unsupported(f"module {path or 'itself'} has a backward hook, which the program would not have",
                              remedy="Remove it, or write what it does into the forward or the loss")
    for path, p in module.named_parameters():
        if getattr(p, "_backward_hooks", None) or getattr(p, "_post_accumulate_grad_hooks", None):
            raise Unsupported(f"the parameter {path} has a hook on its gradient, which the program would not have",
                              remedy="Remove it, or write what it does into the forward or the loss")


@contextlib.contextmanager
def trapped() -> Iterator[None]:
    """While a module is exported: what changes gradients and leaves no trace in the graph raises."""
    torch = framework()
    kept: list[tuple[Any, str, Any]] = []

    def forbid(owner: Any, name: str, what: str, remedy: str) -> None:
        was = owner.__dict__[name]

        def refuse(*args: Any, **kwargs: Any) -> Any:
            if args and isinstance(args[0], type) and args[0].__module__.startswith("torch._higher_order_ops."):
                return was.__get__(None, args[0])(*args[1:], **kwargs)  # how PyTorch traces cond and scan, whose gradients are ours
            of = getattr(args[0], "__name__", "") if args and isinstance(args[0], type) else ""
            raise Unsupported(f"{what}{' of ' + of if of else ''}, whose gradient is not in the graph", Node("", what, where=line_here()),
                              remedy)
        kept.append((owner, name, was))
        setattr(owner, name, classmethod(refuse) if name == "apply" else refuse)

    hook = "Write what it does into the forward or the loss"
    forbid(torch.autograd.Function, "apply", "autograd.Function.apply", "Write it in operations whose gradient is the one meant; x + "
           "(f(x) - x).detach() passes a gradient straight through f")
    for name in ("register_hook", "register_post_accumulate_grad_hook"):
        if name in torch.Tensor.__dict__:
            forbid(torch.Tensor, name, f"Tensor.{name}", hook)
    try:
        yield
    finally:
        for owner, name, was in kept:
            setattr(owner, name, was)


def line_here() -> str:
    """The line of the model that is executed now: the innermost one outside of PyTorch and of this package."""
    f: Any = sys._getframe(1)
    while f is not None and own_file(f.f_code.co_filename):
        f = f.f_back
    return f"{f.f_code.co_filename}:{f.f_lineno}" if f is not None else ""


def own_file(path: str) -> bool:
    p = path.replace("\\", "/")
    return "/torch/" in p or "/reprise/torch/" in p or p.startswith("<") or p.endswith("/contextlib.py")


def numbers_of(module: Any) -> dict[tuple[str, str], Any]:
    """The plain numbers, texts and flags of all modules: what a graph burns in."""
    return {(path, k): v for path, m in module.named_modules() for k, v in m.__dict__.items()
            if isinstance(v, (bool, int, float, str)) and not k.startswith("__")}


@contextlib.contextmanager
def unchanged(module: Any) -> Iterator[None]:
    """The forward must not change numbers of Python, nor draw from generators that the program does not have."""
    numbers, python, legacy = numbers_of(module), random.getstate(), np.random.get_state()
    yield
    for (path, name), v in numbers_of(module).items():
        was = numbers.get((path, name), v)
        if was is not v and was != v and not (was != was and v != v):
            raise Unsupported(f"the forward changes {path + '.' if path else ''}{name} from {was!r} to {v!r}: a number of Python, which "
                              "the program would keep as it was", remedy="Make it a buffer: self.register_buffer(name, torch.tensor(..))")
    after = np.random.get_state()
    if random.getstate() != python or any(np.any(a != b) for a, b in zip(legacy, after)):
        raise Unsupported("the forward draws from random or numpy.random, whose numbers the program would keep as they were",
                          remedy="Draw with torch (torch.rand, dropout): the program then draws anew at each step")


def source_line(trace: str | None) -> str:
    """"file:line" of the innermost line that is the model's own."""
    found = ""
    for line in (trace or "").splitlines():
        text = line.strip()
        if text.startswith('File "') and '", line ' in text:
            path, rest = text[6:].split('", line ', 1)
            if not own_file(path) and not path.startswith("reprise."):
                found = f"{path}:{rest.split(',')[0]}"
    return found


def refuse_changed(inner: Any, env: Mapping[Any, Any]) -> None:
    """In a region without gradient a tensor from outside may not be changed in place, but for a buffer: PyTorch keeps the gradient
    that it had before."""
    schema = getattr(inner.target, "_schema", None)
    if schema is None or not schema.is_mutable or not inner.args:
        return
    changed = env.get(inner.args[0])
    if inner.args[0].op == "placeholder" and changed is not None and changed.op not in ("placeholder", "get_attr"):
        raise Unsupported("changes in place, without gradient, what has one: PyTorch keeps the gradient from before the change",
                          Node(inner.name, str(inner.target), where=source_line(inner.meta.get("stack_trace"))),
                          "Write y = y + (f(y) - y).detach()")
