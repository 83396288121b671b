#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""That no change of the code changes a result: final weights, losses, metrics, figures and predictions of every example, golden
and recipe of golden/bits, as digests, against golden/bits.txt.

Usage: scripts/same-bits.py REPRISE BRANCH [--record]
REPRISE is the command, BRANCH the program of examples/branch.c. --record writes the list: only with a new numeric
contract, or for recipes that were added. What is hashed does not depend on how an archive is cut in members: archives
are read by `reprise inspect`, tensors are keyed by name, type and shape, and of the journal only the losses count.
Examples whose data are not here (../shared/data) are skipped and named. Exit 0: all as listed; 1: not.
"""
import hashlib
import json
import pathlib
import re
import shutil
import struct
import subprocess
import sys
import tempfile

SOURCE = pathlib.Path(__file__).resolve().parent.parent
LIST = SOURCE / "golden" / "bits.txt"
RECORD_BYTES, LOSS_TYPE, LOSS_BITS = 128, 12, 112  # audit/FORMAT.md 9


def command(*words):
    done = subprocess.run([str(word) for word in words], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    if done.returncode != 0:
        sys.exit(f"same-bits: {' '.join(map(str, words))}: exit {done.returncode}: {done.stderr.decode()}")
    return done.stdout


def tensors(member):
    """(name, dtype, shape, bytes) of a safetensors member."""
    length = struct.unpack("<Q", member[:8])[0]
    header, data = json.loads(member[8 : 8 + length]), member[8 + length :]
    for name, entry in header.items():
        if name != "__metadata__":
            begin, end = entry["data_offsets"]
            yield name, entry["dtype"], entry["shape"], data[begin:end]


def weights_digest(members):
    """One line a tensor, ascending by name; a tensor may be in any of the members, and in one alone."""
    lines = {}
    for member in members:
        for name, dtype, shape, data in tensors(member):
            if name in lines:
                sys.exit(f"same-bits: {name} stands in two members")
            lines[name] = f"{name} {dtype} {shape} {hashlib.sha256(data).hexdigest()}\n"
    if not lines:
        sys.exit("same-bits: no final weights")
    return hashlib.sha256("".join(lines[name] for name in sorted(lines)).encode()).hexdigest()


def losses_digest(journal):
    """Type and bits of every loss, in order; steps without one do not count."""
    column = b""
    for at in range(0, len(journal), RECORD_BYTES):
        kind = journal[at + LOSS_TYPE : at + LOSS_TYPE + 4]
        if struct.unpack("<i", kind)[0] >= 0:
            column += kind + journal[at + LOSS_BITS : at + LOSS_BITS + 8]
    return hashlib.sha256(column).hexdigest()


def json_digest(value):
    """Of the canonical text: keys here are ASCII, so Python's order is RFC 8785's."""
    text = json.dumps(value, separators=(",", ":"), sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()


def digests(reprise, archive):
    listed = json.loads(command(reprise, "inspect", archive, "--json"))
    names = [member["name"] for member in listed["members"]]

    def member(name):
        return command(reprise, "inspect", archive, "--member", name)

    finals = sorted(name for name in names if name.startswith("weights/final"))
    found = {"weights": weights_digest(map(member, finals)), "losses": losses_digest(member("run/journal.bin"))}
    if "outputs/predictions.csv" in names:
        found["predictions"] = hashlib.sha256(member("outputs/predictions.csv")).hexdigest()
    if "outputs/metrics.json" in names:
        metrics = json.loads(member("outputs/metrics.json"))
        figures = [metrics[part].pop("figures", None) for part in ("training", "validation") if part in metrics]
        if "outputs/reference.json" in names:
            figures.append(json.loads(member("outputs/reference.json")))
        found["metrics"] = json_digest(metrics)
        found["figures"] = json_digest(figures)
    return found


def results(reprise, branch, scratch):
    """Runs everything in a copy of the folders, so that recipes find their data and a child its parent."""
    tree = scratch / "tree"
    for folder in ("examples", "golden"):
        shutil.copytree(SOURCE / folder, tree / folder)
    data = SOURCE.parent / "shared" / "data"
    if data.is_dir():
        shutil.copytree(data, scratch / "shared" / "data")
    found, skipped = {}, []
    for recipe in sorted(path for folder in ("examples", "golden") for path in (tree / folder).rglob("*.yaml")):
        case = str(recipe.relative_to(tree).with_suffix(""))
        words = recipe.read_text()
        data = recipe.parent / re.split(r"\b(?:csv|text|arrays):", words, maxsplit=1)[1].split()[0].rstrip(",")
        if not data.exists():
            skipped.append(case)
            continue
        archive = recipe.with_suffix(".reprise")
        archive.unlink(missing_ok=True)
        command(reprise, "run", recipe, "-o", archive)
        found[case] = digests(reprise, archive)
    command(branch, scratch / "branch.reprise")
    found["examples/branch"] = digests(reprise, scratch / "branch.reprise")
    for archive in sorted((SOURCE / "golden").glob("*.reprise")):
        found[f"golden/{archive.name}"] = digests(reprise, archive)
    return found, skipped


def main():
    words = sys.argv[1:]
    record = "--record" in words
    if len(words) < 2:
        sys.exit(__doc__)
    with tempfile.TemporaryDirectory() as scratch:
        found, skipped = results(words[0], words[1], pathlib.Path(scratch))
    lines = [f"{digest}  {case} {what}" for case in sorted(found) for what, digest in sorted(found[case].items())]
    if record:
        if skipped:
            sys.exit(f"same-bits: cannot record without the data of {', '.join(skipped)}")
        LIST.write_text("".join(line + "\n" for line in lines))
        return
    for case in skipped:
        print(f"SKIPPED: {case}: its data are not in ../shared/data")
    listed = LIST.read_text().splitlines()
    missing = [line for line in listed if line not in lines and line.split()[1] not in skipped]
    new = [line for line in lines if line not in listed]
    for line in missing:
        print(f"expected {line}")
    for line in new:
        print(f"found    {line}")
    print(f"{len(lines)} digests of {len(found)} runs, {len(missing)} not as listed, {len(new)} not in the list")
    sys.exit(1 if missing or new or not lines else 0)


main()
