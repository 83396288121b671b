#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""CONTRACT 12.11 in Python: the settings of a search, the means and deviations of trials, the choice and the spread of
figures, made again from run/recipe.json and the trials' figures of an archive. Usage: trials.py REPRISE FOLDER, which
has the table; exits 1 at the first value that differs."""
import itertools
import json
import os
import subprocess
import sys

from archive import members
from elementary import exp64, log64
from ieee import sqrt64, total
from op_types import need
from philox import uniform64, words

SEARCH = 0x53524348
LARGER = {"accuracy", "auc", "r2"}
RECIPE = """reprise: 1
seed: %d
data: {csv: table.csv, target: y, folds: 3, fold: %s}
model: {hidden: [4]}
train: {epochs: 2, batch: 16%s}
search: {%s}
challengers: {linear: true, seeds: 3}
"""
CASES = [(11, "all", "", "over: {lr: [0.1, 0.003], dropout: [0, 0.25, 0.5], activation: [tanh, relu]}, by: accuracy"),
         (12, "1", "", "kind: random, trials: 9, by: auc, over: {lr: {low: 0.0001, high: 0.5, log: true}, epochs: {low: 1, "
          "high: 4}, dropout: {low: 0, high: 0.6}, hidden: [[2], [4, 3], [5]]}"),
         (2**53 - 2, "all", "", "kind: random, trials: 3, over: {batch: [8, 16], weight_decay: [0, 0.1]}")]


def drawn(axis, u, integer):
    low, high = float(axis["low"]), float(axis["high"]) + integer
    x = exp64(log64(low) + u * (log64(high) - log64(low))) if axis["log"] else low + u * (high - low)
    x = min(max(x, low), float(axis["high"]))
    return int(x) if integer else x


def settings(recipe):
    search = recipe["search"]
    keys = sorted(search["over"], key=lambda k: k.encode())
    if search["kind"] == "grid":
        for values in itertools.product(*(search["over"][k] for k in keys)):
            yield dict(zip(keys, values))
        return
    for i in range(search["trials"]):
        found = {}
        word = words(2 * len(keys), recipe["seed"], i, SEARCH)
        for n, key in enumerate(keys):
            u, axis = uniform64(word[2 * n], word[2 * n + 1]), search["over"][key]
            if isinstance(axis, list):
                found[key] = axis[min(int(u * len(axis)), len(axis) - 1)]
            else:
                found[key] = drawn(axis, u, isinstance(axis["low"], int))
        yield found


def same(found, wanted, what):
    """Reals are compared as numbers, so that only their bits count."""
    if isinstance(wanted, dict):
        need(set(found) == set(wanted), "%s: %s, expected %s" % (what, found, wanted))
        for key in wanted:
            same(found[key], wanted[key], what + "." + key)
    elif isinstance(wanted, float):
        need((found is None and wanted != wanted) or float(found) == wanted, "%s: %s, expected %r" % (what, found, wanted))
    else:
        need(found == wanted, "%s: %s, expected %s" % (what, found, wanted))


def spread(values):
    mean = total(values, "f64") / len(values)
    squares = total([(v - mean) * (v - mean) for v in values], "f64")
    return mean, sqrt64(squares / (len(values) - 1)) if len(values) > 1 else float("nan")


def check(path):
    found = members(path)
    recipe, trials = json.loads(found["run/recipe.json"]), json.loads(found["outputs/trials.json"])
    folds = recipe["data"]["folds"] if recipe["data"]["fold"] == "all" else 1
    wanted = list(settings(recipe))
    variants = trials["variants"]
    need(len(variants) == len(wanted) + 4 and trials["number"] == len(variants) * folds, "number of trials")
    for i, settled in enumerate(wanted):
        same(variants[i]["set"], settled, "variant %d" % i)
    for variant in variants:
        for name in variant["mean"]:
            mean, deviation = spread([float(t["figures"][name]) for t in variant["trials"]])
            same(variant["mean"][name], mean, name)
            if folds > 1:
                same(variant["deviation"][name], deviation, name)
    by = trials["by"]
    judged = [float(v["mean"][by]) * (1 if by in LARGER else -1) for v in variants[: len(wanted)]]
    need(trials["chosen"] == judged.index(max(judged)), "the choice")
    seeds = variants[-3:]
    need([v["set"]["seed"] for v in seeds] == [(recipe["seed"] + k) % 2**53 for k in (1, 2, 3)], "seeds")
    for name, figure in trials["spread"]["figures"].items():
        values = [float(v["mean"][name]) for v in seeds]
        mean, deviation = spread(values)
        same(figure, {"mean": mean, "deviation": deviation, "minimum": min(values), "maximum": max(values)}, name)


def main():
    reprise, folder = os.path.abspath(sys.argv[1]), sys.argv[2]
    os.makedirs(folder, exist_ok=True)
    os.chdir(folder)
    with open("table.csv", "w") as table:
        table.write("a,b,c,y\n")
        for i in range(75):
            table.write("%d.5,%d,%s,%s\n" % (i * i % 17, i * 7 % 11, "uvw"[i % 3], "yes" if i * i % 17 > 7 + i % 4 else "no"))
    for seed, fold, more, search in CASES:
        with open("r.yaml", "w") as recipe:
            recipe.write(RECIPE % (seed, fold, more, search))
        subprocess.run([reprise, "run", "r.yaml", "-o", "t.reprise", "--force"], check=True, capture_output=True)
        check("t.reprise")
    print("%d searches made again" % len(CASES))


if __name__ == "__main__":
    main()
