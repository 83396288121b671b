# SPDX-License-Identifier: Apache-2.0
"""A function of jax as a program without states: `function(f, *args)`, for predictions and for trying."""
from __future__ import annotations

import importlib
from typing import Any

from .capture import capture
from .lowering import MOST_ITERATIONS
from .program import lower
from .trees import Tree, given, jax, like, taken, tree


class Function:
    """A captured function, called with arguments of the shapes and types that it was captured with.

    graph: as captured; program; data: its constants by name."""

    def __init__(self, f: Any, args: tuple[Any, ...], iterations: int, options: dict[str, Any]) -> None:
        rp = importlib.import_module("reprise")
        self.inputs: Tree = tree("in", args)
        self.form: Any = None

        def flat(*leaves: Any) -> list[Any]:
            found, self.form = jax().tree_util.tree_flatten(f(*self.inputs.build(list(leaves))))
            self.outputs: list[Any] = list(found)
            return self.outputs
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
        own = tree("in", args)
        if own.names != self.inputs.names:
            raise ValueError(f"arguments {own.names}, captured were {self.inputs.names}")
        for (d, s), known, name in zip(own.types, self.inputs.types, own.names):
            if (d, s) != known:
                raise ValueError(f"{name} is {d}{list(s)}, captured was {known[0]}{list(known[1])}: capture the function for it")
        if own.key != self.inputs.key:
            raise ValueError("arguments of another form, or other values of what is no array, than captured: capture the function for them")
        found = self.compiled(**{n: given(x) for n, x in zip(own.names, own.leaves)})
        return jax().tree_util.tree_unflatten(self.form, like(self.outputs, [self.taken(found, i) for i in range(len(self.outputs))]))

    def taken(self, found: Any, i: int) -> Any:
        array = taken(found[f"out.{i}"])
        return array.view("uint64") if str(getattr(self.outputs[i], "dtype", "")) == "uint64" else array


def function(f: Any, *args: Any, while_limit: int = MOST_ITERATIONS, **options: Any) -> Function:
    """Captures f at these arguments: pytrees of arrays. options are those of reprise.Run (threads, level, device).

    Raises Unsupported with the primitive's name and the line of f where something has no translation."""
    return Function(f, args, while_limit, options)
