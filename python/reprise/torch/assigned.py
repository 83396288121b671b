# SPDX-License-Identifier: Apache-2.0
"""Buffers that a forward assigns anew (`self.centre = 0.9 * self.centre + 0.1 * z.mean(0)`), by whatever way: what is traced would keep the
first values. At the end of what is traced the last value is written into the buffer that was there, which a program has as a state. Where that
would be something else than what PyTorch does, as where the new value shares its memory with what lives on, it is refused; so is a parameter or a
part that a forward assigns."""
from __future__ import annotations

import contextlib
import contextvars
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from .graph import Node
from .lower import Unsupported
from .traps import framework, line_here, spaces

IN_PLACE = "Write into it in place: self.{}.copy_(value)"


@dataclass
class Watch:
    """The modules of a forward that is traced (by their attributes), by whom; and the lines that assign buffers of theirs."""

    tracer: Any
    modules: set[int]
    lines: dict[tuple[int, str], str] = field(default_factory=dict)


@dataclass
class Change:
    """A name of a module, by its attributes, what it was and what it is."""

    space: dict[str, Any]
    name: str
    path: str
    old: Any
    new: Any


Before = tuple[str, dict[str, Any], dict[str, dict[str, Any]]]  # of a module: its path, its attributes, what it had by kind and name
WATCH: contextvars.ContextVar[Watch | None] = contextvars.ContextVar("WATCH", default=None)


def proxies() -> Any:
    return framework("torch.fx.experimental.proxy_tensor")


def refused(name: str, what: str, remedy: str, line: str) -> Unsupported:
    return Unsupported(f"{name} {what}", Node("", name, where=line), remedy)


def registering(was: Callable[..., Any]) -> Callable[..., Any]:
    """Module.register_buffer, by which an assignment goes too."""
    def call(self: Any, name: str, tensor: Any, *args: Any, **kwargs: Any) -> None:
        mode, watch = proxies().get_proxy_mode(), WATCH.get()
        own = mode is None or self is mode.tracer.root or isinstance(self, framework("torch.fx").GraphModule)  # the exporter's
        if not own and isinstance(self.__dict__.get("_buffers", {}).get(name), framework().Tensor):
            if watch is None or id(self.__dict__) not in watch.modules:
                raise refused(name, "is a buffer that the forward assigns anew, of a module that is none of the model's or the loss's",
                              "Make it a part of the module, or give it as loss=", line_here())
            if mode.tracer is not watch.tracer or framework()._C._functorch.peek_interpreter_stack() is not None:
                raise refused(name, "is a buffer that is assigned anew in a region (torch.cond, scan, torch.func)",
                              "Give the value out of the region, and assign it there", line_here())
            watch.lines[id(self.__dict__), name] = line_here()
        was(self, name, tensor, *args, **kwargs)
    return call


@contextlib.contextmanager
def assignments_kept(root: Any, given: Sequence[Any]) -> Iterator[None]:
    """Around a forward of `root` of given tensors that is traced, and all that reads its values."""
    mode = proxies().get_proxy_mode()
    if mode is None:
        yield
        return
    spaces_of = {id(m.__dict__): (path, m.__dict__) for path, m in root.named_modules()}  # which the tracer's stand-ins of modules have, too
    before = [(path, space, {kind: dict(space[kind]) for kind in ("_buffers", "_parameters", "_modules")}) for path, space in spaces_of.values()]
    token = WATCH.set(watch := Watch(mode.tracer, set(spaces_of)))
    try:
        yield
        write(watch, root, before, given)
    finally:
        WATCH.reset(token)
        for _, space, were in before:
            for kind, d in were.items():
                put_back(space[kind], d)


def put_back(space: dict[str, Any], were: dict[str, Any]) -> None:
    """What was there, in its order; what is new stays for nothing_kept, which tells of it."""
    now = dict(space)
    space.clear()
    space.update({k: now.get(k) if v is None else v for k, v in were.items()})
    space.update({k: v for k, v in now.items() if k not in were})


