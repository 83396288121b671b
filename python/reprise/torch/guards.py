# SPDX-License-Identifier: Apache-2.0
"""What a program burns in, and where it is: numbers of Python, tensors, parts and functions of a model. `Guards` and `Held` look
before each step whether all of it is still as it was; a look may only err towards "something is different"."""
from __future__ import annotations

import dis
import functools
import inspect
import operator
import re
import types
from collections.abc import Collection, Sequence
from typing import Any

import numpy as np

from .traps import MOST_NUMBERS, NOTHING, OWN, Hooks, framework, hooks_of, refuse_scripted, snapshot, spaces


def identity(x: Any) -> tuple[str, str]:
    """What tells a number of Python from another: 1 is neither True nor 1.0, and 0.0 not -0.0."""
    if isinstance(x, np.ndarray):
        return "ndarray", f"{x.dtype}{x.shape}{x.tobytes().hex()}" if x.size <= MOST_NUMBERS else str(id(x))
    if isinstance(x, (list, tuple, dict)):
        inside = [*x.values()] if isinstance(x, dict) else x
        if any(isinstance(v, (np.ndarray, list, tuple, dict)) for v in inside):  # whose repr leaves digits and elements out
            return type(x).__name__, repr(([*x] if isinstance(x, dict) else None, [identity(v) for v in inside]))
    return type(x).__name__, str(id(x)) if itself(x) else repr(x)


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
BY_NAME = frozenset(("globals", "vars", "eval", "exec", "modules", "import_module", "__import__", "__dict__", "__globals__"))


def names_read(code: Any) -> list[str]:
    """The names that a function reads, also as texts (getattr), those of its generators and inner functions too."""
    texts = (c for c in code.co_consts if isinstance(c, str) and c.isidentifier())
    return [*code.co_names, *texts, *(n for c in code.co_consts if inspect.iscode(c) for n in names_read(c))]


def texts_in(code: Any) -> list[str]:
    """The words of its texts, as of what `eval` is given."""
    inner = [n for c in code.co_consts if inspect.iscode(c) for n in texts_in(c)]
    return inner + [n for c in code.co_consts if isinstance(c, str) for n in re.findall(r"\w+", c)]


def globals_read(function: Any) -> list[str]:
    """The names that a function, its generators and inner functions read of their module: not those of attributes, which a module may
    have for something else. All of names_read where variables may be read by their names as texts, or by what is imported."""
    code = function.__code__
    read = names_read(code)
    loaded, imports = names_loaded(code)
    values = [function.__globals__.get(n) for n in loaded] + [Cell(c).get("") for c in function.__closure__ or ()]
    by_name = not BY_NAME.isdisjoint(read) or any(getattr(v, "__name__", None) in BY_NAME for v in values if inspect.isroutine(v))
    return [*read, *texts_in(code)] if by_name else read if imports else list(loaded)


@functools.lru_cache(1024)
def names_loaded(code: Any) -> tuple[tuple[str, ...], bool]:
    """The names that code and what is in it has as variables, in order, and whether it imports."""
    found: dict[str, None] = {}
    imports = False
    for i in dis.get_instructions(code):
        imports = imports or i.opname.startswith("IMPORT_")
        if i.opcode in dis.hasname and not any(kind in i.opname for kind in ("ATTR", "METHOD")):
            found[i.argval] = None
    for inner in filter(inspect.iscode, code.co_consts):
        names, more = names_loaded(inner)
        found.update(dict.fromkeys(names))
        imports = imports or more
    return tuple(found), imports


def attributes(v: Any, names: Sequence[str], deep: int = DEEP) -> list[Place]:
    """Of an object, class or module that a function reads the attributes which it names."""
    module = v.__name__ if inspect.ismodule(v) else (v if isinstance(v, type) else type(v)).__module__
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
            found[n] = [f.__code__ for c in foreign(kind) if (f := function_in(c, n)) is not None]
            ahead += [inner for code in found[n] for inner in names_read(code)]
    return found


