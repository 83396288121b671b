#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The networks of networks_torch.py, exported to ONNX and answered by ONNX Runtime, for models_torch.py --answer --onnx."""
import io
import sys

import onnxruntime
import torch

import models_torch
from networks_torch import loaded


class Answer(torch.nn.Module):
    """What ONNX has no dictionary for: inputs in the order of their names."""

    def __init__(self, model, names):
        super().__init__()
        self.model, self.names = model, names

    def forward(self, *tensors):
        return self.model.answer(dict(zip(self.names, tensors)))


def exported(name, path):
    """The model as bytes, and its feeds."""
    model, data = loaded(name, path)
    data = {n: x for n, x in data.items() if n not in ("labels", "target")}
    module, file = Answer(model, list(data)).eval(), io.BytesIO()
    names = ["in_" + n for n in data]
    torch.onnx.export(module, tuple(data.values()), file, input_names=names, dynamo=False, opset_version=18)
    return file.getvalue(), {n: x.numpy() for n, x in zip(names, data.values())}


def main(name, threads, path):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
    model, feeds = exported(name, path)
    session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    models_torch.answer_lines({"onnxruntime": lambda: session.run(None, feeds)[0]})


if __name__ == "__main__":
    main(sys.argv[2], int(sys.argv[3]), sys.argv[4])
