# SPDX-License-Identifier: Apache-2.0
"""Forward passes as programs: `compile_inference` calls one from Python, `program` makes the files of a recipe's model that is a
program, which the command trains and predicts without Python, `report` says of each operation whether it has a rule."""
from __future__ import annotations

import contextlib
import importlib
import os
import weakref
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import repeat
from typing import Any

import numpy as np

from .assigned import assignments_kept
from .capture import EXPORTS, Captured, capture
from .traps import framework, unchanged
from .beside import warn_of_old
from .check import any_complex, as_array
from .graph import GRADIENT, Graph, Ref, map_refs
from .packed import refuse_packed
from .._core import StepBase
from ..settled import compiled
from .refusals import Withheld, advise, withheld
from .lower import COMPLEX_RULES, REMEDIES, RULES, Complex, Lowering, Unsupported, has_rule, live
from .guards import Guards, Held, asks, burned_in, identity, same_memory, structure_of, tensors_of
from .substitutes import ASKED, MODE, mode_asked
from .training import Batch, flatten, name_feeds, names_of, unflatten
from . import rules

__all__ = ["Inference", "ModelProgram", "Report", "compile_inference", "program", "report", "rules"]
MOST_STREAMS = 4096
MOST_RESULTS = 32  # of an answer that goes the short way
MOST_LOOKS = 16  # in vain, one after the other: then the short way is taught no more


def forward_of(module: Any, batch: Batch, outputs: dict[str, Any], gradients: bool = True) -> Any:
    """A module of the batch's tensors, which gives the module's tensors in order; outputs["form"] is their form. gradients: whether it
    is called with them."""
    torch = framework()
    fixed = [None if isinstance(x, torch.Tensor) else (x,) for x in batch.leaves]

    class Forward(torch.nn.Module):  # type: ignore[name-defined, misc]
        def __init__(self) -> None:
            super().__init__()
            self.module = module

        def forward(self, *tensors: Any) -> Any:
            walk = iter(tensors)
            whole = unflatten(batch.form, iter([next(walk) if f is None else f[0] for f in fixed]))
            mode = contextlib.nullcontext() if gradients else torch.no_grad()
            with assignments_kept(self, tensors), unchanged(self.module), mode:  # here: export itself sets numbers back afterwards
                out = self.module(**whole) if isinstance(whole, dict) else self.module(*whole)
            leaves: list[Any] = []
            outputs["form"] = flatten(out, "", leaves, [])
            refuse_packed(leaves)
            outputs["fixed"] = [None if isinstance(x, torch.Tensor) else (withheld(x),) for x in leaves]
            if outputs["form"] is None and outputs["fixed"][0] is not None and isinstance(of := outputs["fixed"][0][0], Withheld):
                raise of.refusal()
            return tuple(x for x in leaves if isinstance(x, torch.Tensor))

    made = Forward()
    made.training = module.training
    return made


def captured_forward(module: Any, batch: Batch) -> tuple[Captured, dict[str, Any]]:
    """Of a forward that asks whether gradients are on, or what comes of that in a tensor, the graphs with and without them have to be one
    program: an answer may be asked for in either mode. What either of them has burned in is looked at later."""
    def of(gradients: bool) -> tuple[Captured, dict[str, Any]]:
        outputs: dict[str, Any] = {}
        found = capture(forward_of(module, batch, outputs, gradients), batch.tensors(), prefix="module.")
        name_feeds(found.graph, batch.tensor_paths())
        return found, outputs
    with EXPORTS:
        MODE.clear()
        ASKED.names.clear()
        made = of(True)
        for name, line in [*MODE.items(), *((n, line) for n, line in ASKED.names.items() if n != "needs_input_grad")][:1]:
            try:
                other = of(False)
                same = answers_of(*made) == answers_of(*other)
            except Exception as e:  # as of gradients that the forward takes
                raise mode_asked(name, line) from e
            if not same:
                raise mode_asked(name, line)
            known = {id(t) for t in (*made[0].tensors.values(), *made[0].constants.values())}
            made[0].constants.update({f"without gradients {n}": t for n, t in other[0].constants.items() if id(t) not in known})
    return made


