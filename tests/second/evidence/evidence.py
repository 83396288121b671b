#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Statements of validation, monitoring, scorecards, explanations and retraining (FORMAT 15) made again from archive,
rows and what `predict` writes of them, every key and every text. Usage: evidence.py REPRISE FOLDER; exits 1 at what differs, or if too little was
compared."""
import csv
import hashlib
import io
import json
import os
import pathlib
import re
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import figures  # noqa: E402
import model  # noqa: E402
from archive import members  # noqa: E402
from compared import finish, same  # noqa: E402
from drift import bin_of, development, of_counts, of_samples  # noqa: E402
from explanation import Explained  # noqa: E402
from figures import real, reference_edges  # noqa: E402
from model import Model, call, table  # noqa: E402
from parts import cut, selection  # noqa: E402
from recipe import number  # noqa: E402
from retraining import categories, decisions, of_areas, of_losses, of_scores as of_two_scores  # noqa: E402
from scorecard import Card  # noqa: E402

FORGE = pathlib.Path(__file__).resolve().parents[2] / "cli/validate/forge.py"
LEAST = 44100  # values that are held against each other


def left_out(model, rows, at, part):
    """How many of these rows the recipe's conditions leave out, although they are judged."""
    return 0 if part or not model.filtered else sum(not model.kept(dict(zip(model.names, rows[r]))) for r in at)


def validation(model, path, by, groups, favourable, threshold, part=None):
    """path: the rows, None for those of the part: neither trained nor validated, or scored out of fold."""
    text = pathlib.Path(path or model.name + ".raw.csv").read_bytes()
    rows = model.read(text.decode())
    if part:
        kept = model.tested if part == "test" else model.folded
        rows, path = [rows[r] for r in kept], "part.csv"
        pathlib.Path(path).write_text(model.text_of(kept))
    scores = model.kept_scores if part == "folds" else model.scores(path)
    outcomes = [model.outcome(row) for row in rows]
    offsets = model.offsets(rows)
    known = {model.key(model.raw[r]) for r in model.train}
    all_of_it = model.figures(scores, outcomes, threshold, not any(outcomes), offsets)
    judged = [r for r in range(len(rows)) if outcomes[r] is not None]
    chose = {model.key(model.raw[r]) for r in model.judged} - known if model.chooses else set()
    data = {"bytes": len(text), "sha256": hashlib.sha256(text).hexdigest(), "rows": len(rows), "hidden": 0,
            "unfiltered": model.filtered and not part, "without_outcome": len(rows) - len(judged),
            "seen": sum(model.key(rows[r]) in known for r in judged),
            "chose": sum(model.key(rows[r]) in chose for r in judged), "left_out": left_out(model, rows, judged, part),
            "called_missing": 0}
    own = {model.key(model.raw[r]) for r in model.judged + model.tested} - known - chose
    data["own"] = 0 if part == "folds" else sum(model.key(rows[r]) in own for r in judged)
    if part == "folds":
        data["seen"], data["without_score"] = model.known_elsewhere(), len(model.train) - len(rows)
    classes = model.metrics.get("classes")
    asked = {"by": by, "groups": groups, "favourable": favourable, "part": part,
             "threshold": None if threshold is None else real(threshold)}
    wanted = len(classes) - 1 if classes and favourable is None else classes.index(favourable) if classes else None
    level = 0.5 if threshold is None else threshold

    def chosen(s):
        return int(s >= level) if model.kind == 2 else max(range(3), key=lambda c: (s[c], -c))

    def slices(by):
        out, column = [], model.names.index(by if by in model.names else by.rpartition(":")[0])
        for said, at in cut([row[column] for row in rows], number, by, model.names):
            out.append((said | {"figures": model.figures([scores[r] for r in at], [outcomes[r] for r in at], threshold,
                                                         True, [offsets[r] for r in at])}, [r for r in at if outcomes[r] is not None]))
        return out

    def group(by):
        parts = slices(by)
        if model.kind == 1:
            return {"by": by, "parts": [said for said, at in parts]}
        counted = []
        for said, at in parts:
            if at:
                picked = [r for r in at if chosen(scores[r]) == wanted]
                good = [r for r in at if classes.index(outcomes[r]) == wanted]
                counted.append((said, (len(at), len(picked), len(good), len(set(picked) & set(good)))))
        objects, summary = selection([c for said, c in counted])
        for (said, c), one in zip(counted, objects):
            said["selection"] = one
        return {"by": by, "favourable": classes[wanted], "parts": [said for said, at in parts], "summary": summary}

    run, named = model.judged_by() if model.kind == 2 else (None, None)
    return {"contract": 1, "classes": classes, "data": data, "options": asked, "figures": all_of_it,
            "development": beside(model, run, all_of_it, named) if model.kind == 2 and judged and part != "folds" else None,
            "slices": [{"by": b, "parts": [said for said, at in slices(b)]} for b in by],
            "groups": [group(g) for g in groups]}


