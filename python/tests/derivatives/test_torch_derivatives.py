# SPDX-License-Identifier: Apache-2.0
"""Derivatives in a forward or a loss of PyTorch - torch.autograd.grad, torch.func, along directions, in vmap - beside PyTorch in binary64;
and what is refused by name, with its way out."""
import copy
import importlib.util
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
from torch.func import functional_call, grad, vmap

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

import reprise.torch as rt
from torch_small import sgd

EXACT = 1e-12


def net(act=None, width=2):
    act = act or nn.Tanh()
    return nn.Sequential(nn.Linear(width, 8), act, nn.Linear(8, 8), act, nn.Linear(8, 1))


def by(y, x):
    return torch.autograd.grad(y.sum(), x, create_graph=True)[0]


class Of(nn.Module):
    """What `f` makes of a network and a batch."""

    def __init__(self, f, network=None):
        super().__init__()
        self.net, self.f = network or net(), f

    def forward(self, *batch):
        return self.f(self.net, *batch)


class Beside(unittest.TestCase):
    def setUp(self):
        torch.set_default_dtype(torch.float64)
        self.addCleanup(torch.set_default_dtype, torch.float32)
        torch.manual_seed(0)

    def same(self, m, batch, loss=None, steps=3, bound=EXACT):
        """First gradients, and the losses of steps, are PyTorch's."""
        n = copy.deepcopy(m)
        step = rt.compile(m, loss, batch, sgd(m), bound=bound)
        self.assertLess(step.origin["gradients"]["difference"], bound)
        o = sgd(n)
        for _ in range(steps):
            o.zero_grad()
            value = n(*batch) if loss is None else loss(n(*batch[:-1]), batch[-1])
            value.backward()
            o.step()
            self.assertAlmostEqual(float(step(*batch)) / float(value.detach()), 1, delta=10 * bound)
        return step

    def refused(self, f, batch, why):
        for make in (lambda: rt.compile(m, None, batch, sgd(m), check=False), lambda: rt.compile_inference(m, *batch)):
            m = Of(f)
            with self.assertRaisesRegex(rt.Unsupported, r"test_torch_derivatives.py:\d+: " + why):
                make()


def heat(network, x):
    x = x.requires_grad_()
    first = by(network(x), x)
    return (first[:, 1] - by(first[:, 0], x)[:, 0]).square().mean()


def residual(network, x):
    """du/dy - d2u/dx2, by derivatives along directions."""
    def along(f, v):
        return lambda x: torch.func.jvp(f, (x,), (v.expand_as(x),))[1]
    right, up = torch.eye(2)
    return (along(network, up)(x) - along(along(network, right), right)(x)).square().mean()


