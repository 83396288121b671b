# SPDX-License-Identifier: Apache-2.0
"""Functions and regions: a call and a map are written out, a scan is Scan, a cond If, a while Loop."""
from __future__ import annotations

import copy
import importlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from .writer import COMPOSED, ONE, Call, Value, Writer

Types = list[tuple[tuple[int, ...], str]]
REGIONS = ("call", "scan", "map", "cond", "while")
MOST_SHARDS = 1024
ONE.update(scan="Scan", cond="If")
COMPOSED.update({"call": "its function, written out", "map": "its functions, written out for each shard",
                 "while": "Loop, with the predicate and the count in its body"})


def kinds() -> dict[str, dict[str, str]]:
    """The kinds of each operation's attributes."""
    return {str(row[0]): dict(row[3]) for row in importlib.import_module("reprise._core").operation_table()}


class Functions:
    """A program's functions, with the types of their values, which the library infers."""

    def __init__(self, functions: Sequence[Any]) -> None:
        self.functions = functions
        self.kinds = kinds()
        self.built: list[Any] = []
        self.types: list[Types] = []
        for f in functions:
            self.build(f)

    def build(self, f: Any) -> None:
        """One function; those that its regions execute come before it in a program's list."""
        b = importlib.import_module("reprise").Builder()
        values = [b.parameter(i.shape, i.dtype) for i in f.inputs]
        for i in f.instructions:
            made = self.append(b, i, [values[n] for n in i.inputs])
            values += list(made) if isinstance(made, (tuple, list)) else [made]
        for o in f.outputs:
            b.returns(values[o.value])
        self.types.append([(tuple(v.shape), v.dtype) for v in values])
        self.built.append(b.finish_function())

    def append(self, b: Any, i: Any, operands: list[Any]) -> Any:
        a = i.attributes
        if i.op not in REGIONS:
            return b.append(i.op, {k: plain(v, self.kinds[i.op][k]) for k, v in a.items()}, operands)
        if i.op == "call":
            return b.call(self.built[a["function"]], operands)
        if i.op == "cond":
            return b.cond(operands[0], [self.built[k] for k in a["functions"]], operands[1:])
        if i.op == "while":
            n = int(a["carried"])
            return b.while_(self.built[a["body"]], self.built[a["predicate"]], int(a["limit"]), operands[:n], operands[n:])
        s = int(a["sliced"])
        if i.op == "map":
            return b.map([self.built[k] for k in a["functions"]], a["cuts"], a["combine"], operands[:s], operands[s:], int(a["first"]))
        n = int(a["carried"])
        return b.scan(self.built[a["function"]], int(a["times"]), operands[:n], operands[n:n + s], operands[n + s:],
                      reverse=bool(a["reverse"]), history=bool(a["history"]))


def plain(value: Any, kind: str) -> Any:
    """An attribute of a program's text as the library takes it."""
    return float(value) if kind == "real" else int(value) if kind == "int" else \
        [int(n) for n in value] if kind == "list" else value


Body = Callable[[int, list[Value], str], list[Value]]  # function, arguments, place -> its outputs


def region(w: Writer, call: Call, body: Body) -> list[Value]:
    """The values of a region."""
    a = call.attributes
    if call.op == "call":
        return body(int(a["function"]), call.ins, call.place)
    ins = [Value(v.dtype, v.shape, w.last(v)) for v in call.ins]  # named here, since what is inside is not seen outside
    if call.op == "scan":
        return scan(w, call, ins, body)
    if call.op == "map":
        return shards(w, call, ins, body)
    if call.op == "cond":
        return cond(w, call, ins, body)
    return loop(w, call, ins, body)


def graph(w: Writer, name: str, inputs: Sequence[tuple[str, Value]], make: Callable[[], list[Value]]) -> Any:
    """A graph of what `make` writes; its outputs are named in it."""
    before, w.nodes = w.nodes, []
    try:
        outs = make()
        named = [(w.node("Identity", w.last(v)), v) for v in outs]
        info = w.onnx.helper.make_tensor_value_info
        return w.onnx.helper.make_graph(w.nodes, name, [info(n, w.type(v.dtype), v.shape) for n, v in inputs],
                                        [info(n, w.type(v.dtype), v.shape) for n, v in named])
    finally:
        w.nodes = before


def parameter(w: Writer, dtype: str, shape: tuple[int, ...], name: str) -> tuple[str, Value]:
    own = w.unique(name)
    return own, Value(dtype, shape, own)


