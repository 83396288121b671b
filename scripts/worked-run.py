#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""That the run of audit/FORMAT.md 14 is the one that the command makes: its table and recipe are read out of the text,
run, and every member that the text shows, and the archive id, must be those of the archive.

Usage: scripts/worked-run.py REPRISE [--record]; --record writes into the text what the command makes.
A block is a line that ends in "`NAME`:" and a fenced block: of `hex` the bytes as hexadecimal, of anything else the
bytes, and a line feed where they do not end in one. Exit 0: all as in the text; 1: not.
"""
import pathlib
import re
import subprocess
import sys
import tempfile

FORMAT = pathlib.Path(__file__).resolve().parent.parent / "audit" / "FORMAT.md"
BLOCK = re.compile(r"`([^`\n]+)`:\n\n```(\w+)\n(.*?)```\n", re.S)
ID = re.compile(r"archive id is\n`([0-9a-f]{64})`")


def as_text(kind, data):
    if kind == "hex":
        return "".join(data[at : at + 32].hex() + "\n" for at in range(0, len(data), 32))
    text = data.decode()
    return text if text.endswith("\n") else text + "\n"


def main():
    reprise = pathlib.Path(sys.argv[1]).resolve()
    record = "--record" in sys.argv[2:]
    text = FORMAT.read_text()
    head, section = text.split("\n## 14. ", 1)
    section, tail = (section.split("\n## ", 1) + [None])[:2]
    blocks = {name: (kind, body) for name, kind, body in BLOCK.findall(section)}
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        for name in ("tiny.csv", "tiny.yaml"):
            (folder / name).write_text(blocks.pop(name)[1])

        def command(*words):
            return subprocess.run([reprise, *words], cwd=folder, stdout=subprocess.PIPE, check=True).stdout

        command("run", "tiny.yaml", "-o", "tiny.reprise")
        found = {}
        for name, (kind, _) in blocks.items():
            found[name] = as_text(kind, command("inspect", "tiny.reprise", "--member", name))
        id_found = re.search(rb"^archive +([0-9a-f]{64})", command("inspect", "tiny.reprise")).group(1).decode()
    wrong = [name for name, (_, body) in blocks.items() if body != found[name]]
    id_text = ID.search(section).group(1)
    if record:
        put = lambda at: at.group(0) if at[1] not in found else f"`{at[1]}`:\n\n```{at[2]}\n{found[at[1]]}```\n"
        section = BLOCK.sub(put, section)
        section = section.replace(id_text, id_found)
        FORMAT.write_text(head + "\n## 14. " + section + ("" if tail is None else "\n## " + tail))
        return
    for name in wrong:
        print(f"{name}: the text has\n{blocks[name][1]}the run makes\n{found[name]}")
    if id_text != id_found:
        print(f"archive id: the text has {id_text}, the run makes {id_found}")
    print(f"{len(blocks)} members compared, {len(wrong)} differ")
    sys.exit(1 if wrong or id_text != id_found or len(blocks) < 8 else 0)


main()
