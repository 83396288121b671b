# SPDX-License-Identifier: Apache-2.0
"""scaled_dot_product_attention of PyTorch and its gradient, the peer of bench/attention/attention.c; prints lines as that does.

    python3 bench/peers/attention_torch.py THREADS [ROUNDS]"""
import statistics
import sys
import time

import torch
from torch.nn import functional as F

SHAPES = ((1, 8, 2048, 64), (8, 8, 512, 64))
torch.set_num_threads(int(sys.argv[1]))
ROUNDS = int(sys.argv[2]) if len(sys.argv) > 2 else 7


def seconds(work):
    work()
    times = []
    for _ in range(ROUNDS):
        begin = time.perf_counter()
        work()
        times.append(time.perf_counter() - begin)
    return statistics.median(times)


def forward(q, k, v, causal):
    with torch.no_grad():
        F.scaled_dot_product_attention(q, k, v, is_causal=causal)


def both(q, k, v, g, causal):
    torch.autograd.grad(F.scaled_dot_product_attention(q, k, v, is_causal=causal), (q, k, v), g)


for shape in SHAPES:
    q, k, v = (torch.randn(shape, requires_grad=True) for _ in range(3))
    g = torch.randn(shape)
    for causal in (False, True):
        name = " x ".join(map(str, shape)) + (" causal" if causal else " full")
        print("%s forward %.6f" % (name, seconds(lambda: forward(q, k, v, causal))), flush=True)
        print("%s both %.6f" % (name, seconds(lambda: both(q, k, v, g, causal))), flush=True)
