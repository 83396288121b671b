# SPDX-License-Identifier: Apache-2.0
"""ONNX models as programs: `load(model)` and `python -m reprise import MODEL.onnx -o PROGRAM.json WEIGHTS.safetensors`.

The official package `onnx` checks the model and inlines its functions; an operator that has no translation here is
expanded by its own definition where the standard gives one, and refused by name where it does not. A program's shapes are
fixed: dimensions with a name take their lengths from `shapes`, and values that decide a shape from `constants`."""
from __future__ import annotations

import contextlib
import importlib
import math
import os
from collections import ChainMap
from collections.abc import Iterator, Mapping, MutableMapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from . import (arithmetic, channels, external, forms, grids, images, layers, ml, pools, qoperators, quantised, ragged, samples, selection,
               shapes, spectra, trees)
from ..settled import compiled
from .graph import (HANDLERS, CARRIERS, MOST_KNOWN, NUMPY, ONNX, Graph, NeedsConstant, Node, Unsupported, Value, carried,
                         returned, type_of)
from .export import Exported, operations, save
from .savedmodel import ValuesDiffer, convert, is_saved_model

__all__ = ["Appended", "Exported", "Imported", "NeedsConstant", "Unsupported", "ValuesDiffer", "convert", "into", "load",
           "operations", "save", "supported"]
DOMAINS = ("", "ai.onnx", "ai.onnx.preview")
BEFORE = {"com.microsoft": ": take the model as it was before onnxruntime optimized it, and quantize with quant_format=QuantFormat.QDQ"}
MOST_NODES, DEEPEST, OLDEST, MOST_ITERATIONS = 1 << 17, 16, 7, 1024
FOLDED = frozenset("""Abs Add And Cast CastLike Ceil Clip Concat Div Equal Expand Flatten Floor Gather Greater GreaterOrEqual Less
LessOrEqual Max Min Mod Mul Neg Not Or Pow Reciprocal ReduceMax ReduceMin ReduceProd ReduceSum Reshape Round Slice Sqrt Squeeze Sub Tile
Transpose Unsqueeze Where Split Sign Xor""".split())
Scope = MutableMapping[str, Value]  # of a branch or a body a layer on what is outside, which is not copied with each iteration
MODULES = (arithmetic, grids, images, layers, ml, pools, qoperators, quantised, samples, selection, shapes, spectra, trees)  # each has handlers


def supported() -> list[str]:
    """The operators that have a translation of their own; those with a definition in others come beside."""
    return sorted(HANDLERS)


@dataclass(frozen=True)
class Imported:
    """A model as a program. `program` is the Program; `weights` its states and `data` its data by name, as the program has
    them; `inputs` and `outputs` name the model's own: (name in the program, element type, shape). Of an output whose length
    its elements decide `counts` has the axis and the name of the result that counts them, and its shape the most. `known` are the constants
    that were given, `folds` how many operators were computed at import, of shapes and other small integers."""

    program: Any
    weights: dict[str, np.ndarray[Any, Any]]
    data: dict[str, np.ndarray[Any, Any]]
    inputs: dict[str, tuple[str, str, tuple[int, ...]]]
    outputs: dict[str, tuple[str, str, tuple[int, ...]]]
    known: dict[str, np.ndarray[Any, Any]] = field(default_factory=dict)
    folds: int = 0
    counts: dict[str, tuple[int, str]] = field(default_factory=dict)

    def compile(self, **options: Any) -> Any:
        """A function of the model's inputs by name that gives its outputs by name; options are those of Run."""
        step = compiled(self.program, self.weights, self.data, options)

        def call(**inputs: Any) -> dict[str, np.ndarray[Any, Any]]:
            feeds = {}
            for name, (own, dtype, shape) in self.inputs.items():
                a = np.asarray(inputs[name])
                if type_of(a) != dtype or a.shape != shape:
                    raise ValueError(f"input {name} is {type_of(a)}{list(a.shape)}, expected {dtype}{list(shape)}")
                feeds[own] = carried(a)
            found = step(**feeds)
            made = {name: returned(np.array(found[own]).reshape(shape), dtype)
                    for name, (own, dtype, shape) in self.outputs.items()}
            for name, (axis, own) in self.counts.items():
                made[name] = made[name][(slice(None),) * axis + (slice(int(np.asarray(found[own]))),)]
            return made

        return call

    def save(self, program: str | os.PathLike[str], weights: str | os.PathLike[str]) -> None:
        """Writes the canonical text and the weights and data as safetensors."""
        from ..weights import write_safetensors
        with open(program, "wb") as f:
            f.write(self.program.text)
        write_safetensors(weights, {**self.weights, **self.data})


