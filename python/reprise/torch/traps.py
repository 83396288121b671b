# SPDX-License-Identifier: Apache-2.0
"""What export would leave out of a graph in silence: hooks, backward functions of one's own, changes in place without gradient, numbers
of Python that the forward changes, random numbers that are not PyTorch's, memory that two values share. Each is refused with a remedy,
and the line of the model where there is one."""
from __future__ import annotations

import collections
import contextlib
import contextvars
import copy
import functools
import importlib
import random
import sys
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from .graph import Node
from .lower import Unsupported
from .names import bound, by_whatever_name


def framework(name: str = "torch") -> Any:
    """PyTorch, or a module of it: imported when it is used."""
    return importlib.import_module(name)


def refuse_scripted(module: Any) -> None:
    """TorchScript shows neither its settings nor its forward to who looks whether they changed."""
    scripted = framework("torch.jit").ScriptModule
    for path, m in module.named_modules() if hasattr(module, "named_modules") else ():
        if isinstance(m, scripted):
            raise Unsupported(f"module {path or 'itself'} is of TorchScript (torch.jit.script, torch.jit.trace)",
                              remedy="Give the module that it was made of, with its weights by load_state_dict")


def refuse_hooks(module: Any) -> None:
    """Hooks on gradients are no part of an exported graph."""
    everywhere = framework("torch.nn.modules.module")
    for name in ("_global_backward_hooks", "_global_backward_pre_hooks"):
        if getattr(everywhere, name, None):
            raise Unsupported("a backward hook is registered on all modules, which the program would not have",
                              remedy="Remove it, or write what it does into the forward or the loss")
    for path, m in module.named_modules():
        if getattr(m, "_backward_hooks", None) or getattr(m, "_backward_pre_hooks", None):
            raise Unsupported(f"module {path or 'itself'} has a backward hook, which the program would not have",
                              remedy="Remove it, or write what it does into the forward or the loss")
    for path, p in module.named_parameters():
        if getattr(p, "_backward_hooks", None) or getattr(p, "_post_accumulate_grad_hooks", None):
            raise Unsupported(f"the parameter {path} has a hook on its gradient, which the program would not have",
                              remedy="Remove it, or write what it does into the forward or the loss")


def refuse_layouts(module: Any) -> None:
    """Programs have dense tensors."""
    torch = framework()
    for path, space, _ in spaces(module):
        for name, t in (*space.items(), *(space.get("_parameters") or {}).items(), *(space.get("_buffers") or {}).items()):
            if isinstance(t, torch.Tensor) and t.layout is not torch.strided:
                raise Unsupported(f"{path + '.' if path else ''}{name} is a tensor of layout {t.layout}", remedy="Give it as to_dense()")


class Hooks:
    """What is called besides forwards, gradients and steps, by `owners` and the names of their dicts of it: looked at as a dict is.
    PyTorch counts what is registered, whatever it belongs to: where it counted nothing, nothing is new."""

    def __init__(self, owners: Sequence[tuple[Any, str]]) -> None:
        self.owners = owners

    def get(self, name: str) -> Any:
        return [tuple(self.others(owner, hooks)) for owner, hooks in self.owners]

    @staticmethod
    def others(owner: Any, hooks: str) -> dict[Any, Any]:
        """Without this package's own."""
        return {k: f for k, f in (getattr(owner, hooks, None) or {}).items() if not getattr(f, "of_reprise", False)}

    def places(self) -> list[tuple[Any, Any, Any]]:
        """All of them, and each that there is."""
        there = [(getattr(owner, hooks, None) or {}, self.others(owner, hooks)) for owner, hooks in self.owners]
        return [(self, "hooks", self.get("")), *((d, k, v) for d, of in there for k, v in of.items())]

    @staticmethod
    def counted() -> tuple[Any, str, Any]:
        handle = framework("torch.utils.hooks").RemovableHandle
        return handle, "next_id", handle.next_id


