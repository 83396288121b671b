# SPDX-License-Identifier: Apache-2.0
"""What is refused while a model is exported names the function, the line of the model that calls it and the way out. What PyTorch would
raise of values is an error of the step: there is one element to gather, and which one is asked for tells what it was."""
from __future__ import annotations

from .graph import Node
from .lower import Unsupported
from .traps import line_here


def refused(name: str, what: str, remedy: str) -> Unsupported:
    return Unsupported(f"{name} {what}", Node("", name, where=line_here()), remedy)


WRONG = "gather: index {} at position 0 is out of range, expected 0 to 0"
ADVICE = {1: "where sequences are packed: each length is 1 to as many as there are times, none is above the one before it unless "
             "enforce_sorted=False, and pad_packed_sequence is given total_length= where the longest of a batch may be shorter than its padding",
          2: "of linalg: a matrix is singular, not positive definite, or of less than full rank; where PyTorch goes on, too, inv_ex, solve_ex "
             "and cholesky_ex do"}


def advise(e: Exception) -> None:
    """Says of an error of a step what values it wants."""
    for k, text in ADVICE.items():
        if WRONG.format(k) in str(e):
            e.add_note(text)
