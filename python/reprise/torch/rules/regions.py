# SPDX-License-Identifier: Apache-2.0
"""torch.cond, scan and while_loop as regions: branches and bodies are functions, which see their operands and nothing else, so the
constants of a body are handed to it too."""
from __future__ import annotations

import importlib
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..graph import Graph, Node
from ..lower import Array, Lowering, Tensor, Value, lowers

MOST_ITERATIONS = 1 << 16


class Body(Lowering):
    """Lowers a branch or a body into a function. `wanted` are the constants that it turned out to need, which are parameters
    behind its own when it is lowered again."""

    def __init__(self, outer: Lowering, graph: Graph, given: Sequence[Array]) -> None:
        super().__init__(graph, importlib.import_module("reprise").Builder())
        self.node, self.given, self.wanted = outer.node, list(given), list[Array]()

    def constant_of(self, kind: str, name: str, array: Array) -> Tensor:
        self.wanted.append(array)
        return self.op("fill", value=0.0, shape=list(array.shape), dtype=kind)  # in the first of two passes alone

    def rng(self) -> Tensor:
        raise self.refuse("random numbers in a branch or a loop's body", "Draw before it, and hand what was drawn to it")

    def lowered(self, before: Sequence[tuple[tuple[int, ...], str]], operands: Sequence[Value], shared: int) -> list[Value]:
        """Parameters, then the graph's own operations; the values that it returns. `before`: parameters that the body has and
        the graph has not; behind the graph's last come those of the constants."""
        for shape, dtype in before:
            self.builder.parameter(shape, dtype)
        metas = [i.meta for i in self.graph.inputs]
        if len(metas) != len(operands):
            raise self.refuse(f"a body of {len(metas)} operands, given {len(operands)}")
        placed = [self.builder.parameter(m.shape, m.dtype) for m in metas]
        for array in self.given:
            kind, _, _ = self.identity(array)
            self._constants[self.identity(array)] = self.builder.parameter(array.shape, kind)
        for i, t in zip(self.graph.inputs, placed):
            self.env[i.name] = self.value(t)
        self.nodes(self.graph, self.env)
        return [self.resolve(o.value, self.env, self.graph) for o in self.graph.outputs]


def function(g: Lowering, graph: Graph, operands: Sequence[Value], before: Sequence[tuple[tuple[int, ...], str]] = (),
             given: Sequence[Array] | None = None) -> tuple[Any, list[Array], int]:
    """The function of a graph, the constants that it is to be given behind its operands, and how many values it has."""
    if given is None:
        first = Body(g, graph, ())
        first.lowered(before, operands, 0)
        given = first.wanted
    body = Body(g, graph, given)
    values = body.lowered(before, operands, 0)
    for v in values:
        body.builder.returns(g_tensor(body, v))
    return body.builder.finish_function(), list(given), len(values)


def g_tensor(body: Body, v: Any) -> Tensor:
    if not isinstance(v, Value):
        raise body.refuse("a branch or body that returns what is no tensor")
    return v.tensor


def joined(several: Sequence[Sequence[Array]]) -> list[Array]:
    """The constants of several bodies, each once."""
    found: dict[Any, Array] = {}
    for arrays in several:
        for a in arrays:
            found.setdefault((a.dtype.str, a.shape, a.tobytes()), a)
    return list(found.values())


def constants_of(g: Lowering, graph: Graph, operands: Sequence[Value], before: Sequence[tuple[tuple[int, ...], str]] = ()) -> list[Array]:
    body = Body(g, graph, ())
    body.lowered(before, operands, 0)
    return body.wanted


def boolean(g: Lowering, v: Any) -> Tensor:
    return g.constant(np.array(v)) if isinstance(v, bool) else v.tensor


@lowers("cond")
def cond(g: Lowering, node: Node, predicate: Any, yes: Graph, no: Graph, operands: Sequence[Value] = ()) -> list[Tensor]:
    given = joined([constants_of(g, yes, operands), constants_of(g, no, operands)])
    functions = [function(g, graph, operands, given=given)[0] for graph in (no, yes)]
    selector = g.reshape(g.cast(boolean(g, predicate), "i64"), ())
    return list(g.builder.cond(selector, functions, [*(v.tensor for v in operands), *(g.constant(a) for a in given)]))


@lowers("scan")
def scan(g: Lowering, node: Node, body: Graph, carried: Sequence[Value], rows: Sequence[Value], more: Sequence[Value] = ()) -> list[Tensor]:
    """body(carried, a row of each, more) -> carried, what is stacked."""
    if not rows:
        raise g.refuse("a scan of nothing")
    operands = [*carried, *rows, *more]
    f, given, _ = function(g, body, operands, [((), "i64")])
    shared = [*(v.tensor for v in more), *(g.constant(a) for a in given)]
    return list(g.builder.scan(f, rows[0].shape[0], carried=[v.tensor for v in carried], sliced=[v.tensor for v in rows], shared=shared))


@lowers("while_loop")
def while_loop(g: Lowering, node: Node, predicate: Graph, body: Graph, carried: Sequence[Value],
               more: Sequence[Value] = ()) -> list[Tensor]:
    operands = [*carried, *more]
    index = [((), "i64")]
    given = joined([constants_of(g, predicate, operands, index), constants_of(g, body, operands, index)])
    made = [function(g, graph, operands, index, given)[0] for graph in (body, predicate)]
    shared = [*(v.tensor for v in more), *(g.constant(a) for a in given)]
    found = list(g.builder.while_(made[0], made[1], MOST_ITERATIONS, carried=[v.tensor for v in carried], shared=shared))[1:]
    # A loop that would go on behind the limit must not end there in silence: then index 1 of an axis of 1 is an error of the step.
    more_to_do = g.builder.call(made[1], [g.fill(MOST_ITERATIONS, "i64"), *found, *shared])[0]
    index = g.reshape(g.cast(more_to_do, "i64"), ())
    found[0] = g.op("gather", g.reshape(found[0], [1, *found[0].shape]), index, axis=0)
    return found
