# SPDX-License-Identifier: Apache-2.0
"""Deterministic, replayable machine learning for audit: tensors, programs, runs and their archives."""
from .loading import load as _load
_load()
from .core import *
from .core import __all__ as __all__
from .gradient import grad, value_and_grad, vjp
from .recording import record
from .archive import Archive, ArchiveError, open_archive as open
from .command import CommandError, policy
from .command_calls import *
from .command_calls import __all__ as _commands
from .tables import sql
from . import functions, nn, ops

__version__ = "0.1.0"
__all__ = [*__all__, "grad", "value_and_grad", "vjp", "record", "functions", "nn", "ops",
           "Archive", "ArchiveError", "open", "CommandError", "policy", "sql", *_commands]
