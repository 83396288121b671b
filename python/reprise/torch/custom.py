# SPDX-License-Identifier: Apache-2.0
"""Functions with a backward of their own (torch.autograd.Function): the forward is exported as it is, without gradient. What a backward makes
of the gradients that come, B(g), is linear in them: the derivative of <B(g), z> by g is a linear function of z whose gradient is B, and at
z = x - x, which is 0, it adds the gradient to the forward's values and nothing else. That B is linear is seen in the exported graph, operation
by operation; what is not, as a bound for gradients or their sign, is refused."""
from __future__ import annotations

import contextlib
import inspect
import math
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from .graph import GRADIENT, Graph, Meta, Node, Ref, map_refs, refs
from .lower import Unsupported, lowers
from .rules.backwards import apart, gradient
from .substitutes import ASKED
from .traps import framework, line_here

COTANGENT, ALONG, TRANSPOSED = (f"reprise.{n}.default" for n in ("cotangent", "along", "transposed"))
REMEDY = ("Write it in operations whose gradient is the one meant; x + (f(x) - x).detach() passes a gradient straight through f, and "
          "y.detach() + (s - s.detach()) has the values of y and the gradient of s")
lowers(COTANGENT)(lambda g, node, x: apart(g, node, x, []))
lowers(ALONG)(lambda g, node, x: x)
lowers(TRANSPOSED)(lambda g, node, y, seeds, x: gradient(g, node, y, seeds, x))
KEPT: list[Any] = []


def operations() -> Any:
    """torch.ops.reprise: cotangent, the gradient that comes; along, where z is; transposed, the derivative."""
    torch = framework()
    if not KEPT:
        library = torch.library.Library("reprise", "FRAGMENT")
        for name in ("cotangent", "along"):
            library.define(f"{name}(Tensor x) -> Tensor")
            torch.library.register_fake(f"reprise::{name}", torch.empty_like, lib=library)
        library.define("transposed(Tensor[] y, Tensor[] seeds, Tensor[] x) -> Tensor[]")
        torch.library.register_fake("reprise::transposed", lambda y, seeds, x: [torch.empty_like(t) for t in x], lib=library)
        KEPT.append(library)
    return torch.ops.reprise


def refused(kind: Any, why: str, remedy: str = REMEDY) -> Unsupported:
    name = "autograd.Function.apply"
    return Unsupported(f"{name} of {getattr(kind, '__name__', kind)}, {why}", Node("", name, where=line_here()), remedy)


class Context:
    """What a forward and its backward are given as ctx."""

    def __init__(self, kind: Any, given: Sequence[Any]) -> None:
        self.reprise_kind = kind
        self.saved_tensors: tuple[Any, ...] = ()
        self.reprise_plain: tuple[int, ...] = ()
        self.reprise_needs, self.reprise_whole = tuple(needs(x) for x in given), True

    @property
    def needs_input_grad(self) -> tuple[bool, ...]:
        """As PyTorch has it, in every mode; whoever asks has another program where another tensor is trained."""
        ASKED.names["needs_input_grad"] = ""
        return self.reprise_needs

    def save_for_backward(self, *tensors: Any) -> None:
        self.saved_tensors = tensors

    def save_for_forward(self, *tensors: Any) -> None:
        pass

    def mark_non_differentiable(self, *tensors: Any) -> None:
        self.reprise_plain = tuple(map(id, tensors))

    def set_materialize_grads(self, value: bool) -> None:
        self.reprise_whole = value

    def mark_dirty(self, *tensors: Any) -> None:
        raise refused(self.reprise_kind, "which changes what it is given (mark_dirty)")


def needs(x: Any) -> bool:
    return isinstance(x, framework().Tensor) and bool(x.requires_grad)


def asks_for_history(kind: Any) -> bool:
    """Whether the forward's own lines name is_leaf or grad_fn: what it is given is a leaf here, computed or not."""
    code = getattr(own_way(kind, "forward"), "__code__", None)
    return code is not None and not {"is_leaf", "grad_fn"}.isdisjoint(code.co_names)