def beside(model, run, figures_now, named):
    said = development(run, figures_now, named)
    return said | {"without_score": len(model.train) - len(model.folded)} if said and named == "folds" else said


def drift(model, rows, scores):
    """Of rows and their scores by the model against what it was trained on: of scores, of columns."""
    def of_numbers(reference, now, then, missing):
        """now, then: the numbers that are there; missing: how many rows have none, None of a score."""
        edges = [float(e) for e in reference["edges"]]
        counts = [0] * (len(edges) + 1)
        for v in now:
            counts[bin_of(edges, v)] += 1
        a = reference["counts"] + ([] if missing is None else [reference["missing"]])
        b = counts + ([] if missing is None else [missing])
        mean = figures.added(sorted(now)) / len(now) if now else figures.NAN
        return {"counts": b, **of_counts(a, b), "mean": real(mean),
                "below": sum(v < float(reference["minimum"]) for v in now),
                "above": sum(v > float(reference["maximum"]) for v in now), **of_samples(sorted(then), sorted(now))}

    each = (lambda s: [s]) if model.kind < 3 else (lambda s: s)
    frozen = [sorted(each(s)[k] + 0.0 for s in model.training) for k in range(len(model.reference["scores"]))]
    for one, numbers in zip(model.reference["scores"], frozen):
        same(one["edges"], [real(e) for e in reference_edges(numbers)], "edges of scores")
    for one in model.reference["columns"]:
        if model.columns[one["column"]]["kind"] == "numeric":
            cells = [model.raw[r][one["column"]] for r in model.train]
            numbers = sorted(number(t) + 0.0 for t in cells if t is not None)
            same(one["edges"], [real(e) for e in reference_edges(numbers)], "edges of column %d" % one["column"])
    of_scores = [of_numbers(one, [each(s)[k] + 0.0 for s in scores], [each(s)[k] + 0.0 for s in model.training], None)
                      for k, one in enumerate(model.reference["scores"])]
    of_columns = []
    for one in model.reference["columns"]:
        c = one["column"]
        column, cells = model.columns[c], [row[c] for row in rows]
        there, before = [t for t in cells if t is not None], [model.raw[r][c] for r in model.train]
        head = {"column": c, "name": column.get("name"), "kind": column["kind"]}
        if column["kind"] == "numeric":
            found = of_numbers(one, [number(t) + 0.0 for t in there], [number(t) + 0.0 for t in before if t is not None],
                               len(cells) - len(there))
        else:
            words = [k for k in column["categories"] if k is not None]
            counts = [there.count(k) for k in words]
            b = counts + [len(there) - sum(counts), len(cells) - len(there)]
            new = list(dict.fromkeys(t for t in there if t not in words))[:5]
            found = {"counts": b, **of_counts(one["counts"] + [one["missing"]], b),
                     "new_values": None if column.get("other") else new}
        of_columns.append(head | found)
    return of_scores, of_columns


