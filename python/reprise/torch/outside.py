# SPDX-License-Identifier: Apache-2.0
"""What a captured graph does not show of a module's surroundings: the numbers of Python that it burns in, the generators that a
forward draws from, and memory that two values share."""
from __future__ import annotations

import contextlib
import importlib
import random
from collections.abc import Collection, Iterator, Mapping
from typing import Any

import numpy as np

from .lower import Unsupported


def numbers_of(module: Any) -> dict[tuple[str, str], Any]:
    """The plain numbers, texts and flags of all modules: what a graph burns in, and where generators of numbers stand."""
    found: dict[tuple[str, str], Any] = {}
    for path, m in module.named_modules():
        for k, v in m.__dict__.items():
            if isinstance(v, np.random.Generator):
                found[path, k] = repr(v.bit_generator.state)
            elif isinstance(v, random.Random):
                found[path, k] = repr(v.getstate())
            elif not k.startswith("__") and (s := snapshot(k, v)) is not NOTHING:
                found[path, k] = s
    return found


NOTHING = object()
OWN = frozenset(("_parameters", "_buffers", "_modules"))  # PyTorch's own, which are looked at elsewhere
MOST_NUMBERS = 4096


def snapshot(name: str, v: Any) -> Any:
    """A number, text or flag, or a copy of a list, tuple or dict of such; NOTHING of what else there is."""
    if isinstance(v, (bool, int, float, str)):
        return v
    if not isinstance(v, (list, tuple, dict)) or len(v) > MOST_NUMBERS or name in OWN or "hooks" in name:
        return NOTHING
    parts = [snapshot("", e) if e is not None else None for e in (v.values() if isinstance(v, dict) else v)]
    if any(p is NOTHING for p in parts):
        return NOTHING
    return dict(zip(v, parts)) if isinstance(v, dict) else type(v)(parts) if type(v) in (list, tuple) else tuple(parts)


def settings(v: Any) -> bool:
    """Whether an attribute is an object whose own attributes may be numbers that a forward reads, as a configuration is."""
    torch = importlib.import_module("torch")
    return hasattr(v, "__dict__") and not isinstance(v, (type, torch.nn.Module, torch.Tensor)) and not callable(v)


@contextlib.contextmanager
def unchanged(module: Any) -> Iterator[None]:
    """The forward must not change numbers of Python, nor draw from generators that the program does not have."""
    numbers, python, legacy = numbers_of(module), random.getstate(), np.random.get_state()
    yield
    for (path, name), v in numbers_of(module).items():
        was = numbers.get((path, name), v)
        if was is not v and was != v and not (was != was and v != v):
            raise Unsupported(f"the forward changes {path + '.' if path else ''}{name} from {was!r} to {v!r}: a number of Python, which "
                              "the program would keep as it was", remedy="Make it a buffer: self.register_buffer(name, torch.tensor(..))")
    after = np.random.get_state()
    if random.getstate() != python or any(np.any(a != b) for a, b in zip(legacy, after)):
        raise Unsupported("the forward draws from random or numpy.random, whose numbers the program would keep as they were",
                          remedy="Draw with torch (torch.rand, dropout): the program then draws anew at each step")


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
            raise Unsupported(f"{name} and {last} share memory, and a step changes one of them: a program would keep the other as it was",
                              remedy="Tie weights by one parameter, transposed in the forward; clone() what is to stay")
        if end > most:
            last, most = name, end
