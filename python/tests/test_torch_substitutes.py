# SPDX-License-Identifier: Apache-2.0
"""Functions of PyTorch that look at values while they run, and operations in other forms, beside PyTorch in binary64; and what is
refused by name, with its way out."""
import collections
import copy
import importlib.util
import math
import os
import subprocess
import sys
import tempfile
import unittest

import numpy as np

if importlib.util.find_spec("torch") is None:
    if __name__ == "__main__":
        sys.exit(print("Ran 0 tests: torch is not installed"))
    raise unittest.SkipTest("torch is not installed")

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.utils.rnn import PackedSequence, pack_padded_sequence, pack_sequence, pad_packed_sequence

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import reprise
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
        step = rt.compile(m := Net(5), F.multilabel_margin_loss, (torch.randn(4, 4), y), sgd(m))
        for none in (-2, 5):  # PyTorch raises
            with self.assertRaisesRegex(reprise.Error, f"index {none} "):
                step(torch.randn(4, 4), y.where(y != 3, none))

    def test_multilabel_margin_of_nan_counts_for_nothing_as_in_pytorch(self):
        y = torch.tensor([[0, 2, -1, 1, 3], [1, -1, 0, 0, 0], [4, 3, 2, 1, 0]])

        class Given(nn.Module):
            def __init__(self, x):
                super().__init__()
                self.x = nn.Parameter(x)

            def forward(self, t):
                return F.multilabel_margin_loss(self.x, t)
        x = torch.randn(3, 5)
        for at, odd in (((0, 1), math.nan), ((0, 0), math.nan), ((1, 4), math.nan), ((1, 1), math.inf), ((2, 0), math.nan)):
            v = x.clone()
            v[at] = odd
            ours, eager = Given(v), Given(v.clone())
            step = rt.compile(ours, None, (y,), sgd(ours), check=False)
            loss = eager(y)
            self.assertAlmostEqual(float(step(y)), float(loss.detach()), delta=EXACT)
            o = sgd(eager)
            loss.backward()
            o.step()
            np.testing.assert_allclose(np.array(step.state["x"]), eager.x.detach().numpy(), atol=EXACT)

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


