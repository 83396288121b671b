# SPDX-License-Identifier: Apache-2.0
"""Functions of PyTorch that look at values while they run, and operations in other forms, beside PyTorch in binary64; and what is
refused by name, with its way out."""
import copy
import importlib.util
import math
import os
import sys
import unittest

import numpy as np

if importlib.util.find_spec("torch") is None:
    if __name__ == "__main__":
        sys.exit(print("Ran 0 tests: torch is not installed"))
    raise unittest.SkipTest("torch is not installed")

import torch
import torch.nn as nn
import torch.nn.functional as F

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import reprise.torch as rt
from torch_small import sgd

EXACT = 1e-12


class Net(nn.Module):
    """A layer, and what `f` makes of it."""

    def __init__(self, width, f=lambda v: v, bias=True):
        super().__init__()
        self.layer, self.f = nn.Linear(4, width, bias), f

    def forward(self, x):
        return self.f(self.layer(x))


class Beside(unittest.TestCase):
    def setUp(self):
        torch.set_default_dtype(torch.float64)
        self.addCleanup(torch.set_default_dtype, torch.float32)
        torch.manual_seed(0)

    def same(self, m, loss, batch, steps=1):
        """Losses and first gradients are PyTorch's."""
        n = copy.deepcopy(m)
        step = rt.compile(m, loss, batch, sgd(m), bound=EXACT)
        self.assertLess(step.origin["gradients"]["difference"], EXACT)
        o = sgd(n)
        for _ in range(steps):
            o.zero_grad()
            value = loss(n(*batch[:-1]), batch[-1])
            value.backward()
            o.step()
            self.assertAlmostEqual(float(step(*batch)), float(value.detach()), delta=EXACT)
        for name, t in n.state_dict().items():
            torch.testing.assert_close(torch.from_numpy(np.array(step.state[name])), t.detach(), rtol=1e-10, atol=1e-12)


class Losses(Beside):
    def test_gaussian_nll(self):
        x, y = torch.randn(6, 4), torch.randn(6)
        for full in (False, True):
            loss = lambda v, t: F.gaussian_nll_loss(v[:, 0], t, F.softplus(v[:, 1]), full=full)
            self.same(Net(2), loss, (x, y))
        self.same(Net(2), lambda v, t: nn.GaussianNLLLoss(reduction="sum")(v, t, torch.ones(6)), (x, torch.randn(6, 2)))
        self.same(Net(2), lambda v, t: F.gaussian_nll_loss(v, t, 0.5), (x, torch.randn(6, 2)))
        small = lambda v, t: F.gaussian_nll_loss(v[:, 0], t, v[:, 1] ** 2 * 1e-9)  # below eps: its gradient is that of eps
        self.same(Net(2), small, (x, y))

    def test_a_variance_below_0_gives_nan_where_pytorch_raises(self):
        m, batch = Net(2), (torch.randn(6, 4), torch.randn(6))
        loss = lambda v, t: F.gaussian_nll_loss(v[:, 0], t, v[:, 1])
        step = rt.compile(m, loss, batch, sgd(m), check=False)
        self.assertTrue(math.isnan(float(step(*batch))))

    def test_multilabel_margin(self):
        y = torch.tensor([[0, 2, -1, 1, 3], [-1, 0, 0, 0, 0], [4, 3, 2, 1, 0], [1, 1, 3, -1, -1]])
        for reduction in ("mean", "sum"):
            self.same(Net(5), lambda v, t: F.multilabel_margin_loss(v, t, reduction=reduction), (torch.randn(4, 4), y))
        self.same(Net(5), lambda v, t: nn.MultiLabelMarginLoss(reduction="none")(v, t).pow(2).sum(), (torch.randn(4, 4), y))
        self.same(Net(5), lambda v, t: nn.MultiLabelMarginLoss(reduction="none")(v, t), (torch.randn(4), y[0]))

    def test_ctc(self):
        x, y = torch.randn(7, 3, 4), torch.tensor([[1, 1, 2], [3, 4, 4], [2, 2, 2]])
        m = Net(5, lambda v: F.log_softmax(v, -1))
        for reduction in ("mean", "sum"):
            for took, labels, zero in (([7, 7, 5], [3, 2, 0], False), ([7, 6, 2], [3, 1, 3], True)):
                loss = lambda v, t: F.ctc_loss(v, t, torch.tensor(took), torch.tensor(labels), reduction=reduction, zero_infinity=zero)
                self.same(copy.deepcopy(m), loss, (x, y))
        self.same(copy.deepcopy(m), lambda v, t: nn.CTCLoss(blank=4)(v, t.clamp(max=3), (7, 6, 5), (3, 2, 2)), (x, y))
        self.same(Net(5, lambda v: F.log_softmax(v, -1)), lambda v, t: F.ctc_loss(v, t, torch.tensor(7), torch.tensor(3)), (x[:, 0], y[0]))

    def test_ctc_of_what_is_no_logarithm_of_a_softmax_has_pytorchs_gradient(self):
        x, y = torch.randn(6, 2, 4), torch.tensor([[1, 2], [3, 3]])
        self.same(Net(5, lambda v: -v ** 2), lambda v, t: F.ctc_loss(v, t, torch.tensor([6, 4]), torch.tensor([2, 2])), (x, y))

    def test_ctc_without_a_path_is_infinite(self):
        m, batch = Net(5, lambda v: F.log_softmax(v, -1)), (torch.randn(2, 1, 4), torch.tensor([[1, 1, 2]]))
        loss = lambda v, t: F.ctc_loss(v, t, torch.tensor([2]), torch.tensor([3]))
        self.assertEqual(float(loss(m(batch[0]), batch[1]).detach()), math.inf)
        self.assertEqual(float(rt.compile(m, loss, batch, sgd(m), check=False)(*batch)), math.inf)

    def test_ctc_of_targets_in_one_row_and_of_many_places_is_refused(self):
        m = Net(5, lambda v: F.log_softmax(v, -1))
        for x, y, why in ((torch.randn(7, 2, 4), torch.tensor([1, 2, 3]), "one row"), (torch.randn(1025, 1, 4), torch.tensor([[1]]), "1025 places")):
            loss = lambda v, t: F.ctc_loss(v, t, torch.tensor([len(v)] * v.shape[1]), torch.tensor([1] * v.shape[1]))
            with self.assertRaisesRegex(rt.Unsupported, f"ctc_loss of.*{why}"):
                rt.compile(m, loss, (x, y), sgd(m), check=False)


