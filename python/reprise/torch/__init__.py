# SPDX-License-Identifier: Apache-2.0
"""PyTorch models as programs."""
from __future__ import annotations

from . import rules
from .graph import Graph, Meta, Node
from .lower import Lowering, Unsupported, Value, lowers

__all__ = ["Graph", "Lowering", "Meta", "Node", "Unsupported", "Value", "lowers", "rules"]