def load(model: Any, *, shapes: Mapping[str, int] | None = None,
         constants: Mapping[str, np.ndarray[Any, Any]] | None = None, outputs: Sequence[str] | None = None) -> Imported:
    """Imports a model: a path, bytes or a ModelProto; a TensorFlow SavedModel's folder as `convert` gives it.

    shapes      lengths of dimensions that the model names, or of an input `NAME` as `NAME.0`, `NAME.1` ...
    constants   values of inputs that are part of the program from now on: those that decide its shapes
    outputs     the model's outputs that are wanted, instead of all: what leads to others alone is left out

    Raises Unsupported, which names the operator, where something cannot be imported."""
    if is_saved_model(model):
        model = convert(model, shapes=shapes, constants=constants)
    proto = read(model)
    builder = importlib.import_module("reprise").Builder()
    importer = Importer(proto, Graph(builder), dict(shapes or {}), dict(constants or {}))
    importer.folder, importer.wanted = folder_of(model), None if outputs is None else list(outputs)
    return importer.imported()


@dataclass(frozen=True)
class Appended:
    """A model's values in a program that is being built: `outputs` by the model's names, its `weights` as tensors and their
    first values, and the program's `data`. Of an output whose length its elements decide `counts` has the axis and how many
    are there; the tensor has room for the most."""

    outputs: dict[str, Any]
    weights: dict[str, Any]
    first: dict[str, np.ndarray[Any, Any]]
    data: dict[str, np.ndarray[Any, Any]]
    counts: dict[str, tuple[int, Any]] = field(default_factory=dict)


def into(builder: Any, model: Any, inputs: Mapping[str, Any], *, constants: Mapping[str, np.ndarray[Any, Any]] | None = None,
         outputs: Sequence[str] | None = None, operators_as_weights: bool = False) -> Appended:
    """Appends a model to a program that is being built, its inputs being tensors of that program: to train it, append a loss
    of the outputs and ask `builder.gradients` for those of the weights. Arguments as of `load`; operators_as_weights: tensors
    of operators `Constant`, in which some exporters keep weights, are weights too, by the names of these operators' results."""
    if is_saved_model(model):
        model = convert(model, shapes={f"{n}.{i}": d for n, t in inputs.items() for i, d in enumerate(t.shape)}, constants=constants)
    importer = Importer(read(model), Graph(builder), {}, dict(constants or {}))
    importer.given, importer.folder, importer.operators_as_weights = dict(inputs), folder_of(model), operators_as_weights
    importer.wanted = None if outputs is None else list(outputs)
    values = importer.run()
    kept = importer.g.inputs
    return Appended({n: importer.g.tensor(v) for n, v in values.items()}, importer.g.states,
                    {n: a for n, (k, a) in kept.items() if k == "state"},
                    {n: a for n, (k, a) in kept.items() if k == "data"}, {n: v.some for n, v in values.items() if v.some})


def leading(nodes: Sequence[Any], outputs: Sequence[str]) -> tuple[list[Any], set[str]]:
    """The operators that lead to these outputs, in their order, and the names that these take, in their branches too."""
    def taken(node: Any) -> set[str]:
        bodies = [g for a in node.attribute for g in ([a.g] if a.HasField("g") else list(a.graphs))]
        return {*node.input, *(name for g in bodies for inner in g.node for name in taken(inner)), *(o.name for g in bodies for o in g.output)}

    needed, kept = set(outputs), []
    for node in reversed(nodes):
        if not needed.isdisjoint(o for o in node.output if o):
            needed |= taken(node)
            kept.append(node)
    return kept[::-1], needed


def whole_root(values: Sequence[Value]) -> bool:
    """Whether a power is a square root that is a whole number: exporters find the sides of a square of patches by it."""
    base, exponent = (np.asarray(v.known).reshape(-1) for v in values)
    if base.size != 1 or exponent.size != 1 or float(exponent[0]) != 0.5 or not 0 <= float(base[0]) < 1 << 24:
        return False
    return math.isqrt(int(base[0])) ** 2 == float(base[0])


def folder_of(model: Any) -> str | None:
    """The folder of a model that was given as a path."""
    return os.path.dirname(os.path.abspath(os.fspath(model))) if isinstance(model, (str, os.PathLike)) else None


@contextlib.contextmanager
def shaped(proto: Any) -> Iterator[bool]:
    """The model while its outputs without a shape have one of no axes, and whether there are any."""
    without = [o.type.tensor_type for o in proto.graph.output if o.type.HasField("tensor_type") and not o.type.tensor_type.HasField("shape")]
    for t in without:
        t.shape.SetInParent()
    try:
        yield bool(without)
    finally:
        for t in without:
            t.ClearField("shape")


