# SPDX-License-Identifier: Apache-2.0
"""What is written in several operations: activations, bounds, reductions over axes, losses, joining."""
from . import _core
from .functions_more import *
from .functions_more import __all__ as _more

_made = _core.functions()
globals().update(_made)
__all__ = sorted([*_made, *_more])
