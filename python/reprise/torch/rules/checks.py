# SPDX-License-Identifier: Apache-2.0
"""Rules for checks that only raise, which are an error of the step, and for the numbers of Python (item()) that these look at."""
from __future__ import annotations

import re
from typing import Any

from .regions import Body
from ..checks import numbered
from ..graph import CHECKED, Node
from ..lower import NUMBERS, Lowering, Number, Tensor, Value, lowers
from ...solvers import still

SCALARS = {"lt": "lt", "le": "le", "gt": "gt", "ge": "ge", "eq": "eq", "ne": "ne", "add": "add", "sub": "sub", "mul": "mul", "truediv": "div"}


def fail(g: Lowering, bad: Tensor, number: int) -> Tensor:
    """There is one element to gather, and the error says which one was asked for."""
    if isinstance(g, Body):
        raise g.refuse("a check of values in a branch or a loop's body", "Make it before or behind, of all values at once")
    index = g.op("mul", g.cast(g.reshape(bad, ()), "i64"), g.fill(number, "i64"))
    g.op("gather", g.op("iota", n=1, dtype="i64"), index, axis=0)
    return bad


@lowers("reprise.check.default", "reprise.check_number.default")
def check(g: Lowering, node: Node, found: Any, number: int, goes_on: bool = False) -> Any:
    bad = true(g, found)
    return fail(g, g.op("eq", bad, g.fill(0, "bool")) if goes_on else bad, number)


@lowers("aten._assert_async.default", "aten._assert_async.msg", "aten._functional_assert_async.msg", "aten._assert_scalar.default")
def asserted(g: Lowering, node: Node, found: Any, message: str = "", *_: Any) -> Any:
    return fail(g, g.op("eq", true(g, found), g.fill(0, "bool")), numbered(re.sub(r"'\w*'$|\bu\d+", "", message) or node.op))


def true(g: Lowering, x: Any) -> Tensor:
    """As a flag."""
    if not isinstance(x, Value):
        return g.fill(bool(x), "bool")
    return x.tensor if x.dtype == "bool" else g.op("ne", x.tensor, g.fill(0, x.dtype))


@lowers("aten._is_all_true.default", "aten._is_any_true.default")
def of_all(g: Lowering, node: Node, x: Any) -> Any:
    every = "all" in node.op
    found = g.reduce("min" if every else "max", g.cast(x.tensor, "i64"), [], False) if x.size else g.fill(int(every), "i64")
    return g.cast(g.reshape(found, ()), "bool")


@lowers("aten.item.default", "aten._local_scalar_dense.default")
def item(g: Lowering, node: Node, x: Any) -> Any:
    """As Python has it: of 64 bits, and without a gradient."""
    wide = "bool" if x.dtype == "bool" else "f64" if x.real else "i64"
    t = g.cast(g.reshape(x.tensor, ()), wide)
    return Number(g, wide, (), still(g, t) if x.real else t)


def alike(g: Lowering, *given: Any) -> list[Tensor]:
    """Of integers and flags as integers, where there is a real number as real ones."""
    real = any(x.real if isinstance(x, Value) else isinstance(x, float) for x in given)
    return [g.cast(x.tensor, "f64" if real else "i64") if isinstance(x, Value) else g.fill(x, "f64" if real else "i64") for x in given]


@lowers(*(f"operator.{n}" for n in SCALARS))
def scalars(g: Lowering, node: Node, a: Any, b: Any) -> Any:
    name = SCALARS[node.op.partition(".")[2]]
    operands = alike(g, a, b)
    if name == "div":
        operands = [g.cast(t, "f64") for t in operands]
    found = g.op(name, *operands)
    if found.dtype == "i64":
        within(g, g.op(name, *(g.cast(t, "f64") for t in operands)))
    return Number(g, found.dtype, (), found)


def within(g: Lowering, size: Tensor) -> None:
    """Integers of Python have no end, those of a program have 64 bits: beyond them is an error of the step."""
    fail(g, g.op("ge", g.op("abs", size), g.fill(9.2e18, "f64")), numbered("a number of Python that item() gives goes beyond 64 bits"))


@lowers("operator.neg", "torch.sym_float", "torch.sym_not", "operator.and_", "operator.or_", "torch.sym_ite")
def others(g: Lowering, node: Node, *given: Any) -> Any:
    name = node.op.partition(".")[2]
    if name == "neg":
        found = g.op("neg", *alike(g, *given))
        if found.dtype == "i64":
            within(g, g.cast(found, "f64"))
    elif name == "sym_float":
        found = g.cast(given[0].tensor, "f64")
    elif name == "sym_not":
        found = g.op("eq", true(g, given[0]), g.fill(0, "bool"))
    elif name == "sym_ite":
        found = g.op("where", true(g, given[0]), *alike(g, *given[1:]))
    else:
        if any(x.dtype != "bool" if isinstance(x, Value) else not isinstance(x, bool) for x in given):
            raise g.refuse("of integers, bit by bit", "Leave out item(): torch.bitwise_and and torch.bitwise_or are taken")
        both = [g.cast(true(g, x), "i64") for x in given]
        found = g.op("ne", g.op("mul" if name == "and_" else "add", *both), g.fill(0, "i64"))
    return Number(g, found.dtype, (), found)


NUMBERS.update((*(f"operator.{n}" for n in (*SCALARS, "neg", "and_", "or_")), "torch.sym_float", "torch.sym_not", "torch.sym_ite", *CHECKED))
