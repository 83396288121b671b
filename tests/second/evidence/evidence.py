#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Statements of validation, monitoring, scorecards and explanations (FORMAT 15.1 to 15.4) made again from archive,
rows and what `predict` writes of them, every key and every text. Usage: evidence.py REPRISE FOLDER; exits 1 at what differs, or if too little was
compared."""
import csv
import hashlib
import io
import json
import os
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import figures  # noqa: E402
from archive import members  # noqa: E402
from compared import finish, same  # noqa: E402
from drift import bin_of, development, of_counts, of_samples  # noqa: E402
from explanation import Explained  # noqa: E402
from figures import real  # noqa: E402
from parts import cut, of_classes, of_quantity, selection  # noqa: E402
from recipe import number  # noqa: E402
from scorecard import Card  # noqa: E402

LEAST = 13500  # values that are held against each other


def draws(seed):
    while True:
        seed = seed * 6364136223846793005 + 1442695040888963407 & 2**64 - 1
        yield (seed >> 33) / 2**31


def table(seed, rows, kind, later=False, first=None):
    """Numbers with ties and gaps, few and many values, categories (new ones later), a group of few, an outcome. first:
    how many rows one of two groups has, without more of them."""
    d, out = draws(seed), [["x", "age", "k", "who", "y"]]
    for row in range(rows):
        x, age, k, who, u, gone = (next(d) for _ in range(6))
        value = round(x * 40) / 8 + (1.75 if later else 0)
        word = "abcde"[int(k * 5)] if not later or gone < 0.9 else "new, \"%d\"" % (k * 8)
        far = value + int(age * 60) / 20 + (word in "ab") + 3 * u
        y = "%.2f" % far if kind == 1 else ["low", "middle", "high"][(far > 4) + (far > 6)] if kind == 3 else \
            "yes" if far > 5 else "no"
        out.append(["" if gone < 0.06 else "%g" % value, str(20 + int(age * 60)), "" if gone > 0.95 else word,
                    "mfx"[(who > 0.5) + (who > 0.93) if first is None else row >= first],
                    "" if later and 0.3 < gone < 0.36 else y])
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(out)
    return text.getvalue()


def call(*words):
    done = subprocess.run([reprise, *words], capture_output=True, text=True)
    if done.returncode:
        sys.exit("%s: %s" % (" ".join(words), done.stderr))
    return done.stdout


class Model:
    """An archive, and the rows of a file with their scores."""

    def __init__(self, name, kind):
        found = members(name + ".reprise")
        load = lambda member: json.loads(found[member])
        self.name, self.kind, self.metrics = name, kind, load("outputs/metrics.json")
        self.reference, self.columns = load("outputs/reference.json"), load("data/schema.json")["columns"]
        self.missing = set(load("run/recipe.json")["data"]["missing"])
        self.raw = self.read(found["data/raw.csv"].decode())
        others = {int(line.split(",")[0]) for line in found["outputs/predictions.csv"].decode().split("\n")[1:-1]}
        self.train = [r for r in range(len(self.raw)) if r not in others]
        pathlib.Path("raw.csv").write_bytes(found["data/raw.csv"])
        scores = self.scores("raw.csv")
        self.training = [scores[r] for r in self.train]

    def read(self, text):
        """Its rows, a missing cell None."""
        lines = list(csv.reader(io.StringIO(text, newline="")))
        self.names = lines[0]
        return [[None if c in self.missing else c for c in line] for line in lines[1:]]

    def scores(self, path):
        lines = list(csv.reader(io.StringIO(call("predict", self.name + ".reprise", "--csv", path, "-o", "-"))))[1:]
        return [float(line[1]) if self.kind == 1 else float(line[2]) if self.kind == 2 else [*map(float, line[2:])]
                for line in lines]

    def figures(self, scores, outcomes, threshold, part):
        """Of those rows that have an outcome; of a part without bands and cap."""
        there = [(s, t) for s, t in zip(scores, outcomes) if t is not None]
        if part and not there:
            return None
        s, t = [a for a, b in there], [b for a, b in there]
        if self.kind == 1:
            return of_quantity(s, [float(v) for v in t], float(self.reference["mean"]))
        labels = [self.metrics["classes"].index(v) for v in t]
        if self.kind == 3:
            return of_classes(s, labels, self.reference["classes"], 3)
        if 0 < sum(labels) < len(labels):
            out = figures.figures(s, labels, self.reference, False)
        else:
            out = one_outcome(s, labels, self.reference)
        if threshold is not None:
            out["thresholds"].append(figures.confusion(figures.ranking(s, labels), "given", threshold))
        if part:
            del out["discrimination"]["cap"], out["calibration"]["bands"]
        return out

    def key(self, row):
        """What makes two rows the same: of a feature its number, else its text."""
        out = []
        for c, column in enumerate(self.columns):
            if column["kind"] in ("numeric", "categorical"):
                x = None if row[c] is None else number(row[c]) if column["kind"] == "numeric" else row[c]
                out.append(x)
        return tuple(out)


def one_outcome(scores, labels, reference):
    """Ranking is not defined; what needs no other outcome is."""
    r = figures.ranking(scores, labels)
    said, brier = figures.trivial(r, reference["classes"])
    thresholds = [figures.confusion(r, "half", 0.5)]
    if reference["threshold"] is not None:
        thresholds.append(figures.confusion(r, "youden_training", float(reference["threshold"])))
    keys = ("auc", "auc_error", "auc_high", "auc_low", "gini", "kendall_tau", "ks", "ks_score", "somers_d", "cap")
    return {"rows": len(scores), "positives": sum(labels), "discrimination": dict.fromkeys(keys),
            "calibration": figures.calibration(r, False, brier), "thresholds": thresholds, "trivial": said}


def validation(model, path, by, groups, favourable, threshold):
    text = pathlib.Path(path).read_bytes()
    rows, scores = model.read(text.decode()), model.scores(path)
    target = model.names.index("y")
    outcomes = [row[target] for row in rows]
    known = {model.key(model.raw[r]) for r in model.train}
    all_of_it = model.figures(scores, outcomes, threshold, False)
    judged = [r for r in range(len(rows)) if outcomes[r] is not None]
    data = {"bytes": len(text), "sha256": hashlib.sha256(text).hexdigest(), "rows": len(rows), "unfiltered": False,
            "without_outcome": len(rows) - len(judged), "seen": sum(model.key(rows[r]) in known for r in judged)}
    classes = model.metrics.get("classes")
    asked = {"by": by, "groups": groups, "favourable": favourable, "part": None,
             "threshold": None if threshold is None else real(threshold)}
    wanted = len(classes) - 1 if classes and favourable is None else classes.index(favourable) if classes else None
    level = 0.5 if threshold is None else threshold

    def chosen(s):
        return int(s >= level) if model.kind == 2 else max(range(3), key=lambda c: (s[c], -c))

    def slices(by):
        out = []
        for said, at in cut([row[model.names.index(by.split(":")[0])] for row in rows], number, by, model.names):
            out.append((said | {"figures": model.figures([scores[r] for r in at], [outcomes[r] for r in at], threshold,
                                                         True)}, [r for r in at if outcomes[r] is not None]))
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

    run = model.metrics["validation"]["figures"] if model.kind == 2 else None
    return {"contract": 1, "classes": classes, "data": data, "options": asked, "figures": all_of_it,
            "development": development(run, all_of_it, "validation") if model.kind == 2 else None,
            "slices": [{"by": b, "parts": [said for said, at in slices(b)]} for b in by],
            "groups": [group(g) for g in groups]}


def monitoring(model, path, period, previous):
    said = validation(model, path, [], [], None, None)
    for key in ("options", "slices", "groups"):
        del said[key]
    rows, scores = model.read(pathlib.Path(path).read_text()), model.scores(path)
    known = {model.key(model.raw[r]) for r in model.train}
    said["data"]["seen"] = sum(model.key(row) in known for row in rows)

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
    said["scores"] = [of_numbers(one, [each(s)[k] + 0.0 for s in scores], [each(s)[k] + 0.0 for s in model.training], None)
                      for k, one in enumerate(model.reference["scores"])]
    said["columns"] = []
    for one in model.reference["columns"]:
        c = one["column"]
        column, cells = model.columns[c], [row[c] for row in rows]
        there, before = [t for t in cells if t is not None], [model.raw[r][c] for r in model.train]
        head = {"column": c, "name": column["name"], "kind": column["kind"]}
        if column["kind"] == "numeric":
            found = of_numbers(one, [number(t) + 0.0 for t in there], [number(t) + 0.0 for t in before if t is not None],
                               len(cells) - len(there))
        else:
            words = [k for k in column["categories"] if k is not None]
            counts = [there.count(k) for k in words]
            b = counts + [len(there) - sum(counts), len(cells) - len(there)]
            new = list(dict.fromkeys(t for t in there if t not in words))[:5]
            found = {"counts": b, **of_counts(one["counts"] + [one["missing"]], b), "new_values": new}
        said["columns"].append(head | found)
    return said | {"period": period, "samples": True, "number": previous["number"] + 1 if previous else 1,
                   "previous": previous["text"] if previous else None}


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


def main():
    scorecards()
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
        own = name + "-own.csv"  # rows that training knows
        pathlib.Path(own).write_text("\n".join((pathlib.Path(name + ".csv").read_text()).split("\n")[:90]) + "\n")
        for path, by, groups, favourable, threshold in (
                (later, ["age", "k", "age:3", "x:20"], ["who", "k"], None, None), (few, ["who"], ["who", "x:3"], None, None),
                (own, ["x"], ["who"], {1: None, 2: "no", 3: "low"}[kind], 0.37 if kind == 2 else None)):
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
    finish("statements", LEAST)


reprise = os.path.abspath(sys.argv[1])
os.makedirs(sys.argv[2], exist_ok=True)
os.chdir(sys.argv[2])
main()
