# SPDX-License-Identifier: Apache-2.0
"""Quantisation that is only acted beside PyTorch, with what is at, inside and outside of the bounds; a batch norm that stands twice in a forward;
distances of whole tensors, and products of flags."""
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

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))

from test_torch_substitutes import Beside, Net


def square(v, t):
    return (v - t).square().mean()


class Acted(Beside):
    def setUp(self):
        super().setUp()
        self.batch = 3 * torch.randn(7, 4), torch.randn(7, 6)
        self.scale, self.zero = torch.rand(6, dtype=torch.float32) * 0.1 + 0.02, torch.randint(-3, 3, (6,), dtype=torch.int32)

    def test_tensors_are_quantised_as_by_pytorch(self):
        self.same(Net(6, lambda v: torch.fake_quantize_per_tensor_affine(v, 0.05, 3, -20, 22)), square, self.batch, 3)
        scale, zero = self.scale[0], self.zero[0]
        self.same(Net(6, lambda v: torch.fake_quantize_per_tensor_affine(v, scale, zero, -20, 22)), square, self.batch, 3)

    def test_channels_are_quantised_as_by_pytorch(self):
        for axis in (1, -1):
            self.same(Net(6, lambda v: torch.fake_quantize_per_channel_affine(v, self.scale, self.zero, axis % 2, -20, 22)), square, self.batch, 3)

    def test_places_that_are_half_way_go_to_even_ones(self):
        m = Net(4, lambda v: torch.fake_quantize_per_tensor_affine(v, 0.5, 0, -2, 3))
        with torch.no_grad():
            m.layer.weight.copy_(torch.eye(4))
            m.layer.bias.zero_()
        x = torch.tensor([[0.25, 0.75, -0.25, -0.75], [1.75, -1.25, 1.5, -1.0]])
        self.same(m, square, (x, torch.randn(2, 4)))

    def test_modules_of_torch_ao_are_taken_when_they_have_seen_enough(self):
        from torch.ao.quantization import FakeQuantize, MovingAverageMinMaxObserver, disable_observer
        act = FakeQuantize(MovingAverageMinMaxObserver, quant_min=0, quant_max=255)
        act(Net(6)(self.batch[0] / 2))
        act.apply(disable_observer)
        self.same(Net(6, lambda v: act(v)), square, self.batch, 3)


class Others(Beside):
    def test_a_batch_norm_that_stands_twice_counts_twice(self):
        for momentum in (0.1, None):
            class Twice(nn.Module):
                def __init__(self):
                    super().__init__()
                    self.a, self.b, self.norm = nn.Linear(4, 6, bias=False), nn.Linear(6, 6, bias=False), nn.BatchNorm1d(6, momentum=momentum)

                def forward(self, x):
                    return self.norm(self.b(self.norm(self.a(x)).relu()))
            self.same(Twice(), square, (torch.randn(8, 4), torch.randn(8, 6)), 3)

    def test_dist(self):
        for p in (2, 1, 3.0, float("inf")):
            self.same(Net(6, lambda v: torch.dist(v, 2 * v.roll(1, 0), p)), square, (torch.randn(8, 4), torch.zeros(())))

    def test_distances_of_two_element_types(self):
        narrow = torch.randn(8, 6, dtype=torch.float32)
        for f in (lambda v: torch.dist(v, narrow), lambda v: torch.dist(narrow, v, 3.0), lambda v: nn.functional.pairwise_distance(v, narrow).mean(),
                  lambda v: torch.dist(v, torch.arange(6))):
            self.same(Net(6, f), square, (torch.randn(8, 4), torch.zeros(())))

    def test_products_of_flags(self):
        self.same(Net(6, lambda v: v * torch.einsum("i,j->ij", v[:, 0] > 0, v[0] > 0)), square, (torch.randn(8, 4), torch.randn(8, 6)))


if __name__ == "__main__":
    unittest.main()
