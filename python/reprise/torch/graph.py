# SPDX-License-Identifier: Apache-2.0
"""A captured graph, without PyTorch: nodes with their operands, element types, shapes and source lines; inputs, of which
parameters and buffers are told apart by their storage; constants; graphs of branches and loop bodies. It has a small JSON
form, so that what lowers it is tested where PyTorch is not installed."""
from __future__ import annotations

import base64
import hashlib
import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

Array = Any
FORM = 1
NUMPY = {"f32": np.float32, "f64": np.float64, "f16": np.float16, "i64": np.int64, "i32": np.int32, "i16": np.int16, "i8": np.int8,
         "u8": np.uint8, "u16": np.uint16, "u32": np.uint32, "bool": np.bool_}
COMPLEX = {"c64": np.complex64, "c128": np.complex128}  # a program has them as pairs of real numbers
PARTS = {"c64": "f32", "c128": "f64"}
CHECKED = frozenset(("reprise.check.default", "reprise.check_number.default", "aten._assert_async.default", "aten._assert_async.msg",
                     "aten._functional_assert_async.msg", "aten._assert_scalar.default"))  # what raises of values, and has no other effect
GRADIENT = "reprise.gradient.default"  # of its first operands, with seeds, by its third
FLOATS = ("f32", "f64", "bf16", "f16")
DEEPEST, MOST_NODES = 16, 1 << 17


@dataclass(frozen=True)
class Meta:
    """What a value is: element type as programs name it, and shape."""

    dtype: str
    shape: tuple[int, ...]

    @property
    def real(self) -> bool:
        return self.dtype in FLOATS

    @property
    def size(self) -> int:
        return math.prod(self.shape)


@dataclass(frozen=True)
class Ref:
    """An operand that is a value of the graph: a node's, an input's or a constant's, by name; of a node with several
    values, `index` says which."""

    name: str
    index: int | None = None


@dataclass(frozen=True)
class Sub:
    """An operand that is one of the graph's own graphs."""

    index: int


@dataclass(frozen=True)
class DType:
    """An operand that is an element type."""

    name: str


@dataclass
class Node:
    """An operation: `op` as PyTorch names it ("aten.add.Tensor", "cond"); `meta` of its value, or of each of its values
    (None for one that is no tensor); `where` the line of the model that made it, `module` the path of the module."""

    name: str
    op: str
    args: list[Any] = field(default_factory=list)
    kwargs: dict[str, Any] = field(default_factory=dict)
    meta: Meta | list[Meta | None] | None = None
    where: str = ""
    module: str = ""


@dataclass
class Input:
    """An input. kind: "parameter" or "buffer" (`state` names the program's state), "user" (`feed` names its feed). Two inputs
    with one storage have one `state`. `trained`: it has a gradient."""

    name: str
    kind: str
    meta: Meta
    state: str = ""
    trained: bool = False
    feed: str = ""


@dataclass
class Output:
    """kind: "result" or "buffer" (the new value of the state `name`)."""

    kind: str
    name: str
    value: Any


@dataclass
class Graph:
    inputs: list[Input] = field(default_factory=list)
    nodes: list[Node] = field(default_factory=list)
    outputs: list[Output] = field(default_factory=list)
    constants: dict[str, Array] = field(default_factory=dict)
    graphs: list[Graph] = field(default_factory=list)

    def text(self, lines: bool = True) -> str:
        """The JSON form; without `lines` nothing that depends on where the model's files lie."""
        return json.dumps({"form": FORM, **graph_json(self, lines)}, separators=(",", ":"), sort_keys=True)

    def digest(self) -> str:
        """SHA-256 of the JSON form without source lines."""
        return hashlib.sha256(self.text(lines=False).encode()).hexdigest()

    @staticmethod
    def read(text: str | bytes) -> Graph:
        """Raises ValueError where the text is no graph."""
        try:
            document = json.loads(text)
            if document["form"] != FORM:
                raise ValueError(f"form {document['form']}, expected {FORM}")
            return graph_of(document, 0)
        except (KeyError, TypeError, ValueError, IndexError, RecursionError) as e:
            raise ValueError(f"no text of a captured graph: {e!r}") from None

    def walk(self) -> Iterator[Node]:
        """All nodes, those of branches and bodies too."""
        yield from self.nodes
        for g in self.graphs:
            yield from g.walk()


