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

import reprise
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

    def test_one_that_is_given_twice_is_a_leaf_as_before(self):
        class Leaf(nn.Module):
            def forward(self, x, z):
                return x * (2 if z.is_leaf else 1)
        leaf = X.clone().requires_grad_()
        for x in (leaf, leaf * 1, X):
            torch.testing.assert_close(rt.compile_inference(Leaf(), (x, x))(x, x), Leaf()(x, x).detach())

    def test_one_that_is_a_parameter_too(self):
        m = Held(Y)
        m.w = nn.Parameter(X.clone())
        step = rt.compile(m, None, (m.w.detach(),), torch.optim.SGD(m.parameters(), 0.0))
        self.assertAlmostEqual(float(step(X + 1)), float(m(X + 1).detach()), places=5)


class Named(nn.Module):
    """A part under two names, as a loss that knows the model has it."""

    def __init__(self, twice):
        super().__init__()
        torch.manual_seed(0)
        self.model = nn.Sequential(nn.Linear(3, 3), nn.BatchNorm1d(3))
        self.also, self.twice = nn.ModuleDict({"of": self.model}), twice

    def forward(self, x):
        return (self.also["of"](self.model(x)) if self.twice else self.model(x)).exp().sum(1).log().square().mean()


class Names(unittest.TestCase):
    def test_a_buffer_that_a_step_changes_has_two_names(self):
        for twice in (False, True):
            m, other = Named(twice), Named(twice)
            step = rt.compile(m, None, (X,), torch.optim.SGD(m.parameters(), 0.1))
            optimizer = torch.optim.SGD(other.parameters(), 0.1)
            with self.subTest(twice):
                for x in (X, Y, X, Y):
                    optimizer.zero_grad()
                    wanted = other(x)
                    wanted.backward()
                    optimizer.step()
                    self.assertAlmostEqual(float(step(x)), float(wanted.detach()), places=4)
                step.copy_to(m)
                self.assertIs(m.model[1].running_mean, m.also["of"][1].running_mean)
                for (name, found), t in zip(m.state_dict().items(), other.state_dict().values()):
                    torch.testing.assert_close(found, t, msg=name, rtol=1e-4, atol=1e-5)
                forward = rt.compile_inference(m.eval(), X)
                torch.testing.assert_close(forward(Y), m(Y).detach())


class Packages(nn.Module):
    def forward(self, x):
        return torch.ops.reprise_test_alike.written(x, x.new_zeros(4, 3)).sum()


class Operators(unittest.TestCase):
    def test_one_of_another_package_that_gives_what_it_was_given(self):
        library = torch.library.Library("reprise_test_alike", "FRAGMENT")
        try:
            library.define("written(Tensor x, Tensor(a!) out) -> Tensor(a!)")
            library.impl("written", lambda x, out: out.copy_(x), "CompositeExplicitAutograd")
            with self.assertRaisesRegex(rt.Unsupported, r"test_torch_alike.py:\d+: reprise_test_alike.written.*operations of PyTorch"):
                rt.compile_inference(Packages(), X)
        finally:
            library._destroy()


class Asks(nn.Module):
    """The sum of what `f` makes of an input, another one and a layer's value."""

    def __init__(self, f):
        super().__init__()
        torch.manual_seed(0)
        self.l, self.f, self.a, self.c, self.norm = nn.Linear(3, 3), f, torch.tensor(2.0), torch.tensor(2.0), nn.BatchNorm1d(3)
        self.register_buffer("b", torch.tensor([1.0, 2.0, 3.0]))
        self.register_buffer("d", torch.tensor([1.0, 2.0, 3.0]))
        self.register_buffer("n", torch.zeros((), dtype=torch.int64))

    def forward(self, x, z):
        return self.f(self, x, z, self.l(x)).sum()

    def scaled(self, x):
        return x.div(nn.functional.softplus(self.l.weight.sum()))


def twice(asks):
    """What is twice as much where the answer is yes."""
    return lambda m, x, z, y: y * 2 if asks(m, x, z, y) else y


def raises(m, x, z, y):
    if not torch.equal(x, z):
        raise ValueError("not the data that it was made of")
    return y


