#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The yaml blocks of docs/*.md are recipes and policies that the command takes: each recipe runs on a small table that has its
columns, each policy is asked about an archive and gives verdicts, not errors. Usage: doc_recipes.py SOURCE_DIR REPRISE

A block that stands for a part of a recipe or policy is completed by what RECIPES and POLICIES say of it; a block that neither
names is a failure, and so is a name without a block."""
import json
import re
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

ROWS = 240
HEAD = "reprise: 1\nseed: 1\n"
LOANS = "data: {csv: loans.csv, target: default}\n"
SHORT = "train: {epochs: 1}\n"
PINNED = (("{compute: f32}", "{compute: f32}"),)  # a host without a GPU refuses it by that reason: exit code 5
# Of each document the recipes among its blocks, in order: what stands before the block, what behind it, as (this, else)
# replacements in its text to what the table here has.
RECIPES = {
    "arrays.md": [("", "", ()), "cli_images runs such a recipe: it needs images"],
    "exact-models.md": [("", "", ()), (HEAD, "", ()), (HEAD, "", ())],
    "pinned.md": [(HEAD + LOANS + SHORT, "", PINNED)],
    "recipe.md": [(HEAD, SHORT, (("data:\n", "data:\n  csv: dated.csv\n  target: default\n"),)),
                  (HEAD, SHORT, (("data:\n", "data:\n  csv: loans.csv\n  target: default\n"),)),
                  "cli_programs runs such a recipe: it needs saved programs",
                  (HEAD, SHORT, ())],
    "text.md": [("", "", (("steps: 300", "steps: 2"), ("width: 128", "width: 8"), ("warmup_steps: 30", "warmup_steps: 1"),
                          ("length: 64", "length: 8"), ("batch: 16", "batch: 2")))],
    "validation.md": [(HEAD + LOANS + SHORT, "", ())],
}
POLICIES = {"policy.md": ["", "cli_x509 and cli_timestamp run its clauses: they need certificates and an authority",
                          "policy: 1\ngroups: {validators: [keys/validator-1.pub.pem]}\nbuilder: {of: validators}\n"]}
KEYS = ("builder", "validator-1", "validator-2", "risk", "compliance", "business", "log")


def table(columns):
    """A CSV of ROWS rows; a column is a function of the row."""
    return "\n".join([",".join(columns)] + [",".join(str(f(i)) for f in columns.values()) for i in range(ROWS)]) + "\n"


def npy(dtype, shape, data):
    head = f"{{'descr': '{dtype}', 'fortran_order': False, 'shape': {shape}, }}".encode().ljust(117) + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head + data


def make_inputs(folder):
    def noise(i):
        return (i * 7919 + 13) % 101

    def outcome(i):
        return "yes" if noise(i) + i % 7 * 5 > 60 else "no"
    loans = {"loan_id": lambda i: i, "age": lambda i: 20 + noise(i) % 50, "income": lambda i: 1000 + noise(i + 5) * 31,
             "job": lambda i: "abc"[i % 3], "home": lambda i: "own" if i % 3 else "rent", "region": lambda i: "nsw"[i % 3],
             "sex": lambda i: "mf"[i % 2], "default": outcome}
    dates = {"opened": lambda i: f"202{i % 5}-0{1 + i % 9}-1{i % 9}", "sold": lambda i: f"1{i % 9}.0{1 + i % 9}.202{i % 5}"}
    files = {"loans.csv": table(loans), "dated.csv": table({**loans, **dates}),
             "policies.csv": table({"claims": lambda i: noise(i) % 3, "years": lambda i: 1 + i % 3, "age": loans["age"]}),
             "schools.csv": table({"passed": lambda i: noise(i) % 20, "pupils": lambda i: 20 + i % 5, "size": loans["income"]}),
             "tinyshakespeare.txt": "the quick brown fox jumps over the lazy dog. " * 40}
    for name, text in files.items():
        (folder / name).write_text(text)
    (folder / "x.npy").write_bytes(npy("<f4", (ROWS, 8, 8, 1), b"".join(struct.pack("<f", noise(i)) for i in range(ROWS * 64))))
    (folder / "y.npy").write_bytes(npy("<i4", (ROWS,), b"".join(struct.pack("<i", i % 3) for i in range(ROWS))))


def blocks(path):
    return re.findall(r"^```yaml\n(.*?)^```$", path.read_text(encoding="utf-8"), re.M | re.S)


def shell(path):
    """The lines of a document's sh blocks."""
    return "".join(re.findall(r"^```sh\n(.*?)^```$", path.read_text(encoding="utf-8"), re.M | re.S)).splitlines()


def main():
    source, command = Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve()
    failures = []

    def say(where, *arguments, fine=(0,)):
        done = subprocess.run([command, *arguments], cwd=folder, capture_output=True, text=True)
        if done.returncode not in fine:
            failures.append(f"{where}: exit code {done.returncode}, expected {fine}: {done.stderr.strip()}")
        return done.stdout

    def recipe(where, block, before, behind, changes):
        for old, new in changes:
            if old not in block:
                failures.append(f"{where}: there is no {old!r} in it")
            block = block.replace(old, new)
        (folder / "recipe.yaml").write_text(before + block + behind)
        say(where, "run", "recipe.yaml", "-o", "out.reprise", "--force", fine=(0, 5) if changes is PINNED else (0,))

    def policy(where, block, before):
        (folder / "policy.yaml").write_text(before + block)
        said = say(where, "verify", "judged.reprise", "--policy", "policy.yaml", "--json", fine=(4,))
        clauses = [c for c in json.loads(said or "{}").get("policy", {}).get("clauses", [])]
        if not clauses:
            failures.append(f"{where}: no clause was judged: {said[:300]}")

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        make_inputs(folder)
        (folder / "keys").mkdir()
        for key in KEYS:
            say(key, "keygen", f"keys/{key}")
        recipe("the archive that policies are asked about", "", HEAD + LOANS + SHORT, "", ())
        say("sign", "sign", "out.reprise", "--key", "keys/builder.pem")
        (folder / "out.reprise").rename(folder / "judged.reprise")
        for path in sorted((source / "docs").rglob("*.md")):
            found, known = blocks(path), RECIPES.get(path.name, []) + POLICIES.get(path.name, [])
            if len(found) != len(known):
                failures.append(f"{path.name} has {len(found)} yaml blocks, {Path(__file__).name} knows {len(known)}")
            for i, (block, how) in enumerate(zip(found, known)):
                if i == 1 and path.name == "exact-models.md":
                    for command_line in shell(path):
                        say(f"{path.name}: {command_line}", *command_line.replace("loans.reprise", "out.reprise").split()[1:])
                where = f"{path.name}, yaml block {i + 1}"
                if isinstance(how, tuple):
                    recipe(where, block, *how)
                elif not how.startswith("cli_"):
                    policy(where, block, how)
    if failures:
        sys.exit("\n".join(failures))
    print("recipes and policies of the documentation are taken")


if __name__ == "__main__":
    main()
