# SPDX-License-Identifier: Apache-2.0
"""The graph that an ONNX model becomes: values that are known at import or computed by a program, element types that
programs do not have carried by ones that hold them exactly, and the program's inputs.

An element type is *carried*: i8, u8, i16, u16 as i32, u32 and u64 as i64 (the latter its bits), f16 and bf16 as f32. What
is computed is brought back into the type each time, so values are those of the type itself."""
from __future__ import annotations

import hashlib
import importlib
import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._core import UnsupportedError

Array = Any
CARRIERS = {"f32": "f32", "f64": "f64", "i32": "i32", "i64": "i64", "bool": "bool", "i8": "i32", "u8": "i32", "i16": "i32",
            "u16": "i32", "u32": "i64", "u64": "i64", "f16": "f32", "bf16": "f32", "i4": "i32", "u4": "i32", "i2": "i32",
            "u2": "i32", "f8e4m3fn": "f32", "f8e4m3fnuz": "f32", "f8e5m2": "f32", "f8e5m2fnuz": "f32", "f4e2m1": "f32"}
NUMPY = {"f32": np.float32, "f64": np.float64, "i32": np.int32, "i64": np.int64, "bool": np.bool_, "i8": np.int8,
         "u8": np.uint8, "i16": np.int16, "u16": np.uint16, "u32": np.uint32, "u64": np.uint64, "f16": np.float16}
# What other packages than NumPy have: the names of ml_dtypes, on which onnx stands.
OTHERS = {"bf16": "bfloat16", "i4": "int4", "u4": "uint4", "i2": "int2", "u2": "uint2", "f8e4m3fn": "float8_e4m3fn",
          "f8e4m3fnuz": "float8_e4m3fnuz", "f8e5m2": "float8_e5m2", "f8e5m2fnuz": "float8_e5m2fnuz",
          "f4e2m1": "float4_e2m1fn"}
BITS = {"i8": 8, "u8": 8, "i16": 16, "u16": 16, "u32": 32, "i4": 4, "u4": 4, "i2": 2, "u2": 2}
# Of a narrow float: bits of the fraction, least exponent, greatest number, and what is beyond it without saturation.
NARROW = {"f16": (10, -14, 65504.0, math.inf), "bf16": (7, -126, 3.3895313892515355e38, math.inf),
          "f8e4m3fn": (3, -6, 448.0, math.nan), "f8e4m3fnuz": (3, -7, 240.0, math.nan),
          "f8e5m2": (2, -14, 57344.0, math.inf), "f8e5m2fnuz": (2, -15, 57344.0, math.nan), "f4e2m1": (1, 0, 6.0, 6.0)}
ONNX = {"FLOAT": "f32", "DOUBLE": "f64", "INT32": "i32", "INT64": "i64", "BOOL": "bool", "INT8": "i8", "UINT8": "u8",
        "INT16": "i16", "UINT16": "u16", "UINT32": "u32", "UINT64": "u64", "FLOAT16": "f16", "BFLOAT16": "bf16", "INT4": "i4",
        "UINT4": "u4",
        "INT2": "i2", "UINT2": "u2", "FLOAT8E4M3FN": "f8e4m3fn", "FLOAT8E4M3FNUZ": "f8e4m3fnuz", "FLOAT8E5M2": "f8e5m2",
        "FLOAT8E5M2FNUZ": "f8e5m2fnuz", "FLOAT4E2M1": "f4e2m1"}
FLOATS = ("f32", "f64", *NARROW)
TENSORFLOW = "ai.onnx.converters.tensorflow"  # the domain of operators that the converter from TensorFlow leaves its own
MOST_KNOWN = 1 << 16
MOST_MASK = 1 << 24  # elements of a constant that an operator's form needs
MOST_APPENDED = 1 << 18
MOST_HELD = 1 << 30  # bytes of constants that operators make of few: of shapes, ranges and masks, beside what the file has


class Unsupported(UnsupportedError):
    """What cannot be imported, by the name of the operator, element type or form. ``operator`` is the node's."""

    def __init__(self, what: str, operator: str = "") -> None:
        super().__init__(f"{operator}: {what}" if operator else what)
        self.operator = operator


