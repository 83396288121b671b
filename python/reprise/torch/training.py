# SPDX-License-Identifier: Apache-2.0
"""A training step as a program: the captured forward and loss, our gradients, the optimizer's updates. What a batch may be (nested
tuples, lists and dicts of tensors and numbers) and which Python numbers a program burns in are here too."""
from __future__ import annotations

import dis
import functools
import inspect
import operator
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from . import rules
from .capture import Captured, capture
from .traps import MOST_NUMBERS, NOTHING, Hooks, framework, hooks_of, snapshot, spaces, unchanged
from .graph import Graph, Node
from .lower import Lowering, Unsupported
from .optim import Optimizer

__all__ = ["Batch", "Built", "build", "wrapped", "rules"]
DROPOUTS = {"aten.native_dropout.default": 1, "aten.dropout.default": 1, "aten.scaled_dot_product_attention.default": 4,
            "aten.lstm.input": 5, "aten.gru.input": 5, "aten.rnn_tanh.input": 5, "aten.rnn_relu.input": 5,
            "aten.feature_dropout.default": 1, "aten.alpha_dropout.default": 1, "aten.feature_alpha_dropout.default": 1}


def flatten(tree: Any, path: str, leaves: list[Any], paths: list[str]) -> Any:
    """Appends the leaves and what they are called; returns the tree's form."""
    if isinstance(tree, Mapping):
        return (dict, list(tree), [flatten(v, f"{path}.{k}" if path else str(k), leaves, paths) for k, v in tree.items()])
    if isinstance(tree, (tuple, list)):
        return (type(tree), None, [flatten(v, f"{path}.{k}" if path else f"x{k}", leaves, paths) for k, v in enumerate(tree)])
    leaves.append(tree)
    paths.append(path or "x")
    return None


def unflatten(form: Any, leaves: Any) -> Any:
    if form is None:
        return next(leaves)
    kind, keys, inner = form
    values = [unflatten(f, leaves) for f in inner]
    if keys is not None:
        return dict(zip(keys, values))
    return kind(*values) if hasattr(kind, "_fields") else kind(values)


def identity(x: Any) -> tuple[str, str]:
    """What tells a number of Python from another: 1 is neither True nor 1.0, and 0.0 not -0.0."""
    if isinstance(x, np.ndarray):
        return "ndarray", f"{x.dtype}{x.shape}{x.tobytes().hex()}" if x.size <= MOST_NUMBERS else str(id(x))
    if isinstance(x, (list, tuple, dict)):
        inside = [*x.values()] if isinstance(x, dict) else x
        if any(isinstance(v, (np.ndarray, list, tuple, dict)) for v in inside):  # whose repr leaves digits and elements out
            return type(x).__name__, repr(([*x] if isinstance(x, dict) else None, [identity(v) for v in inside]))
    return type(x).__name__, str(id(x)) if itself(x) else repr(x)


def frozen(form: Any) -> Any:
    """A batch's form as a key."""
    return None if form is None else (form[0], None if form[1] is None else tuple(form[1]), tuple(frozen(f) for f in form[2]))