def differs(x: Any) -> bool:
    return isinstance(x, framework().Tensor) and x.is_floating_point()


def own_way(kind: Any, name: str) -> Any:
    """A static method, without what PyTorch's decorators put around it: once_differentiable takes gradients off, custom_bwd looks at autocast.
    What others put there is part of it."""
    def others(f: Any) -> bool:
        return not getattr(f, "__globals__", {}).get("__name__", "").startswith("torch.")
    return inspect.unwrap(getattr(kind, name), stop=others)


def answers() -> bool:
    """Whether a forward's answers are compiled, which have no gradient."""
    frame: Any = sys._getframe(1)
    while frame is not None:
        if frame.f_code.co_name == "forward" and frame.f_code.co_filename.replace("\\", "/").endswith("/reprise/torch/inference.py"):
            return True
        frame = frame.f_back
    return False


def applied(kind: Any, *args: Any, **kwargs: Any) -> Any:
    """kind.apply(..), while a model is exported."""
    torch, pytree = framework(), framework("torch.utils._pytree")
    base = torch.autograd.Function
    if kind.__module__.partition(".")[0] == "torch" or kind.backward is base.backward:
        raise refused(kind, "whose gradient is not in the graph")
    if framework("torch._C._functorch").peek_interpreter_stack() is not None:
        raise refused(kind, "in a function that torch.vmap or torch.func calls")
    if any(isinstance(x, torch.Tensor) and x.is_complex() for x in args):
        raise refused(kind, "of complex elements")
    enabled = torch.is_grad_enabled()
    where, differentiated = line_here(), enabled and not answers()
    ctx = Context(kind, args)
    if asks_for_history(kind) and any(isinstance(x, torch.Tensor) and not x.is_leaf for x in args):
        raise refused(kind, "whose forward asks for is_leaf or grad_fn of a tensor that was computed",
                      "Ask for requires_grad, or do what depends on it before the Function is applied")
    with torch.no_grad() if enabled else contextlib.nullcontext():  # of regions inside of one another export makes several
        given = [x.detach().clone().requires_grad_(needs(x)) if isinstance(x, torch.Tensor) else x for x in args]  # which a forward may ask
        before = [x._version if isinstance(x, torch.Tensor) else 0 for x in given]
        if kind.setup_context is base.setup_context:
            found = own_way(kind, "forward")(ctx, *given, **kwargs)
        else:
            found = own_way(kind, "forward")(*given, **kwargs)
            own_way(kind, "setup_context")(ctx, tuple(given), found)
    changed = [k for k, x in enumerate(given) if isinstance(x, torch.Tensor) and x._version != before[k]]
    wrt = [x.clone() if k in changed else x for k, x in enumerate(args)]
    for k in changed:  # PyTorch does not see that: the values are others, and their gradient is as before
        args[k].copy_(joined(given[k].detach(), moved(wrt[k])))
    flat, form = pytree.tree_flatten(found)
    flat = [y.clone() if any(y is x for x in given) else y for y in flat]
    at = [k for k, y in enumerate(flat) if differs(y) and id(pytree.tree_leaves(found)[k]) not in ctx.reprise_plain]
    narrow = [str(flat[k].dtype).removeprefix("torch.") for k in at if flat[k].dtype not in (torch.float32, torch.float64)]
    if differentiated and narrow:
        raise refused(kind, f"which gives elements of {narrow[0]}: programs compute gradients in float32 and float64",
                      "Give float32 and convert what comes of it: F.apply(x).to(torch.float16)")
    if differentiated and len(at) > 1 and not ctx.reprise_whole:
        raise refused(kind, "whose backward is told which gradients do not come (set_materialize_grads)")
    if differentiated and at:
        for k, gradient_of in zip(at, slopes(kind, ctx, flat, at, wrt)):
            flat[k] = joined(flat[k].detach(), gradient_of)
    for k in at if enabled and any(ctx.reprise_needs) else ():  # in answers, and behind a backward that gives None: the next one may ask
        flat[k] = flat[k] if flat[k].requires_grad else flat[k].detach().requires_grad_().clone()
    return pytree.tree_unflatten(flat, form)


