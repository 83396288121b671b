# SPDX-License-Identifier: Apache-2.0
"""Weights that lie in a file beside the model: mapped, not read, from the model's own folder and nowhere else."""
from __future__ import annotations

import contextlib
import math
import os
import stat
from collections.abc import Iterator
from typing import Any

import numpy as np

from .graph import ONNX, Unsupported, numpy_type

PACKED = ("i4", "u4", "i2", "u2", "f4e2m1")  # more than one element a byte


def tensors(nodes: Any) -> Iterator[Any]:
    """Those that attributes of nodes hold, and branches inside of them."""
    for node in nodes:
        for a in node.attribute:
            yield from [a.t] if a.HasField("t") else a.tensors
            for graph in [a.g] if a.HasField("g") else a.graphs:
                yield from graph.initializer
                yield from tensors(graph.node)


@contextlib.contextmanager
def emptied(proto: Any) -> Iterator[None]:
    """The model while its tensors in other files are tensors of no elements: a checker that is given no path looks for the files
    in the working folder. `mapped` looks at them itself."""
    lists = [proto.graph.initializer, tensors(proto.graph.node), *(tensors(f.node) for f in proto.functions)]
    outside = [(t, type(t).FromString(t.SerializeToString())) for some in lists for t in some if t.data_location == t.EXTERNAL]
    for t, _ in outside:
        t.ClearField("data_location")
        t.ClearField("external_data")
        t.dims[:] = [0]
    try:
        yield
    finally:
        for t, kept in outside:
            t.CopyFrom(kept)


def mapped(proto: Any, kind: str, folder: str | None) -> Any:
    """A tensor whose elements lie in another file, as a view of that file; `kind` is ONNX's name of its element type."""
    name, given = proto.name, {e.key: e.value for e in proto.external_data}
    if folder is None:
        raise Unsupported(f"weights outside the file: {name}; give the model's path, so that its folder is known")
    dtype = ONNX[kind]
    if dtype in PACKED:
        raise Unsupported(f"weights outside the file of type {kind}: {name}")
    place = given.get("location", "")
    path = os.path.realpath(os.path.join(folder, place))
    inside = os.path.realpath(folder)
    if not place or os.path.isabs(place) or ".." in place.replace("\\", "/").split("/") or "\0" in place or \
            os.path.commonpath([path, inside]) != inside:
        raise Unsupported(f"the weights {name} at {place!r}, which is outside of the model's folder")
    shape, itemsize = tuple(int(d) for d in proto.dims), np.dtype(numpy_type(dtype)).itemsize
    try:
        offset = int(given.get("offset", "0"))
        length = int(given.get("length", str(math.prod(shape) * itemsize)))
    except ValueError:
        raise Unsupported(f"the weights {name}: an offset or a length that is no number") from None
    if not os.path.exists(path) or not stat.S_ISREG(os.stat(path).st_mode):
        raise Unsupported(f"the weights {name}: there is no file {place}")
    size = os.path.getsize(path)
    if any(not 0 <= d < 1 << 48 for d in shape) or length != math.prod(shape) * itemsize or offset < 0 or offset + length > size:
        raise Unsupported(f"the weights {name}: {length} bytes at {offset} of {size}, for {list(shape)} of {kind}")
    if length == 0:
        return np.zeros(shape, numpy_type(dtype))
    return np.memmap(path, numpy_type(dtype), "r", offset, shape).view(np.ndarray)