def monitoring(model, path, period, previous):
    said = validation(model, path, [], [], None, None)
    for key in ("options", "slices", "groups"):
        del said[key]
    rows, scores = model.read(pathlib.Path(path).read_text()), model.scores(path)
    known = {model.key(model.raw[r]) for r in model.train}
    others = {model.key(model.raw[r]) for r in model.judged + model.tested} - known
    del said["data"]["chose"], said["data"]["called_missing"]
    said["data"] |= {"seen": sum(model.key(row) in known for row in rows), "own": sum(model.key(row) in others for row in rows),
                     "left_out": left_out(model, rows, range(len(rows)), None)}
    said["scores"], said["columns"] = drift(model, rows, scores)
    return said | {"period": period, "samples": True, "number": previous["number"] + 1 if previous else 1,
                   "previous": previous["text"] if previous else None}


def comparison(parent, child, path, part, threshold):
    """path: the rows, None with part: the child's own."""
    kind, target = child.kind, child.names.index("y")
    if part:
        text, known = pathlib.Path(child.name + ".raw.csv").read_bytes(), child.judged
        pathlib.Path("part.csv").write_text(child.text_of(known))
        rows, path = [child.raw[r] for r in known], "part.csv"
    else:
        text = pathlib.Path(path).read_bytes()
        rows = child.read(text.decode())
    both = [parent.scores(path), child.scores(path)]
    outcomes = [row[target] for row in rows]
    there = [r for r, t in enumerate(outcomes) if t is not None]
    made = [m.figures(s, outcomes, threshold, False) for m, s in zip((parent, child), both)]
    own = {child.key(child.raw[r]) for r in child.judged + child.tested} - {child.key(child.raw[t]) for t in child.train}
    seen = [sum(m.key(rows[r]) in {m.key(m.raw[t]) for t in m.train} for r in there) for m in (parent, child)]
    classes = child.metrics.get("classes")
    out = {"contract": 1, "classes": classes, "options": {"part": part, "threshold": threshold and real(threshold)},
           "figures": dict(zip(("parent", "child"), made)),
           "data": {"bytes": len(text), "sha256": hashlib.sha256(text).hexdigest(), "rows": len(rows), "unfiltered": False,
                    "without_outcome": len(rows) - len(there), "seen": seen[1], "seen_by_parent": seen[0], "chose": 0,
                    "own": sum(child.key(rows[r]) in own for r in there)},
           "predecessor": {"archive_id": parent.id, "named": True, "recipe_differs": []},
           "changes": {"card_left_out": [], "recipe_left_out": [], "columns_gone": [],
                       "columns_new": [n for n in child.names if n not in parent.names],
                       "categories": categories(parent.columns, child.columns)}}
    each = (lambda s: [s]) if kind < 3 else (lambda s: s)
    out["scores"] = [of_two_scores([each(s)[k] for s in both[0]], [each(s)[k] for s in both[1]], one["edges"])
                     for k, one in enumerate(parent.reference["scores"])]

    def loss(s, t):
        if kind == 3:
            total = 0.0
            for k, v in enumerate(s):
                d = v - float(classes[k] == t)
                total = total + d * d
            return total
        d = s - (float(t) if kind == 1 else float(classes.index(t)))
        return d * d
    losses = [[loss(s[r], outcomes[r]) for r in there] for s in both]
    out["difference"] = {"auc": None, "loss": of_losses(*losses)}
    if kind == 2:
        labels = [classes.index(outcomes[r]) for r in there]
        auc = [float(f["discrimination"]["auc"]) for f in made]
        out["difference"]["auc"] = of_areas([both[0][r] for r in there], [both[1][r] for r in there], labels, auc)
    level = 0.5 if threshold is None else threshold
    decide = (lambda s: int(s >= level)) if kind == 2 else lambda s: max(range(3), key=lambda c: (s[c], -c))
    labels = [None if t is None or kind == 1 else classes.index(t) for t in outcomes]
    out["decisions"] = None if kind == 1 else decisions([decide(s) for s in both[0]], [decide(s) for s in both[1]], labels,
                                                        len(classes))
    later = parent.scores(child.name + ".raw.csv")
    order = [child.names.index(n) for n in parent.names]
    trained = [[child.raw[r][c] for c in order] for r in child.train]
    found = drift(parent, trained, [later[r] for r in child.train])
    return out | {"drift": {"samples": True, "scores": found[0], "columns": found[1]}}


