# SPDX-License-Identifier: Apache-2.0
"""A captured function: typed inputs, equations by the names of jax's primitives, and outputs, as plain Python values.

It holds nothing of jax and has a JSON form, so it is translated, tested and hashed where jax is not installed. Values are
numbered from 0: the inputs, then what each equation makes. An operand is such a number, or a literal."""
from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Union

import numpy as np

from .._core import UnsupportedError

FORMAT = "reprise.jaxpr.1"
MOST_EQUATIONS, DEEPEST = 1 << 20, 64
# Element types by their names in programs.
NUMPY: dict[str, Any] = {"f32": np.float32, "f64": np.float64, "i32": np.int32, "i64": np.int64, "bool": np.bool_, "u8": np.uint8,
                         "i8": np.int8, "i16": np.int16, "u32": np.uint32, "f16": np.float16, "u64": np.uint64}
NAMES = {"float32": "f32", "float64": "f64", "int32": "i32", "int64": "i64", "bool": "bool", "uint8": "u8", "int8": "i8",
         "int16": "i16", "uint32": "u32", "uint64": "u64", "float16": "f16", "bfloat16": "bf16"}
FLOATS = ("f32", "f64", "f16", "bf16")
Type = tuple[str, tuple[int, ...]]


@dataclass(frozen=True)
class Literal:
    """A number that stands in an equation; bf16 as its binary32 value."""

    dtype: str
    value: Any


Operand = Union[int, Literal]


class Unsupported(UnsupportedError):
    """What cannot be translated: the primitive, the line of the model that it comes from, and what to do."""

    def __init__(self, what: str, primitive: str = "", at: str = "") -> None:
        super().__init__(": ".join(s for s in (primitive, what) if s) + (f" (at {at})" if at else ""))
        self.what, self.primitive, self.at = what, primitive, at


@dataclass
class Equation:
    """primitive, parameters (of which some are graphs), operands, types of what it makes, and the user's line."""

    primitive: str
    params: dict[str, Any]
    inputs: list[Operand]
    outputs: list[Type]
    at: str = ""


@dataclass
class Graph:
    inputs: list[Type] = field(default_factory=list)
    equations: list[Equation] = field(default_factory=list)
    outputs: list[Operand] = field(default_factory=list)

    def graphs(self) -> Iterator[Graph]:
        """This one and all that its equations hold."""
        yield self
        for e in self.equations:
            for v in e.params.values():
                for g in v if isinstance(v, list) else [v]:
                    if isinstance(g, Graph):
                        yield from g.graphs()

    def counts(self) -> dict[str, int]:
        """How often each primitive occurs, in regions too."""
        found: dict[str, int] = {}
        for g in self.graphs():
            for e in g.equations:
                found[e.primitive] = found.get(e.primitive, 0) + 1
        return dict(sorted(found.items()))

    def digest(self) -> str:
        """SHA-256 of the JSON form without lines, hexadecimal."""
        return hashlib.sha256(json.dumps(to_json(self, False), sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def shaped(types: Sequence[Type]) -> list[Any]:
    return [[d, list(s)] for d, s in types]


def plain(v: Any, lines: bool) -> Any:
    """A parameter in the JSON form."""
    if isinstance(v, Graph):
        return {"graph": to_json(v, lines)}
    if isinstance(v, np.ndarray):
        return {"array": [str(v.dtype), list(v.shape), base64.b64encode(np.ascontiguousarray(v).tobytes()).decode()]}
    if isinstance(v, dict):
        return {"dict": {k: plain(x, lines) for k, x in v.items()}}
    if isinstance(v, (list, tuple)):
        return [plain(x, lines) for x in v]
    return {"real": float(v).hex()} if isinstance(v, float) else v


def to_json(g: Graph, lines: bool = True) -> dict[str, Any]:
    """The JSON form; floats are hexadecimal, so that they are exact."""
    def operand(o: Operand) -> Any:
        return o if isinstance(o, int) else [o.dtype, plain(o.value, lines)]
    return {"inputs": shaped(g.inputs), "outputs": [operand(o) for o in g.outputs],
            "equations": [[e.primitive, {k: plain(v, lines) for k, v in e.params.items()}, [operand(o) for o in e.inputs],
                           shaped(e.outputs), *([e.at] if lines and e.at else [])] for e in g.equations]}


def value_of(v: Any, depth: int) -> Any:
    if isinstance(v, list):
        return [value_of(x, depth) for x in v]
    if not isinstance(v, dict):
        return v
    if "graph" in v:
        return from_json(v["graph"], depth + 1)
    if "real" in v:
        return float.fromhex(v["real"])
    if "dict" in v:
        return {k: value_of(x, depth) for k, x in v["dict"].items()}
    dtype, shape, text = v["array"]
    if str(dtype) not in NAMES or str(dtype) == "bfloat16":
        raise ValueError(f"an array of {dtype}")
    return np.frombuffer(base64.b64decode(text, validate=True), dtype=str(dtype)).reshape([int(n) for n in shape])


def types_of(value: Any) -> list[Type]:
    found = [(str(d), tuple(int(n) for n in s)) for d, s in value]
    if any(d not in NAMES.values() or any(n < 0 for n in s) for d, s in found):
        raise ValueError("an unknown element type or a negative length")
    return found


def from_json(value: Any, depth: int = 0) -> Graph:
    """Reads the JSON form. Errors: ValueError where it is none, or refers to what is not made yet."""
    try:
        if depth > DEEPEST or len(value["equations"]) > MOST_EQUATIONS:
            raise ValueError("too large")
        g = Graph(types_of(value["inputs"]))
        known = len(g.inputs)

        def operand(o: Any) -> Operand:
            if isinstance(o, int):
                if not 0 <= o < known:
                    raise ValueError(f"an operand {o} of {known} values")
                return o
            return Literal(str(o[0]), value_of(o[1], depth))
        for primitive, params, inputs, outputs, *at in value["equations"]:
            g.equations.append(Equation(str(primitive), {str(k): value_of(v, depth) for k, v in params.items()},
                                        [operand(o) for o in inputs], types_of(outputs), str(at[0]) if at else ""))
            known += len(outputs)
        g.outputs = [operand(o) for o in value["outputs"]]
    except (KeyError, TypeError, IndexError, AttributeError, OverflowError, RecursionError) as e:
        raise ValueError(f"no captured function: {e!r}") from None
    return g
