# SPDX-License-Identifier: Apache-2.0
"""What the extension has, under the names that users see."""
from __future__ import annotations

import numpy

from . import _core
from ._core import (ArgumentError, BitsError, Builder, Canceled, Compiled, DataError, EnvironmentError_, Error,
                    ExistsError, FileError, FormatError, Function, HashError, OutOfMemory, Program, Recorder, Run,
                    ShapeError, SignatureError, Tensor, UnsupportedError, from_dlpack, set_threads)
from .program_text import Program as _Drawn

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


def _tensor_html(x: Tensor) -> str:
    """For notebooks: type, shape, range and the first elements. Of a value that a program has yet to compute its type alone."""
    from .archive import tensor_html
    from .report_html import rows_html
    if x.symbolic:
        return rows_html("Tensor", [("type", x.dtype), ("shape", str(list(x.shape))), ("value", "of a program")])
    return tensor_html("Tensor", numpy.asarray(x.cast(f32) if x.dtype == bf16 else x), x.dtype)


def _drawn(program: Program) -> _Drawn:
    return _Drawn.from_text(program.text)


def _to_dot(self: Program) -> str:
    """The graph in the language of Graphviz: inputs above, an operation a box, a function a cluster."""
    return _drawn(self).to_dot()


def _program_svg(self: Program) -> str | None:
    """For notebooks: the drawing, where Graphviz's `dot` is installed and the program has at most 600 instructions."""
    return _drawn(self).svg()


def _program_html(self: Program) -> str:
    """For notebooks: a table of inputs and instructions."""
    return _drawn(self)._repr_html_()


_core.set_show(_show)
for _owner, _name, _method in ((Tensor, "_repr_html_", _tensor_html), (Program, "to_dot", _to_dot),
                               (Program, "_repr_svg_", _program_svg), (Program, "_repr_html_", _program_html)):
    setattr(_owner, _name, _method)