def hooks_of(*roots: Any) -> Hooks:
    """Those of modules and of their parameters, and those of all modules."""
    everywhere, modules = framework("torch.nn.modules.module"), [m for root in roots if hasattr(root, "modules") for m in root.modules()]
    kinds = ("_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks")
    tensors = [p for m in modules for p in m.parameters(recurse=False)]
    return Hooks([*((everywhere, "_global" + kind) for kind in kinds), *((m, kind) for m in modules for kind in kinds),
                  *((p, kind) for p in tensors for kind in ("_backward_hooks", "_post_accumulate_grad_hooks"))])


KEPT: contextvars.ContextVar[list[str] | None] = contextvars.ContextVar("KEPT", default=None)  # what trapped() gives


@contextlib.contextmanager
def trapped() -> Iterator[list[str]]:
    """While a module is exported: what changes gradients and leaves no trace in the graph raises. Gives the attributes of modules and
    tensors that the forward sets to tensors, and the modules' lists and dicts that it puts some into."""
    torch, found = framework(), list[str]()
    kept: list[tuple[Any, str, Any]] = []

    def forbid(owner: Any, name: str, what: str, remedy: str) -> None:
        def refuse(*args: Any, **kwargs: Any) -> Any:
            raise Unsupported(f"{what}, whose gradient is not in the graph", Node("", what, where=line_here()), remedy)
        kept.append((owner, name, owner.__dict__[name]))
        setattr(owner, name, refuse)

    apply = torch.autograd.Function.__dict__["apply"]

    def applied(kind: Any, *args: Any, **kwargs: Any) -> Any:
        if kind.__module__.startswith("torch._higher_order_ops."):
            return apply.__get__(None, kind)(*args, **kwargs)  # how PyTorch traces cond and scan, whose gradients are ours
        return framework("reprise.torch.custom").applied(kind, *args, **kwargs)

    forwards = framework("torch.autograd.forward_ad")

    def enter() -> Any:
        raise Unsupported("torch.autograd.forward_ad in a forward", Node("", "torch.autograd.forward_ad", where=line_here()),
                          "torch.func.jvp(f, (x,), (direction,)) gives f(x) and its derivative along a direction")
    kept.append((forwards, "enter_dual_level", forwards.enter_dual_level))
    forwards.enter_dual_level = enter

    hook = "Write what it does into the forward or the loss"
    kept.append((torch.autograd.Function, "apply", apply))
    torch.autograd.Function.apply = classmethod(applied)
    for name in ("register_hook", "register_post_accumulate_grad_hook"):
        if name in torch.Tensor.__dict__:
            forbid(torch.Tensor, name, f"Tensor.{name}", hook)
    def keep(self: Any, name: str, value: Any) -> None:
        if isinstance(value, torch.Tensor) and not isinstance(value, torch.nn.Parameter) and name not in self.__dict__.get("_buffers", ()):
            found.append(f"{type(self).__name__}.{name}")
        setting(self, name, value)
    setting = torch.nn.Module.__setattr__
    kept.append((torch.nn.Module, "__setattr__", setting))
    torch.nn.Module.__setattr__ = keep

    def hang(self: Any, name: str, value: Any) -> None:
        if isinstance(value, torch.Tensor) and name not in ("data", "grad") and not own_file(sys._getframe(1).f_code.co_filename):
            found.append(f"Tensor.{name}")
        super(torch.Tensor, self).__setattr__(name, value)
    torch.Tensor.__setattr__ = hang
    methods = bound(torch.autograd.Function, "apply")  # PyTorch makes another one each time that Kind.apply is asked for
    token = KEPT.set(found)
    try:
        with by_whatever_name(methods, [functools.partial(applied, m.__self__) for m in methods]):
            yield found
    finally:
        KEPT.reset(token)
        del torch.Tensor.__setattr__
        for owner, name, was in kept:
            setattr(owner, name, was)


