# SPDX-License-Identifier: Apache-2.0
"""CONTRACT 9.5, 9.6, 9.10, 9.12 and 9.13 in Python for exact fits: features, targets and weights of the training rows, and
what each feature stands for."""
import csv
import io

import treat
from elementary import log64
from ieee import total


class Feature:
    """Feature j is (v - mean) / divisor of its column's v; first: the first of one a category."""

    def __init__(self, column, kind, name, mean=0.0, divisor=1.0, first=False, factors=None):
        self.column, self.kind, self.name, self.first, self.factors = column, kind, name, first, factors
        self.mean, self.divisor = mean, divisor


class Table:
    def __init__(self, recipe, raw, kept):
        """kept: the numbers of the training rows."""
        data = recipe["data"]
        lines = list(csv.reader(io.StringIO(raw.decode(), newline="")))
        self.names, missing = lines[0], set(data["missing"])
        rows = [[None if c in missing else c for c in lines[1 + r]] for r in kept]
        self.target, self.recipe, self.train = data["target"], recipe, recipe["train"]
        self.offset = data.get("offset") or data.get("exposure")
        apart = {self.target, data.get("weight"), data.get("denominator")}
        apart |= {c["column"] for c in data["columns"] if c["kind"] == "ignore"}
        self.features, x = [], [[] for _ in rows]
        for name in self.names:
            cells = [row[self.names.index(name)] for row in rows]
            if name not in apart:
                for values in self.encode(name, cells, "exposure" in data):
                    for row, v in zip(x, values):
                        row.append(v)
        for a, b in data.get("interactions", []):
            pairs = [(i, j) for i, f in enumerate(self.features) if f.column == a and f.kind != "product"
                     for j, g in enumerate(self.features) if g.column == b and g.kind != "product"]
            for i, j in pairs:
                f, g = self.features[i], self.features[j]
                self.features.append(Feature(None, "product", f.name | {"times": g.name}, 0.0, f.divisor * g.divisor,
                                             factors=(i + 1, j + 1)))
                for row in x:
                    row.append(row[i] * row[j])
        self.x = x
        self.outcomes([row[self.names.index(self.target)] for row in rows], data)
        self.weigh(rows, data)

    def encode(self, name, cells, exposure):
        """The values of each of a column's features."""
        if name == self.offset:
            values = [log64(float(c)) if exposure else float(c) for c in cells]
            self.features.append(Feature(name, "offset", {"column": name}))
            return [values]
        there = [c for c in cells if c is not None]
        try:
            numbers = [float(c) for c in there]
        except ValueError:
            groups = sorted(set(there), key=lambda c: c.encode()) + [None] * (len(there) < len(cells))
            for k, g in enumerate(groups):
                self.features.append(Feature(name, "category", {"column": name, "category": g}, first=k == 0))
            return [[float(c == g) for c in cells] for g in groups]
        mean, deviation = treat.moments(numbers)
        values = [mean if c is None else float(c) for c in cells]
        if not self.recipe["data"]["standardize"]:
            self.features.append(Feature(name, "number", {"column": name}))
            return [values]
        self.features.append(Feature(name, "number", {"column": name}, mean, deviation or 1.0))
        return [[(v - mean) / (deviation or 1.0) for v in values]]

    def outcomes(self, cells, data):
        self.classes = None
        if self.train["task"] == "classification":
            self.classes = sorted(set(cells), key=lambda c: c.encode())
            if data.get("positive") is not None:
                self.classes.sort(key=lambda c: c == data["positive"])
            self.y = [float(self.classes.index(c)) for c in cells]
        else:
            self.y = [float(c) for c in cells]

    def weigh(self, rows, data):
        given = self.train.get("class_weights")
        self.weights = self.trials = None
        if "denominator" in data:
            self.trials = [float(row[self.names.index(data["denominator"])]) for row in rows]
            self.y = [k / t for k, t in zip(self.y, self.trials)]
        if "weight" not in data and given is None and self.trials is None:
            return
        s = [float(row[self.names.index(data["weight"])]) if "weight" in data else 1.0 for row in rows]
        if self.trials:
            self.weights = [a * t for a, t in zip(s, self.trials)]
            return
        c = [1.0] * len(rows)
        if given == "balanced":
            n, each = len(rows), [self.y.count(float(k)) for k in range(len(self.classes))]
            c = [n / (sum(m > 0 for m in each) * each[int(v)]) for v in self.y]
        elif given is not None:
            c = [float(given.get(self.classes[int(v)], "1")) for v in self.y]
        self.weights = [a * b for a, b in zip(s, c)]

    def total_weight(self):
        return total(self.weights, "f64") if self.weights else float(len(self.y))
