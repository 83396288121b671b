# SPDX-License-Identifier: Apache-2.0
"""PyTorch's LSTM, GRU and RNN: of each layer and direction one product for all times, and a scan over them. The functions are
those of reprise.nn's layers."""
from __future__ import annotations

import importlib
from collections.abc import Sequence
from typing import Any

from ..graph import Node
from ..lower import Lowering, Tensor, Value, lowers

GATES = {"lstm": 4, "gru": 3, "tanh": 1, "relu": 1}


def cell(b: Any, kind: str, u: Tensor, r: Tensor, h: Tensor, c: Tensor) -> tuple[Tensor, Tensor]:
    """The next h and c of [n, hidden]; u, r [n, gates hidden]: what comes from the input, and from the last h."""
    n, width = h.shape

    def gate(t: Tensor, k: int) -> Tensor:
        return b.append("slice", {"begin": [0, k * width], "end": [n, (k + 1) * width]}, [t])

    def op(name: str, *operands: Tensor) -> Tensor:
        return b.append(name, {}, list(operands))

    if kind in ("tanh", "relu"):
        return op(kind, op("add", u, r)), None
    if kind == "gru":
        xr, hr = gate(u, 0), gate(r, 0)
        xz, hz = gate(u, 1), gate(r, 1)
        reset, update = op("sigmoid", op("add", xr, hr)), op("sigmoid", op("add", xz, hz))
        xn = gate(u, 2)
        new = op("tanh", op("add", xn, op("mul", reset, gate(r, 2))))
        return op("add", new, op("mul", update, op("sub", h, new))), None
    a = op("add", u, r)
    i, f = op("sigmoid", gate(a, 0)), op("sigmoid", gate(a, 1))
    g, o = op("tanh", gate(a, 2)), op("sigmoid", gate(a, 3))
    kept = op("mul", f, c)
    c = op("add", kept, op("mul", i, g))
    return op("mul", o, op("tanh", c)), c


def step_function(kind: str, n: int, hidden: int, dtype: str, biased: bool, masked: bool) -> Any:
    """function(index, h, c of an LSTM, u, is there [n, 1] where masked, weight_hh [hidden, gates hidden], bias_hh) -> h, c, h for the
    row. What is not there keeps h and c, and its row is 0."""
    b = importlib.import_module("reprise").Builder()
    width = GATES[kind] * hidden
    b.parameter((), "i64")
    h = b.parameter((n, hidden), dtype)
    c = b.parameter((n, hidden), dtype) if kind == "lstm" else None
    u = b.parameter((n, width), dtype)
    there = b.parameter((n, 1), "bool") if masked else None
    w = b.parameter((hidden, width), dtype)
    bias = b.parameter((width,), dtype) if biased else None
    r = b.append("matmul", {}, [h, w])
    if bias is not None:
        r = b.append("add", {}, [r, bias])
    before, (h, c), row = (h, c), cell(b, kind, u, r, h, c), None
    if there is not None:
        there = b.append("broadcast_to", {"shape": [n, hidden]}, [there])
        row = b.append("where", {}, [there, h, b.append("fill", {"value": 0.0, "shape": [n, hidden], "dtype": dtype}, [])])
        h, c = (t if t is None else b.append("where", {}, [there, t, was]) for t, was in zip((h, c), before))
    row = h if row is None else row
    for t in (h, row) if c is None else (h, c, row):
        b.returns(t)
    return b.finish_function()


def direction(g: Lowering, kind: str, x: Tensor, weights: Sequence[Tensor], first: Sequence[Tensor], reverse: bool,
              there: Tensor = None) -> tuple[Tensor, ...]:
    """x [times, n, in], states before the first time [n, hidden]: the last h, (c,) and all h [times, n, hidden]. `there`: which
    elements of a sequence count, [times, n, 1]."""
    times, n, width = x.shape
    w_in, w_hidden, *bias = weights
    flat = g.reshape(x, [times * n, width])
    u = g.op("matmul", flat, g.swap(w_in))
    if bias:
        u = g.op("add", u, bias[0])
    u = g.reshape(u, [times, n, w_in.shape[0]])
    f = step_function(kind, n, w_hidden.shape[1], x.dtype, bool(bias), there is not None)
    shared = [g.swap(w_hidden), *bias[1:]]
    return tuple(g.builder.scan(f, times, carried=list(first), sliced=[u] if there is None else [u, there], shared=shared, reverse=reverse))


