# SPDX-License-Identifier: Apache-2.0
"""Gradients in a forward or a loss: while a model is exported torch.autograd.grad, and what torch.func makes of it, is an operation of
this package, whose rule takes the program's own gradient there; the step's gradients go through it as through any other. Derivatives
along directions are gradients of gradients."""
from __future__ import annotations

import contextlib
import functools
import operator
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from .graph import GRADIENT
from .refusals import refused
from .traps import framework, inside

MOST_SEEDS = 1024  # each is a gradient of its own
SAMPLES = "Give torch.vmap'd functions what they are differentiated by as arguments, each with the others that have a row a sample"


@functools.lru_cache(None)
def operations() -> tuple[Any, Any, Any]:
    """torch.ops.reprise.gradient: of values, with seeds, by other values. torch.ops.reprise.leaf: a value that only what comes after it
    depends on; under vmap it has a row a sample where any of `beside` has."""
    torch = framework()
    library = torch.library.Library("reprise", "FRAGMENT")
    library.define("gradient(Tensor[] y, Tensor[] seeds, Tensor[] x) -> Tensor[]")
    library.define("leaf(Tensor x, Tensor[] beside) -> Tensor")
    torch.library.register_fake("reprise::gradient", lambda y, seeds, x: [torch.empty_like(t) for t in x], lib=library)
    torch.library.register_fake("reprise::leaf", lambda x, beside: torch.empty_like(x), lib=library)
    torch.library.register_vmap("reprise::gradient", gradient_of_samples, lib=library)
    torch.library.register_vmap("reprise::leaf", leaf_of_samples, lib=library)
    return library, torch.ops.reprise.gradient.default, torch.ops.reprise.leaf.default


def first(x: Any, at: int | None, n: int) -> Any:
    """x with the samples as its first axis."""
    return x.unsqueeze(0).expand(n, *x.shape) if at is None else x.movedim(at, 0)


def gradient_of_samples(info: Any, at: Any, y: Sequence[Any], seeds: Sequence[Any], x: Sequence[Any]) -> Any:
    """No sample's value depends on another sample: the gradient of all by all is each one's. Where the seeds alone differ each is a
    gradient of its own."""
    n, torch = info.batch_size, framework()
    if all(d is None for d in at[0]):
        if n > MOST_SEEDS:
            raise refused("torch.vmap", f"of a gradient with {n} seeds", f"At most {MOST_SEEDS} are taken")
        rows = [operations()[1](y, [s if d is None else s.select(d, k) for s, d in zip(seeds, at[1])], x) for k in range(n)]
        return [torch.stack(v) for v in zip(*rows)], [0] * len(x)
    if any(d is None for d in at[2]):
        raise refused("torch.vmap", "of a gradient by a tensor that all samples share", SAMPLES)
    ys = [first(v, d, n) for v, d in zip(y, at[0])]
    return operations()[1](ys, [first(v, d, n) for v, d in zip(seeds, at[1])], list(x)), list(at[2])


def leaf_of_samples(info: Any, at: Any, x: Any, beside: Sequence[Any]) -> Any:
    return operations()[2](x if at[0] is not None else first(x, None, info.batch_size).contiguous(), []), at[0] or 0


def gradients(y: Sequence[Any], x: Sequence[Any], seeds: Sequence[Any] | None = None) -> list[Any]:
    torch = framework()
    seeds = seeds if seeds is not None else [None] * len(y)
    return list(operations()[1](list(y), [torch.ones_like(v) if s is None else s for v, s in zip(y, seeds)], list(x)))


# ---- torch.autograd.grad ----

def differentiate(outputs: Sequence[Any], seeds: Sequence[Any], retain_graph: bool, create_graph: bool, inputs: Sequence[Any],
                  allow_unused: bool = False, accumulate_grad: bool = False, **more: Any) -> Any:
    """torch.autograd's call of its engine."""
    torch, graph = framework(), framework("torch.autograd.graph")
    if inside("/torch/_higher_order_ops/"):  # how PyTorch traces cond and scan
        return graph._engine_run_backward(outputs, seeds, retain_graph, create_graph, inputs, allow_unused, accumulate_grad=accumulate_grad)
    if accumulate_grad:
        raise refused("Tensor.backward", "in a forward or a loss", "torch.autograd.grad(value, by, create_graph=True) gives the gradients")
    for t in (*outputs, *inputs):
        if not isinstance(t, torch.Tensor):
            raise refused("torch.autograd.grad", f"of or by a {type(t).__name__}", "Give it tensors")
        if not t.requires_grad and not batched(t):
            raise refused("torch.autograd.grad", "of or by a tensor that has no gradient", "Call x.requires_grad_() before the values are "
                          "computed from x, and compute them under torch.enable_grad()")
    used = reached(outputs, inputs) if not any(map(batched, outputs)) else [True] * len(inputs)
    if not allow_unused and not all(used):
        raise refused("torch.autograd.grad", "by a tensor that the values do not depend on", "Leave it out, or say allow_unused=True")
    found = iter(gradients(outputs, [x for x, u in zip(inputs, used) if u], seeds))
    whole = [next(found) if u else None for u in used]
    return tuple(x if x is None or create_graph else x.detach() for x in whole)


