# SPDX-License-Identifier: Apache-2.0
"""Tensors that are one, or the same values: an example that is a buffer too, and torch.equal, which is known of what is made alike, burned in
of constants, a check of the step where it only raises, and refused of anything else."""
import importlib.util
import os
import sys
import unittest

if importlib.util.find_spec("torch") is None:
    if __name__ == "__main__":
        sys.exit(print("Ran 0 tests: torch is not installed"))
    raise unittest.SkipTest("torch is not installed")

import torch
import torch.nn as nn

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

import reprise.torch as rt
from torch_small import sgd

X, Y = torch.randn(2, 4, 3, generator=torch.Generator().manual_seed(0))


class Held(nn.Module):
    """How far a layer's value is from a buffer, which may be the batch too."""

    def __init__(self, of):
        super().__init__()
        self.w = nn.Parameter(torch.tensor(2.0))
        self.register_buffer("of", of)

    def forward(self, x):
        return (self.w * x - self.of).square().mean()


class Examples(unittest.TestCase):
    def test_an_example_that_is_a_buffer_is_a_batch_like_others(self):
        whole = torch.cat([X, Y])
        for buffer, example in ((X, X), (X, X.view(4, 3)), (X, X.detach()), (whole[:4], whole[4:])):
            m = Held(buffer)
            for call in (rt.compile(m, None, (example,), torch.optim.SGD(m.parameters(), 0.0)), rt.compile_inference(m, example)):
                for batch in (Y + 1, X, example):
                    self.assertAlmostEqual(float(call(batch)), float(m(batch).detach()), places=5)

    def test_one_that_is_a_parameter_too(self):
        m = Held(Y)
        m.w = nn.Parameter(X.clone())
        step = rt.compile(m, None, (m.w.detach(),), torch.optim.SGD(m.parameters(), 0.0))
        self.assertAlmostEqual(float(step(X + 1)), float(m(X + 1).detach()), places=5)


if __name__ == "__main__":
    unittest.main()