def recurrent(g: Lowering, kind: str, x: Value, states: Sequence[Value], params: Sequence[Value], biased: bool, layers: int, rate: float,
              train: bool, both: bool, batch_first: bool, there: Tensor = None) -> list[Tensor]:
    """The output, then the last states of all layers and directions, [layers directions, n, hidden] each."""
    if x.rank != 3:
        raise g.refuse("an input without a batch")
    y = g.transpose(x.tensor, [1, 0, 2]) if batch_first else x.tensor
    each, ways = (4 if biased else 2), (2 if both else 1)
    if len(params) != each * layers * ways:
        raise g.refuse("projections (proj_size)")
    last: list[list[Tensor]] = [[] for _ in states]
    for layer in range(layers):
        rows = []
        for way in range(ways):
            k = layer * ways + way
            first = [g.reshape(g.slice(s.tensor, 0, k, k + 1), s.shape[1:]) for s in states]
            weights = [p.tensor for p in params[k * each:(k + 1) * each]]
            found = direction(g, kind, y, weights, first, way == 1, there)
            for kept, t in zip(last, found):
                kept.append(g.reshape(t, [1, *t.shape]))
            rows.append(found[len(states)])
        y = rows[0] if len(rows) == 1 else g.op("concat", *rows, axis=2)
        if train and rate > 0 and layer + 1 < layers:
            y = g.op("dropout", y, g.rng(), rate=float(rate), stream=g.next_stream())
    y = g.transpose(y, [1, 0, 2]) if batch_first else y
    return [y, *(t[0] if len(t) == 1 else g.op("concat", *t, axis=0) for t in last)]


@lowers("aten.lstm.input")
def lstm(g: Lowering, node: Node, x: Value, states: Sequence[Value], params: Sequence[Value], *form: Any) -> list[Tensor]:
    return recurrent(g, "lstm", x, states, params, *form)


@lowers("aten.gru.input")
def gru(g: Lowering, node: Node, x: Value, state: Value, params: Sequence[Value], *form: Any) -> list[Tensor]:
    return recurrent(g, "gru", x, [state], params, *form)


@lowers("aten.rnn_tanh.input", "aten.rnn_relu.input")
def rnn(g: Lowering, node: Node, x: Value, state: Value, params: Sequence[Value], *form: Any) -> list[Tensor]:
    return recurrent(g, "tanh" if "tanh" in node.op else "relu", x, [state], params, *form)


@lowers("reprise.packed_recurrent.default")
def packed(g: Lowering, node: Node, kind: str, x: Value, lengths: Value, states: Sequence[Value], params: Sequence[Value], biased: bool,
           layers: int, rate: float, train: bool, both: bool) -> list[Tensor]:
    """A packed batch as a padded one, [times, n, in]: of each sequence its first elements, [n] numbers of them, count."""
    if x.dtype not in ("f32", "f64"):
        raise g.refuse(f"of a packed sequence of {x.dtype}", "Keep the layer in float32, and convert what it is given: x.float()")
    times, n, _ = x.shape
    count = g.cast(lengths.tensor, "i64")
    at = g.broadcast(g.reshape(g.op("iota", n=times, dtype="i64"), [times, 1]), [times, n])
    there = g.reshape(g.op("lt", at, g.broadcast(g.reshape(count, [1, n]), [times, n])), [times, n, 1])
    return recurrent(g, kind, x, states, params, biased, layers, rate, train, both, False, there)