def answers_of(captured: Captured, outputs: dict[str, Any]) -> Any:
    """What decides a forward's answers: the program, its constants, and the form of what is given. Where an operation has no rule, its
    name: whoever builds the program says more of it."""
    g = Lowering(captured.graph if any(n.op == GRADIENT for n in captured.graph.walk()) else unstopped(captured.graph))
    g.later = 0
    try:
        found = g.run()
    except Unsupported as e:
        return e.operation, captured.graph.digest()
    names = sorted(found)
    for k, name in enumerate(names):
        g.builder.result(f"out.{k}", g.in_memory(found[name]))
    data = [(a.dtype.str, a.shape, a.tobytes()) for a in g.data.values()]
    states = {n: id(t) for n, t in captured.tensors.items()}
    form = outputs["form"], repr(outputs["form"])
    return g.builder.finish().text, names, data, states, form, [None if f is None else (Same(f[0]),) for f in outputs["fixed"]]


@dataclass(frozen=True, eq=False)
class Same:
    """What a forward gives beside tensors, as it is told from another: an object is itself alone."""

    of: Any

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Same) or type(self.of) is not type(other.of):
            return False
        if isinstance(self.of, Withheld):
            return repr(self.of) == repr(other.of)
        return self.of is other.of or isinstance(self.of, (bool, int, float, complex, str, bytes, np.generic, np.ndarray, framework().dtype)) and \
            type(self.of).__module__ in ("builtins", "numpy", "torch") and identity(self.of) == identity(other.of)


def unstopped(graph: Graph) -> Graph:
    """The graph without its stop_gradients, which are the value itself where no gradient is taken."""
    stopped = {n.name: n.args[0] for n in graph.nodes if n.op == "reprise.stop_gradient"}

    def of(e: Any) -> Any:
        while isinstance(e, Ref) and e.name in stopped:
            e = stopped[e.name]
        return e
    nodes = [replace(n, args=map_refs(of, n.args), kwargs=map_refs(of, n.kwargs)) for n in graph.nodes if n.name not in stopped]
    return replace(graph, nodes=nodes, outputs=[replace(o, value=map_refs(of, o.value)) for o in graph.outputs],
                   graphs=[unstopped(s) for s in graph.graphs])


MADE: weakref.WeakSet[Inference] = weakref.WeakSet()  # all there are
WRITES: dict[str, Any] = {}  # the handle of `fused_step`


def fused_step(optimizer: Any, args: Any, kwargs: Any) -> None:
    """After a step of any optimizer. PyTorch counts no writes of fused ones: those who have taken what one writes into are told."""
    fused = [p for g in optimizer.param_groups if g.get("fused") for p in g["params"]]
    written = {k for p in fused for k in same_memory(p)} if fused else set()
    for f in list(MADE) if written else ():
        if any(not written.isdisjoint(same_memory(t)) for t in list(f._taken)):
            f._fused["steps"] += 1


fused_step.of_reprise = True  # type: ignore[attr-defined]


