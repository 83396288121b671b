#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""PyTorch's training steps under torch.autocast(cpu, bfloat16) beside its steps in binary32, on the networks of
bench/models, whose first weights and data it reads; what bench/mixed does for ours.

    python3 bench/peers/mixed_torch.py BUILD_FOLDER [ROUNDS [NAME ..]]

Medians of rounds that take turns, one thread."""
import os
import statistics
import subprocess
import sys
import tempfile
import time

import torch

from models_torch import NETWORKS, step_of


def take(step, count):
    begin = time.perf_counter()
    for _ in range(count):
        loss = step()
    return (time.perf_counter() - begin) / count, loss.item()


def autocast(step):
    def mixed():
        with torch.autocast("cpu", torch.bfloat16):
            return step()

    return mixed


def main():
    build, rounds, names = sys.argv[1], int((sys.argv[2:3] or ["7"])[0]), sys.argv[3:] or list(NETWORKS)
    torch.set_num_threads(1)
    print("%-7s %9s %9s %6s   %9s %9s" % ("model", "f32 ms", "mixed ms", "ratio", "f32", "mixed"))
    for name in names:
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "first.safetensors")
            subprocess.run([os.path.join(build, "bench", "models"), name, "1", path, "compiled"], input="", text=True,
                           stdout=subprocess.DEVNULL, check=True)
            sides = [step_of(name, path, "torch"), autocast(step_of(name, path, "torch"))]
        count = max(1, int(0.1 / [take(s, 2)[0] for s in sides][0]))
        times = [[take(s, count) for s in sides] for _ in range(rounds)]
        middle = statistics.median
        print("%-7s %9.3f %9.3f %6.3f   %9.6f %9.6f" % (
            name, 1e3 * middle(t[0][0] for t in times), 1e3 * middle(t[1][0] for t in times),
            middle(t[1][0] / t[0][0] for t in times), times[-1][0][1], times[-1][1][1]), flush=True)


if __name__ == "__main__":
    main()
