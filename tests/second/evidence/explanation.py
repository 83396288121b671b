# SPDX-License-Identifier: Apache-2.0
"""CONTRACT 14.11 and FORMAT 15.4 in Python: which columns a model needs and how its score moves with them, by what
`predict` says of tables in which one column was changed."""
import csv
import hashlib
import io
import pathlib

from figures import added, quantile, real
from ieee import real_text, sqrt64
from philox import permutation

LOSSES = {"log_loss", "brier", "rmse", "mae"}
PLACE = {"auc": ("discrimination", "auc"), "log_loss": ("log_loss",), "brier": ("calibration", "brier"),
         "accuracy": ("accuracy",), "macro_auc": ("macro_auc",), "r2": ("r2",), "rmse": ("rmse",), "mae": ("mae",)}


class Explained:
    def __init__(self, model, path, favourable, metric):
        self.model, self.text = model, pathlib.Path(path).read_bytes()
        self.all = model.read(self.text.decode())
        self.target = model.names.index("y")
        self.kept = [r for r, row in enumerate(self.all) if row[self.target] is not None]
        self.rows = [self.all[r] for r in self.kept]
        self.outcomes = [row[self.target] for row in self.rows]
        classes = model.metrics.get("classes")
        self.favourable = None if classes is None else favourable or classes[-1]
        self.metric = metric or {1: "r2", 2: "auc", 3: "log_loss"}[model.kind]
        place = PLACE[self.metric]
        self.place = ("calibration",) + place if metric == "log_loss" and model.kind == 2 else place

    def scores(self, rows):
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(self.model.names)
        writer.writerows([["" if c is None else c for c in row] for row in rows])
        pathlib.Path("changed.csv").write_text(text.getvalue())
        return self.model.scores("changed.csv")

    def value(self, scores):
        at = self.model.figures(scores, self.outcomes, None, False)
        for key in self.place:
            at = at[key]
        return float(at)

    def looked_at(self, s):
        if self.model.kind == 1:
            return s
        at = self.model.metrics["classes"].index(self.favourable)
        return s[at] if self.model.kind == 3 else s if at == 1 else 1 - s

    def importance(self, c, base, repeats, seed):
        falls = []
        for r in range(repeats):
            p = permutation(len(self.rows), seed, r, 0x50000000 + c)
            changed = [row[:c] + [self.rows[p[i]][c]] + row[c + 1:] for i, row in enumerate(self.rows)]
            m = self.value(self.scores(changed))
            falls.append(m - base if self.metric in LOSSES else base - m)
        mean = added(falls) / repeats
        deviation = sqrt64(added([(f - mean) * (f - mean) for f in falls]) / repeats)
        return {"mean": real(mean), "deviation": real(deviation), "repeats": [real(f) for f in falls]}

    def grid(self, c, column, parts):
        """[(the point in the statement, a cell that has it)]"""
        cells = [row[c] for row in self.rows]
        there = [t for t in cells if t is not None]
        if column["kind"] == "numeric":
            x = sorted(float(t) + 0.0 for t in there)
            points = sorted(set(x))
            if len(points) > parts + 1:
                points = []
                for k in range(parts + 1):
                    at = quantile(x, k / parts)
                    if not points or at > points[-1]:
                        points.append(at)
            out = [(real_text(v), real_text(v)) for v in points]
        else:
            known = [k for k in column["categories"] if k is not None and k in there]
            most = sorted(known, key=lambda k: -there.count(k))[:20]
            out = [(k, k) for k in known if k in most]
            pooled = [t for t in there if t not in column["categories"]]
            if "other" in column and pooled:
                out.append(({"other": True}, pooled[0]))
        return out + ([(None, None)] if len(there) < len(cells) else [])

    def predicate(self, options):
        base = self.value(self.scores(self.rows))
        n, K = len(self.rows), min(options["curves"], len(self.rows))
        curves, scored, columns = [n * i // K for i in range(K)], 0, []
        for c, column in enumerate(self.model.columns):
            if column["kind"] not in ("numeric", "categorical"):
                continue
            points = self.grid(c, column, options["grid"])
            found = [[self.looked_at(s) for s in self.scores([row[:c] + [cell] + row[c + 1:] for row in self.rows])]
                     for point, cell in points]
            scored += len(points) + options["repeats"]
            columns.append({
                "column": c, "name": column["name"], "kind": column["kind"], "grid": [point for point, cell in points],
                "importance": self.importance(c, base, options["repeats"], options["seed"]),
                "dependence": [real(added(s) / n) for s in found], "curves": [[real(s[r]) for s in found] for r in curves]})
        known = {self.model.key(self.model.raw[r]) for r in self.model.train}
        data = {"bytes": len(self.text), "sha256": hashlib.sha256(self.text).hexdigest(), "rows": len(self.all),
                "without_outcome": len(self.all) - n, "unfiltered": False,
                "seen": sum(self.model.key(row) in known for row in self.rows)}
        return {"contract": 1, "data": data, "favourable": self.favourable, "metric": self.metric, "value": real(base),
                "score": "value" if self.model.kind == 1 else "probability", "options": options, "scored": scored,
                "curve_rows": [self.kept[r] for r in curves], "columns": columns}
