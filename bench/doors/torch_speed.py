# SPDX-License-Identifier: Apache-2.0
"""A training step through the door beside the same program stepped by C (bench/doors/program.c) and beside PyTorch eager, turn by
turn, one thread each, in the processor's time: what else runs counts for little.

    torch_speed.py [--seconds S a model] [--program PATH of build/release/bench/door_program] [--only NAME ..]

A turn of each makes a step that is not counted, which brings its states into the caches, and then some that are; all are given
the same batch, and door and C must have the same loss, bit for bit, after each turn. Shown are the least of turns and the median
of the ratios of neighbours."""
from __future__ import annotations

import argparse
import copy
import statistics
import time

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

import reprise.torch as rt
from by_c import PROGRAM, ByC, turn
from torch_versions import CNN, GPT, LSTM, rows

torch.set_num_threads(1)
BETAS = (0.9, 0.999)


class Encoder(nn.Module):
    """Of sentences, as BERT is: what is padded is masked, the first token is classified."""

    def __init__(self, tokens=97, width=128, layers=2, heads=4, length=64):
        super().__init__()
        self.tokens, self.places = nn.Embedding(tokens, width), nn.Embedding(length, width)
        self.blocks = nn.ModuleList([nn.ModuleDict({
            "qkv": nn.Linear(width, 3 * width), "out": nn.Linear(width, width), "first": nn.LayerNorm(width),
            "up": nn.Linear(width, 4 * width), "down": nn.Linear(4 * width, width), "second": nn.LayerNorm(width)})
            for _ in range(layers)])
        self.heads, self.last = heads, nn.Linear(width, 2)

    def forward(self, i, mask):
        b, t = i.shape
        x = self.tokens(i) + self.places(torch.arange(t))
        seen = mask.view(b, 1, 1, t)
        for block in self.blocks:
            q, k, v = (p.view(b, t, self.heads, -1).transpose(1, 2) for p in block["qkv"](x).chunk(3, 2))
            y = F.scaled_dot_product_attention(q, k, v, attn_mask=seen)
            x = block["first"](x + block["out"](y.transpose(1, 2).reshape(b, t, -1)))
            x = block["second"](x + block["down"](F.gelu(block["up"](x))))
        return self.last(x[:, 0])


def models():
    torch.manual_seed(0)
    yield "mlp", nn.Sequential(nn.Linear(20, 64), nn.ReLU(), nn.Linear(64, 64), nn.GELU(), nn.Linear(64, 5)), F.cross_entropy, \
        (torch.randn(32, 20), torch.randint(0, 5, (32,)))
    yield "wide mlp", nn.Sequential(nn.Linear(256, 512), nn.ReLU(), nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, 10)), F.cross_entropy, \
        (torch.randn(128, 256), torch.randint(0, 10, (128,)))
    yield "gpt", GPT(65, 128, 2, 4, 64, 0.1), rows, (torch.randint(0, 65, (8, 64)), torch.randint(0, 65, (8, 64)))
    yield "cnn", CNN(), F.cross_entropy, (torch.randn(32, 3, 32, 32), torch.randint(0, 5, (32,)))
    yield "lstm", LSTM(65, 64, 128), rows, (torch.randint(0, 65, (16, 32)), torch.randint(0, 65, (16, 32)))
    yield "encoder", Encoder(), F.cross_entropy, \
        (torch.randint(0, 97, (8, 64)), torch.arange(64)[None] < torch.randint(16, 65, (8, 1)), torch.randint(0, 2, (8,)))


def measured(module, loss, batch, seconds, program):
    """Of door, C and eager the seconds a step, turn by turn."""
    own = copy.deepcopy(module)
    optimizer = torch.optim.AdamW(own.parameters(), 1e-3, betas=BETAS)
    step = rt.compile(module, loss, batch, torch.optim.AdamW(module.parameters(), 1e-3, betas=BETAS), threads=1)

    def eager():
        optimizer.zero_grad()
        loss(own(*batch[:-1]), batch[-1]).backward()
        optimizer.step()
    built = step._last
    values = {**{n: np.array(v) for n, v in step.state.items()}, **{n: np.array(a) for n, a in built.data.items()}}
    values.update({n: t.numpy() for n, t in zip(built.feeds, batch) if n is not None})
    c = ByC(program, built.program, values, 1e-3, BETAS)
    step(*batch)
    once = turn(lambda: step(*batch), 1)[0]
    c.turn(1)
    n = max(1, int(5e-3 / once))
    turns = []
    end = time.perf_counter() + seconds
    while time.perf_counter() < end or len(turns) < 5:
        (by_door, a), (by_c, b) = turn(lambda: step(*batch), n), c.turn(n)
        if float(a) != b:
            raise SystemExit(f"the door's loss is {float(a)!r}, C's {b!r}")
        turns.append((by_door, by_c, turn(eager, max(1, n // 8))[0]))
    c.end()
    return turns


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--seconds", type=float, default=8.0)
    p.add_argument("--program", default=PROGRAM)
    p.add_argument("--only", nargs="*")
    options = p.parse_args()
    print(f"torch {torch.__version__}, one thread; the processor's microseconds a step, the least of turns; ratios: median of turns")
    print("| model | through the door | its program from C | eager | door / C | door / eager |\n|---|---|---|---|---|---|")
    for name, module, loss, batch in models():
        if options.only and name not in options.only:
            continue
        turns = measured(module, loss, batch, options.seconds, options.program)
        d, c, e = (min(t[k] for t in turns) * 1e6 for k in range(3))
        by_c, by_eager = (statistics.median(t[0] / t[k] for t in turns) for k in (1, 2))
        print(f"| {name} | {d:.1f} | {c:.1f} | {e:.1f} | {by_c:.3f} | {by_eager:.3f} |", flush=True)


if __name__ == "__main__":
    main()
