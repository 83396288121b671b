# SPDX-License-Identifier: Apache-2.0
"""Operands of several element types in one operation, where PyTorch promotes them: the values and the types are PyTorch's."""
import importlib.util
import sys
import unittest

if importlib.util.find_spec("torch") is None:
    if __name__ == "__main__":
        sys.exit(print("Ran 0 tests: torch is not installed"))
    raise unittest.SkipTest("torch is not installed")

import torch
import torch.nn as nn
import torch.nn.functional as F

import reprise.torch as rt

X = torch.tensor([[0.5, 1.0, 1.5], [-0.5, 2.0, 2.999]])
N = torch.arange(3)
SIGNS = torch.tensor([[1, -1, 1], [-1, 1, 1]])


class Of(nn.Module):
    def __init__(self, f):
        super().__init__()
        self.f = f

    def forward(self, *x):
        return self.f(*x)


class TestMixed(unittest.TestCase):
    def same(self, f, *x):
        want, got = f(*x), rt.compile_inference(Of(f), x)(*x)
        self.assertEqual((got.dtype, got.shape), (want.dtype, want.shape))
        self.assertTrue(torch.allclose(got.double(), want.double(), rtol=1e-6, atol=1e-7), (got, want))

    def test_floats_among_integer_bounds_are_not_cut(self):
        for right in (False, True):
            with self.subTest(right=right):
                self.same(lambda x, n: torch.bucketize(x, n, right=right), X, N)
                self.same(lambda x, n: torch.bucketize(n, x, right=right), X[0], N)
        self.same(torch.bucketize, X.double(), X[0])

    def test_einsum_counts_flags_where_it_sums_one_operand(self):
        a = torch.tensor([[1, 0, 1], [1, 1, 0], [0, 0, 1]]) > 0
        for equation, *operands in (("ij->i", a), ("ii", a), ("ij,k->k", a, a[0]), ("ij,i->i", a, a[1]), ("ij->ji", a)):
            self.same(lambda *x, e=equation: torch.einsum(e, *x), *operands)

    def test_einsum_without_a_sum_takes_several_types(self):
        for equation, operands in {"i,j->ij": (N, X[0]), "ij,j->ij": (X, N), "i,j,k->ijk": (N, N, X[0]), "k,ik->ik": (N > 1, X)}.items():
            with self.subTest(equation):
                self.same(lambda *x, e=equation: torch.einsum(e, *x), *operands)
        self.same(lambda n, m: torch.einsum("i,ij->ij", n > 0, m), torch.tensor([0, 2]), SIGNS)
        self.same(lambda a, b: torch.einsum("i,j->ij", a, b), X[0].double(), X[1])

    def test_losses_of_signs_that_are_integers(self):
        self.same(F.soft_margin_loss, X, SIGNS)
        self.same(lambda a, y: F.margin_ranking_loss(a, a.flip(1) * 2, y, margin=0.25), X, SIGNS)


if __name__ == "__main__":
    unittest.main()