class Gradients(Beside):
    """torch.autograd.grad."""

    def test_second_derivatives_as_a_loss_of_physics_has_them(self):
        x = torch.randn(6, 2)
        for act in (nn.Tanh(), nn.SiLU(), nn.GELU(), nn.GELU("tanh"), nn.Softplus(), nn.Sigmoid(), nn.ELU(), nn.Mish(), nn.Softsign()):
            self.same(Of(heat, net(act)), (x,))

    def test_inputs_one_by_one(self):
        def wave(network, x):
            a, b = x[:, :1].clone().requires_grad_(True), x[:, 1:].detach().requires_grad_(True)
            u = network(torch.cat([a, b], 1))
            return (by(by(u, b), b) - 4 * by(by(u, a), a)).square().mean() + u.square().mean()
        self.same(Of(wave), (torch.randn(6, 2),))

    def test_a_penalty_on_gradients(self):
        def critic(network, real, fake):
            a = torch.linspace(0, 1, len(real)).unsqueeze(1)
            between = (a * real + (1 - a) * fake).requires_grad_(True)
            d = network(between)
            g = torch.autograd.grad(outputs=d, inputs=between, grad_outputs=torch.ones_like(d), create_graph=True, retain_graph=True)[0]
            return network(fake).mean() - network(real).mean() + 10 * ((g.norm(2, dim=1) - 1) ** 2).mean()
        x, y = torch.randn(6, 2), torch.randn(6, 2)
        self.same(Of(critic, net(nn.LeakyReLU(0.2))), (x, y))
        images = nn.Sequential(nn.Conv2d(2, 4, 3, padding=1), nn.SiLU(), nn.Conv2d(4, 4, 3, stride=2), nn.GroupNorm(2, 4), nn.Flatten(),
                               nn.Linear(16, 1))
        self.same(Of(lambda n, x: n(x).mean() + by(n(x.requires_grad_()), x).square().sum((1, 2, 3)).mean(), images), (torch.randn(3, 2, 5, 5),))

    def test_layers(self):
        def squares(network, x):
            y = network(x.requires_grad_())
            return by(y.square(), x).square().mean() + y.mean()
        x = torch.randn(3, 4)
        for layer in (nn.Softmax(-1), nn.LogSoftmax(-1), nn.LayerNorm(5), nn.RMSNorm(5), nn.BatchNorm1d(5)):
            self.same(Of(squares, nn.Sequential(nn.Linear(4, 5), layer, nn.Tanh())), (x,), bound=1e-9)
        image = torch.randn(2, 2, 6, 6)
        for layer in (nn.MaxPool2d(2), nn.AvgPool2d(2), nn.Upsample(scale_factor=2, mode="bilinear"), nn.ConvTranspose2d(3, 2, 4, 2, 1)):
            self.same(Of(squares, nn.Sequential(nn.Conv2d(2, 3, 3, padding=1), layer, nn.Tanh(), nn.Flatten())), (image,))

    def test_a_learner_that_learns_from_its_own_steps(self):
        def learned(graph):
            def f(network, x, y, x2, y2):
                p = dict(network.named_parameters())
                g = torch.autograd.grad(F.mse_loss(functional_call(network, p, (x,)), y), list(p.values()), create_graph=graph)
                return F.mse_loss(functional_call(network, {k: v - 0.1 * d for (k, v), d in zip(p.items(), g)}, (x2,)), y2)
            return f
        batch = torch.randn(6, 2), torch.randn(6, 1), torch.randn(6, 2), torch.randn(6, 1)
        second, firsts = (self.same(Of(learned(graph)), batch).program.price["executed"] for graph in (True, False))
        self.assertLess(firsts, second)  # without create_graph no gradient goes through the gradient

    def test_in_the_loss(self):
        class Score(nn.Module):
            def __init__(self):
                super().__init__()
                self.net = net()

            def forward(self, x):
                return -by(self.net(x.requires_grad_()), x)
        self.same(Score(), (torch.randn(5, 2), torch.randn(5, 2)), F.mse_loss)
        m = nn.Linear(4, 1)
        step = rt.compile(m, lambda y, t: y.mean() + by(y.square(), m.weight).norm(), (torch.randn(3, 4), torch.randn(3, 1)), sgd(m), bound=EXACT)
        self.assertLess(step.origin["gradients"]["difference"], EXACT)

    def test_it_is_by_that_tensor_and_by_no_other_of_its_elements(self):
        def clones(network, x):
            x = x.requires_grad_()
            y, z, v = x.clone(), x.view(x.shape), x.reshape(-1, 2).expand(len(x), 2)
            u = network(y).sum() + x.square().sum() + (z ** 3).sum() + (v ** 4).sum()
            return sum((k + 1) * g.square().sum() for k, g in enumerate(torch.autograd.grad(u, [x, y, z, v], create_graph=True)))

        def parts(network, x):
            a, b = x.requires_grad_().chunk(2, 1)
            u = network(torch.cat([a, b], 1)).sum() + (a * b).sum()
            return by(u, b).pow(3).sum() + by(u, a).square().sum()

        def written(network, x):
            made = torch.zeros(4, 2)
            made[:, 0] = x[:, 0]
            made[:, 1] = network[0].weight[0, 0] * x[:, 1]
            return by(network(made), made).square().sum()

        def fixed(network, x):
            t = torch.linspace(0, 1, 6).reshape(3, 2).requires_grad_(True)
            q = torch.tensor([[0.1, 0.2], [0.3, 0.4]], requires_grad=True)
            r = torch.tensor([[0.1, 0.2], [0.3, 0.4]], requires_grad=True)  # of the same elements
            return by(network(t), t).square().sum() + by(network(q) * network(r), q).sum() + network(x).mean()
        for f in (clones, parts, written, fixed):
            self.same(Of(f), (torch.randn(4, 2),))

    def test_it_is_by_all_that_is_computed_from_the_tensor(self):
        class Tied(nn.Module):
            def __init__(self, f):
                super().__init__()
                self.a, self.b, self.f = nn.Linear(4, 4), nn.Linear(4, 4), f
                self.b.weight = self.a.weight

            def forward(self, x):
                return self.f(self, x.requires_grad_())
        outside, x = nn.Linear(4, 4), torch.randn(4, 4)
        normal = torch.distributions.Normal
        for f in (lambda m, x: by(F.mse_loss(x, x.sin()), x), lambda m, x: by(F.mse_loss(x.sin(), x, reduction="sum"), x),
                  lambda m, x: by(x.sin() * x.type_as(x), x), lambda m, x: by(x.sin() * torch.broadcast_tensors(x, x.exp())[0], x),
                  lambda m, x: by(normal(x, x.exp()).log_prob(x.cos()), x), lambda m, x: by(m.b(m.a(x).sin()).sin(), m.a.weight),
                  lambda m, x: by(m.b(m.a(x).sin()).sin(), m.b.weight), lambda m, x: by(outside(x).sin(), outside.weight)):
            m = Tied(f)
            expected = m(x.clone())
            self.assertLess(float((rt.compile_inference(m, x.clone())(x.clone()) - expected).abs().max()), EXACT)

    def test_of_what_it_does_not_depend_on_there_is_none(self):
        def unused(network, x):
            x, z = x.requires_grad_(), torch.ones(2, requires_grad=True)
            found = torch.autograd.grad(network(x).sum(), [x, z], create_graph=True, allow_unused=True)
            return sum(g.square().sum() for g in found if g is not None) + (found[1] is not None)
        self.same(Of(unused), (torch.randn(3, 2),))

    def test_regions_without_gradient_around_it(self):
        def sampled(network, x):
            with torch.no_grad():
                c = torch.tanh(network[0](x)).sum()
                for _ in range(2):
                    with torch.enable_grad():
                        z = x.detach().requires_grad_()
                        g = torch.autograd.grad(network(z).sum() * c + (z * network[0](x).sum()).sum(), z)[0]
                    x = x - 0.1 * g
            return network(x).mean() - network(2 * x).square().mean()

        def detached(network, x):
            h = network[0](x.requires_grad_())
            y = (h.detach() * h.sin()).sum()
            return by(y, x).square().mean() + (torch.autograd.grad(y, h)[0] * h).sum()
        for f in (sampled, detached):
            self.same(Of(f), (torch.randn(4, 2),))

    def test_seeds_at_once(self):
        def rows(network, x):
            x = x.requires_grad_()
            return torch.autograd.grad(network(x), x, torch.eye(len(x)).unsqueeze(-1), is_grads_batched=True, create_graph=True)[0].square().sum()

        def jacobian(network, x):
            return torch.autograd.functional.jacobian(lambda x: network(x).sum(0), x, create_graph=True, vectorize=True).square().mean()
        for f in (rows, jacobian):
            self.same(Of(f), (torch.randn(3, 2),))
        self.refused(rows, (torch.randn(1025, 2),), "torch.autograd.grad: .* of 1025 seeds at once.*At most 1024")

    def test_functions_of_autograd(self):
        functional = torch.autograd.functional
        for f in (lambda n, x: functional.hessian(lambda x: n(x).sum(), x, create_graph=True).square().mean(),
                  lambda n, x: functional.hvp(lambda x: n(x).sum(), x, torch.ones_like(x), create_graph=True)[1].square().mean()):
            self.same(Of(f), (torch.randn(2, 2),))

    def test_an_inference_of_forces(self):
        m = Of(lambda n, x: -torch.autograd.grad(n(x.requires_grad_()).sum(), x)[0])
        x = torch.randn(5, 2)
        forward = rt.compile_inference(m, x)
        other = torch.randn(5, 2)
        torch.testing.assert_close(torch.from_numpy(forward(other).numpy()), m(other), rtol=1e-12, atol=1e-12)

    def test_a_record_replays_without_python(self):
        x, m = torch.randn(6, 2), Of(heat)
        step = rt.compile(m, None, (x,), torch.optim.Adam(m.parameters(), 1e-2))
        with tempfile.TemporaryDirectory() as folder:
            with rt.record(os.path.join(folder, "heat.reprise"), seed=1):
                losses = [float(step(x)) for _ in range(20)]
            self.assertLess(losses[-1], losses[0])
            if command := os.environ.get("REPRISE_COMMAND"):
                subprocess.run([command, "replay", os.path.join(folder, "heat.reprise")], check=True, capture_output=True)

    def test_what_is_refused(self):
        x = torch.randn(6, 2)

        def stepping(network, x):
            network(x).sum().backward()
            return network(x).mean()

        def without(network, x):
            return by(network(x.detach()), x)

        def apart(network, x):
            x = x.requires_grad_()
            return by(network(x.clone()), x[:1])

        def dual(network, x):
            with torch.autograd.forward_ad.dual_level():
                made = torch.autograd.forward_ad.make_dual(x, torch.ones_like(x))
                return torch.autograd.forward_ad.unpack_dual(network(made)).tangent.mean()
        for f, why in ((stepping, "Tensor.backward.*create_graph=True"), (without, "torch.autograd.grad: .*no gradient.*requires_grad_"),
                       (apart, "torch.autograd.grad: .*do not depend on.*allow_unused"), (dual, "torch.autograd.forward_ad.*torch.func.jvp")):
            self.refused(f, (x,), why)
        with self.assertRaises(RuntimeError):  # PyTorch's own again, and its own error
            without(net(), x)

    def test_pytorchs_own_third_derivative_of_layer_norm_is_another_than_the_formulas(self):
        def third(network, x):
            x = x.requires_grad_()
            g = by(network(x).square(), x)
            return by(g[:, 0].square(), x).square().sum()
        x = torch.randn(3, 4)

        def gradients(norm, check):
            torch.manual_seed(1)
            m = Of(third, nn.Sequential(nn.Linear(4, 5), norm, nn.Tanh()))
            step = rt.compile(m, None, (x,), sgd(m, 1.0), check=check, bound=1e-9)
            step(x)
            return m.net[0].weight.detach().numpy() - np.array(step.state["net.0.weight"])
        expected = gradients(nn.GroupNorm(1, 5), True)
        np.testing.assert_allclose(gradients(nn.LayerNorm(5), False), expected, rtol=1e-9, atol=1e-9)
        try:
            gradients(nn.LayerNorm(5), True)  # a version of PyTorch that has it right is taken
        except ArithmeticError as e:
            self.assertIn("is not PyTorch's", str(e))