def moved(x: Any) -> Any:
    """0, with the gradient of x where that is a finite number."""
    torch = framework()
    return torch.where(torch.isfinite(x), x - x.detach(), torch.zeros_like(x))


def joined(value: Any, dot: Any) -> Any:
    """The value, with the gradient of dot, which is 0: as a difference a value of -0 stays one."""
    return value - (0 - dot)


def slopes(kind: Any, ctx: Context, flat: Sequence[Any], at: Sequence[int], given: Sequence[Any]) -> list[Any]:
    """Of each of these values what is 0 and has its gradient."""
    torch, ops = framework(), operations()
    with torch.no_grad():  # of which `linear` keeps what comes of the gradients
        seeds = [ops.cotangent(torch.zeros_like(flat[k])) for k in at]
        of = {k: s.clone() for k, s in zip(at, seeds)}  # of its own: a backward may change in place what it is given
        back = own_way(kind, "backward")(ctx, *(of.get(k, torch.zeros_like(y) if isinstance(y, torch.Tensor) else None) for k, y in enumerate(flat)))
    back = back if isinstance(back, (tuple, list)) else (back,)
    terms = []
    for b, x in zip(back, given):
        if b is not None and differs(x):
            terms.append((b.to(x.dtype) * ops.along(moved(x))).sum())
    if not terms:
        return [torch.zeros_like(s) for s in seeds]
    kinds = {t.dtype for t in terms}
    whole = [sum(t for t in terms if t.dtype is d) for d in kinds]
    return list(ops.transposed(whole, [torch.ones_like(t) for t in whole], seeds))


# ---- that a backward is linear ----

MOVES = frozenset(f"aten.{n}" for n in (
    "neg alias clone contiguous view _unsafe_view reshape expand expand_as permute transpose t mT unsqueeze squeeze slice select narrow sum mean "
    "cumsum flip roll _to_copy to split split_with_sizes chunk unbind unsafe_split diagonal tril triu gather index_select index repeat movedim "
    "swapaxes unfold im2col col2im broadcast_to flatten view_as type_as lift_fresh_copy lift_fresh detach trace diag_embed repeat_interleave tile "
    "avg_pool2d upsample_nearest2d stack cat take_along_dim as_strided_copy take").split()) | {"prims.convert_element_type"}
PRODUCTS = frozenset(f"aten.{n}" for n in "mul matmul mm bmm mv dot outer einsum linear convolution conv1d conv2d conv3d conv_transpose2d".split())
SUMS = frozenset(f"aten.{n}" for n in (
    "add sub rsub where index_put scatter scatter_add slice_scatter select_scatter index_add index_copy masked_fill constant_pad_nd pad").split())
SHAPED = frozenset(f"aten.{n}" for n in (
    "zeros_like ones_like full_like empty_like new_zeros new_ones new_full new_empty rand_like randn_like sym_size size").split())
ZEROS = frozenset(f"aten.{n}" for n in "zeros zeros_like new_zeros".split())
KEEPS = frozenset(f"aten.{n}" for n in "neg alias clone view reshape expand permute transpose t unsqueeze squeeze slice select sum _to_copy to "
                  "detach lift_fresh_copy lift_fresh broadcast_to expand_as contiguous".split())
FILLED = {"full": 1, "full_like": 1, "new_full": 2, "scalar_tensor": 0, "fill": 1}


def base_name(op: str) -> str:
    return op.rsplit(".", 1)[0].rstrip("_") if op.startswith("aten.") else op.rsplit(".", 1)[0]


