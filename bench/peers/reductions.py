# SPDX-License-Identifier: Apache-2.0
"""Reductions in NumPy and PyTorch, the peers of bench/bandwidth --mib 4: 1,048,576 binary32, 1,024 a row, one thread.

    python3 bench/peers/reductions.py

Prints "OP, AXIS|numpy|seconds" and the same for torch, the median of 31 calls."""
import statistics
import time

import numpy
import torch

ROUNDS, SIDE = 31, 1024


def seconds(call):
    took = []
    for _ in range(ROUNDS + 3):
        start = time.process_time()
        call()
        took.append(time.process_time() - start)
    return statistics.median(took[3:])


def main():
    torch.set_num_threads(1)
    x = numpy.random.default_rng(1).random((SIDE, SIDE), dtype=numpy.float32)
    t = torch.from_numpy(x)

    def logsumexp(axis):
        most = x.max(axis=axis, keepdims=True)
        return numpy.log(numpy.exp(x - most).sum(axis=axis)) + most.squeeze(axis)

    calls = {"logsumexp": {"numpy": logsumexp, "torch": lambda axis: torch.logsumexp(t, axis)},
             "var": {"numpy": lambda axis: x.var(axis=axis), "torch": lambda axis: t.var(axis, correction=0)},
             "max": {"numpy": lambda axis: x.max(axis=axis), "torch": lambda axis: t.amax(axis)},
             "min": {"numpy": lambda axis: x.min(axis=axis), "torch": lambda axis: t.amin(axis)}}
    for name in ("sum", "argmax", "argmin", "cumsum"):
        calls[name] = {"numpy": lambda axis, name=name: getattr(x, name)(axis=axis),
                       "torch": lambda axis, name=name: getattr(t, name)(axis)}
    for name, sides in calls.items():
        for side, call in sides.items():
            for axis, where in ((1, "rows"), (0, "columns")):
                print("%s, %s|%s|%.9f" % (name, where, side, seconds(lambda: call(axis))))


main()
