# SPDX-License-Identifier: Apache-2.0
"""Captured functions as instructions of a program: values, what handlers of primitives share, and the walk.

A handler is registered by the primitive's name (`handles`) and sees one equation as a Node. What it makes is checked against
the types that jax gives. `active` says of a value that a gradient may pass through it: where jax's derivative is another
than an operation's own (ties of max, bounds of clamp), only active values take the longer way."""
from __future__ import annotations

import hashlib
import importlib
import math
from collections.abc import Callable, Container, Sequence
from dataclasses import dataclass
from typing import Any, Optional, Union

import numpy as np

from .graph import FLOATS, NUMPY, Equation, Graph, Literal, Operand, Type, Unsupported

COMPUTED = {"bf16": "f32", "f16": "f32", "i8": "i32", "u8": "i32", "i16": "i32"}  # where operations do not take the type
CARRIERS = {"u64": "i64"}  # words of 64 bits, in what does the same to both: random bits of binary64
WORDS = frozenset("""jit scan cond and or xor not shift_left shift_right_logical add sub mul convert_element_type bitcast_convert_type
reshape squeeze expand_dims broadcast_in_dim slice concatenate transpose select_n eq ne rem rev copy stack unstack split""".split())
MOST_ITERATIONS = 1 << 16
REWRITE = "rewrite the line with other operations of jax.numpy, or leave it out of the loss"
FED = "compute it before the step, and feed it as a part of the batch"
REMEDIES = {"eig": FED, "fft": FED, "schur": FED, "geqrf": "jnp.linalg.qr(a) is taken, mode='raw' is not",
            "reduce": "sum, max, min, prod, any and all of jax.numpy are taken",
            "igamma": FED, "igammac": FED, "regularized_incomplete_beta": FED, "polygamma": FED, "pure_callback": FED, "io_callback": FED,
            "debug_callback": "leave jax.debug out of the loss, or return what it shows as an auxiliary value"}


@dataclass(frozen=True)
class Value:
    """A tensor of the program, or a constant that has no instruction yet; bf16 is known as binary32."""

    dtype: str
    shape: tuple[int, ...]
    tensor: Any = None
    known: Optional[np.ndarray[Any, Any]] = None
    active: bool = False


class Node:
    """One equation as its handler sees it."""

    def __init__(self, g: Lowering, e: Equation, inputs: Sequence[Value], used: Sequence[bool]) -> None:
        """used: whether anything reads an output."""
        self.g, self.e, self.primitive, self.params, self.inputs = g, e, e.primitive, e.params, list(inputs)
        self.used = used
        self.dtype, self.shape = e.outputs[0] if e.outputs else ("", ())

    @property
    def active(self) -> bool:
        return any(v.active for v in self.inputs)

    def tensor(self, i: int) -> Any:
        return self.g.tensor(self.inputs[i])

    def computed(self, i: int) -> Any:
        """Operand i in the type that operations compute its type in."""
        v = self.inputs[i]
        return self.g.cast(self.tensor(i), COMPUTED.get(v.dtype, v.dtype))

    def get(self, name: str, default: Any = None) -> Any:
        v = self.params.get(name)
        return default if v is None else v

    def need(self, name: str) -> Any:
        if self.params.get(name) is None:
            raise self.refuse(f"without its parameter {name}, of a version of jax that is not known here")
        return self.params[name]

    def refuse(self, what: str) -> Unsupported:
        return Unsupported(what, self.primitive, self.e.at)

    def made(self, tensor: Any, i: int = 0) -> Value:
        """Output i, brought into its type and shape where it only lacks a conversion or a repetition."""
        dtype, shape = self.e.outputs[i]
        return Value(dtype, shape, self.g.broadcast(self.g.cast(tensor, dtype), shape), active=self.active and dtype in FLOATS)


Made = Union[Value, Sequence[Value]]
Handler = Callable[[Node], Made]
HANDLERS: dict[str, Handler] = {}


def handles(*names: str) -> Callable[[Handler], Handler]:
    def register(f: Handler) -> Handler:
        HANDLERS.update({n: f for n in names})
        return f
    return register


