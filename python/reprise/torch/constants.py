# SPDX-License-Identifier: Apache-2.0
"""Numbers of Python, and shapes, that the values of tensors decide: where no input, parameter or draw comes into these tensors they are
known while a model is exported, and are burned in as other constants are. Buffers among them are those that the forward leaves as they are."""
from __future__ import annotations

import contextlib
import operator
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from .alike import KNOWN, NOW, lies_in, norms
from .checks import number_compared, numbered, operations, unknown, watched
from .refusals import refused
from .traps import framework, line_here

MOST_ELEMENTS = 1 << 24
ASKED = ("item", "tolist", "__bool__", "__int__", "__float__", "__index__")
SHAPED = ("nonzero", "argwhere", "unique", "unique_consecutive", "bincount")
ROWS = ("Shapes are fixed: keep all rows, take with torch.where or multiply by 0 and 1 what counts, and divide sums by how many that are; "
        "cross_entropy(x, torch.where(mask, y, -100)) leaves targets out. What the mask comes of may be buffers, where all batches have it")


@dataclass(frozen=True)
class Factor:
    """Of what cholesky_ex says of matrices: a flag of the graph, whether one has no factor."""

    missing: Any


FACTORS: dict[Any, Factor] = {}  # by the node of `info`


def factored(was: Callable[..., Any]) -> Callable[..., Any]:
    """In the place of torch.linalg.cholesky_ex, whose `info` a graph has not: where a forward asks for it all matrices have a factor, and a
    step in which one has none is an error."""
    def call(A: Any, *, upper: bool = False, check_errors: bool = False, out: Any = None) -> Any:
        torch, tracing = framework(), framework("torch.fx.experimental.proxy_tensor")
        found = was(A, upper=upper, check_errors=check_errors, out=out)
        mode = tracing.get_proxy_mode()
        slot = tracing.get_proxy_slot(found.info, mode.tracer, None) if mode is not None and isinstance(found.info, torch.Tensor) else None
        if slot is not None:
            with torch.no_grad():
                FACTORS[slot.proxy.node] = Factor(torch.logical_not((found.L.detach().diagonal(dim1=-2, dim2=-1) > 0).all()))
        return found
    return call


class Known:
    """The values of tensors that are being traced. `asked`: the real tensors that those come of which were asked for, by name; `buffers`:
    names of the module's buffers among them."""

    def __init__(self, module: Any) -> None:
        self.module = module
        self.real = dict(module.named_buffers(remove_duplicate=False))
        self.asked: dict[str, Any] = {}
        self.buffers: set[str] = set()
        self.traces: list[Trace] = []

    def of(self, t: Any) -> Any:
        """The value as a tensor of its own, or None where it is not known."""
        torch, tracing = framework(), framework("torch.fx.experimental.proxy_tensor")
        if type(t) is torch.Tensor:
            plain = not torch._C._functorch.is_functorch_wrapped_tensor(t) and not torch._is_functional_tensor(t)
            if not plain or t.requires_grad or t.numel() > MOST_ELEMENTS:
                return None
            self.ask(None, t)
            return t
        mode = tracing.get_proxy_mode()
        slot = tracing.get_proxy_slot(t, mode.tracer, None) if mode is not None and isinstance(t, torch.Tensor) else None
        if slot is None:
            return None
        trace = next((x for x in self.traces if x.tracer is mode.tracer), None)
        if trace is None:
            self.traces.append(trace := Trace(mode.tracer))
            for name, b in self.module.named_buffers(remove_duplicate=False):
                found = tracing.get_proxy_slot(b, mode.tracer, None)
                if found is not None and name in self.real and found.proxy.node.op == "placeholder":
                    trace.places[found.proxy.node] = name, self.real[name]
        trace.go_on()
        value = trace.values.get(slot.proxy.node)
        if value is not None:
            for name, source in trace.sources[storage(value)]:
                self.ask(name, source)
        return value

    def ask(self, name: str | None, t: Any) -> None:
        if isinstance(t, Factor):
            operations()[1](t.missing, numbered(f"torch.linalg.cholesky_ex of a matrix that is not positive definite, {line_here()}"))
            return
        if name is not None:
            self.buffers.add(name)
        if not any(t is o for o in self.asked.values()):
            self.asked[name or f"asked.{len(self.asked)}"] = t


