# SPDX-License-Identifier: Apache-2.0
"""What an exported model is made of: nodes, initializers and names, and the two layouts that a value may be in.

Programs have the channels of images last, ONNX has them first. A value of four axes keeps the layout in which it was made,
and is turned around when somebody needs the other one: so transposes that would cancel are never written."""
from __future__ import annotations

import hashlib
import importlib
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..graph import Unsupported

NUMPY: dict[str, Any] = {"f32": np.float32, "f64": np.float64, "i32": np.int32, "i64": np.int64, "bool": np.bool_, "i8": np.int8,
                         "u8": np.uint8, "i16": np.int16, "u32": np.uint32, "f16": np.float16}
TYPES = {"f32": "FLOAT", "f64": "DOUBLE", "i32": "INT32", "i64": "INT64", "bool": "BOOL", "i8": "INT8", "u8": "UINT8",
         "i16": "INT16", "u32": "UINT32", "f16": "FLOAT16", "bf16": "BFLOAT16"}
FIRST, LAST = [0, 3, 1, 2], [0, 2, 3, 1]


def numpy_type(dtype: str) -> Any:
    """NumPy's type of a program's elements; bf16 is of ml_dtypes, on which onnx stands."""
    return importlib.import_module("ml_dtypes").bfloat16 if dtype == "bf16" else NUMPY[dtype]


@dataclass
class Value:
    """A value of the program: `last` is its name in the layout of the program, `first` with the channels in front, `thin`
    a name and shape that broadcast to it. `row` is the axis of its rows and how many of its places one row has."""

    dtype: str
    shape: tuple[int, ...]
    last: str | None = None
    first: str | None = None
    thin: tuple[str, tuple[int, ...]] | None = None
    row: tuple[int, int] | None = None
    weight: tuple[str, Any] | None = None  # a state or data: its name and elements
    turned: tuple[Value, list[int]] | None = None  # a value whose axes it has in another order, where that is not written yet
    conv: Any = None  # the node of a convolution that may take an addend of channels


@dataclass
class Call:
    """One instruction as its handler sees it."""

    op: str
    attributes: Mapping[str, Any]
    ins: list[Value]
    outs: list[tuple[tuple[int, ...], str]]
    place: str
    rows: list[tuple[int, int] | None] = field(default_factory=list)

    def real(self, name: str) -> float:
        return float(self.attributes[name])

    def whole(self, name: str) -> int:
        return int(self.attributes[name])

    def ints(self, name: str) -> list[int]:
        return [int(n) for n in self.attributes[name]]

    def refuse(self, why: str) -> Unsupported:
        return Unsupported(f"{self.place}: {why}", self.op)


Handler = Callable[["Writer", Call], "list[Value]"]
HANDLERS: dict[str, Handler] = {}
ONE: dict[str, str] = {}  # operations that are one operator of ONNX
COMPOSED: dict[str, str] = {}  # and those written in several, with a word on how
REFUSED: dict[str, str] = {}  # and those that ONNX does not have, with the reason


def one(**names: str) -> Callable[[Handler], Handler]:
    """Registers a handler for operations that become one operator: operation=operator."""
    def register(f: Handler) -> Handler:
        for op, kind in names.items():
            HANDLERS[op], ONE[op] = f, kind
        return f
    return register


def composed(**how: str) -> Callable[[Handler], Handler]:
    """Registers a handler for operations that are written in several operators: operation=how."""
    def register(f: Handler) -> Handler:
        for op, words in how.items():
            HANDLERS[op], COMPOSED[op] = f, words
        return f
    return register