class Modules(Beside):
    def test_masks_of_transformers(self):
        a, b, y = torch.randn(2, 5, 8), torch.randn(2, 4, 8), torch.randn(2, 4, 8)
        causal = nn.Transformer.generate_square_subsequent_mask

        class Whole(nn.Module):
            def __init__(self, first):
                super().__init__()
                self.t = nn.Transformer(8, 2, 1, 2, 16, dropout=0.0, batch_first=True, norm_first=first)

            def forward(self, a, b):
                return self.t(a, b, src_mask=causal(a.shape[1]), tgt_mask=causal(b.shape[1]))

        class Other(Whole):
            def forward(self, a, b):
                return self.t(a, b, tgt_mask=torch.tensor([[0, 1, 1, 1], [0, 0, 0, 1], [0, 0, 0, 1], [0, 0, 1, 0]]).bool())
        for m in (Whole(False), Whole(True), Other(False)):
            self.same(m, F.mse_loss, (a, b, y))

    def test_batch_norm_without_a_momentum(self):
        for make, x in ((nn.BatchNorm1d, torch.randn(6, 4)), (nn.BatchNorm1d, torch.randn(6, 5, 4))):
            m = Net(3, lambda v: v if v.dim() == 2 else v.transpose(1, 2), bias=False)
            whole = nn.Sequential(m, make(3, momentum=None))
            y = torch.randn(6, 3) if x.dim() == 2 else torch.randn(6, 3, 5)
            self.same(whole, F.mse_loss, (x, y), steps=4)
        forward = rt.compile_inference(whole.eval(), x)
        torch.testing.assert_close(torch.from_numpy(forward(x).numpy()), whole(x).detach())

    def test_pytorchs_functions_are_its_own_again(self):
        before = (F.gaussian_nll_loss, torch.ctc_loss, nn.modules.batchnorm._BatchNorm.forward,
                  nn.modules.transformer._detect_is_causal_mask, torch._VF._pack_padded_sequence)
        self.test_batch_norm_without_a_momentum()
        self.assertEqual(before, (F.gaussian_nll_loss, torch.ctc_loss, nn.modules.batchnorm._BatchNorm.forward,
                                  nn.modules.transformer._detect_is_causal_mask, torch._VF._pack_padded_sequence))
        self.assertNotIn("_pack_padded_sequence", vars(torch._VF))