def raises_of_all(m, x, z, y):
    if m.training and not all(
        torch.equal(s, t) for s, t in zip([x, y], [z, y], strict=True)
    ):
        raise ValueError("not the data that it was made of")
    return y


def asserts(m, x, z, y):
    assert x.equal(z) and y.sum() < 1e6
    return y


def raises_of_one(m, x, z, y):
    if not any(torch.equal(s, z) for s in (x, z + 1)):
        raise ValueError
    return y


def raises_of_equal(m, x, z, y):
    if torch.equal(x, z):
        raise ValueError
    return y


def written_between(m, x, z, y):
    t = x.clone()
    u = t + 0
    t.add_(1)
    return y * 2 if torch.equal(u, t + 0) else y


def written_through_a_view(m, x, z, y):
    t = x.clone()
    rows = t.view(12)[:6].view(2, 3)
    u = rows + 0
    t.mul_(3)
    return y * 2 if torch.equal(u, rows + 0) else y


def written_through_a_part(m, x, z, y):
    t = x.clone()
    u = t + 0
    t.split(2)[1].mul_(3)
    return y * 2 if torch.equal(u, t + 0) else y


def written_through_a_result(m, x, z, y):
    t = torch.zeros(4, 3)
    rows = t[:]
    torch.add(x, 1, out=t)
    u = t + 0
    rows.mul_(3)
    return y * 2 if torch.equal(u, t + 0) else y


def written_through_one_of_two(m, x, z, y):
    t = x.new_zeros(4), torch.zeros(4, dtype=torch.int64)
    rows = t[1][:]
    torch.max(x.detach(), 1, out=t)
    u = t[1] + 0
    rows.mul_(3)
    return y * 2 if torch.equal(u, t[1] + 0) else y


def written_buffer(m, x, z, y):
    u = m.n + 0
    m.n.add_(1)
    return y * 2 if torch.equal(u, m.n + 0) else y


def written_by_a_norm(m, x, z, y):
    u = m.norm.running_mean + 0
    m.norm(x)
    return y * 2 if torch.equal(u, m.norm.running_mean + 0) else y


def normed_between(m, x, z, y):
    def normed():
        return nn.functional.batch_norm(x, m.norm.running_mean, m.norm.running_var)
    u = normed()
    m.norm(x * 2 + 1)
    return y * 2 if torch.equal(u, normed()) else y


def through(view):
    """Written between by what gives a view and does not say so."""
    def asks(m, x, z, y):
        t = x.clone()
        v = view(t)
        u = v + 0
        t.add_(1)
        return torch.equal(u, v + 0)
    return twice(asks)


def normed_into(norm):
    def asks(m, x, z, y):
        mean, var = torch.zeros(3), torch.ones(3)
        u = mean + 0
        norm(x, mean, var, True)
        return torch.equal(u, mean + 0)
    return twice(asks)


def batch_norm(x, mean, var, training):
    return nn.functional.batch_norm(x, mean, var, training=training)


def instance_norm(x, mean, var, training):
    return nn.functional.instance_norm(x.reshape(1, 3, 4), mean, var, use_input_stats=training)


VIEWS = (torch.atleast_3d, lambda t: torch.einsum("ij->ji", t), lambda t: torch.meshgrid(t[0], t[1], indexing="ij")[0],
         lambda t: torch.broadcast_tensors(t, torch.zeros(4, 3))[0], lambda t: torch.broadcast_tensors(t[0], t)[0],
         lambda t: t.unsafe_chunk(2)[1], lambda t: t.unsafe_split(2)[0])
KNOWN = (lambda m, x, z, y: torch.equal(y, y), lambda m, x, z, y: y.equal(y), lambda m, x, z, y: torch.equal(m.scaled(x), m.scaled(x)),
         lambda m, x, z, y: torch.equal(m.a, m.c), lambda m, x, z, y: torch.equal(m.b, m.d), lambda m, x, z, y: torch.equal(x, z[:2]),
         lambda m, x, z, y: torch.equal(m.b, m.b + 1), lambda m, x, z, y: torch.equal(x.T.reshape(-1).split(6)[1], x.T.reshape(-1).split(6)[1]),
         lambda m, x, z, y: not torch.equal(torch.arange(3), m.n.new_tensor([0, 1, 2])), lambda m, x, z, y: torch.equal(x.long(), x.long()))
