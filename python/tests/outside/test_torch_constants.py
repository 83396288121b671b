# SPDX-License-Identifier: Apache-2.0
"""Numbers and shapes that constants alone decide, as libraries of models ask for them: burned in, and looked at before every step;
regions where autocast is off; Tensor.data of buffers."""
import importlib.util
import os
import sys
import unittest

if importlib.util.find_spec("torch") is None:
    if __name__ == "__main__":
        sys.exit(print("Ran 0 tests: torch is not installed"))
    raise unittest.SkipTest("torch is not installed")

import numpy as np
import torch
import torch.nn as nn
from torch import cov, is_grad_enabled
from torch.nn.functional import gaussian_nll_loss

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

import reprise.torch as rt
from torch_small import sgd

X = torch.randn(4, 3, generator=torch.Generator().manual_seed(0))
APART = torch.tensor([2.0])


class Mode(nn.Module):
    def __init__(self, f):
        super().__init__()
        torch.manual_seed(0)
        self.l, self.f = nn.Linear(3, 3), f

    def forward(self, x):
        return self.f(self, self.l(x))


class Alike:
    """An object that looks like any other of its class."""

    def __init__(self, of):
        self.of = of

    def __repr__(self):
        return "Alike"


class Asks(nn.Module):
    """forward is the sum of what `f` makes of a layer's value."""

    def __init__(self, f):
        super().__init__()
        torch.manual_seed(0)
        self.l, self.f, self.a = nn.Linear(3, 3), f, torch.tensor(2.0)
        self.register_buffer("b", torch.tensor([1.0, 2.0, 3.0]))
        self.register_buffer("m", torch.tensor([True, False, True]))
        self.register_buffer("n", torch.zeros((), dtype=torch.int64))

    def forward(self, x):
        return self.f(self, self.l(x)).sum()


class Gives(Asks):
    """forward is what `f` makes of a layer's value."""

    def forward(self, x):
        return self.f(self, self.l(x))


def compiled(f):
    m = Asks(f)
    return m, rt.compile(m, None, (X,), sgd(m))


def fill(name, value):
    def change(m):
        with torch.no_grad():
            (APART if name == "apart" else getattr(m, name)).fill_(value)
    return change


