# SPDX-License-Identifier: Apache-2.0
"""What is refused while a model is exported names the function, the line of the model that calls it and the way out."""
from __future__ import annotations

from .graph import Node
from .lower import Unsupported
from .traps import line_here


def refused(name: str, what: str, remedy: str) -> Unsupported:
    return Unsupported(f"{name} {what}", Node("", name, where=line_here()), remedy)
