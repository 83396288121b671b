# SPDX-License-Identifier: Apache-2.0
"""Calls written in others, and compositions of docs/coverage.md, beside PyTorch's: bench/compositions and PyTorch take
turns, one thread each, seconds of their processes; a line a call, with the medians of the rounds' ratios of our time to
PyTorch's, compiled and eager (below 1, Reprise is faster).

    python3 bench/peers/compositions.py BUILD_FOLDER [ROUNDS [NAMES..]]      # 15 rounds, all calls

Prints "NAME|own compiled s|own eager s|peer s|compiled ratio|eager ratio", the worst last. PyTorch's side is its
eager call, which for these is what it has fused by hand; its allocator keeps what it has (MALLOC_* below), or half of
its time would be pages of the system."""
import math
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

KEEP = {"MALLOC_MMAP_THRESHOLD_": "33554432", "MALLOC_TRIM_THRESHOLD_": "4294967296"}
ROUND, SIDE = 0.02, 1024
clock = time.process_time


def peers():
    import torch
    from torch.nn import functional as f
    torch.set_num_threads(1)
    torch.manual_seed(1)
    x, y, n = (torch.randn(SIDE, SIDE) for _ in range(3))
    p, q = (torch.rand(SIDE, SIDE) for _ in range(2))
    z, w = 1 + 4 * torch.rand(SIDE, SIDE), torch.rand(SIDE)
    s = torch.where(n > 0, 1.0, -1.0)
    i, m = torch.randint(0, 1000, (SIDE, SIDE), dtype=torch.int32), n > 0
    labels, places = torch.randint(0, SIDE, (SIDE,)), torch.randint(0, SIDE, (SIDE, SIDE))
    bags, pairs = torch.randint(0, SIDE, (512, 16)), torch.randint(0, SIDE, (SIDE * SIDE, 2))
    c = torch.complex(x, y)
    first, second = pairs[:, 0].contiguous(), pairs[:, 1].contiguous()

    def dequantize():
        return (i.float() - 3) * 0.125

    def select_scatter():
        return torch.select_scatter(x, w, 0, 500)

    return {
        "clamp": lambda: x.clamp(-0.5, 0.75), "isnan": lambda: x.isnan(), "isinf": lambda: x.isinf(),
        "isfinite": lambda: x.isfinite(), "reciprocal": lambda: x.reciprocal(), "square": lambda: x.square(),
        "bitwise_not": lambda: i.bitwise_not(), "floor_divide": lambda: x.floor_divide(z),
        "trunc_divide": lambda: torch.div(x, z, rounding_mode="trunc"), "xlogy": lambda: torch.xlogy(x, p),
        "asinh": lambda: x.asinh(), "acosh": lambda: z.acosh(), "atanh": lambda: p.atanh(),
        "relu6": lambda: f.relu6(x), "hardsigmoid": lambda: f.hardsigmoid(x), "hardswish": lambda: f.hardswish(x),
        "mish": lambda: f.mish(x), "selu": lambda: f.selu(x), "celu": lambda: f.celu(x, 0.75),
        "softsign": lambda: f.softsign(x), "logsigmoid": lambda: f.logsigmoid(x), "tanhshrink": lambda: f.tanhshrink(x),
        "softshrink": lambda: f.softshrink(x, 0.5), "hardshrink": lambda: f.hardshrink(x, 0.5),
        "threshold": lambda: f.threshold(x, 0.25, -1), "prelu": lambda: f.prelu(x, w),
        "gelu_tanh": lambda: f.gelu(x, approximate="tanh"), "glu": lambda: f.glu(x, 1),
        "any": lambda: m.any(1), "all": lambda: m.all(1), "count_nonzero": lambda: x.count_nonzero(1),
        "std": lambda: x.std(1), "norm 1": lambda: torch.linalg.vector_norm(x, 1, 1),
        "norm 2": lambda: torch.linalg.vector_norm(x, 2, 1), "norm 2 of all": lambda: torch.linalg.vector_norm(x),
        "norm inf": lambda: torch.linalg.vector_norm(x, math.inf, 1), "aminmax": lambda: x.aminmax(dim=1),
        "cosine_similarity": lambda: f.cosine_similarity(x, y, 1),
        "mse_loss": lambda: f.mse_loss(x, y), "l1_loss": lambda: f.l1_loss(x, y),
        "huber_loss": lambda: f.huber_loss(x, y, delta=0.75),
        "smooth_l1_loss": lambda: f.smooth_l1_loss(x, y, beta=0.75),
        "bce_loss": lambda: f.binary_cross_entropy(p, q),
        "bce_with_logits weighted": lambda: f.binary_cross_entropy_with_logits(x, q, pos_weight=w),
        "kl_div": lambda: f.kl_div(x, q), "poisson_nll": lambda: f.poisson_nll_loss(x, q),
        "gaussian_nll": lambda: f.gaussian_nll_loss(x, y, z), "soft_margin": lambda: f.soft_margin_loss(x, s),
        "hinge_embedding": lambda: f.hinge_embedding_loss(x, s),
        "margin_ranking": lambda: f.margin_ranking_loss(x, y, s, 0.25),
        "triplet_margin": lambda: f.triplet_margin_loss(x, y, z), "cross_entropy": lambda: f.cross_entropy(x, labels),
        "label smoothing": lambda: f.cross_entropy(x, labels, label_smoothing=0.1),
        "class weights": lambda: f.cross_entropy(x, labels, w), "nll_loss": lambda: f.nll_loss(x, labels),
        "flip": lambda: x.flip(1), "roll": lambda: x.roll(17, 1), "tile": lambda: w.expand(1, SIDE).tile(1, SIDE),
        "repeat_interleave": lambda: w.repeat_interleave(SIDE), "tril": lambda: x.tril(), "triu": lambda: x.triu(),
        "pad constant": lambda: f.pad(x, (2, 2, 2, 2), value=0.5),
        "pad reflect": lambda: f.pad(x[None], (2, 2, 2, 2), "reflect"),
        "pad edge": lambda: f.pad(x[None], (2, 2, 2, 2), "replicate"),
        "bincount": lambda: labels.bincount(minlength=SIDE),
        "fft": lambda: torch.fft.fft(c), "ifft": lambda: torch.fft.ifft(c), "rfft": lambda: torch.fft.rfft(x),
        "fft of 64": lambda: torch.fft.fft(c.view(-1, 64)), "fft of 2^20": lambda: torch.fft.fft(c.view(-1)),
        "fft of a line": lambda: torch.fft.fft(c[:1]), "fft2": lambda: torch.fft.fft2(c),
        "embedding_bag": lambda: f.embedding_bag(bags, x, mode="sum"),
        "gather_nd": lambda: x[first, second], "addmm": lambda: torch.addmm(w[:512], x[:512, :512], x[:512, :512]),
        "randperm": lambda: torch.randperm(SIDE * SIDE), "select_scatter": select_scatter,
        "slice_scatter": lambda: torch.slice_scatter(x, y[300:600], 0, 300, 600),
        "hardmax": lambda: f.one_hot(x.argmax(1), SIDE).float(), "lp_normalization": lambda: f.normalize(x, dim=1),
        "log sum": lambda: z.sum(1).log(), "sum of squares": lambda: x.square().sum(1),
        "swish": lambda: x * torch.sigmoid(1.5 * x), "swiglu": lambda: f.silu(x[:, :512]) * x[:, 512:],
        "mean of three": lambda: (x + y + z) / 3, "dequantize": dequantize,
        "masked_scatter": lambda: torch.where(m, x, y),
        "scatter_reduce": lambda: x.scatter_reduce(1, places, y, "amax"),
    }


