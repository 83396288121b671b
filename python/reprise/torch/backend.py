# SPDX-License-Identifier: Apache-2.0
"""`torch.compile(model, backend="reprise")`: for inference and for trying a model. Each graph that Dynamo finds becomes a
program, its backward too; training that is to be recorded goes through `compile`, which enters C once a step.

What a program cannot have is an error (`strict`, the default), or with options={"strict": False} goes to PyTorch, with a
warning and a line in `report()`. What Dynamo itself leaves to PyTorch (graph breaks, more shapes than its limit)
`outside()` lists: no operation is left out in silence."""
from __future__ import annotations

import contextlib
import importlib
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .capture import Reader
from .traps import framework
from .lower import Lowering, Unsupported, Value, has_rule


@dataclass
class Report:
    """What became of the graphs: `compiled`, the number of nodes of each; `refused`, the reason of each that PyTorch runs."""

    compiled: list[int] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)


_report = Report()
_within = 0  # calls of programs that are going on


def report(clear: bool = False) -> Report:
    """The graphs since the start, or since it was last cleared."""
    global _report
    found = _report
    if clear:
        _report = Report()
    return found


def backend(gm: Any, inputs: Sequence[Any], *, options: dict[str, Any] | None = None, **_: Any) -> Callable[..., Any]:
    """The entry point of torch_dynamo_backends. options: strict (True), threads, level."""
    given = dict(options or {})
    strict = bool(given.pop("strict", True))
    aot = importlib.import_module("torch._dynamo.backends.common").aot_autograd

    def compiler(graph: Any, example: Sequence[Any]) -> Callable[..., Any]:
        try:
            made = Program(graph, given)
            _report.compiled.append(len(graph.graph.nodes))
            return made
        except (Unsupported, importlib.import_module("reprise").Error) as e:
            if strict:
                raise
            _report.refused.append(str(e))
            warnings.warn(f"reprise leaves a graph of {len(graph.graph.nodes)} operations to PyTorch: {e}", stacklevel=2)
            return importlib.import_module("torch._functorch.aot_autograd").make_boxed_func(graph.forward)  # type: ignore[no-any-return]

    boxed = importlib.import_module("torch._functorch.aot_autograd").make_boxed_func
    found: Callable[..., Any] = aot(fw_compiler=lambda g, e: boxed_once(compiler(g, e), boxed),
                                    bw_compiler=lambda g, e: boxed_once(compiler(g, e), boxed),
                                    decompositions=backwards())(gm, inputs)
    return found


def backwards() -> dict[Any, Callable[..., Any]]:
    """PyTorch's own forms in other operations of those that gradients alone have (`select_backward`, `hardswish_backward`) and that have no
    rule: a step's program has its own gradients and meets none of them."""
    return {op: form for op, form in framework("torch._decomp").decomposition_table.items() if "_backward" in str(op) and not has_rule(str(op))}


def boxed_once(f: Any, boxed: Any) -> Any:
    return f if getattr(f, "_boxed_call", False) else boxed(f)


class Program:
    """A functional graph as a program: called with its tensors, it gives the graph's results."""

    def __init__(self, gm: Any, options: dict[str, Any]) -> None:
        self.torch = framework()
        graph = Reader().body(gm)
        g = Lowering(graph)
        out = g.run()
        self.places = [k for k, i in enumerate(graph.inputs) if (i.feed or i.name) in g.feeds]
        self.names = [graph.inputs[k].feed or graph.inputs[k].name for k in self.places]
        self.inputs = {i.name: k for k, i in enumerate(graph.inputs)}
        self.results: list[Any] = []  # the name of a result, or what is none
        for k in range(len(graph.outputs)):
            v = out[f"result {k}"]
            if isinstance(v, Value):
                g.builder.result(f"result.{k}", v.tensor)
                self.results.append(f"result.{k}")
            else:
                self.results.append(None)
        self.repeated = repeated(gm)
        if g.rng_tensor is not None:
            one = g.op("iota", n=2, dtype="i64")
            g.builder.update("rng", g.op("add", g.rng_tensor, one))
        self.run = importlib.import_module("reprise").Run(**options)
        if g.rng_tensor is not None:
            self.run.add_state("rng", np.array([int(self.torch.initial_seed()) & 0x7FFFFFFF, 0], np.int64))
        for name, array in g.data.items():
            self.run.add_data(name, array)
        self.step = self.run.compile(g.builder.finish()) if any(self.results) else None

    def __call__(self, *tensors: Any) -> list[Any]:
        global _within
        _within += 1
        try:
            return self.results_of(tensors)
        finally:
            _within -= 1

    def results_of(self, tensors: Sequence[Any]) -> list[Any]:
        feeds = {n: tensors[k].detach().contiguous().numpy() for n, k in zip(self.names, self.places)}
        found = self.step(**feeds) if self.step is not None else {}
        made: list[Any] = [None if name is None else self.torch.from_numpy(np.array(found[name])) for name in self.results]
        for k, axes in self.repeated.items():
            if made[k] is not None:
                made[k] = made[k][tuple(slice(0, 1) if d in axes else slice(None) for d in range(made[k].ndim))].expand(made[k].shape)
        return made


def repeated(gm: Any) -> dict[int, list[int]]:
    """Of the graph's outputs those whose elements are one in memory along some axes, as expand() makes them: who writes into such a tensor
    later writes all of them, or is told."""
    found: dict[int, list[int]] = {}
    node = next(n for n in reversed(gm.graph.nodes) if n.op == "output")
    for k, v in enumerate(node.args[0]):
        value: Any = getattr(v, "meta", {}).get("val")
        if isinstance(value, framework().Tensor) and value.layout is framework().strided:
            axes = [d for d, (n, s) in enumerate(zip(value.shape, value.stride())) if s == 0 and n > 1]
            found |= {k: axes} if axes else {}
    return found


@contextlib.contextmanager
def outside() -> Iterator[list[str]]:
    """The operations that PyTorch itself executes in the block, in order: with a model that is compiled whole there are none.

        with rt.outside() as operations:
            model(x)"""
    mode = importlib.import_module("torch.utils._python_dispatch").TorchDispatchMode
    found: list[str] = []

    class Watch(mode):  # type: ignore[misc, valid-type]
        supports_higher_order_operators = True

        @classmethod
        def is_infra_mode(cls) -> bool:
            return True

        def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            if not _within:  # views of arrays, which a program's call makes, compute nothing
                found.append(str(function))
            return function(*args, **(kwargs or {}))

    with Watch():
        yield found
