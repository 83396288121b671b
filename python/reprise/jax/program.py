# SPDX-License-Identifier: Apache-2.0
"""The program of a training step from captured graphs: loss, gradients, optimizer. It needs no jax."""
from __future__ import annotations

import importlib
from collections.abc import Container, Sequence
from dataclasses import dataclass, field
from typing import Any, Optional

import numpy as np

from . import contraction, elementwise, factors, indexing, moving, regions, solvers, special  # noqa: F401: they register what they handle
from .graph import Graph, Type, Unsupported
from .lowering import MOST_ITERATIONS, Lowering, Value

Named = Sequence[tuple[str, Type]]


def lower(graph: Graph, builder: Any, inputs: Sequence[Any], active: Sequence[bool] | None = None,
          iterations: int = MOST_ITERATIONS,
          bound: Container[str] | None = None) -> tuple[list[Any], dict[str, np.ndarray[Any, Any]]]:
    """Appends a graph whose inputs are tensors of the builder; gives its outputs' tensors and the program's constants."""
    g = Lowering(builder, {}, iterations, bound)
    flags = active or [False] * len(inputs)
    values = [Value(d, s, t, active=a) for (d, s), t, a in zip(graph.inputs, inputs, flags)]
    made = [g.tensor(v) for v in g.run(graph, values)]
    return made, g.data or {}


@dataclass
class Parts:
    """What a step is made of. loss: a graph of (params, state, batch) that gives the loss, the new state and the values that
    `auxiliary` names; update: a graph of (params, gradients, opt) that gives the new params and opt, or of (params, gradients,
    opt, loss). Each list is of names with types."""

    loss: Graph
    params: Named
    state: Named = ()
    batch: Named = ()
    update: Optional[Graph] = None
    opt: Named = ()
    auxiliary: Sequence[str] = field(default_factory=list)


def training(parts: Parts, *, gradients: bool = False, iterations: int = MOST_ITERATIONS,
             bound: Container[str] | None = None) -> tuple[Any, dict[str, Any]]:
    """The program and its constants by name: data, but where `bound` names the data that there is the others are feeds. Its
    results are `loss` and the auxiliary values; with gradients it updates nothing and has the results `grad.NAME`."""
    builder = importlib.import_module("reprise").Builder()
    params = [builder.state(n, s, d) for n, (d, s) in parts.params]
    state = [builder.state(n, s, d) for n, (d, s) in parts.state]
    feeds = [builder.feed(n, s, d) for n, (d, s) in parts.batch]
    flags = [True] * len(params) + [False] * (len(state) + len(feeds))
    made, data = lower(parts.loss, builder, [*params, *state, *feeds], flags, iterations, bound)
    loss = made[0] if made[0].dtype in ("f32", "f64") else builder.append("cast", {"dtype": "f32"}, [made[0]])
    grads = builder.gradients(loss, params, zeros=True)
    if gradients:
        for (name, _), g in zip(parts.params, grads):
            builder.result(f"grad.{name}", g)
    else:
        assign(builder, parts.state, made[1:1 + len(state)], "the loss")
        if parts.update is not None:
            data |= updated(builder, parts, parts.update, params, grads, made[0], iterations, bound)
        for name, tensor in zip(parts.auxiliary, made[1 + len(state):]):
            builder.result(name, tensor)
    builder.result("loss", loss)
    return builder.finish(), data


def updated(builder: Any, parts: Parts, update: Graph, params: Sequence[Any], grads: Sequence[Any], loss: Any,
            iterations: int, bound: Container[str] | None) -> dict[str, Any]:
    """The optimizer's instructions. Gradients have the parameters' types, as jax has them."""
    opt = [builder.state(n, s, d) for n, (d, s) in parts.opt]
    narrow = [g if g.dtype == d else builder.append("cast", {"dtype": d}, [g]) for g, (_, (d, _)) in zip(grads, parts.params)]
    given = [*params, *narrow, *opt, loss][:len(update.inputs)]
    made, data = lower(update, builder, given, iterations=iterations, bound=bound)
    assign(builder, [*parts.params, *parts.opt], made, "the optimizer")
    return data


def assign(builder: Any, names: Named, tensors: Sequence[Any], who: str) -> None:
    for (name, (dtype, shape)), t in zip(names, tensors):
        if (t.dtype, tuple(t.shape)) != (dtype, shape):
            raise Unsupported(f"{who} makes {name} {t.dtype}{list(t.shape)}, it was {dtype}{list(shape)}: a state keeps its type")
        builder.update(name, t)
