#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Exact fits (CONTRACT 9.10 to 9.13, 12.8, 12.9, FORMAT 9.7) made again: the tensors from the table, the training step from
its program, outputs/coefficients.json from that step's results. Usage: exact.py REPRISE FOLDER; exits 1 at what differs."""
import csv
import io
import json
import operator
import os
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import archive  # noqa: E402
import program  # noqa: E402
import replay  # noqa: E402
from coefficients import Fit  # noqa: E402
from compared import finish, same  # noqa: E402
from recipe import number  # noqa: E402
import stationary  # noqa: E402
from table import Table  # noqa: E402

LEAST = 3980  # values that are held against each other
CASES = [  # name, data, train
    ("plain", "target: y", "task: regression, l2: 0"),
    ("raw", "target: y, standardize: false, columns: {n: ignore}", "task: regression, l2: 0"),
    ("weighted", "target: y, weight: w, offset: o", "task: regression, l2: 0"),
    ("products", "target: y, interactions: [[x, k], [x, z], [z, z], [k, b]], columns: {w: ignore}", "task: regression, l2: 0"),
    ("ridge", "target: y, interactions: [[x, k]]", "task: regression, l2: 3"),
    ("double", "target: y, interactions: [[k, b], [b, k], [x, z]]", "task: regression, l2: 0"),
    ("two", "target: two, positive: \"yes\"", "task: classification, l2: 0"),
    ("balanced", "target: two, weight: w, interactions: [[x, z]]", "task: classification, l2: 0, class_weights: balanced"),
    ("offset", "target: two, offset: o, weight: w", "task: classification, l2: 0, class_weights: {yes: 2.5}"),
    ("ridge_two", "target: two", "task: classification, l2: 0.5"),
    ("lasso", "target: two", "task: classification, l1: 2, l2: 0.1"),
    ("three", "target: three, columns: {b: ignore, k: ignore}", "task: classification, l2: 0"),
    ("three_weighted", "target: three, weight: w, columns: {b: ignore, k: ignore}", "task: classification, l2: 0"),
    ("counts", "target: n", "task: regression, family: poisson, l2: 0"),
    ("rates", "target: n, exposure: t, weight: w", "task: regression, family: poisson, l2: 0"),
    ("poisson_offset", "target: n, offset: o", "task: regression, family: poisson, l2: 0"),
    ("gamma", "target: g", "task: regression, family: gamma, l2: 0"),
    ("gamma_weighted", "target: g, weight: w, exposure: t", "task: regression, family: gamma, l2: 0"),
    ("shares", "target: n, denominator: t", "task: regression, family: binomial, l2: 0"),
    ("shares_weighted", "target: n, denominator: t, weight: w, offset: o", "task: regression, family: binomial, l2: 0"),
    ("shares_ridge", "target: n, denominator: t", "task: regression, family: binomial, l2: 1"),
    ("three_balanced", "target: three, columns: {b: ignore, k: ignore}",
     "task: classification, l2: 0, class_weights: balanced"),
    ("three_products", "target: three, interactions: [[x, b]], columns: {k: ignore}", "task: classification, l2: 0.3"),
    ("raw_two", "target: two, standardize: false, columns: {k: ignore}", "task: classification, l2: 0.2"),
    ("lasso_one", "target: y, weight: w", "task: regression, l1: 3, l2: 0"),
    ("lasso_counts", "target: n, columns: {b: ignore, k: ignore}", "task: regression, family: poisson, l1: 4, l2: 0"),
    ("lasso_shares", "target: n, denominator: t", "task: regression, family: binomial, l1: 3, l2: 0"),
    ("ridge_counts", "target: n, exposure: t", "task: regression, family: poisson, l2: 2"),
    ("ridge_gamma", "target: g, interactions: [[x, b]]", "task: regression, family: gamma, l2: 1.5"),
    ("gamma_products", "target: g, interactions: [[x, z]]", "task: regression, family: gamma, l2: 0"),
    ("counts_products", "target: n, exposure: t, interactions: [[z, b]]", "task: regression, family: poisson, l2: 0"),
    ("raw_counts", "target: n, standardize: false, columns: {k: ignore}", "task: regression, family: poisson, l2: 0"),
    ("kept", "target: two, weight: w", "task: classification, l2: 0.2",
     "where: [{column: x, is: '>=', value: 31.5}, {column: b, is: '=', value: p}]"),
    ("kept_counts", "target: n, exposure: t", "task: regression, family: poisson, l2: 0",
     "where: [{column: k, is: present}, {column: z, is: '!=', value: 4}, {column: k, is: '!=', value: c}]"),
    ("kept_line", "target: y", "task: regression, l2: 0", "where: [{column: x, is: '<', value: 40}]"),
]
TARGETS = ("y", "two", "three", "n", "g")