class Others(Beside):
    """What PyTorch has in other operations, and statistics."""

    def test_values_and_gradients(self):
        rows = lambda f, shape=(4, 4): self.same(Net(shape[1], lambda y: f(y).sum()), lambda y, t: y * t, (torch.randn(shape[0], 4), torch.tensor(1.5)))
        weigh = torch.randn(64)
        for f in (torch.sinc, lambda y: torch.special.entr(y.sigmoid()), lambda y: torch.heaviside(y.detach(), torch.tensor(0.5)) * y,
                  lambda y: torch.block_diag(y, y[:1]), lambda y: torch.rot90(y), lambda y: torch.isin((y * 2).round(), torch.arange(3.0)) * y,
                  lambda y: torch.special.multigammaln(y.exp() + 3, 3), lambda y: torch.ldexp(y, torch.tensor(2)), lambda y: torch.renorm(y, 2, 0, 0.7),
                  lambda y: y.median(), lambda y: y.relu().median(), lambda y: y.median(1)[0], lambda y: y.median(0, keepdim=True).values,
                  lambda y: torch.cov(y), lambda y: torch.cov(y, correction=0), lambda y: torch.corrcoef(y), lambda y: y.T.cov(), lambda y: y[0].cov()):
            rows(lambda y: (f(y).reshape(-1) * weigh[:f(y).numel()]))
        for x in (torch.tensor([3.0, 1, 2, 2]), torch.tensor([1.0, math.nan, 2]), torch.tensor([[1.0, 5], [math.nan, 2], [3, 3]]), torch.tensor([4, 1, 3])):
            for f in (lambda x: x.median(), lambda x: x.median(0).values, lambda x: x.median(-1).values):
                torch.testing.assert_close(rt.compile_inference(Of(f), x)(x), f(x), equal_nan=True)
        x = torch.tensor([0.3, 1.0, 4.5, 30.0])
        torch.testing.assert_close(rt.compile_inference(Of(lambda x: torch.polygamma(0, x)), x)(x), torch.digamma(x), rtol=1e-11, atol=1e-12)
        z = x + 1000  # the sum of 1 / (x + k)^2 with Euler's and Maclaurin's rest; PyTorch's own is 1e-9 from it
        exact = (1 / (x.unsqueeze(1) + torch.arange(1000.0)).square()).sum(1) + 1 / z + 1 / (2 * z * z) + 1 / (6 * z ** 3)
        torch.testing.assert_close(rt.compile_inference(Of(lambda x: torch.polygamma(1, x)), x)(x), exact, rtol=1e-12, atol=1e-12)
        with self.assertRaisesRegex(rt.Unsupported, "polygamma.*order 2"):
            rt.compile_inference(Of(lambda x: torch.polygamma(2, x)), x)
        for f in (torch.cov, torch.corrcoef):
            with self.assertRaisesRegex(rt.Unsupported, "two or fewer dimensions"):
                rt.compile_inference(Of(lambda x, f=f: f(x)), torch.randn(2, 3, 2))
        with self.assertRaisesRegex(rt.Unsupported, "torch.cov with weights"):
            rt.compile_inference(Of(lambda x: torch.cov(x, fweights=torch.tensor([1, 2]))), torch.randn(3, 2))

    def test_distributions_of_matrices(self):
        d = torch.distributions
        for f in (lambda y: d.MultivariateNormal(torch.zeros(4), torch.eye(4)).log_prob(y), lambda y: d.MultivariateNormal(y, 2 * torch.eye(4)).log_prob(y * 2),
                  lambda y: d.MultivariateNormal(y, precision_matrix=y.T @ y + torch.eye(4)).log_prob(y.cos()), lambda y: d.MultivariateNormal(y, y.T @ y + torch.eye(4)).entropy()):
            self.same(Net(4, f), lambda y, t: (y * t).mean(), (torch.randn(6, 4), torch.tensor(1.5)))


class Of(nn.Module):
    def __init__(self, f):
        super().__init__()
        self.f = f

    def forward(self, *x):
        return self.f(*x)


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
        with self.assertRaisesRegex(rt.Unsupported, r"input is a tensor of layout torch.sparse_coo. Give it as input.to_dense\(\)"):
            rt.compile(m := nn.Linear(3, 3), F.mse_loss, (torch.eye(3).to_sparse(), torch.randn(3, 3)), sgd(m))
        step = rt.compile(m, F.mse_loss, (torch.eye(3), torch.randn(3, 3)), sgd(m))
        with self.assertRaisesRegex(rt.Unsupported, r"layout torch.sparse_csr"):
            step(torch.eye(3).to_sparse_csr(), torch.randn(3, 3))
        for f in (lambda x: torch.sparse.mm(torch.eye(3).to_sparse(), x), lambda x: x.to_sparse().to_dense(),
                  lambda x: torch.sparse_coo_tensor(torch.tensor([[0, 1], [1, 2]]), torch.ones(2), (3, 3)) @ x):
            with self.assertRaisesRegex(rt.Unsupported, r"test_torch_substitutes.py:\d+: .*sparse_coo.*index_add"):
                rt.compile_inference(Of(f), torch.eye(3))

    def test_tensors_of_other_forms(self):
        nested = torch.nested.nested_tensor([torch.randn(2, 3), torch.randn(1, 3)])
        for x, why in ((nested, "input is a nested tensor.*to_padded_tensor"), (torch.randn(3, dtype=torch.complex64), "product of complex and of real"),
                       (torch.quantize_per_tensor(torch.randn(3, 3).float(), 0.1, 0, torch.qint8), "input is a quantized tensor")):
            with self.assertRaisesRegex(rt.Unsupported, why):
                rt.compile_inference(nn.Linear(3, 2), x)


# ---- packed sequences ----

LAYERS = {"lstm": nn.LSTM, "gru": nn.GRU, "rnn": nn.RNN}
REFUSED = r"test_torch_substitutes.py:\d+: PackedSequence.{}: .*shape that the lengths decide.*pad_packed_sequence"


