#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes python/reprise/command_results.py and command_calls.py: a class for each table of docs/json.md, a function for
each command of `reprise help --json`. Usage: scripts/python-commands.py REPRISE [check]; check only says which of the
two is not as it would be written."""
import json
import os
import re
import subprocess
import sys
import textwrap

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
PACKAGE = os.path.join(ROOT, "python", "reprise")
TYPES = {"text": "str", "integer": "int", "number": "float", "boolean": "bool", "array": "list[Any]",
         "object": "dict[str, Any]"}
# What makes the results is one command with several documents, or the other way round.
DOCUMENTS = {"inspect": [("inspect", {"member", "step", "op", "output", "input", "npy", "out", "force"}),
                         ("inspect --member", {"programs", "coefficients", "step", "op", "output", "input", "npy"}),
                         ("inspect --step", {"programs", "coefficients", "member", "out"})]}
NEEDED = {"inspect --member": "member", "inspect --step": "step"}
GROUPS = {"log": "init add prove consistency check attach verify list".split(), "timestamp": ["request", "attach"],
          "golden": ["record", "check"]}
PROGRESS = {"run", "retrain", "replay", "golden record", "golden check"}
# Options that take a table, by their commands: of others `rows` is a number and `csv` says what is written.
TABLES = {("retrain", "csv"), ("retrain", "rows"), ("predict", "csv"), ("predict", "compare"), ("validate", "csv"),
          ("monitor", "csv"), ("explain", "csv")}
WORDS = {"by", "groups", "id", "part", "points", "threshold", "cutoff", "sample", "seed", "isa", "device", "memory", "steps"}
PATHS = re.compile(r"FILE|DIR|\.pem|\.yaml|\.json|\.npy|\.crl|\.tsq|\.tsr|PARENT|ARCHIVE|LOG$|CSV|PROOF|REFERENCE")


def class_name(words):
    return "".join(w.strip("-").capitalize() for w in re.split(r"[ -]+", words) if w)


def python_name(option):
    name = option.replace("-", "_")
    return name + "_" if name in ("from", "continue", "import") else name


def read_tables():
    """{words: [(key, type, optional, text)]} of docs/json.md."""
    found, words = {}, []
    for line in open(os.path.join(ROOT, "docs", "json.md"), encoding="utf-8"):
        if line.startswith("## "):
            words = re.findall(r"`reprise ([^`]*)`", line)
            found.update({w: [] for w in words})
        cells = [c.strip() for c in re.split(r"(?<!\\)\|", line.strip().strip("|"))]
        if words and line.startswith("| `") and len(cells) >= 2:
            kind = cells[1].replace(" (optional)", "")
            base = TYPES[kind.replace(" or null", "")]
            for w in words:
                found[w].append((cells[0].strip("`"), base + (" | None" if "or null" in kind else ""),
                                 "(optional)" in cells[1], cells[2] if len(cells) > 2 else ""))
    return found


def plain_text(text):
    return re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", text).replace("`", "").replace("\\", "")


def docstring(text, indent):
    lines = []
    for part in text.split("\n"):
        lead = re.match(r" *", part).group()
        lines += textwrap.wrap(part, 116 - len(indent), subsequent_indent=lead + ("    " if lead or ":" in part[:30] else ""),
                               break_long_words=False, break_on_hyphens=False) or [""]
    body = ("\n" + indent).join(lines).replace("\\", "\\\\").replace('"""', "'''")
    return '%s"""%s"""\n' % (indent, "\n".join(l.rstrip() for l in body.split("\n")))