class Values(unittest.TestCase):
    def same(self, f):
        """The value is PyTorch's; the comparison of gradients is in compile."""
        m, step = compiled(f)
        self.assertAlmostEqual(float(step(X)), float(m(X).detach()), places=4)

    def test_what_constants_decide_is_burned_in(self):
        def sum_written(m, y):
            t = torch.arange(4.0)
            t[1:3].fill_(7.0)
            return y * t.sum().item()

        def counted(m, y):
            return y * int(torch.zeros(3, dtype=torch.int64).scatter_add_(0, torch.tensor([0, 2, 2]), torch.ones(3, dtype=torch.int64)).max())

        def asked_before(m, y):
            t = torch.arange(3)
            k = t.tolist()
            t.mul_(5)
            return y * k[2] + t.sum()
        for f in (sum_written, counted, asked_before, lambda m, y: y.sum(torch.arange(1, y.dim()).tolist()), lambda m, y: y[:, m.m],
                  lambda m, y: y * torch.unique(torch.tensor([1, 1, 2])).numel(), lambda m, y: y[:, torch.nonzero(m.m).squeeze(1)],
                  lambda m, y: y[:, torch.where(m.m)[0]], lambda m, y: y if torch.all(m.b[1:] > m.b[:-1]) else -y,
                  lambda m, y: y[torch.arange(4) % 2 == 0]):
            with self.subTest(f):
                self.same(f)

    def test_what_was_asked_for_is_looked_at_before_every_step(self):
        for f, change in ((lambda m, y: y * m.a.item(), fill("a", 5.0)), (lambda m, y: y * APART.item(), fill("apart", 5.0)),
                          (lambda m, y: y * m.b[1].item(), fill("b", 7.0)), (lambda m, y: y[:, m.m], fill("m", True)),
                          (lambda m, y: y * m.a.item(), lambda m: setattr(m, "a", torch.tensor(9.0)))):
            m, step = compiled(f)
            step(X)
            change(m)
            with self.assertRaisesRegex(rt.Unsupported, "changed since"):
                step(X)
            step.load()
            self.assertAlmostEqual(float(step(X)), float(m(X).detach()), places=4)

    def test_an_answer_follows_what_was_asked_for(self):
        m = Asks(lambda m, y: y * m.a.item())
        f = rt.compile_inference(m, (X,))
        f(X)
        m.a.fill_(-1.0)
        torch.testing.assert_close(f(X), m(X).detach())

    def test_what_a_step_changes_decides_nothing(self):
        def before(m, y):
            k = m.n.item()
            m.n.add_(1)
            return y * k

        def after(m, y):
            m.n.add_(1)
            return y * m.n.item()
        for f in (before, after, lambda m, y: y * m.l.weight.sum().item(), lambda m, y: y * torch.rand(2).sum().item(), lambda m, y: y[y > 0],
                  lambda m, y: y * y.sum().item()):
            with self.subTest(f), self.assertRaises(rt.Unsupported):
                compiled(f)

    def test_a_draw_is_no_constant(self):
        for draw in (lambda m: torch.poisson(m.b), lambda m: torch.binomial(m.b, m.b / 4), lambda m: torch._standard_gamma(m.b),
                     lambda m: torch.empty(3).geometric_(0.5), lambda m: torch.empty(3).cauchy_(),
                     lambda m: torch.distributions.Poisson(m.b).sample(),
                     lambda m: nn.functional.rrelu(-m.b, training=True)):
            with self.subTest(draw), self.assertRaises(rt.Unsupported):
                compiled(lambda m, y, draw=draw: y * float(draw(m).sum()))

    def test_what_is_selected_has_its_gradient(self):
        def selected(m, y):
            p = m.b.clone().requires_grad_()
            z = (p ** 2).sum() + torch.masked_select(p, m.m).pow(3).sum()
            return y * torch.autograd.grad(z, p)[0]
        m = Asks(selected)
        self.assertAlmostEqual(float(rt.compile_inference(m, (X,))(X)), float(m(X).detach()), places=4)
        for f in (lambda m, y: torch.masked_select(m.l.weight, m.m) * y.sum(), lambda m, y: y[0].masked_select(m.b > 1.5)):
            with self.subTest(f):
                self.same(f)

    def test_data_that_is_set_is_refused(self):
        """A trace has its first value for ever. What is assigned anew is a state: test_torch_assigned."""
        def data(m, y):
            m.b.data = m.b + 1
            return y * m.b

        def of_a_copy(m, y):
            c = m.b.clone()
            c.data = y.detach()[0]
            return y * c
        for f in (data, of_a_copy):
            for compiling in (compiled, lambda f: rt.compile_inference(Asks(f), (X,))):
                with self.subTest(f), self.assertRaisesRegex(rt.Unsupported, r"copy_\("):
                    compiling(f)

    def test_a_write_of_something_unknown_makes_it_unknown(self):
        def written(m, y):
            t = torch.arange(4.0)
            v = t[1:]
            v.copy_(y.detach()[1:, 0])
            return y * t.sum().item()
        with self.assertRaises(rt.Unsupported):
            compiled(written)


class Regions(unittest.TestCase):
    def test_autocast_that_is_off_is_no_region(self):
        def off(m, y):
            with torch.autocast("cpu", enabled=False):
                return torch.tanh(y @ m.l.weight)
        m, step = compiled(off)
        self.assertAlmostEqual(float(step(X)), float(m(X).detach()), places=4)

        def on(m, y):
            with torch.autocast("cpu", dtype=torch.bfloat16):
                return torch.tanh(y @ m.l.weight)
        with self.assertRaisesRegex(rt.Unsupported, "autocast"):
            compiled(on)

    def test_data_of_a_buffer_is_its_memory(self):
        def moved(m, y):
            m.b.data.lerp_(y.detach().mean(0), 0.5)
            return y * m.b
        m, step = compiled(moved)
        eager = Asks(moved)
        for _ in range(2):
            self.assertAlmostEqual(float(step(X)), float((loss := eager(X)).detach()), places=4)
            loss.backward()
            with torch.no_grad():
                for p in eager.l.parameters():
                    p -= 0.1 * p.grad
                    p.grad = None
        step.copy_to(m)
        torch.testing.assert_close(m.b, eager.b)

    def test_a_loss_whose_parts_are_none_is_taken(self):
        class Empty:
            def __init__(self):
                self._buffers = self._parameters = None

            def __call__(self, y, target):
                return (y - target).square().mean()
        m = nn.Linear(3, 3)
        m.own = Empty()
        step = rt.compile(m, Empty(), (X, X), sgd(m))
        self.assertGreater(float(step(X, X)), 0)


