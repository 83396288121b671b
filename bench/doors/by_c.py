# SPDX-License-Identifier: Apache-2.0
"""A step's program stepped by C (bench/doors/program.c), and a turn of a door's step: what torch_speed.py and jax_speed.py set
beside each other."""
from __future__ import annotations

import os
import subprocess
import tempfile
import time

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
PROGRAM = os.path.join(HERE, "..", "..", "build", "release", "bench", "door_program")


class ByC:
    """A program with the values that its inputs have, in a process of C of one thread. Feeds without a value have the rate."""

    def __init__(self, binary, program, values, rate=0.0, betas=(0.0, 0.0)):
        with tempfile.TemporaryDirectory() as folder:
            with open(os.path.join(folder, "program.json"), "wb") as f:
                f.write(program.text)
            for k, (_, name, shape, dtype, *_) in enumerate(program.inputs):
                a = values[name] if name in values else np.full(shape, rate, {"f32": np.float32, "f64": np.float64}[dtype])
                a.tofile(os.path.join(folder, f"{k}.bin"))
            self.process = subprocess.Popen([binary, folder, "1", *map(repr, betas)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                            text=True)
            self.turn(0)  # the files are read

    def turn(self, n):
        self.process.stdin.write(f"{n}\n")
        self.process.stdin.flush()
        seconds, loss = self.process.stdout.readline().split()
        return float(seconds), float.fromhex(loss)

    def end(self):
        self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()


def turn(call, n):
    value = call()
    start = time.thread_time()
    for _ in range(n):
        value = call()
    return (time.thread_time() - start) / n, value
