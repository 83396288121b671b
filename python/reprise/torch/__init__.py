# SPDX-License-Identifier: Apache-2.0
"""PyTorch models as programs: `compile` makes a training step that enters C once, `record` an archive of steps."""
from __future__ import annotations

from . import rules
from .check import GradientMismatch
from .inference import Inference, ModelProgram, Report, compile_inference, operations, program, report
from .graph import Graph, Meta, Node
from .lower import Lowering, Unsupported, Value, lowers
from .recording import record
from .step import Step, compile

__all__ = ["GradientMismatch", "Graph", "Inference", "Lowering", "Meta", "ModelProgram", "Node", "Report", "Step", "Unsupported", "Value",
           "compile", "compile_inference", "lowers", "operations", "program", "record", "report", "rules"]
