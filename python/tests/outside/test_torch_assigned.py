# SPDX-License-Identifier: Apache-2.0
"""Buffers that a forward assigns anew (`self.centre = ..`): states of the step, with PyTorch's values, or refused where a state would be something
else. A traced graph alone keeps the first values."""
import copy
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
from torch.utils.checkpoint import checkpoint

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))

import reprise.torch as rt
import torch_small

sgd = torch_small.sgd
OUTSIDE = nn.BatchNorm1d(2).double()


class Keeps(nn.Module):
    """forward(x) is what `f` says, of the layer's value y."""

    def __init__(self, f):
        super().__init__()
        torch.manual_seed(0)
        self.layer, self.f = nn.Linear(3, 2), f
        self.register_buffer("a", torch.tensor([1.0, 2.0]))
        self.register_buffer("b", torch.tensor([3.0, 5.0]))
        self.register_buffer("rows", torch.zeros(6, 2))
        self.register_buffer("at", torch.tensor(0))
        self.register_buffer("on", torch.tensor(False))
        self.double()
        self.register_buffer("alias", self.b)
        self.inner = nn.BatchNorm1d(2).double()

    def forward(self, x):
        return self.f(self, x, self.layer(x))


def batches(n):
    generator = torch.Generator().manual_seed(1)
    return [torch.randn(4, 3, generator=generator, dtype=torch.float64) for _ in range(n)]


def squares(y):
    return y.square().sum()


