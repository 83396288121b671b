# SPDX-License-Identifier: Apache-2.0
"""TensorFlow SavedModels as ONNX models, by the ONNX project's own converter: the package tf2onnx, called as a process of
its own, so that TensorFlow is neither imported here nor has to be in this environment. What comes of it is compared with
TensorFlow itself, as the converter has translations with other values."""
from __future__ import annotations

import importlib
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from typing import Any

import numpy as np

from .._core import Error
from .graph import HANDLERS, TENSORFLOW, Unsupported

OPSET = 18  # the newest that the converter is tested with
VARIABLE = "REPRISE_TENSORFLOW"
TOLERANCE = 1e-4  # of the largest element of an output
ADVICE = ("a SavedModel needs TensorFlow and its converter to ONNX: pip install tf2onnx tensorflow, here or in an environment of "
          f"its own, whose Python converter= (--converter, or the variable {VARIABLE}) names")


class ValuesDiffer(Error, ArithmeticError):
    """The converted model's values are not TensorFlow's within the tolerance."""


def is_saved_model(path: Any) -> bool:
    """A folder, as every other model is a file."""
    return isinstance(path, (str, os.PathLike)) and os.path.isdir(path)


def convert(folder: str | os.PathLike[str], out: str | os.PathLike[str] | None = None, *, signature: str = "serving_default",
            tag: str = "serve", shapes: Mapping[str, int] | None = None, constants: Mapping[str, Any] | None = None,
            converter: str | None = None, check: bool = True, tolerance: float = TOLERANCE) -> bytes:
    """The ONNX model of a SavedModel's signature, for `load` and `into`; also written to `out` where that is given.

    converter   the Python of an environment with tf2onnx and tensorflow; without it the one that REPRISE_TENSORFLOW names,
                else this one
    check       the program's outputs are compared with TensorFlow's, for one batch of drawn inputs of the lengths that
                `shapes` gives, else 2; beyond the tolerance ValuesDiffer is raised
    constants   as of `load`

    Raises Unsupported, which names the operators, where the converter leaves some as they are, and ModuleNotFoundError
    where there is no converter."""
    folder = os.path.abspath(os.fspath(folder))
    if not os.path.isfile(os.path.join(folder, "saved_model.pb")):
        raise FileNotFoundError(f"{folder} has no saved_model.pb: no SavedModel, or one of another format")
    python = converter or os.environ.get(VARIABLE) or sys.executable
    if python == sys.executable and not all(importlib.util.find_spec(n) for n in ("tf2onnx", "tensorflow")):
        raise ModuleNotFoundError(ADVICE)
    own = [name for name in sorted(HANDLERS) if name.startswith(f"{TENSORFLOW}.")]  # what ONNX lacks and is taken all the same
    with tempfile.TemporaryDirectory() as made:
        path, values, fixed = (os.path.join(made, n) for n in ("model.onnx", "values.npz", "constants.npz"))
        if constants:
            arrays: Any = {f"c.{n}": np.asarray(a) for n, a in constants.items()}
            np.savez(fixed, **arrays)
        asked = {"folder": folder, "tag": tag, "signature": signature, "out": path, "values": values if check else "",
                 "constants": fixed if constants else "", "shapes": dict(shapes or {}),
                 "convert": ["--saved-model", folder, "--output", path, "--opset", str(OPSET), "--tag", tag, "--signature_def",
                             signature, "--custom-ops", ",".join(f"{n.rpartition('.')[2]}:{TENSORFLOW}" for n in own),
                             "--extra_opset", f"{TENSORFLOW}:1"]}
        with open(os.path.join(os.path.dirname(__file__), "tensorflow_side.py"), encoding="utf-8") as f:
            call = [python, "-c", f.read(), json.dumps(asked)]
        done = subprocess.run(call, capture_output=True, text=True, errors="replace", cwd=made, check=False,
                              env={**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": "-1"})
        model = b""
        if os.path.isfile(path):
            with open(path, "rb") as g:
                model = g.read()
        left = untranslated(model) if model else []
        if left:
            raise Unsupported(f"TensorFlow's {', '.join(left)}, which the converter has no translation of", left[0])
        if done.returncode or not model:
            raise failure(done.stderr, bool(model))
        if check:
            with np.load(values) as found:
                compare(model, dict(found), constants, tolerance)
    if out is not None:
        with open(out, "wb") as h:
            h.write(model)
    return model


def failure(text: str, converted: bool) -> Exception:
    """What the other process ended with: its last line."""
    for name in ("tf2onnx", "tensorflow"):
        if f"No module named '{name}'" in text or f"No module named {name}" in text:
            return ModuleNotFoundError(ADVICE)
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    last = lines[-1] if lines else "without a word"
    return Unsupported(f"TensorFlow could not be asked for values to compare with: {last}; lengths other than 2 are given as shapes="
                       if converted else f"the converter failed: {last}")


def compare(model: bytes, values: dict[str, Any], constants: Mapping[str, Any] | None, tolerance: float) -> None:
    """The program's outputs beside TensorFlow's."""
    feeds = {n[2:]: a for n, a in values.items() if n.startswith("x.")}
    shapes = {f"{n}.{i}": d for n, a in feeds.items() for i, d in enumerate(a.shape)}
    imported = importlib.import_module("reprise.onnx").load(model, shapes=shapes, constants=constants)
    found = imported.compile()(**{n: feeds[n] for n in imported.inputs})
    for name, ours in found.items():
        if f"y.{name}" not in values:
            raise ValuesDiffer(f"output {name}: TensorFlow has {', '.join(n[2:] for n in values if n.startswith('y.'))}")
        theirs = values[f"y.{name}"]
        if ours.shape != theirs.shape:
            raise ValuesDiffer(f"output {name} has the shape {list(ours.shape)}, TensorFlow's is {list(theirs.shape)}")
        a, b = ours.astype(np.float64), theirs.astype(np.float64)
        with np.errstate(invalid="ignore"):
            far = np.where((a == b) | np.isnan(a) & np.isnan(b), 0.0, np.abs(a - b))
        top = float(np.max(np.abs(np.where(np.isfinite(b), b, 0)), initial=0)) if theirs.dtype.kind == "f" else 0.0
        worst = float(np.max(far, initial=0))
        if not worst <= tolerance * top:
            raise ValuesDiffer(f"output {name} differs from TensorFlow's by {worst:.3g}, its largest element being {np.max(np.abs(b)):.3g}:"
                               " the converter's translation of some operator has other values; a tolerance= may be given")


def untranslated(model: bytes) -> list[str]:
    """Operators that the converter left under TensorFlow's names: it says so in its log alone, and ends as if all was well."""
    onnx = importlib.import_module("onnx")
    found: set[str] = set()

    def look(graph: Any) -> None:
        for node in graph.node:
            if node.domain in ("", "ai.onnx") and not onnx.defs.has(node.op_type):
                found.add(node.op_type)
            for a in node.attribute:
                for inner in ([a.g] if a.HasField("g") else []) + list(a.graphs):
                    look(inner)
    look(onnx.load_model_from_string(model).graph)
    return sorted(found)
