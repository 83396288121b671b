# SPDX-License-Identifier: Apache-2.0
"""Where else a function of PyTorch is than in its module: what a model's file imported by name, kept in a class, an object, a list, a closure or
as an argument's default has another in its place while the model is exported, as the module has."""
from __future__ import annotations

import contextlib
import gc
import inspect
import types
from collections.abc import Callable, Iterator, Mapping
from typing import Any

Undo = Callable[[], None]


def swapped(items: Mapping[Any, Any] | list[Any], others: Mapping[int, Any], set_to: Callable[[Any, Any], None]) -> Iterator[Undo]:
    """Of a container's places those that have one of the functions."""
    for k, v in list(items.items() if isinstance(items, Mapping) else enumerate(items)):
        if id(v) in others:
            set_to(k, others[id(v)])
            yield lambda k=k, v=v: set_to(k, v)  # type: ignore[misc]


def in_class(kind: type, others: Mapping[int, Any]) -> Iterator[Undo]:
    """A builtin function is no method: what takes its place may not be one either."""
    return swapped(dict(vars(kind)), others, lambda k, v: setattr(kind, k, staticmethod(v) if inspect.isfunction(v) else v))


def in_defaults(function: Any, others: Mapping[int, Any]) -> Iterator[Undo]:
    was = function.__defaults__
    function.__defaults__ = tuple(others.get(id(v), v) for v in was)
    yield lambda: setattr(function, "__defaults__", was)


def places(others: Mapping[int, Any], functions: list[Any]) -> Iterator[Undo]:
    """Puts the others there, and gives what puts each back."""
    tuples, dicts = [], []
    own = {id(c) for o in others.values() for c in getattr(o, "__closure__", None) or ()}  # by which they call what they stand for
    for d in gc.get_referrers(*functions):
        if isinstance(d, dict):
            dicts.append(d)
        elif type(d) is tuple:
            tuples.append(d)
        elif type(d) is list and d is not functions:
            yield from swapped(d, others, d.__setitem__)
        elif isinstance(d, types.CellType) and id(d) not in own:
            yield from swapped([d.cell_contents], others, lambda _, v, d=d: setattr(d, "cell_contents", v))  # type: ignore[misc]
        elif isinstance(d, type):
            yield from in_class(d, others)
        elif not isinstance(d, (types.FrameType, types.ModuleType)) and isinstance(getattr(d, "__dict__", None), dict):
            dicts.append(d.__dict__)  # an object whose attributes lie in itself
    seen: set[int] = set()
    for d in dicts:
        if id(d) in seen:
            continue
        seen.add(id(d))
        kinds = [k for k in gc.get_referrers(d) if isinstance(k, type)] if "__module__" in d and "__doc__" in d else []
        if kinds:
            yield from in_class(kinds[0], others)
        else:
            yield from swapped(d, others, d.__setitem__)
    for f in gc.get_referrers(*tuples) if tuples else ():
        if inspect.isfunction(f) and any(f.__defaults__ is t for t in tuples):
            yield from in_defaults(f, others)


@contextlib.contextmanager
def by_whatever_name(functions: list[Any], others: list[Any]) -> Iterator[None]:
    """`others` take the places of `functions`."""
    undo: list[Undo] = []
    try:
        undo.extend(places({id(f): o for f, o in zip(functions, others)}, functions))
        yield
    finally:
        for back in reversed(undo):
            back()


def bound(base: type, name: str) -> list[Any]:
    """The methods of classes outside of PyTorch that are made of `base` which someone keeps, as in `f = Kind.apply`."""
    ahead, kinds = [base], list[type]()
    while ahead:
        more = type.__subclasses__(ahead.pop())
        ahead += more
        kinds += [k for k in more if k.__module__.partition(".")[0] != "torch"]
    kept = gc.get_referrers(*kinds) if kinds else []
    return [m for m in kept if isinstance(m, (types.BuiltinMethodType, types.MethodType)) and m.__name__ == name and isinstance(m.__self__, type)]
