# SPDX-License-Identifier: Apache-2.0
"""`record` makes an archive of the steps of one compiled step in its block, which the command verifies and replays without Python."""
from __future__ import annotations

import importlib
import os
from typing import TYPE_CHECKING, Any

from .lower import Unsupported

if TYPE_CHECKING:
    from .step import Step

OPEN: list[record] = []  # records whose blocks are not left yet, the innermost last


class record:
    """`with reprise.torch.record("run.reprise", key="me.pem", seed=7):` the steps of one compiled step inside the block become an
    archive, which `reprise verify` and `reprise replay` take without Python. It is written when the block ends, and none after an
    exception. seed: of dropout, from this block's first step on; origin: whether the archive also holds origin.json (PyTorch's
    version, the captured graph's digest, the check of gradients) as a state that no step changes, without which an archive's id
    depends on the program and what goes through it alone; all else as reprise.record has it. How batches were prepared in
    Python is outside of the archive."""

    def __init__(self, path: str | os.PathLike[str], *, key: Any = None, seed: int | None = None, origin: bool = True,
                 **options: Any) -> None:
        self.path, self.seed, self.origin = path, seed, origin
        self.options = {"key": key, **options}
        self.inner: Any = importlib.import_module("reprise").record(path, **self.options)
        self.step: Step | None = None

    @property
    def id(self) -> str | None:
        """The archive's, once it is written."""
        found = self.inner.id
        return None if found is None else str(found)

    def take(self, step: Step) -> None:
        if self.step is not None and self.step is not step:
            raise Unsupported("a record has one compiled step", remedy="Open a record for each")
        if self.step is None and step.options:  # of both, the record's own come first
            self.inner = importlib.import_module("reprise").record(self.path, **{**step.options, **self.options})
        self.step = step

    def __enter__(self) -> record:
        OPEN.append(self)
        return self

    def __exit__(self, kind: Any, value: Any, trace: Any) -> bool:
        OPEN.remove(self)
        step = self.step
        if kind is None and step is None:
            raise Unsupported("nothing was recorded: no compiled step was made inside the block")
        try:
            return bool(self.inner.__exit__(kind, value, trace))
        finally:
            if step is not None and step._recording is self:
                with step._alone():
                    step._leave()