@dataclass
class Batch:
    """A batch's leaves. `key` says everything of it that a program burns in."""

    leaves: list[Any]
    paths: list[str]
    form: Any
    key: tuple[Any, ...]

    @staticmethod
    def of(batch: Any, names: Sequence[str] = ()) -> Batch:
        tensor = framework().Tensor
        leaves: list[Any] = []
        paths: list[str] = []
        if isinstance(batch, tuple) and names:
            form: Any = (tuple, None, [flatten(v, names[k] if k < len(names) else f"x{k}", leaves, paths) for k, v in enumerate(batch)])
        else:
            form = flatten(batch, "", leaves, paths)
        for k, leaf in enumerate(leaves):
            if not isinstance(leaf, tensor) and not isinstance(leaf, (bool, int, float, str, type(None))):
                if not hasattr(leaf, "__array__"):
                    raise TypeError(f"{paths[k]} is a {type(leaf).__name__}: a batch has tensors and numbers")
                leaves[k] = framework().as_tensor(leaf)
        key: tuple[Any, ...] = tuple((x.shape, x.dtype) if isinstance(x, tensor) else identity(x) for x in leaves)
        if form is None or form[0] is not tuple or any(f is not None for f in form[2]):
            key = (key, frozen(form))  # two batches with leaves alike may have them under other names
        return Batch(leaves, paths, form, key)

    def tensors(self) -> list[Any]:
        tensor = framework().Tensor
        return [x for x in self.leaves if isinstance(x, tensor)]

    def tensor_paths(self) -> list[str]:
        tensor = framework().Tensor
        return [p for p, x in zip(self.paths, self.leaves) if isinstance(x, tensor)]


