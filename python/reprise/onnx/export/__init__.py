# SPDX-License-Identifier: Apache-2.0
"""Programs as ONNX models: `save(run.reprise, model.onnx)` and `python -m reprise export RUN.reprise -o MODEL.onnx`.

What leads to the results that are asked for becomes operators, states and data become initializers under their names, and
updates of states are left out. An operation that ONNX has not is refused by its name and place."""
from __future__ import annotations

import importlib
import os
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ... import _core
from ..graph import Unsupported
from . import elementwise, layers, moving, regions
from .rows import NotApart, Rows
from .source import Source, source
from .writer import COMPOSED, HANDLERS, ONE, REFUSED, Call, Value, Writer

__all__ = ["Exported", "OPSET", "operations", "save"]
OPSET, OLDEST = 28, 20  # the newest released one that onnx 1.23 and onnxruntime 1.32 have; the oldest whose forms these are
EXTERNAL = (1 << 31) - (1 << 20)  # protobuf's messages end at 2 GiB
MOST = 1 << 18  # instructions, those of functions as often as they are written out
MODULES = (elementwise, layers, moving, regions)  # they register what they handle
UNKNOWN = "no translation is written"
RANDOM = "draws numbers, and ONNX's have no fixed values"
BACKWARD = "a gradient of training that ONNX has no operator for"
REFUSED.update({op: RANDOM for op in ("uniform", "normal")})
REFUSED.update({op: "an optimizer's update: training is left out of a model" for op in ("sgd", "adam", "adamw", "rmsprop", "lion",
                                                                                     "adagrad")})
REFUSED.update({op: BACKWARD for op in """layer_norm_grad layer_norm_backward rms_norm_grad attention_grad conv2d_grad_weight
max_pool_grad avg_pool_grad resize_grad batch_norm_grad group_norm_grad""".split()})
REFUSED.update(erfc="ONNX has none, and 1 - Erf loses the tail", erf_inv="ONNX has none", atan2="ONNX has none",
               cholesky="ONNX has no factorisations", triangular_solve="ONNX has no solvers",
               non_max="NonMaxSuppression orders and bounds in another way", dropout=RANDOM)


def operations() -> dict[str, tuple[str, str]]:
    """Every operation of the contract and every region: (exported, composed or refused, by what or why)."""
    found = {op: ("exported", kind) for op, kind in ONE.items()}
    found.update({op: ("composed", how) for op, how in COMPOSED.items()})
    found.update({op: ("refused", why) for op, why in REFUSED.items()})
    for op, *_ in _core.operation_table():
        found.setdefault(op, ("refused", UNKNOWN))
    return found


@dataclass(frozen=True)
class Exported:
    """What was written: `inputs` and `outputs` by name with (type, shape), a shape's `None` being any number of rows;
    `fixed` is why the number of rows is fixed, or empty; `dropped` are the states whose updates were left out."""

    path: str
    opset: int
    inputs: dict[str, tuple[str, tuple[int | None, ...]]]
    outputs: dict[str, tuple[str, tuple[int | None, ...]]]
    metadata: dict[str, str]
    fixed: str
    dropped: tuple[str, ...]


def save(what: Any, path: str | os.PathLike[str], *, weights: Mapping[str, Any] | None = None, program: int | None = None,
         outputs: Sequence[str] | None = None, inputs: Sequence[str] = (), rows: str = "auto", opset: int = OPSET,
         external: int = EXTERNAL, force: bool = False) -> Exported:
    """Writes an ONNX model.

    what      an archive or its path; a Program with `weights`, its states and data by name; what `load` gave; a model of layers
              that was recorded: what its last step computed
    program   the number of the archive's program; else the last one that updates no state
    outputs   names of results, in this order; else all, of a recipe's run `scores`, of a text's `logits`
    inputs    names of data and states that are given with each call, beside the feeds
    rows      "auto": any number of rows where the program is shown to keep them apart; "any" refuses where not; "fixed"
    opset     20 to 28
    external  weights of more bytes lie in a file of their own, PATH.data

    Raises Unsupported, which names the operation and its place, and FileExistsError unless `force`."""
    path = os.fspath(path)
    if not OLDEST <= opset <= OPSET:
        raise ValueError(f"opset {opset}: {OLDEST} to {OPSET} can be written")
    if os.path.exists(path) and not force:
        raise FileExistsError(f"{path} exists; force=True replaces it")
    found = source(what, program=program, outputs=outputs, weights=weights, inputs=inputs)
    if not found.results:
        raise Unsupported("the program gives no result, it updates states alone: choose another by program=")
    exporter = Exporter(found, opset)
    fixed = "as was asked" if rows == "fixed" else exporter.free_rows()
    if rows == "any" and fixed:
        raise Unsupported(f"the number of rows is fixed: {fixed}")
    proto, ins, outs = exporter.model(fixed)
    write(proto, path, external)
    notes = {p.key: p.value for p in proto.metadata_props}
    return Exported(path, opset, ins, outs, notes, fixed, tuple(found.notes.get("reprise.dropped", "").split()))