class Own:
    def __init__(self, build):
        self.process = subprocess.Popen([build / "bench" / "compositions"], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True)

    def seconds(self, how, name):
        self.process.stdin.write("%s %s\n" % (how, name))
        self.process.stdin.flush()
        return float(self.process.stdout.readline())


def peer_count(call):
    for _ in range(3):
        call()
    start = clock()
    call()
    return 1 + int(ROUND / max(clock() - start, 1e-6))


def peer_seconds(call, count):
    start = clock()
    for _ in range(count):
        call()
    return (clock() - start) / count


def main():
    build, rounds = Path(sys.argv[1]).resolve(), int(sys.argv[2]) if len(sys.argv) > 2 else 15
    calls, compiled, eager = peers(), Own(build), Own(build)
    rows = []
    for name in sys.argv[3:] or calls:
        count, turns = peer_count(calls[name]), []
        for _ in range(rounds):
            turns.append((compiled.seconds("compiled", name), eager.seconds("eager", name),
                          peer_seconds(calls[name], count)))
        a, b, c = (statistics.median(side) for side in zip(*turns))
        rows.append((statistics.median(t[0] / t[2] for t in turns), statistics.median(t[1] / t[2] for t in turns), name,
                     a, b, c))
    for r in sorted(rows):
        print("%s|%.6f|%.6f|%.6f|%.2f|%.2f" % (r[2], *r[3:], r[0], r[1]), flush=True)


if any(os.environ.get(name) != value for name, value in KEEP.items()):
    os.execve(sys.executable, [sys.executable, *sys.argv], {**os.environ, **KEEP})
main()