def scan(w: Writer, call: Call, ins: list[Value], body: Body) -> list[Value]:
    """The index is one more sliced operand, the histories are one more stacked value each."""
    a = call.attributes
    n, s, times = int(a["carried"]), int(a["sliced"]), int(a["times"])
    if times < 1:
        raise call.refuse("a scan of no iterations")
    carried = [parameter(w, v.dtype, v.shape, "carried") for v in ins[:n]]
    rows = [parameter(w, v.dtype, v.shape[1:], "row") for v in ins[n:n + s]]
    index = parameter(w, "i64", (), "index")

    def make() -> list[Value]:
        fresh = [copy.copy(v) for v in ins[n + s:]]
        outs = body(int(a["function"]), [index[1], *(v for _, v in carried), *(v for _, v in rows), *fresh], call.place)
        return outs + ([Value(v.dtype, v.shape, name) for name, v in carried] if a["history"] else [])

    made = graph(w, f"scan {call.place}", [*carried, *rows, index], make)
    stacked = len(made.output) - n
    whole = w.const(importlib.import_module("numpy").arange(times))
    back = int(bool(a["reverse"]))
    names = w.node("Scan", *(w.last(v) for v in ins[:n + s]), whole, outputs=n + stacked, body=made, num_scan_inputs=s + 1,
                   scan_input_directions=[back] * (s + 1), **({"scan_output_directions": [back] * stacked} if stacked else {}))
    names = [names] if n + stacked == 1 else names
    return [w.value(call, name, out=k) for k, name in enumerate(names)]


def cond(w: Writer, call: Call, ins: list[Value], body: Body) -> list[Value]:
    """Of two functions by a truth; a number that none has would be an error, which ONNX's If cannot be."""
    functions = [int(k) for k in call.attributes["functions"]]
    if ins[0].dtype != "bool":
        raise call.refuse("a selector that is a number: one that no function has is an error, which If has not")
    def side(word: str, k: int) -> Any:
        return graph(w, f"{word} {call.place}", [], lambda: body(k, [copy.copy(v) for v in ins[1:]], call.place))

    sides = [side(word, k) for word, k in zip(("else", "then"), functions)]
    names = w.node("If", w.last(ins[0]), outputs=len(call.outs), else_branch=sides[0], then_branch=sides[1])
    names = [names] if len(call.outs) == 1 else names
    return [w.value(call, name, out=k) for k, name in enumerate(names)]


def loop(w: Writer, call: Call, ins: list[Value], body: Body) -> list[Value]:
    a, n = call.attributes, int(call.attributes["carried"])
    asked = body(int(a["predicate"]), [Value("i64", (), w.scalar(0, "i64")), *ins], call.place)[0]
    index, going = parameter(w, "i64", (), "index"), parameter(w, "bool", (), "going")
    count = parameter(w, "i64", (), "count")
    carried = [parameter(w, v.dtype, v.shape, "carried") for v in ins[:n]]

    def make() -> list[Value]:
        shared = [copy.copy(v) for v in ins[n:]]
        outs = body(int(a["body"]), [index[1], *(v for _, v in carried), *shared], call.place)
        following = Value("i64", (), w.node("Add", index[0], w.scalar(1, "i64")))
        again = body(int(a["predicate"]), [following, *outs, *shared], call.place)[0]
        return [again, Value("i64", (), w.node("Add", count[0], w.scalar(1, "i64"))), *outs]

    made = graph(w, f"while {call.place}", [index, going, count, *carried], make)
    names = w.node("Loop", w.scalar(int(a["limit"]), "i64"), w.last(asked), w.scalar(0, "i64"), *(w.last(v) for v in ins[:n]),
                   outputs=n + 1, body=made)
    names = [names] if n == 0 else names
    return [w.value(call, name, out=k) for k, name in enumerate(names)]


def shards(w: Writer, call: Call, ins: list[Value], body: Body) -> list[Value]:
    a: Mapping[str, Any] = call.attributes
    s, cuts, first = int(a["sliced"]), [int(c) for c in a["cuts"]], int(a["first"])
    lengths = sorted({e - b for b, e in zip(cuts, cuts[1:]) if e > b})
    if len(cuts) > MOST_SHARDS:
        raise call.refuse(f"{len(cuts) - 1} shards, {MOST_SHARDS} are written out")
    columns: list[list[str]] = [[] for _ in a["combine"]]
    for k, (begin, end) in enumerate(zip(cuts, cuts[1:])):
        if end == begin:
            continue
        index = Value("i64", (), w.scalar(first + k, "i64"))
        parts = [Value(v.dtype, (end - begin, *v.shape[1:]), w.node("Slice", w.last(v), w.ints([begin]), w.ints([end]), w.ints([0])))
                 for v in ins[:s]]
        outs = body(int(a["functions"][lengths.index(end - begin)]), [index, *parts, *ins[s:]], call.place)
        for column, v in zip(columns, outs):
            column.append(w.last(v))
    return [w.value(call, combined(w, how, column), out=k) for k, (how, column) in enumerate(zip(a["combine"], columns))]


def combined(w: Writer, how: str, names: list[str]) -> str:
    if how == "tree":  # by halves, as the contract's tree of shards has it for powers of two
        while len(names) > 1:
            names = [w.node("Add", *pair) if len(pair) > 1 else pair[0] for pair in (names[i:i + 2] for i in range(0, len(names), 2))]
        return names[0]
    if how == "stack":
        names = [w.node("Unsqueeze", n, w.ints([0])) for n in names]
    return str(w.node("Concat", *names, axis=0))