def write(proto: Any, path: str, external: int) -> None:
    """Into a folder beside the path first, checked there with shapes inferred, then under its name: what was there before stays where
    that fails."""
    onnx = importlib.import_module("onnx")
    checker = importlib.import_module("onnx.checker")
    own = f"{os.path.basename(path)}.data"
    with tempfile.TemporaryDirectory(prefix=".export-", dir=os.path.dirname(path) or ".") as folder:
        model, data = os.path.join(folder, os.path.basename(path)), os.path.join(folder, own)
        if sum(t.ByteSize() for t in proto.graph.initializer) > external:
            onnx.save(proto, model, save_as_external_data=True, all_tensors_to_one_file=True, location=own, size_threshold=1024)
            checker.check_model(model, full_check=True)
        else:
            checker.check_model(proto, full_check=True)
            with open(model, "wb") as f:
                f.write(proto.SerializeToString(deterministic=True))
        if os.path.exists(data):
            os.replace(data, f"{path}.data")
        os.replace(model, path)


class Exporter:
    """Writes one source as a model."""

    def __init__(self, found: Source, opset: int) -> None:
        self.s, self.w = found, Writer(opset)
        self.functions: regions.Functions | None = None
        self.rows: dict[int, tuple[int, int]] = {}
        self.live = self.needed()
        self.count = 0

    def needed(self) -> set[int]:
        """Values that the results need, up to those that are given."""
        live = set(self.s.results.values())
        for i in reversed(self.s.program.instructions):
            if any(o in live and o not in self.s.given for o in i.outputs):
                live.update(i.inputs)
        return live

    def free_rows(self) -> str:
        """Follows rows from the inputs; the reason why their number is fixed, or nothing."""
        given = [v for v in self.s.given if v in self.live]
        lengths = {self.s.types[v][0][0] for v in given if self.s.types[v][0]}
        if len(lengths) != 1 or any(not self.s.types[v][0] for v in given):
            return "the inputs have no one number of rows"
        count = lengths.pop()
        if count == 0:
            return "there are no rows"
        found = {v: (0, 1) for v in given}
        try:
            Rows(count).follow(self.s.program.instructions, self.s.types, found, self.live)
        except NotApart as e:
            return str(e)
        apart = [n for n, v in self.s.results.items() if v not in found]
        if apart:
            return f"the result {apart[0]} has no rows"
        self.rows = found
        return ""

    def model(self, fixed: str) -> tuple[Any, dict[str, Any], dict[str, Any]]:
        w, s = self.w, self.s
        values: dict[int, Value] = {}
        for v, name in s.given.items():
            if v in self.live:
                values[v] = self.value(v, w.unique(name))
                if values[v].last != name:
                    w.renamed[str(values[v].last)] = name
        reserved = {name: w.unique(name) for name in s.results}
        for i in s.program.inputs:
            if i.value in self.live and i.value not in s.given:
                if (i.kind, i.name) not in s.weights:
                    raise ValueError(f"the {i.kind} {i.name} has no elements: give them in weights, or its name in inputs")
                values[i.value] = self.value(i.value, None)
                values[i.value].weight = i.name, s.weights[i.kind, i.name]
        self.instructions(s.program.instructions, values, s.types, "instruction", self.live)
        helper = w.onnx.helper
        for name, v in s.results.items():
            w.nodes.append(helper.make_node("Identity", [w.last(values[v])], [reserved[name]]))
            if reserved[name] != name:
                w.renamed[reserved[name]] = name
        ins = {str(values[v].last): v for v in s.given if v in self.live}
        outs = {reserved[name]: v for name, v in s.results.items()}
        info = [[helper.make_tensor_value_info(n, w.type(s.types[v][1]), self.symbols(v)) for n, v in part.items()]
                for part in (ins, outs)]
        arrays = [w.onnx.numpy_helper.from_array(a, n) for n, a in w.initializers.items()]
        graph = helper.make_graph(w.nodes, "reprise", info[0], info[1], arrays)
        proto = helper.make_model(graph, opset_imports=[helper.make_opsetid("", w.opset)], producer_name="reprise",
                                  ir_version=helper.find_min_ir_version_for([helper.make_opsetid("", w.opset)]))
        helper.set_model_props(proto, self.metadata(fixed))
        return proto, {n: (s.types[v][1], self.free(v)) for n, v in ins.items()}, {n: (s.types[v][1], self.free(v))
                                                                                 for n, v in outs.items()}

    def metadata(self, fixed: str) -> dict[str, str]:
        package = importlib.import_module("reprise")
        notes = {"reprise.contract": str(self.s.program.document["contract"]), "reprise.program": self.s.digest,
                 "reprise.version": str(package.__version__), "reprise.rows": f"fixed: {fixed}" if fixed else "any number", **self.s.notes}
        if self.w.renamed:
            notes["reprise.names"] = importlib.import_module("json").dumps(self.w.renamed, sort_keys=True)
        return dict(sorted(notes.items()))

    def value(self, v: int, name: str | None) -> Value:
        shape, dtype = self.s.types[v]
        return Value(dtype, shape, name, row=self.rows.get(v))

    def symbols(self, v: int) -> list[int | str]:
        shape, row = self.s.types[v][0], self.rows.get(v)
        return [n if row is None or a != row[0] else "batch" if row[1] == 1 else f"{row[1]}*batch" for a, n in enumerate(shape)]

    def free(self, v: int) -> tuple[int | None, ...]:
        row = self.rows.get(v)
        return tuple(None if row and a == row[0] else n for a, n in enumerate(self.s.types[v][0]))

    # ---- instructions ----

    def instructions(self, program: Sequence[Any], values: dict[int, Value], types: Any, place: str, live: set[int] | None,
                     rows: bool = True) -> None:
        uses: dict[int, int] = {}
        for i in program:
            for v in i.inputs:
                uses[v] = uses.get(v, 0) + 1
        ends = set(self.s.results.values()) if live is not None else set()
        for n, i in enumerate(program):
            if live is not None and not any(o in live for o in i.outputs) or all(o in values for o in i.outputs):
                continue
            call = Call(i.op, i.attributes, [values[v] for v in i.inputs], [types[o] for o in i.outputs], f"{place} {n}",
                        [self.rows.get(o) for o in i.outputs] if rows else [])
            found = self.call(call)
            if found and found[0].conv is not None and (uses.get(i.outputs[0], 0) != 1 or i.outputs[0] in ends or live is None):
                found[0].conv = None
            values.update(zip(i.outputs, found))

    def call(self, call: Call) -> list[Value]:
        self.count += 1
        if self.count > MOST:
            raise Unsupported(f"{call.place}: more than {MOST} instructions with those of functions written out", call.op)
        if call.op == "dropout" and call.real("rate") == 0:
            return [call.ins[0]]
        if call.op in regions.REGIONS:
            if self.functions is None:
                self.functions = regions.Functions(self.s.program.functions)
            return regions.region(self.w, call, self.function)
        handler = HANDLERS.get(call.op)
        if handler is None:
            raise Unsupported(f"{call.place}: {REFUSED.get(call.op, UNKNOWN)}", call.op)
        return handler(self.w, call)

    def function(self, k: int, arguments: list[Value], place: str) -> list[Value]:
        """What a function gives for arguments, its instructions written out here."""
        assert self.functions is not None
        f = self.s.program.functions[k]
        values = dict(enumerate(arguments))
        live = {o.value for o in f.outputs}
        self.instructions(f.instructions, values, self.functions.types[k], f"{place}, function {k}, instruction", None, rows=False)
        return [values[v] for v in (o.value for o in f.outputs) if v in live]