UNKNOWN = (lambda m, x, z, y: torch.equal(x, z), lambda m, x, z, y: x.equal(x + 1), lambda m, x, z, y: torch.equal(m.l.weight, m.b.expand(3, 3)),
           lambda m, x, z, y: torch.equal(torch.rand(3), torch.rand(3)), lambda m, x, z, y: torch.equal(torch.empty_like(x), torch.empty_like(x)),
           lambda m, x, z, y: torch.equal(nn.functional.dropout(x, 0.5), nn.functional.dropout(x, 0.5)),
           lambda m, x, z, y: torch.equal(x.clamp(0.0, 1.0), x.clamp(-0.0, 1.0)), lambda m, x, z, y: torch.equal(x.sum(0), x.sum(1)[:3]),
           lambda m, x, z, y: torch.equal(x * m.a, x * m.c), lambda m, x, z, y: x.equal(z) or y.sum() < 1e6,
           lambda m, x, z, y: torch.vmap(lambda s, t: s * (2 if torch.equal(s, t) else 1))(x, z).sum() < 1e6)


class Equal(unittest.TestCase):
    def step(self, f):
        m = Asks(f)
        return m, rt.compile(m, None, (X, X), sgd(m))

    def test_what_is_known(self):
        for k, asks in enumerate(KNOWN):
            with self.subTest(k):
                m, step = self.step(twice(asks))
                for x, z in ((X, Y), (Y, X), (X, X)):
                    wanted = float(m(x, z).detach())
                    self.assertAlmostEqual(float(step(x, z)), wanted, places=4)
                    step.copy_to(m)

    def test_what_values_decide_is_refused_with_line_and_way_out(self):
        for k, f in enumerate([*map(twice, UNKNOWN), raises_of_one, raises_of_equal, written_between, written_through_a_view,
                               written_through_a_part, written_through_a_result, written_through_one_of_two, written_buffer,
                               written_by_a_norm, normed_between, *map(through, VIEWS), normed_into(batch_norm),
                               normed_into(instance_norm)]):
            with self.subTest(k), self.assertRaisesRegex(
                    rt.Unsupported, r"test_torch_alike.py:\d+: torch.equal: .*torch.where|buffer norm.running_mean decide.*torch.where"):
                self.step(f)

    def test_a_number_of_what_was_written_through_such_a_view_is_not_known(self):
        def broadcast(m, x, z, y):
            t = torch.zeros(4, 3)
            torch.broadcast_tensors(t, x)[0].add_(1)
            return y * 2 if t.sum().item() == 0 else y

        def normed(m, x, z, y):
            mean, var = torch.zeros(3), torch.ones(3)
            batch_norm(x, mean, var, True)
            return y * 2 if mean.sum().item() == 0 else y
        for f in (broadcast, normed):
            with self.subTest(f.__name__), self.assertRaises(rt.Unsupported):
                self.step(f)

        def read(m, x, z, y):
            mean, var = torch.zeros(3), torch.ones(3)
            y = y + batch_norm(x, mean, var, False)
            return y * 2 if mean.sum().item() == 0 else y
        m, step = self.step(read)
        wanted = float(m(X, Y).detach())
        self.assertAlmostEqual(float(step(X, Y)), wanted, places=4)

    def test_what_is_tied_and_then_is_not(self):
        for name, other in (("c", torch.tensor(9.0)), ("d", torch.full((3,), 9.0)), ("q", nn.Parameter(torch.zeros(3)))):
            m = Asks(None)
            m.c, m.d, m.p = m.a, m.b, nn.Parameter(torch.ones(3))
            m.q = m.p
            first = {"c": "a", "d": "b", "q": "p"}[name]
            m.f = twice(lambda m, x, z, y, name=name, first=first: torch.equal(y.mean() * getattr(m, first), y.mean() * getattr(m, name)))
            step = rt.compile(m, None, (X, X), sgd(m))
            wanted = float(m(X, Y).detach())
            self.assertAlmostEqual(float(step(X, Y)), wanted, places=4)
            setattr(m, name, other)
            with self.subTest(name), self.assertRaises(rt.Unsupported):
                step(X, Y)

    def test_constants_are_looked_at_before_every_step(self):
        for asks, change in ((lambda m, x, z, y: torch.equal(m.a, m.c), lambda m: m.a.fill_(5.0)),
                             (lambda m, x, z, y: torch.equal(m.b, m.d), lambda m: m.d.fill_(5.0))):
            m, step = self.step(twice(asks))
            step(X, X)
            change(m)
            with self.assertRaisesRegex(rt.Unsupported, "changed since"):
                step(X, X)
            step.load()
            self.assertAlmostEqual(float(step(X, X)), float(m(X, X).detach()), places=4)

    def test_a_check_that_raises_is_one_of_each_step(self):
        for f in (raises, raises_of_all, asserts):
            m = Asks(f)
            forward = rt.compile_inference(m, (X, X))
            with self.subTest(f.__name__):
                for x, z in ((X, X), (Y, Y.clone()), (X, Y), (Y, Y)):
                    if x is z or torch.equal(x, z):
                        self.assertAlmostEqual(float(forward(x, z)), float(m(x, z).detach()), places=4)
                    else:
                        with self.assertRaises((ValueError, AssertionError)):
                            m(x, z)
                        with self.assertRaises(reprise.Error) as caught:
                            forward(x, z)
                        self.assertIn("the model's own check", "\n".join(caught.exception.__notes__))

    def test_of_a_nan_that_equals_nothing_a_step_is_an_error(self):
        m, step = self.step(twice(lambda m, x, z, y: torch.equal(m.scaled(x), m.scaled(x))))
        bad = torch.where(X == X.max(), torch.nan, X)
        self.assertFalse(torch.equal(bad, bad.clone()))
        with self.assertRaises(reprise.Error) as caught:
            step(bad, X)
        self.assertRegex("\n".join(caught.exception.__notes__), r"torch.equal of what is NaN, .*test_torch_alike.py:\d+")
        wanted = float(m(X, X).detach())
        self.assertAlmostEqual(float(step(X, X)), wanted, places=4)

    def test_whether_a_matrix_has_a_factor(self):
        def tried(m, a, z, y):
            factor, info = torch.linalg.cholesky_ex(a)
            factor = torch.nan_to_num(factor)
            return factor if not torch.any(info) else a * 100

        def trying(m, a, z, y):
            factor, info = torch.linalg.cholesky_ex(a)
            return a * 100 if info.item() > 0 else factor
        good = torch.tensor([[2.0, 1.0, 0.0], [1.0, 2.0, 0.0], [0.0, 0.0, 3.0]])
        for f in (tried, trying):
            m = Asks(f)
            forward = rt.compile_inference(m, (good, X))
            torch.testing.assert_close(forward(good * 2, X), m(good * 2, X).detach())
            for bad in (good - 2, good * 0, torch.tensor([[1.0, 1.0, 0.0], [1.0, 1.0, 0.0], [0.0, 0.0, 1.0]]), good.mul(torch.nan)):
                with self.assertRaises(reprise.Error) as caught:
                    forward(bad, X)
                self.assertRegex("\n".join(caught.exception.__notes__), r"not positive definite, .*test_torch_alike.py:\d+")

    def test_whether_a_matrix_that_is_known_has_one(self):
        def tried(m, x, z, y):
            factor, info = torch.linalg.cholesky_ex(m.matrix)
            return x @ factor if info == 0 else x * 100
        good = torch.tensor([[2.0, 1.0, 0.0], [1.0, 2.0, 0.0], [0.0, 0.0, 3.0]])
        for matrix in (good, good - 2):
            m = Asks(tried)
            m.register_buffer("matrix", matrix)
            torch.testing.assert_close(rt.compile_inference(m, (X, X))(Y, X), m(Y, X).detach())

    def test_pytorchs_own_is_there_again(self):
        self.step(twice(KNOWN[0]))
        self.assertEqual((torch.equal.__module__, torch.Tensor.equal.__objclass__), ("torch", torch._C.TensorBase))
        self.assertNotIn("equal", vars(torch.Tensor))


if __name__ == "__main__":
    unittest.main()
