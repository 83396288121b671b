# SPDX-License-Identifier: Apache-2.0
"""CONTRACT 11.6 and FORMAT 9 in Python: the regions' attributes, the functions that they execute, the types of their
results, and which are refused."""
import op_types
from op_types import need

LIMIT = 1 << 40
REGIONS = {
    "call": {"function": "function"},
    "scan": {"carried": "integer", "function": "function", "history": "bool", "reverse": "bool", "sliced": "integer",
             "times": "integer"},
    "map": {"combine": "modes", "cuts": "list", "first": "integer", "functions": "functions", "sliced": "integer"},
    "cond": {"functions": "functions"},
    "while": {"body": "function", "carried": "integer", "limit": "integer", "predicate": "function"},
}


def functions_of(instruction):
    """A region's functions, in the order of the attributes' keys, and within a list in order."""
    found = []
    for key, kind in sorted(REGIONS.get(instruction.op, {}).items()):
        if kind in ("function", "functions"):
            found += [instruction.at[key]] if kind == "function" else instruction.at[key]
    return found


INDEX = ("i64", ())


def stacked(n, kind):
    op_types.check_type((n,) + kind[1])
    return kind[0], (n,) + kind[1]


def computed_shards(at):
    """(index, begin, end, function) of each shard that has rows."""
    cuts, at_function = at["cuts"], {}
    lengths = sorted({b - a for a, b in zip(cuts, cuts[1:])} - {0})
    need(len(at["functions"]) == len(lengths) > 0, "one function for each distinct length")
    for length, function in zip(lengths, at["functions"]):
        at_function[length] = function
    return [(at["first"] + s, a, b, at_function[b - a]) for s, (a, b) in enumerate(zip(cuts, cuts[1:])) if b > a]


def region_types(op, at, types):
    need(len(types) <= 65536, "more than 65,536 operands")
    of = {"call": call_types, "scan": scan_types, "map": map_types, "cond": cond_types, "while": while_types}
    found = of[op](at, types)
    need(len(found) <= 65536, "more than 65,536 values")
    return found


def parameters_are(function, types):
    need(function.types[: function.parameters] == list(types), "types of parameters")


def call_types(at, types):
    parameters_are(at["function"], types)
    return at["function"].result_types()


def scan_types(at, types):
    f, carried, sliced, times = at["function"], at["carried"], at["sliced"], at["times"]
    need(carried >= 0 and sliced >= 0 and carried + sliced <= len(types) and 0 <= times <= LIMIT, "scan")
    rows = types[carried : carried + sliced]
    need(all(shape and shape[0] == times for _, shape in rows), "rows of a scan")
    first, shared = types[:carried], types[carried + sliced :]
    parameters_are(f, [INDEX] + first + [(t, s[1:]) for t, s in rows] + shared)
    out = f.result_types()
    need(out[:carried] == first, "carried values")
    found = first + [stacked(times, t) for t in out[carried:]]
    return found + ([stacked(times, t) for t in first] if at["history"] else [])


def map_types(at, types):
    cuts, sliced = at["cuts"], at["sliced"]
    need(2 <= len(cuts) <= 65537 and all(0 <= c <= LIMIT for c in cuts) and 0 <= at["first"] <= LIMIT, "cuts")
    need(all(a <= b for a, b in zip(cuts, cuts[1:])) and 0 <= sliced <= len(types), "cuts")
    need(sliced or cuts == list(range(len(cuts))), "cuts without sliced operands")
    need(all(s and cuts[-1] <= s[0] for _, s in types[:sliced]), "cuts outside the rows")
    shards = computed_shards(at)
    lengths = sorted({b - a for _, a, b, _ in shards})
    outs = []
    for n, f in zip(lengths, at["functions"]):
        parameters_are(f, [INDEX] + [(t, (n,) + s[1:]) for t, s in types[:sliced]] + types[sliced:])
        outs.append(f.result_types())
        need(len(outs[-1]) == len(at["combine"]), "combine")
    found = []
    for j, mode in enumerate(at["combine"]):
        kinds = [out[j] for out in outs]
        if mode == "concat":
            need(all(s and s[0] == n and (t, s[1:]) == (kinds[0][0], kinds[0][1][1:])
                     for n, (t, s) in zip(lengths, kinds)), "concat")
            found.append((kinds[0][0], (sum(b - a for _, a, b, _ in shards),) + kinds[0][1][1:]))
            continue
        need(all(k == kinds[0] for k in kinds), "results of a map")
        need(mode == "stack" or kinds[0][0] in op_types.NUMBERS, "tree")
        found.append(kinds[0] if mode == "tree" else stacked(len(shards), kinds[0]))
    for _, shape in found:
        op_types.check_type(shape)
    return found


def cond_types(at, types):
    need(types and types[0] in (("bool", ()), INDEX), "selector")
    need(len(at["functions"]) == 2 if types[0][0] == "bool" else len(at["functions"]) >= 1, "branches")
    for f in at["functions"]:
        parameters_are(f, types[1:])
        need(f.result_types() == at["functions"][0].result_types(), "results of branches")
    return at["functions"][0].result_types()


def while_types(at, types):
    carried = at["carried"]
    need(0 <= carried <= len(types) and 0 <= at["limit"] <= LIMIT, "while")
    for f in (at["body"], at["predicate"]):
        parameters_are(f, [INDEX] + types)
    need(at["body"].result_types() == types[:carried], "carried values")
    need(at["predicate"].result_types() == [("bool", ())], "predicate")
    return [INDEX] + types[:carried]
