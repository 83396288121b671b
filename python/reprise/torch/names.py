# SPDX-License-Identifier: Apache-2.0
"""Where else a function of PyTorch is than in its module: what a model's file imported by name, kept in a class, an object, a list, a closure or
as an argument's default has another in its place while the model is exported, as the module has."""
from __future__ import annotations

import contextlib
import functools
import gc
import inspect
import types
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

Undo = Callable[[], None]
Put = Callable[[Any, Any], None]


def swapped(items: Iterable[tuple[Any, Any]], others: Mapping[int, Any], put: Put, now: Callable[[Any], Any]) -> Iterator[Undo]:
    """Of a container's places those that have one of the functions."""
    for k, v in list(items):
        if id(v) in others:
            put(k, others[id(v)])
            yield functools.partial(put_back, k, v, others[id(v)], put, now)


def put_back(k: Any, v: Any, other: Any, put: Put, now: Callable[[Any], Any]) -> None:
    """What a forward has put there since stays, and what it took away stays away."""
    with contextlib.suppress(LookupError):
        if now(k) is other:
            put(k, v)


def in_dict(d: dict[Any, Any], others: Mapping[int, Any]) -> Iterator[Undo]:
    """Whatever a class of dicts makes of its own methods: one that forbids changes, or computes what it is asked for."""
    return swapped(dict.items(d), others, functools.partial(dict.__setitem__, d), functools.partial(dict.__getitem__, d))


def in_class(kind: type, others: Mapping[int, Any]) -> Iterator[Undo]:
    """A builtin function is no method: what takes its place may not be one either."""
    def now(k: Any) -> Any:
        found = vars(kind)[k]
        return found.__func__ if isinstance(found, staticmethod) else found
    return swapped(vars(kind).items(), others, lambda k, v: type.__setattr__(kind, k, staticmethod(v) if inspect.isfunction(v) else v), now)


def in_defaults(function: Any, others: Mapping[int, Any]) -> Iterator[Undo]:
    was = function.__defaults__
    made = function.__defaults__ = tuple(others.get(id(v), v) for v in was)
    yield functools.partial(put_back, "__defaults__", was, made, functools.partial(setattr, function), functools.partial(getattr, function))


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
            yield from swapped(enumerate(d), others, d.__setitem__, d.__getitem__)
        elif isinstance(d, types.CellType) and id(d) not in own:
            yield from swapped([("cell_contents", d.cell_contents)], others, functools.partial(setattr, d), functools.partial(getattr, d))
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
            yield from in_dict(d, others)
    for f in gc.get_referrers(*tuples) if tuples else ():
        if inspect.isfunction(f) and any(f.__defaults__ is t for t in tuples):
            yield from in_defaults(f, others)


@contextlib.contextmanager
def by_whatever_name(functions: list[Any], others: list[Any]) -> Iterator[None]:
    """`others` take the places of `functions`."""
    with contextlib.ExitStack() as undo:  # which calls all of them, also where one raises
        for back in places({id(f): o for f, o in zip(functions, others)}, functions):
            undo.callback(back)
        yield


def bound(base: type, name: str) -> list[Any]:
    """The methods of classes outside of PyTorch that are made of `base` which someone keeps, as in `f = Kind.apply`."""
    ahead, kinds = [base], list[type]()
    while ahead:
        more: list[type] = type.__subclasses__(ahead.pop())
        ahead += more
        kinds += [k for k in more if k.__module__.partition(".")[0] != "torch"]
    kept = gc.get_referrers(*kinds) if kinds else []
    return [m for m in kept if isinstance(m, (types.BuiltinMethodType, types.MethodType)) and m.__name__ == name and isinstance(m.__self__, type)]
