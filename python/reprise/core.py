# SPDX-License-Identifier: Apache-2.0
"""What the extension has, under the names that users see."""
from __future__ import annotations

import numpy

from . import _core
from ._core import (ArgumentError, BitsError, Builder, Canceled, Compiled, DataError, EnvironmentError_, Error,
                    ExistsError, FileError, FormatError, Function, HashError, OutOfMemory, Program, Recorder, Run,
                    ShapeError, SignatureError, Tensor, UnsupportedError, from_dlpack, set_threads)

f32, f64, i32, i64, bool_, bf16 = "f32", "f64", "i32", "i64", "bool", "bf16"
f16, i8, u8, i16, u32 = "f16", "i8", "u8", "i16", "u32"
tensor = Tensor

__all__ = ["ArgumentError", "BitsError", "Builder", "Canceled", "Compiled", "DataError", "EnvironmentError_", "Error",
           "ExistsError", "FileError", "FormatError", "Function", "HashError", "OutOfMemory", "Program", "Recorder",
           "Run", "ShapeError", "SignatureError", "Tensor", "UnsupportedError", "from_dlpack", "set_threads", "tensor",
           "f32", "f64", "i32", "i64", "bool_", "bf16", "f16", "i8", "u8", "i16", "u32"]


def _show(x: Tensor) -> str:
    """The elements as numpy writes them, and the type."""
    elements = x.cast(f32) if x.dtype == bf16 else x
    text = numpy.array2string(numpy.asarray(elements), separator=", ", threshold=100, prefix="Tensor(")
    return f"Tensor({text}, {x.dtype}[{','.join(map(str, x.shape))}])"


_core.set_show(_show)