@contextlib.contextmanager
def nothing_kept(module: Any) -> Iterator[None]:
    """A tensor that the forward makes and keeps in the module, as tables that are made when they are first asked for, would be one of the
    exporter's, without values: what was there is there again."""
    kinds = (framework("torch._subclasses.fake_tensor").FakeTensor, framework("torch._subclasses.functional_tensor").FunctionalTensor)
    dicts = [(path, d) for path, space, _ in spaces(module) for d in (space, space.get("_buffers")) if isinstance(d, dict)]
    were = [(path, d, dict(d)) for path, d in dicts]
    kept: list[str] = []
    try:
        yield
    finally:
        for path, d, was in were:
            for k in [k for k, v in d.items() if isinstance(v, kinds) and was.get(k) is not v]:
                kept.append(f"{path}.{k}" if path else k)
                if k in was:
                    d[k] = was[k]
                else:
                    del d[k]
    if kept:
        raise Unsupported(f"the forward makes the tensor {kept[0].removeprefix('module.')} and keeps it in the module, where the next call may "
                          "read it", remedy="Call the module once with the example before it is compiled, or make it in __init__, as a buffer")


def refuse_remembered(module: Any, names: Sequence[str], args: Sequence[Any], kwargs: Mapping[str, Any]) -> None:
    """What a forward keeps in an attribute may be for whoever asks for it later, or a table; but where a call has another value after one
    of other elements, it is a state that the program would not have. What buffers keep it has."""
    torch = framework()
    again, given = copied(module), (tuple(args), dict(kwargs))
    buffers = {n: t.clone() for n, t in again.named_buffers()}

    def call(batch: tuple[Any, Any]) -> list[Any]:
        with torch.no_grad():
            for n, t in again.named_buffers():
                if n in buffers and t.shape == buffers[n].shape:
                    t.copy_(buffers[n])
        return values_of(again, batch)
    first = call(given)
    with contextlib.suppress(Exception):  # of elements that it does not take
        call(others(given))
    if not all(a.shape == b.shape and torch.allclose(a, b, equal_nan=True) for a, b in zip(first, call(given))):
        name = next((n for n in names if "._tensor_constant" not in n), "in an attribute")  # the exporter's own
        raise Unsupported(f"the forward keeps a tensor from one call to the next ({name}), which the program would not have",
                          remedy="Make it a buffer: self.register_buffer(name, torch.zeros(..)) and self.name.copy_(..) in the forward")


def copied(module: Any) -> Any:
    """A module of its own. Tensors that a call before made and left there, which PyTorch does not copy, have no gradient in it."""
    torch = framework()
    held = framework("torch.utils._pytree").tree_leaves([list(space.values()) for _, space, _ in spaces(module)])
    return copy.deepcopy(module, {id(t): t.detach().clone() for t in held if isinstance(t, torch.Tensor) and not t.is_leaf})


def others(batch: Any) -> Any:
    """A batch with other elements of the same kinds: in other places, real numbers nearer to 1/2 too."""
    torch = framework()

    def other(t: Any) -> Any:
        if not isinstance(t, torch.Tensor):
            return t
        moved = t.detach().reshape(-1).roll(1).reshape(t.shape)
        return moved * 0.5 + 0.25 if t.is_floating_point() else moved
    return framework("torch.utils._pytree").tree_map(other, batch)


def values_of(call: Any, given: tuple[Any, Any]) -> list[Any]:
    """Tensors that a module gives of a batch and keywords."""
    torch = framework()
    random_state = torch.random.get_rng_state()
    args, kwargs = copy.deepcopy(given)
    try:
        with torch.enable_grad():
            found = call(*args, **kwargs)
    finally:
        torch.random.set_rng_state(random_state)
    return [t.detach().clone() for t in framework("torch.utils._pytree").tree_leaves(found) if isinstance(t, torch.Tensor)]


def inside(folder: str) -> bool:
    """Whether code of PyTorch's in this folder is what calls, and no line of the model is between."""
    f: Any = sys._getframe(1)
    while f is not None and own_file(f.f_code.co_filename):
        if folder in f.f_code.co_filename.replace("\\", "/"):
            return True
        f = f.f_back
    return False


def line_here() -> str:
    """The line of the model that is executed now: the innermost one outside of PyTorch and of this package."""
    f: Any = sys._getframe(1)
    while f is not None and own_file(f.f_code.co_filename):
        f = f.f_back
    return f"{f.f_code.co_filename}:{f.f_lineno}" if f is not None else ""