class Packed(nn.Module):
    """What `use` makes of a packed layer's output, of its last states and of the lengths."""

    def __init__(self, kind, use, first=True, sort=False, given=False, **form):
        super().__init__()
        self.layer = LAYERS[kind](4, 5, batch_first=first, **form)
        self.use, self.first, self.sort = use, first, sort
        ways = (2 if form.get("bidirectional") else 1) * form.get("num_layers", 1)
        self.state = nn.Parameter(torch.randn(ways, 3, 5)) if given else None

    def forward(self, x, lengths):
        p = pack_padded_sequence(x, lengths, batch_first=self.first, enforce_sorted=self.sort)
        h = self.state
        h = h if h is None or not isinstance(self.layer, nn.LSTM) else (h, h * 2)
        out, last = self.layer(p, h)
        return self.use(self, out, last)


def last(m, out, h):
    return torch.cat([t.transpose(0, 1).flatten(1) for t in (h if isinstance(h, tuple) else (h,))], 1)


def padded(m, out, h, **how):
    y, lengths = pad_packed_sequence(out, batch_first=m.first, **how)
    return y * lengths.to(y).reshape((-1, 1, 1) if m.first else (1, -1, 1))


def summed(v, t):
    return (v * torch.linspace(0.5, 1.5, v.numel()).reshape(v.shape)).sum() + 0 * t.sum()


class PackedLayers(Beside):
    def batch(self, first=True, times=6, lengths=(2, 6, 3)):
        x = torch.randn(3, times, 4)
        return x if first else x.transpose(0, 1).contiguous(), torch.tensor(lengths), torch.zeros(1)

    def test_last_states(self):
        for kind in LAYERS:
            for form in ({}, {"num_layers": 2, "bidirectional": True}, {"bias": False}):
                self.same(Packed(kind, last, **form), summed, self.batch(), steps=3)

    def test_outputs(self):
        for kind in LAYERS:
            for first in (True, False):
                self.same(Packed(kind, padded, first, bidirectional=True), summed, self.batch(first), steps=2)
        self.same(Packed("rnn", padded, nonlinearity="relu"), summed, self.batch())
        self.same(Packed("gru", lambda m, o, h: padded(m, o, h, padding_value=2.0)), summed, self.batch())

    def test_first_states_and_sorted_lengths(self):
        for kind in LAYERS:
            self.same(Packed(kind, last, given=True, bidirectional=True), summed, self.batch(), steps=2)
        self.same(Packed("lstm", last, sort=True), summed, self.batch(lengths=(6, 3, 3)))

    def test_a_total_length(self):
        for total in (4, 6, 9):
            m = Packed("lstm", lambda m, o, h: padded(m, o, h, total_length=total))
            self.same(m, summed, self.batch(lengths=(2, 4, 3)))

    def test_other_lengths_are_the_same_program(self):
        m = Packed("lstm", padded)
        step = rt.compile(m, summed, self.batch(), sgd(m, 0.0))
        for lengths in ((6, 1, 1), (4, 5, 6)):
            b = self.batch(lengths=lengths)
            self.assertAlmostEqual(float(step(*b)), float(summed(m(*b[:2]), b[2]).detach()), places=12)
        self.assertEqual(step.programs, 1)

    def test_a_stack_of_layers_and_packs_of_lists(self):
        class Two(nn.Module):
            def __init__(self):
                super().__init__()
                self.a, self.b = nn.GRU(4, 5, bidirectional=True), nn.LSTM(10, 3)

            def forward(self, x):
                p = pack_sequence([x[:2, 0], x[:6, 1], x[:4, 2]], enforce_sorted=False)
                return pad_packed_sequence(self.b(self.a(p)[0])[0])[0]
        self.same(Two(), summed, (self.batch(False)[0], torch.zeros(1)))

    def test_dropout_between_layers_draws(self):
        m = Packed("lstm", last, num_layers=2, dropout=0.5)
        step = rt.compile(m, summed, self.batch(), sgd(m, 0.0))
        b = self.batch()
        self.assertNotEqual(float(step(*b)), float(step(*b)))

    def test_a_record_is_replayed(self):
        m = Packed("lstm", padded, bidirectional=True)
        step = rt.compile(m, summed, self.batch(), sgd(m))
        with tempfile.TemporaryDirectory() as d:
            with rt.record(d + "/x.reprise"):
                for _ in range(3):
                    step(*self.batch())
            command = os.environ.get("REPRISE_COMMAND")
            if command:
                self.assertEqual(subprocess.run([command, "replay", d + "/x.reprise"], capture_output=True).returncode, 0)


