# SPDX-License-Identifier: Apache-2.0
from typing import Any, Optional

from ._core import Recorder, Run

class record:
    run: Run
    recorder: Optional[Recorder]
    id: Optional[str]
    def __init__(self, path: Any, *, key: Any = None, passphrase: Optional[str] = None, force: bool = False,
                 state_period: int = 1, checkpoint_period: int = 0, withhold: Optional[str] = None,
                 parent: Optional[str] = None, checkpoint: int = 0, resume: Optional[str] = None, threads: int = 0,
                 level: Optional[str] = None, device: Optional[str] = None, memory: int = 0,
                 pinned: Optional[str] = None) -> None: ...
    def begin(self) -> None: ...
    def __enter__(self) -> Run: ...
    def __exit__(self, kind: Any, value: Any, trace: Any) -> bool: ...