def write(watch: Watch, root: Any, before: list[Before], given: Sequence[Any]) -> None:
    """What was None before is told of elsewhere, as what is new."""
    found = []
    for path, space, were in before:
        for kind, d in were.items():
            for name, old in d.items():
                new = space[kind].get(name)
                if new is old or old is None:
                    continue
                change = Change(space, name, f"{path}.{name}".removeprefix("module."), old, new)
                line = watch.lines.get((id(space), name), "")
                if kind != "_buffers":
                    what = "parameter" if kind == "_parameters" else "part"
                    raise refused(change.path, f"is a {what} that the forward replaces", "Use it where it is: torch.func.functional_call has "
                                  "others in its place for one call", line)
                refuse_other(watch, change, line)
                found.append((change, line))
    if found:
        refuse_alias(root, found, before, given)
        values = [c.new.clone() for c, _ in found]  # each may be what another one was
        for (c, _), value in zip(found, values):
            c.old.copy_(value)


def refuse_other(watch: Watch, c: Change, line: str) -> None:
    """The program's state stays of one type and shape, and no gradient of one step goes into the next."""
    torch = framework()
    if not isinstance(c.new, torch.Tensor):
        raise refused(c.path, "is a buffer that the forward takes away", "Keep it, and a flag beside it as another buffer", line)
    if torch._C._functorch.is_functorch_wrapped_tensor(c.new) or proxies().get_proxy_slot(c.new, watch.tracer, None) is None:
        raise refused(c.path, "is a buffer that the forward assigns what it does not compute itself", "Assign clone() of it, outside of regions "
                      "(torch.cond, scan, torch.func)", line)
    if c.new.shape != c.old.shape or c.new.dtype is not c.old.dtype or c.new.layout is not c.old.layout:
        raise refused(c.path, f"is a buffer of {c.old.dtype}{list(c.old.shape)} that the forward makes one of {c.new.dtype}{list(c.new.shape)}",
                      "Keep one type and shape: a buffer for the most there can be, and how much of it counts", line)
    if overlaps(c.new):
        raise refused(c.path, "is a buffer that the forward assigns a value whose elements are in one memory (expand, unfold): a later change of "
                      "one would be of several", f"self.{c.name} = value.clone()", line)
    if c.new.requires_grad or c.old.requires_grad:
        raise refused(c.path, "is a buffer that the forward assigns what has a gradient, which would go on into the next step",
                      f"self.{c.name} = value.detach()", line)


def refuse_alias(root: Any, found: list[tuple[Change, str]], before: list[Before], given: Sequence[Any]) -> None:
    """In PyTorch a value that shares its memory changes with what it shares it with, now or in a later step."""
    changed = {(id(c.space), c.name): c for c, _ in found}
    old: dict[int, list[str]] = {}
    new: dict[int, list[str]] = {}
    for path, space, were in before:
        for name, t in [(n, t) for kind in ("_buffers", "_parameters") for n, t in were[kind].items() if t is not None]:
            c, whole = changed.get((id(space), name)), f"{path}.{name}".removeprefix("module.")
            old.setdefault(memory(t), []).append(whole)
            new.setdefault(memory(t if c is None else c.new), []).append(whole)
    tensor = framework().Tensor
    for path, space, _ in spaces(root):
        for name, t in space.items():
            if isinstance(t, tensor):
                new.setdefault(memory(t), []).append(f"{path}.{name}".removeprefix("module."))
    for t in given:
        new.setdefault(memory(t), []).append("the batch")
    for c, line in found:
        beside = [n for of, t in ((old, c.old), (new, c.new)) for n in of[memory(t)] if n != c.path]
        if beside:
            raise refused(c.path, f"is a buffer that the forward assigns anew, in one memory with {beside[0]}: they would change together",
                          f"self.{c.name} = value.clone()" if len(old[memory(c.old)]) == 1 else IN_PLACE.format(c.name), line)


def overlaps(t: Any) -> bool:
    """Whether two elements may be in one place: a stride within what the axes of smaller ones take."""
    end = 1
    for stride, size in sorted((s, n) for s, n in zip(t.stride(), t.shape) if n > 1):
        if stride < end:
            return bool(t.numel())
        end += stride * (size - 1)
    return False


def memory(t: Any) -> int:
    return int(t.untyped_storage()._cdata)
