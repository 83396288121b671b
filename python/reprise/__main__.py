# SPDX-License-Identifier: Apache-2.0
"""`python -m reprise import MODEL -o PROGRAM.json WEIGHTS.safetensors` and `python -m reprise export RUN.reprise -o
MODEL.onnx`; every other word is the command's."""
from __future__ import annotations

import argparse
import os
import subprocess
import sys


def main(words: list[str]) -> int:
    doors = {"import": import_model, "export": export_model}
    if words[:1] and words[0] in doors:
        return doors[words[0]](words[1:])
    from .command import executable
    return subprocess.call([executable(), *words])


def script() -> int:
    """`reprise` in the environment's bin: the command takes this process over, so that signals, terminal and exit are its own."""
    words = sys.argv[1:]
    if words[:1] in (["import"], ["export"]):
        return main(words)
    from .command import executable
    found = executable()
    if os.path.samefile(found, sys.argv[0]):
        print("reprise: the package was installed without the command: REPRISE_COMMAND names one", file=sys.stderr)
        return 5
    os.execv(found, [found, *words])


def import_model(words: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m reprise import", description="An ONNX model, or a TensorFlow SavedModel, as a program of Reprise.")
    parser.add_argument("model", help="the ONNX file, or the SavedModel's folder")
    parser.add_argument("-o", "--out", nargs=2, required=True, metavar=("PROGRAM.json", "WEIGHTS.safetensors"))
    parser.add_argument("--shape", action="append", default=[], metavar="NAME=N",
                        help="the length of a dimension that the model names, or of NAME.AXIS of an input")
    parser.add_argument("--output", action="append", metavar="NAME", help="an output of the model that is wanted (default: all)")
    parser.add_argument("--signature", default="serving_default", metavar="NAME", help="of a SavedModel (default: serving_default)")
    parser.add_argument("--tag", default="serve", help="of a SavedModel (default: serve)")
    parser.add_argument("--converter", metavar="PYTHON", help="the Python of an environment with tf2onnx and tensorflow")
    parser.add_argument("--force", action="store_true", help="replace files that are there")
    given = parser.parse_args(words)
    from .onnx import Unsupported, ValuesDiffer, convert, load
    try:
        model, shapes = given.model, {name: int(n) for name, _, n in (s.rpartition("=") for s in given.shape)}
        if os.path.isdir(model):
            model = convert(model, signature=given.signature, tag=given.tag, converter=given.converter, shapes=shapes)
        found = load(model, shapes=shapes, outputs=given.output)
    except (Unsupported, ValuesDiffer, ImportError, OSError, ValueError) as e:
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
        several = found.counts.get(name)
        counted = f", along axis {several[0]} as many as result {several[1]} says" if several else ""
        print(f"output {name}: result {own} {dtype}{list(shape)}{counted}")
    print(f"{len(found.weights)} weights, {len(found.program.instructions)} instructions")
    return 0


def export_model(words: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m reprise export", description="An archive's program as an ONNX model.")
    parser.add_argument("archive", help="the archive")
    parser.add_argument("-o", "--out", required=True, metavar="MODEL.onnx")
    parser.add_argument("--program", type=int, metavar="N", help="the program's number (default: the last that updates no state)")
    parser.add_argument("--output", action="append", metavar="NAME", help="a result that the model gives (repeatable)")
    parser.add_argument("--input", action="append", default=[], metavar="NAME", help="data or a state that is given with each call")
    parser.add_argument("--opset", type=int, metavar="N", help="ONNX's version of the operators")
    parser.add_argument("--rows", choices=("auto", "any", "fixed"), default="auto",
                        help="any number of rows where the program keeps them apart (auto), or an error where not (any)")
    parser.add_argument("--force", action="store_true", help="replace a file that is there")
    given = parser.parse_args(words)
    from . import Error
    from .onnx import Unsupported, save
    from .onnx.export import OPSET
    try:
        made = save(given.archive, given.out, program=given.program, outputs=given.output, inputs=given.input, rows=given.rows,
                    opset=OPSET if given.opset is None else given.opset, force=given.force)
    except (Unsupported, Error, OSError, ValueError, IndexError, RecursionError) as e:
        print(f"export: {given.archive}: {e}", file=sys.stderr)
        return 5 if isinstance(e, Unsupported) else 2 if isinstance(e, FileExistsError) else 1
    for word, part in (("input", made.inputs), ("output", made.outputs)):
        for name, (dtype, shape) in part.items():
            print(f"{word} {name}: {dtype}[{', '.join('rows' if n is None else str(n) for n in shape)}]")
    print(f"opset {made.opset}, {'the number of rows is fixed: ' + made.fixed if made.fixed else 'any number of rows'}")
    if "reprise.prepared" in made.metadata:
        print(made.metadata["reprise.prepared"])
    if made.dropped:
        print(f"left out: the updates of {', '.join(made.dropped)}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
