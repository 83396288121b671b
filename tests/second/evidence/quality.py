# SPDX-License-Identifier: Apache-2.0
"""CONTRACT 9.11 and FORMAT 9.9 in Python: data/quality.json, but for leaks (9.9's `determines_target`)."""
import json

import dates
from figures import added, quantile, real
from ieee import sqrt64
from recipe import number


def skew(x):
    if x[0] == x[-1]:
        return None
    m = added(x) / len(x)
    d = [v - m for v in x]
    v, t = added([e * e for e in d]) / len(x), added([(e * e) * e for e in d]) / len(x)
    return real(t / (v * sqrt64(v)))


def outliers(x):
    lower, upper = quantile(x, 0.25), quantile(x, 0.75)
    reach = 1.5 * (upper - lower)
    return sum(v < lower - reach or v > upper + reach for v in x)


class Column:
    """What is counted of one: cells, None where one is missing."""

    def __init__(self, schema, cells, seconds):
        self.schema, self.cells, self.there = schema, cells, [c for c in cells if c is not None]
        self.kind = schema["kind"]
        read = seconds if self.kind == "date" else number
        numbers = [read(c) for c in self.there]
        self.of_numbers = bool(numbers) and None not in numbers
        self.mixed = 0 < sum(v is not None for v in numbers) < len(numbers)
        self.numbers = sorted(v + 0.0 for v in numbers) if self.of_numbers else []
        # equal cells have equal keys
        self.keys = [None if c is None else read(c) + 0.0 if self.of_numbers else c for c in cells]
        self.distinct = len(set(self.keys) - {None})

    def json(self):
        out = {"name": self.schema.get("name"), "kind": self.kind, "missing": len(self.cells) - len(self.there),
               "distinct": self.distinct}
        if self.of_numbers and self.kind != "date":
            out |= {"outliers": outliers(self.numbers), "skew": skew(self.numbers)}
        return out | ({"unseen": self.schema["unseen"]} if "unseen" in self.schema else {})

    def finding(self):
        """Of the first seven of 9.9 the one that it has."""
        rows, whole = len(self.cells), self.of_numbers and all(v == int(v) for v in self.numbers)
        name = self.schema.get("name") or ""
        named = name.lower() == "id" or (name[-2:].lower() == "id" and not name[-3:-2].isalnum() and len(name) > 2) or (
            name[-2:] in ("Id", "ID") and name[-3:-2].islower())
        if not self.there:
            return "empty"
        if len(self.there) == rows and self.distinct == 1:
            return "constant"
        if self.kind == "date" or "part" in self.schema:
            return None
        if whole and self.kind == "numeric" and len(self.there) == rows == self.distinct >= 20:
            order = [number(c) for c in self.cells]
            if named or order in (sorted(order), sorted(order, reverse=True)):
                return "identifier"
        if self.kind == "categorical" and len(self.there) >= 20 and 10 * self.distinct > 9 * len(self.there):
            return "near_unique"
        return None


def quality(model, card):
    rows = [model.raw[r] for r in sorted(model.train + model.judged + model.tested)]

    def seconds(rule):
        def of(cell):
            year, month, day, hour, minute, second = dates.read(rule, cell)
            return dates.days(year, month, day) * 86400 + 3600 * hour + 60 * minute + second
        return of
    columns = []
    for c, one in enumerate(model.columns):
        rule = model.dates[one["name"] if model.header else str(c)] if one["kind"] == "date" else None
        columns.append(Column(one, [row[c] for row in rows], seconds(rule)))
    used = [one for one in columns if one.kind not in ("ignore", "target")]
    target = next(one for one in columns if one.kind == "target")
    seen, sides, duplicates = set(), {}, 0
    for r in range(len(rows)):
        cells = tuple(one.keys[r] for one in used)
        duplicates += (cells, target.keys[r]) in seen
        seen.add((cells, target.keys[r]))
        sides.setdefault(cells, []).append(target.keys[r])
    conflicts = sum(len(found) for found in sides.values() if len(set(found)) > 1)
    found = [None if one.kind == "ignore" or one.mixed else one.finding() for one in columns]
    days = [(c, sorted(one.numbers)) for c, one in enumerate(columns) if one.kind == "date" and one.there]
    missing = [one.json()["missing"] for one in columns]
    return {"accuracy": {"outliers": sum(one.json().get("outliers", 0) for one in columns)},
            "availability": {"rows": len(model.raw), "used": len(rows), "left_out": model.left_out,
                             "missing_target": model.gone},
            "columns": [one.json() for one in columns],
            "completeness": {"cells": len(rows) * len(columns), "missing": sum(missing), "columns": sum(map(bool, missing))},
            "consistency": {"conflicts": conflicts, "spellings": 0},
            "timeliness": {"dates": [{"column": c, "first": day(x[0]), "last": day(x[-1])} for c, x in days],
                           "period": card.get("data_period")},
            "traceability": {"source": card.get("data_source")},
            "uniqueness": {"duplicates": duplicates, "constants": [c for c, f in enumerate(found) if f in ("constant", "empty")],
                           "identifiers": [c for c, f in enumerate(found) if f in ("identifier", "near_unique")]},
            "validity": {"unseen": sum(one.get("unseen", 0) for one in model.columns)}}


def day(seconds):
    """The text of a day without a time."""
    at, year = int(seconds // 86400), 1970
    while dates.days(year, 1, 1) > at:
        year -= 1
    while dates.days(year + 1, 1, 1) <= at:
        year += 1
    month = max(m for m in range(1, 13) if dates.days(year, m, 1) <= at)
    return "%04d-%02d-%02d" % (year, month, at - dates.days(year, month, 1) + 1)


def recorded(found):
    """What the archive says, without what is not made again here."""
    said = json.loads(found["data/quality.json"])
    del said["accuracy"]["leaks"]
    return said
