# SPDX-License-Identifier: Apache-2.0
"""The rules by which operations of PyTorch become operations of programs, a file a family. Importing this registers all."""
from __future__ import annotations

import importlib
import pkgutil

for _module in sorted(m.name for m in pkgutil.iter_modules(__path__)):
    importlib.import_module(f"{__name__}.{_module}")