def batched(x: Any) -> bool:
    """Whether vmap has a sample's value in its place: of that autograd's ways are not told."""
    return bool(framework("torch._C._functorch").is_batchedtensor(x))


def reached(outputs: Sequence[Any], inputs: Sequence[Any]) -> list[bool]:
    """Which inputs autograd has a way to."""
    edge = framework("torch.autograd.graph").get_gradient_edge
    wanted = [edge(x)[:2] for x in inputs]
    ways = [edge(y)[:2] for y in outputs]
    seen = set(ways)
    while ways:
        for way in ways.pop()[0].next_functions:
            if way[0] is not None and way not in seen:
                seen.add(way)
                ways.append(way)
    return [x in seen for x in wanted]


def one_by_one(f: Callable[..., Any], in_dims: Any = 0, out_dims: Any = 0, **more: Any) -> Callable[..., Any]:
    """What torch.autograd has for several seeds at once: each is a gradient of its own."""
    torch, pytree = framework(), framework("torch.utils._pytree")

    def call(*args: Any) -> Any:
        flat, form = pytree.tree_flatten(args)
        if in_dims != 0 or out_dims != 0 or len(flat[0]) > MOST_SEEDS:
            raise refused("torch.autograd.grad", f"of {len(flat[0])} seeds at once", f"At most {MOST_SEEDS} are taken")
        rows = [f(*pytree.tree_unflatten([t[k] for t in flat], form)) for k in range(len(flat[0]))]
        return tuple(None if v[0] is None else torch.stack(v) for v in zip(*rows))
    return call


# ---- torch.func ----

def leaves(tree: Any, level: int) -> Any:
    """The tensors of a tree, apart from what they were made of."""
    pytree, torch = framework("torch.utils._pytree"), framework()
    beside = [t for t in pytree.tree_leaves(tree) if isinstance(t, torch.Tensor)]
    return pytree.tree_map_only(torch.Tensor, lambda t: operations()[2](t, beside) if t.is_floating_point() else t, tree)


def function_gradient(outputs: Any, inputs: Any, grad_outputs: Any = None, retain_graph: bool = False, create_graph: bool = True) -> Any:
    return tuple(gradients(outputs, inputs, grad_outputs))


def along(func: Callable[..., Any], primals: Any, tangents: Any, argnums: Any, *, strict: bool = False, has_aux: bool) -> Any:
    """jvp: the gradient by seeds u is linear in u, and the derivative of its product with a direction by u is the one along it."""
    torch, pytree = framework(), framework("torch.utils._pytree")
    transforms = framework("torch._functorch.eager_transforms")
    found, back, *aux = transforms._vjp_with_argnums(func, *primals, argnums=argnums, has_aux=has_aux)
    flat, form = pytree.tree_flatten(found)
    seeds = leaves([torch.zeros_like(v) for v in flat], 0)
    slopes = pytree.tree_leaves(back(pytree.tree_unflatten(seeds, form)))
    directions = [d.to(s.dtype) for d, s in zip(pytree.tree_leaves(tangents), slopes)]
    return (found, pytree.tree_unflatten(gradients(slopes, seeds, directions), form), *aux)


@contextlib.contextmanager
def no_level() -> Iterator[int]:
    yield 0


def unchanged(tree: Any, level: int | None = None) -> Any:
    return tree


@contextlib.contextmanager
def one_tensor() -> Iterator[None]:
    """Of an operation that gives the very tensor which it was given (broadcast_tensors, type_as) PyTorch's tracer knows the tensor as that
    operation's value from then on: a gradient by it would be of what is computed after that alone. Here it stays what it was, but
    where the operation writes into it."""
    tracing = framework("torch.fx.experimental.proxy_tensor")
    was = tracing.set_proxy_slot

    def set_proxy_slot(obj: Any, tracer: Any, proxy: Any) -> None:
        if isinstance(obj, framework().Tensor) and obj in tracer.tensor_tracker:
            node = proxy.proxy.node
            while node.target is operator.getitem:
                node = node.args[0]
            schema = getattr(node.target, "_schema", None)
            if schema is not None and not schema.is_mutable:
                return
        was(obj, tracer, proxy)
    tracing.set_proxy_slot = set_proxy_slot
    try:
        yield
    finally:
        tracing.set_proxy_slot = was


def functions() -> list[tuple[Any, str, Any]]:
    """What takes the place of what: of torch.func the inner functions, which grad, grad_and_value, vjp, jvp, jacrev, jacfwd and hessian
    call by whatever name a model has them."""
    transforms = framework("torch._functorch.eager_transforms")
    of = {"grad_increment_nesting": no_level, "_wrap_all_tensors": leaves, "_create_differentiable": unchanged,
          "_undo_create_differentiable": unchanged, "_autograd_grad": function_gradient, "_jvp_with_argnums": along}
    return [(framework("torch.autograd"), "_engine_run_backward", differentiate), (framework("torch._vmap_internals"), "_vmap", one_by_one),
            (framework("torch.autograd.functional"), "_vmap", one_by_one), *((transforms, k, v) for k, v in of.items())]
