# SPDX-License-Identifier: Apache-2.0
"""CONTRACT 11.1 and 11.6 in Python: a program's values, frame by frame. Nothing is fused, shared or left out."""
import op_values
from op_types import count, need
from region_types import INDEX, computed_shards


def run(program, values):
    """values: elements of each input by (kind, name). The elements of each output by (kind, name)."""
    have = {v: values[kind, name] for v, kind, name in program.inputs}
    execute(program, have)
    return {(kind, name): have[v] for kind, name, v in program.outputs}


def frame(function, operands):
    have = dict(enumerate(operands))
    execute(function, have)
    return [have[o] for o in function.outputs]


def execute(body, have):
    for i in body.instructions:
        types, values = [body.types[v] for v in i.ins], [have[v] for v in i.ins]
        if i.op in REGION:
            results = REGION[i.op](i.at, types, values)
        else:
            results = op_values.compute(i.op, i.at, types, values, [body.types[v] for v in i.outs])
        have.update(zip(i.outs, results))


def call(at, types, values):
    return frame(at["function"], values)


def scan(at, types, values):
    carried, sliced, times = at["carried"], at["sliced"], at["times"]
    now, rows, shared = values[:carried], values[carried : carried + sliced], values[carried + sliced :]
    width = [count(t[1][1:]) for t in types[carried : carried + sliced]]
    made, entered = [None] * times, [None] * times
    for index in reversed(range(times)) if at["reverse"] else range(times):
        entered[index] = now
        row = [r[index * n : (index + 1) * n] for r, n in zip(rows, width)]
        out = frame(at["function"], [[index]] + now + row + shared)
        now, made[index] = out[:carried], out[carried:]
    stacks = len(at["function"].outputs) - carried
    found = now + [[x for row in made for x in row[j]] for j in range(stacks)]
    return found + ([[x for row in entered for x in row[j]] for j in range(carried)] if at["history"] else [])


def tree(parts, dtype):
    """CONTRACT 12.3.2."""
    while len(parts) > 1:
        pairs = [parts[i : i + 2] for i in range(0, len(parts), 2)]
        kind = (dtype, (len(parts[0]),))
        parts = [p[0] if len(p) == 1 else op_values.compute("add", {}, [kind, kind], p, [kind])[0] for p in pairs]
    return parts[0]


def map_(at, types, values):
    sliced = at["sliced"]
    width = [count(t[1][1:]) for t in types[:sliced]]
    parts = []
    for index, a, b, function in computed_shards(at):
        slices = [v[a * n : b * n] for v, n in zip(values, width)]
        parts.append(frame(function, [[index]] + slices + values[sliced:]))
    found, kinds = [], at["functions"][0].result_types()
    for j, mode in enumerate(at["combine"]):
        column = [part[j] for part in parts]
        found.append(tree(column, kinds[j][0]) if mode == "tree" else [x for part in column for x in part])
    return found


def cond(at, types, values):
    selector = values[0][0]
    if types[0] == INDEX:
        need(0 <= selector < len(at["functions"]), "a selector out of range")
    return frame(at["functions"][int(selector)], values[1:])


def while_(at, types, values):
    carried = at["carried"]
    now, shared, index = values[:carried], values[carried:], 0
    while index < at["limit"] and frame(at["predicate"], [[index]] + now + shared)[0][0]:
        now = frame(at["body"], [[index]] + now + shared)
        index += 1
    return [[index]] + now


REGION = {"call": call, "scan": scan, "map": map_, "cond": cond, "while": while_}
