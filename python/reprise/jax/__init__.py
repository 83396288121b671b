# SPDX-License-Identifier: Apache-2.0
"""The JAX door: `compile(loss, params, batch, optimizer)` makes of a loss, given as jax code, a step that enters C once.

The jaxpr of the loss, not of its gradient, becomes a program with this library's gradients; the optimizer's update is traced
too, so that any chain of optax is taken or refused by a primitive's name. jax is imported when one of these is called."""
from .function import Function, function
from .graph import Unsupported
from .step import GradientsDiffer, Step, compile, record

__all__ = ["Function", "GradientsDiffer", "Step", "Unsupported", "compile", "function", "record"]
