#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Answers of ONNX models beside onnxruntime, turn by turn, in the processor's time of one thread; the least of turns is shown.

    onnx_speed.py [NAME ..] [WHEEL:FILE.onnx:1x3x640x640 ..]

A NAME is a model of torchvision with drawn weights, which torch writes; without any, the seven of docs/python-onnx.md. The other
form is a file in a wheel of the index with the shape of its first input."""
from __future__ import annotations

import contextlib
import io
import sys
import time
import warnings
import zipfile

import numpy as np
import onnxruntime

from reprise import onnx as door

warnings.filterwarnings("ignore")
onnxruntime.set_default_logger_severity(4)
NAMES = ("resnet18", "googlenet", "densenet121", "efficientnet_b0", "mobilenet_v2", "mobilenet_v3_small", "shufflenet_v2_x1_0")
TURNS = 15


def written(name):
    """A model of torchvision as ONNX, and its image's shape."""
    import torch
    import torchvision
    torch.set_num_threads(1)
    model, shape = getattr(torchvision.models, name)(weights=None).eval(), (1, 3, 128, 128) if name == "googlenet" else (1, 3, 96, 96)
    with contextlib.redirect_stdout(io.StringIO()):
        program = torch.onnx.export(model, (torch.zeros(shape),), dynamo=True, verbose=False)
    return program.model_proto.SerializeToString(), shape


def seconds(call):
    start = time.process_time()
    found = call()
    return time.process_time() - start, found


def main():
    print(f"onnxruntime {onnxruntime.__version__}; the processor's milliseconds an answer, one thread, the least of {TURNS}\n"
          "| model | image | reprise.onnx | onnxruntime | ratio | largest difference |\n|---|---|---|---|---|---|")
    for given in sys.argv[1:] or NAMES:
        if ":" in given:
            wheel, file, size = given.split(":")
            with zipfile.ZipFile(wheel) as z:
                data, shape = z.read(file), tuple(map(int, size.split("x")))
        else:
            (data, shape), file = written(given), given
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        session = onnxruntime.InferenceSession(data, options, providers=["CPUExecutionProvider"])
        name = session.get_inputs()[0].name
        model = door.load(data, shapes={f"{name}.{i}": n for i, n in enumerate(shape)})
        call, x = model.compile(threads=1), np.random.default_rng(0).normal(size=shape).astype(np.float32)
        ours, theirs, far = [], [], 0.0
        for _ in range(TURNS):
            (a, y), (b, z) = seconds(lambda: call(**{name: x})), seconds(lambda: session.run(None, {name: x}))
            ours.append(a)
            theirs.append(b)
            far = max(float(np.abs(y[o.name] - t).max() / np.abs(t).max()) for o, t in zip(session.get_outputs(), z))
        a, b = min(ours), min(theirs)
        print(f"| {file.split('/')[-1]} | {'x'.join(map(str, shape[2:]))} | {a * 1e3:.2f} | {b * 1e3:.2f} | {a / b:.2f} | {far:.1e} |", flush=True)


if __name__ == "__main__":
    main()
