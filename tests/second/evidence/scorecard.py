# SPDX-License-Identifier: Apache-2.0
"""CONTRACT 14.10 and FORMAT 15.3 in Python: the points of a model of two classes, from its weights and schema."""
import csv
import io
import json
import struct

from archive import members, tensors
from elementary import log1p64, log64
from figures import real


def features_of(column):
    """How many features a column has, and of each group its own."""
    groups = len(column["edges"]) + 1 + column["missing_bin"] if "edges" in column else None
    if column["kind"] == "categorical":
        groups = len(column["categories"]) + ("other" in column)
    own = groups if groups is not None and "woe" not in column else 1
    return groups, own, own + ("indicator" in column)


class Card:
    def __init__(self, path, favourable, scale):
        found = members(path)
        self.columns = json.loads(found["data/schema.json"])["columns"]
        classes = json.loads(found["outputs/metrics.json"])["classes"]
        state = tensors(found["weights/final.safetensors"])
        weight, bias = (next(v for k, v in state.items() if k.endswith(name)) for name in (".weight", ".bias"))
        sign = -1.0 if favourable == classes[0] else 1.0
        self.w = [sign * w for w in struct.unpack("<%dd" % (len(weight) // 8), weight)]
        self.asked, self.favourable = favourable, favourable or classes[-1]
        self.points, self.odds, self.double = (float(s) for s in scale.split(":"))
        self.factor = self.double / log64(2.0)
        self.offset = self.points - self.factor * log64(self.odds)
        self.base = self.offset + self.factor * (sign * struct.unpack("<d", bias)[0])
        self.at, at = [], 0
        for column in self.columns:
            self.at.append(at)
            at += features_of(column)[2] if column["kind"] in ("numeric", "categorical") else 0
        assert at == len(self.w)

    def number(self, c, x):
        """Points before rounding of column c with such features, from its first."""
        s = 0.0
        for j, v in enumerate(x):
            s = s + self.w[self.at[c] + j] * v
        return self.factor * s

    def group(self, c, g, missing=False):
        """Of a cell of group g, None for none."""
        column = self.columns[c]
        groups, own, all_of_it = features_of(column)
        if "woe" in column:
            x = [0.0 if g is None else float(column["woe"][g])]
        else:
            x = [float(k == g) for k in range(own)]
        return self.number(c, x + [float(missing)] * (all_of_it - own))

    def part(self, value, **said):
        return said | {"exact": real(value), "points": round(value)}

    def column(self, c):
        column = self.columns[c]
        groups = features_of(column)[0]
        out = {"column": column["name"], "kind": "bins" if "edges" in column else "categories"}
        if column["kind"] == "categorical":
            names = [k for k in column["categories"] if k is not None]
            parts = [self.part(self.group(c, g), category=k) for g, k in enumerate(names)]
            absent = len(names) if None in column["categories"] else None
            parts.append(self.part(self.group(c, absent, True), missing=True))
            parts.append(self.part(self.group(c, groups - 1 if "other" in column else None), unknown=True))
            return out | {"parts": parts}
        if "edges" in column:
            ends = [None, *column["edges"], None]
            parts = [self.part(self.group(c, g), **{"from": ends[g], "to": ends[g + 1]}) for g in range(len(ends) - 1)]
            if "missing" in column:
                absent = sum(float(e) <= float(column["missing"]) for e in column["edges"])
            else:
                absent = len(ends) - 1 if column["missing_bin"] else None
            return out | {"parts": parts + [self.part(self.group(c, absent, True), missing=True)]}
        mean, divisor = float(column["mean"]), float(column["deviation"]) or 1.0
        value = (float(column.get("missing", column["mean"])) - mean) / divisor
        missing = self.number(c, [value] + [1.0] * ("indicator" in column))
        return out | {"kind": "number", "weight": real(self.w[self.at[c]]), "mean": real(mean), "divisor": real(divisor),
                      "log": "log" in column, "cap": column.get("cap"), "parts": [self.part(missing, missing=True)]}

    def predicate(self):
        columns = [self.column(c) for c, k in enumerate(self.columns) if k["kind"] in ("numeric", "categorical")]
        ends = [None, None]
        if all(c["kind"] != "number" for c in columns):
            ends = [round(self.base) + sum(f(p["points"] for p in c["parts"]) for c in columns) for f in (min, max)]
        return {"contract": 1, "points": real(self.points), "odds": real(self.odds), "double": real(self.double),
                "favourable": self.favourable, "asked": self.asked, "factor": real(self.factor),
                "offset": real(self.offset), "base": self.part(self.base), "lowest": ends[0], "highest": ends[1],
                "columns": columns}

    # ---- rows, by the table alone ----

    def of_cell(self, said, cell):
        """A cell's points by the statement's column, as who has only the table finds them."""
        kinds = {next(k for k in ("missing", "unknown", "category", "from") if k in p): p for p in said["parts"]}
        if cell is None:
            return kinds["missing"]["points"]
        if said["kind"] == "categories":
            known = {p["category"]: p["points"] for p in said["parts"] if "category" in p}
            return known.get(cell, kinds["unknown"]["points"])
        v = float(cell)
        if said["kind"] == "bins":
            return next(p["points"] for p in said["parts"] if "from" in p and (p["to"] is None or v < float(p["to"])))
        if said["cap"]:
            low, high = map(float, said["cap"])
            v = low if v < low else high if v > high else v
        if said["log"]:
            v = -log1p64(-v) if v < 0 else log1p64(v)
        x = (v - float(said["mean"])) / float(said["divisor"])
        return round(self.factor * (float(said["weight"]) * x))

    def rows(self, text, missing):
        said = self.predicate()
        lines = list(csv.reader(io.StringIO(text, newline="")))
        out = []
        for line in lines[1:]:
            points = said["base"]["points"]
            for column in said["columns"]:
                cell = line[lines[0].index(column["column"])]
                points += self.of_cell(column, None if cell in missing else cell)
            out.append(points)
        return out