def rows():
    seed, out = 7, [["x", "z", "k", "b", "w", "o", "t", *TARGETS]]

    def draw():
        nonlocal seed
        seed = seed * 6364136223846793005 + 1442695040888963407 & 2**64 - 1
        return (seed >> 33) / 2**31
    for r in range(90):
        x, z, k, b = round(draw() * 50) / 4 + 30, round(draw() * 9), "abc"[int(draw() * 3)], "pq"[int(draw() * 2)]
        w, o, t = [0, 0.5, 1, 2.25][int(draw() * 4)] if r > 3 else 1, round(draw() * 8) / 8 - 0.5, 4 + int(draw() * 6)
        u, e = draw(), draw()
        push = (x - 36) / 4 + (k == "b") - z / 9
        y = 5 + 2 * push + e
        n = int(t * (0.2 + 0.3 * (push > 0) + 0.4 * e))
        out.append(["" if draw() < 0.05 else x, z, "" if draw() < 0.05 else k, b, w, o, t, y,
                    "yes" if push + 3 * u > 1.6 else "no", ["low", "mid", "top"][(push + 4 * u > 1.5) + (push + 4 * e > 2.5)],
                    n, round((0.5 + e) * (2 + z), 3)])
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(out)
    return text.getvalue()


HOLDS = {"=": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}


def meets(row, conditions, names, missing):
    """Whether a row is kept (CONTRACT 9.1, 4): of numbers by their values, else by the text; never of a missing cell."""
    for one in conditions:
        cell = row[names.index(one["column"])]
        if cell in missing:
            return False
        if one["is"] != "present":
            a, b = number(cell), number(one["value"])
            if not HOLDS[one["is"]](*((cell, one["value"]) if a is None or b is None else (a, b))):
                return False
    return True


def recipe(data, train, where):
    """Ignores the other targets, and what the data do not name."""
    target = data.split(",")[0].split()[1]
    named = [c for c in TARGETS if c != target]
    named += [c for c in ("w", "o", "t") if not any(": %s" % c in part for part in data.split("columns")[0].split(","))]
    given = data.split("columns: {")[1].rstrip("}").split(", ") if "columns" in data else []
    given += ["%s: ignore" % c for c in named if "%s: ignore" % c not in given]
    data = data.split(", columns")[0] + ", columns: {%s}" % ", ".join(given)
    return "reprise: 1\ndata: {csv: table.csv, %s%s}\ntrain: {solver: exact, %s}\n" % (data, where and ", " + where, train)


def check(name, data, train, where=""):
    pathlib.Path(name + ".yaml").write_text(recipe(data, train, where))
    done = subprocess.run([reprise, "run", name + ".yaml", "-o", name + ".reprise", "--force"], capture_output=True, text=True)
    if done.returncode:
        sys.exit("%s: %s" % (name, done.stderr))
    found = archive.members(name + ".reprise")
    plan = json.loads(found["run/recipe.json"])
    others = {int(line.split(",")[0]) for line in found["outputs/predictions.csv"].decode().split("\n")[1:-1]}
    raw = found["data/raw.csv"]
    names, *lines = csv.reader(io.StringIO(raw.decode()))
    kept = [r for r, line in enumerate(lines)
            if meets(line, plan["data"].get("where", []), names, set(plan["data"]["missing"]))]
    assert bool(where) == (len(kept) < len(lines)), name
    table = Table(plan, raw, [r for r in kept if r not in others])
    n, p, many = len(table.y), len(table.features), bool(table.classes) and len(table.classes) > 2
    data = {"train_x": ("f64", (n, p), [v for row in table.x for v in row]),
            "train_y": ("i64", (n,), [int(v) for v in table.y]) if many else ("f64", (n, 1), table.y)}
    if table.weights:
        data["train_w"] = ("f64", (n,) if many else (n, 1), table.weights)
    prepared = json.loads(found["data/prepared.json"])
    for key, tensor in data.items():
        same(prepared[key]["digest"], archive.tensor_digest(*tensor).hex(), "%s: %s" % (name, key))
    names = sorted(m for m in found if m.startswith("run/programs/"))
    programs = [program.read(found[m].decode()) for m in names]
    states = replay.all_states(programs)
    number, *record = archive.records(found["run/journal.bin"])[1]
    fed, results = replay.step(programs[number], {}, data, states)
    same(record[2].hex(), archive.list_digest(results).hex(), "%s: results of the training step" % name)
    loss = {"poisson": "poisson", "gamma": "gamma", "binomial": "bce"}.get(plan["train"].get("family"))
    loss = loss or ("mse" if not table.classes else "cross_entropy" if many else "bce")
    fit = Fit(table, {k: v[2] for k, v in results.items()}, loss, float(plan["train"]["l1"]), float(plan["train"]["l2"]))
    same(json.loads(found["outputs/coefficients.json"]), fit.json(), name)
    checked, wrong = stationary.wrong(fit)
    same("; ".join(wrong), "", "%s: %d slopes and covariances" % (name, checked))


def main():
    pathlib.Path("table.csv").write_text(rows())
    for case in CASES if len(sys.argv) < 4 else [c for c in CASES if c[0] in sys.argv[3:]]:
        check(*case)
    finish("exact fits", LEAST)


reprise = os.path.abspath(sys.argv[1])
os.makedirs(sys.argv[2], exist_ok=True)
os.chdir(sys.argv[2])
main()
