# SPDX-License-Identifier: Apache-2.0
"""What the statements are made of: tables, an archive's model with its training rows, and scores by `predict`."""
import csv
import hashlib
import io
import json
import pathlib
import struct
import subprocess
import sys

import dates
import figures
from archive import members
from elementary import exp64, log64
from compared import same
from parts import of_classes, of_quantity
from quality import quality, recorded
from recipe import number

reprise = None  # the command, set by who imports this


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

    def __init__(self, name, kind, part_of=None, gone=lambda row: False, wide=True, kept=lambda row: True):
        """part_of: the part of a row, None of one that is not kept; without it the rows that predictions.csv lacks
        have trained, but those that are gone. wide: scores are binary64. kept: by the recipe's
        conditions, of whatever rows."""
        found = members(name + ".reprise")
        load = lambda member: json.loads(found[member])
        self.name, self.kind, self.metrics = name, kind, load("outputs/metrics.json")
        # the shortest decimal of a binary32 number is that number when it is read as one
        self.score = float if wide else lambda t: struct.unpack("f", struct.pack("f", float(t)))[0]
        self.reference, self.columns = load("outputs/reference.json"), load("data/schema.json")["columns"]
        recipe = load("run/recipe.json")
        data, self.kept, self.family = recipe["data"], kept, recipe["train"].get("family")
        self.chooses = "search" in recipe or "patience" in recipe["train"]
        self.missing, self.trials, self.header = set(data["missing"]), data.get("denominator"), data["header"]
        self.dates = {str(c["column"]): c for c in data["columns"] if c.get("kind") == "date"}
        target = next(i for i, c in enumerate(self.columns) if c["kind"] == "target")
        self.target = self.columns[target]["name"] if self.header else str(target)
        self.raw = self.read(found["data/raw.csv"].decode())
        others = {int(line.split(",")[0]) for line in found["outputs/predictions.csv"].decode().split("\n")[1:-1]}
        named = [dict(zip(self.names, row)) for row in self.raw]
        parts = [part_of(row) if part_of else "gone" if gone(row) else "validation" if r in others else "train"
                 for r, row in enumerate(named)]
        self.train, self.judged, self.tested = ([r for r, part in enumerate(parts) if part == name]
                                                for name in ("train", "validation", "test"))
        self.filtered, self.left_out, self.gone = None in parts, parts.count(None), parts.count("gone")
        same(recorded(found), quality(self, load("run/recipe.json").get("card", {})), "%s: quality" % name)
        self.id = hashlib.sha256(found["manifest.json"]).hexdigest()
        pathlib.Path(name + ".raw.csv").write_bytes(found["data/raw.csv"])
        scores = self.scores(name + ".raw.csv")
        self.training = [scores[r] for r in self.train]
        self.folded, self.fold, self.kept_scores = [], [], []
        if "outputs/out_of_fold.csv" in found:
            self.read_folds(found["outputs/out_of_fold.csv"].decode())

    def read_folds(self, text):
        """FORMAT 15.1: which rows have a line, and their scores as the trial gave them."""
        for row, fold, truth, predicted, *scores in list(csv.reader(io.StringIO(text, newline="")))[1:]:
            self.folded.append(int(row))
            self.fold.append(fold)
            self.kept_scores.append(self.score(predicted) if self.kind == 1 else self.score(scores[0])
                                    if self.kind == 2 else [self.score(t) for t in scores])

    def known_elsewhere(self):
        """How many rows with a line are, in every feature, one that trained the model and is in another fold."""
        fold, folds = dict(zip(self.folded, self.fold)), {}
        for r in self.train:
            folds.setdefault(self.key(self.raw[r]), set()).add(fold.get(r))
        return sum(bool(folds[self.key(self.raw[r])] - {fold[r]}) for r in self.folded)

    def judged_by(self):
        """The figures of the rows that the run was judged by, and what they are called."""
        if "validation" in self.metrics:
            return self.metrics["validation"]["figures"], "validation"
        truth = [self.outcome(self.raw[r]) for r in self.folded]
        return self.figures(self.kept_scores, truth, None, False), "folds"

    def outcome(self, row):
        """The text of the target, of counts the proportion; None where it is not known."""
        if self.target not in self.names:
            return None
        text = row[self.names.index(self.target)]
        if self.trials is None or text is None:
            return text
        trials = number(row[self.names.index(self.trials)])
        return repr(number(text) / trials) if trials else None

    def read(self, text):
        """Its rows, a missing cell None, with the parts of dates behind them (CONTRACT 9.2a)."""
        lines = list(csv.reader(io.StringIO(text, newline="")))
        self.names = lines.pop(0) if self.header else [str(c) for c in range(len(lines[0]))]
        self.width = len(self.names)
        rows = [[None if c in self.missing else c for c in line] for line in lines]
        for part in [c["part"] for c in self.columns if "part" in c]:
            rule = self.dates[self.columns[part[0]]["name"] if self.header else str(part[0])]
            since = dates.days(*map(int, rule["since"].split("-")))
            for row in rows:
                cell = row[part[0]]
                row.append(None if cell is None else str(dates.part(part[1], since, dates.read(rule, cell))))
        return rows

    def text_of(self, rows):
        """A table of these of its rows."""
        text = io.StringIO()
        csv.writer(text, lineterminator="\n").writerows(
            ([self.names] if self.header else []) +
            [["" if c is None else c for c in self.raw[r][:self.width]] for r in rows])
        return text.getvalue()

    def scores(self, path):
        lines = list(csv.reader(io.StringIO(call("predict", self.name + ".reprise", "--csv", path, "-o", "-"))))[1:]
        return [self.score(line[1]) if self.kind == 1 else self.score(line[2]) if self.kind == 2
                else [*map(self.score, line[2:])] for line in lines]

    def offsets(self, rows):
        """What is added to each row's predictor."""
        at = [column for column, one in enumerate(self.columns) if "offset" in one]
        of = {"log": log64, "number": float}[self.columns[at[0]]["offset"]] if at else None
        return [of(number(row[at[0]])) if at else None for row in rows]

    def trivial(self, offsets):
        """Of a regression: what it predicts for each row, and what it says of that."""
        for key, of in (("rate", lambda rate, o: rate * exp64(o)), ("above_offset", lambda above, o: above + o)):
            if key in self.reference:
                return [of(float(self.reference[key]), o) for o in offsets], {key: self.reference[key]}
        return [float(self.reference["mean"])] * len(offsets), {"prediction": self.reference["mean"]}

    def figures(self, scores, outcomes, threshold, part, offsets=None):
        """Of those rows that have an outcome; of a part without bands and cap."""
        there = [(s, t) for s, t in zip(scores, outcomes) if t is not None]
        if part and not there:
            return None
        s, t = [a for a, b in there], [b for a, b in there]
        if self.kind == 1:
            o = [o for o, t in zip(offsets or [None] * len(scores), outcomes) if t is not None]
            return of_quantity(s, [float(v) for v in t], *self.trivial(o), self.family)
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
    keys = ("auc", "auc_error", "auc_high", "auc_low", "gini", "kendall_tau", "ks", "ks_score", "somers_d")
    none = [{"captured": None, "lift": None, "tenths": k} for k in range(1, 11)]
    return {"rows": len(scores), "positives": sum(labels), "discrimination": dict.fromkeys(keys) | {"cap": none},
            "calibration": figures.calibration(r, False, brier), "thresholds": thresholds, "trivial": said}