def storage(t: Any) -> int:
    return int(t.untyped_storage()._cdata)


class Trace:
    """The operations of a graph that is being traced, made again in their order as far as all is known that they take, also where they
    write: into tensors of our own. `sources`: of each storage the real tensors that came into it, with the names of buffers."""

    def __init__(self, tracer: Any) -> None:
        self.tracer, self.last = tracer, tracer.graph._root
        self.places: dict[Any, tuple[str, Any]] = {}
        self.values: dict[Any, Any] = {}
        self.sources: dict[int, list[tuple[str | None, Any]]] = {}

    def go_on(self) -> None:
        with framework("torch.utils._python_dispatch")._disable_current_modes(), framework()._C.DisableTorchFunction(), framework().no_grad():
            while self.last.next is not self.tracer.graph._root:
                self.last = self.last.next
                if self.last.op == "placeholder" and self.last in self.places:
                    self.own(self.last, *self.places[self.last])
                elif self.last.op == "get_attr" and isinstance(t := getattr(self.tracer.root, self.last.target, None), framework().Tensor):
                    if not t.requires_grad and t.numel() <= MOST_ELEMENTS:
                        self.own(self.last, None, t)
                elif self.last.op == "call_function":
                    self.call(self.last)

    def own(self, n: Any, name: str | None, real: Any) -> None:
        """One copy of each tensor, however often it is read: what is written into it is there everywhere."""
        of = next((v for v in self.values.values() if isinstance(v, framework().Tensor) and
                   any(r is real for _, r in self.sources[storage(v)][:1])), None)
        if of is None or of.shape != real.shape:
            of = real.detach().clone()
            self.sources[storage(of)] = [(name, real)]
        self.values[n] = of

    def call(self, n: Any) -> None:
        torch, fx = framework(), framework("torch.fx")
        tensors = [self.values[a] for a in n.all_input_nodes if isinstance(self.values.get(a), torch.Tensor)]
        if all(a in self.values for a in n.all_input_nodes) and plain(n):
            try:
                found = n.target(*fx.node.map_arg(n.args, self.values.__getitem__), **fx.node.map_arg(n.kwargs, self.values.__getitem__))
            except (RuntimeError, IndexError, ValueError, TypeError):
                found = None
            if found is not None:
                self.values[n] = found
                came = {id(t): (name, t) for x in tensors for name, t in self.sources[storage(x)]}
                for v in found if isinstance(found, (tuple, list)) else [found]:
                    if isinstance(v, torch.Tensor):
                        self.sources[storage(v)] = [*{**{id(t): (k, t) for k, t in self.sources.get(storage(v), [])}, **came}.values()]
                return
        if n in FACTORS:  # of a matrix that is not known
            self.values[n] = torch.zeros(n.meta["val"].shape, dtype=torch.int32)
            self.sources[storage(self.values[n])] = [(None, FACTORS[n])]
            return
        changed = n.all_input_nodes if writes(n) else norms(n)
        if changed:  # of something unknown: so is all that lies there
            gone = {storage(t) for a in changed if isinstance(t := self.values.get(a), torch.Tensor)}
            places = {p for a in changed for p in lies_in(a)}
            for m in [m for m, v in self.values.items() if not places.isdisjoint(lies_in(m)) or
                      any(storage(t) in gone for t in (v if isinstance(v, (tuple, list)) else [v]) if isinstance(t, torch.Tensor))]:
                del self.values[m]


def plain(n: Any) -> bool:
    if n.target is operator.getitem:
        return True
    v = n.meta.get("val")
    sizes = [v] if isinstance(v, framework().Tensor) else v if isinstance(v, (tuple, list)) else []
    if not sizes or any(not isinstance(x, framework().Tensor) or any(not isinstance(m, int) for m in x.shape) for x in sizes):
        return False
    drawn = framework().Tag.nondeterministic_seeded in getattr(n.target, "tags", ()) or "empty" in str(n.target)
    return sum(x.numel() for x in sizes) <= MOST_ELEMENTS and str(n.target).startswith("aten.") and not drawn


def writes(n: Any) -> bool:
    schema = getattr(n.target, "_schema", None)
    return schema is None or schema.is_mutable


