# SPDX-License-Identifier: Apache-2.0
"""Fourier transforms through the PyTorch door beside PyTorch's own, each call alone: processor time of one thread, the median of the ratios of
paired calls, and how far the values are apart in norm. Usage: torch_transforms.py [CASE...]"""
from __future__ import annotations

import statistics
import sys
import time

import torch

import reprise.torch as rt

ROUNDS = 15


class Of(torch.nn.Module):
    def __init__(self, f):
        super().__init__()
        self.f = f

    def forward(self, x):
        return self.f(x)


def whole(x):
    return torch.view_as_real(torch.fft.fft(torch.view_as_complex(x)))


def frames(length, step):
    return lambda x: torch.stft(x, length, step, window=torch.hann_window(length), return_complex=True).abs()


CASES = {**{f"fft{n}": (whole, (lines, n, 2)) for n, lines in ((243, 512), (768, 256), (1000, 256), (1024, 256))},
         "ifft1024": (lambda x: torch.view_as_real(torch.fft.ifft(torch.view_as_complex(x))), (256, 1024, 2)),
         "rfft400": (lambda x: torch.fft.rfft(x).abs(), (512, 400)),
         "irfft400": (lambda x: torch.fft.irfft(torch.complex(x[..., 0], x[..., 1]), n=400), (512, 201, 2)),
         "stft400": (frames(400, 160), (4, 48000)), "stft512": (frames(512, 128), (4, 48000))}

torch.set_num_threads(1)
for name in sys.argv[1:] or CASES:
    f, shape = CASES[name]
    torch.manual_seed(0)
    x, module = torch.randn(*shape), Of(f)
    ours = rt.compile_inference(module, (x,))
    found, expected = ours(x), module(x)
    times = []
    for _ in range(ROUNDS):
        begin = time.process_time()
        ours(x)
        middle = time.process_time()
        module(x)
        times.append((middle - begin, time.process_time() - middle))
    print(f"{name:9} {statistics.median(a for a, _ in times) * 1e3:8.3f} ms, of PyTorch's {statistics.median(a / b for a, b in times):5.2f}, "
          f"apart {float((found - expected).norm() / expected.norm()):.1e}", flush=True)
