#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Which operators of PyTorch's core and of ONNX there are: aten.txt and onnx.txt beside this file, an operator a line, and
docs/coverage.md, which is made of them. Usage: coverage.py SOURCE_DIR [write]; without write nothing is written, and a row
is wrong that names a call which the headers do not have, or says `missing` and names one that they have."""
import os
import re
import sys

LISTS = (("aten.txt", "PyTorch's core operators", 164), ("onnx.txt", "ONNX's operators", 201))
KINDS = ("direct", "composition", "missing")


def rows_of(path):
    with open(path, encoding="utf-8") as text:
        return [tuple(cell.strip() for cell in line.split("|")) for line in text if line.strip() and line[0] != "#"]


def calls_of(source):
    folder = os.path.join(source, "include", "rp")
    text = "".join(open(os.path.join(folder, name), encoding="utf-8").read() for name in sorted(os.listdir(folder)))
    return set(re.findall(r"RP_API [^;(]*?\b(rp_\w+)\(", text))


def wrong_with(row, calls):
    """What is wrong with it, or None."""
    if len(row) != 3 or row[1] not in KINDS or not row[2]:
        return "expected name | %s | words" % ", ".join(KINDS)
    named = re.findall(r"\brp_\w+", row[2])
    there = [call for call in named if call in calls]
    if row[1] == "missing":
        return "%s is there: say how" % there[0] if there else None
    if not named:
        return "names no call"
    lacking = [call for call in named if call not in calls]
    return "no header declares %s" % lacking[0] if lacking else None


def page(lists):
    lines = ["<!-- SPDX-License-Identifier: Apache-2.0 -->", "# Operators of others, and where they are here", "",
             "Made by `tests/core/program/coverage/coverage.py . write` of the lists beside it; the ctest `coverage` holds that each call",
             "named exists. *direct*: one call. *composition*: so written; gradients, replay and devices come with the calls.", "",
             "| list | operators | direct | composition | missing |", "|---|---|---|---|---|"]
    for title, rows in lists:
        counts = [sum(row[1] == kind for row in rows) for kind in KINDS]
        lines.append("| %s | %d | %s |" % (title, len(rows), " | ".join(map(str, counts))))
    for title, rows in lists:
        lines += ["", "## " + title, "", "| operator | | how |", "|---|---|---|"]
        lines += ["| `%s` | %s | %s |" % (name, kind, re.sub(r"\b(rp_\w+)", r"`\1`", how)) for name, kind, how in rows]
    return "\n".join(lines) + "\n"


def main(source, write):
    here, calls, wrong, lists = os.path.dirname(os.path.abspath(__file__)), calls_of(source), [], []
    for name, title, expected in LISTS:
        rows = rows_of(os.path.join(here, name))
        wrong += ["%s: %s: %s" % (name, row[0], why) for row in rows for why in [wrong_with(row, calls)] if why]
        names = [row[0] for row in rows]
        if len(set(names)) != expected or names != sorted(names):
            wrong.append("%s: expected %d names, each once, in order; found %d" % (name, expected, len(names)))
        lists.append((title, rows))
    if wrong:
        sys.exit("\n".join(wrong))
    path = os.path.join(source, "docs", "coverage.md")
    if write:
        with open(path, "w", encoding="utf-8") as out:
            out.write(page(lists))
    elif open(path, encoding="utf-8").read() != page(lists):
        sys.exit("docs/coverage.md is not what the lists say: coverage.py . write")


main(sys.argv[1], sys.argv[2:] == ["write"])
