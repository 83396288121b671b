#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""ONNX files that other packages carry, imported and computed beside onnxruntime on drawn inputs.

    pip download --no-deps -d wheels silero-vad magika ... ; python bench/doors/packaged_onnx.py wheels/*.whl [FILE.onnx ...]

A file is `within` where every result is within 1e-5 of its greatest element. Else both sides are compared with the same model in
binary64: `nearer` where ours is the nearer one. A file with quantised steps, in which a last bit can turn a rounding, is `turned`
where onnxruntime's own results move as far (a tenth of it) when it does not optimise, or when its inputs and weights move by a
millionth. Anything else is
WRONG, which is the exit status 1. What is not imported is `refused` by name."""
from __future__ import annotations

import collections
import hashlib
import os
import re
import sys
import tempfile
import warnings
import zipfile
from collections.abc import Iterator
from typing import Any

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, numpy_helper

from reprise import onnx as door

warnings.filterwarnings("ignore")
onnxruntime.set_default_logger_severity(4)
BOUND, SMALL = 1e-5, 64
QUANTISED = ("QuantizeLinear", "DynamicQuantizeLinear", "DynamicQuantizeLSTM")
LEVELS = onnxruntime.GraphOptimizationLevel
TRIES = ({"image": 64}, {"image": 320, "long": 512, "top": 2}, {"image": 32, "top": 2}, {"long": 512, "top": 2})  # of what has no length


def files(paths: list[str], folder: str) -> Iterator[tuple[str, str]]:
    for path in paths:
        if path.endswith(".onnx"):
            yield os.path.basename(path), path
        else:
            with zipfile.ZipFile(path) as z:
                for name in z.namelist():
                    if name.endswith((".onnx", ".onnx.data", ".onnx_data")):
                        z.extract(name, os.path.join(folder, os.path.basename(path)))
                for name in sorted(n for n in z.namelist() if n.endswith(".onnx")):
                    yield f"{os.path.basename(path).split('-')[0]}: {name}", os.path.join(folder, os.path.basename(path), name)


def session(path: str | bytes, level: Any = LEVELS.ORT_ENABLE_ALL) -> Any:
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level, options.intra_op_num_threads = level, 1
    return onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])


def drawn(found: Any, image: int = 64, long: int = 16, top: int = 4) -> dict[str, Any]:
    rng = np.random.default_rng(0)
    feeds: dict[str, Any] = {}
    for i in found.get_inputs():
        shape = [d if isinstance(d, int) and d > 0 else 1 if k == 0 and len(i.shape) != 3 or "batch" in str(d) else 3 if len(i.shape) == 4
                 and k == 1 else image if len(i.shape) == 4 or re.search("height|width", str(d)) else 1 if k == 0 else long
                 for k, d in enumerate(i.shape)]
        if i.name == "state" and len(shape) == 3:  # [2, batch, units]
            shape[1] = 1
        kind = {"tensor(float)": np.float32, "tensor(double)": np.float64, "tensor(int32)": np.int32, "tensor(bool)": np.bool_,
                "tensor(uint8)": np.uint8}.get(i.type, np.int64)
        if np.dtype(kind).kind == "f":
            feeds[i.name] = rng.normal(size=shape).astype(kind)
        elif "mask" in i.name or kind is np.bool_:
            feeds[i.name] = np.ones(shape, kind)
        else:
            feeds[i.name] = np.full(shape, 16000, kind) if i.name in ("sr", "sample_rate") else rng.integers(1, top, shape).astype(kind)
    return feeds


def imported(model: Any, feeds: dict[str, Any], outputs: list[str]) -> dict[str, Any]:
    """Our results; small inputs that decide a shape or a branch are constants."""
    shapes = {f"{k}.{i}": n for k, a in feeds.items() for i, n in enumerate(a.shape)}
    constants: dict[str, Any] = {}
    while True:
        try:
            found = door.load(model, shapes=shapes, constants=constants, outputs=outputs)
            return found.compile()(**{k: a for k, a in feeds.items() if k in found.inputs})  # type: ignore[no-any-return]
        except door.NeedsConstant as e:
            new = {n: feeds[n] for n in e.names if n not in constants and n in feeds and feeds[n].size <= SMALL}
            if not new:
                raise
            constants.update(new)


def far(a: dict[str, Any], b: dict[str, Any]) -> float:
    """The greatest distance of a result over its greatest element in b; infinite where shapes differ."""
    most = 0.0
    for name, y in b.items():
        x, y = np.asarray(a[name], np.float64), np.asarray(y, np.float64)
        if x.shape != y.shape or not (np.isfinite(x) == np.isfinite(y)).all():
            return float("inf")
        kept = np.isfinite(y)
        most = max(most, float(np.abs(x - y)[kept].max(initial=0) / (np.abs(y[kept]).max(initial=0) or 1)))
    return most


def widened(graph: Any) -> None:
    """binary32 becomes binary64."""
    for t in [*graph.initializer, *(a.t for n in graph.node for a in n.attribute if a.type == a.TENSOR)]:
        if t.data_type == TensorProto.FLOAT:
            t.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(t).astype(np.float64), t.name))
    for v in [*graph.input, *graph.output, *graph.value_info]:
        if v.type.tensor_type.elem_type == TensorProto.FLOAT:
            v.type.tensor_type.elem_type = TensorProto.DOUBLE
    for n in graph.node:
        for a in n.attribute:
            if a.name == "to" and a.i == TensorProto.FLOAT:
                a.i = TensorProto.DOUBLE
            if a.type == a.GRAPH:
                widened(a.g)


def judged(path: str) -> tuple[str, str]:
    found, feeds, raw, why = session(path), {}, None, ""
    for sizes in TRIES:
        feeds = drawn(found, **sizes)
        try:
            raw = found.run(None, feeds)
            break
        except Exception as e:  # what the guessed lengths do not fit
            why = str(e)[:120]
    if raw is None:
        return "not run by onnxruntime", why
    names = [o.name for o in found.get_outputs()]
    theirs = {n: a for n, a in zip(names, raw) if isinstance(a, np.ndarray) and a.dtype.kind != "O"}
    try:
        ours = imported(path, feeds, list(theirs))
    except door.Unsupported as e:
        return "refused", str(e)
    distance = far(ours, theirs)
    if distance <= BOUND:
        return "within", f"{distance:.1e}"
    model = onnx.load(path)
    if any(n.op_type in QUANTISED for n in model.graph.node):
        plain = dict(zip(names, session(path, LEVELS.ORT_DISABLE_ALL).run(None, feeds)))
        rng = np.random.default_rng(1)
        moved = {k: a * (1 + 1e-6 * rng.normal(size=a.shape)).astype(a.dtype) if a.dtype.kind == "f" else a for k, a in feeds.items()}
        for t in model.graph.initializer:
            if t.data_type == TensorProto.FLOAT:
                a = numpy_helper.to_array(t)
                t.CopyFrom(numpy_helper.from_array((a * (1 + 1e-6 * rng.normal(size=a.shape))).astype(np.float32), t.name))
        own = max(far({k: plain[k] for k in theirs}, theirs), far(dict(zip(names, found.run(None, moved))), theirs),
                  far(dict(zip(names, session(model.SerializeToString()).run(None, feeds))), theirs))
        return "turned" if distance <= 10 * own else "WRONG", f"{distance:.1e}, onnxruntime's own {own:.1e}"
    widened(model.graph)
    exact = imported(model, {k: a.astype(np.float64) if a.dtype == np.float32 else a for k, a in feeds.items()}, list(theirs))
    mine, other = far(ours, exact), far(theirs, exact)
    return "nearer" if mine < other else "WRONG", f"{distance:.1e}; from binary64 {mine:.1e}, onnxruntime {other:.1e}"


def main() -> int:
    counts: collections.Counter[str] = collections.Counter()
    seen = set()
    with tempfile.TemporaryDirectory() as folder:
        for name, path in files(sys.argv[1:], folder):
            with open(path, "rb") as f:
                digest = hashlib.sha256(f.read()).digest()
            if digest not in seen:
                seen.add(digest)
                kind, words = judged(path)
                counts[kind] += 1
                print(f"{name}: {kind} {words}"[:260], flush=True)
    print(f"{len(seen)} files: " + ", ".join(f"{n} {kind}" for kind, n in counts.most_common()))
    return int(counts["WRONG"] > 0 or not seen)


if __name__ == "__main__":
    sys.exit(main())
