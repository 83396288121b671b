# SPDX-License-Identifier: Apache-2.0
"""Every operation of the contract, by its name: ops.name(*tensors, **attributes), as a program's text has it. Each
docstring says operands, results and attributes."""
from . import _core

_made = _core.operations()
globals().update(_made)
__all__ = sorted(_made)