def places_of(known: Known, mask: Any) -> list[Any] | None:
    """Of a mask its places, along each of its axes."""
    value = known.of(mask)
    if value is None:
        return None
    with framework("torch.utils._python_dispatch")._disable_current_modes(), framework()._C.DisableTorchFunction():
        return list(value.nonzero().unbind(1))


@contextlib.contextmanager
def known_values(module: Any) -> Iterator[Known]:
    """While a model is exported, what asks for values gets those that are known."""
    torch, known = framework(), Known(module)
    busy: list[bool] = []

    truth, numbers = torch.Tensor.__bool__, {torch.Tensor.__int__: int, torch.Tensor.__float__: float}

    def looked(f: Callable[..., Any], *args: Any) -> Any:
        """Nothing that PyTorch itself asks meanwhile is a question of the model."""
        if busy:
            return None
        busy.append(True)
        try:
            return f(*args)
        finally:
            busy.pop()

    def asked(was: Any) -> Any:
        def call(self: Any, *args: Any) -> Any:
            value = looked(known.of, self)
            if value is None:
                found = looked(watched, self, sys._getframe(1)) if was is truth else None
                if was in numbers:
                    found = looked(number_compared, self, sys._getframe(1), numbers[was])
                return unknown(was, self, *args) if found is None else found
            with framework("torch.utils._python_dispatch")._disable_current_modes(), torch._C.DisableTorchFunction():
                return was(value, *args)
        return call

    def shaped(was: Any) -> Any:
        def call(*args: Any, **kwargs: Any) -> Any:
            given = [known_or(x) for x in args]
            named = {k: known_or(x) for k, x in kwargs.items()}
            if any(x is None for x in (*given, *named.values())):
                return was(*args, **kwargs)
            with framework("torch.utils._python_dispatch")._disable_current_modes(), torch._C.DisableTorchFunction():
                return was(*(x[0] for x in given), **{k: x[0] for k, x in named.items()})

        def known_or(x: Any) -> Any:
            if not isinstance(x, torch.Tensor):
                return (x,)
            if x.requires_grad:  # its values would be a constant's
                return None
            value = looked(known.of, x)
            return None if value is None else (value,)
        return call

    def taken(was: Any) -> Any:
        def call(self: Any, index: Any) -> Any:
            several = index if type(index) is tuple else (index,)
            masks = [isinstance(i, torch.Tensor) and i.dtype is torch.bool and i.dim() > 0 for i in several]
            if busy or not any(masks) or framework("torch.fx.experimental.proxy_tensor").get_proxy_mode() is None:
                return was(self, index)
            found: list[Any] = []
            for i, mask in zip(several, masks):
                places = looked(places_of, known, i) if mask else [i]
                if places is None:
                    raise refused("aten.index.Tensor", "of a mask: a shape that the values of tensors decide", ROWS)
                found += places
            return was(self, tuple(found))
        return call

    def selected(was: Any) -> Any:
        def call(self: Any, mask: Any) -> Any:
            if busy or framework("torch.fx.experimental.proxy_tensor").get_proxy_mode() is None:
                return was(self, mask)
            shape = torch.broadcast_shapes(self.shape, mask.shape)
            places = looked(places_of, known, mask.expand(shape))
            return self.expand(shape)[tuple(places)] if places else was(self, mask)
        return call

    def where_of(was: Any) -> Any:
        known_one = shaped(was)
        return lambda *args, **kwargs: known_one(*args, **kwargs) if len(args) + len(kwargs) == 1 else was(*args, **kwargs)

    changes = [(torch, "where", where_of), *((torch.Tensor, n, asked) for n in ASKED), (torch.Tensor, "__getitem__", taken),
               *((owner, "masked_select", selected) for owner in (torch, torch.Tensor)),
               *((owner, n, shaped) for owner in (torch, torch.Tensor) for n in SHAPED if hasattr(owner, n))]
    kept = [(owner, name, vars(owner).get(name)) for owner, name, _ in changes]
    for owner, name, change in changes:
        setattr(owner, name, change(getattr(owner, name)))
    NOW.append(looked)
    KNOWN.append(known.of)
    try:
        yield known
    finally:
        NOW.pop()
        KNOWN.pop()
        FACTORS.clear()
        for owner, name, own in kept:
            if own is not None:
                setattr(owner, name, own)
            else:
                delattr(owner, name)