def names_of(module: Any, loss: Any) -> list[str]:
    """What the parts of a batch are called: as the forward's parameters are, the last the loss's second."""
    def parameters(f: Any) -> list[str]:
        try:
            found = inspect.signature(f).parameters.values()
        except (TypeError, ValueError):
            return []
        return [p.name for p in found if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    return parameters(module.forward)


def wrapped(module: Any, loss: Callable[..., Any] | None, batch: Batch) -> Any:
    """A module of the batch's tensors whose value is the loss."""
    torch = framework()
    tensor = torch.Tensor
    fixed = [None if isinstance(x, tensor) else (x,) for x in batch.leaves]

    class Step(torch.nn.Module):  # type: ignore[name-defined, misc]
        def __init__(self) -> None:
            super().__init__()
            self.module = module
            self.loss = loss

        def forward(self, *tensors: Any) -> Any:
            walk = iter(tensors)
            whole = unflatten(batch.form, iter([next(walk) if f is None else f[0] for f in fixed]))
            before = Guards(burned_in(None, self.loss))
            with unchanged(self.module, self.loss):  # here: export itself sets numbers back afterwards
                found = loss_of(self.module, self.loss, whole)
            if before.changed():
                raise Unsupported(f"the loss changes {' or '.join(before.moved())}: a number of Python, which the program would keep as "
                                  "it was", remedy="Make it a tensor of the batch, or change it between steps")
            return found

    step = Step()
    step.training = module.training
    return step


def loss_of(module: Any, loss: Callable[..., Any] | None, batch: Any) -> Any:
    """loss(module(*batch[:-1]), batch[-1]); without a loss what the module gives, or its `loss`."""
    if loss is None:
        out = module(**batch) if isinstance(batch, dict) else module(*batch)
        found = out if isinstance(out, framework().Tensor) else out["loss"] if isinstance(out, dict) else getattr(out, "loss", None)
        if found is None:
            raise Unsupported(f"no loss was given, and the module gives a {type(out).__name__} without one",
                              remedy="compile(module, loss=f, ..), f of the module's value and the last of the batch")
        return found
    if isinstance(batch, dict) or len(batch) < 2:
        raise Unsupported("a loss needs an example (x, .., target)", remedy="Without a loss the module's own value is the loss")
    return loss(module(*batch[:-1]), batch[-1])


def without_dropout(graph: Graph) -> Graph:
    """The graph with every rate of dropout 0: what is compared with PyTorch, whose random numbers are others."""
    def plain(n: Node) -> Node:
        at = DROPOUTS.get(n.op)
        if at is None:
            return n
        args, kwargs = list(n.args), {k: (0.0 if k in ("p", "dropout_p", "dropout") else v) for k, v in n.kwargs.items()}
        if at < len(args):
            args[at] = 0.0
        return Node(n.name, n.op, args, kwargs, n.meta, n.where, n.module)
    return Graph(graph.inputs, [plain(n) for n in graph.nodes], graph.outputs, graph.constants, [without_dropout(g) for g in graph.graphs])


@dataclass
class Built:
    """A step's program. `feeds`: for each tensor of the batch its feed's name, None where nothing uses it; `moments`: names of
    the optimizer's states by the state that they belong to; `trained`: states that have a gradient; `fed`: constants that are
    feeds since the run had begun."""

    program: Any
    captured: Captured
    feeds: list[str | None]
    trained: list[str]
    moments: dict[str, list[str]]
    data: dict[str, Any]
    fed: dict[str, Any]
    draws: bool
    hyper: list[str] = field(default_factory=list)
    lines: dict[int, str] = field(default_factory=dict)


def name_feeds(graph: Graph, names: Sequence[str]) -> None:
    """The user's inputs are fed under the batch's names: no name of the exporter's own is in a program."""
    users = [i for i in graph.inputs if i.kind == "user"]
    if len(users) != len(names):
        raise Unsupported(f"the exported graph has {len(users)} inputs, the batch {len(names)} tensors")
    for i, name in zip(users, names):
        i.feed = re.sub(r"[^A-Za-z0-9._-]", "_", name)


def captured_step(module: Any, loss: Callable[..., Any] | None, batch: Batch, states: Collection[str] = ()) -> Captured:
    """`states`: names of buffers that are states although this forward does not change them."""
    found = capture(wrapped(module, loss, batch), batch.tensors(), prefix="module.", states=states)
    name_feeds(found.graph, batch.tensor_paths())
    return found


def loss_value(g: Lowering, out: Mapping[str, Any]) -> Any:
    loss = out["result 0"]
    if loss.size != 1 or loss.dtype not in ("f32", "f64") or "result 1" in out:
        raise Unsupported(f"the loss is {loss.dtype}{list(loss.shape)}, and has to be one number of f32 or f64",
                          remedy="Reduce it: loss.mean()")
    return g.reshape(loss.tensor, ())


def gradients(g: Lowering, loss: Any, wanted: Sequence[str]) -> dict[str, Any]:
    """Gradients of the states that the loss depends on, as PyTorch would have them: of others there is none."""
    names = [n for n in wanted if n in g.states]
    while names:
        try:
            return dict(zip(names, g.builder.gradients(loss, [g.states[n] for n in names])))
        except ValueError as e:
            found = re.match(r"gradients: wrt\[(\d+)\].* is unconnected", str(e))
            if found is None:
                raise
            del names[int(found[1])]
    return {}


def build(captured: Captured, optimizer: Optimizer | None, known: Mapping[str, Any] | None = None, plain: bool = False) -> Built:
    """The program of a step: with `plain` without dropout, and with gradients as results in the place of updates. `known`: the
    data that the run has, where it has begun; what is missing is fed."""
    g = Lowering(without_dropout(captured.graph) if plain else captured.graph)
    g.known_data = known
    out = g.run()
    loss = loss_value(g, out)
    wanted = list(dict.fromkeys(i.state for i in captured.graph.inputs if i.trained))
    if optimizer is not None:
        wanted = [s for s in wanted if optimizer.parameter(captured.tensors[s]) is not None]
    found = gradients(g, loss, wanted)
    if not found:
        raise Unsupported("the loss depends on no parameter of the optimizer" if optimizer else "the loss depends on no parameter")
    g.builder.result("loss", loss)
    moments: dict[str, list[str]] = {}
    for state, gradient in found.items():
        if optimizer is None:
            g.builder.result(f"grad.{state}", gradient)
        else:
            moments[state] = optimizer.append(g, state, captured.tensors[state], gradient)
    if not plain:
        for o in captured.graph.outputs:
            if o.kind == "buffer":
                g.builder.update(o.name, out[f"buffer {o.name}"].tensor)
        if g.rng_tensor is not None:
            one = g.op("iota", n=2, dtype="i64")
            g.builder.update("rng", g.op("add", g.rng_tensor, one))
    program = g.builder.finish()
    declared = {i[1] for i in program.inputs if i[0] == "feed"}
    users = [i.feed if i.feed in declared else None for i in captured.graph.inputs if i.kind == "user"]
    return Built(program, captured, users, list(found), moments, g.data, g.fed, g.rng_tensor is not None,
                 sorted(n for n in declared if n.startswith("optim.")), g.lines)


class Cell:
    """A variable of a function's closure, looked at as a dict is."""

    def __init__(self, cell: Any) -> None:
        self.cell = cell

    def get(self, name: str) -> Any:
        try:
            return self.cell.cell_contents
        except ValueError:  # not set any more
            return None


class Attributes:
    """An object whose attributes are looked at as a dict is: those of its class, too."""

    def __init__(self, owner: Any) -> None:
        self.owner = owner

    def get(self, name: str) -> Any:
        return getattr(self.owner, name, None)


class Items:
    """A list looked at as a dict is."""

    def __init__(self, items: Sequence[Any]) -> None:
        self.items = items

    def get(self, k: int) -> Any:
        return self.items[k] if k < len(self.items) else None


class Called:
    """What a function gives, looked at as a dict is."""

    def __init__(self, function: Any) -> None:
        self.function = function

    def get(self, name: str) -> Any:
        return self.function()


class Parts:
    """The parts of modules, by name and in order, looked at together as a dict is."""

    def __init__(self, of: Sequence[dict[str, Any]]) -> None:
        self.of, self.were = list(of), [d.copy() for d in of]

    def get(self, name: str) -> Any:
        same = all(len(d) == len(w) and all(map(operator.is_, d.values(), w.values())) and list(d) == list(w)
                   for d, w in zip(self.of, self.were))
        return self.were if same else None


Place = tuple[Any, Any, Any]  # a dict, or what has its `get`; the name in it; the value that it has
DEEP = 3  # so far into objects that functions read from elsewhere


def names_read(code: Any) -> list[str]:
    """The names that a function reads, those of its generators and inner functions too."""
    return [*code.co_names, *(n for c in code.co_consts if inspect.iscode(c) for n in names_read(c))]


def attributes(v: Any, names: Sequence[str], deep: int = DEEP) -> list[Place]:
    """Of an object, class or module that a function reads the attributes which it names."""
    module = v.__name__ if inspect.ismodule(v) else type(v).__module__
    if deep == 0 or not hasattr(v, "__dict__") or inspect.isroutine(v) or str(module).partition(".")[0] in ("torch", "numpy", "reprise"):
        return []
    found: list[Place] = []
    for n in names:
        kinds = v.__mro__ if isinstance(v, type) else type(v).__mro__
        if not isinstance(v, type) and n in v.__dict__:
            found.append((v.__dict__, n, v.__dict__[n]))
        else:
            found += [(Attributes(v), n, vars(c)[n]) for c in kinds if n in vars(c) and not hasattr(vars(c)[n], "__get__")][:1]
    return found + [a for _, _, inner in found for a in attributes(inner, names, deep - 1)]


def methods(kind: type, name: str) -> dict[str, list[Any]]:
    """The names that a method and those which it calls read, and of each the code that the class and its bases have of it."""
    found: dict[str, list[Any]] = {}
    ahead = [name]
    while ahead:
        n = ahead.pop()
        if n not in found:
            found[n] = [code for c in foreign(kind) if (code := getattr(vars(c).get(n), "__code__", None)) is not None]
            ahead += [inner for code in found[n] for inner in names_read(code)]
    return found


@functools.lru_cache(1024)
def names_set(code: Any) -> frozenset[str]:
    """The attributes that a function sets: its results, where they are None before."""
    return frozenset(i.argval for i in dis.get_instructions(code) if i.opname == "STORE_ATTR")


def foreign(kind: type) -> list[type]:
    """The classes that a class is made of, without PyTorch's and Python's own."""
    return [c for c in kind.__mro__ if c.__module__.partition(".")[0] not in ("torch", "builtins")]


def of_class(v: Any, names: Collection[str]) -> list[Place]:
    """The attributes that an object has of its class: of these names."""
    found = {n: value for c in reversed(foreign(type(v))) for n, value in vars(c).items()
             if n in names and n not in vars(v) and not hasattr(value, "__get__")}
    return [(Attributes(v), n, value) for n, value in found.items()]


def itself(v: Any) -> bool:
    """Whether it is no number, but what a program may depend on by its being there: None, a mode, settings."""
    torch = framework()
    plain = (bool, int, float, str, np.generic, np.ndarray, dict, list, tuple, type, torch.Tensor, torch.nn.Module)
    return not isinstance(v, plain) and not callable(v) and not inspect.ismodule(v)


def variables(function: Any) -> list[Place]:
    """Where a function's numbers from elsewhere are: variables of its closure and of its module, what it reads of objects there, and
    its parameters' defaults."""
    function = getattr(function, "__func__", function)
    code = getattr(function, "__code__", None)
    if code is None:
        return []
    read = list(dict.fromkeys(names_read(code)))
    cells = [(Cell(c), n) for n, c in zip(code.co_freevars, function.__closure__ or ())]
    names = [(function.__globals__, n) for n in read if n in function.__globals__]
    found = [(where, name, where.get(name)) for where, name in (*cells, *names)]
    found += [(Attributes(function), n, v) for n in ("__defaults__", "__kwdefaults__") if (v := getattr(function, n, None)) is not None]
    return found + [a for _, _, v in found for a in attributes(v, read)]


def parts(loss: Any) -> tuple[Any, list[dict[Any, Any]]]:
    """The function that a loss is in the end, and what it brings along: a partial's arguments, the attributes of the object whose
    method it is."""
    brought: list[dict[Any, Any]] = []
    while isinstance(loss, functools.partial):
        brought += [loss.keywords, dict(enumerate(loss.args))]
        loss = loss.func
    owner = getattr(loss, "__self__", None)
    if owner is None and not inspect.isroutine(loss) and not hasattr(loss, "named_modules"):
        owner, loss = loss, getattr(type(loss), "__call__", None)
    if hasattr(owner, "named_modules"):
        return loss, brought + [space for _, space, _ in spaces(owner)]
    return loss, brought + ([vars(owner)] if hasattr(owner, "__dict__") and not inspect.ismodule(owner) else [])


def read_by(module: Any, loss: Any) -> list[Place]:
    """Everything that programs may burn in. Looked at are attributes of all modules and of objects that are attributes, those of a
    loss that is an object, and the variables that forwards and the loss have from elsewhere."""
    function, brought = parts(loss)
    roots, own = [root for root in (module, loss) if hasattr(root, "named_modules")], set(vars(framework().nn.Module())) - {"training"}
    found: list[Place] = []
    for space in {id(space): space for space in [*(space for root in roots for _, space, _ in spaces(root)), *brought]}.values():
        found += [(space, k, v) for k, v in space.items() if k not in own]
    names = {n for kind in kinds_of(*roots) for n in methods(kind, "forward")}
    for v in [v for root in roots for _, _, v in spaces(root)]:
        found += of_class(v, names.union(methods(type(v), "__call__") if not hasattr(v, "forward") else ()))
    owner = getattr(function, "__self__", loss)
    if hasattr(owner, "__dict__") and not inspect.isroutine(owner) and not inspect.ismodule(owner) and not isinstance(owner, type):
        found += of_class(owner, methods(type(owner), getattr(function, "__name__", "__call__")))
    for f in functions_of(module, loss):
        found += variables(f)
    return found


def kinds_of(*roots: Any) -> list[type]:
    return list({type(m): None for root in roots if hasattr(root, "modules") for m in root.modules()})


def functions_of(module: Any, loss: Any) -> list[Any]:
    """The forwards of modules that are not PyTorch's own, and the function that the loss is."""
    modules = [m for root in (module, loss) if hasattr(root, "modules") for m in root.modules()]
    forwards = [vars(m).get("forward", type(m).forward) for m in modules
                if "forward" in vars(m) or not type(m).__module__.startswith("torch.")]
    return list({id(f): f for f in [*forwards, parts(loss)[0]]}.values())


def burned_in(module: Any, loss: Any) -> list[Place]:
    """What a program burns in: where each number, text, flag, array or list of them is, its name and value; None, and what is no number
    but may decide (itself); and hooks."""
    results = {n for kind in kinds_of(module, loss) for codes in methods(kind, "forward").values() for c in codes for n in names_set(c)}
    found = [(where, name, v if itself(v) and name not in results else snapshot(name, v)) for where, name, v in read_by(module, loss)]
    found += [(space, k, v) for root in (module, loss) if hasattr(root, "modules") for m in root.modules()
              for space in (m._parameters, m._buffers) for k, v in space.items() if v is None]
    found += [(Called(f), name, f()) for name, f in modes()]
    return [place for place in found if place[2] is not NOTHING] + hooks_of(module, loss).places()


def modes() -> list[tuple[str, Any]]:
    """What is set for all of PyTorch and decides what a forward computes."""
    torch = framework()
    autocast = getattr(torch._C, "_is_any_autocast_enabled", None)
    return [("default dtype", torch.get_default_dtype), *([("autocast", autocast)] if autocast is not None else [])]


def tensors_of(module: Any, loss: Any) -> list[Place]:
    """Where a module, a loss and their parts have tensors, in lists and dicts too: another one there is not what the step goes on
    from."""
    torch = framework()
    found = read_by(module, loss)
    found += [(space, k, v) for root in (module, loss) if hasattr(root, "modules") for m in root.modules()
              for space in (m._parameters, m._buffers) for k, v in space.items()]
    for _, _, v in list(found):
        if isinstance(v, dict):
            found += [(v, k, e) for k, e in v.items()]
        elif isinstance(v, (list, tuple)):
            found += [(Items(v), k, e) for k, e in enumerate(v)]
    return [place for place in found if isinstance(place[2], torch.Tensor)]


def structure_of(module: Any, loss: Any) -> list[Place]:
    """Where modules have their parts, functions as attributes, and methods that their forwards call, and what forwards and the loss call
    of their module or closure: another one there is another model. A place of None is one where nothing was."""
    torch = framework()
    modules = {id(m): m for root in (module, loss) if hasattr(root, "modules") for m in root.modules()}.values()
    containers = (torch.nn.Sequential, torch.nn.ModuleList, torch.nn.ModuleDict)
    whole = Parts([m._modules for m in modules if m._modules or isinstance(m, containers)])
    found: list[Place] = [(whole, "parts", whole.were)]
    for m in modules:
        found += [(m.__dict__, k, v) for k, v in m.__dict__.items() if callable(v) and not isinstance(v, (type, torch.Tensor))]
        found += [(m.__dict__, "forward", None)] if "forward" not in m.__dict__ else []
        for name, v in m.__dict__.items():
            inner = v.items() if isinstance(v, dict) and "hooks" not in name else enumerate(v) if isinstance(v, (list, tuple)) else ()
            called = [(v if isinstance(v, dict) else Items(v), k, f) for k, f in inner if inspect.isroutine(f)]
            found += [(m.__dict__, name, v), *called] if called else []
    found += [(Attributes(kind), n, f) for kind in kinds_of(module, loss) if foreign(kind) for n in methods(kind, "forward")
              if inspect.isfunction(f := getattr(kind, n, None))]
    return found + [(where, name, v) for f in functions_of(module, loss) for where, name, v in variables(f) if inspect.isfunction(v)]


def plain_place(where: Any, name: Any, value: Any) -> Place:
    """A place as a dict's or an attribute: of a list the whole, with this value in it."""
    if isinstance(where, Cell):
        return where.cell, "cell_contents", value
    if isinstance(where, Attributes):
        return where.owner, name, value
    if isinstance(where, Hooks):
        return Hooks.counted()
    if isinstance(where, Called):
        return where.function, None, value
    if isinstance(where, Parts):
        return {"": where.of}, "", where.were
    if isinstance(where, Items):
        held = [value if k == name else v for k, v in enumerate(where.items)]
        return {"": where.items}, "", held if isinstance(where.items, list) else tuple(held)
    return where, name, value


class Held:
    """The places of tensors that programs have taken values of, and which tensors were there; and those of `parts` of the model."""

    def __init__(self, found: Sequence[Place], taken: Sequence[Any], parts: Sequence[Place] = ()) -> None:
        known = {k for t in taken for k in same_memory(t)}
        self.found = [*parts, *(place for place in found if known.intersection(same_memory(place[2])))]
        self.plain = [place for place in self.found if isinstance(place[0], dict)]
        self.rest = [place for place in self.found if not isinstance(place[0], dict)]
        self.where, self.names, self.values = ([place[i] for place in self.plain] for i in range(3))

    def places(self) -> list[tuple[Any, ...]]:
        return [plain_place(*place) if place[2] is not None else place[:2] for place in self.found]

    def stand(self) -> bool:
        return all(map(operator.is_, map(dict.get, self.where, self.names), self.values)) and \
            all(where.get(name) is v for where, name, v in self.rest)

    def moved(self) -> list[str]:
        return [str(name) for where, name, v in self.found if where.get(name) is not v]


def same_memory(t: Any) -> list[Any]:
    """What tells a tensor: itself, or where it lies, since the exporter has an alias of some."""
    plain = t.numel() and not t.is_meta and t.layout is framework().strided
    return [id(t), *([(t.data_ptr(), t.shape, t.dtype)] if plain else [])]


class Guards:
    """Places (a dict or Cell, a name) and what was there: looked at before each step. `key` tells numbers from others."""

    def __init__(self, found: Sequence[tuple[Any, str, Any]]) -> None:
        same = [isinstance(where, dict) and where.get(name) is v for where, name, v in found]
        plain = [g for g, s in zip(found, same) if s]
        self.where: list[dict[str, Any]] = [g[0] for g in plain]
        self.names, self.values = [g[1] for g in plain], [g[2] for g in plain]
        self.rest = [(*g, identity(g[2])) for g, s in zip(found, same) if not s]  # lists, which may change and be the same object
        self.found = found

    @property
    def key(self) -> tuple[Any, ...]:
        return tuple((name, identity(v)) for _, name, v in self.found)

    def moved(self) -> list[str]:
        """The names of the places that have another value."""
        return sorted({str(n) for w, n, v in self.found if identity(w.get(n)) != identity(v)})

    def places(self) -> list[Place]:
        """Where to look, at what, and what was there: in a dict, or an attribute of what is none."""
        return [*zip(self.where, self.names, self.values), *(plain_place(*place[:3]) for place in self.rest)]

    def stand(self) -> bool:
        """Whether each place has the same object."""
        return all(map(operator.is_, map(dict.get, self.where, self.names), self.values))

    def changed(self) -> bool:
        """Whether a place has another value."""
        if not self.stand():
            now = list(map(dict.get, self.where, self.names))
            if any(a is not b and identity(a) != identity(b) for a, b in zip(now, self.values)):
                return True
            self.values = now
        for where, name, value, known in self.rest:
            v = where.get(name)
            if type(v) is list and type(value) is list and len(v) == len(value) and all(map(operator.is_, v, value)):
                continue
            if v is not value and identity(v) != known:
                return True
        return False
