# SPDX-License-Identifier: Apache-2.0
"""A training step through the door beside the same program without it and beside PyTorch eager, in one process, turn by turn, one
thread each. Usage: torch_speed.py [SECONDS a model, 8 unless given]. "program" is the compiled program stepped with the feeds
that it has: what C does, less the writing of feeds and the reading of the loss."""
from __future__ import annotations

import copy
import sys
import time

import torch
import torch.nn as nn
import torch.nn.functional as F

import reprise.torch as rt
from torch_versions import CNN, GPT, LSTM, rows

torch.set_num_threads(1)


def models():
    torch.manual_seed(0)
    yield "mlp", nn.Sequential(nn.Linear(20, 64), nn.ReLU(), nn.Linear(64, 64), nn.GELU(), nn.Linear(64, 5)), F.cross_entropy, \
        (torch.randn(32, 20), torch.randint(0, 5, (32,)))
    yield "wide mlp", nn.Sequential(nn.Linear(256, 512), nn.ReLU(), nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, 10)), F.cross_entropy, \
        (torch.randn(128, 256), torch.randint(0, 10, (128,)))
    yield "gpt", GPT(65, 128, 2, 4, 64, 0.1), rows, (torch.randint(0, 65, (8, 64)), torch.randint(0, 65, (8, 64)))
    yield "cnn", CNN(), F.cross_entropy, (torch.randn(32, 3, 32, 32), torch.randint(0, 5, (32,)))
    yield "lstm", LSTM(65, 64, 128), rows, (torch.randint(0, 65, (16, 32)), torch.randint(0, 65, (16, 32)))


def main():
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 8.0
    print(f"torch {torch.__version__}, one thread; microseconds a step, the least of turns")
    print("| model | through the door | program | eager | door / program | door / eager |\n|---|---|---|---|---|---|")
    for name, module, loss, (x, y) in models():
        own = copy.deepcopy(module)
        optimizer = torch.optim.AdamW(own.parameters(), 1e-3)
        step = rt.compile(module, loss, (x, y), torch.optim.AdamW(module.parameters(), 1e-3), threads=1)

        def eager():
            optimizer.zero_grad()
            loss(own(x), y).backward()
            optimizer.step()
        step(x, y)
        compiled = next(iter(step._ready.values())).compiled
        ways = {"door": lambda: step(x, y), "program": compiled.step, "eager": eager}
        times = {w: [] for w in ways}
        for call in ways.values():
            call()
        once = min(timed(c, 1) for c in ways.values())
        repeat = max(1, int(5e-4 / once))
        end = time.perf_counter() + seconds
        while time.perf_counter() < end:
            for way, call in ways.items():
                times[way].append(timed(call, repeat))
        d, p, e = (min(times[w]) * 1e6 for w in ("door", "program", "eager"))
        print(f"| {name} | {d:.1f} | {p:.1f} | {e:.1f} | {d / p:.3f} | {d / e:.3f} |", flush=True)


def timed(call, repeat):
    start = time.perf_counter()
    for _ in range(repeat):
        call()
    return (time.perf_counter() - start) / repeat


if __name__ == "__main__":
    main()