class NeedsConstant(Unsupported):
    """A program's shapes are fixed: the values of these inputs decide one and must be given to the import."""

    def __init__(self, names: frozenset[str], operator: str) -> None:
        super().__init__(f"the values of {', '.join(sorted(names))} decide a shape: give them as constants", operator)
        self.names = names


@dataclass(frozen=True)
class Length:
    """One that elements decide: at most so many, and a tensor i64 [] that counts them."""

    most: int
    count: Any


@dataclass(frozen=True)
class Value:
    """A value of the model: `known` as an array of its own type, or `tensor` of the carrier."""

    dtype: str
    shape: tuple[int, ...]
    tensor: Any = None
    known: Array = None
    of: frozenset[str] = frozenset()
    some: tuple[int, Any] | None = None  # of this axis so many elements are there, a tensor i64 []; the rest is room (ragged.py)
    lengths: Array = None  # of the numbers of a shape: an array of integers and Lengths, where that is known
    weight: tuple[str, Array] | None = None  # a state's name in the model and first value; its tensor comes with its use
    image: bool = False  # [n, c, h, w] that comes of a convolution, whose elements lie channels last: so it is moved, too

    @property
    def trained(self) -> bool:
        """Known now, and other numbers once the weight is trained that it is or comes of."""
        return self.weight is not None or self.known is not None and self.tensor is not None

    @property
    def rank(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    @property
    def real(self) -> bool:
        return self.dtype in FLOATS


def type_of(array: Array) -> str:
    for name, kind in NUMPY.items():
        if array.dtype == kind:
            return name
    for name, other in OTHERS.items():
        if array.dtype.name == other:
            return name
    raise Unsupported(f"elements of type {array.dtype.name}")


def numpy_type(dtype: str) -> Any:
    """NumPy's type of these elements."""
    return NUMPY[dtype] if dtype in NUMPY else getattr(importlib.import_module("ml_dtypes"), OTHERS[dtype])


def carried(array: Array) -> Array:
    """An array as its carrier holds it."""
    kind = type_of(array)
    if kind == "u64":
        return array.view(np.int64) if array.flags.c_contiguous else np.ascontiguousarray(array).view(np.int64)
    return np.ascontiguousarray(array.astype(NUMPY[CARRIERS[kind]])).reshape(array.shape)


def returned(array: Array, dtype: str) -> Array:
    """A carrier's array in the type itself."""
    if dtype == "u64":
        return np.ascontiguousarray(array).view(np.uint64).reshape(array.shape)
    return array.astype(numpy_type(dtype))


class Graph:
    """Appends to a Builder of programs and keeps what the import knows."""

    def __init__(self, builder: Any) -> None:
        self.builder = builder
        self.inputs: dict[str, tuple[str, Array]] = {}  # of the program: kind and first value
        self.states: dict[str, Any] = {}
        self.weights: dict[str, Any] = {}  # by the model's names
        self.constants: dict[Any, Any] = {}  # data that are there, by what they hold
        self.places: list[tuple[Any, Any, Value]] = []  # of the last masks: tensor, count, and where they are true
        self.joined: dict[Any, Any] = {}  # by the lengths of parts that elements decide: their places, count, and the parts' counts
        self.operator, self.taken, self.appended = "", set[str](), 0
        self.turned: dict[int, tuple[Any, Any, list[int]]] = {}  # by its identity a transposed tensor, what it came of, and how
        self.held, self.most_held = 0, MOST_HELD

    def hold(self, size: int) -> None:
        """So many bytes more are kept until the import ends."""
        self.held += size
        if self.held > self.most_held:
            raise Unsupported(f"constants of more than {self.most_held} bytes in all", self.operator)

    # ---- appending ----

    def op(self, name: str, *operands: Any, **attributes: Any) -> Any:
        """One operation of the program on tensors."""
        self.appended += 1
        if self.appended > MOST_APPENDED:
            raise Unsupported(f"more than {MOST_APPENDED} operations in all", self.operator)
        return self.builder.append(name, attributes, list(operands))

    def fill(self, value: float, dtype: str, shape: Sequence[int] = ()) -> Any:
        return self.op("fill", value=float(value), shape=list(shape), dtype=CARRIERS[dtype])

    def name(self, wanted: str) -> str:
        """A name that programs may have, each its own."""
        if isinstance(wanted, bytes):  # what protobuf gives where a text is none
            raise Unsupported(f"a name that is no UTF-8: {wanted[:40]!r}")
        base = re.sub(r"[^A-Za-z0-9._-]", "_", wanted)[:80] or "value"
        found, n = base, 1
        while found in self.taken:
            n += 1
            found = f"{base}.{n}"
        self.taken.add(found)
        return found

    def input(self, kind: str, name: str, array: Array) -> Any:
        """A state or data of the program with its first value, in the carrier."""
        array = carried(array)
        own = self.name(name)
        tensor = self.declared(kind, own, array.shape, type_of(array))
        self.inputs[own] = (kind, array)
        if kind == "state":
            self.states[own] = tensor
        return tensor

    def declared(self, kind: str, name: str, shape: Sequence[int], dtype: str) -> Any:
        """An input of the program, which has a form that programs have."""
        try:
            return getattr(self.builder, kind)(name, shape, dtype)
        except (importlib.import_module("reprise").Error, TypeError, ValueError, OverflowError) as e:
            raise Unsupported(f"{name} of shape {list(shape)}: {e}") from None

    def tensor(self, v: Value) -> Any:
        """The tensor of a value; one that is known becomes a constant, or data of the program."""
        if v.tensor is not None:
            return v.tensor
        if v.weight is not None:  # of one element it is known too, for shapes that follow from it, and still a weight
            name, array = v.weight
            if name not in self.weights:
                self.weights[name] = self.input("state", name, array)
            return self.weights[name]
        array = carried(v.known)
        exact = array.size and (array.dtype.kind == "f" or abs(int(array.flat[0])) < 1 << 53)
        if exact and (array == array.flat[0]).all() and not (array.dtype.kind == "f" and array.flat[0] == 0 and
                                                             np.signbit(array).any()):
            return self.fill(float(array.flat[0]), v.dtype, array.shape)
        key = v.dtype, array.shape, hashlib.sha256(array.tobytes()).digest()  # equal ones are one, also of written-out steps
        if key not in self.constants:
            self.hold(array.nbytes)
            self.constants[key] = self.input("data", "constant", v.known)
        return self.constants[key]

    def known(self, v: Value) -> Array:
        """The elements of a value that must be known when the program is made."""
        if v.known is not None:
            return v.known
        if v.weight is not None:  # that decides a shape is what a constant does
            return v.weight[1]
        if v.of:
            raise NeedsConstant(v.of, self.operator)
        raise Unsupported("a shape that is computed from weights", self.operator)

    def integers(self, v: Value) -> list[int]:
        return [int(n) for n in np.asarray(self.known(v)).reshape(-1)]

    def room(self, *shape: int) -> tuple[int, ...]:
        """The shape of a constant that is to be made here, where that is not too large."""
        if math.prod(shape) > MOST_MASK:
            raise Unsupported(f"a constant of {math.prod(shape)} elements, {MOST_MASK} are the most", self.operator)
        return shape

    # ---- values ----

    def constant(self, array: Array, of: frozenset[str] = frozenset()) -> Value:
        array = np.asarray(array)
        return Value(type_of(array), array.shape, known=array, of=of)

    def made(self, tensor: Any, dtype: str, *operands: Value) -> Value:
        """A value that was moved, not computed."""
        image = len(tensor.shape) == 4 and any(v.image for v in operands)
        return Value(dtype, tuple(tensor.shape), tensor, of=frozenset().union(*(v.of for v in operands)), image=image)

    def result(self, tensor: Any, dtype: str, *operands: Value) -> Value:
        """A value that was computed in the carrier, brought back into its type."""
        return self.made(self.narrow(tensor, dtype), dtype, *operands)

    def narrow(self, t: Any, dtype: str) -> Any:
        if dtype in BITS:
            bits, carrier = BITS[dtype], CARRIERS[dtype]
            t = self.op("bitwise_and", t, self.fill((1 << bits) - 1, carrier))
            if dtype[0] == "i":  # bits above the sign are its copies
                half = self.fill(1 << (bits - 1), carrier)
                t = self.op("sub", self.op("bitwise_xor", t, half), half)
            return t
        return self.rounded(t, dtype) if dtype in NARROW else t

    def rounded(self, x: Any, dtype: str, saturate: bool = False) -> Any:
        """binary32 or binary64 rounded to a narrow float, to nearest, ties to even, and kept in the carrier. The last bit of
        what is not below 2^e is 2^(e - bits), and below the least exponent it is that one's: x + c - c with
        c = 3 2^(e + width - bits - 1) rounds to it, width the carrier's bits of fraction."""
        if dtype == "bf16" and x.dtype == "f32":
            return self.op("cast", self.op("cast", x, dtype="bf16"), dtype="f32")
        bits, least, greatest, beyond = NARROW[dtype]
        width = 23 if x.dtype == "f32" else 52

        def f(v: float) -> Any:
            return self.fill(v, x.dtype)

        a = self.op("abs", x)
        power = f(2.0 ** least)  # becomes 2^e, the greatest power of two not above a, by halving the exponents' range
        for k in (128, 64, 32, 16, 8, 4, 2, 1) if dtype == "bf16" else (16, 8, 4, 2, 1):
            next_power = self.op("mul", power, f(2.0 ** k))
            power = self.op("where", self.op("ge", a, next_power), next_power, power)
        c = self.op("mul", power, f(1.5 * 2.0 ** (width - bits)))
        found = self.op("sub", self.op("add", a, c), c)
        limit = f(2 * greatest)  # where c is too near the carrier's end
        found = self.op("where", self.op("ge", a, limit), limit, found)
        found = self.op("where", self.op("gt", found, f(greatest)), f(greatest if saturate else beyond), found)
        found = self.op("where", self.op("eq", a, a), found, a)
        signed = self.op("where", self.op("lt", x, f(0)), self.op("neg", found), found)
        zero = f(0) if dtype.endswith("uz") else x
        signed = self.op("where", self.op("eq", a, f(0)), zero, signed)
        if dtype.endswith("uz"):  # which have no negative zero
            signed = self.op("where", self.op("eq", signed, f(0)), f(0), signed)
        return self.cast(signed, "f32")

    # ---- forms that many operators have ----

    def reshape(self, t: Any, shape: Sequence[int]) -> Any:
        return t if tuple(t.shape) == tuple(shape) else self.op("reshape", t, shape=list(shape))

    def transpose(self, t: Any, permutation: Sequence[int]) -> Any:
        """With its axes in another order; one that was just turned so is the one that it came of."""
        wanted = list(permutation)
        if wanted == list(range(len(wanted))):
            return t
        own, source, was = self.turned.get(id(t), (None, None, []))
        if own is t and [was[i] for i in wanted] == list(range(len(wanted))):
            return source
        made = self.op("transpose", t, permutation=wanted)
        self.turned[id(made)] = made, t, wanted
        return made

    def broadcast(self, t: Any, shape: Sequence[int]) -> Any:
        return t if tuple(t.shape) == tuple(shape) else self.op("broadcast_to", t, shape=list(shape))

    def slice(self, t: Any, axis: int, begin: int, end: int) -> Any:
        """Elements begin .. end of an axis."""
        if (begin, end) == (0, t.shape[axis]):
            return t
        first, last = [0] * len(t.shape), list(t.shape)
        first[axis], last[axis] = begin, end
        return self.op("slice", t, begin=first, end=last)

    def cast(self, t: Any, dtype: str) -> Any:
        return t if t.dtype == dtype else self.op("cast", t, dtype=dtype)

    def convert(self, v: Value, dtype: str, saturate: bool = True) -> Value:
        """A value in another element type, as ONNX's Cast has it."""
        if v.dtype == dtype:
            return v
        if v.known is not None and not v.trained and dtype in NUMPY and v.dtype in NUMPY and not (v.real and dtype not in FLOATS):
            with np.errstate(all="ignore"):
                return self.constant(v.known.astype(NUMPY[dtype]), v.of)
        t, carrier = self.tensor(v), CARRIERS[dtype]
        if "u64" in (v.dtype, dtype) and (v.real or dtype in FLOATS):
            raise Unsupported(f"a conversion from {v.dtype} to {dtype}", self.operator)
        if dtype == "bool":
            return self.made(self.cast(t, "bool"), dtype, v)
        if dtype in NARROW:
            wide = t if t.dtype in ("f32", "f64") else self.cast(t, "f64")  # as exact as needed: it is rounded once
            return self.made(self.rounded(wide, dtype, saturate and dtype not in ("f16", "bf16")), dtype, v)
        if carrier == "i32" and dtype != "i32" or dtype == "u32":
            wide = self.cast(t, "i64") if v.real or t.dtype == "i64" else t  # bits beyond the type are cut off
            if carrier == "i32" and wide.dtype == "i64":
                wide = self.cast(self.sign_extended(wide), "i32")
            return self.made(self.narrow(self.cast(wide, carrier), dtype), dtype, v)
        return self.made(self.cast(t, carrier), dtype, v)

    def sign_extended(self, t: Any) -> Any:
        """The low 32 bits of i64 as a number that i32 has."""
        low = self.op("bitwise_and", t, self.fill((1 << 32) - 1, "i64"))
        half = self.fill(1 << 31, "i64")
        return self.op("sub", self.op("bitwise_xor", low, half), half)

    def wrapped(self, index: Any, length: int) -> Any:
        """Indices of which negative ones count from the end."""
        below = self.op("lt", index, self.fill(0, index.dtype))
        return self.op("where", below, self.op("add", index, self.fill(length, index.dtype)), index)

    def indices(self, v: Value, length: int) -> Any:
        """Indices along an axis of this length, from 0."""
        if v.known is not None:
            return self.tensor(self.constant(np.where(v.known < 0, v.known + length, v.known)))
        return self.wrapped(self.tensor(v), length)


Handler = Callable[["Node"], "Value | Sequence[Value | None]"]
HANDLERS: dict[str, Handler] = {}


def handles(*names: str) -> Callable[[Handler], Handler]:
    def register(f: Handler) -> Handler:
        HANDLERS.update({n: f for n in names})
        return f
    return register


class Node:
    """An operator of the model as its handler sees it."""

    def __init__(self, g: Graph, kind: str, version: int, inputs: Sequence[Value | None], attributes: dict[str, Any],
                 outputs: int, name: str = "") -> None:
        self.g, self.kind, self.version, self.inputs = g, kind, version, list(inputs)
        self.attributes, self.outputs, self.name = attributes, outputs, name  # that of the first output

    def has(self, i: int) -> bool:
        return i < len(self.inputs) and self.inputs[i] is not None

    def value(self, i: int) -> Value:
        v = self.inputs[i] if i < len(self.inputs) else None
        if v is None:
            raise Unsupported(f"input {i} is missing", self.kind)
        return v

    def tensor(self, i: int) -> Any:
        return self.g.tensor(self.value(i))

    def get(self, name: str, default: Any = None) -> Any:
        return self.attributes.get(name, default)

    def refuse(self, what: str) -> Unsupported:
        return Unsupported(what, self.kind)

    def axis(self, default: int, rank: int, name: str = "axis") -> int:
        a = int(self.get(name, default))
        if not -rank <= a <= max(rank - 1, 0):
            raise self.refuse(f"{name} {a} of {rank} axes")
        return a % rank if rank else 0

    def integers(self, i: int, name: str) -> list[int] | None:
        """A list that is an attribute in old versions and an input in newer ones."""
        if name in self.attributes:
            found = self.attributes[name]
            return [int(n) for n in (found if isinstance(found, (list, tuple)) else [found])]
        return self.g.integers(self.value(i)) if self.has(i) else None