class PackedElse(Beside):
    batch = PackedLayers.batch

    def test_where_pytorch_raises_or_ends_sooner_is_an_error_of_the_step(self):
        m = Packed("lstm", last)
        step = rt.compile(m, summed, self.batch(), sgd(m, 0.0))
        for lengths in ((0, 6, 3), (2, 7, 3)):
            with self.assertRaises(RuntimeError):
                m(*self.batch(lengths=lengths)[:2])
            with self.assertRaises(reprise.Error) as caught:
                step(*self.batch(lengths=lengths))
            self.assertRegex(caught.exception.__notes__[0], r"in the model at .*test_torch_substitutes.py:\d+")
            self.assertIn("total_length=", caught.exception.__notes__[1])
        for use, good, bad in ((padded, (2, 6, 3), (2, 5, 3)),
                               (lambda m, o, h: padded(m, o, h, total_length=4), (2, 4, 3), (2, 5, 3))):
            m = Packed("lstm", use)
            step = rt.compile(m, summed, self.batch(lengths=good), sgd(m, 0.0))
            with self.assertRaises(reprise.Error):
                step(*self.batch(lengths=bad))
        m = Packed("lstm", padded)
        with self.assertRaises(reprise.Error):
            rt.compile(m, summed, self.batch(lengths=(2, 5, 3)), sgd(m))

    def test_lengths_that_no_longer_fall_are_an_error_where_the_layer_wants_them_sorted(self):
        m = Packed("gru", last, sort=True)
        step = rt.compile(m, summed, self.batch(lengths=(6, 3, 3)), sgd(m, 0.0))
        step(*self.batch(lengths=(5, 5, 1)))
        with self.assertRaises(RuntimeError):
            m(*self.batch(lengths=(6, 2, 3))[:2])
        with self.assertRaises(reprise.Error) as caught:
            step(*self.batch(lengths=(6, 2, 3)))
        self.assertIn("enforce_sorted=False", caught.exception.__notes__[1])

    def test_what_is_behind_a_sequence_counts_for_nothing_be_it_no_number(self):
        x, lengths, t = self.batch()
        for kind, behind in (("lstm", math.inf), ("gru", math.nan), ("rnn", -math.inf)):
            wild = x.clone()
            wild[0, 2:], wild[2, 3:] = behind, behind
            self.same(Packed(kind, padded, bidirectional=True), summed, (wild, lengths, t), steps=2)
            self.same(Packed(kind, last, False), summed, (wild.transpose(0, 1), lengths, t))

    def test_what_has_the_packed_shape_is_refused(self):
        for use, part in ((lambda m, o, h: o.data.mean(), "data"), (lambda m, o, h: F.relu(o.data), "data"),
                          (lambda m, o, h: o[0] * 2, "data"), (lambda m, o, h: o.batch_sizes.size(0) * h[0], "batch_sizes"),
                          (lambda m, o, h: o.batch_sizes[0] * h[0], "batch_sizes"),
                          (lambda m, o, h: pad_packed_sequence(PackedSequence(F.relu(o.data), o.batch_sizes))[0], "data")):
            m = Packed("lstm", use)
            with self.assertRaisesRegex(rt.Unsupported, REFUSED.format(part)):
                rt.compile(m, summed, self.batch(), sgd(m))
        m = Packed("gru", lambda m, o, h: o)
        with self.assertRaisesRegex(rt.Unsupported, "PackedSequence.data"):
            rt.compile_inference(m, self.batch()[:2])

    def test_projections_are_refused(self):
        m = Packed("lstm", last, proj_size=2)
        with self.assertRaisesRegex(rt.Unsupported, r"test_torch_substitutes.py:\d+: LSTM: .*proj_size"):
            rt.compile(m, summed, self.batch(), sgd(m))

    def test_pytorchs_functions_are_its_own_again(self):
        before = nn.LSTM.forward, nn.utils.rnn._packed_sequence_init, torch._VF._pad_packed_sequence
        rt.compile_inference(Packed("lstm", last), self.batch()[:2])
        self.assertEqual(before, (nn.LSTM.forward, nn.utils.rnn._packed_sequence_init, torch._VF._pad_packed_sequence))
        x, lengths, _ = self.batch()
        y, n = pad_packed_sequence(pack_padded_sequence(x, lengths, True, False), True)
        np.testing.assert_array_equal(n.numpy(), lengths.numpy())

    def test_inference(self):
        m = Packed("gru", last)
        forward = rt.compile_inference(m, self.batch()[:2])
        b = self.batch(lengths=(1, 2, 2))[:2]
        torch.testing.assert_close(torch.from_numpy(forward(*b).numpy()), m(*b).detach())