def linear(graph: Graph, constants: Mapping[str, Any]) -> None:
    """Raises where a backward is not linear; else takes off what has no place in a program, and the marks of the region without gradient."""
    for g in graph.graphs:
        linear(g, {**constants, **g.constants})
    of = [n for n in graph.nodes if n.op == COTANGENT]
    if not of:
        return
    nodes = {n.name: n for n in graph.nodes}
    depends = {n.name for n in of}
    for n in graph.nodes:
        if n.op == TRANSPOSED:
            why = "" if all(e.name in depends or zero(e, nodes, constants) for e in n.args[0]) else "of a value that does not depend on them"
            depends.difference_update(refs(n.args[2]))
            if not why:
                continue
        elif n.op == COTANGENT or depends.isdisjoint(refs([n.args, n.kwargs])) or base_name(n.op) in SHAPED:
            continue
        else:
            why = broken(n, nodes, depends, constants)
        if why:
            raise Unsupported(f"its backward is not linear in the gradients that come: {n.op} {why}",
                              Node("", "autograd.Function.apply", where=n.where), REMEDY)
        depends.add(n.name)
    depends.update(n.name for n in of)
    for kept in graph.outputs:
        if not depends.isdisjoint(refs(kept.value)):
            raise Unsupported(f"its backward keeps what comes of the gradients in {kept.name or 'an output'}, which is made by a forward",
                              Node("", "autograd.Function.apply", where=of[0].where), REMEDY)
    keep_values_apart(graph, nodes, constants)
    refuse_again(graph)


def refuse_again(graph: Graph) -> None:
    """A backward of values has derivatives of its own, by these values."""
    after = {n.name for n in graph.nodes if n.op == TRANSPOSED}
    for n in graph.nodes:
        if not after.isdisjoint(refs(n.args[:1] if n.op == GRADIENT else [n.args, n.kwargs])):
            if n.op == GRADIENT:
                raise Unsupported("its gradient is computed from one of an autograd.Function: a derivative of its backward, which is taken once",
                                  Node("", "torch.autograd.grad", where=n.where), REMEDY)
            after.add(n.name)


def broken(n: Node, nodes: dict[str, Node], depends: set[str], constants: Mapping[str, Any]) -> str:
    """Why an operation is none that gradients pass through as through a sum or a product with a value."""
    name = base_name(n.op)
    operands = [*n.args, *n.kwargs.values()]
    on = [not depends.isdisjoint(refs(a)) for a in operands]
    if name in MOVES:
        first = operands[0]
        rest = [e for e in first if depends.isdisjoint(refs(e))] if isinstance(first, list) else []
        if any(on[1:]) or any(not zero(e, nodes, constants) for e in rest):
            return "of what is added to them, or of a place that they decide"
        if isinstance(n.meta, list) or n.meta is None:
            return ""
        return "to other elements" if not n.meta.real else "that rounds" if narrows(n, nodes) else ""
    if name in PRODUCTS:
        flat = [e for a in operands for e in (a if isinstance(a, list) else [a])]
        times = sum(not depends.isdisjoint(refs(e)) for e in flat)
        bias = len(n.args) > 2 and n.args[2] is not None and name not in ("aten.einsum",)
        return "of two of them" if times != 1 else "with a bias" if bias else ""
    if name == "aten.div":
        return "by one of them" if any(on[1:]) else "that rounds" if n.kwargs.get("rounding_mode") or len(n.args) > 2 else ""
    if name in ("aten.fill", "aten.copy"):  # what was there is gone
        rounds = name == "aten.copy" and isinstance(n.meta, Meta) and n.meta.dtype in ("f16", "bf16")
        return "that rounds" if rounds else "" if on[1] or zero(operands[1], nodes, constants) else "with what is neither one of them nor 0"
    if name in SUMS:
        return summed(name, n, nodes, depends, constants)
    return "is none of sums, products with values, moves and choices by values"


def narrows(n: Node, nodes: dict[str, Node]) -> bool:
    """Whether real numbers are given to an operation that makes fewer digits of them."""
    m = nodes[n.args[0].name].meta if n.args and isinstance(n.args[0], Ref) and n.args[0].name in nodes else None
    return isinstance(n.meta, Meta) and isinstance(m, Meta) and n.meta.dtype in ("f16", "bf16") and m.dtype != n.meta.dtype