def own_file(path: str) -> bool:
    p = path.replace("\\", "/")
    return "/torch/" in p or "/reprise/torch/" in p or p.startswith("<") or p.endswith("/contextlib.py")


NOTHING = object()
OWN = frozenset(("_parameters", "_buffers", "_modules"))  # PyTorch's own, which are looked at elsewhere
MOST_NUMBERS = 4096


def snapshot(name: str, v: Any) -> Any:
    """A number, text or flag, or a copy of a list, tuple or dict of such or of an array; NOTHING of what else there is."""
    if isinstance(v, (bool, int, float, str, np.generic)):
        return v
    if isinstance(v, np.ndarray) and v.dtype.kind in "biuf":
        return v.copy() if v.size <= MOST_NUMBERS else v
    if not isinstance(v, (list, tuple, dict)) or len(v) > MOST_NUMBERS or name in OWN or "hooks" in name:
        return NOTHING
    parts = [snapshot("", e) if e is not None else None for e in (v.values() if isinstance(v, dict) else v)]
    if any(p is NOTHING for p in parts):
        return NOTHING
    return copy.deepcopy(v)  # a tuple of numbers is its own copy


def spaces(module: Any) -> Iterator[tuple[str, dict[str, Any], Any]]:
    """The attributes, with what leads to them and what has them, of all modules and of objects that are attributes, as a configuration
    is, or what a user's class makes callable."""
    torch = framework()
    libraries = ("torch", "numpy", "functools", "builtins")
    for path, m in module.named_modules():
        yield path, m.__dict__, m
        for k, v in m.__dict__.items():
            if hasattr(v, "__dict__") and not isinstance(v, (type, torch.nn.Module, torch.Tensor)) and \
                    not (callable(v) and type(v).__module__.partition(".")[0] in libraries):
                yield f"{path}.{k}" if path else k, vars(v), v


def numbers_of(module: Any) -> dict[tuple[str, str], Any]:
    """The plain numbers, texts and flags of all modules: what a graph burns in, and where generators of numbers stand."""
    found: dict[tuple[str, str], Any] = {}
    for path, space, _ in spaces(module):
        for k, v in space.items():
            if isinstance(v, np.random.Generator):
                found[path, k] = repr(v.bit_generator.state)
            elif isinstance(v, random.Random):
                found[path, k] = repr(v.getstate())
            elif not k.startswith("__") and (s := snapshot(k, v)) is not NOTHING:
                found[path, k] = s
    return found


def equal(a: Any, b: Any) -> bool:
    if isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
        return isinstance(a, np.ndarray) and isinstance(b, np.ndarray) and a.dtype == b.dtype and np.array_equal(a, b, equal_nan=True)
    if isinstance(a, (list, tuple, dict)) and type(a) is type(b):  # of arrays, too, which `==` does not compare as one
        return len(a) == len(b) and (list(a) == list(b) and all(equal(a[k], b[k]) for k in a) if isinstance(a, dict) else
                                     all(map(equal, a, b)))
    return bool(a == b or (a != a and b != b))


def held(module: Any) -> dict[tuple[str, str], list[int]]:
    """Which tensors lie in the lists, dicts and queues that are attributes."""
    tensor, found = framework().Tensor, {}
    for path, space, _ in spaces(module):
        for k, v in space.items():
            if isinstance(v, (list, dict, collections.deque)) and k not in OWN and "hooks" not in k:
                found[path, k] = [id(e) for e in (v.values() if isinstance(v, dict) else v) if isinstance(e, tensor)]
    return found


