# SPDX-License-Identifier: Apache-2.0
"""PyTorch models as programs: `compile` makes a training step that enters C once, `record` an archive of steps."""
from __future__ import annotations

from . import rules
from .check import GradientMismatch
from .graph import Graph, Meta, Node
from .lower import Lowering, Unsupported, Value, lowers
from .step import Step, compile, record

__all__ = ["GradientMismatch", "Graph", "Lowering", "Meta", "Node", "Step", "Unsupported", "Value", "compile", "lowers", "record", "rules"]
