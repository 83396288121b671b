# SPDX-License-Identifier: Apache-2.0
"""FORMAT 9, Prices, in Python: X, W and M of a function or a program."""
from ieee import WIDTH
from op_types import count
from region_types import computed_shards, functions_of

TOP = 1 << 63


def size(kind):
    return -(-count(kind[1]) * WIDTH[kind[0]] // 64) * 64


VIEWS = ("reshape", "transpose", "broadcast_to", "slice", "slice_step", "stop_gradient")
EACH = 16  # of a body, an instruction, and of each value that one is handed or gives


def own_work(body, i):
    types, results = [body.types[v] for v in i.ins], [body.types[v] for v in i.outs]
    handed = EACH * (1 + len(types) + len(results) + len(functions_of(i)) + len(i.at.get("cuts", [])))
    elements = sum(count(s) for _, s in types + results)
    if i.op in ("matmul", "cholesky", "triangular_solve"):
        elements += 2 * types[0][1][-1] * count(results[0][1])
    if i.op in ("sort", "topk", "searchsorted"):
        elements += 2 * types[0][1][-1].bit_length() * count(types[-1][1])
    if i.op in ("layer_norm_backward", "group_norm", "group_norm_grad", "resize", "resize_grad"):
        elements *= 2
    if i.op in VIEWS:
        elements = 2 * count(results[0][1])
    if i.op == "gather":
        elements = 2 * count(results[0][1]) + count(types[1][1])
    return handed + elements


def prices(body, handed, given):
    """(X, W, M) of a function or a program with so many parameters or inputs; given: the values that it returns."""
    x, inner = 0, 0
    w = EACH * (1 + handed + len(given)) + sum(count(body.types[v][1]) for v in given)
    for i in body.instructions:
        at, fs = i.at, functions_of(i)
        more, work, memory = 0, 0, max((f.prices[2] for f in fs), default=0)
        if i.op == "call":
            more, work, _ = fs[0].prices
        elif i.op == "scan":
            more, work = (at["times"] * n for n in fs[0].prices[:2])
        elif i.op == "cond":
            more, work = (max(f.prices[k] for f in fs) for k in (0, 1))
        elif i.op == "while":
            predicate, b = at["predicate"].prices, at["body"].prices
            more, work = ((at["limit"] + 1) * predicate[k] + at["limit"] * b[k] for k in (0, 1))
        elif i.op == "map":
            shards = computed_shards(at)
            more, work = (sum(f.prices[k] for _, _, _, f in shards) for k in (0, 1))
            for mode, out in zip(at["combine"], i.outs):
                if mode == "tree":
                    kind = body.types[out]
                    work += 3 * (len(shards) - 1) * count(kind[1])
                    memory += ((len(shards) - 1).bit_length() + 1) * size(kind)
        x, w, inner = min(TOP, x + 1 + more), min(TOP, w + own_work(body, i) + work), max(inner, memory)
    return x, min(TOP, w), min(TOP, sum(size(t) for t in body.types) + inner)


def program_prices(program):
    """Outputs that are inputs or views are copied: their bytes count once more."""
    values = [v for _, _, v in program.outputs]
    x, w, m = prices(program, len(program.inputs), values)
    views = {v for v, _, _ in program.inputs}
    views.update(i.outs[0] for i in program.instructions if i.op in VIEWS)
    return x, w, min(TOP, m + sum(size(program.types[v]) for v in values if v in views))