def predicate(*words):
    """Of the statement that the command writes, and the statement's text."""
    call(*words, "-o", "statement.json", "--force")
    text = pathlib.Path("statement.json").read_bytes()
    return json.loads(text)["predicate"], {"bytes": len(text), "sha256": hashlib.sha256(text).hexdigest()}


def scorecards():
    """Of bins, categories, weights of evidence and numbers; and rows' points, which the table alone gives."""
    pathlib.Path("card.csv").write_text(table(31, 400, 2))
    for name, columns, favourable, scale in (
            ("groups", "x: {bins: 4}, age: {bins: monotonic, woe: true}, k: {woe: true}, who: {rare: 0.1}", None, "600:19:50"),
            ("numbers", "x: {missing: median, indicator: true}, age: {log: true, cap: [0.05, 0.9]}, k: {rare: 0.19}", "no",
             "500.5:1:20"),
            ("missing", "x: {bins: [1, 2.5, 4], missing: median, indicator: true}, k: {rare: 0.21, woe: true}", "yes",
             "1e3:50:40.25")):
        pathlib.Path(name + ".yaml").write_text("reprise: 1\ndata: {csv: card.csv, target: y, positive: \"yes\", columns: "
                                                "{%s}}\ntrain: {task: classification}\n" % columns)
        archive = name + ".reprise"
        call("run", name + ".yaml", "-o", archive, "--force")
        card = Card(archive, favourable, scale)
        words = ["--points", scale] + (["--favourable", favourable] if favourable else [])
        found, _ = predicate("scorecard", archive, *words)
        same(found, card.predicate(), "scorecard %s" % name)
        later = table(32, 200, 2, True)
        pathlib.Path("rows.csv").write_text(later)
        missing = set(json.loads(members(archive)["run/recipe.json"])["data"]["missing"])
        lines = list(csv.DictReader(io.StringIO(call("predict", archive, "--csv", "rows.csv", "-o", "-", *words))))
        same([int(line["points"]) for line in lines], card.rows(later, missing), "points %s" % name)


def filtered():
    """Parts by a column, a filter, pooled categories, a name that looks like one with bins; rows without outcomes."""
    lines = table(71, 600, 2).replace("x,", "x:3,", 1).split("\n")[:-1]
    part = lambda n: "train" if n % 10 < 6 else "validation" if n % 10 < 8 else "test"
    pathlib.Path("parts.csv").write_text("\n".join([lines[0] + ",part"] + [line + "," + part(n) for n, line in
                                                                          enumerate(lines[1:])]) + "\n")
    pathlib.Path("parts.yaml").write_text(
        "reprise: 1\ndata: {csv: parts.csv, target: y, positive: \"yes\", split: part, columns: {who: ignore, k: {rare: "
        "0.19}}, where: [{column: age, is: \">=\", value: 27}, {column: x:3, is: present}]}\n"
        "train: {task: classification}\nsearch: {over: {l2: [0.5, 1]}}\n")
    call("run", "parts.yaml", "-o", "parts.reprise", "--force")
    kept = lambda row: int(row["age"]) >= 27 and row["x:3"] is not None
    model = Model("parts", 2, lambda row: row["part"] if kept(row) else None, kept=kept)
    assert model.chooses
    later = table(72, 150, 2, True).replace("x,", "x:3,", 1)
    pathlib.Path("later.csv").write_text(later)
    pathlib.Path("blind.csv").write_text("\n".join(line.rpartition(",")[0] for line in later.split("\n")[:-1]) + "\n")
    pathlib.Path("again.csv").write_text("\n".join(lines) + "\n")  # every row of the run's own table
    for path, by, groups in (("later.csv", ["x:3", "x:3:4"], ["who"]), ("again.csv", [], ["who"]), (None, ["age:3"], ["k"])):
        words = [w for b in by for w in ("--by", b)] + ["--groups", groups[0]]
        found, _ = predicate("validate", "parts.reprise", *(["--csv", path] if path else ["--part", "test"]), *words)
        same(found, validation(model, path, by, groups, None, None, None if path else "test"), "validate parts %s" % path)
    for path in ("later.csv", "blind.csv", "again.csv"):
        found, _ = predicate("monitor", "parts.reprise", "--csv", path)
        same(found, monitoring(model, path, None, None), "monitor parts %s" % path)