class Assigned(unittest.TestCase):
    def same(self, f, loss=None, x=None):
        """Losses, parameters and buffers of five steps are PyTorch's."""
        m = Keeps(f)
        given, theirs = x or [(b,) if loss is None else (b, b[:, :2]) for b in batches(5)], copy.deepcopy((m, loss))
        before = {n: (b, b.clone()) for n, b in m.named_buffers()}
        step = rt.compile(m, loss, given[0], sgd(m))
        self.assertTrue(all(b is before[n][0] and torch.equal(b, before[n][1]) for n, b in m.named_buffers()))  # as it was
        other, other_loss = theirs
        optimizer = sgd(other)
        for batch in given:
            optimizer.zero_grad()
            expected = other(*batch) if loss is None else other_loss(other(batch[0]), batch[1])
            expected.backward()
            optimizer.step()
            self.assertAlmostEqual(float(step(*batch)), float(expected.detach()), delta=1e-10 * (1 + abs(float(expected.detach()))))
        step.copy_to(m)
        self.assertEqual(set(m.state_dict()), set(other.state_dict()))
        for name, t in other.state_dict().items():
            torch.testing.assert_close(m.state_dict()[name], t, rtol=1e-9, atol=1e-10)
        return step, theirs

    def refused(self, f, text, **options):
        m = Keeps(f)
        before = {n: (b, b.clone()) for n, b in m.named_buffers()}
        with self.assertRaisesRegex(rt.Unsupported, text):
            rt.compile(m, None, (batches(1)[0],), sgd(m), **{"check": False, **options})
        self.assertTrue(all(b is before[n][0] and torch.equal(b, before[n][1]) for n, b in m.named_buffers()))

    def test_a_centre_is_a_state(self):
        def f(m, x, y):
            m.a = m.a * 0.9 + y.detach().mean(0) * 0.1
            m.on = ~m.on
            return squares(y - m.a)
        step, _ = self.same(f)
        self.assertIn("a", step.state)

    def test_by_whatever_way_it_is_assigned(self):
        def below(m, x, y):
            m._buffers["a"] = m.a * 0.9 + y.detach().mean(0)
            return squares(y - m.a)

        def registered(m, x, y):
            m.register_buffer("a", m.a * 0.9 + y.detach().mean(0))
            return squares(y - m.a)

        def gone_and_back(m, x, y):
            a = m.a * 0.9
            del m.a
            m.register_buffer("a", a + y.detach().mean(0))
            return squares(y - m.a)

        def of_a_part(m, x, y):
            m.inner.running_mean = m.inner.running_mean * 0.5 + y.detach().mean(0)
            return squares(y - m.inner.running_mean)
        for f in (below, registered, gone_and_back, of_a_part):
            self.same(f)

    def test_a_queue_and_its_pointer(self):
        def f(m, x, y):
            loss = (y @ m.rows.t()).logsumexp(1).mean()
            m.rows = m.rows.index_copy(0, (m.at + torch.arange(4)) % 6, y.detach())
            m.at = (m.at + 4) % 6
            return loss
        self.same(f)
        self.same(lambda m, x, y: ((y @ m.rows.t()).logsumexp(1).mean(), setattr(m, "rows", torch.cat([y.detach(), m.rows])[:6]))[0])

    def test_each_reads_what_the_others_were(self):
        def exchanged(m, x, y):
            m.a, m.rows = m.rows[0] + 1, torch.stack([m.a] * 6)
            return squares(y - m.a)

        def moved_on(m, x, y):
            m.inner.running_mean = m.inner.running_var
            m.inner.running_var = y.detach().mean(0)
            return squares(y - m.inner.running_mean)
        self.same(exchanged)
        self.same(moved_on)

    def test_an_exchange_is_of_the_first_values(self):
        def f(m, x, y):
            m.inner.running_mean, m.inner.running_var = m.inner.running_var, m.inner.running_mean
            return squares(y - m.inner.running_mean)
        self.same(f)

    def test_changes_in_place_before_and_after(self):
        def f(m, x, y):
            old = m.a
            m.a = old * 0.5
            m.a.add_(1.0)
            old.add_(7.0)  # which nothing reads in the next step
            return squares(y - m.a) + (old * y).sum()
        self.same(f)

    def test_a_loss_has_buffers_too(self):
        class Centred(nn.Module):
            def __init__(self):
                super().__init__()
                self.register_buffer("centre", torch.zeros(2).double())

            def forward(self, y, target):
                self.centre = self.centre * 0.9 + target.mean(0) * 0.1
                return squares(y - target + self.centre)
        step, (_, theirs) = self.same(lambda m, x, y: y, Centred())
        torch.testing.assert_close(torch.tensor(step.state["loss.centre"].numpy()), theirs.centre)

    def test_the_mode_decides(self):
        def f(m, x, y):
            if m.training:
                m.a = m.a + 1.0
            return squares(y - m.a)
        m, x = Keeps(f), batches(1)[0]
        step = rt.compile(m, None, (x,), sgd(m))
        step(x)
        m.eval()
        step(x)
        self.assertEqual(step.state["a"].numpy().tolist(), [2.0, 3.0])
        answers = rt.compile_inference(Keeps(f).eval(), x)
        self.assertAlmostEqual(float(answers(x)), float(Keeps(f).eval()(x).detach()), 9)
        with self.assertRaisesRegex(rt.Unsupported, "the forward changes buffers"):
            rt.compile_inference(Keeps(f), x)

    def test_parts_that_are_in_two_places(self):
        """Of which the tracer has stand-ins in the place of all parts."""
        class Twice(nn.Module):
            def __init__(self):
                super().__init__()
                self.layer = nn.Linear(2, 2).double()
                self.register_buffer("mean", torch.zeros(2).double())
                self.parts = nn.Sequential(self.layer, nn.Sigmoid(), self.layer)

            def forward(self, y, target):
                for part in self.parts:
                    y = part(y)
                self.mean = self.mean * 0.9 + target.mean(0) * 0.1
                return squares(y - target + self.mean)
        self.same(lambda m, x, y: y, Twice())

    def test_memory_that_is_shared_is_refused(self):
        of = "in one memory with "
        for f, with_what in ((lambda m, x, y: (setattr(m, "a", m.rows[0]), squares(y - m.a))[1], "rows"),
                             (lambda m, x, y: (setattr(m, "a", m.layer.bias.detach()), squares(y - m.a))[1], "layer.bias"),
                             (lambda m, x, y: (setattr(m, "a", x[0, :2]), squares(y - m.a))[1], "the batch"),
                             (lambda m, x, y: (setattr(m, "b", m.b + 1), squares(y - m.b))[1], "alias")):
            self.refused(f, of + with_what)

        def twice(m, x, y):
            m.a = m.inner.running_mean = y.detach().mean(0)
            return squares(y - m.a)

        def held(m, x, y):
            m.last = m.a = y.detach().mean(0)
            return squares(y - m.a)
        self.refused(twice, of + "inner.running_mean")
        self.refused(held, of + "last")
        self.same(lambda m, x, y: (setattr(m, "a", x[0, :2].clone()), squares(y - m.a))[1])  # the remedy

    def test_elements_that_are_in_one_place_are_refused(self):
        """Which a later step changes together: m.a[0] += 1."""
        def f(value):
            def g(m, x, y):
                m.rows[0] += 1.0
                loss = squares(y - m.rows.sum(0))
                m.rows = value(y.detach())
                return loss
            return g
        for value in (lambda y: y.mean(0).expand(6, 2), lambda y: y[0, 0].expand(6, 2), lambda y: y.flatten().unfold(0, 2, 1)[:6],
                      lambda y: y.flatten().clone().as_strided((6, 2), (1, 1))):
            self.refused(f(value), r"elements are in one memory.*value.clone\(\)")
            self.same(f(lambda y, value=value: value(y).clone()))  # the remedy
        self.same(f(lambda y: torch.cat([y, y[:2]]).t().contiguous().t()))  # each in a place of its own
        self.same(f(lambda y: torch.cat([y, y])[::1][1:7].flip(1)))

    def test_another_shape_type_or_none_is_refused(self):
        for f in (lambda m, x, y: (squares(y - m.rows.sum(0)), setattr(m, "rows", torch.cat([m.rows, y.detach()])))[0],
                  lambda m, x, y: (squares(y - m.at), setattr(m, "at", m.at + 0.5))[0]):
            self.refused(f, r"test_torch_assigned.py:\d+.*that the forward makes one of torch.float")
        self.refused(lambda m, x, y: (squares(y - m.a if m.a is not None else y), setattr(m, "a", None))[0], "the forward takes away")

    def test_a_gradient_that_would_go_on_is_refused(self):
        self.refused(lambda m, x, y: (setattr(m, "a", m.a + y.mean(0)), squares(y - m.a))[1], r"value.detach\(\)")

    def test_regions_are_refused(self):
        def samples(m, x, y):
            def one(v):
                m.at = m.at + 1
                return v
            return squares(torch.vmap(one)(y))

        def wrapped(m, x, y):
            def one(v):
                m._buffers["a"] = v.detach() * 2
                return v
            return squares(torch.vmap(one)(y))
        self.refused(samples, "assigned anew in a region")
        self.refused(wrapped, "not compute itself|outside of regions|in a region")

    def test_modules_that_are_none_of_the_models_are_refused(self):
        def f(m, x, y):
            OUTSIDE.running_mean = OUTSIDE.running_mean + 1
            return squares(y - OUTSIDE.running_mean)
        self.refused(f, "none of the model's or the loss's")
        self.assertEqual(OUTSIDE.running_mean.tolist(), [0.0, 0.0])

    def test_parameters_and_parts_are_refused(self):
        def parameter(m, x, y):
            m.layer.bias = nn.Parameter(m.layer.bias.detach() * 0.5)
            return squares(y)

        def part(m, x, y):
            m.inner = nn.Identity()
            return squares(y)
        self.refused(parameter, "layer.bias is a parameter that the forward replaces")
        self.refused(part, "inner is a part that the forward replaces")

    def test_what_a_checkpoint_computes_again_is_compared(self):
        def f(m, x, y):
            def part(v):
                m.at = m.at + 1
                return squares(m.layer(v))
            return checkpoint(part, x, use_reentrant=False)

        def in_place(m, x, y):
            def part(v):
                m.at.add_(1)
                return squares(m.layer(v))
            return checkpoint(part, x, use_reentrant=False)
        for g in (f, in_place):  # PyTorch counts twice
            m = Keeps(g)
            with self.assertRaisesRegex(rt.GradientMismatch, "the buffer at after a step is not PyTorch's"):
                rt.compile(m, None, (batches(1)[0],), sgd(m))

    def test_great_counts_and_infinities_hide_no_difference(self):
        for name, value in (("at", torch.tensor(10 ** 6)), ("a", torch.tensor([-torch.inf, 2.0]))):
            m = Keeps(lambda m, x, y, n=name: checkpoint(lambda v: (m.get_buffer(n).add_(1), squares(m.layer(v)))[1], x, use_reentrant=False))
            m.get_buffer(name).copy_(value)
            with self.assertRaisesRegex(rt.GradientMismatch, f"the buffer {name} after a step is not PyTorch's"):
                rt.compile(m, None, (batches(1)[0],), sgd(m))

    def test_what_a_checkpoint_writes_again_is_found_where_it_is_the_same_in_the_first_step(self):
        def f(assigned):
            def g(m, x, y):
                def part(v):
                    later = torch.where(m.at > 1, m.a * 0.5 + 1, m.a)
                    if assigned:
                        m.a = later
                    else:
                        m.a.copy_(later)
                    return squares(m.layer(v) - later)
                loss = checkpoint(part, x, use_reentrant=False)
                m.at = m.at + 1
                return loss
            return g
        for assigned in (True, False):
            m = Keeps(f(assigned))
            with self.assertRaisesRegex(rt.GradientMismatch, "the buffer a after a step is not PyTorch's: .*once more.*outside of checkpoints"):
                rt.compile(m, None, (batches(1)[0],), sgd(m))
            self.assertEqual(m.a.tolist(), [1.0, 2.0])

    def test_what_a_checkpoint_reads_again_after_a_change_is_found_where_it_is_the_same_in_the_first_step(self):
        def f(given, assigned):
            def g(m, x, y):
                values = [m.a.clone()] if given else []
                loss = checkpoint(lambda v, *a: squares(m.layer(v) - (a[0] if a else m.a.clone())), x, *values, use_reentrant=False)
                later = torch.where(m.at > 1, m.a * 0.5 + 1, m.a)
                if assigned:
                    m.a = later
                else:
                    m.a.copy_(later)
                m.at = m.at + 1
                return loss
            return g
        for assigned in (True, False):
            m = Keeps(f(False, assigned))
            with self.assertRaisesRegex(rt.GradientMismatch, r"the buffer a after a step is not PyTorch's: .*written since.*clone\(\)"):
                rt.compile(m, None, (batches(1)[0],), sgd(m))
            self.same(f(True, assigned))  # the remedy


if __name__ == "__main__":
    unittest.main()
