# SPDX-License-Identifier: Apache-2.0
"""CONTRACT 9 and 12.2, 12.5 in Python for classifications of two classes: the tensors of a table, and what each step
of a recipe is fed. What a recipe may say beside that is refused, not guessed."""
import csv
import io
import math

import dates
import treat
from elementary import cospi64, powi
from ieee import f32, total
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
        need(data["missing_numeric"] != "error" and data["missing_categorical"] == "category", "missing cells")
        self.missing_numeric = data["missing_numeric"]
        need(not {"decimal", "thousands", "strip", "prefix", "suffix", "encoding", "comment", "skip_lines", "where",
                  "missing_target"} & set(data), "a table written otherwise")
        need(not {"split", "time", "group", "test"} & set(data), "a split of another kind")
        lines = list(csv.reader(io.StringIO(raw.decode(), newline=""), delimiter=data["delimiter"]))
        self.names, self.rows, self.missing = lines[0], lines[1:], set(data["missing"])
        self.rules = {data["weight"]: {"kind": "ignore"}} if "weight" in data else {}
        self.rules.update({c["column"]: c for c in data["columns"]})
        self.offset = data.get("offset")
        need("exposure" not in data and "denominator" not in data, "a recipe of another kind")
        target = self.names.index(data["target"])
        classes = sorted({row[target] for row in self.rows}, key=lambda t: t.encode())
        need(len(classes) == 2 and all(number(c) is None for c in classes), "classes of another kind")
        if data["positive"] is not None:
            classes.sort(key=lambda c: c == data["positive"])
        self.labels = [classes.index(row[target]) for row in self.rows]
        self.split(recipe["seed"], data["folds"], data["fold"])
        self.derive(data["columns"])
        self.exact = recipe["train"].get("solver") == "exact"
        self.rounded = (lambda x: x) if self.exact else f32
        columns = [self.encoder(c) if c != target else None for c in range(len(self.names))]
        pairs = [[self.names.index(name) for name in pair] for pair in data.get("interactions", [])]

        def features(row):
            each = [e(row) if e else [] for e in columns]
            products = [self.rounded(a * b) for i, j in pairs for a in each[i] for b in each[j]]
            return [v for x in each for v in x] + products

        self.parts = {}
        for part, rows in (("train", self.train), ("valid", self.valid)):
            x = [features(self.rows[r]) for r in rows]
            dtype = "f64" if self.exact else "f32"
            self.parts[part + "_x"] = (dtype, (len(rows), len(x[0])), [v for row in x for v in row])
            self.parts[part + "_y"] = (dtype, (len(rows), 1), [float(self.labels[r]) for r in rows])
        self.weigh(data.get("weight"), recipe["train"].get("class_weights"), classes)

    def derive(self, rules):
        """The parts of dates as columns behind the table's (9.2a), None for a missing cell."""
        for rule in rules:
            if rule["kind"] != "date":
                continue
            at = self.names.index(rule["column"])
            since = dates.days(*map(int, rule["since"].split("-")))
            for part in rule["parts"]:
                self.names.append("%s.%s" % (rule["column"], part))
                own = self.rules.get(self.names[-1])
                inherited = {"kind": "numeric", **{k: v for k, v in rule.items() if k not in dates.KEYS}}
                self.rules[self.names[-1]] = {**own, "kind": own["kind"].replace("auto", "numeric")} if own else inherited
                for row in self.rows:
                    cell = row[at]
                    found = None if cell in self.missing else dates.part(part, since, dates.read(rule, cell))
                    row.append("" if found is None else str(found))

    def weigh(self, column, given, classes):
        """train_w and valid_w (9.10)."""
        if column is None and given is None:
            return
        n, each = len(self.train), [sum(self.labels[r] == c for r in self.train) for c in (0, 1)]
        scale = [float(given.get(c, "1")) for c in classes] if isinstance(given, dict) else [1.0, 1.0]
        if given == "balanced":
            scale = [n / (sum(m > 0 for m in each) * m) if m else 1.0 for m in each]
        at = None if column is None else self.names.index(column)
        for part, rows in (("train", self.train), ("valid", self.valid)):
            v = [(1.0 if at is None else number(self.rows[r][at])) * scale[self.labels[r]] for r in rows]
            mean = total(v, "f64") / len(v)
            self.parts[part + "_w"] = ("f32", (len(rows), 1), [f32(x / mean) for x in v])

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
        rule = self.rules.get(self.names[c], {"kind": "auto"})
        kind = rule["kind"]
        if kind == "auto":
            numbers = [number(t) is not None for t in cells if t not in self.missing]
            need(all(numbers) or not any(numbers), "text and numbers in a column")
            kind = "numeric" if numbers and all(numbers) else "categorical"
        if kind in ("ignore", "date"):
            return None
        labels = [self.labels[r] for r in self.train]
        if self.names[c] == self.offset:
            return lambda row: [number(row[c])]
        if kind == "numeric":
            cell = lambda row: None if row[c] in self.missing else number(row[c])
            learn = lambda x: treat.numeric(rule, self.missing_numeric, x, labels, self.rounded)
        else:
            cell = lambda row: None if row[c] in self.missing else row[c]
            learn = lambda x: treat.categorical(rule, x, labels, self.rounded)
        encode = learn([cell(self.rows[r]) for r in self.train])
        return lambda row: encode(cell(row))


class Steps:
    """What step s is fed (12.2, 12.5)."""

    def __init__(self, recipe, rows, training):
        """training: how many steps the archive says, which ends() checks."""
        self.recipe, self.train, self.rows = recipe, recipe["train"], rows
        self.training = 1
        if self.train.get("solver") == "exact":
            return
        batch = self.train["batch"]
        self.each = rows // batch if self.train["drop_last"] else -(-rows // batch)
        self.longest = self.each * self.train["epochs"]
        self.training = training if "patience" in self.train else self.longest

    def ends(self, best):
        """Whether training ends where the archive says, best the last best epoch (12.10)."""
        return self.training == self.each * min(self.train["epochs"], best + self.train["patience"])

    def rate(self, s):
        lr, schedule = float(self.train["optimizer"]["lr"]), self.train["schedule"]
        warm = schedule["warmup_steps"]
        k = s - 1 - warm
        if s <= warm:
            return lr * (s / warm)
        if schedule["kind"] == "cosine":
            least = float(schedule["min_lr"])
            return least + (0.5 * (lr - least)) * (1.0 + cospi64(k / (self.longest - warm)))
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
        if self.train.get("solver") == "exact":
            return {}
        if s == 0:
            return {"rng": [self.recipe["seed"], 0]}
        if s > self.training:
            return {}
        found = {"rng": [self.recipe["seed"], s], "lr": [f32(self.rate(s))], "rows": self.batch(s)}
        found["epoch"] = [s // self.each]
        for name, beta in (("c1", "beta1"), ("c2", "beta2")):
            if beta in self.train["optimizer"]:
                found[name] = [f32(1.0 - powi(float(self.train["optimizer"][beta]), s, "f64"))]
        return found