def counted():
    """Exposure, a number as offset, counts with their trials, and weights of rows, which enter no figure."""
    for name, data, family, keys in (
            ("poisson", "exposure: e", "family: poisson", lambda n, t: "%d" % (n % 4)),
            ("gamma", "exposure: e, weight: w", "family: gamma", lambda n, t: "%.2f" % (t + 12)),
            ("offset", "offset: e", "l2: 1", lambda n, t: "%.2f" % t),
            ("binomial", "denominator: w", "family: binomial", lambda n, t: str(n % 3) if n % 11 else "")):
        def text(seed, rows):
            lines = table(seed, rows, 1).split("\n")[:-1]
            out = [lines[0] + ",e,w,flag,most,same"]
            for n, line in enumerate(lines[1:]):
                cells, _, y = line.rpartition(",")
                few = (n % 17 == 0, 0 if n % 13 else n % 31 / 8, 3) if seed == 81 else (n % 17 != 0, n % 3, 3 + n % 2)
                out.append("%s,%s,%.2f,%d,%d,%g,%d" % (cells, keys(n * n + n // 7, float(y)), 0.5 + n % 9 / 4, 2 + n % 5,
                                                      *few))
            return "\n".join(out) + "\n"
        pathlib.Path(name + ".csv").write_text(text(81, 300))
        pathlib.Path(name + "-later.csv").write_text(text(82, 120))
        pathlib.Path(name + ".yaml").write_text(
            "reprise: 1\ndata: {csv: %s.csv, target: y, missing_target: drop, columns: {who: ignore%s}, %s}\ntrain: {task: "
            "regression, solver: exact, %s}\n" % (name, "" if "w" in data.split() else ", w: ignore", data, family))
        call("run", name + ".yaml", "-o", name + ".reprise", "--force")
        lacking = (lambda row: row["y"] is None)
        model = Model(name, 1, gone=lacking)
        for path in (name + "-later.csv",):
            found, _ = predicate("validate", name + ".reprise", "--csv", path, "--by", "age:3", "--groups", "who")
            same(found, validation(model, path, ["age:3"], ["who"], None, None), "validate %s" % path)
            found, _ = predicate("monitor", name + ".reprise", "--csv", path)
            same(found, monitoring(model, path, None, None), "monitor %s" % path)


def out_of_fold():
    """Recipes that train on every fold: their scores out of fold, a fold of three that failed, and later rows."""
    for name, kind, rest in (("folds-two", 2, ""), ("folds-three", 3, "model: {hidden: [3]}\n"),
                             ("folds-one", 1, ""), ("folds-net", 2, "model: {hidden: [2]}\n")):
        head, *lines = table(90 + kind, 240, kind).split("\n")[:-1]
        pathlib.Path(name + ".csv").write_text("\n".join([head] + lines + lines[:20]) + "\n")
        pathlib.Path(name + ".yaml").write_text(
            "reprise: 1\ndata: {csv: %s.csv, target: y, fold: all, folds: 3, columns: {who: ignore}%s}\n%s"
            "train: {task: %s%s}\n" % (name, ", positive: \"yes\"" if kind == 2 else "", rest,
                                      "regression" if kind == 1 else "classification", ", epochs: 3" if rest else ""))
        call("run", name + ".yaml", "-o", name + ".reprise", "--force")
        subprocess.run([sys.executable, str(FORGE), name + ".reprise", name + "-failed.reprise", "outputs/out_of_fold.csv",
                        "m = b''.join(l for l in bytes(m).splitlines(True) if l.split(b',')[1] != b'1')"], check=True)
        for archive in (name, name + "-failed"):
            model = Model(archive, kind, lambda row: "train", wide=not rest)
            words = ["--by", "x:3", "--by", "k", "--groups", "who"] + (["--threshold", "0.4"] if kind == 2 else [])
            found, _ = predicate("validate", archive + ".reprise", "--part", "folds", *words)
            same(found, validation(model, None, ["x:3", "k"], ["who"], None, 0.4 if kind == 2 else None, "folds"),
                 "validate out of fold %s" % archive)
            pathlib.Path("later.csv").write_text(table(95, 100, kind, True))
            found, _ = predicate("validate", archive + ".reprise", "--csv", "later.csv")
            same(found, validation(model, "later.csv", [], [], None, None), "validate later rows %s" % archive)
            found, _ = predicate("monitor", archive + ".reprise", "--csv", "later.csv")
            same(found, monitoring(model, "later.csv", None, None), "monitor %s" % archive)


def written_otherwise():
    """A table without a header, with dates and as many different texts as parts may be, and one with a header."""
    def text(seed, rows, header):
        head, *lines = table(seed, rows, 2, seed == 98).split("\n")[:-1]
        lines = [line + ",%d-%02d-%02d,c%02d" % (2019 + n * 7 % 3, 1 + n * 5 % 12, 1 + n * 11 % 28, n % 64)
                 if n % 23 else line + ",,c%02d" % (n % 64) for n, line in enumerate(lines)]
        return "\n".join(([head + ",d,code"] if header else []) + lines) + "\n"
    for header in (True, False):
        name = "dated" if header else "headless"
        y, who, d, code = ("y", "who", "d", "code") if header else (4, 3, 5, 6)
        for seed, path in ((97, name + ".csv"), (98, name + "-later.csv")):
            pathlib.Path(path).write_text(text(seed, 320, header))
        pathlib.Path(name + ".yaml").write_text(
            "reprise: 1\ndata: {csv: %s.csv, header: %s, target: %s, positive: \"yes\", columns: {%s: ignore, %s: "
            "ignore, %s: {kind: date, parts: [days, month, weekday]}}}\n"
            % (name, str(header).lower(), y, who, code, d))
        call("run", name + ".yaml", "-o", name + ".reprise", "--force")
        model = Model(name, 2)
        by, groups = ["%s" % code, "%s:4" % ("age" if header else 1)], [str(who)]
        words = [w for b in by for w in ("--by", b)] + ["--groups", groups[0]]
        found, _ = predicate("validate", name + ".reprise", "--csv", name + "-later.csv", *words)
        assert len(found["slices"][0]["parts"]) == 64
        same(found, validation(model, name + "-later.csv", by, groups, None, None), "validate %s" % name)
        found, _ = predicate("monitor", name + ".reprise", "--csv", name + "-later.csv")
        same(found, monitoring(model, name + "-later.csv", None, None), "monitor %s" % name)


def main():
    written_otherwise()
    scorecards()
    filtered()
    counted()
    out_of_fold()
    for name, kind, task in (("two", 2, "classification"), ("three", 3, "classification"), ("one", 1, "regression")):
        pathlib.Path(name + ".csv").write_text(table(kind, 400, kind))
        pathlib.Path(name + ".yaml").write_text(
            "reprise: 1\ndata: {csv: %s.csv, target: y, columns: {who: ignore}%s}\ntrain: {task: %s}\n"
            % (name, ", positive: \"yes\"" if kind == 2 else "", task))
        call("run", name + ".yaml", "-o", name + ".reprise", "--force")
        model, archive = Model(name, kind), name + ".reprise"
        later, few = name + "-later.csv", name + "-few.csv"
        pathlib.Path(later).write_text(table(kind + 10, 300, kind, True))
        pathlib.Path(few).write_text(table(kind + 20, 64, kind, first=30))
        none = name + "-none.csv"  # no favourable outcome in two groups that are not small
        pathlib.Path(none).write_text(re.sub(",(yes|high)(?=\n)", ",no" if kind == 2 else ",low",
                                             table(kind + 60, 90, kind, first=40)))
        own = name + "-own.csv"  # rows that training knows
        pathlib.Path(own).write_text("\n".join((pathlib.Path(name + ".csv").read_text()).split("\n")[:90]) + "\n")
        for path, by, groups, favourable, threshold in (
                (later, ["age", "k", "age:3", "x:20"], ["who", "k"], None, None), (few, ["who"], ["who", "x:3"], None, None),
                (own, ["x"], ["who"], {1: None, 2: "no", 3: "low"}[kind], 0.37 if kind == 2 else None),
                (none, [], ["who"], None, None)):
            words = ["validate", archive, "--csv", path] + [w for b in by for w in ("--by", b)]
            words += [w for g in groups for w in ("--groups", g)]
            words += ["--favourable", favourable] if favourable else []
            words += ["--threshold", str(threshold)] if threshold else []
            found, _ = predicate(*words)
            same(found, validation(model, path, by, groups, favourable, threshold), "validate %s" % path)
        previous = None
        for path, period in ((later, "first"), (few, "second"), (own, None)):
            words = ["monitor", archive, "--csv", path] + (["--period", period] if period else [])
            if previous:
                pathlib.Path("previous.json").write_bytes(pathlib.Path("statement.json").read_bytes())
                words += ["--previous", "previous.json"]
            found, text = predicate(*words)
            same(found, monitoring(model, path, period, previous), "monitor %s" % path)
            previous = {"number": found["number"], "text": text}
        asked = {1: ("mae", None), 2: ("log_loss", "no"), 3: (None, "low")}[kind]
        for path, (metric, favourable), curves in ((later, (None, None), 3), (few, asked, 0)):
            different = len({row[0] for row in model.read(pathlib.Path(few).read_text())} - {None})
            options = {"curves": curves, "grid": 4 if curves else different - 1, "repeats": 2, "seed": kind, "metric": metric, "favourable": favourable}
            words = [w for k, v in options.items() if v is not None for w in ("--" + k, str(v))]
            found, _ = predicate("explain", archive, "--csv", path, *words)
            same(found, Explained(model, path, favourable, metric).predicate(options | {"part": None}), "explain %s" % path)
        new, son = name + "-new.csv", name + "-son"
        lines = [line for line in table(kind + 40, 300, kind, True).split("\n")[:-1] if not line.endswith(",")]
        pathlib.Path(new).write_text("\n".join([lines[0] + ",extra"] + [line + ",%d" % n for n, line in enumerate(lines[1:])])
                                     + "\n")
        call("retrain", archive, "--csv", new, "-o", son + ".reprise", "--force")
        child = Model(son, kind)
        extra = name + "-rows.csv"
        lines = table(kind + 50, 90, kind, True).split("\n")[:-1]
        pathlib.Path(extra).write_text("\n".join([lines[0] + ",extra"] + [line + ",1" for line in lines[1:] + lines[1:9]])
                                       + "\n")
        for rows, part, threshold in ((None, "validation", None), (extra, None, 0.75 if kind == 2 else None)):
            words = ["retrain", archive, "--child", son + ".reprise"]
            words += ["--rows", rows] if rows else ["--part", part]
            words += ["--threshold", str(threshold)] if threshold else []
            call(*words, "--statement", "statement.json", "--force")
            found = json.loads(pathlib.Path("statement.json").read_bytes())["predicate"]
            same(found, comparison(model, child, rows, part, threshold), "retrain %s %s" % (name, rows or part))
    finish("statements", LEAST)


model.reprise = os.path.abspath(sys.argv[1])
os.makedirs(sys.argv[2], exist_ok=True)
os.chdir(sys.argv[2])
main()
