# SPDX-License-Identifier: Apache-2.0
"""Training steps of small convolutional networks as tutorials have them, through the PyTorch door beside PyTorch's own
eager steps: forward, gradients, AdamW (fused there), one thread, the processor's time, both sides turn by turn, medians.
Usage: torch_cnns.py [SECONDS_EACH [NAME...]]
"""
import copy
import statistics
import sys
import time

import reprise.torch as rt
import torch
from torch import nn


def mnist():
    return nn.Sequential(nn.Conv2d(1, 32, 3), nn.ReLU(), nn.Conv2d(32, 64, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(),
                         nn.Linear(9216, 128), nn.ReLU(), nn.Linear(128, 10))


def lenet(colours, act, pool):
    return nn.Sequential(nn.Conv2d(colours, 6, 5, padding=2 if colours == 1 else 0), act(), pool(2), nn.Conv2d(6, 16, 5),
                         act(), pool(2), nn.Flatten(), nn.Linear(400, 120), act(), nn.Linear(120, 84), act(),
                         nn.Linear(84, 10))


def residual(name):
    import torchvision
    return torchvision.models.get_model(name, weights=None, num_classes=10)


NETWORKS = {
    "mnist b64": (mnist, (64, 1, 28, 28)),
    "lenet b64": (lambda: lenet(1, nn.Tanh, nn.AvgPool2d), (64, 1, 28, 28)),
    "lenet relu b64": (lambda: lenet(1, nn.ReLU, nn.MaxPool2d), (64, 1, 28, 28)),
    "cifar tutorial b64": (lambda: lenet(3, nn.ReLU, nn.MaxPool2d), (64, 3, 32, 32)),
    "resnet18 b1 s224": (lambda: residual("resnet18"), (1, 3, 224, 224)),
    "resnet34 b4 s64": (lambda: residual("resnet34"), (4, 3, 64, 64)),
}


def measure(make, shape, seconds):
    torch.manual_seed(0)
    ours, loss = make(), nn.functional.cross_entropy
    x, labels = torch.randn(shape), torch.randint(0, 10, shape[:1])
    theirs = copy.deepcopy(ours)
    optimizer = torch.optim.AdamW(theirs.parameters(), lr=1e-3, fused=True)
    step = rt.compile(ours, loss, (x, labels), torch.optim.AdamW(ours.parameters(), lr=1e-3), threads=1)

    def eager():
        optimizer.zero_grad()
        loss(theirs(x), labels).backward()
        optimizer.step()

    def timed(call):
        start = time.process_time()
        call()
        return time.process_time() - start

    for call in (eager, lambda: step(x, labels)) * 3:
        call()
    pairs, end = [], time.process_time() + seconds
    while time.process_time() < end or len(pairs) < 3:
        pairs.append((timed(lambda: float(step(x, labels))), timed(eager)))
    ratio = statistics.median(a / b for a, b in pairs)
    return (ratio, *(1e3 * statistics.median(side) for side in zip(*pairs)))


if __name__ == "__main__":
    torch.set_num_threads(1)
    for name, (make, shape) in NETWORKS.items():
        if not sys.argv[2:] or name in sys.argv[2:]:
            ratio, a, b = measure(make, shape, float(sys.argv[1]) if sys.argv[1:] else 6)
            print(f"{name:20} {ratio:.2f}  {a:8.2f} ms beside {b:8.2f}", flush=True)