class Short(StepBase):
    """Calls of tensors alone, for a program that gives tensors: what stands is looked at, and the answer made, without Python. Gives
    None of all else; `_last` is then as it was."""

    def _long(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        return None

    def _note(self, e: Exception) -> None:
        advise(e)


class Inference:
    """`y = f(x)`: a module's forward by a program, with the weights that the module has: what was written into it or replaced since
    is taken anew, but for writes that PyTorch does not count (`w.data`), which `load` takes. Made by compile_inference. What the
    module gives comes back in its form, as tensors of torch. A forward that changes buffers (batch norm in training) is refused:
    module.eval() first. What comes of deepcopy or a pickle is of the module's copy, and builds its program
    when it is first called."""

    def __init__(self, module: Any, example: Any, options: dict[str, Any]) -> None:
        self.module, self.options, self.names = module, options, names_of(module, None)
        self.built: dict[Any, tuple[Any, list[tuple[str, int]], dict[str, Any], Any]] = {}
        self.program: Any = None
        self._guards: Guards | None = None
        self._known: list[Guards] = []  # of the programs: their objects live, so that identities stay theirs
        self._taken: list[Any] = []  # the module's tensors that programs have values of
        self._versions: list[int] = []
        self._asks = asks("requires_grad", module, None)
        self._asked: list[tuple[Any, str, bool]] = []  # of parameters whether they have a gradient, where a forward asks
        self._held = Held([], [])
        self._short, self._blind, self._known_short = Short(), 0, set[Any]()
        self._fused, self._fused_seen = {"steps": 0}, 0
        MADE.add(self)
        if not WRITES:
            WRITES["handle"] = framework("torch.optim.optimizer").register_optimizer_step_post_hook(fused_step)
        if example is not None:
            with EXPORTS:  # of another thread: while one is under way the module has its tensors elsewhere
                batch = self._batch(example)
                self.built[self._key(batch)] = self._build(batch)

    def __reduce__(self) -> tuple[Any, ...]:
        return Inference, (self.module, None, dict(self.options))

    def _key(self, batch: Batch) -> Any:
        """What a program burns in: the batch's form, and the module's numbers as they are now."""
        if self._guards is None or self._guards.changed():
            self._guards = Guards(burned_in(self.module, None))
        return batch.key, self._guards.key

    def _batch(self, example: Any) -> Batch:
        return Batch.of(example if isinstance(example, (dict, tuple)) else (example,), self.names, self._asks)

    def _build(self, batch: Batch) -> Any:
        captured, outputs = captured_forward(self.module, batch)
        self._asks = self._asks or bool(ASKED.names)  # a key without what was asked for is not found again
        if any(o.kind == "buffer" for o in captured.graph.outputs):
            raise Unsupported("the forward changes buffers", remedy="module.eval() first, or compile a training step")
        g = Lowering(captured.graph)
        g.later = 0
        found = g.run()
        for k in range(len(found)):
            g.builder.result(f"out.{k}", g.in_memory(found[f"result {k}"]))
        outputs["pairs"] = frozenset(k for k in range(len(found)) if isinstance(found[f"result {k}"], Complex))
        if g.rng_tensor is not None:
            g.builder.update("rng", g.op("add", g.rng_tensor, g.op("iota", n=2, dtype="i64")))
        program = self.program = g.builder.finish()
        states = {i[1]: np.zeros(2, np.int64) if i[1] == "rng" else as_array(captured.tensors[i[1]])
                  for i in program.inputs if i[0] == "state"}
        declared = {i[1] for i in program.inputs if i[0] == "feed"}
        tensor = framework().Tensor
        at = [k for k, x in enumerate(batch.leaves) if isinstance(x, tensor)]
        users = [i.feed for i in captured.graph.inputs if i.kind == "user"]
        self._taken += [t for t in (*captured.tensors.values(), *captured.constants.values()) if not t.is_inference()]
        self._versions = [t._version for t in self._taken]
        self._asked = [(p, "requires_grad", p.requires_grad) for p in self.module.parameters()] if self._asks else []
        self._held = Held(tensors_of(self.module, None), self._taken, structure_of(self.module, None))
        self._known += [self._guards] if self._guards is not None else []
        return compiled(program, states, g.data, self.options), [(n, k) for n, k in zip(users, at) if n in declared], outputs, len(found)

    def _teach(self, args: tuple[Any, ...], key: Any) -> None:
        """Shows the short way what this answer was, so that the next like it is its own."""
        step, places, outputs, count = self.built[key]
        if not 0 < count <= MOST_RESULTS or self._guards is None or any_complex(args) or self._asks:
            return
        if not self._short._short_stands():
            self._forget()
            versions = zip(self._taken, repeat("_version"), self._versions)
            watched = [*self._guards.places(), *self._held.places(), *versions, (self._fused, "steps", self._fused_seen)]
            if self._blind >= MOST_LOOKS or self._guards.changed() or \
                    not self._short._short_watch([(framework().Tensor, "is_neg")], watched):
                self._blind += 1  # there is something that it cannot compare
                self._forget()
                return
            self._blind = 0
        if key in self._known_short:
            return
        feeds: list[str | None] = [None] * len(args)
        for name, k in places:
            feeds[k] = name
        names = tuple(f"out.{k}" for k in range(count))
        self._short._short_add(args, tuple(feeds), [], step, names[0] if count == 1 else names, outputs)
        self._known_short.add(key)

    def _forget(self) -> None:
        self._short._short_clear()
        self._known_short.clear()

    def load(self) -> None:
        """Takes the module's weights as they are now."""
        self._short._hold()
        try:
            self._forget()
            self.built.clear()
            self._guards = None  # its parts may be others now
            self._taken, self._known, self._asked = [], [], []
            self._fused_seen = self._fused["steps"]
        finally:
            self._short._release()

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        self._short._hold()  # threads take turns: what is watched, built and taken is of one answer at a time
        try:
            found = self._short(*args) if not kwargs else None
            if found is None:
                return self._answer(args, kwargs)
            outputs = self._short._last
        finally:
            self._short._release()
        return self._form(outputs, [given(t) for t in found] if type(found) is tuple else [given(found)])

    def _form(self, outputs: dict[str, Any], tensors: Sequence[Any]) -> Any:
        pairs = outputs["pairs"]
        walk = iter(tensors if not pairs else [framework().view_as_complex(t) if k in pairs else t for k, t in enumerate(tensors)])
        return unflatten(outputs["form"], iter([next(walk) if f is None else f[0] for f in outputs["fixed"]]))

    def _answer(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        with EXPORTS:
            if any(p.requires_grad is not was for p, _, was in self._asked) or [t._version for t in self._taken] != self._versions or \
                    self._fused["steps"] != self._fused_seen or not self._held.stand():
                self.load()
            batch = self._batch(args if args else kwargs)
            key = self._key(batch)
            if key not in self.built:
                self.built[key] = self._build(batch)
        step, places, outputs, count = self.built[key]
        try:
            found = step(**{n: as_array(batch.leaves[k]) for n, k in places})
        except importlib.import_module("reprise").Error as e:
            advise(e)
            raise
        if args and len(batch.leaves) == len(args):
            with EXPORTS:
                self._teach(args, key)
        return self._form(outputs, [given(found[f"out.{k}"]) for k in range(count)])


def given(result: Any) -> Any:
    """A tensor of torch on the memory of a result, which nobody else has: it may be written to, so no copy is made."""
    return framework().from_dlpack(result.__dlpack__(max_version=(1, 0), copy=False))


def compile_inference(module: Any, example: Any, **options: Any) -> Inference:
    """A function of the module's inputs. example: its inputs, a tensor, tuple or dict; options: threads, level, device, memory.
    Raises Unsupported, with operation, source line and remedy."""
    if example is None:
        raise TypeError("compile_inference(module, example): the example is a tensor, tuple or dict of the module's inputs")
    warn_of_old(module, "compile_inference()")
    return Inference(module, example, options)


# ---- for the command ----

@dataclass
class ModelProgram:
    """A recipe's model as programs: `program` with dropout, `evaluate` without (None where there is no dropout), `initial`, which
    sets all weights to 0, and `weights`, by which a recipe begins in their place."""

    program: Any
    evaluate: Any
    initial: Any
    weights: dict[str, np.ndarray[Any, Any]] = field(repr=False)

    def save(self, folder: str | os.PathLike[str]) -> None:
        """Writes forward.json, evaluate.json where it is there, initial.json and weights.safetensors."""
        from ..weights import write_safetensors
        os.makedirs(folder, exist_ok=True)
        for name, p in (("forward", self.program), ("evaluate", self.evaluate), ("initial", self.initial)):
            if p is not None:
                with open(os.path.join(folder, f"{name}.json"), "wb") as f:
                    f.write(p.text)
        write_safetensors(os.path.join(folder, "weights.safetensors"), self.weights)

    def recipe(self, folder: str = ".") -> str:
        """The lines of a recipe that name the files."""
        evaluate = f", evaluate: {folder}/evaluate.json" if self.evaluate is not None else ""
        return (f"model: {{program: {folder}/forward.json{evaluate}, initial: {folder}/initial.json}}\n"
                f"weights: {folder}/weights.safetensors\n")


class Drawing(Lowering):
    """A forward whose draws are by the feed that a recipe's model has."""

    def rng(self) -> Any:
        if self.rng_tensor is None:
            self.rng_tensor = self.builder.feed("rng", (3,), "i64")
        return self.rng_tensor

    def next_stream(self) -> int:
        if self.stream >= MOST_STREAMS:
            raise self.refuse(f"more than {MOST_STREAMS} places that draw")
        return super().next_stream()


def forward_program(module: Any, example: Any) -> tuple[Any, Captured, bool]:
    captured, _ = captured_forward(module, Batch.of((example,)))
    users = [i for i in captured.graph.inputs if i.kind == "user"]
    for i in users:
        i.feed = "x"
    g = Drawing(captured.graph)
    out = g.run()
    names = [n for n in out if n.startswith("buffer ")]
    if names:
        raise Unsupported(f"the forward changes {', '.join(n[7:] for n in names)}", remedy="A recipe's model has no buffers: no batch norm")
    if g.data or len(out) != 1 or len(users) != 1:
        raise Unsupported("a recipe's model has one input, one value and no constants but single numbers",
                          remedy=f"Found {len(users)} inputs, {len(out)} values and {len(g.data)} constants")
    logits = out["result 0"]
    if isinstance(logits, Complex):
        raise Unsupported("a recipe's model has a value of real elements", remedy="torch.view_as_real(value), or its abs()")
    if logits.rank == 1:
        logits = g.value(g.reshape(logits.tensor, [*logits.shape, 1]))
    g.builder.result("logits", logits.tensor)
    return g.builder.finish(), captured, g.rng_tensor is not None


def program(module: Any, example: Any) -> ModelProgram:
    """The programs of a recipe's `model: {program: ..}`. example: a batch x [rows, ..] of the features. Of a module in training
    `program` has its dropout, and `evaluate` is the module in evaluation. Raises Unsupported."""
    training = bool(module.training)
    modes = {m: m.training for m in module.modules()}
    made, captured, draws = forward_program(module, example)
    evaluate = None
    if training and draws:
        module.eval()
        try:
            evaluate = forward_program(module, example)[0]
        finally:
            for m, mode in modes.items():
                m.training = mode
    b = importlib.import_module("reprise").Builder()
    weights: dict[str, np.ndarray[Any, Any]] = {}
    for _, name, shape, dtype, _ in (i for i in made.inputs if i[0] == "state"):
        weights[name] = np.array(as_array(captured.tensors[name]))
        b.update(name, b.append("fill", {"value": 0.0, "shape": list(shape), "dtype": dtype}, []))
    return ModelProgram(made, evaluate, b.finish(), weights)


# ---- what is taken ----

@dataclass
class Report:
    """`taken` and `refused`: of each operation how often it is there, and why it is refused with its source lines. `reason`: why
    nothing could be captured at all."""

    taken: dict[str, int]
    refused: dict[str, list[str]]
    reason: str = ""

    def __bool__(self) -> bool:
        return not self.refused and not self.reason

    def __str__(self) -> str:
        if self.reason:
            return f"refused: {self.reason}"
        lines = [f"{sum(self.taken.values())} operations of {len(self.taken)} kinds are taken, {len(self.refused)} kinds are refused"]
        lines += [f"  taken    {n:5d}  {op}" for op, n in sorted(self.taken.items())]
        lines += [f"  refused         {op}: {why}" for op, reasons in sorted(self.refused.items()) for why in reasons]
        return "\n".join(lines)

    __repr__ = __str__


def report(module: Any, example: Any, loss: Any = None) -> Report:
    """Which operations of a module (with a loss: of its training step) have a rule, and why others have none. Operations are
    lowered one after another: where one is refused, those that need its value are not looked at, but for whether they have a rule."""
    from .training import captured_step
    batch = Batch.of(example if isinstance(example, (dict, tuple)) else (example,), names_of(module, loss))
    try:
        graph = (captured_step(module, loss, batch) if loss is not None else captured_forward(module, batch)[0]).graph
    except Unsupported as e:
        return Report({}, {}, str(e))
    return report_of(graph, later=loss is not None)


def report_of(graph: Graph, later: bool = True) -> Report:
    taken: dict[str, int] = {}
    refused: dict[str, list[str]] = {}
    for n in [*live(graph), *(n for g in graph.graphs for n in g.walk())]:
        if has_rule(n.op):
            taken[n.op] = taken.get(n.op, 0) + 1
        else:
            why = f"{n.where}: no rule. {REMEDIES.get(n.op, 'Write it in operations that have one')}"
            refused.setdefault(n.op, []).append(why)
    if not refused:
        try:
            g = Lowering(graph)
            g.later = int(later)
            g.run()
        except Unsupported as e:
            refused[e.operation] = [str(e)]
            taken[e.operation] = taken.get(e.operation, 1) - 1
    return Report({k: v for k, v in taken.items() if v}, refused)


def operations() -> Sequence[str]:
    """All operations of PyTorch that have a rule."""
    return sorted({*RULES, *COMPLEX_RULES})