@contextlib.contextmanager
def unchanged(*roots: Any) -> Iterator[None]:
    """The forward must not change numbers of Python, nor draw from generators that the program does not have. Where it puts tensors into
    lists trapped() is told."""
    modules = [m for m in roots if hasattr(m, "named_modules")]
    numbers, python, legacy = [numbers_of(m) for m in modules], random.getstate(), np.random.get_state()
    kept, lists = KEPT.get(), [held(m) for m in modules]
    yield
    if kept is not None:
        kept += [".".join(filter(None, k)) for m, before in zip(modules, lists) for k, v in held(m).items() if v != before.get(k, [])]
    for (path, name), v, was in [(k, v, before.get(k, v)) for m, before in zip(modules, numbers) for k, v in numbers_of(m).items()]:
        if was is not v and not equal(was, v):
            raise Unsupported(f"the forward changes {path + '.' if path else ''}{name} from {was!r} to {v!r}: a number of Python, which "
                              "the program would keep as it was", remedy="Make it a buffer: self.register_buffer(name, torch.tensor(..))")
    after = np.random.get_state()
    if random.getstate() != python or any(np.any(a != b) for a, b in zip(legacy, after)):
        raise Unsupported("the forward draws from random or numpy.random, whose numbers the program would keep as they were",
                          remedy="Draw with torch (torch.rand, dropout): the program then draws anew at each step")


def source_line(trace: str | None) -> str:
    """"file:line" of the innermost line that is the model's own."""
    found = ""
    for line in (trace or "").splitlines():
        text = line.strip()
        if text.startswith('File "') and '", line ' in text:
            path, rest = text[6:].split('", line ', 1)
            if not own_file(path) and not path.startswith("reprise."):
                found = f"{path}:{rest.split(',')[0]}"
    return found


def viewed(n: Any) -> tuple[Any, bool]:
    """The node whose memory a chain of views sees, and whether a detach is among them."""
    detached = False
    while n.op == "call_function" and n.args and hasattr(n.args[0], "op"):
        schema = getattr(n.target, "_schema", None)
        if schema is None or not schema.returns or schema.returns[0].alias_info is None or schema.is_mutable:
            break
        detached = detached or "aten.detach" in str(n.target)
        n = n.args[0]
    return n, detached


def refuse_changed(node: Any, env: Mapping[Any, Any] | None) -> None:
    """Without gradient a tensor that has one may not be changed in place, nor a view of it: PyTorch keeps the gradient that it had
    before. `env`: in a region without gradient what its inputs are outside; None elsewhere, where detach() makes such views."""
    schema = getattr(node.target, "_schema", None)
    if schema is None or not schema.is_mutable or not node.args or not hasattr(node.args[0], "op"):
        return
    source, detached = viewed(node.args[0])
    if env is not None:
        if source.op != "placeholder":  # made inside
            return
        source = viewed(env.get(source, source))[0]
        while getattr(getattr(source.target, "_schema", None), "is_mutable", False) and source.args and hasattr(source.args[0], "op"):
            source = viewed(source.args[0])[0]  # changed by a region before this one
    elif not detached:
        return
    value = source.meta.get("val")
    if source.op not in ("placeholder", "get_attr") and (value is None or value.is_floating_point()):
        raise Unsupported("changes in place, without gradient, what has one: PyTorch keeps the gradient from before the change",
                          Node(node.name, str(node.target), where=source_line(node.meta.get("stack_trace"))),
                          "Write y = y + (f(y) - y).detach()")


def extent(t: Any) -> tuple[int, int]:
    """From where to where a tensor's elements lie in memory."""
    last = sum((n - 1) * s for n, s in zip(t.shape, t.stride()))
    return t.data_ptr(), t.data_ptr() + (last + 1) * t.element_size()


def refuse_shared(tensors: Mapping[str, Any], changing: Collection[str]) -> None:
    """What a step changes must not lie in the memory of another value, which would change with it in PyTorch and not in a program."""
    whole = sorted([(*extent(t), n) for n, t in tensors.items() if t.numel()])
    last, most = "", 0
    for begin, end, name in whole:
        if begin < most and name != last and (name in changing or last in changing):
            raise Unsupported(f"{name} and {last} have elements in common, and a step changes one of them: a program would keep "
                              "the other as it was",
                              remedy="Tie weights by one parameter, transposed in the forward; clone() what is to stay")
        if end > most:
            last, most = name, end
