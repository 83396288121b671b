# SPDX-License-Identifier: Apache-2.0
"""CONTRACT 9 and 12.2, 12.5 in Python for classifications of two classes: the tensors of a table, and what each step
of a recipe is fed. What a recipe may say beside that is refused, not guessed."""
import csv
import io
import math

from elementary import cospi64, powi
from ieee import f32, sqrt64, total
from philox import permutation
from op_types import need

SPLIT, SHUFFLE = 0x53504C54, 0x53000000


def number(text):
    try:
        x = float(text)
    except ValueError:
        return None
    return x if math.isfinite(x) and text.strip() == text and "_" not in text else None


class Table:
    """train_x, train_y, valid_x, valid_y by the recipe."""

    def __init__(self, recipe, raw):
        data = recipe["data"]
        need(data["header"] and not data["train_on_all"], "a recipe of another kind")
        need(data["standardize"] and data["stratify"], "a recipe of another kind")
        need((data["missing_numeric"], data["missing_categorical"]) == ("mean", "category"), "missing cells")
        need(not {"decimal", "thousands", "strip", "prefix", "suffix"} & set(data), "cells in another dress")
        lines = list(csv.reader(io.StringIO(raw.decode(), newline=""), delimiter=data["delimiter"]))
        self.names, self.rows, self.missing = lines[0], lines[1:], set(data["missing"])
        self.kinds = {c["column"]: c["kind"] for c in data["columns"]}
        target = self.names.index(data["target"])
        classes = sorted({row[target] for row in self.rows}, key=lambda t: t.encode())
        need(len(classes) == 2 and all(number(c) is None for c in classes), "classes of another kind")
        if data["positive"] is not None:
            classes.sort(key=lambda c: c == data["positive"])
        self.labels = [classes.index(row[target]) for row in self.rows]
        self.split(recipe["seed"], data["folds"], data["fold"])
        columns = [self.encoder(c) for c in range(len(self.names)) if c != target]
        self.encoders = [e for e in columns if e]
        self.parts = {}
        for part, rows in (("train", self.train), ("valid", self.valid)):
            x = [[v for e in self.encoders for v in e(self.rows[r])] for r in rows]
            self.parts[part + "_x"] = ("f32", (len(rows), len(x[0])), [v for row in x for v in row])
            self.parts[part + "_y"] = ("f32", (len(rows), 1), [float(self.labels[r]) for r in rows])

    def split(self, seed, folds, fold):
        where, dealt = {}, 0
        for group in (0, 1):
            rows = [r for r, label in enumerate(self.labels) if label == group]
            for j, at in enumerate(permutation(len(rows), seed, group, SPLIT)):
                where[rows[at]] = (dealt + j) % folds
            dealt += len(rows)
        self.train = [r for r in range(len(self.rows)) if where[r] != fold]
        self.valid = [r for r in range(len(self.rows)) if where[r] == fold]

    def encoder(self, c):
        """A row's features of column c; None for a column that is ignored."""
        cells = [row[c] for row in self.rows]
        kind = self.kinds.get(self.names[c], "auto")
        if kind == "auto":
            numbers = [number(t) is not None for t in cells if t not in self.missing]
            need(all(numbers) or not any(numbers), "text and numbers in a column")
            kind = "numeric" if numbers and all(numbers) else "categorical"
        if kind == "ignore":
            return None
        learnt = [cells[r] for r in self.train]
        return self.numeric(c, learnt) if kind == "numeric" else self.categorical(c, learnt)

    def numeric(self, c, learnt):
        x = [number(t) for t in learnt if t not in self.missing]
        mean, deviation = x[0], 0.0
        if any(v != x[0] for v in x):
            mean = total(x, "f64") / len(x)
            d = [v - mean for v in x]
            deviation = sqrt64(total([v * v for v in d], "f64") / len(x))
        divisor = deviation if deviation != 0 else 1.0
        return lambda row: [f32(((mean if row[c] in self.missing else number(row[c])) - mean) / divisor)]

    def categorical(self, c, learnt):
        found = sorted({t for t in learnt if t not in self.missing}, key=lambda t: t.encode())
        found += [None] * any(t in self.missing for t in learnt)
        cell = lambda row: None if row[c] in self.missing else row[c]
        return lambda row: [float(cell(row) == category) for category in found]


class Steps:
    """What step s is fed (12.2, 12.5)."""

    def __init__(self, recipe, rows):
        self.recipe, self.train, self.rows = recipe, recipe["train"], rows
        batch = self.train["batch"]
        self.each = rows // batch if self.train["drop_last"] else -(-rows // batch)
        self.training = self.each * self.train["epochs"]

    def rate(self, s):
        lr, schedule = float(self.train["optimizer"]["lr"]), self.train["schedule"]
        warm = schedule["warmup_steps"]
        k = s - 1 - warm
        if s <= warm:
            return lr * (s / warm)
        if schedule["kind"] == "cosine":
            least = float(schedule["min_lr"])
            return least + (0.5 * (lr - least)) * (1.0 + cospi64(k / (self.training - warm)))
        if schedule["kind"] == "step":
            return lr * powi(float(schedule["gamma"]), k // schedule["step_every"], "f64")
        return lr

    def batch(self, s):
        epoch, j = divmod(s - 1, self.each)
        order = list(range(self.rows))
        if self.train["shuffle"]:
            order = permutation(self.rows, self.recipe["seed"], epoch, SHUFFLE)
        return order[j * self.train["batch"] : (j + 1) * self.train["batch"]]

    def feeds(self, s):
        if s == 0:
            return {"rng": [self.recipe["seed"], 0]}
        if s > self.training:
            return {}
        found = {"rng": [self.recipe["seed"], s], "lr": [f32(self.rate(s))], "rows": self.batch(s)}
        for name, beta in (("c1", "beta1"), ("c2", "beta2")):
            if beta in self.train["optimizer"]:
                found[name] = [f32(1.0 - powi(float(self.train["optimizer"][beta]), s, "f64"))]
        return found
