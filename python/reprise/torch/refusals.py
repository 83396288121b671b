# SPDX-License-Identifier: Apache-2.0
"""What is refused while a model is exported names the function, the line of the model that calls it and the way out. What PyTorch would
raise of values is an error of the step: there is one element to gather, and which one is asked for tells what it was."""
from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator

from .graph import Node
from .lower import TOLD, Unsupported
from .traps import line_here


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