def not_valid(e: Exception) -> Unsupported:
    return Unsupported(f"the model is not valid: {(str(e) or type(e).__name__).splitlines()[0]}")


def read(model: Any) -> Any:
    """A checked ModelProto whose local functions are inlined."""
    onnx = importlib.import_module("onnx")
    checker = importlib.import_module("onnx.checker")
    decode = importlib.import_module("google.protobuf.message").DecodeError
    try:
        if isinstance(model, (str, os.PathLike)):
            proto = onnx.load(os.fspath(model), load_external_data=False)
        else:
            proto = onnx.load_model_from_string(bytes(model)) if isinstance(model, (bytes, bytearray)) else model
        with shaped(proto) as without:  # the checker asks outputs for shapes, which onnxruntime does not; nothing here reads them
            if folder_of(model) and without:
                with external.emptied(proto):
                    checker.check_model(proto)
            else:
                checker.check_model(os.fspath(model) if folder_of(model) else proto)
    except (checker.ValidationError, decode, RecursionError, UnicodeDecodeError) as e:
        raise not_valid(e) from None
    newest = importlib.import_module("onnx.defs").onnx_opset_version()
    for opset in proto.opset_import:  # of other domains an operator is refused, not that they are named: many exporters name some
        if opset.version < OLDEST and opset.domain in DOMAINS[:2]:
            raise Unsupported(f"opset {opset.version}: {OLDEST} is the oldest")
        if opset.domain in DOMAINS[:2] and opset.version > newest:
            raise Unsupported(f"opset {opset.version}: {newest} is the newest that the package onnx has, a newer one of it is needed")
    if len(proto.graph.node) > MOST_NODES:
        raise Unsupported(f"{len(proto.graph.node)} operators, {MOST_NODES} are the most")
    try:
        return importlib.import_module("onnx.inliner").inline_local_functions(proto) if proto.functions else proto
    except checker.ValidationError as e:  # of functions that call themselves, which the checker does not always look at
        raise not_valid(e) from None


