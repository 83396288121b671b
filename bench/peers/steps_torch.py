# SPDX-License-Identifier: Apache-2.0
"""Training steps in PyTorch, the peer of bench/steps.c: the same networks, data sizes and optimizers.

    python3 bench/peers/steps_torch.py NAME THREADS [MODE ...]

For each MODE prints "NAME MODE seconds", the median of several short rounds. A mode is "eager" or "compile" (the forward
pass, the loss and the gradients; where it works here), a dash, and the optimizer's implementation: "loop", "foreach" or
"fused". The optimizer's step is never compiled: PyTorch's own fused one is faster."""
import statistics
import sys
import time

import torch
from torch import nn

ROUNDS = 9
SECONDS = 0.05  # of each round

# name: layers, activation, batch, optimizer
NETWORKS = {
    "gelu": ([61, 64, 2], nn.GELU, 32, torch.optim.AdamW),
    "mlp": ([784, 1024, 1024, 10], nn.ReLU, 256, torch.optim.Adam),
}


def step_of(name, mode):
    sizes, activation, batch, optimizer_class = NETWORKS[name]
    forward, kind = mode.split("-")
    torch.manual_seed(1)
    layers = []
    for i in range(len(sizes) - 1):
        layers += [activation()] * (i > 0) + [nn.Linear(sizes[i], sizes[i + 1])]
    model = nn.Sequential(*layers)
    extra = {"loop": {"foreach": False}, "foreach": {"foreach": True}, "fused": {"fused": True}}[kind]
    optimizer = optimizer_class(model.parameters(), lr=1e-3, **extra)
    x = torch.randn(batch, sizes[0])
    y = torch.randint(0, sizes[-1], (batch,))
    criterion = nn.CrossEntropyLoss()

    def loss_of(x, y):
        return criterion(model(x), y)

    if forward == "compile":
        loss_of = torch.compile(loss_of)

    def step():
        optimizer.zero_grad(set_to_none=True)
        loss = loss_of(x, y)
        loss.backward()
        optimizer.step()
        return loss

    return step


def seconds(step):
    for _ in range(5):
        step()
    start = time.perf_counter()
    step()
    count = max(3, int(SECONDS / (time.perf_counter() - start)))
    rounds = []
    for _ in range(ROUNDS):
        start = time.perf_counter()
        for _ in range(count):
            step()
        rounds.append((time.perf_counter() - start) / count)
    return statistics.median(rounds), min(rounds)


def main():
    name, threads, modes = sys.argv[1], int(sys.argv[2]), sys.argv[3:]
    torch.set_num_threads(threads)
    for mode in modes or ["eager-loop", "eager-foreach", "eager-fused", "compile-fused"]:
        try:
            median, best = seconds(step_of(name, mode))
        except Exception as error:  # a mode that this host lacks, such as compile without a C++ compiler
            print(name, mode, "failed:", str(error).splitlines()[0][:100], file=sys.stderr)
            continue
        print(name, mode, "%.9f %.9f" % (median, best), flush=True)


main()