def results_text(tables):
    out = ['# SPDX-License-Identifier: Apache-2.0\n"""What the functions of command_calls.py give: a class for each table of '
           'docs/json.md.\n\nWritten by scripts/python-commands.py."""\nfrom __future__ import annotations\n\n'
           "from dataclasses import dataclass\nfrom typing import Any, ClassVar\n\nfrom .command import Result\n"]
    for words, rows in tables.items():
        about = f"What `reprise {words} --json` gives."
        texts = [f"    {k}: {plain_text(t)}" for k, _, _, t in rows if t]
        out.append("\n\n@dataclass(frozen=True, kw_only=True)\nclass %s(Result):\n" % class_name(words))
        out.append(docstring("\n".join([about] + ([""] + texts if texts else [])), "    "))
        out.append('\n    DOCUMENT: ClassVar[str] = "%s"\n' % words)
        for key, kind, optional, _ in sorted(rows, key=lambda r: r[2]):
            out.append("    %s: %s%s\n" % (key, kind + (" | None" if optional and "None" not in kind else ""),
                                           " = None" if optional else ""))
    return "".join(out)


def option_type(command, option, required):
    argument, name = option["argument"], option["name"]
    if not argument:
        return "bool", "False"
    if (command["name"], name) in TABLES:
        kind = "Table"
    elif name == "policy":
        kind = "Document"
    elif name not in WORDS and PATHS.search(argument):
        kind = "PathLike"
    else:
        kind = "Value"
    if option["repeatable"]:
        kind = f"{kind} | Sequence[{kind}]"
    return (kind, None) if required else (f"{kind} | None", "None")


OPERANDS = {"RECIPE.yaml": ("recipe", "Document"), "RECIPE.yaml|TABLE.csv": ("recipe_or_table", "Document | Table"),
            "RECIPE|ARCHIVE": ("recipe_or_archive", "Document"), "ARCHIVE": ("archive", "PathLike"),
            "PARENT": ("parent_archive", "PathLike"), "A": ("a", "PathLike"), "B": ("b", "PathLike"),
            "DIR": ("folder", "PathLike"), "NAME": ("name", "PathLike"), "CHAIN.pem": ("chain", "PathLike"),
            "RESPONSE.tsr": ("response", "PathLike"), "OLD_CHECKPOINT": ("old_checkpoint", "PathLike"),
            "ARCHIVE, ID or PREDICTIONS": ("what", "PathLike"),
            "ARCHIVE, ID, PREDICTIONS or OLD_CHECKPOINT": ("what", "PathLike")}
MANY = {"compare": "archives", "inventory": "paths"}


def operand_value(name, kind):
    if kind == "Document | Table":
        return f"given.recipe_or_table({name})"
    if kind == "Document":
        return f"given.document({name})"
    return f"word({name})"


def function_text(command, document, without=(), words=None, indent="", name=None):
    words = words or command["name"].split()
    options = [o for o in command["options"] if o["name"] not in ("json", "help") and o["name"] not in without]
    needed = {NEEDED[document]} if document in NEEDED else set()
    many = MANY.get(command["name"])
    operands = [OPERANDS[o] for o in command["operands"] if o in OPERANDS] if not many else []
    head, calls = [f"{n}: {k}" for n, k in operands], []
    if many:
        head.append(f"*{many}: PathLike")
    elif options or document in PROGRESS:
        head.append("*")
    required = lambda o: o["required"] or o["name"] in needed or (o["name"], document) == ("out", "inspect --member")
    for o in sorted(options, key=lambda o: not required(o)):
        kind, default = option_type(command, o, required(o))
        head.append(f"{python_name(o['name'])}: {kind}" + (f" = {default}" if default else ""))
        value = python_name(o["name"])
        table = value if o["name"] == "compare" else f"{value}, {operands[0][0] if operands else None}"
        value = (f"given.tables({table})" if (command["name"], o["name"]) in TABLES else
                 f"given.documents({value})" if o["name"] == "policy" else value)
        calls.append(f'"{o["name"]}": {value}')
    if document in PROGRESS:
        head.append("progress: bool | None = None")
    head = head or []
    result = class_name(document)
    name = name or python_name(words[-1] if indent else command["name"])
    about = command["about"] or command["summary"]
    lines = [f"    {python_name(o['name'])}: {plain_text(o['help'])}" for o in options]
    if document in PROGRESS:
        lines.append("    progress: a bar by tqdm; by default where tqdm is there and stderr is a terminal or a notebook")
    text = f"\n{indent}@staticmethod\n" if indent else "\n\n"
    text += wrapped(f"{indent}def {name}(", head, f") -> {result}:\n")
    text += docstring("\n".join([plain_text(about)] + ([""] + lines if lines else [])), indent + "    ")
    inner = indent + "    "
    values = [operand_value(n, k) for n, k in operands]
    if many:
        values = [f"*map(word, {many})"]
    text += f"{inner}with inputs() as given:\n"
    text += wrapped(f"{inner}    return call({result}, {json.dumps(words)}, [{', '.join(values)}], {{", calls,
                    "}%s)\n" % (", progress" if document in PROGRESS else ""))
    return text


