# SPDX-License-Identifier: Apache-2.0
"""What is refused while a model is exported names the function, the line of the model that calls it and the way out. What PyTorch would
raise of values is an error of the step: there is one element to gather, and which one is asked for tells what it was."""
from __future__ import annotations

import contextlib
import gc
import re
import types
from collections.abc import Iterator
from typing import Any

from .graph import Node
from .lower import TOLD, Unsupported
from .traps import framework, line_here


MOST_OBJECTS = 10000


@contextlib.contextmanager
def not_swallowed() -> Iterator[None]:
    """What is refused while a forward runs stays refused where the forward itself catches the error."""
    told = list[Exception]()
    token = TOLD.set(told)
    try:
        yield
    finally:
        TOLD.reset(token)
    if told:
        raise told[0]


def refused(name: str, what: str, remedy: str) -> Unsupported:
    return Unsupported(f"{name} {what}", Node("", name, where=line_here()), remedy)


class Withheld:
    """In an answer's place of an object that holds tensors, which would be the exporter's, without values: an error of whoever uses it."""

    def __init__(self, kind: str) -> None:
        self.__dict__["kind"] = kind

    def __repr__(self) -> str:
        return f"Withheld({self.__dict__['kind']})"

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # as whoever copies or pickles it asks
            raise AttributeError(name)
        raise self.refusal()

    def __getitem__(self, *_: Any) -> Any:
        raise self.refusal()

    __iter__ = __len__ = __call__ = __enter__ = __contains__ = __setattr__ = __add__ = __mul__ = __matmul__ = __getitem__

    def refusal(self) -> Unsupported:
        return refused(f"a {self.__dict__['kind']}", "that the model gives holds tensors, and answers have none but those in tuples, lists, "
                       "dicts and dataclasses", "Give its tensors themselves: `return d.mean, d.stddev`")


def withheld(value: Any) -> Any:
    """The value, or what stands for an object that holds tensors of the exporter's."""
    kept = (type, types.ModuleType, framework().nn.Module, str, bytes, int, float)
    fake = framework("torch._subclasses.fake_tensor").FakeTensor, framework("torch._subclasses.functional_tensor").FunctionalTensor
    todo, seen = [value], set[int]()
    while todo and len(seen) < MOST_OBJECTS:
        v = todo.pop()
        if isinstance(v, fake):
            return value if v is value else Withheld(type(value).__name__)
        if id(v) not in seen and not isinstance(v, kept):
            seen.add(id(v))
            todo += holds(v)
    return value


def holds(v: Any) -> list[Any]:
    """What an object has; of a function not the whole of its file."""
    if isinstance(v, types.FunctionType):
        return [v.__closure__, v.__defaults__, v.__kwdefaults__]
    if isinstance(v, types.BuiltinFunctionType):
        return [v.__self__]
    return gc.get_referents(v) if gc.is_tracked(v) else []


WRONG = "gather: index {} at position 0 is out of range, expected 0 to 0"
ADVICE = {1: "where sequences are packed: each length is 1 to as many as there are times, none is above the one before it unless "
             "enforce_sorted=False, and pad_packed_sequence is given total_length= where the longest of a batch may be shorter than its padding",
          2: "of linalg: a matrix is singular, not positive definite, or of less than full rank; where PyTorch goes on, too, inv_ex, solve_ex "
             "and cholesky_ex do"}


DECIDED = ("What values decide is written with torch.where or torch.cond, or given to the step as a number. A check that only raises is taken: "
           "`if c: raise E(..)` or `assert c` with nothing around it that swallows errors")
LENGTHS = ("A number that values of a batch decide, as int(lengths.max()), is given with the batch as a number of Python, of which another one is "
           "another program, or is the length that all batches are padded to: x.shape[1]. Then `torch.arange(x.shape[1]) < lengths[:, None]` is "
           "the mask")
DRAWN = ("A draw decides here, at a rate of 0 too: whether a layer is left out (layer drop, stochastic depth), or a size. Set `training = False` of "
         "the module whose forward decides, not of its layers; or draw before the step, and give what was drawn with the batch")
CHECKS: dict[int, str] = {}  # the statements of models that raise of values, by the element that is asked for then


def advise(e: Exception) -> None:
    """Says of an error of a step what values it wants."""
    for k, text in ADVICE.items():
        if WRONG.format(k) in str(e):
            e.add_note(text)
    found = re.search(r"gather: index (\d+) at position 0 is out of range, expected 0 to 0", str(e))
    if found and int(found[1]) in CHECKS:
        e.add_note(f"the model's own check, which raises of these values: {CHECKS[int(found[1])]}")
