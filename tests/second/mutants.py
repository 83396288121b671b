# SPDX-License-Identifier: Apache-2.0
"""Changed texts of programs: both implementations refuse or both accept, and then find the same prices (FORMAT 9).

Named changes are those that the one order of functions forbids, and limits; random ones change a number, a word or a
list anywhere in a text. A text with an operation that the second implementation lacks says nothing."""
import copy
import json
import random
import subprocess

import op_types
import program
from ieee import WIDTH
from op_types import Refused, Unknown

NEG = {"instructions": [["neg", {}, [1], [2]]], "outputs": [2], "parameters": [["i64", []], ["f32", [2]]]}


def dump(entry):
    return json.dumps(entry, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def nested(depth, width, times=None):
    """Functions each of which executes the one before `width` times: calls, or scans of so many times."""
    functions = [NEG]
    for n in range(1, depth):
        body = []
        for k in range(width):
            at = ["call", {"function": n - 1}, [0, 1 + k], [2 + k]]
            if times is not None:
                at = ["scan", {"carried": 1, "function": n - 1, "history": False, "reverse": False, "sliced": 0,
                               "times": times}, [1 + k], [2 + k]]
            body.append(at)
        functions.append({"instructions": body, "outputs": [1 + width], "parameters": NEG["parameters"]})
    return {"contract": 1, "functions": functions,
            "inputs": [[0, "feed", "i", "i64", []], [1, "feed", "x", "f32", [2]]],
            "instructions": [["call", {"function": depth - 1}, [0, 1], [2]]], "outputs": [["result", "y", 2]]}


def named(entry):
    """(name, text) of the changes that have names, where the text has at least two functions."""
    yield "as it is", dump(entry)
    functions = entry.get("functions", [])
    for name, made in (("reordered", functions[1:] + functions[:1]), ("reversed", functions[::-1]),
                       ("duplicate", functions + functions[-1:]), ("duplicate in front", functions[:1] + functions),
                       ("unused", functions + [NEG]), ("one less", functions[:-1]), ("none", [])):
        yield name, dump(dict(entry, functions=made))
    for n, _ in enumerate(functions):
        for name, other in (("forward", n + 1), ("self", n), ("before none", -1)):
            for key in ("function", "body", "predicate"):
                changed = copy.deepcopy(entry)
                for i in changed["functions"][n]["instructions"]:
                    if key in i[1]:
                        i[1][key] = other
                if changed != entry:
                    yield "%s reference" % name, dump(changed)
        for name, outputs in (("a parameter as output", [0]), ("an output twice", functions[n]["outputs"][:1] * 2),
                              ("no output", [])):
            changed = copy.deepcopy(entry)
            changed["functions"][n]["outputs"] = outputs
            yield name, dump(changed)
    for k, i in enumerate(entry["instructions"]):
        if "cuts" in i[1]:
            cuts = i[1]["cuts"]
            for made in (cuts[:-1] + [cuts[-1] + 1000], cuts[::-1], [cuts[0]], [], [-1] + cuts[1:],
                         [c + 1 for c in cuts], cuts + cuts[-1:], cuts[:1] + cuts, [0] + cuts[1:],
                         [1 << 40] * 2, [(1 << 40) + 1] * 2):
                changed = copy.deepcopy(entry)
                changed["instructions"][k][1]["cuts"] = made
                yield "cuts %s" % made, dump(changed)


def limits():
    yield "32 deep", dump(nested(32, 1))
    yield "33 deep", dump(nested(33, 1))
    yield "32 nested 2^40", dump(nested(32, 1, 1 << 40))
    yield "wide sharing", dump(nested(32, 8))
    yield "X just in the limit", dump(nested(2, 1, (1 << 40) - 2))
    yield "X one more", dump(nested(2, 1, (1 << 40) - 1))
    yield "times above 2^40", dump(nested(2, 1, (1 << 40) + 1))
    for count in (4096, 4097):
        functions = [{"instructions": [["fill", {"dtype": "i64", "shape": [], "value": str(n)}, [], [2]],
                                       ["neg", {}, [1], [3]]], "outputs": [3], "parameters": NEG["parameters"]}
                     for n in range(count)]
        calls = [["call", {"function": n}, [0, 1], [2 + n]] for n in range(count)]
        yield "%d functions" % count, dump(dict(nested(1, 1), functions=functions, instructions=calls))


def places(node, found):
    found.append(node)
    for child in node.values() if isinstance(node, dict) else node if isinstance(node, list) else []:
        if isinstance(child, (dict, list)):
            places(child, found)
    return found


def words(node, found):
    for child in node.values() if isinstance(node, dict) else node:
        if isinstance(child, (dict, list)):
            words(child, found)
        else:
            found.append(child)
    return found


def changed(leaf, draw, pool):
    if isinstance(leaf, bool):
        return not leaf
    if isinstance(leaf, int):
        others = [v for v in pool if isinstance(v, int)]
        return draw.choice([leaf + 1, leaf - 1, 0, 1, -1, 1 << 40, (1 << 40) + 1, 1 << 53, draw.choice(others)])
    return draw.choice([v for v in pool if isinstance(v, str)] + [leaf + "0", "", "a" * 95, "a" * 96, "a b", "\u00e4"])


def mutant(entry, draw):
    """One place of the text changed."""
    entry = copy.deepcopy(entry)
    pool = words(entry, [])
    for _ in range(100):
        node = draw.choice(places(entry, []))
        keys = list(node) if isinstance(node, dict) else list(range(len(node)))
        if not keys:
            continue
        key = draw.choice(keys)
        if isinstance(node[key], (dict, list)) or draw.random() < 0.1:
            if isinstance(node, dict):
                del node[key]
            else:
                other = draw.choice(keys)
                kind = draw.randrange(3)
                if kind == 0:
                    del node[key]
                elif kind == 1:
                    node.insert(other, copy.deepcopy(node[key]))
                else:
                    node[key], node[other] = node[other], node[key]
        else:
            node[key] = changed(node[key], draw, pool)
        return dump(entry)
    return dump(entry)


def spelt(text, draw):
    """The same JSON value in another text."""
    return draw.choice([text.replace(",", ", ", 1), text + " ", " " + text, text.replace("[", "[ ", 1), text[:-1],
                        text.replace('"inputs"', '"inputs":[],"inputs"', 1), text.replace("1", "1.0", 1),
                        text.replace('"contract":1', '"contract":01')])


# Results of an operation where it is not one.
RESULTS = {"sgd": 2, "lion": 2, "adagrad": 2, "adamw": 3}


def drawn_attribute(kind, draw):
    if kind == "integer":
        return draw.choice([0, 0, 0, 1, 1, 2, 3, -1, 1 << 32])
    if kind == "bool":
        return draw.random() < 0.5
    if kind == "real":
        return draw.choice(["0", "0", "0.5", "0.5", "1", "-1", "inf", "nan", "1e30", "-0"])
    if kind == "dtype":
        return draw.choice(list(WIDTH))
    return [draw.choice([0, 0, 1, 1, 2, 3, -1]) for _ in range(draw.choice([0, 1, 1, 2, 2, 3]))]


def one_instruction(draw):
    """A program of one instruction on operands of any types, of which few fit."""
    op = draw.choice(sorted(op_types.FORMS))
    kinds, operands = op_types.FORMS[op]
    operands = draw.randrange(1, 4) if operands is None else operands
    shape = draw.choice(SHAPES)
    dtype = draw.choice(list(WIDTH) + ["f32", "f64"])
    types = []
    for n in range(operands):
        other = draw.random()
        types.append([dtype if other < 0.8 else draw.choice(list(WIDTH)),
                      shape if draw.random() < 0.6 else draw.choice(SHAPES)])
        if op in INDEXED and n == 1 or op == "one_hot":
            types[-1][0] = draw.choice(["i64", "i64", "i32", "f32"])
        if op in ("uniform", "normal") or op == "dropout" and n == 1:
            types[-1] = ["i64", draw.choice([[2], [2], [3], [1], []])]
        if op == "where" and n == 0:
            types[-1][0] = draw.choice(["bool", "bool", "i32"])
        if op in RESULTS and n >= RESULTS[op] + 1:
            types[-1][1] = draw.choice([[], [], [], [1]])
    at = {key: drawn_attribute(kind, draw) for key, kind in kinds.items()}
    outs = list(range(operands, operands + RESULTS.get(op, 1)))
    return op, dump({"contract": 1, "inputs": [[n, "feed", "x%d" % n, *t] for n, t in enumerate(types)],
                     "instructions": [[op, at, list(range(operands)), outs]], "outputs": []})


INDEXED = ("gather", "scatter_add")
SHAPES = [[], [1], [2], [3], [0], [2, 3], [3, 2], [2, 2], [1, 3], [2, 1], [2, 0], [2, 2, 3], [1, 2, 2], [2, 3, 2]]


def verdict(text):
    """As second_cases says it; None where this implementation cannot."""
    try:
        return "ok %d %d %d" % program.read(text).prices
    except Refused as error:
        return "no %s" % error
    except Unknown:
        return None


def judged(tool, texts):
    out = subprocess.run([tool, "judge"], input="".join(t + "\n" for t in texts), stdout=subprocess.PIPE, text=True,
                         check=True)
    found = out.stdout.split("\n")[:-1]
    assert len(found) == len(texts)
    return found


def compare(tool, texts, counts):
    """texts: (name, text)..; lines that tell where the two differ."""
    wrong = []
    for (name, text), theirs in zip(texts, judged(tool, [t for _, t in texts])):
        ours = verdict(text)
        if ours is None:
            counts["texts with other operations"] += 1
            continue
        if ours.startswith("ok") or theirs.startswith("ok"):
            if ours != theirs:
                wrong.append("%s: the second implementation says '%s', the library '%s'\n  %s"
                             % (name, ours, theirs, text))
        counts["texts accepted" if theirs.startswith("ok") else "texts refused"] += 1
    return wrong


def all_of(originals, count, seed):
    draw = random.Random(seed)
    entries = [json.loads(t) for t in originals]
    for entry in entries:
        yield from named(entry)
    yield from limits()
    for n in range(4 * count):
        yield one_instruction(draw)
    for n in range(count):
        entry = draw.choice(entries)
        if n % 50 == 0:
            yield "spelling", spelt(dump(entry), draw)
        else:
            yield "mutant %d" % n, mutant(entry, draw)