def summed(name: str, n: Node, nodes: dict[str, Node], depends: set[str], constants: Mapping[str, Any]) -> str:
    """What is chosen or added beside them has to be one of them, or 0."""
    at = {"aten.add": (0, 1), "aten.sub": (0, 1), "aten.rsub": (0, 1), "aten.where": (1, 2), "aten.index_put": (0, 2), "aten.scatter": (0, 3),
          "aten.scatter_add": (0, 3), "aten.index_add": (0, 3), "aten.index_copy": (0, 3), "aten.slice_scatter": (0, 1),
          "aten.select_scatter": (0, 1), "aten.masked_fill": (0, 2), "aten.constant_pad_nd": (0, 2), "aten.pad": (0, 3)}[name]
    operands = list(n.args) + ([n.kwargs["value"]] if "value" in n.kwargs else [])
    for k, a in enumerate(operands):
        on = not depends.isdisjoint(refs(a))
        if on and k not in at:
            return "at places that they decide"
        if k in at and not on and not zero(a, nodes, constants):
            return "with what is neither one of them nor 0"
    if name == "aten.scatter" and n.kwargs.get("reduce"):
        return "that reduces"
    if name == "aten.pad" and len(n.args) > 2 and n.args[2] != "constant":
        return "" if n.args[2] in ("reflect", "replicate", "circular") else "of another mode"
    return ""


def zero(a: Any, nodes: dict[str, Node], constants: Mapping[str, Any]) -> bool:
    if a is None or isinstance(a, (bool, int, float)):
        return not a
    if not isinstance(a, Ref):
        return False
    if a.name in constants:
        return not constants[a.name].any()
    n = nodes.get(a.name)
    if n is None:
        return False
    name = base_name(n.op)
    if name in ZEROS:
        return True
    short = name.removeprefix("aten.")
    if short in FILLED and len(n.args) > FILLED[short]:
        return zero(n.args[FILLED[short]], nodes, constants)
    if name == "aten.mul":  # of infinities it is NaN
        return any(zero(e, nodes, constants) and finite(other, constants) for e, other in (n.args, n.args[::-1]))
    return name in KEEPS and zero(n.args[0], nodes, constants)


def finite(a: Any, constants: Mapping[str, Any]) -> bool:
    if isinstance(a, Ref):
        return a.name in constants and bool(framework().isfinite(constants[a.name]).all())
    return isinstance(a, (bool, int, float)) and math.isfinite(a)


def keep_values_apart(graph: Graph, nodes: dict[str, Node], constants: Mapping[str, Any]) -> None:
    """What comes of the gradients is in no region, and of the values that it has beside none has a gradient but z."""
    depends: set[str] = set()
    stopped: dict[Ref, Ref] = {}
    made: dict[str, list[Node]] = {}
    for n in graph.nodes:
        if n.op == COTANGENT:
            depends.add(n.name)
            n.module = n.module.rstrip("!")
        elif n.op == TRANSPOSED:
            depends.difference_update(refs(n.args[2]))
        elif not depends.isdisjoint(refs([n.args, n.kwargs])) and base_name(n.op) not in SHAPED:
            depends.add(n.name)
            n.module = n.module.rstrip("!")
            n.op = "aten.alias.default" if base_name(n.op) == "aten.detach" else n.op

            def apart_of(e: Any, n: Node = n) -> Any:
                source = nodes.get(e.name) if isinstance(e, Ref) else None
                if not isinstance(e, Ref) or e.name in depends or e.name in constants or source is not None and source.op == ALONG:
                    return e
                m = source.meta if source is not None else next((i.meta for i in graph.inputs if i.name == e.name), None)
                m = m[e.index or 0] if isinstance(m, list) else m
                if m is None or not m.real:
                    return e
                if e not in stopped:
                    name = f"{e.name}_still" + ("" if e.index is None else str(e.index))
                    made.setdefault(n.name, []).append(Node(name, "reprise.stop_gradient", [e], {}, m, n.where, n.module))
                    stopped[e] = Ref(name)
                return stopped[e]
            n.args, n.kwargs = map_refs(apart_of, n.args), map_refs(apart_of, n.kwargs)
    graph.nodes = [e for n in graph.nodes for e in [*made.get(n.name, []), n]]