class Functions(Beside):
    """torch.func."""

    def test_transforms(self):
        def seeded(n, x):
            y, back = torch.func.vjp(n, x)
            return back(torch.ones_like(y))[0].square().mean() + y.mean()

        def valued(n, x):
            g, (v, more) = torch.func.grad_and_value(lambda x: (n(x).sum(), x * 2), has_aux=True)(x)
            return g.square().mean() + v + more.sum()
        for f in (lambda n, x: grad(lambda x: n(x).sum())(x).square().mean(), valued, seeded,
                  lambda n, x: vmap(grad(lambda r: n(r).squeeze()))(x).square().mean(),
                  lambda n, x: vmap(torch.func.hessian(lambda r: n(r).squeeze()))(x).square().mean(),
                  lambda n, x: vmap(torch.func.jacrev(torch.func.jacrev(lambda r: n(r)[0])))(x).diagonal(0, 1, 2).sum(1).square().mean(),
                  lambda n, x: vmap(torch.func.jacfwd(grad(lambda r: n(r)[0])))(x).square().mean(),
                  lambda n, x: torch.func.jacfwd(lambda x: n(x).sum(0))(x).square().mean()):
            self.same(Of(f), (torch.randn(4, 2),))

    def test_gradients_of_each_sample(self):
        def each(network, x, y):
            p = dict(network.named_parameters())
            one = lambda p, x, y: F.mse_loss(functional_call(network, p, (x[None],)), y[None])
            g = vmap(grad(one), in_dims=(None, 0, 0))(p, x, y)
            return sum((v.flatten(1) / (1 + v.flatten(1).norm(dim=1, keepdim=True))).square().sum() for v in g.values())
        self.same(Of(each), (torch.randn(4, 2), torch.randn(4, 1)))
        shared = lambda n, x: vmap(lambda r: by(n(r), n[0].weight).square().sum())(x).mean()
        self.refused(shared, (torch.randn(4, 2),), "torch.vmap: .*all samples share")
        self.assertIsNone(torch._C._functorch.maybe_current_level())

    def test_a_learner_by_functions(self):
        def f(network, x, y):
            p = dict(network.named_parameters())
            g = grad(lambda p: F.mse_loss(functional_call(network, p, (x,)), y))(p)
            return F.mse_loss(functional_call(network, {k: p[k] - 0.1 * g[k] for k in p}, (x,)), y)
        self.same(Of(f), (torch.randn(4, 2), torch.randn(4, 1)))

    def test_second_derivatives_along_directions(self):
        x = torch.randn(6, 2)
        for act in (nn.Tanh(), nn.Sigmoid(), nn.GELU(), nn.GELU("tanh"), nn.Softplus()):
            step = self.same(Of(residual, net(act)), (x,))
        step.copy_to(m := Of(residual, net(act)))
        self.assertAlmostEqual(float(step(x)), float(heat(m.net, x).detach()), delta=EXACT)

    def test_of_silu_too_whose_second_derivative_the_exporter_loses(self):
        x, network = torch.randn(6, 2), net(nn.SiLU())
        nn.init.zeros_(network[-1].weight)  # so that all derivatives are 0 at first
        forward = rt.compile_inference(Of(residual, network), x)
        with torch.no_grad():
            network[-1].weight.copy_(torch.randn(1, 8))
        self.assertAlmostEqual(float(forward(x).numpy()), float(heat(network, x).detach()), delta=EXACT)
        self.same(Of(residual, net(nn.SiLU())), (x,))

    def test_along_directions_through_layers(self):
        def f(network, x):
            y, along = torch.func.jvp(network, (x,), (x.cos(),))
            return (y * along).square().mean()
        x = torch.randn(6, 2)
        for act in (nn.GELU("tanh"), nn.SiLU(), nn.Softplus(2.0, 0.5), nn.ReLU(), nn.Tanh()):
            self.same(Of(f, net(act)), (x,))
        self.same(Of(f, nn.Sequential(nn.Linear(2, 5), nn.Softmax(1))), (x,))
        self.same(Of(f, nn.Sequential(nn.Conv2d(2, 3, 3), nn.GroupNorm(3, 3), nn.SiLU())), (torch.randn(2, 2, 6, 6),), bound=1e-9)

    def test_buffers_are_as_they_were(self):
        m = Of(lambda n, x: residual(n[1:], n[0](x)), nn.Sequential(nn.BatchNorm1d(2), *net()))
        rt.compile(m, None, (torch.randn(6, 2),), sgd(m), bound=1e-10)
        self.assertEqual((float(m.net[0].running_mean.abs().sum()), int(m.net[0].num_batches_tracked)), (0, 0))