class Importer:
    def __init__(self, proto: Any, g: Graph, shapes: dict[str, int], constants: dict[str, np.ndarray[Any, Any]]) -> None:
        self.proto, self.g, self.shapes, self.constants = proto, g, shapes, constants
        self.version = max((o.version for o in proto.opset_import if o.domain in DOMAINS[:2]), default=OLDEST)
        self.preview = max((o.version for o in proto.opset_import if o.domain not in DOMAINS[:2]), default=1)
        self.folds = self.visited = 0
        self.onnx = importlib.import_module("onnx")
        self.numpy = importlib.import_module("onnx.numpy_helper")
        self.feeds: dict[str, tuple[str, str, tuple[int, ...]]] = {}
        self.given: dict[str, Any] = {}
        self.folder: str | None = None  # where weights outside the file may lie
        self.wanted: list[str] | None = None  # of the model's outputs, or all
        self.operators_as_weights = False

    def run(self) -> dict[str, Value]:
        """The values of the model's outputs."""
        graph = self.proto.graph
        outputs = [info.name for info in graph.output]
        operators, needed = list(graph.node), None
        if self.wanted is not None:
            if not self.wanted or any(name not in outputs for name in self.wanted):
                raise ValueError(f"outputs {self.wanted}: the model has {outputs}")
            outputs = self.wanted
            operators, needed = leading(operators, outputs)
        scope: dict[str, Value] = {t.name: self.initializer(t) for t in graph.initializer if needed is None or t.name in needed}
        if graph.sparse_initializer:
            raise Unsupported("sparse weights")
        if self.operators_as_weights:
            operators = [n for n in operators if not self.taken_as_weight(n, scope)]
        # each of them once as it is and once as it is carried, in at most 16 times the bytes: half a byte in 8
        self.g.most_held += 16 * sum(a.nbytes for v in scope.values() for a in [v.weight[1] if v.weight else v.known])
        self.g.most_held += 16 * self.kept(graph)
        for info in graph.input:
            if info.name not in scope and (needed is None or info.name in needed):
                scope[info.name] = self.input(info)
        self.nodes(operators, scope, 0)
        without = [name for name in outputs if name not in scope]
        if without:
            raise Unsupported(f"the output {without[0]}, which is of texts, or which nothing computes; outputs=[..] leaves it out")
        return {name: scope[name] for name in outputs}

    def imported(self) -> Imported:
        outputs, counts = {}, {}
        for name, v in self.run().items():
            own = self.g.name(f"out.{name}")
            self.g.builder.result(own, self.g.tensor(v))
            outputs[name] = (own, v.dtype, v.shape)
            if v.some:
                counts[name] = (v.some[0], self.g.name(f"{own}.count"))
                self.g.builder.result(counts[name][1], v.some[1])
        program = self.g.builder.finish()
        kept = self.g.inputs
        return Imported(program, {n: a for n, (k, a) in kept.items() if k == "state"},
                        {n: a for n, (k, a) in kept.items() if k == "data"}, self.feeds, outputs, self.constants, self.folds,
                        counts)

    def initializer(self, proto: Any) -> Value:
        """A weight is a state, so that it can be trained; small integers and what decides shapes is known, a weight of one
        element both."""
        array = self.array(proto)
        if array.dtype.kind == "f" and array.ndim and array.size:
            known = array if array.size == 1 else None
            return Value(type_of(array), array.shape, known=known, weight=(proto.name, array))
        return self.g.constant(array)

    def taken_as_weight(self, node: Any, scope: dict[str, Value]) -> bool:
        """Whether an operator is a constant whose value is a weight: it is in `scope` then, as an initializer would be."""
        if node.op_type != "Constant" or node.domain not in DOMAINS[:2] or len(node.attribute) != 1 or node.attribute[0].name != "value":
            return False
        named = self.onnx.TensorProto()
        named.CopyFrom(node.attribute[0].t)
        named.name = node.output[0]
        v = self.initializer(named)
        if v.weight and named.name not in scope:
            scope[named.name] = v
        return bool(v.weight)

    def array(self, proto: Any) -> Any:
        name = self.onnx.TensorProto.DataType.Name(proto.data_type)
        if name not in ONNX:
            raise Unsupported(f"elements of type {name}")
        if proto.HasField("data_location") and proto.data_location == self.onnx.TensorProto.EXTERNAL:
            return external.mapped(proto, name, self.folder)
        try:
            return self.numpy.to_array(proto)
        except (ValueError, TypeError) as e:
            raise Unsupported(f"the tensor {proto.name or 'of an attribute'}: {e}") from None

    def input(self, info: Any) -> Value:
        if not info.type.HasField("tensor_type") or isinstance(info.name, bytes):
            raise Unsupported(f"input {info.name}, which is no tensor, or whose name is no UTF-8")
        name = self.onnx.TensorProto.DataType.Name(info.type.tensor_type.elem_type)
        if name not in ONNX:
            raise Unsupported(f"elements of type {name}")
        dtype = ONNX[name]
        if info.name in self.constants:
            array = np.asarray(self.constants[info.name])
            if type_of(array) != dtype:
                raise ValueError(f"the constant {info.name} is {type_of(array)}, the model has {dtype}")
            return self.g.constant(array, frozenset([info.name]))
        if info.name in self.given:
            tensor = self.given[info.name]
            if tensor.dtype != CARRIERS[dtype]:
                raise ValueError(f"input {info.name} is {tensor.dtype}, expected {CARRIERS[dtype]} for {dtype}")
            return Value(dtype, tuple(tensor.shape), tensor, of=frozenset([info.name]))
        shape = tuple(self.length(info.name, i, d) for i, d in enumerate(info.type.tensor_type.shape.dim))
        own = self.g.name(info.name)
        self.feeds[info.name] = (own, dtype, shape)
        return Value(dtype, shape, self.g.declared("feed", own, shape, CARRIERS[dtype]), of=frozenset([info.name]))

    def length(self, name: str, axis: int, dim: Any) -> int:
        for key in (f"{name}.{axis}", dim.dim_param):
            if key and key in self.shapes:
                return int(self.shapes[key])
        if dim.HasField("dim_value"):
            return int(dim.dim_value)
        raise Unsupported(f"input {name}: axis {axis} has no length: give shapes={{{(dim.dim_param or f'{name}.{axis}')!r}: n}}")

    # ---- operators ----

    def nodes(self, nodes: Sequence[Any], scope: Scope, depth: int) -> None:
        for node in nodes:
            found = self.node(node, scope, depth)
            if any(name for name in node.output[len(found):]):
                raise Unsupported(f"{len(node.output)} outputs, of which there are {len(found)}", node.op_type)
            for name, v in zip(node.output, found):
                if name and v is not None:
                    scope[name] = v

    def node(self, node: Any, scope: Scope, depth: int) -> Sequence[Value | None]:
        inputs = []
        for name in node.input:
            if name and name not in scope:
                raise Unsupported(f"input {name}, which is of texts, or which a function or branch takes from outside", node.op_type)
            inputs.append(scope[name] if name else None)
        return self.values(node, inputs, scope, depth)

    def values(self, node: Any, inputs: list[Value | None], scope: Scope, depth: int) -> Sequence[Value | None]:
        kind = node.op_type
        self.counted(kind)
        named = kind if node.domain in DOMAINS else f"{node.domain}.{kind}"
        if node.domain not in DOMAINS and named not in HANDLERS:
            raise Unsupported(f"operators of the domain {node.domain}{BEFORE.get(node.domain, '')}", kind)
        forms.words(node)
        folded = self.fold(node, inputs) if node.domain in DOMAINS else None
        trained = any(v is not None and v.trained for v in inputs)
        if folded is not None and not trained:
            self.hold(folded, inputs)
            return folded
        try:
            found = self.computed(node, named, inputs, scope, depth)
        except Unsupported:
            if folded is None or any(v.real for v in folded):
                raise
            found = folded  # a number that decides a shape by what no program computes
        if kind != "Constant":  # which the file has, and a body reads again
            self.hold(folded or found, inputs)
        # what comes of a weight of one element is known, as it may decide a shape, and computed, as the weight is trained
        return found if folded is None else [v and replace(v, known=k.known) for v, k in zip(found, folded)]

    def hold(self, found: Sequence[Value | None], inputs: Sequence[Value | None]) -> None:
        """Counts what is known of an operator's results, where it is not an operand's."""
        there = [id(v.known) for v in inputs if v is not None]
        self.g.hold(sum(v.known.nbytes for v in found if v is not None and v.known is not None and id(v.known) not in there))

    def kept(self, graph: Any) -> int:
        """Bytes of the tensors that a graph's operators have, those of branches and bodies too."""
        total = 0
        for node in graph.node:
            for a in node.attribute:
                if a.type == self.onnx.AttributeProto.TENSOR:
                    total += a.t.ByteSize()
                elif a.type == self.onnx.AttributeProto.GRAPH:
                    total += self.kept(a.g) + sum(t.ByteSize() for t in a.g.initializer)
        return total

    def computed(self, node: Any, named: str, inputs: list[Value | None], scope: Scope, depth: int) -> Sequence[Value | None]:
        kind = node.op_type
        self.g.operator = kind
        uneven = any(map(ragged.holds, inputs)) or kind in ragged.SHAPED and any(v is not None and v.lengths is not None for v in inputs)
        if uneven and named not in ragged.RULES:
            raise Unsupported("a value whose length its elements decide", kind)
        if kind in ("If", "Loop", "Scan") and node.domain in DOMAINS[:2]:
            return {"If": self.branch, "Loop": self.loop, "Scan": self.scan}[kind](node, inputs, scope, depth)
        if named not in HANDLERS or node.domain == "ai.onnx.preview":
            return self.expand(node, inputs, depth)
        n = Node(self.g, kind, self.version, inputs, self.attributes(node), len(node.output), next(filter(None, node.output), kind))
        if kind == "Constant" and "value" in n.attributes and n.attributes["value"] is None:
            raise Unsupported("a constant of another type than tensors have", kind)
        try:
            by = ragged if uneven else channels if channels.suits(n) else None
            found = by.applied(n, HANDLERS[named]) if by else HANDLERS[named](n)
        except Unsupported as e:
            expanded = None if isinstance(e, NeedsConstant) or uneven else self.definition(node, inputs)
            if expanded is None:
                raise
            return self.expand(node, inputs, depth)
        except NotImplementedError:
            raise
        except (importlib.import_module("reprise").Error, LookupError, ValueError, TypeError, ArithmeticError,
                AttributeError) as e:
            raise Unsupported(str(e) or type(e).__name__, kind) from None
        return ragged.told(n, [found] if isinstance(found, Value) else found)

    def counted(self, kind: str) -> None:
        self.visited += 1
        if self.visited > MOST_NODES:
            raise Unsupported(f"more than {MOST_NODES} operators, functions and iterations written out", kind)

    def attributes(self, node: Any) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for a in node.attribute:
            if a.ref_attr_name:
                continue
            if a.type == self.onnx.AttributeProto.TENSOR:
                found[a.name] = self.array(a.t)
            elif a.type in (self.onnx.AttributeProto.GRAPH, self.onnx.AttributeProto.GRAPHS):
                continue
            else:
                value = self.onnx.helper.get_attribute_value(a)
                found[a.name] = value.decode("utf-8", "replace") if isinstance(value, bytes) else value
            if a.name in ("to", "dtype", "output_dtype", "output_datatype") and a.type == self.onnx.AttributeProto.INT:
                names = self.onnx.TensorProto.DataType
                found[f"{a.name}_name"] = names.Name(a.i) if a.i in names.values() else str(a.i)
        return found

    def fold(self, node: Any, inputs: list[Value | None]) -> Sequence[Value] | None:
        """What is known of shapes stays known: integers, and single numbers that other operations round to the same bits."""
        if node.op_type not in FOLDED or not inputs or any(v is not None and v.known is None for v in inputs):
            return None
        values = [v for v in inputs if v is not None]
        if any(v.size > MOST_KNOWN or v.dtype not in NUMPY or v.real and v.size > 64 for v in values):
            return None
        if node.op_type == "Pow" and any(v.real for v in values) and not whole_root(values):
            return None
        if math.prod(max(1, v.size) for v in values) > MOST_KNOWN or self.grows(node.op_type, values) > MOST_KNOWN:
            return None
        try:
            with np.errstate(all="ignore"):
                if node.op_type == "Unsqueeze" and self.version < 13:  # whose axes are an attribute, which the reference fails at
                    found = [np.expand_dims(values[0].known, tuple(int(a) for a in self.attributes(node)["axes"]))]
                else:
                    evaluator = importlib.import_module("onnx.reference").ReferenceEvaluator(
                        node, opsets={"": self.version})
                    found = evaluator.run(None, {n: v.known for n, v in zip(node.input, inputs) if v is not None})
            arrays = [np.asarray(a) for a in found]
            of = frozenset().union(*(v.of for v in values))
            if any(a.size > MOST_KNOWN for a in arrays):
                return None
            self.folds += 1
            return [self.g.constant(a, of) for a in arrays]
        except Exception:  # what the reference does not know is left to the program
            return None

    @staticmethod
    def grows(kind: str, values: list[Value]) -> int:
        """Elements of what an operator would make whose second operand says how many."""
        if kind not in ("Expand", "Tile") or len(values) != 2:
            return 0
        return math.prod(max(1, int(n)) for n in np.asarray(values[1].known).reshape(-1)) * max(1, values[0].size)

    def branch(self, node: Any, inputs: list[Value | None], scope: Scope, depth: int) -> Sequence[Value | None]:
        """A condition that is known decides at import, as one has to be that is a switch among the inputs; of another both branches are
        computed."""
        condition = inputs[0]
        assert condition is not None
        if condition.known is None and condition.size == 1 and condition.dtype == "bool" and any(self.long(name) for name in condition.of):
            found = [self.taken(node, name, scope, depth) for name in ("then_branch", "else_branch")]
            return ragged.either(self.g, self.g.tensor(condition), *found)
        return self.taken(node, "then_branch" if self.alone(condition, "If") else "else_branch", scope, depth)

    def long(self, name: str) -> bool:
        """Whether an input has more than one element."""
        return math.prod(self.given[name].shape if name in self.given else self.feeds[name][2] if name in self.feeds else ()) > 1

    def taken(self, node: Any, name: str, scope: Scope, depth: int) -> list[Value]:
        body = self.graph(node, name)
        inner: Scope = ChainMap({t.name: self.g.constant(self.array(t)) for t in body.initializer}, scope)
        if depth >= DEEPEST:
            raise Unsupported(f"branches and functions deeper than {DEEPEST}", "If")
        self.nodes(body.node, inner, depth + 1)
        return self.ends(body, inner, "If")

    @staticmethod
    def ends(body: Any, scope: Scope, kind: str) -> list[Value]:
        """The values of a body's outputs. Exporters leave out their types, as those follow; what is named another type is none."""
        for o in body.output:
            if o.type.WhichOneof("value") not in (None, "tensor_type"):
                raise Unsupported("a value that is no tensor", kind)
            if o.name not in scope:
                raise Unsupported(f"the output {o.name} of a body, which is of texts, or which nothing computes", kind)
            if kind != "If" and ragged.holds(scope[o.name]):
                raise Unsupported(f"the output {o.name} of a body, whose length its elements decide", kind)
        return [scope[o.name] for o in body.output]

    def scan(self, node: Any, inputs: list[Value | None], scope: Scope, depth: int) -> Sequence[Value | None]:
        """Written out, iteration by iteration."""
        found = self.attributes(node)
        body = self.graph(node, "body")
        count = int(found["num_scan_inputs"])
        if self.version < 9 or depth >= DEEPEST or any(v is None for v in inputs):
            raise Unsupported(f"the form of opset {self.version}, or deeper than {DEEPEST}", "Scan")
        given = [v for v in inputs if v is not None]
        outputs = len(body.output) - (len(given) - count)
        lists = {"scan_input_directions": count, "scan_input_axes": count, "scan_output_axes": outputs, "scan_output_directions": outputs}
        if not 1 <= count <= len(given) or len(body.input) != len(given) or outputs < 0 or any(
                len(found[k]) != n for k, n in lists.items() if k in found):
            raise Unsupported(f"num_scan_inputs {count}, lists or a body that do not fit {len(given)} operands", "Scan")
        states, scanned = given[:len(given) - count], given[len(given) - count:]
        back = list(found.get("scan_input_directions", [0] * count))
        axes = [self.axis(int(a), v.rank) for a, v in zip(found.get("scan_input_axes", [0] * count), scanned)]
        times = {v.shape[a] for a, v in zip(axes, scanned)}
        if len(times) != 1 or not 1 <= max(times) <= MOST_ITERATIONS:
            raise Unsupported(f"{sorted(times)} iterations, 1 to {MOST_ITERATIONS} are written out", "Scan")
        length, columns = times.pop(), [[] for _ in body.output[len(states):]]  # type: tuple[int, list[list[Any]]]
        kinds: list[str] = []
        outside: Scope = ChainMap({t.name: self.g.constant(self.array(t)) for t in body.initializer}, scope)
        for step in range(length):
            self.counted("Scan")
            inner: Scope = ChainMap({}, outside)
            rows = []
            for v, a, b in zip(scanned, axes, back):
                row = shapes.cut(self.g, self.g.tensor(v), a, length - 1 - step if b else step, 1)
                shape = [d for i, d in enumerate(v.shape) if i != a]
                rows.append(self.g.made(self.g.reshape(row, shape), v.dtype, v))
            inner.update({i.name: v for i, v in zip(body.input, [*states, *rows])})
            self.nodes(body.node, inner, depth + 1)
            outs = self.ends(body, inner, "Scan")
            states, kinds = outs[:len(states)], [v.dtype for v in outs[len(states):]]
            for column, v in zip(columns, outs[len(states):]):
                column.append(self.g.tensor(v))
        stacked = []
        for k, (column, dtype) in enumerate(zip(columns, kinds)):
            axis = self.axis(int(list(found.get("scan_output_axes", [0] * len(columns)))[k]), len(column[0].shape) + 1)
            column = column[::-1] if list(found.get("scan_output_directions", [0] * len(columns)))[k] else column
            parts = [self.g.reshape(t, [*t.shape[:axis], 1, *t.shape[axis:]]) for t in column]
            t = self.g.op("concat", *parts, axis=axis) if len(parts) > 1 else parts[0]
            stacked.append(self.g.made(t, dtype, *given))
        return [*states, *stacked]

    def loop(self, node: Any, inputs: list[Value | None], scope: Scope, depth: int) -> Sequence[Value | None]:
        """Written out, iteration by iteration: how many there are has to be known, as by a count or a condition on it."""
        body = self.graph(node, "body")
        count, going, *given = inputs if len(inputs) >= 2 else [*inputs, None, None][:2]
        states = [v for v in given if v is not None]
        outputs = len(body.output) - 1 - len(states)
        if depth >= DEEPEST or len(states) != len(given) or len(body.input) != 2 + len(states) or outputs < 0:
            raise Unsupported(f"a body that does not fit {len(given)} operands, or deeper than {DEEPEST}", "Loop")
        most = self.alone(count) if count is not None else MOST_ITERATIONS + 1
        columns: list[list[Any]] = [[] for _ in range(outputs)]
        kinds: list[str] = []
        outside: Scope = ChainMap({t.name: self.g.constant(self.array(t)) for t in body.initializer}, scope)
        step, more = 0, going is None or bool(self.alone(going))
        while more and step < most:
            if step == MOST_ITERATIONS:
                raise Unsupported(f"more than {MOST_ITERATIONS} iterations, which are written out", "Loop")
            self.counted("Loop")
            inner: Scope = ChainMap({}, outside)
            first = [self.g.constant(np.array(step, np.int64)), self.g.constant(np.array(True))]
            inner.update({i.name: v for i, v in zip(body.input, [*first, *states])})
            self.nodes(body.node, inner, depth + 1)
            found = self.ends(body, inner, "Loop")
            more, step = bool(self.alone(found[0])), step + 1
            states, kinds = found[1:1 + len(states)], [v.dtype for v in found[1 + len(states):]]
            for column, v in zip(columns, found[1 + len(states):]):
                column.append(self.g.tensor(v))
        if not step and any(node.output[len(states):]):
            raise Unsupported("no iteration, of which there are outputs", "Loop")
        stacked = []
        for column, dtype in zip(columns, kinds):
            if any(t.shape != column[0].shape for t in column):
                raise Unsupported("an output of another shape in each iteration", "Loop")
            parts = [self.g.reshape(t, [1, *t.shape]) for t in column]
            t = self.g.op("concat", *parts, axis=0) if len(parts) > 1 else parts[0]
            stacked.append(self.g.made(t, dtype, *states))
        return [*states, *stacked]

    def alone(self, v: Value, kind: str = "Loop") -> int:
        """A number that has to be known at import, by which a loop goes on or a branch is taken."""
        self.g.operator = kind
        found = np.asarray(self.g.known(v)).reshape(-1)
        if found.size != 1 or found.dtype.kind not in "bi":
            raise Unsupported(f"a count or condition of {found.size} elements of {v.dtype}", kind)
        return int(found[0])

    @staticmethod
    def graph(node: Any, name: str) -> Any:
        found = next((a.g for a in node.attribute if a.name == name), None)
        if found is None:
            raise Unsupported(f"no {name}", node.op_type)
        return found

    @staticmethod
    def axis(axis: int, rank: int) -> int:
        if not -rank <= axis < rank:
            raise Unsupported(f"axis {axis} of {rank}", "Scan")
        return axis % rank

    # ---- operators that the standard defines by others ----

    def definition(self, node: Any, inputs: list[Value | None]) -> Any:
        """The function that an operator is, of the version that the model has, or None."""
        try:
            version = self.version if node.domain in DOMAINS[:2] else self.preview
            schema = self.onnx.defs.get_schema(node.op_type, version, node.domain)
        except self.onnx.defs.SchemaError:
            return None
        if schema.has_function:
            return schema.function_body
        if not schema.has_context_dependent_function:
            return None
        names = {v: k for k, v in ONNX.items()}
        make = self.onnx.helper.make_tensor_type_proto
        types = [make(getattr(self.onnx.TensorProto, names[v.dtype]), v.shape).SerializeToString() if v is not None else
                 self.onnx.TypeProto().SerializeToString() for v in inputs]
        try:
            text = schema.get_context_dependent_function(node.SerializeToString(), types)
        except RuntimeError:
            return None
        if not text:
            return None
        body = self.onnx.FunctionProto()
        body.ParseFromString(text)
        return body

    def expand(self, node: Any, inputs: list[Value | None], depth: int) -> Sequence[Value | None]:
        body = self.definition(node, inputs)
        if body is None:
            raise Unsupported("no translation", node.op_type)
        if depth >= DEEPEST:
            raise Unsupported(f"functions deeper than {DEEPEST}", node.op_type)
        given = {a.name: a for a in node.attribute}
        forms.check(node.op_type, given, inputs)
        defaults = {a.name: a for a in body.attribute_proto}
        scope = {name: v for name, v in zip(body.input, inputs) if v is not None}
        for inner in body.node:
            copy = self.onnx.NodeProto()
            copy.CopyFrom(inner)
            self.bind(copy, node, given, defaults)
            operands = [scope.get(name) if name else None for name in copy.input]
            old, self.version = self.version, next((o.version for o in body.opset_import if o.domain in DOMAINS), self.version)
            try:
                found = self.values(copy, operands, scope, depth + 1)
            finally:
                self.version = old
            scope.update({name: v for name, v in zip(copy.output, found) if name and v is not None})
        return [scope.get(name) for name in body.output]

    def bind(self, inner: Any, node: Any, given: dict[str, Any], defaults: dict[str, Any]) -> None:
        """Puts a function's attributes where its operators, and those of their branches, refer to them."""
        kept = []
        for a in inner.attribute:
            if a.ref_attr_name:
                source = given.get(a.ref_attr_name, defaults.get(a.ref_attr_name)) or self.standard(node, a.ref_attr_name)
                if source is None:
                    continue
                named = self.onnx.AttributeProto()
                named.CopyFrom(source)
                named.name = a.name
                a = named
            elif a.type == self.onnx.AttributeProto.GRAPH:
                for deeper in a.g.node:
                    self.bind(deeper, node, given, defaults)
            kept.append(a)
        copies = [self.onnx.AttributeProto.FromString(a.SerializeToString()) for a in kept]
        del inner.attribute[:]
        inner.attribute.extend(copies)

    def standard(self, node: Any, name: str) -> Any:
        """An attribute's default by the operator's own schema."""
        attribute = self.onnx.defs.get_schema(node.op_type, self.version, node.domain).attributes.get(name)
        default = attribute.default_value if attribute is not None else None
        return default if default is not None and default.type else None