class Writer:
    """Nodes and initializers in the order in which they are written."""

    def __init__(self, opset: int) -> None:
        self.onnx = importlib.import_module("onnx")
        self.opset = opset
        self.nodes: list[Any] = []
        self.initializers: dict[str, Any] = {}
        self.constants: dict[Any, str] = {}
        self.taken: set[str] = set()
        self.renamed: dict[str, str] = {}
        self.weights: dict[Any, str] = {}

    # ---- names, nodes, constants ----

    def unique(self, wanted: str) -> str:
        """A name that nothing else has; what had to become another one is kept in `renamed`."""
        found, n = wanted, 1
        while found in self.taken:
            n += 1
            found = f"{wanted}.{n}"
        self.taken.add(found)
        return found

    def node(self, kind: str, *inputs: str, outputs: int = 1, **attributes: Any) -> Any:
        """Appends an operator; the name of its output, or a list of names."""
        names = [self.unique(f"{kind}_{len(self.taken)}") for _ in range(outputs)]
        made = self.onnx.helper.make_node(kind, list(inputs), names, **attributes)
        self.nodes.append(made)
        return names[0] if outputs == 1 else names

    def const(self, array: Any) -> str:
        """The name of an initializer with these elements, one for equal ones."""
        array = np.ascontiguousarray(array).reshape(np.shape(array))
        key = array.dtype.name, array.shape, hashlib.sha256(array.tobytes()).digest()
        if key not in self.constants:
            self.constants[key] = name = self.unique(f"constant_{len(self.constants)}")
            self.initializers[name] = array
        return self.constants[key]

    def scalar(self, value: float, dtype: str) -> str:
        with np.errstate(over="ignore"):
            return self.const(np.array(value).astype(numpy_type(dtype)))

    def ints(self, values: Sequence[int]) -> str:
        return self.const(np.array(list(values), np.int64).reshape(len(values)))

    def type(self, dtype: str) -> int:
        return int(getattr(self.onnx.TensorProto, TYPES[dtype]))

    # ---- values ----

    def value(self, call: Call, name: str, first: bool = False, out: int = 0) -> Value:
        """The instruction's result under a name."""
        shape, dtype = call.outs[out]
        row = call.rows[out] if call.rows else None
        return Value(dtype, shape, None if first else name, name if first else None, row=row)

    def last(self, v: Value) -> str:
        """The name of a value in the program's own layout."""
        if v.last is None and v.turned is not None:
            v.last = self.node("Transpose", self.last(v.turned[0]), perm=v.turned[1])
        if v.last is None and v.weight is not None:
            v.last = self.initializer(v, None)
        if v.last is None and v.thin is not None:
            v.last = self.node("Expand", v.thin[0], self.ints(v.shape))
        if v.last is None:
            assert v.first is not None
            v.last = self.node("Transpose", v.first, perm=LAST)
        return v.last

    def channels_first(self, v: Value) -> str:
        """The name of a value of four axes with its channels in front."""
        if v.first is None:
            v.first = self.node("Transpose", self.last(v), perm=FIRST)
        return v.first

    def initializer(self, v: Value, permutation: Sequence[int] | None) -> str:
        """A weight as an initializer under its own name, its axes in this order."""
        assert v.weight is not None
        name, array = v.weight
        array = array if permutation is None else np.transpose(array, permutation)
        key = name, array.shape, array.strides
        if key not in self.weights:
            self.weights[key] = own = self.unique(name)
            if own != name:
                self.renamed[own] = name
            self.initializers[own] = np.ascontiguousarray(array).reshape(array.shape)
        return self.weights[key]

    def thinnest(self, v: Value) -> tuple[str, tuple[int, ...]]:
        """A name and shape that broadcast to the value."""
        return v.thin if v.thin is not None else (self.last(v), v.shape)

    def alike(self, values: Sequence[Value]) -> tuple[list[str], bool]:
        """Names of operands that broadcast, in one layout, and whether that has the channels in front. It has where an image
        is there in that layout alone, and the others can be brought into it for little."""
        def fits(v: Value) -> bool:
            shape = v.thin[1] if v.thin else v.shape
            return len(shape) <= 1 or len(shape) == 4 and (v.first is not None or math.prod(shape) == shape[3])
        lengths, thin = self.joined([v.shape for v in values]), self.joined([v.thin[1] if v.thin else v.shape for v in values])
        if lengths != thin:  # an axis is there in constants alone: one of them is spread along it
            names = [self.thinnest(v)[0] for v in values]
            at = next(i for i, v in enumerate(values) if v.thin)
            thin = (*[1] * (len(lengths) - len(thin)), *thin)
            names[at] = str(self.node("Expand", names[at], self.ints([n if n != t else 1 for n, t in zip(lengths, thin)])))
            return names, False
        first = any(v.first is not None and v.last is None for v in values) and all(fits(v) for v in values)
        return [self.in_front(v) if first else self.thinnest(v)[0] for v in values], first

    @staticmethod
    def joined(shapes: Sequence[tuple[int, ...]]) -> tuple[int, ...]:
        return tuple(int(n) for n in np.broadcast_shapes(*shapes))

    def in_front(self, v: Value) -> str:
        if v.first is not None:
            return v.first
        name, shape = self.thinnest(v)
        if not shape:
            return name
        if len(shape) == 4 and v.thin is None:
            return self.channels_first(v)
        return str(self.node("Reshape", name, self.ints([shape[-1], 1, 1])))

    def count(self, v: Value) -> str:
        """How many rows' places a value has, known when the model runs: [1]."""
        assert v.row is not None
        name, axis = (v.last, v.row[0]) if v.last is not None else (self.last(v), v.row[0])
        return str(self.node("Shape", name, start=axis, end=axis + 1))
