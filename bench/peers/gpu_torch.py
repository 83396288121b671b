# SPDX-License-Identifier: Apache-2.0
"""PyTorch on a GPU, the peer of bench/gpu.c and of the examples' steps: convolution in binary32 by cuDNN with deterministic
algorithms, functions and softmax beside the bandwidth of a copy, and training steps with deterministic algorithms. Prints lines as bench/gpu.c does.

    python3 bench/peers/gpu_torch.py"""
import os
import statistics
import time

os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")

import torch  # noqa: E402
from torch import nn  # noqa: E402
from torch.nn import functional as F  # noqa: E402

ROUNDS = 7


def time_of(work):
    work()
    torch.cuda.synchronize()
    times, repeats = [], 1
    for _ in range(ROUNDS):
        begin = time.perf_counter()
        for _ in range(repeats):
            work()
        torch.cuda.synchronize()
        times.append((time.perf_counter() - begin) / repeats)
        repeats = max(repeats, int(0.02 / times[-1]) + 1)
    return statistics.median(times)


def row(section, name, work, amount, unit):
    seconds = time_of(work)
    print(f"{section}\t{name}\t{seconds:.9g}\t{amount / seconds:.6g}\t{unit}\t-\tpeer", flush=True)


def convolution(n, size, c, k, taps):
    name = f"{n} x {size} x {size} x {c} by {taps} x {taps} to {k}"
    flops = 2.0 * n * size * size * c * k * taps * taps
    x = torch.randn(n, c, size, size, device="cuda").to(memory_format=torch.channels_last)
    w = torch.randn(k, c, taps, taps, device="cuda").to(memory_format=torch.channels_last)
    g = torch.randn(n, k, size, size, device="cuda").to(memory_format=torch.channels_last)
    pad = taps // 2
    row("conv2d", name, lambda: F.conv2d(x, w, padding=pad), flops, "FLOP/s")
    row("conv2d_grad_input", name, lambda: nn.grad.conv2d_input(x.shape, w, g, padding=pad), flops, "FLOP/s")
    row("conv2d_grad_weight", name, lambda: nn.grad.conv2d_weight(x, w.shape, g, padding=pad), flops, "FLOP/s")


def step(name, model, x, y):
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    criterion = nn.CrossEntropyLoss()

    def work():
        optimizer.zero_grad(set_to_none=True)
        criterion(model(x), y).backward()
        optimizer.step()

    row("step", name, work, 1, "steps/s")


def main():
    torch.backends.cuda.matmul.allow_tf32 = False
    torch.backends.cudnn.allow_tf32 = False
    torch.use_deterministic_algorithms(True, warn_only=True)
    torch.manual_seed(1)
    convolution(32, 56, 64, 64, 3)
    convolution(32, 28, 128, 128, 3)
    convolution(32, 14, 256, 256, 3)
    convolution(32, 7, 512, 512, 3)
    convolution(32, 56, 64, 256, 1)
    x = torch.randn(8192, 4096, device="cuda")
    y = torch.empty_like(x)
    row("copy", "8192 x 4096", lambda: y.copy_(x), 8.0 * x.numel(), "B/s")
    row("exp", "8192 x 4096", lambda: torch.exp(x, out=y), 8.0 * x.numel(), "B/s")
    row("softmax", "8192 x 4096", lambda: torch.softmax(x, 1), 8.0 * x.numel(), "B/s")
    layers = [nn.Linear(784, 1024), nn.ReLU(), nn.Linear(1024, 1024), nn.ReLU(), nn.Linear(1024, 10)]
    step("mlp 784 1024 1024 10, batch 256", nn.Sequential(*layers).cuda(), torch.randn(256, 784, device="cuda"),
         torch.randint(0, 10, (256,), device="cuda"))


if __name__ == "__main__":
    main()