class Kept(Beside):
    def test_a_table_made_in_the_forward_is_refused_until_it_is_there(self):
        class Table(nn.Module):
            def __init__(self, buffer):
                super().__init__()
                self.layer, self.buffer, self.table = nn.Linear(4, 3), buffer, None

            def forward(self, x):
                if self.table is None or self.table.shape[0] < len(x):
                    table = torch.arange(3.0).expand(len(x), 3) + 1
                    if self.buffer:
                        del self.table
                        self.register_buffer("table", table, persistent=False)
                    else:
                        self.table = table
                return self.layer(x) * self.table[:len(x)]
        x, y = torch.randn(5, 4), torch.randn(5, 3)
        m = Table(True)
        for make in (lambda: rt.compile(m, F.mse_loss, (x, y), sgd(m)), lambda: rt.compile_inference(m, x)):
            with self.assertRaisesRegex(rt.Unsupported, "makes the tensor table.*Call the module once"):
                make()
        m(x)  # nothing of the exporter's is left in it
        self.same(m, F.mse_loss, (x, y), steps=2)
        self.same(Table(False), F.mse_loss, (x, y), steps=2)  # an attribute that is no buffer the exporter puts back itself


    def test_a_tensor_from_one_call_to_the_next_is_refused(self):
        class Remembers(nn.Module):
            def __init__(self, reads):
                super().__init__()
                self.layer, self.reads, self.last = nn.Linear(4, 3), reads, None

            def forward(self, x):
                y = self.layer(x)
                if self.reads and self.last is not None:
                    y = y + self.last
                self.last = y.detach()
                return y
        x, y = torch.randn(5, 4), torch.randn(5, 3)
        m = Remembers(True)
        for make in (lambda: rt.compile(m, F.mse_loss, (x, y), sgd(m), check=False), lambda: rt.compile_inference(m, x)):
            with self.assertRaisesRegex(rt.Unsupported, r"from one call to the next \(Remembers.last\).*register_buffer"):
                make()
        self.same(Remembers(False), F.mse_loss, (x, y), steps=2)  # for whoever looks at it

    def test_also_where_a_call_before_left_one_that_has_a_gradient(self):
        class Remembers(nn.Module):
            def __init__(self, reads):
                super().__init__()
                self.layer, self.reads, self.last = nn.Linear(4, 3), reads, torch.zeros(3)

            def forward(self, x):
                y = self.layer(x)
                y, self.last = (y + self.last.detach() if self.reads else y), y
                return y
        x, y = torch.randn(5, 4), torch.randn(5, 3)
        m, plain = Remembers(True), Remembers(False)
        m(x), plain(x)
        for make in (lambda: rt.compile(m, F.mse_loss, (x, y), sgd(m), check=False), lambda: rt.compile_inference(m, x)):
            with self.assertRaisesRegex(rt.Unsupported, "from one call to the next"):
                make()
        plain(x)
        rt.compile(plain, F.mse_loss, (x, y), sgd(plain), check=False)

    def test_so_is_one_on_a_parameter_or_in_a_list(self):
        class Remembers(nn.Module):
            def __init__(self, f):
                super().__init__()
                self.layer, self.f = nn.Linear(4, 3), f
                self.history, self.last, self.queue = [], {}, collections.deque(maxlen=2)

            def forward(self, x):
                return self.f(self, self.layer(x)).square().mean()

        def on_a_parameter(m, y):
            before, m.layer.weight.kept = getattr(m.layer.weight, "kept", y), y.detach()
            return y - before

        def in_a_list(m, y):
            before = m.history[-1] if m.history else y
            m.history.append(y.detach())
            return y - before

        def in_a_dict(m, y):
            before, m.last["y"] = m.last.get("y", y), y.detach()
            return y - before

        def in_a_queue(m, y):
            m.queue.append(y.detach())
            return y - m.queue[0]
        x = torch.randn(5, 4)
        for f, name in ((on_a_parameter, "Tensor.kept"), (in_a_list, "history"), (in_a_dict, "last"), (in_a_queue, "queue")):
            for make in (lambda: rt.compile(m, None, (x,), sgd(m), check=False), lambda: rt.compile_inference(m, x)):
                m = Remembers(f)
                with self.assertRaisesRegex(rt.Unsupported, rf"keeps a tensor from one call to the next \({name}\).*buffer"):
                    make()
        self.assertNotIn("__setattr__", vars(torch.Tensor))

        def watched(m, y):
            m.history.append(y.detach())
            m.layer.weight.kept = y.detach()
            return y
        m = Remembers(watched)
        self.assertLess(rt.compile(m, None, (x,), sgd(m)).origin["gradients"]["difference"], EXACT)

    def test_what_buffers_keep_is_taken_beside_what_is_kept_to_be_looked_at(self):
        class Watched(nn.Module):
            def __init__(self):
                super().__init__()
                self.layer, self.norm, self.last = nn.Linear(4, 3), nn.BatchNorm1d(3), None
                self.register_buffer("seen", torch.zeros(3))

            def forward(self, x):
                y = self.norm(self.layer(x))
                self.seen.mul_(0.9).add_(y.detach().mean(0) + 1)
                self.last = y
                return y + self.seen
        x, y = torch.randn(5, 4), torch.randn(5, 3)
        for called in (False, True):
            m = Watched()
            if called:
                m(x)
            step = rt.compile(m, F.mse_loss, (x, y), sgd(m))
            eager = Watched()
            eager.load_state_dict(m.state_dict())
            o = sgd(eager)
            for _ in range(3):
                found = float(step(x, y))
                loss = F.mse_loss(eager(x), y)
                self.assertAlmostEqual(found, float(loss.detach()), delta=EXACT)
                o.zero_grad()
                loss.backward()
                o.step()


