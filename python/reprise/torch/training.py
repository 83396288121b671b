# SPDX-License-Identifier: Apache-2.0
"""A training step as a program: the captured forward and loss, our gradients, the optimizer's updates. What a batch may be (nested
tuples, lists and dicts of tensors and numbers) is here too."""
from __future__ import annotations

import contextlib
import dataclasses
import enum
import inspect
import re
import types
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from . import rules
from .assigned import assignments_kept
from .capture import Captured, capture, spelt
from .clipping import Clip
from .guards import Guards, burned_in, identity
from .traps import framework, unchanged
from .graph import Graph, Node
from .lower import Lowering, Unsupported
from .optim import Optimizer

__all__ = ["Batch", "Built", "build", "wrapped", "rules"]
DROPOUTS = {"aten.native_dropout.default": 1, "aten.dropout.default": 1, "aten.scaled_dot_product_attention.default": 4,
            "aten.lstm.input": 5, "aten.gru.input": 5, "aten.rnn_tanh.input": 5, "aten.rnn_relu.input": 5,
            "reprise.packed_recurrent.default": 7, "aten.feature_dropout.default": 1, "aten.alpha_dropout.default": 1, "aten.feature_alpha_dropout.default": 1}

SPARSE = {"aten.embedding.default": 4, "aten.embedding_bag.default": 5, "aten.embedding_bag.padding_idx": 5,
          "aten._embedding_bag.default": 5}  # where among the operands it says whether the table's gradient is sparse


def flatten(tree: Any, path: str, leaves: list[Any], paths: list[str]) -> Any:
    """Appends the leaves and what they are called; returns the tree's form."""
    if isinstance(tree, Mapping):
        return (dict, list(tree), [flatten(v, f"{path}.{k}" if path else str(k), leaves, paths) for k, v in tree.items()])
    if dataclasses.is_dataclass(tree) and not isinstance(tree, (type, enum.Enum, framework().nn.Module)):
        keys, values = [*(inside := held(tree))], [*inside.values()]
        return (type(tree), keys, [flatten(v, f"{path}.{k}" if path else k, leaves, paths) for k, v in zip(keys, values)])
    if isinstance(tree, (tuple, list)):
        if getattr(tree, "__dict__", None):
            raise Unsupported(f"a {type(tree).__name__} with attributes beside its elements", remedy="Put what it has into a dict or a dataclass")
        return (type(tree), None, [flatten(v, f"{path}.{k}" if path else f"x{k}", leaves, paths) for k, v in enumerate(tree)])
    leaves.append(tree)
    paths.append(path or "x")
    return None


def slots(kind: type) -> dict[str, Any]:
    """What reads and writes an attribute that has a place of its own in objects of a class."""
    return {k: v for c in reversed(kind.__mro__) for k, v in vars(c).items() if isinstance(v, types.MemberDescriptorType)}


def held(tree: Any) -> dict[str, Any]:
    """What an object of a dataclass has, as it is: its fields, and what else has been put into it."""
    inside = dict(object.__getattribute__(tree, "__dict__")) if type(tree).__dictoffset__ else {}
    for k, v in slots(type(tree)).items():
        with contextlib.suppress(AttributeError):  # of one that has no value yet
            inside[k] = v.__get__(tree)
    names = [f.name for f in dataclasses.fields(tree)]
    return {k: inside[k] for k in [*(n for n in names if n in inside), *inside]}


def holding(kind: Any, inside: dict[str, Any]) -> Any:
    """An object of a dataclass that has these. Its __init__ and __post_init__ have run when the first was made: what they computed is here."""
    made, own = object.__new__(kind), slots(kind)
    for k, v in inside.items():
        if k in own:
            own[k].__set__(made, v)
        else:
            object.__getattribute__(made, "__dict__")[k] = v
    return made


def unflatten(form: Any, leaves: Any) -> Any:
    if form is None:
        return next(leaves)
    kind, keys, inner = form
    values = [unflatten(f, leaves) for f in inner]
    if keys is not None:
        return dict(zip(keys, values)) if kind is dict else holding(kind, dict(zip(keys, values)))
    if issubclass(kind, list):
        made = list.__new__(kind)
        list.extend(made, values)
        return made
    try:
        return tuple.__new__(kind, values)
    except TypeError:  # one of C, as torch.return_types has them
        return kind(values)


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
    def of(batch: Any, names: Sequence[str] = (), gradients: bool = False) -> Batch:
        """`gradients`: a forward asks which of its inputs have one."""
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
            elif isinstance(leaf, tensor):
                refuse_form(leaf, paths[k])
        key: tuple[Any, ...] = tuple((x.shape, x.dtype) if isinstance(x, tensor) else identity(x) for x in leaves)
        if form is None or form[0] is not tuple or any(f is not None for f in form[2]):
            key = (key, frozen(form))  # two batches with leaves alike may have them under other names
        if gradients:
            key = (key, tuple((x.requires_grad, x.is_leaf) if isinstance(x, tensor) else None for x in leaves))
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
            with assignments_kept(self, tensors), unchanged(self.module, self.loss):  # here: export itself sets numbers back afterwards
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
    the optimizer's states by the state that they belong to; `sums`: those of gradients over batches; `trained`: states that have a gradient; `fed`: constants that are
    feeds since the run had begun."""

    program: Any
    captured: Captured
    feeds: list[str | None]
    trained: list[str]
    moments: dict[str, dict[str, str]]
    data: dict[str, Any]
    fed: dict[str, Any]
    draws: bool
    sums: dict[str, str]
    hyper: list[str] = field(default_factory=list)
    lines: dict[int, str] = field(default_factory=dict)


def name_feeds(graph: Graph, names: Sequence[str]) -> None:
    """The user's inputs are fed under the batch's names: no name of the exporter's own is in a program."""
    users = [i for i in graph.inputs if i.kind == "user"]
    if len(users) != len(names):
        raise Unsupported(f"the exported graph has {len(users)} inputs, the batch {len(names)} tensors")
    taken: set[str] = set()
    for i, name in zip(users, names):
        i.feed = spelt(name)
        while i.feed in taken:
            i.feed += "_"
        taken.add(i.feed)


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