class Gradients(unittest.TestCase):
    def test_a_forward_that_asks_what_is_trained_has_todays_answer(self):
        m = Asks(lambda m, y: y * 2 if m.l.weight.requires_grad else y)
        forward = rt.compile_inference(m, X)
        for wanted in (True, False, True):
            m.l.weight.requires_grad_(wanted)
            for _ in range(3):
                torch.testing.assert_close(forward(X), m(X).detach())

    def test_by_whatever_way_it_asks(self):
        name = "_".join(("requires", "grad"))
        for ask in (lambda t: getattr(t, name), lambda t: not getattr(t, "is_leaf"), lambda t: t.grad_fn is not None):
            class Of(Asks):
                def forward(self, x):
                    return self.l(x).square().sum() * (2 if ask(x) else 1)  # noqa: B023
            m, z = Of(None), X.clone().requires_grad_()
            forward = rt.compile_inference(m, X)
            step = rt.compile(m, None, (X,), torch.optim.SGD(m.parameters(), 0.0))
            for x in (X, X, z, z, z * 1, X, z):
                for call in (forward, step):
                    self.assertAlmostEqual(float(call(x)), float(m(x).detach()), places=4)
        m = Asks(lambda m, y: y * 2 if getattr(m.l.weight, name) else y)
        forward = rt.compile_inference(m, X)
        for wanted in (True, False, True):
            m.l.weight.requires_grad_(wanted)
            for _ in range(3):
                torch.testing.assert_close(forward(X), m(X).detach())

    def test_of_the_mode_only_what_its_own_regions_say(self):
        def own(m, y):
            with torch.no_grad():
                return y * 2 if torch.is_grad_enabled() else y
        for ask in (lambda m, y: y * 2 if torch.is_grad_enabled() else y, lambda m, y: y * 2 if torch.is_inference_mode_enabled() else y):
            with self.assertRaisesRegex(rt.Unsupported, "is asked by a forward whose answers are compiled"):
                rt.compile_inference(Asks(ask), X)
        m = Asks(own)
        torch.testing.assert_close(rt.compile_inference(m, X)(X), m(X).detach())
        m = Asks(lambda m, y: y * 2 if torch.is_grad_enabled() else y)
        step = rt.compile(m, lambda y, t: (y - t).square().mean(), (X, X), torch.optim.SGD(m.parameters(), 0.0))
        self.assertAlmostEqual(float(step(X, X)), float((m(X) - X).square().mean()), places=5)

    def test_a_mode_that_decides_nothing_of_the_answers_may_be_asked(self):
        def checkpointing(m, y):  # as transformers, diffusers and timm ask
            if torch.is_grad_enabled() and m.training:
                return y * 3
            with torch.no_grad():
                scale = y.square().sum(1, keepdim=True)
            with torch.enable_grad():
                return {"of": scale * (y + (1 if torch.is_grad_enabled() else 2)), "also": (torch.relu(y), 3)}
        m = Gives(checkpointing).eval()
        forward = rt.compile_inference(m, X)
        for mode in (torch.enable_grad, torch.no_grad, torch.inference_mode):
            with mode():
                found, wanted = forward(X), m(X)
                torch.testing.assert_close(found["of"], wanted["of"].detach())
                torch.testing.assert_close(found["also"][0], wanted["also"][0].detach())
        self.assertTrue(rt.report(m, X))
        with self.assertRaisesRegex(rt.Unsupported, "is asked by a forward whose answers are compiled"):
            rt.compile_inference(m.train(), X)

    def test_what_is_asked_in_one_mode_alone_is_looked_at(self):
        for on, name in ((True, "b"), (False, "a")):
            m = Gives(lambda m, y, on=on, name=name: y * 2 if torch.is_grad_enabled() is on and getattr(m, name).sum() > 100 else y)
            m.a = torch.tensor(2.0)
            m.register_buffer("b", torch.tensor(2.0))
            forward = rt.compile_inference(m, X)
            torch.testing.assert_close(forward(X), m(X).detach())
            getattr(m, name).fill_(200.0)
            with self.subTest(name, on=on), self.assertRaisesRegex(rt.Unsupported, "is asked by a forward whose answers are compiled"):
                forward(X)

    def test_a_mode_that_decides_anything_of_the_answers_is_refused(self):
        on = torch.is_grad_enabled
        other = torch.nn.Parameter(torch.zeros(3, 3))
        ways = {"an operation": lambda m, y: y * 2 if on() else y, "a number": lambda m, y: y * (2.0 if on() else 3.0),
                "what comes with it": lambda m, y: (y, 1 if on() else 2), "the form": lambda m, y: [y] if on() else (y,),
                "a constant": lambda m, y: y + torch.tensor([1.0, 2.0, 3.0] if on() else [1.0, 2.0, 4.0]),
                "which weight": lambda m, y: y @ (m.square if on() else m.other), "order": lambda m, y: (y, -y) if on() else (-y, y),
                "a gradient": lambda m, y: torch.autograd.grad(y.square().sum(), y)[0] if on() else y * 2}
        for way, ask in ways.items():
            m = Gives(ask)
            m.square, m.other = torch.nn.Parameter(torch.zeros(3, 3)), other
            with self.subTest(way), self.assertRaisesRegex(rt.Unsupported, "is asked by a forward whose answers are compiled"):
                rt.compile_inference(m, X)

    def test_what_a_mode_decides_otherwise_is_refused_too(self):
        ways = {"an object that looks the same": lambda m, y: (y, Alike(torch.is_grad_enabled())),
                "digits that are not written": lambda m, y: (y, np.array([1 + 1e-13 * torch.is_grad_enabled()])),
                "a value's gradient": lambda m, y: y * 2 if y.requires_grad else y,
                "a value's function": lambda m, y: y * 2 if y.grad_fn is not None else y,
                "a leaf": lambda m, y: y if y.is_leaf else y * 2,
                "inference": lambda m, y: y * 2 if y.is_inference() else y,
                "inference by a function": lambda m, y: y * 2 if torch.is_inference(y) else y}
        for name, f in ways.items():
            with self.subTest(name), self.assertRaisesRegex(
                    rt.Unsupported, r"test_torch_constants.py:\d+: (torch.is_grad_enabled\(\)|Tensor.\w+): .*and decides them"):
                rt.compile_inference(Mode(f), X)
        taken = Mode(lambda m, y: (y * 2 if m.l.weight.requires_grad and y.requires_grad is not None else y, 3, 1.5, "a", None, torch.float32))
        with torch.no_grad():
            found, wanted = rt.compile_inference(taken, X)(X), taken(X)
        torch.testing.assert_close(found[0], wanted[0])
        self.assertEqual(found[1:], wanted[1:])

    def test_what_is_burned_in_without_gradients_is_looked_at(self):
        m = Mode(lambda m, y: y * 2 if not torch.is_grad_enabled() and m.a.item() > 3 else y)
        m.a = torch.tensor(2.0)
        forward = rt.compile_inference(m, X)
        torch.testing.assert_close(forward(X), m(X).detach())
        m.a.fill_(5.0)
        with torch.no_grad(), self.assertRaisesRegex(rt.Unsupported, "and decides them"):
            forward(X)

    def test_of_the_mode_by_whatever_name_it_is_asked(self):
        kept, listed, held = torch.is_grad_enabled, [torch.is_grad_enabled], {"on": torch.is_inference_mode_enabled}

        class Of(Asks):
            asks = torch.is_grad_enabled

        def default(m, y, on=torch.is_grad_enabled):
            return y * 2 if on() else y
        itself = Asks(lambda m, y: y * 2 if m.own() else y)
        itself.own = torch.is_grad_enabled
        ways = {"a name of the file": Asks(lambda m, y: y * 2 if is_grad_enabled() else y), "a closure": Asks(lambda m, y: y * 2 if kept() else y),
                "a list": Asks(lambda m, y: y * 2 if listed[0]() else y), "a dict": Asks(lambda m, y: y * 2 if held["on"]() else y),
                "a class": Of(lambda m, y: y * 2 if m.asks() else y), "a default": Asks(default), "an attribute": itself,
                "torch._C": Asks(lambda m, y: y * 2 if torch._C.is_grad_enabled() else y)}
        for way, m in ways.items():
            with self.subTest(way), self.assertRaisesRegex(rt.Unsupported, "is asked by a forward whose answers are compiled"):
                rt.compile_inference(m, X)
        self.assertIs(is_grad_enabled, torch.is_grad_enabled)
        self.assertIs(Of.__dict__["asks"], torch.is_grad_enabled)
        self.assertIs(default.__defaults__[0], torch.is_grad_enabled)

    def test_places_are_as_a_forward_leaves_them(self):
        class Fixed(dict):
            def __setitem__(self, k, v):
                raise TypeError("fixed")

        class Kind(type):
            def __setattr__(cls, k, v):
                raise AttributeError("fixed")

        class Held(metaclass=Kind):
            asks = torch.is_inference_mode_enabled
        listed, held, fixed = [torch.cov, torch.corrcoef, torch.is_grad_enabled], {"a": torch.cov, "b": torch.corrcoef}, Fixed(on=torch.cov)

        def takes(m, y):
            if len(listed) == 3:
                listed.pop(), held.pop("a"), held.update(b=len)
            return y + fixed["on"](y).sum()
        rt.compile_inference(Asks(takes), X)
        self.assertEqual((listed, held, fixed), ([torch.cov, torch.corrcoef], {"b": len}, {"on": torch.cov}))
        self.assertIs(Held.asks, torch.is_inference_mode_enabled)
        self.assertEqual({f.__module__ for f in (cov, is_grad_enabled, torch.corrcoef)}, {"torch"})  # not one of this package's

    def test_what_is_written_otherwise_is_so_by_whatever_name(self):
        def nll(m, y):
            return gaussian_nll_loss(y, torch.zeros_like(y), y * y + 1) + cov(y).sum()
        m, step = compiled(nll)
        self.assertAlmostEqual(float(step(X)), float(m(X).detach()), places=4)

    def test_a_length_that_a_batch_decides_is_given_with_it(self):
        class Of(nn.Module):
            def forward(self, x, lengths, longest=None):
                n = int(lengths.max()) if longest is None else longest
                return (x * (torch.arange(n) < lengths[:, None])).sum(1)
        x, lengths = torch.randn(2, 3), torch.tensor([3, 1])
        with self.assertRaisesRegex(rt.Unsupported, r"given with the batch as a number of Python.*x\.shape\[1\]"):
            rt.compile_inference(Of(), (x, lengths))
        forward = rt.compile_inference(Of(), (x, lengths, 3))
        for other in (lengths, lengths - 1):
            n = int(other.max())
            torch.testing.assert_close(forward(x[:, :n], other, n), Of()(x[:, :n], other))

    def test_last_steps_gradients_are_refused(self):
        m = Asks(lambda m, y: y if m.l.weight.grad is None else y * 2)
        with self.assertRaisesRegex(rt.Unsupported, "Tensor.grad is read by a forward"):
            rt.compile_inference(m, X)
        with self.assertRaisesRegex(rt.Unsupported, "Tensor.grad is read by a forward"):
            rt.compile(m, lambda y, t: (y - t).square().mean(), (X, X), sgd(m))

    def test_and_of_its_inputs(self):
        class Of(Asks):
            def forward(self, x):
                return self.l(x).square().sum() * (2 if x.requires_grad else 1)
        m, z = Of(None), X.clone().requires_grad_()
        forward, step = rt.compile_inference(m, X), rt.compile(m, None, (X,), torch.optim.SGD(m.parameters(), 0.0))
        for x in (X, X, z, z, X, z):
            for call in (forward, step):
                self.assertAlmostEqual(float(call(x)), float(m(x).detach()), places=4)


if __name__ == "__main__":
    unittest.main()