class Attributes(unittest.TestCase):
    def test_what_pytorch_keeps_of_its_attributes_is_its_own(self):
        """PyTorch 2.9 looks at that list when it first exports, and finds no __objclass__ of ours."""
        code = """
import torch, reprise.torch
from reprise.torch.substitutes import substituted
with substituted():
    found = torch.overrides.get_default_nowrap_functions()
print([f for f in found if isinstance(getattr(f, "__self__", None), property)])
"""
        done = subprocess.run([sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stdout.strip()), (0, "[]"), done.stderr)


class Halves(Beside):
    def test_recurrent_layers_of_packed_sequences_say_what_to_do(self):
        class Packed(nn.Module):
            def __init__(self):
                super().__init__()
                self.layer = nn.GRU(4, 3, batch_first=True)

            def forward(self, x):
                return pad_packed_sequence(self.layer(pack_padded_sequence(x, [5, 3], batch_first=True))[0], batch_first=True)[0]
        for dtype in (torch.bfloat16, torch.float16):
            m = Packed().to(dtype)
            with self.assertRaisesRegex(rt.Unsupported, r"of a packed sequence of (bf16|f16).*float32"):
                rt.compile_inference(m, torch.randn(2, 5, 4, dtype=dtype))


if __name__ == "__main__":
    unittest.main()
