# SPDX-License-Identifier: Apache-2.0
"""torch.equal while a model is exported, where a graph has no truth: of two tensors that are the same values however the batch is, of
constants, whose values are burned in and looked at as others are, and in checks that only raise. What a batch decides is refused."""
from __future__ import annotations

import ast
import builtins
import dis
import operator
import sys
import types
from collections.abc import Callable, Iterator
from typing import Any

from .checks import Check, Source, decided, held, numbered, operations, resolved, source_of
from .refusals import refused
from .traps import framework, line_here

NORMS = ("batch_norm", "instance_norm")  # which write their running values, and do not say so
UNKNOWN = ("empty", *NORMS)
WAY_OUT = ("It is known of values that are made of the same tensors in the same way, and of tensors and buffers that no step changes. What batches "
           "decide is written with torch.where((a == b).all(), ..), or given to the step as a number; a check that only raises is taken: "
           "`if not torch.equal(a, b): raise ..`")


NOW: list[Callable[..., Any]] = []  # while a model is exported: calls a function whose own questions are not the model's; None inside of one
KNOWN: list[Callable[[Any], Any]] = []  # a tensor's value, where it is known


def equal(was: Callable[..., bool]) -> Callable[..., bool]:
    """In the place of torch.equal and Tensor.equal."""
    def call(input: Any, other: Any) -> bool:
        torch, mode = framework(), framework("torch.fx.experimental.proxy_tensor").get_proxy_mode()
        same = NOW[-1](alike, mode.tracer, input, other) if NOW and mode is not None else None
        if same is None:
            return was(input, other)
        if input.shape != other.shape:
            return False
        if same:
            refuse_nan(input)
            return True
        values = [NOW[-1](KNOWN[-1], t) for t in (input, other)]
        if all(v is not None for v in values):
            with framework("torch.utils._python_dispatch")._disable_current_modes(), torch._C.DisableTorchFunction():
                return was(*values)
        check, frame = agreed(sys._getframe(1), call)
        if check is None or not check.goes_on or any(torch._C._functorch.is_functorch_wrapped_tensor(t) for t in (input, other)):
            raise refused("torch.equal", "of two tensors whose values are not known before the step runs", WAY_OUT)
        with torch.no_grad():
            different = torch.logical_not((input.detach() == other.detach()).all())
        return held(check, different, frame)
    return call


def refuse_nan(t: Any) -> None:
    """What has a NaN equals nothing: of that the step is an error, where the forward would go another way."""
    torch = framework()
    if t.is_floating_point() or t.is_complex():
        with torch.no_grad():
            d = t.detach()
            operations()[1]((d != d).any(), numbered(f"torch.equal of what is NaN, {line_here()}"))


# ---- values that are made alike ----

def alike(tracer: Any, a: Any, b: Any) -> bool | None:
    """Whether both are made by the same operations of the same tensors, none of which anything has written into. None: of what is no tensor."""
    torch = framework()
    if not all(isinstance(t, torch.Tensor) for t in (a, b)):
        return None
    if a is b:
        return not torch._C._functorch.is_functorch_wrapped_tensor(a)
    slots = [framework("torch.fx.experimental.proxy_tensor").get_proxy_slot(t, tracer, None) for t in (a, b)]
    if any(s is None for s in slots):
        return False
    todo, pairs, seen = [tuple(s.proxy.node for s in slots)], set[Any](), set[Any]()
    while todo:
        x, y = todo.pop()
        seen.update((x, y))
        if x is y or (x, y) in pairs:
            continue
        pairs.add((x, y))
        if x.op == y.op == "get_attr" and attribute(tracer, x) is attribute(tracer, y):
            continue
        if not x.op == y.op == "call_function" or x.target is not y.target or not repeatable(x):
            return False
        (xs, form), (ys, other) = (framework("torch.utils._pytree").tree_flatten((list(n.args), dict(n.kwargs))) for n in (x, y))
        if form != other:
            return False
        for p, q in zip(xs, ys):
            if hasattr(p, "op") and hasattr(q, "op"):
                todo.append((p, q))
            elif type(p) is not type(q) or repr(p) != repr(q):
                return False
    changed = {m for n in written(tracer.graph) for m in (memory(tracer, n), *lies_in(n))}
    return not any(m in changed for n in seen for m in (memory(tracer, n), *lies_in(n)))


