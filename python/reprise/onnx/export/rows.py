# SPDX-License-Identifier: Apache-2.0
"""Whether a program computes each row of its inputs apart from the others, so that a model of any number of rows is the same
function. A program's shapes are fixed: here a value's rows are followed from the inputs by a rule for each operation, and
where one does not show that rows stay apart the number of rows stays fixed, with that reason.

A value's row axis (a, k): along axis a there are k places a row, one row after another."""
from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from . import elementwise

Row = tuple[int, int]
SAME = frozenset((*elementwise.UNARY, *elementwise.BINARY, *"""silu leaky_relu elu hardtanh ne log1p expm1 exp2 log2 log10 rsqrt
cbrt trunc softplus hypot bce_logits relu_grad tanh_grad sigmoid_grad gelu_grad pow_int fmod remainder div_trunc div_floor
shift_left shift_right where cast bitcast""".split()))
ALONG_LAST = frozenset("softmax log_softmax softmax_grad log_softmax_grad layer_norm rms_norm fft sort topk one_hot".split())
ON_AXIS = frozenset("argmax argmin cumsum cumprod take_along resize".split())
IMAGES = frozenset("conv2d conv2d_winograd conv2d_grad_input max_pool avg_pool group_norm batch_norm".split())
REDUCTIONS = frozenset("sum mean max min prod logsumexp var".split())


class NotApart(Exception):
    """Rows that are not shown to stay apart: the message says where."""


def reshaped(shape: Sequence[int], row: Row, target: Sequence[int], count: int) -> Row | None:
    """The row axis of a reshape: as many places in front of it, a multiple of the rows along it."""
    axis, places = row
    front, behind = math.prod(shape[:axis]), places * math.prod(shape[axis + 1:])
    for b, n in enumerate(target):
        if math.prod(target[:b]) == front and n % count == 0 and n // count * math.prod(target[b + 1:]) == behind:
            return b, n // count
    return None


class Rows:
    """Follows rows through instructions. `thin` are the shapes that constants broadcast from."""

    def __init__(self, count: int) -> None:
        self.count = count

    def follow(self, instructions: Sequence[Any], types: Sequence[tuple[tuple[int, ...], str]], found: dict[int, Row],
               live: set[int]) -> None:
        """Adds the row axis of each live value that has one; raises NotApart."""
        thin: dict[int, tuple[int, ...]] = {}
        for n, i in enumerate(instructions):
            if not any(o in live for o in i.outputs):
                continue
            if i.op == "fill":
                thin[i.outputs[0]] = ()
            shapes = [types[v][0] for v in i.inputs]
            if i.op == "broadcast_to" and i.inputs[0] not in found:
                thin[i.outputs[0]] = thin.get(i.inputs[0], shapes[0])
            if not any(v in found for v in i.inputs) or i.outputs[0] in found:
                continue
            rows = [found.get(v) for v in i.inputs]
            thins = [thin.get(v, s) for v, s in zip(i.inputs, shapes)]
            row = self.rule(i.op, i.attributes, shapes, rows, thins, [types[o][0] for o in i.outputs])
            if row is None:
                raise NotApart(f"instruction {n}, {i.op}, is not shown to keep rows apart")
            found.update({o: row for o in i.outputs})

    def rule(self, op: str, attributes: Mapping[str, Any], shapes: list[tuple[int, ...]], rows: list[Row | None],
             thins: list[tuple[int, ...]], outs: list[tuple[int, ...]]) -> Row | None:
        row = rows[0]
        if op in SAME:
            return self.broadcast(shapes, rows, thins, outs[0])
        if op == "matmul":
            return self.product(shapes, rows, thins, outs[0])
        if op == "concat" and len(rows) == 1:
            return row  # a copy
        if op == "concat":
            one = next(r for r in rows if r is not None)
            fits = all(r == one if r else t == () or len(t) == len(s) and t[one[0]] == 1 and one[1] == 1
                       for r, t, s in zip(rows, thins, shapes))
            return one if fits and int(attributes["axis"]) != one[0] else None
        if op == "gather":
            return self.gathered(int(attributes["axis"]), shapes, rows)
        if op == "attention":
            four = all(len(s) == 4 for s in shapes[:3]) and all(r == (0, 1) for r in rows[:3])
            return row if four and all(r is None and (len(t) < 4 or t[0] == 1) for r, t in zip(rows[3:], thins[3:])) else None
        if op == "cross_entropy":
            return row if rows[0] == rows[1] and row is not None else None
        if row is None or any(r is not None and r != row for r in rows):
            return None
        if op in ALONG_LAST:
            both = len(rows) < 2 or rows[1] == (None if op.endswith("norm") else row)  # a norm's weights are one for all rows
            return row if both and (row[0] < len(shapes[0]) - 1 or op == "one_hot") and all(r is None for r in rows[2:]) else None
        if op in ON_AXIS:
            return row if int(attributes["axis"]) != row[0] and (op != "take_along" or rows[1] == row) else None
        if op in IMAGES:
            return row if row == (0, 1) and len(shapes[0]) > 1 and all(r is None for r in rows[1:]) else None
        if op in REDUCTIONS:
            return row if row[0] not in [int(a) for a in attributes["axes"]] else None
        if op == "reshape":
            return reshaped(shapes[0], row, outs[0], self.count)
        if op == "transpose":
            return [int(a) for a in attributes["permutation"]].index(row[0]), row[1]
        if op == "broadcast_to":
            axis = row[0] + len(outs[0]) - len(shapes[0])
            return (axis, row[1]) if outs[0][axis] == shapes[0][row[0]] else None
        if op in ("slice", "slice_step", "pad"):
            whole = outs[0][row[0]] == shapes[0][row[0]]
            if op == "slice_step":
                whole = whole and int(attributes["step"][row[0]]) == 1
            return row if whole and (op != "pad" or int(attributes["before"][row[0]]) == 0) else None
        return None

    def broadcast(self, shapes: list[tuple[int, ...]], rows: list[Row | None], thins: list[tuple[int, ...]],
                  out: tuple[int, ...]) -> Row | None:
        """Rows along one axis of the result; constants have one place there, or none."""
        at = {(r[0] + len(out) - len(s), r[1]) for r, s in zip(rows, shapes) if r is not None}
        if len(at) != 1:
            return None
        axis, places = at.pop()
        for r, t in zip(rows, thins):
            place = axis - (len(out) - len(t))
            if r is None and place >= 0 and t[place] != 1:
                return None
        return axis, places

    def product(self, shapes: list[tuple[int, ...]], rows: list[Row | None], thins: list[tuple[int, ...]],
                out: tuple[int, ...]) -> Row | None:
        """Rows along the left operand's rows, or along a batch axis of both."""
        a, b = rows
        if a is not None and b is None and a[0] == len(shapes[0]) - 2:
            return len(out) - 2, a[1]
        for row, shape in ((a, shapes[0]), (b, shapes[1])):
            if row is not None and row[0] >= len(shape) - 2:
                return None
        return self.broadcast(shapes, rows, [s if r else s[:-2] + (1, 1) for s, r in zip(shapes, rows)], out)

    def gathered(self, axis: int, shapes: list[tuple[int, ...]], rows: list[Row | None]) -> Row | None:
        x, index = rows
        if x is None and index is not None:
            return axis + index[0], index[1]
        if x is not None and index is None and x[0] != axis:
            return (x[0] if x[0] < axis else x[0] + len(shapes[1]) - 1), x[1]
        return None
