# SPDX-License-Identifier: Apache-2.0
"""What savedmodel.py has the Python with TensorFlow do: the conversion by tf2onnx, then one call of the signature with drawn
inputs, whose values are written beside them. It is given to that Python as text, as it may have another environment, and
imports nothing of this package."""
from __future__ import annotations

import importlib
import json
import runpy
import sys
from typing import Any

import numpy as np


def drawn(rng: Any, shape: list[int], dtype: Any) -> Any:
    """Integers are 0 and 1, as they may be indices of a table."""
    if dtype.kind == "f":
        return rng.standard_normal(shape).astype(dtype)
    if dtype.kind in "iub":
        return rng.integers(0, 2, shape).astype(dtype)
    raise TypeError(f"an input of {dtype}")


def main(given: dict[str, Any]) -> None:
    sys.argv = ["tf2onnx.convert", *given["convert"]]
    runpy.run_module("tf2onnx.convert", run_name="__main__", alter_sys=False)
    if not given["values"]:
        return
    tf, onnx = importlib.import_module("tensorflow"), importlib.import_module("onnx")
    loaded = tf.saved_model.load(given["folder"], tags=[given["tag"]])
    function = loaded.signatures[given["signature"]]
    fixed = dict(np.load(given["constants"])) if given["constants"] else {}
    specs, rng = function.structured_input_signature[1], np.random.default_rng(1)
    feeds: dict[str, Any] = {}
    for info in onnx.load(given["out"], load_external_data=False).graph.input:
        dims = info.type.tensor_type.shape.dim
        lengths = [d.dim_value if d.HasField("dim_value") else
                   next((given["shapes"][k] for k in (f"{info.name}.{i}", d.dim_param) if k in given["shapes"]), 2)
                   for i, d in enumerate(dims)]
        feeds[info.name] = fixed.get(f"c.{info.name}")
        if feeds[info.name] is None:
            feeds[info.name] = drawn(rng, lengths, np.dtype(specs[info.name].dtype.as_numpy_dtype))
    found = function(**{n: tf.constant(x, specs[n].dtype) for n, x in feeds.items()})
    values: Any = {**{f"x.{n}": x for n, x in feeds.items()}, **{f"y.{n}": y.numpy() for n, y in found.items()}}
    np.savez(given["values"], **values)


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
