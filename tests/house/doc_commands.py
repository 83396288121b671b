#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What documents show of the command and do not run (indented lines, forms, transcripts) has commands, actions and options that there
are. Usage: doc_commands.py SOURCE_DIR REPRISE, whose `help --json` says what there is."""
import json
import re
import subprocess
import sys
from pathlib import Path

root, command = Path(sys.argv[1]).resolve(), sys.argv[2]
said = json.loads(subprocess.run([command, "help", "--json"], capture_output=True, text=True, check=True).stdout)
options = {c["name"]: {f"--{o['name']}" for o in c["options"]} | {f"-{o['letter']}" for o in c["options"] if o["letter"]} |
           {"--help", "-h", "--json"} for c in said["commands"]}
actions = {c["name"]: set(c["actions"]) for c in said["commands"]}


def lines(text):
    """(number, line) of what is shown as code, continued lines joined; no other code of fenced blocks that run."""
    fence, held, begun = "", "", 0
    for number, line in enumerate(text.split("\n"), 1):
        if line.startswith("```"):
            fence = "" if fence else line
        elif re.match(r"```(text|console)", fence) or not fence and line.startswith("    "):
            begun = begun if held else number
            held += " " + line.strip().removesuffix("\\")
            if not line.endswith("\\"):
                yield begun, held.strip()
                held = ""


failures, seen = [], 0
for path in [root / "README.md", *sorted((root / "docs").rglob("*.md"))]:
    for number, line in lines(path.read_text(encoding="utf-8")):
        for part in re.split(r"\s[|&;]+\s|&&", re.sub(r"\s#.*$", "", line.removeprefix("$ "))):
            found = re.match(r"(?:build/release/cli/)?reprise ([a-z]+)\b(.*)$", part.strip())
            if not found:
                continue
            seen += 1
            name, rest, where = found[1], found[2], f"{path.relative_to(root)}:{number}"
            if name not in options:
                failures.append(f"{where}: there is no command {name}")
                continue
            word = rest.split()[0] if rest.split() else ""
            if f"{name} {word}" in options:
                name = f"{name} {word}"
            elif name in ("log", "timestamp") and re.fullmatch("[a-z]+", word) and word not in actions[name]:
                failures.append(f"{where}: {name} has no {word}")
            for option in re.findall(r"(?<![\w-])--?[a-z][a-z0-9-]*", re.sub(r"'[^']*'|\"[^\"]*\"", "", rest)):
                if option not in options[name]:
                    failures.append(f"{where}: {name} has no option {option}")
if failures or seen < 30:
    sys.exit("\n".join(failures) or f"only {seen} commands were found")
print(f"{seen} commands that are shown exist, with their options")