class Special(Beside):
    """Operations whose rules bring a derivative of their own."""

    def test_gamma_functions(self):
        positive = lambda n, x: F.softplus(n(x)) + 0.1
        for f in (lambda n, x: torch.lgamma(3 * positive(n, x)).square().mean(), lambda n, x: torch.lgamma(n(x) - 0.4).mean(),
                  lambda n, x: torch.digamma(positive(n, x)).square().mean() + torch.special.gammaln(positive(n, x)).mean()):
            self.same(Of(f), (torch.randn(5, 2),), bound=1e-9)
        x = torch.cat([torch.tensor([0.0, -0.0, -1.0, 1.0, 2.0, float("inf"), float("nan"), 171.0, 1e5, 1e-300]), torch.linspace(-5.3, 9.07, 101)])

        class Both(nn.Module):
            def forward(self, x):
                return torch.lgamma(x), torch.digamma(x)
        for found, expected in zip(rt.compile_inference(Both(), x)(x), Both()(x)):
            torch.testing.assert_close(torch.from_numpy(found.numpy()), expected, rtol=1e-11, atol=1e-12, equal_nan=True)

    def test_losses_of_distributions(self):
        d = torch.distributions
        more, y = (lambda v: F.softplus(v) + 0.1), torch.rand(4, 3) + 0.1
        for loss in (lambda a, b, y: d.Gamma(more(a), more(b)).log_prob(y), lambda a, b, y: d.Beta(more(a), more(b)).log_prob(y / 2),
                     lambda a, b, y: d.NegativeBinomial(more(b), logits=a).log_prob(y.round()), lambda a, b, y: d.Poisson(more(b)).log_prob(y.round()),
                     lambda a, b, y: d.StudentT(more(b), a, 1.0).log_prob(y), lambda a, b, y: d.Dirichlet(more(b)).log_prob(y.softmax(-1)),
                     lambda a, b, y: -d.kl_divergence(d.Gamma(more(a), more(b)), d.Gamma(y, y)), lambda a, b, y: d.Beta(more(a), more(b)).entropy()):
            self.same(Of(lambda n, x, y: -loss(*n(x).chunk(2, -1), y).mean(), nn.Linear(2, 6)), (torch.randn(4, 2), y), bound=1e-9)

    def test_second_derivatives_of_what_has_them(self):
        def learned(network, x, y):
            p = dict(network.named_parameters())
            loss = lambda p: F.binary_cross_entropy(functional_call(network, p, (x,)).sigmoid(), y)
            g = torch.autograd.grad(loss(p), list(p.values()), create_graph=True)
            return loss({k: v - 0.1 * d for (k, v), d in zip(p.items(), g)})
        self.same(Of(learned), (torch.randn(6, 2), torch.rand(6, 1)), bound=1e-9)
        self.same(Of(lambda n, x: by(torch.lgamma(F.softplus(n(x.requires_grad_())) + 0.1), x).square().mean() + n(x).mean()), (torch.randn(5, 2),), bound=1e-9)

    def test_what_has_none_is_refused(self):
        bounded = lambda n, x: F.binary_cross_entropy(n(x).sigmoid(), torch.full((5, 1), 0.3), reduction="none")
        solved = lambda n, x: torch.linalg.solve(3 * torch.eye(2) + x[:2] * n(x)[:2], x[:2])
        for value, why in ((lambda n, x: by(bounded(n, x), x), "binary_cross_entropy.*third derivative"),
                           (solved, "linalg_solve.*derivative of a derivative"),
                           (lambda n, x: torch.digamma(n(x).exp()), "digamma.*derivative of a derivative"),
                           (lambda n, x: torch.cond(x.sum() > 0, lambda v: torch.linalg.det(v[:2]) * v.cos(), lambda v: v.sin(), (x,)), "linalg_det.*derivative")):
            f = lambda n, x: by(value(n, x.requires_grad_()), x).square().mean() + n(x).mean()
            with self.assertRaisesRegex(rt.Unsupported, why):
                rt.compile(m := Of(f), None, (torch.randn(5, 2),), sgd(m), check=False)
            m, x = Of(f), torch.randn(5, 2)  # of what is not trained it is the last derivative, which there is
            torch.testing.assert_close(rt.compile_inference(m, x)(x), m(x).detach(), rtol=1e-9, atol=1e-9)
            twice = Of(lambda n, x: by(by(value(n, x.requires_grad_()), x).square().mean(), x).sum())
            with self.assertRaisesRegex(rt.Unsupported, why):
                rt.compile_inference(twice, torch.randn(5, 2))
        beside = lambda n, x: by(n(x.requires_grad_()), x).square().mean() + solved(n, x).square().mean()
        self.same(Of(beside), (torch.randn(5, 2),))


if __name__ == "__main__":
    unittest.main()
