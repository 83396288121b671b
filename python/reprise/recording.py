# SPDX-License-Identifier: Apache-2.0
"""`with reprise.record(path) as run:` a run whose steps become an archive."""
from __future__ import annotations

import os
import weakref

from . import _core


class record:
    """A run that is recorded: `with reprise.record("x.reprise", key="me.pem") as run:`.

    Inside, states and data are added (run.add_state, run.add_data), then steps are made: eager ones (`with run.step():`)
    or of compiled programs (run.compile). When the block ends, the archive is written, and signed where a key was
    given; an exception leaves none. `reprise verify` and `reprise replay` need nothing of the program that made it.

    The recording begins with the first step: begin() begins it earlier. id: the archive's, once it is written.
    key: file of a private key; force: an archive at path is replaced; state_period, checkpoint_period, withhold, parent,
    checkpoint, resume: as reprise.Recorder has them; all else goes to reprise.Run."""

    def __init__(self, path, *, key=None, passphrase=None, force=False, state_period=1, checkpoint_period=0,
                 withhold=None, parent=None, checkpoint=0, resume=None, **options):
        self._path, self._key, self._passphrase, self._force = path, key, passphrase, force
        self._how = dict(state_period=state_period, checkpoint_period=checkpoint_period, withhold=withhold,
                         parent=parent, checkpoint=checkpoint, resume=resume)
        if not force and os.path.exists(path):
            raise _core.ExistsError(f"{os.fspath(path)} exists: another path, or force=True")
        self.run = _Recorded(self, **options)
        self.recorder = None
        self.id = None

    def begin(self):
        if self.recorder is None:
            self.recorder = _core.Recorder(self.run, **self._how)

    def __enter__(self):
        return self.run

    def __exit__(self, kind, value, trace):
        if kind is None:
            self.begin()
            self.id = self.recorder.save(self._path, key=self._key and os.fspath(self._key),
                                         passphrase=self._passphrase, force=self._force)
        self.recorder = None
        return False


class _Recorded(_core.Run):
    """A run that says when its first step comes."""

    def __new__(cls, recording, **options):
        made = super().__new__(cls, **options)
        made._recording = weakref.ref(recording)
        return made

    def __init__(self, recording, **options):
        pass

    def _begin(self):
        recording = self._recording()
        if recording is not None:
            recording.begin()

    def step(self):
        self._begin()
        return super().step()

    def compile(self, program):
        self._begin()
        return super().compile(program)
