# SPDX-License-Identifier: Apache-2.0
"""`python -m reprise import MODEL.onnx -o PROGRAM.json WEIGHTS.safetensors`; every other word is the command's."""
from __future__ import annotations

import argparse
import os
import subprocess
import sys


def main(words: list[str]) -> int:
    if words[:1] != ["import"]:
        from .command import executable
        return subprocess.call([executable(), *words])
    parser = argparse.ArgumentParser(prog="python -m reprise import", description="An ONNX model as a program of Reprise.")
    parser.add_argument("model", help="the ONNX file")
    parser.add_argument("-o", "--out", nargs=2, required=True, metavar=("PROGRAM.json", "WEIGHTS.safetensors"))
    parser.add_argument("--shape", action="append", default=[], metavar="NAME=N",
                        help="the length of a dimension that the model names, or of NAME.AXIS of an input")
    parser.add_argument("--force", action="store_true", help="replace files that are there")
    given = parser.parse_args(words[1:])
    from .onnx import Unsupported, load
    try:
        found = load(given.model, shapes={name: int(n) for name, _, n in (s.rpartition("=") for s in given.shape)})
    except (Unsupported, OSError, ValueError) as e:
        print(f"import: {given.model}: {e}", file=sys.stderr)
        return 5 if isinstance(e, Unsupported) else 1
    there = [p for p in given.out if os.path.exists(p)]
    if there and not given.force:
        print(f"import: {there[0]} exists; --force replaces it", file=sys.stderr)
        return 2
    found.save(*given.out)
    for name, (own, dtype, shape) in found.inputs.items():
        print(f"input {name}: feed {own} {dtype}{list(shape)}")
    for name, (own, dtype, shape) in found.outputs.items():
        print(f"output {name}: result {own} {dtype}{list(shape)}")
    print(f"{len(found.weights)} weights, {len(found.program.instructions)} instructions")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
