# SPDX-License-Identifier: Apache-2.0
"""CONTRACT 11.7 in Python: which values of a region reach, the function f' = vjp(f), and what the visit of a region
appends. A while has no gradient."""
import gradients
from op_types import Refused
from program import Function
from region_types import computed_shards

FLOATS = ("f32", "f64", "bf16", "f16")


def outputs_reach(f, parameters):
    """Which outputs of f depend on parameters (a flag each) by 11.3.1."""
    wrt = [p for p, r in enumerate(parameters) if r and f.types[p][0] in FLOATS]
    found = gradients.reaches(f, 0, wrt)
    return [o in found and f.types[o][0] in FLOATS for o in f.outputs]


def carried_reach(f, carried, first, others, lead):
    """The least set of carried values; others: flags of rows and shared, lead: those before the carried (the index)."""
    now = list(first)
    while True:
        out = outputs_reach(f, lead + now + others)
        more = [a or b for a, b in zip(now, out)]
        if more == now:
            return now, out
        now = more


def floating(body, i, operands):
    return [r and body.types[v][0] in FLOATS for v, r in zip(i.ins, operands)]


def reaching(body, i, operands):
    """Which values of region i reach, where operands has a flag for each operand."""
    at, operands = i.at, floating(body, i, operands)
    if i.op == "call":
        return outputs_reach(at["function"], operands)
    if i.op == "cond":
        return any_of([outputs_reach(f, operands[1:]) for f in at["functions"]])
    if i.op == "map":
        return any_of([outputs_reach(f, [False] + operands) for f in at["functions"]])
    n = at["carried"]
    if i.op == "while":
        return [False] + carried_reach(at["body"], n, operands[:n], operands[n:], [False])[0]
    now, out = carried_reach(at["function"], n, operands[:n], operands[n:], [False])
    return now + out[n:] + (now if at["history"] else [])


def any_of(rows):
    return [any(column) for column in zip(*rows)]


class Derivative:
    """f' under construction. Parameters are named (kind, ..); those of one kind that are the same operand are one."""

    def __init__(self, f):
        self.f, self.names, self.types = f, [], []

    def parameter(self, name, kind):
        if name not in self.names:
            self.names.append(name)
            self.types.append(kind)
        return self.names.index(name)

    def begin(self, places):
        """Copies f's instructions behind the parameters; places: which parameter each of f's is."""
        self.body = Function(self.types)
        self.b = gradients.Builder(self.body)
        at = dict(enumerate(places))
        for i in self.f.instructions:
            at.update(zip(i.outs, self.body.append(i.op, i.at, [at[v] for v in i.ins])))
        self.outputs = [at[o] for o in self.f.outputs]

    def finish(self, values):
        """The function whose outputs these are, each copied where it must be; of ("-0", parameter) a fill."""
        out = []
        for v in values:
            if isinstance(v, tuple):
                v = self.b.like(-0.0, v[1])
            out.append(self.b.copy(v) if v in out or v < self.body.parameters else v)
        return self.body.finish(out)


def unique(values):
    return list(dict.fromkeys(values))


def gradient_type(body, v):
    return gradients.gradient_type(body.types[v])


def visit(b, i, gradient, reach):
    {"call": visit_call, "cond": visit_cond, "scan": visit_scan, "map": visit_map, "while": visit_while}[i.op](
        b, i, gradient, reach)


def visit_while(b, i, gradient, reach):
    raise Refused("a gradient through while")


def present(i, gradient, reach, values=None):
    """Places of the values of i that reach and have a gradient."""
    return [j for j, o in enumerate(i.outs) if o in gradient and o in reach]


def branch_derivative(body, f, args, given, started, wrt):
    """f' of a call or of a branch: arguments, gradients of outputs `given`, accumulators of `started`, by the operands
    wrt; the function, and those of wrt that have a gradient."""
    d = Derivative(f)
    places = [d.parameter(("arg", v), body.types[v]) for v in args]
    got = {j: d.parameter(("gradient", j), gradients.gradient_type(f.types[f.outputs[j]])) for j in given}
    start = {d.parameter(("arg", v), None): d.parameter(("accumulator", v), gradient_type(body, v)) for v in started}
    d.begin(places)
    have = gradients.sweep(d.body, [d.outputs[j] for j in given], [got[j] for j in given],
                           [d.parameter(("arg", v), None) for v in wrt], begin=start)
    with_one = [v for v in wrt if d.parameter(("arg", v), None) in have]
    return d.finish([have[d.parameter(("arg", v), None)] for v in with_one]), with_one


def reached(body, values, reach):
    return unique(v for v in values if v in reach and body.types[v][0] in FLOATS)


def visit_call(b, i, gradient, reach):
    given = present(i, gradient, reach)
    wrt = reached(b.body, i.ins, reach)
    started = [v for v in wrt if v in gradient]
    f, with_one = branch_derivative(b.body, i.at["function"], i.ins, given, started, wrt)
    if with_one:
        operands = unique(i.ins) + [gradient[i.outs[j]] for j in given] + [gradient[v] for v in started]
        gradient.update(zip(with_one, b.body.append("call", {"function": f}, operands)))