def map_refs(f: Callable[[Any], Any], x: Any) -> Any:
    """An operand with f applied to what is neither list nor dict."""
    if isinstance(x, (list, tuple)):
        return [map_refs(f, e) for e in x]
    if isinstance(x, dict):
        return {k: map_refs(f, e) for k, e in x.items()}
    return f(x)


def refs(x: Any) -> list[str]:
    """The names of the values that an operand has."""
    found: list[str] = []
    map_refs(lambda e: found.append(e.name) if isinstance(e, Ref) else None, x)
    return found


def places(x: Any) -> list[tuple[str, int | None]]:
    """As refs, with the index of each."""
    found: list[tuple[str, int | None]] = []
    map_refs(lambda e: found.append((e.name, e.index)) if isinstance(e, Ref) else None, x)
    return found


# ---- JSON ----

def operand_json(x: Any) -> Any:
    if isinstance(x, Ref):
        return {"ref": x.name} if x.index is None else {"ref": x.name, "index": x.index}
    if isinstance(x, Sub):
        return {"graph": x.index}
    if isinstance(x, DType):
        return {"dtype": x.name}
    if isinstance(x, (list, tuple)):
        return [operand_json(e) for e in x]
    if isinstance(x, float) and not math.isfinite(x):
        return {"real": str(x)}
    if isinstance(x, complex):
        return {"complex": [operand_json(x.real), operand_json(x.imag)]}
    return x


def operand_of(x: Any) -> Any:
    if isinstance(x, list):
        return [operand_of(e) for e in x]
    if isinstance(x, dict):
        if "ref" in x:
            return Ref(str(x["ref"]), x.get("index"))
        if "graph" in x:
            return Sub(int(x["graph"]))
        if "complex" in x:
            return complex(*(float(operand_of(e)) for e in x["complex"]))
        return DType(str(x["dtype"])) if "dtype" in x else float(x["real"])
    return x


def meta_json(m: Meta | Sequence[Meta | None] | None) -> Any:
    if m is None:
        return None
    return [m.dtype, list(m.shape)] if isinstance(m, Meta) else {"of": [meta_json(e) for e in m]}


def meta_of(x: Any) -> Any:
    if x is None:
        return None
    return [meta_of(e) for e in x["of"]] if isinstance(x, dict) else Meta(str(x[0]), tuple(int(n) for n in x[1]))


def array_json(a: Array) -> Any:
    kind = next(n for n, t in {**NUMPY, **COMPLEX}.items() if a.dtype == t)
    return [kind, list(a.shape), base64.b64encode(np.ascontiguousarray(a).tobytes()).decode()]


def array_of(x: Any) -> Array:
    return np.frombuffer(base64.b64decode(x[2]), {**NUMPY, **COMPLEX}[x[0]]).reshape([int(n) for n in x[1]])


def graph_json(g: Graph, lines: bool) -> dict[str, Any]:
    def node(n: Node) -> dict[str, Any]:
        d = {"name": n.name, "op": n.op, "args": operand_json(n.args), "kwargs": {k: operand_json(v) for k, v in n.kwargs.items()},
             "meta": meta_json(n.meta)}
        return {**d, "where": n.where, "module": n.module} if lines else d

    return {"inputs": [[i.name, i.kind, meta_json(i.meta), i.state, i.trained, i.feed] for i in g.inputs],
            "nodes": [node(n) for n in g.nodes], "outputs": [[o.kind, o.name, operand_json(o.value)] for o in g.outputs],
            "constants": {n: array_json(a) for n, a in g.constants.items()}, "graphs": [graph_json(s, lines) for s in g.graphs]}


def graph_of(d: Mapping[str, Any], depth: int) -> Graph:
    if depth > DEEPEST or len(d["nodes"]) > MOST_NODES:
        raise ValueError(f"more than {DEEPEST} graphs inside each other, or than {MOST_NODES} nodes")
    nodes = [Node(n["name"], n["op"], operand_of(n["args"]), {k: operand_of(v) for k, v in n["kwargs"].items()}, meta_of(n["meta"]),
                  n.get("where", ""), n.get("module", "")) for n in d["nodes"]]
    return Graph([Input(i[0], i[1], meta_of(i[2]), i[3], bool(i[4]), i[5]) for i in d["inputs"]], nodes,
                 [Output(o[0], o[1], operand_of(o[2])) for o in d["outputs"]], {n: array_of(a) for n, a in d["constants"].items()},
                 [graph_of(s, depth + 1) for s in d["graphs"]])
