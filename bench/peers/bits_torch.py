# SPDX-License-Identifier: Apache-2.0
"""The bits of PyTorch's training, deterministic as far as it goes: SHA-256 of the weights after 20 steps of the
networks of steps_torch.py, with its deterministic algorithms and the seeds fixed.

    python3 bench/peers/bits_torch.py THREADS"""
import hashlib
import sys

import torch
from torch import nn


def train(sizes, activation, batch, optimizer_class):
    torch.manual_seed(1)
    layers = []
    for i in range(len(sizes) - 1):
        layers += [activation()] * (i > 0) + [nn.Linear(sizes[i], sizes[i + 1])]
    model = nn.Sequential(*layers)
    optimizer = optimizer_class(model.parameters(), lr=1e-3)
    x, y = torch.randn(batch, sizes[0]), torch.randint(0, sizes[-1], (batch,))
    for _ in range(20):
        optimizer.zero_grad(set_to_none=True)
        nn.functional.cross_entropy(model(x), y).backward()
        optimizer.step()
    digest = hashlib.sha256()
    for p in model.parameters():
        digest.update(p.detach().numpy().tobytes())
    return digest.hexdigest()


torch.use_deterministic_algorithms(True)
torch.set_num_threads(int(sys.argv[1]))
print("gelu", train([61, 64, 2], nn.GELU, 32, torch.optim.AdamW))
print("mlp", train([784, 1024, 1024, 10], nn.ReLU, 256, torch.optim.Adam))