def function_in(kind: type, name: str) -> Any:
    """The function that a class itself has by this name, a property's too."""
    v = vars(kind).get(name)
    v = v.fget if isinstance(v, property) else getattr(v, "__func__", getattr(v, "func", v))  # static, of a class; kept
    return v if inspect.isfunction(v) else None


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
    if code is None or not inspect.isfunction(function):
        return []
    read = list(dict.fromkeys(names_read(code)))
    cells: list[tuple[Any, str]] = [(Cell(c), n) for n, c in zip(code.co_freevars, function.__closure__ or ())]
    names: list[tuple[Any, str]] = [(function.__globals__, n) for n in globals_read(function) if n in function.__globals__]
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
        found += [(v.keywords, k, e) for v in space.values() if isinstance(v, functools.partial) for k, e in v.keywords.items()]
    names = {n for kind in kinds_of(*roots) for n in methods(kind, "forward")}
    for v in [v for root in roots for _, _, v in spaces(root)]:
        found += of_class(v, names.union(methods(type(v), "__call__") if not hasattr(v, "forward") else ()))
    owner = getattr(function, "__self__", loss)
    if hasattr(owner, "__dict__") and not inspect.isroutine(owner) and not inspect.ismodule(owner) and not isinstance(owner, type):
        found += of_class(owner, methods(type(owner), getattr(function, "__name__", "__call__")))
    for f in functions_of(module, loss):
        found += variables(f)
    return found


def inside(where: Any, name: Any) -> Any:
    """Of a list, tuple or dict of numbers and other things what is number, text, flag or None, in its form."""
    def plain(v: Any, deep: int) -> Any:
        if v is None or isinstance(v, (bool, int, float, str)):
            return v
        if isinstance(v, np.generic):
            return str(v.dtype), v.item()
        if not isinstance(v, (list, tuple, dict)) or len(v) > MOST_NUMBERS or deep == 0:
            return ()
        return tuple((str(k), plain(e, deep - 1)) for k, e in v.items()) if isinstance(v, dict) else tuple(plain(e, deep - 1) for e in v)
    return plain(where.get(name), DEEP)


def holds_plain(v: Any, deep: int = DEEP) -> bool:
    if isinstance(v, (list, tuple, dict)):
        return deep > 0 and len(v) <= MOST_NUMBERS and any(holds_plain(e, deep - 1) for e in (v.values() if isinstance(v, dict) else v))
    return isinstance(v, (bool, int, float, str, np.generic))


def mixed(found: Sequence[Place]) -> list[Place]:
    """The places of lists, tuples and dicts of numbers beside what is none, as tensors or functions."""
    of = [(where, name) for where, name, v in found if isinstance(v, (list, tuple, dict)) and not ("hooks" in str(name) or name in OWN) and
          holds_plain(v) and snapshot(name, v) is NOTHING]
    return [(Called(functools.partial(inside, *place)), place[1], inside(*place)) for place in of]


def kinds_of(*roots: Any) -> list[type]:
    return list({type(m): None for root in roots if hasattr(root, "modules") for m in root.modules()})


def functions_of(module: Any, loss: Any) -> list[Any]:
    """The forwards of modules that are not PyTorch's own, the methods that they call, and functions that are attributes; the function
    that the loss is; and those of the same file that these read."""
    modules = [m for root in (module, loss) if hasattr(root, "modules") for m in root.modules()]
    found = [vars(m).get("forward", type(m).forward) for m in modules
             if "forward" in vars(m) or not type(m).__module__.startswith("torch.")]
    read = {n for kind in kinds_of(module, loss) for n in methods(kind, "forward")}
    found += [f for m in modules for k, v in vars(m).items() if k not in OWN for f in reached(v, read)]
    last, _ = parts(loss)
    kinds = [(kind, "forward") for kind in kinds_of(module, loss)]
    kinds.append((type(getattr(last, "__self__", loss)), getattr(last, "__name__", "")))
    found += [f for kind, name in kinds for n in methods(kind, name) for c in foreign(kind) if (f := function_in(c, n)) is not None]
    ahead, seen = [*found, last], {}
    while ahead:
        f = ahead.pop(0)
        if id(f) not in seen:
            seen[id(f)] = f
            ahead += beside(getattr(f, "__func__", f))
    return list(seen.values())