def visit_cond(b, i, gradient, reach):
    given = present(i, gradient, reach)
    wrt = reached(b.body, i.ins[1:], reach)
    fs = [branch_derivative(b.body, f, i.ins[1:], given, wrt, wrt)[0] for f in i.at["functions"]]
    accumulators = [gradient[v] if v in gradient else b.like(-0.0, v) for v in wrt]
    operands = [i.ins[0]] + unique(i.ins[1:]) + [gradient[i.outs[j]] for j in given] + accumulators
    gradient.update(zip(wrt, b.body.append("cond", {"functions": fs}, operands)))


class ScanParts:
    """A scan's operands and values by kind, and which of its values have a gradient."""

    def __init__(self, b, i, gradient, reach):
        at, body = i.at, b.body
        self.f, self.carried, sliced = at["function"], at["carried"], at["sliced"]
        n = self.carried
        self.first, self.rows, self.shared = i.ins[:n], i.ins[n : n + sliced], i.ins[n + sliced :]
        self.stacks = len(self.f.outputs) - n
        flags = floating(body, i, [v in reach for v in i.ins])
        self.reach, _ = carried_reach(self.f, n, flags[:n], flags[n:], [False])
        has = lambda v: v in gradient and v in reach
        self.last = [j for j in range(n) if has(i.outs[j])]
        self.stacked = [j for j in range(self.stacks) if has(i.outs[n + j])]
        self.history = [j for j in range(n) if at["history"] and has(i.outs[n + self.stacks + j])]
        self.wanted_rows, self.wanted_shared = reached(body, self.rows, reach), reached(body, self.shared, reach)

    def derivative(self, body, g, a):
        """f' with the carried g and the shared a; the function (not finished) and the gradients in it."""
        d, f = Derivative(self.f), self.f
        index = d.parameter(("index",), ("i64", ()))
        kind = lambda j: gradients.gradient_type(f.types[1 + j])
        row = lambda v: (body.types[v][0], body.types[v][1][1:])
        got = {j: d.parameter(("carried gradient", j), kind(j)) for j in g}
        started = {v: d.parameter(("accumulator", v), gradient_type(body, v)) for v in a}
        entered = [d.parameter(("history", j), f.types[1 + j]) for j in range(self.carried)]
        rows = [d.parameter(("row", v), row(v)) for v in self.rows]
        out = [gradients.gradient_type(f.types[o]) for o in f.outputs]
        stacked = {j: d.parameter(("stacked gradient", j), out[self.carried + j]) for j in self.stacked}
        history = {j: d.parameter(("history gradient", j), kind(j)) for j in self.history}
        shared = [d.parameter(("shared", v), body.types[v]) for v in self.shared]
        d.begin([index] + entered + rows + shared)
        begin = {entered[j]: history[j] for j in self.history}
        begin.update((d.parameter(("shared", v), None), p) for v, p in started.items())
        wrt = [entered[j] for j in range(self.carried) if self.reach[j]]
        wrt += [d.parameter(("row", v), None) for v in self.wanted_rows]
        wrt += [d.parameter(("shared", v), None) for v in self.wanted_shared]
        ys = [(d.outputs[j], got[j]) for j in g] + [(d.outputs[self.carried + j], stacked[j]) for j in self.stacked]
        have = gradients.sweep(d.body, [y for y, _ in ys], [s for _, s in ys], wrt, begin=begin)
        self.entered = entered
        return d, have


def visit_scan(b, i, gradient, reach):
    parts, body, at, n = ScanParts(b, i, gradient, reach), b.body, i.at, i.at["carried"]
    g = list(parts.last)
    while True:
        d, have = parts.derivative(body, g, parts.wanted_shared)
        more = [j for j in range(n) if j in g or (parts.reach[j] and parts.entered[j] in have)]
        if more == g:
            break
        g = more
    a = [v for v in parts.wanted_shared
         if have[d.parameter(("shared", v), None)] != d.parameter(("accumulator", v), None)]
    d, have = parts.derivative(body, g, a)
    rows = [v for v in parts.wanted_rows if d.parameter(("row", v), None) in have]
    if not g and not a and not rows:
        return
    outputs = [have.get(parts.entered[j], ("-0", parts.entered[j])) for j in g]
    outputs += [have[d.parameter(("shared", v), None)] for v in a] + [have[d.parameter(("row", v), None)] for v in rows]
    f = d.finish(outputs)

    outs = i.outs
    if n and not at["history"]:
        outs = body.append("scan", dict(at, history=True), i.ins)
    entered = outs[n + parts.stacks :]
    start = [gradient[i.outs[j]] if i.outs[j] in gradient else b.like(-0.0, i.outs[j]) for j in g]
    start += [gradient[v] if v in gradient else b.like(-0.0, v) for v in a]
    sliced = entered + unique(parts.rows) + [gradient[i.outs[n + j]] for j in parts.stacked]
    sliced += [gradient[i.outs[n + parts.stacks + j]] for j in parts.history]
    found = body.append("scan", {"carried": len(start), "function": f, "history": False, "reverse": not at["reverse"],
                                 "sliced": len(sliced), "times": at["times"]}, start + sliced + unique(parts.shared))
    gradient.update(zip(a, found[len(g) :]))
    for j, c in zip(g, found):
        if parts.first[j] in reach:
            gradients.contribute(b, gradient, parts.first[j], c)
    for v, c in zip(rows, found[len(g) + len(a) :]):
        gradients.contribute(b, gradient, v, c)


