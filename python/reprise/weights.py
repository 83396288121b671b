# SPDX-License-Identifier: Apache-2.0
"""safetensors as archives hold them (audit/FORMAT.md 7): the header canonical, by falling element size, then name."""
from __future__ import annotations

import os
import struct
from collections.abc import Mapping
from typing import Any

import numpy as np

from .command import canonical

NAMES = {"f4": "F32", "f8": "F64", "i4": "I32", "i8": "I64", "b1": "BOOL", "f2": "F16", "i1": "I8", "u1": "U8",
         "i2": "I16", "u4": "U32"}


def write_safetensors(path: str | os.PathLike[str], tensors: Mapping[str, np.ndarray[Any, Any]]) -> None:
    """Writes tensors; the same tensors give the same bytes."""
    header, at = {}, 0
    order = sorted(tensors, key=lambda n: (-tensors[n].itemsize, n.encode()))
    for name in order:
        a = tensors[name]
        kind = a.dtype.str[1:]
        if kind not in NAMES:
            raise TypeError(f"tensor {name}: {a.dtype} is none of {', '.join(NAMES.values())}")
        header[name] = {"data_offsets": [at, at + a.nbytes], "dtype": NAMES[kind], "shape": list(a.shape)}
        at += a.nbytes
    text = canonical(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as f:
        f.write(struct.pack("<Q", len(text)) + text)
        for name in order:
            f.write(np.ascontiguousarray(tensors[name], tensors[name].dtype.newbyteorder("<")).tobytes())