def zero_gradient(g: Lowering, captured: Captured, state: str) -> Any:
    if state not in g.states:  # nothing that the loss needs reads it
        g.input(next(i for i in captured.graph.inputs if i.state == state), True)
    return g.fill(0, g.states[state].dtype, g.states[state].shape)


def accumulated(g: Lowering, optimizer: Optimizer, found: Mapping[str, Any], names: dict[str, str], last: bool) -> dict[str, Any]:
    """The sums of gradients over a step's batches, in states, which the last batch begins anew."""
    sums = {}
    for state, gradient in found.items():
        names[state] = f"optim.sum.{state}"
        sums[state] = g.op("add", g.builder.state(names[state], gradient.shape, gradient.dtype), gradient)
        g.builder.update(names[state], g.fill(0, gradient.dtype, gradient.shape) if last else sums[state])
    return sums


def refuse_form(t: Any, name: str) -> None:
    """Programs have dense tensors."""
    if t.is_nested:
        raise Unsupported(f"{name} is a nested tensor", remedy=f"Give it as {name}.to_padded_tensor(0.0), with its lengths")
    if t.layout is not framework().strided:
        raise Unsupported(f"{name} is a tensor of layout {t.layout}", remedy=f"Give it as {name}.to_dense()")
    if t.is_quantized:
        raise Unsupported(f"{name} is a quantized tensor", remedy=f"Give it as {name}.dequantize()")


def refuse_sparse(graph: Graph) -> None:
    """Gradients of programs are dense, with which PyTorch's optimizers do other things."""
    for n in graph.walk():
        if n.op in SPARSE and (n.kwargs.get("sparse") or len(n.args) > SPARSE[n.op] and n.args[SPARSE[n.op]]):
            raise Unsupported("a gradient that is sparse", n, "Embedding(.., sparse=False): the program's gradient is dense, and reads "
                              "the rows that were used")


def build(captured: Captured, optimizer: Optimizer | None, known: Mapping[str, Any] | None = None, plain: bool = False,
          clip: Clip = Clip(), last: bool = True, zeros: Collection[str] = ()) -> Built:
    """The program of a step: with `plain` without dropout, and with gradients and buffers as results in the place of updates. `known`: the
    data that the run has, where it has begun; what is missing is fed. `last`: of the last batch of a step, which alone updates. `zeros`: states of which PyTorch has a gradient of
    0, as of what is rounded, and the program none: an optimizer decays them, and leaves out what has none."""
    refuse_sparse(captured.graph)
    g = Lowering(without_dropout(captured.graph) if plain else captured.graph)
    g.known_data = known
    out = g.run()
    loss = loss_value(g, out)
    wanted = list(dict.fromkeys(i.state for i in captured.graph.inputs if i.trained))
    if optimizer is not None:
        wanted = [s for s in wanted if optimizer.parameter(captured.tensors[s]) is not None]
    every = optimizer.every if optimizer is not None else 1
    found = gradients(g, loss if every == 1 else g.op("div", loss, g.fill(every, loss.dtype)), wanted)
    found = {s: found[s] if s in found else zero_gradient(g, captured, s) for s in wanted if s in found or s in zeros}
    if not found:
        raise Unsupported("the loss depends on no parameter of the optimizer" if optimizer else "the loss depends on no parameter")
    g.builder.result("loss", loss)
    moments: dict[str, dict[str, str]] = {}
    sums: dict[str, str] = {}
    if optimizer is None:
        for state, gradient in found.items():
            g.builder.result(f"grad.{state}", gradient)
    else:
        clip.refuse_pairs([s for s in found if captured.tensors[s].is_complex()])
        whole = accumulated(g, optimizer, found, sums, last) if every > 1 else found
        for state, gradient in clip.of(g, whole).items() if last else ():
            moments[state] = optimizer.append(g, state, captured.tensors[state], gradient)
    for o in captured.graph.outputs:
        if o.kind == "buffer":
            after = g.in_memory(out[f"buffer {o.name}"])
            g.builder.result(f"after.{o.name}", after) if plain else g.builder.update(o.name, after)
    if g.rng_tensor is not None and not plain:
        one = g.op("iota", n=2, dtype="i64")
        g.builder.update("rng", g.op("add", g.rng_tensor, one))
    program = g.builder.finish()
    declared = {i[1] for i in program.inputs if i[0] == "feed"}
    users = [i.feed if i.feed in declared else None for i in captured.graph.inputs if i.kind == "user"]
    return Built(program, captured, users, list(found), moments, g.data, g.fed, g.rng_tensor is not None, sums,
                 sorted(n for n in declared if n.startswith("optim.")), g.lines)