def padded(b, v, before, after):
    rest = [0] * (len(b.shape(v)) - 1)
    return b.put("pad", v, after=[after] + rest, before=[before] + rest) if before or after else v


def with_empty_shards(b, v, cuts):
    """A row of +0 for each empty shard of a stack."""
    full = [y > x for x, y in zip(cuts, cuts[1:])]
    if all(full):
        return v
    dtype, shape = b.kind(v)
    parts, row, s = [], 0, 0
    while s < len(full):
        end = s
        while end < len(full) and full[end] == full[s]:
            end += 1
        if full[s]:
            rest = list(shape[1:])
            parts.append(b.put("slice", v, begin=[row] + [0] * len(rest), end=[row + end - s] + rest))
            row += end - s
        else:
            parts.append(b.fill(0.0, dtype, (end - s,) + shape[1:]))
        s = end
    return b.put("concat", *parts, axis=0)


def shard_derivative(body, i, f, rows, modes, wanted):
    """f' of a map's function for shards of so many rows: not finished, with the gradients in it."""
    at, d = i.at, Derivative(f)
    sliced = at["sliced"]
    index = d.parameter(("index",), ("i64", ()))
    part = lambda kind: (kind[0], (rows,) + kind[1][1:])
    out = [gradients.gradient_type(f.types[o]) for o in f.outputs]
    slices = [d.parameter(("slice", v), part(body.types[v])) for v in i.ins[:sliced]]
    got = {j: d.parameter(("gradient", j), out[j]) for j in modes["concat"]}
    shared = [d.parameter(("shared", v), body.types[v]) for v in i.ins[sliced:]]
    got.update((j, d.parameter(("gradient", j), out[j])) for j in modes["tree"])
    shards = len(at["cuts"]) - 1
    got.update((j, d.parameter(("gradient", j), (out[j][0], (shards,) + out[j][1]))) for j in modes["stack"])
    d.begin([index] + slices + shared)
    for j in modes["stack"]:
        place = d.b.put("sub", index, d.b.fill(at["first"], "i64")) if at["first"] else index
        row = d.b.put("gather", got[j], d.b.reshape(place, [1]), axis=0)
        got[j] = d.b.reshape(row, out[j][1])
    order = sorted(got)
    have = gradients.sweep(d.body, [d.outputs[j] for j in order], [got[j] for j in order],
                           [d.parameter(w, None) for w in wanted])
    return d, {w: have[d.parameter(w, None)] for w in wanted if d.parameter(w, None) in have}


def visit_map(b, i, gradient, reach):
    at, body, sliced = i.at, b.body, i.at["sliced"]
    cuts, given = at["cuts"], present(i, gradient, reach)
    modes = {m: [j for j in given if at["combine"][j] == m] for m in ("concat", "tree", "stack")}
    wanted = [("slice", v) for v in reached(body, i.ins[:sliced], reach)]
    wanted += [("shared", v) for v in reached(body, i.ins[sliced:], reach)]
    lengths = sorted({e - s for _, s, e, _ in computed_shards(at)})
    built = [shard_derivative(body, i, f, n, modes, wanted) for n, f in zip(lengths, at["functions"])]
    brought = {}
    for j in given:
        v = gradient[i.outs[j]]
        brought[j] = (padded(b, v, cuts[0], 0) if j in modes["concat"] else
                      with_empty_shards(b, v, cuts) if j in modes["stack"] else v)
    kept = [w for w in wanted if any(w in have for _, have in built)]
    if not kept:
        return
    functions = []
    for d, have in built:
        functions.append(d.finish([have.get(w, ("-0", d.parameter(w, None))) for w in kept]))

    slices = unique(i.ins[:sliced]) + [brought[j] for j in modes["concat"]]
    operands = slices + unique(i.ins[sliced:]) + [brought[j] for j in modes["tree"] + modes["stack"]]
    combine = ["concat" if kind == "slice" else "tree" for kind, _ in kept]
    found = body.append("map", {"combine": combine, "cuts": cuts, "first": at["first"], "functions": functions,
                                "sliced": len(slices)}, operands)
    for (kind, v), c in zip(kept, found):
        if kind == "slice":
            c = padded(b, c, cuts[0], body.types[v][1][0] - cuts[-1])
        gradients.contribute(b, gradient, v, c)