def attribute(tracer: Any, n: Any) -> Any:
    return operator.attrgetter(n.target)(tracer.root)


def repeatable(n: Any) -> bool:
    """Whether the operation has the same value of the same operands each time."""
    if n.target is operator.getitem:
        return True
    schema, name, tag = getattr(n.target, "_schema", None), str(n.target), framework().Tag
    return schema is not None and not schema.is_mutable and name.startswith("aten.") and not any(w in name for w in UNKNOWN) and not any(
        t in n.target.tags for t in (tag.nondeterministic_seeded, tag.nondeterministic_bitwise))


def memory(tracer: Any, n: Any) -> Any:
    """What a node's value lies in, through views and changes in place: the node that made it, or a tensor's storage."""
    while n.op == "call_function" and n.args and hasattr(n.args[0], "op"):
        schema = getattr(n.target, "_schema", None)
        if n.target is not operator.getitem and (schema is None or not any(r.alias_info is not None for r in schema.returns)):
            break
        n = n.args[0]
    if n.op == "get_attr" and isinstance(t := attribute(tracer, n), framework().Tensor):
        return t.untyped_storage()._cdata
    return n


def lies_in(n: Any) -> set[int]:
    """The storages of the exporter's stand-ins of a node's values: some operations give views (einsum, meshgrid, broadcast_tensors), and do not
    say so."""
    leaves = framework("torch.utils._pytree").tree_leaves(n.meta.get("val"))
    return {t.untyped_storage()._cdata for t in leaves if isinstance(t, framework().Tensor) and t.layout is framework().strided}


def norms(n: Any) -> list[Any]:
    """The running values that such an operation of a graph changes."""
    here = any(w in str(n.target) for w in NORMS) and not getattr(getattr(n.target, "_schema", None), "is_mutable", True)
    return [a for a in n.args[3:5] if hasattr(a, "op")] if here and (len(n.args) < 6 or n.args[5] is not False) else []


def written(graph: Any) -> Iterator[Any]:
    """The nodes whose values an operation of the graph changes in place; of one that does not say, all that it takes."""
    for n in graph.nodes:
        schema = getattr(n.target, "_schema", None)
        if n.op != "call_function" or n.target is operator.getitem:
            continue
        given: list[Any] = [n.args, n.kwargs]
        if schema is not None:
            changes = [k for k, a in enumerate(schema.arguments) if a.alias_info is not None and a.alias_info.is_write]
            given = [*norms(n), *(n.args[k] if k < len(n.args) else n.kwargs.get(schema.arguments[k].name) for k in changes)]
        yield from (x for x in framework("torch.utils._pytree").tree_leaves(given) if hasattr(x, "op"))


# ---- checks ----

def called(frame: types.FrameType, text: Source) -> ast.Call | None:
    """The call in the source that the frame makes now."""
    k = max((i for i in dis.get_instructions(frame.f_code) if i.offset <= frame.f_lasti), key=lambda i: i.offset, default=None)
    at = k.positions if k is not None and k.opname.startswith(("CALL", "PRECALL")) else None
    nodes = text.at.get((at.lineno or 0, at.end_lineno or 0, at.col_offset or 0, at.end_col_offset or 0), []) if at is not None else []
    return nodes[0] if len(nodes) == 1 and isinstance(nodes[0], ast.Call) else None


def agreed(frame: types.FrameType, function: Any) -> tuple[Check | None, types.FrameType]:
    """The check that the answer to `torch.equal(a, b)` or `a.equal(b)` decides, also as one of `all(torch.equal(a, b) for ..)`, and the frame
    that has it."""
    text = source_of(frame.f_code)
    call = called(frame, text) if text is not None else None
    if text is None or call is None or resolved(call.func, frame) is not function and getattr(call.func, "attr", "") != "equal":
        return None, frame
    several, outer = text.above.get(call), frame.f_back
    if not isinstance(several, ast.GeneratorExp):
        return decided(frame, call), frame
    whole = text.above.get(several)
    if several.elt is not call or any(g.ifs or g.is_async for g in several.generators) or outer is None or not isinstance(whole, ast.Call) or \
            source_of(outer.f_code) is not text or called(outer, text) is not whole or whole.args != [several] or whole.keywords or \
            resolved(whole.func, outer) is not builtins.all:
        return None, frame
    check = decided(outer, whole)
    return check if check is not None and check.ahead is None else None, outer