class Operations(Beside):
    def test_running_extremes(self):
        for f in (lambda v: v.cummax(1).values, lambda v: v.cummin(0).values, lambda v: v.relu().cummax(0)[0],
                  lambda v: v.cummax(1)[0] * v.cummax(1)[1]):
            for rows in (1, 6):
                self.same(Net(5, f), F.mse_loss, (torch.randn(rows, 4), torch.randn(rows, 5)))

    def test_running_extremes_of_nan_and_of_equals(self):
        x = torch.tensor([[1.0, 3.0, 3.0, math.nan, 5.0, math.nan, -math.inf, 2.0], [-math.inf, 0.0, -0.0, 7.0, 7.0, math.inf, 1.0, 2.0]])
        for f in (torch.cummax, torch.cummin):
            for v, axis in ((x, 1), (x, 0), (torch.tensor([3, 1, 3, 2]), 0), (torch.tensor(2.0), 0), (torch.zeros(0, 3), 0)):
                class Only(nn.Module):
                    def forward(self, v):
                        return tuple(f(v, axis))
                for found, expected in zip(rt.compile_inference(Only(), v)(v), f(v, axis)):
                    np.testing.assert_array_equal(np.array(found), expected.numpy())

    def test_exponentials_of_matrices(self):
        for size in (0.1, 3.0, 100.0):
            for shape in ((6, 4, 4), (4, 4)):
                turn = lambda v: torch.matrix_exp((v - v.transpose(-2, -1)) * size) * 2
                self.same(Net(4, turn), F.mse_loss, (torch.randn(*shape), torch.randn(*shape)))
        self.same(Net(4, lambda v: torch.linalg.matrix_exp(v).log1p().abs()), F.mse_loss, (torch.randn(4, 4), torch.randn(4, 4)))
        forward = rt.compile_inference(Net(4, torch.matrix_exp), torch.randn(4, 4))
        self.assertTrue(np.isnan(np.array(forward(1e6 * torch.ones(4, 4)))).all())
        turned = nn.Sequential(nn.utils.parametrizations.orthogonal(nn.Linear(4, 4)), nn.Tanh())
        step = rt.compile(turned, F.mse_loss, (torch.randn(3, 4), torch.randn(3, 4)), sgd(turned), bound=EXACT)
        self.assertLess(step.origin["gradients"]["difference"], EXACT)

    def test_cross_products(self):
        self.same(Net(3, lambda v: torch.linalg.cross(v, v.flip(1) ** 2)), F.mse_loss, (torch.randn(6, 4), torch.randn(6, 3)))
        self.same(Net(5, lambda v: torch.cross(v, v.roll(1, 0) ** 2, dim=0)), F.mse_loss, (torch.randn(3, 4), torch.randn(3, 5)))
        one = torch.randn(1, 3)
        self.same(Net(3, lambda v: torch.linalg.cross(v, one)), F.mse_loss, (torch.randn(6, 4), torch.randn(6, 3)))

    def test_new_full(self):
        self.same(Net(3, lambda v: v + v.new_full((6, 1), 2.5)), F.mse_loss, (torch.randn(6, 4), torch.randn(6, 3)))


class Refused(Beside):
    def test_what_is_sparse(self):
        for m, i, y in ((nn.Embedding(7, 3, sparse=True), torch.tensor([1, 2]), torch.randn(2, 3)),
                        (nn.EmbeddingBag(7, 3, sparse=True), torch.tensor([[1, 2]]), torch.randn(1, 3))):
            for check in (False, True):
                with self.assertRaisesRegex(rt.Unsupported, "gradient that is sparse.*sparse=False"):
                    rt.compile(m, F.mse_loss, (i, y), sgd(m), check=check)
            torch.testing.assert_close(torch.from_numpy(rt.compile_inference(m, i)(i).numpy()), m(i).detach())
        m = Net(3)
        m.table = torch.eye(3).to_sparse()
        with self.assertRaisesRegex(rt.Unsupported, r"table is a tensor of layout torch.sparse_coo.*to_dense\(\)"):
            rt.compile(m, F.mse_loss, (torch.randn(6, 4), torch.randn(6, 3)), sgd(m))
        with self.assertRaisesRegex(TypeError, r"input is a tensor of layout torch.sparse_coo: give it as input.to_dense\(\)"):
            rt.compile(m := nn.Linear(3, 3), F.mse_loss, (torch.eye(3).to_sparse(), torch.randn(3, 3)), sgd(m))


if __name__ == "__main__":
    unittest.main()