def asks(name: str, module: Any, loss: Any) -> bool:
    """Whether a forward or the loss, or what they call, reads this name."""
    for root in (module, loss):
        refuse_scripted(root)
    functions = [getattr(f, "__func__", f) for f in functions_of(module, loss)]
    return any(name in names_read(f.__code__) for f in functions if inspect.isfunction(f))


def beside(function: Any) -> list[Any]:
    """The functions of its own file that a function reads from its closure and its module, or of what it has from there."""
    if not inspect.isfunction(function) or not theirs(function):
        return []
    read = set(names_read(function.__code__))
    cells = [Cell(c).get("") for c in function.__closure__ or ()]
    names = [function.__globals__.get(n) for n in dict.fromkeys(globals_read(function))]
    found = [f for v in (*cells, *names, function.__defaults__, function.__kwdefaults__) for f in reached(v, read)]
    return [f for f in (*found, *(g for f in found for g in decorated(f))) if f.__globals__ is function.__globals__]


def theirs(v: Any) -> bool:
    return str(getattr(v, "__module__", None)).partition(".")[0] not in ("torch", "numpy", "reprise", "builtins")


def decorated(function: Any) -> list[Any]:
    """The functions that a function has in its closure, as one that a decorator of another file made."""
    return [f for c in function.__closure__ or () if inspect.isfunction(f := Cell(c).get(""))]


def reached(v: Any, names: Collection[str], deep: int = DEEP) -> list[Any]:
    """The functions that a call of v, of an element of it or of an attribute of one of the names may run; of a class its operators'
    and properties' too."""
    if inspect.isfunction(v):
        return [v]
    if deep == 0 or v is None or isinstance(v, (bool, int, float, str, framework().Tensor)):
        return []
    inner: list[Any] = []
    if isinstance(v, functools.partial):
        inner = [v.func, *v.args, *v.keywords.values()]
    elif isinstance(v, (list, tuple, dict)):
        inner = [*(v.values() if isinstance(v, dict) else v)] if len(v) <= MOST_NUMBERS else []
    elif inspect.ismodule(v):
        inner = [vars(v)[n] for n in names if n in vars(v)] if v.__name__.partition(".")[0] not in ("torch", "numpy", "reprise") else []
    elif (kept := inspect.getattr_static(v, "__wrapped__", None)) is not None:  # as functools keeps it
        inner = [kept]
    elif inspect.ismethod(v):
        inner = [v.__func__]
    elif isinstance(v, types.BuiltinMethodType) and isinstance(v.__self__, type) and theirs(v.__self__):  # Kind.apply
        inner = [v.__self__]
    elif not inspect.isroutine(v) and theirs(v if isinstance(v, type) else type(v)):
        kinds = [*(v.__mro__ if isinstance(v, type) else ()), *type(v).__mro__]
        if framework().autograd.Function in kinds:  # apply calls these
            names = {*names, "forward", "backward", "setup_context"}
        used = {n for c in kinds if theirs(c) for n in vars(c) if n in names or n.startswith("__") and n != "__init__"}
        ahead = [c for c in kinds if theirs(c)]
        found = [f for c in ahead for n in used if (f := function_in(c, n)) is not None]
        own = getattr(v, "__dict__", None)
        of = own if isinstance(own, dict) else {}
        return found + [f for n in names if n in of for f in reached(of[n], names, deep - 1)]
    return [f for e in inner for f in reached(e, names, deep - 1)]


def burned_in(module: Any, loss: Any) -> list[Place]:
    """What a program burns in: where each number, text, flag, array or list of them is, its name and value; None, and what is no number
    but may decide (itself); and hooks."""
    for root in (module, loss):
        refuse_scripted(root)
    results = {n for kind in kinds_of(module, loss) for codes in methods(kind, "forward").values() for c in codes for n in names_set(c)}
    read = read_by(module, loss)
    found = [(where, name, v if itself(v) and name not in results else snapshot(name, v)) for where, name, v in read] + mixed(read)
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
        found.append((Attributes(m), "__class__", type(m)))
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
