# SPDX-License-Identifier: Apache-2.0
"""Norms beside PyTorch's: bench/norms and PyTorch take turns, on the same threads; a line a shape, with the median of the
rounds' ratios of our time to PyTorch's (below 1, Reprise is faster). On one thread seconds are those of the process.

    python3 bench/peers/norms_torch.py BUILD_FOLDER [ROUNDS [THREADS..]]      # 15 rounds, threads 1 2

Images of PyTorch lie as it is faster, by channels or with channels last, which is found out first; its allocator keeps what it has (MALLOC_*
below), or half of its time would be pages of the system. Prints "NAME|PASS|THREADS|own s|peer s|ratio"."""
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

KEEP = {"MALLOC_MMAP_THRESHOLD_": "33554432", "MALLOC_TRIM_THRESHOLD_": "4294967296"}
CASES = [("layer", (4096, 256), 1), ("layer", (512, 1024), 1), ("layer", (2048, 768), 1), ("rms", (2048, 1024), 1),
         ("batch", (32, 56, 56, 64), 1), ("batch", (32, 14, 14, 256), 1), ("group", (8, 64, 64, 64), 8),
         ("group", (8, 64, 64, 64), 32), ("instance", (8, 64, 64, 64), 64)]
ROUND = 0.02
clock = time.perf_counter


class Own:
    def __init__(self, build, kind, shape, groups, both, threads):
        self.process = subprocess.Popen(
            [build / "bench" / "norms", kind, "x".join(map(str, shape)), str(groups), "both" if both else "forward",
             str(threads)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def seconds(self):
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        return float(self.process.stdout.readline())

    def end(self):
        self.process.stdin.close()
        self.process.wait()


class Torch:
    def __init__(self, kind, shape, groups, both, last):
        import torch
        from torch.nn import functional as f
        place = {"memory_format": torch.channels_last} if last else {}
        x, g = (torch.randn(shape) for _ in range(2))
        if len(shape) == 4:
            x, g = (t.permute(0, 3, 1, 2).contiguous(**place) for t in (x, g))
        w, b = torch.randn(shape[-1]), torch.randn(shape[-1])
        parameters = [x, w] if kind in ("rms",) else [x, w, b]
        forward = {"layer": lambda: f.layer_norm(x, shape[-1:], w, b), "rms": lambda: f.rms_norm(x, shape[-1:], w, 1e-5),
                   "batch": lambda: f.batch_norm(x, None, None, w, b, True),
                   "group": lambda: f.group_norm(x, groups, w, b),
                   "instance": lambda: f.instance_norm(x, None, None, w, b)}[kind]
        for t in parameters:
            t.requires_grad_(both)
        self.call = (lambda: torch.autograd.grad(forward(), parameters, g)) if both else forward
        for _ in range(3):
            self.call()
        start = clock()
        self.call()
        self.count = 1 + int(ROUND / (clock() - start))

    def seconds(self):
        start = clock()
        for _ in range(self.count):
            self.call()
        return (clock() - start) / self.count


def fastest(kind, shape, groups, both):
    ways = [Torch(kind, shape, groups, both, last) for last in ((False, True) if len(shape) == 4 else (False,))]
    return min(ways, key=lambda way: min(way.seconds() for _ in range(3)))


def main():
    global clock
    import torch
    build, rounds = Path(sys.argv[1]).resolve(), int(sys.argv[2]) if len(sys.argv) > 2 else 15
    for threads in map(int, sys.argv[3:] or ("1", "2")):
        torch.set_num_threads(threads)
        clock = time.process_time if threads == 1 else time.perf_counter
        for kind, shape, groups in CASES:
            for both in (False, True):
                own, peer = Own(build, kind, shape, groups, both, threads), fastest(kind, shape, groups, both)
                own.seconds(), peer.seconds()
                pairs = [(own.seconds(), peer.seconds()) for _ in range(rounds)]
                own.end()
                name = "%s norm %s%s" % (kind, list(shape), ", %d groups" % groups if kind == "group" else "")
                print("%s|%s|%d|%.9f|%.9f|%.3f" % (
                    name, "forward and backward" if both else "forward", threads,
                    *(statistics.median(side) for side in zip(*pairs)), statistics.median(a / b for a, b in pairs)),
                    flush=True)


if any(os.environ.get(name) != value for name, value in KEEP.items()):
    os.execve(sys.executable, [sys.executable, *sys.argv], {**os.environ, **KEEP})
main()