def wrapped(start, parts, end):
    line, lines, pad = start, [], " " * len(start)
    if len(start) > 72 or "return call(" in start:
        pad = re.match(" *", start).group() + "    "
        lines, line = [start.rstrip()], pad
    for i, part in enumerate(parts):
        piece = part + (", " if i + 1 < len(parts) else "")
        if len(line) + len(piece.rstrip()) + (len(end) if i + 1 == len(parts) else 0) > 120 and line.strip() and line != pad:
            lines.append(line.rstrip())
            line = pad
        line += piece
    return "\n".join(lines + [line.rstrip() + end if parts else line + end])


def calls_text(commands, tables):
    names = sorted(class_name(w) for w in tables if w not in ("--version", "help"))
    plain = [c for c in commands if c["name"].split()[0] not in GROUPS and c["name"] != "help"]
    exported = [d for c in plain for d in ([python_name(class_to_function(x)) for x, _ in DOCUMENTS[c["name"]]]
                                           if c["name"] in DOCUMENTS else [python_name(c["name"])])] + list(GROUPS)
    out = ['# SPDX-License-Identifier: Apache-2.0\n"""The command `reprise` as functions: keyword arguments are its options, '
           "results are dataclasses, errors CommandError.\n\nWritten by scripts/python-commands.py from `reprise help --json` "
           'and docs/json.md."""\nfrom __future__ import annotations\n\nfrom collections.abc import Sequence\n\n'
           "from .command import Document, PathLike, Table, Value, call, inputs, word\n",
           wrapped("from .command_results import (", names, ")\n\n"),
           wrapped("__all__ = [", ['"%s"' % n for n in sorted(exported)], "]\n")]
    by_name = {c["name"]: c for c in commands}
    for c in plain:
        for document, without in DOCUMENTS.get(c["name"], [(c["name"], ())]):
            out.append(function_text(c, document, without, name=python_name(class_to_function(document))))
    for group, actions in GROUPS.items():
        out.append(f'\n\nclass {group}:\n    """The actions of `reprise {group}`."""\n')
        for action in actions:
            c = by_name.get(f"{group} {action}") or dict(by_name[group], operands=["DIR"])
            hidden = {"record": {"junit", "threads", "isa", "device", "allow-nonconforming"}, "check": {"force", "reason"}}
            out.append(function_text(c, f"{group} {action}", hidden[action] if group == "golden" else (),
                                     [group, action], "    "))
    return "".join(out)


def class_to_function(document):
    return document.replace(" --", "_").replace(" ", "_")


def main():
    said = subprocess.run([sys.argv[1], "help", "--json"], check=True, capture_output=True).stdout
    tables = read_tables()
    bad = False
    for name, text in (("command_results.py", results_text(tables)),
                       ("command_calls.py", calls_text(json.loads(said)["commands"], tables))):
        path = os.path.join(PACKAGE, name)
        if sys.argv[2:] != ["check"]:
            open(path, "w", encoding="utf-8").write(text)
        elif not os.path.exists(path) or open(path, encoding="utf-8").read() != text:
            print(f"python/reprise/{name} is not what the command's tables say: scripts/python-commands.py REPRISE")
            bad = True
    sys.exit(bad)


main()
