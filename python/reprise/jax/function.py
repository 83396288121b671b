# SPDX-License-Identifier: Apache-2.0
"""A function of jax as a program without states: `function(f, *args)`, for predictions and for trying."""
from __future__ import annotations

import importlib
from typing import Any

import numpy as np

from . import contraction, elementwise, indexing, moving, regions  # noqa: F401: they register what they handle
from .capture import capture
from .graph import Graph
from .lowering import MOST_ITERATIONS, Lowering, Value
from .trees import Tree, host, jax, like, tree


def lower(graph: Graph, builder: Any, inputs: list[Any], active: list[bool] | None = None,
          iterations: int = MOST_ITERATIONS) -> tuple[list[Any], dict[str, np.ndarray[Any, Any]]]:
    """Appends a graph whose inputs are tensors of the builder; gives its outputs' tensors and the program's data."""
    g = Lowering(builder, {}, iterations)
    flags = active or [False] * len(inputs)
    values = [Value(d, s, t, active=a) for (d, s), t, a in zip(graph.inputs, inputs, flags)]
    made = [g.tensor(v) for v in g.run(graph, values)]
    return made, g.data or {}


class Function:
    """A captured function, called with arguments of the shapes and types that it was captured with.

    graph: as captured; program; data: its constants by name. gives: how many seconds it takes is C's affair alone."""

    def __init__(self, f: Any, args: tuple[Any, ...], iterations: int, options: dict[str, Any]) -> None:
        rp = importlib.import_module("reprise")
        self.inputs: Tree = tree("in", args)
        self.form: Any = None

        def flat(*leaves: Any) -> list[Any]:
            out = f(*self.inputs.build(list(leaves)))
            leaves_out, self.form = jax().tree_util.tree_flatten(out)
            self.outputs = leaves_out
            return leaves_out
        self.graph = capture(flat, *self.inputs.leaves)
        builder = rp.Builder()
        feeds = [builder.feed(n, s, d) for n, (d, s) in zip(self.inputs.names, self.inputs.types)]
        made, self.data = lower(self.graph, builder, feeds, iterations=iterations)
        for i, t in enumerate(made):
            builder.result(f"out.{i}", t)
        self.program = builder.finish()
        self.run = rp.Run(**options)
        for name, array in self.data.items():
            self.run.add_data(name, array)
        self.compiled = self.run.compile(self.program)

    def __call__(self, *args: Any) -> Any:
        """The function's value as jax's pytree of arrays."""
        given = tree("in", args)
        if given.names != self.inputs.names:
            raise ValueError(f"arguments {given.names}, captured were {self.inputs.names}")
        for (d, s), own, name in zip(given.types, self.inputs.types, given.names):
            if (d, s) != own:
                raise ValueError(f"{name} is {d}{list(s)}, captured was {own[0]}{list(own[1])}: capture the function for it")
        found = self.compiled(**{n: host(x) for n, x in zip(given.names, given.leaves)})
        return jax().tree_util.tree_unflatten(self.form, like(self.outputs, [found[f"out.{i}"].numpy() for i in
                                                                             range(len(self.outputs))]))


def function(f: Any, *args: Any, while_limit: int = MOST_ITERATIONS, **options: Any) -> Function:
    """Captures f at these arguments: pytrees of arrays. options are those of reprise.Run (threads, level, device).

    Raises Unsupported with the primitive's name and the line of f where something has no translation."""
    return Function(f, args, while_limit, options)
