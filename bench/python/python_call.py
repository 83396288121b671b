#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What an eager call costs from Python over C: a + b and ops.add(a, b) of two small tensors, the least of 25 turns less
that of an empty call. All of it is the processor's time, so that other work counts for little.
Usage, with the package installed: bench/python/python_call.py build/release/bench/python_call"""
import subprocess
import sys
import time
import timeit

import reprise as rp

CALLS = 20000


def cost(call):
    return min(timeit.repeat(call, timer=time.thread_time, number=CALLS, repeat=25)) / CALLS * 1e9


a, b, add = rp.Tensor([1.0, 2.0, 3.0, 4.0]), rp.Tensor([1.0, 2.0, 3.0, 4.0]), rp.ops.add
empty = cost(lambda: None)
c = float(subprocess.run([sys.argv[1]], capture_output=True, check=True, text=True).stdout)
for name, call in (("a + b", lambda: a + b), ("ops.add(a, b)", lambda: add(a, b))):
    ns = cost(call) - empty
    print(f"{name}: {ns:.0f} ns, C {c:.0f} ns, over C {ns - c:.0f} ns")
