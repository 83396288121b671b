# SPDX-License-Identifier: Apache-2.0
"""Small modules, batches and gradients for the tests of the PyTorch door."""
import copy
import warnings

import numpy as np
import torch
import torch.nn as nn

import reprise.torch as rt

FACTOR = 1.0  # what a loss reads of another module
torch.set_num_threads(1)
warnings.simplefilter("ignore")


def passing(f):
    """What a decorator of another file makes of a function."""
    def made(*given):
        return f(*given)
    return made


def mlp(drop=0.0):
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Dropout(drop), nn.Linear(8, 3))


def batch(rows=5):
    torch.manual_seed(1)
    return torch.randn(rows, 4), torch.randint(0, 3, (rows,))


def sgd(m, lr=0.1):
    return torch.optim.SGD(m.parameters(), lr)


class Line(nn.Module):
    """A weight of three elements; forward(x) is what `f` says."""

    def __init__(self, f):
        super().__init__()
        self.w = nn.Parameter(torch.tensor([0.5, -1.0, 2.0]))
        self.register_buffer("seen", torch.zeros(3))
        self.f, self.k = f, 1

    def forward(self, x):
        return self.f(self, x)


def gradient(module, x):
    """Of w by the program, without the comparison with PyTorch: one step of SGD with a rate of 1."""
    step = rt.compile(module, example=(x,), optimizer=sgd(module, 1.0), check=False)
    step(x)
    return module.w.detach().numpy() - np.array(step.state["w"])


def eager_gradient(module, x):
    own = copy.deepcopy(module)
    return torch.autograd.grad(own(x), own.w)[0].numpy()


X = torch.tensor([1.0, 2.0, 3.0])
