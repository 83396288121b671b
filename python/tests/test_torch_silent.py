# SPDX-License-Identifier: Apache-2.0
"""Differences from PyTorch that would be silent: each case here gave another loss, gradient or step before its guard was there."""
import copy
import importlib.util
import sys
import unittest
import warnings

import numpy as np

if importlib.util.find_spec("torch") is None:
    if __name__ == "__main__":
        sys.exit(print("Ran 0 tests: torch is not installed"))
    raise unittest.SkipTest("torch is not installed")

import torch
import torch.nn as nn
import torch.nn.functional as F

import reprise.torch as rt

torch.set_num_threads(1)
warnings.simplefilter("ignore")
X = torch.tensor([1.0, 2.0, 3.0])


def sgd(m, lr=0.0):
    return torch.optim.SGD(m.parameters(), lr)


class Two(nn.Module):
    """A value in which its two inputs, its two weights, `k` and the buffer `t` count each in its own way."""

    def __init__(self):
        super().__init__()
        self.v, self.w = nn.Parameter(torch.ones(3)), nn.Parameter(torch.full((3,), 2.0))
        self.register_buffer("t", torch.tensor(1.0))
        self.k, self.both = [1.0], True

    def forward(self, a, b):
        y = (self.v * a).sum() * self.k[0] * self.t
        return y + (self.w * b * b).sum() if self.both else y


class Batches(unittest.TestCase):
    def test_names_in_another_order_are_the_same_batch(self):
        m = Two()
        step = rt.compile(m, example={"a": X, "b": X + 1}, optimizer=sgd(m))
        expected = float(m(X, 2 * X))
        self.assertAlmostEqual(float(step(a=X, b=2 * X)), expected, places=4)
        self.assertAlmostEqual(float(step(b=2 * X, a=X)), expected, places=4)
        self.assertEqual(step.programs, 1)

    def test_nested_batches_of_other_names_are_other_programs(self):
        class Nested(nn.Module):
            def __init__(self):
                super().__init__()
                self.w = nn.Parameter(torch.ones(3))

            def forward(self, d):
                return (self.w * d["a"]).sum() + 2 * d.get("b", torch.zeros(3)).sum() + 3 * d.get("c", torch.zeros(3)).sum()
        m = Nested()
        step = rt.compile(m, example=({"a": X, "b": X + 1},), optimizer=sgd(m))
        for d in ({"a": X, "b": 2 * X}, {"b": 2 * X, "a": X}, {"a": X, "c": 2 * X}):
            self.assertAlmostEqual(float(step(d)), float(m(d)), places=4)

    def test_one_tensor_given_twice_is_two_inputs(self):
        m = Two()
        step = rt.compile(m, example=(X, X), optimizer=sgd(m))
        self.assertAlmostEqual(float(step(X, 2 * X)), float(m(X, 2 * X)), places=4)
        forward = rt.compile_inference(m, (X, X))
        self.assertAlmostEqual(float(forward(X, 2 * X)), float(m(X, 2 * X)), places=4)


class States(unittest.TestCase):
    def test_statistics_that_were_trained_are_those_of_evaluation(self):
        torch.manual_seed(0)
        m, x = nn.Sequential(nn.Linear(3, 3), nn.BatchNorm1d(3)), torch.randn(8, 3) * 5 + 3
        step = rt.compile(m, lambda y, k: (y * k).sum(), (x, x), sgd(m))
        for _ in range(3):
            step(x, x)
        m.eval()
        found = float(step(x, x))
        trained = copy.deepcopy(m)
        step.copy_to(trained)
        self.assertAlmostEqual(found, float((trained(x) * x).sum()), delta=1e-3)


if __name__ == "__main__":
    unittest.main()