class Lowering:
    """Appends graphs to a builder. data: name -> array, of constants that became data of the program; a function of a
    region has none, and takes them as operands from `given`."""

    def __init__(self, builder: Any, data: dict[str, np.ndarray[Any, Any]] | None = None, iterations: int = MOST_ITERATIONS,
                 bound: Container[str] | None = None) -> None:
        """bound: the only data that the run can have, as it has begun; other constants become feeds."""
        self.builder, self.data, self.iterations, self.bound = builder, data, iterations, bound
        self.given: dict[str, Any] = {}
        self.error: Any = importlib.import_module("reprise").Error

    # ---- operations ----

    def op(self, name: str, *tensors: Any, **attributes: Any) -> Any:
        return self.builder.append(name, attributes, list(tensors))

    def fill(self, value: float | int | bool, dtype: str, shape: Sequence[int] = ()) -> Any:
        return self.op("fill", value=float(value), shape=list(shape), dtype=CARRIERS.get(dtype, dtype))

    def reshape(self, t: Any, shape: Sequence[int]) -> Any:
        return t if tuple(t.shape) == tuple(shape) else self.op("reshape", t, shape=list(shape))

    def transpose(self, t: Any, permutation: Sequence[int]) -> Any:
        return t if list(permutation) == sorted(permutation) else self.op("transpose", t, permutation=list(permutation))

    def broadcast(self, t: Any, shape: Sequence[int]) -> Any:
        return t if tuple(t.shape) == tuple(shape) else self.op("broadcast_to", t, shape=list(shape))

    def cast(self, t: Any, dtype: str) -> Any:
        own = CARRIERS.get(dtype, dtype)
        return t if t.dtype == own else self.op("cast", t, dtype=own)

    def slice(self, t: Any, axis: int, begin: int, end: int) -> Any:
        if (begin, end) == (0, t.shape[axis]):
            return t
        first, last = [0] * len(t.shape), list(t.shape)
        first[axis], last[axis] = begin, end
        return self.op("slice", t, begin=first, end=last)

    def iota(self, n: int, dtype: str, axis: int, rank: int) -> Any:
        """0 .. n - 1 along one axis, the others of length 1."""
        return self.reshape(self.op("iota", n=n, dtype=dtype), [n if a == axis else 1 for a in range(rank)])

    def reduce(self, name: str, t: Any, axes: Sequence[int], keep: bool = False) -> Any:
        """A reduction that drops its axes, or leaves them as 1."""
        if not axes:
            return t
        kept = [1 if a in set(axes) else n for a, n in enumerate(t.shape) if keep or a not in set(axes)]
        return self.reshape(self.op(name, t, axes=sorted(axes)), kept)

    def where(self, c: Any, a: Any, b: Any) -> Any:
        return self.op("where", c, a, b)

    def clamp_index(self, t: Any, last: int) -> Any:
        """Indices from 0 to last."""
        return self.op("minimum", self.op("maximum", t, self.fill(0, t.dtype)), self.fill(last, t.dtype))

    # ---- values ----

    def tensor(self, v: Value) -> Any:
        """The value as a tensor of the program; a constant of one number is a fill, another one data."""
        if v.tensor is not None:
            return v.tensor
        array = np.asarray(v.known)
        array = array.view(np.int64) if array.dtype == np.uint64 else array
        if array.size and array.tobytes() == array.flat[0].tobytes() * array.size:
            return self.broadcast(self.number(array.flat[0].item(), v.dtype), v.shape)
        return self.cast(self.array(array), v.dtype)

    def number(self, value: Any, dtype: str) -> Any:
        """A number of rank 0; an integer that binary64 does not hold is put together of its halves."""
        if dtype not in ("i64", "u64") or abs(value) >> 53 == 0:
            return self.fill(value, dtype)
        high = self.op("shift_left", self.fill(value >> 32, dtype), self.fill(32, dtype))
        return self.op("bitwise_or", high, self.fill(value & 0xffffffff, dtype))

    def array(self, array: np.ndarray[Any, Any]) -> Any:
        """A constant array: data of the program by its digest, so that equal ones are one."""
        key = digest_of(array)
        if key in self.given:
            return self.given[key]
        if self.data is None:
            raise Unsupported("a constant that a region's function makes by itself")
        if not array.shape:
            return self.reshape(self.array(array.reshape(1)), [])
        name = f"constant.{key}"
        self.data[name] = np.ascontiguousarray(array)
        own = next(k for k, t in NUMPY.items() if np.dtype(t) == array.dtype)
        declare = self.builder.data if self.bound is None or name in self.bound else self.builder.feed
        self.given[key] = declare(name, array.shape, own)
        return self.given[key]

    def literal(self, o: Literal) -> Value:
        return Value(o.dtype, (), known=np.asarray(o.value, NUMPY.get(o.dtype, np.float32)))

    # ---- the walk ----

    def run(self, graph: Graph, inputs: Sequence[Value]) -> list[Value]:
        """The values of the graph's outputs."""
        if len(inputs) != len(graph.inputs):
            raise Unsupported(f"{len(inputs)} operands for {len(graph.inputs)} inputs")
        values = list(inputs)

        def read(o: Operand) -> Value:
            return values[o] if isinstance(o, int) else self.literal(o)
        needed = {o for e in graph.equations for o in e.inputs if isinstance(o, int)}.union(
            o for o in graph.outputs if isinstance(o, int))
        for e in graph.equations:
            used = [len(values) + i in needed for i in range(len(e.outputs))]
            values += self.equation(e, [read(o) for o in e.inputs], used)
        return [read(o) for o in graph.outputs]

    def equation(self, e: Equation, inputs: list[Value], used: Sequence[bool]) -> list[Value]:
        if e.primitive not in HANDLERS:
            raise Unsupported(f"no translation; {REMEDIES.get(e.primitive, REWRITE)}", e.primitive, e.at)
        if e.primitive not in WORDS and any(d == "u64" for d in (*(v.dtype for v in inputs), *(d for d, _ in e.outputs))):
            raise Unsupported("of unsigned integers of 64 bits", e.primitive, e.at)
        try:
            made = HANDLERS[e.primitive](Node(self, e, inputs, used))
        except Unsupported as u:
            if u.primitive and (u.at or not e.at):
                raise
            if u.primitive:  # inside of a function of jax's own, of which the line that calls it is the user's
                raise Unsupported(u.what, u.primitive, e.at) from None
            raise Unsupported(str(u), e.primitive, e.at) from None
        except self.error as x:
            raise Unsupported(str(x), e.primitive, e.at) from x
        found = [made] if isinstance(made, Value) else list(made)
        if [(v.dtype, v.shape) for v in found] != e.outputs:
            raise Unsupported(f"makes {[(v.dtype, v.shape) for v in found]}, expected {e.outputs}: a defect, please report it",
                              e.primitive, e.at)
        return found

    # ---- functions of regions ----

    def constants(self, graphs: Sequence[Graph]) -> dict[str, Any]:
        """The constants of these functions as tensors here by their digests; they become operands of the region."""
        found: dict[str, Any] = {}
        for top in graphs:
            for g in top.graphs():
                for e in g.equations:
                    if e.primitive == "constant":
                        a = np.asarray(e.params["value"])
                        tensor = self.array(a)
                        found[digest_of(a)] = tensor
        return found

    def function(self, types: Sequence[Type], keys: Sequence[str], active: bool, index: bool,
                 body: Callable[[Lowering, list[Value]], Sequence[Value]]) -> Any:
        """A function of (index if any, values of these types, constants), which returns what body makes."""
        builder = importlib.import_module("reprise").Builder()
        inner = Lowering(builder, None, self.iterations)
        if index:
            builder.parameter((), "i64")
        values = [Value(d, s, builder.parameter(s, CARRIERS.get(d, d)), active=active and d in FLOATS) for d, s in types]
        for k in keys:
            outer = self.given[k]
            inner.given[k] = builder.parameter(tuple(outer.shape), outer.dtype)
        for v in body(inner, values):
            builder.returns(inner.tensor(v))
        return builder.finish_function()


def digest_of(array: np.ndarray[Any, Any]) -> str:
    """Of an array's type, shape and elements, in 16 hexadecimal digits."""
    text = f"{array.dtype}{array.shape}".encode()
    return hashlib.sha256(text + np.ascontiguousarray(array).tobytes()).hexdigest()[:16]


def size(shape: Sequence[int]) -> int:
    return math.prod(shape)
