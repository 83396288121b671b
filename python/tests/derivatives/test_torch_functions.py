# SPDX-License-Identifier: Apache-2.0
"""Functions with a backward of their own (torch.autograd.Function) beside PyTorch in binary64: forwards that keep values, change what they are
given, give several values; and backwards that are not linear, which are refused."""
import copy
import functools
import os
import sys
import unittest

try:
    import torch
    import torch.nn.functional as F
    from torch.autograd.function import once_differentiable
except ImportError:
    torch = None

if torch is not None:
    sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
    from torch_small import Line, sgd

    import reprise.torch as rt

    SLOPE = 2.0

    class Straight(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.round()

        @staticmethod
        def backward(ctx, g):
            return g

    class Spike(torch.autograd.Function):
        width = 0.5

        @staticmethod
        def forward(ctx, x, k):
            ctx.save_for_backward(x)
            ctx.k = k
            return (x > 0).to(x.dtype)

        @staticmethod
        def backward(ctx, g):
            x, = ctx.saved_tensors
            return g * SLOPE * torch.exp(-ctx.k * x * x * Spike.width), None

    class Two(torch.autograd.Function):
        @staticmethod
        def forward(x, w):
            return x @ w, (2 * x).sum(0)

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.save_for_backward(*inputs)

        @staticmethod
        @once_differentiable
        def backward(ctx, g, h):
            x, w = ctx.saved_tensors
            return g @ w.t() + 3 * h.detach(), x.t() @ g

    class Reversed(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, by):
            ctx.by = by
            return x.view_as(x)

        @staticmethod
        def backward(ctx, g):
            return g.neg() * ctx.by, None

    class Sparsemax(torch.autograd.Function):
        """As pytorch_tabnet has it, which changes what it is given."""

        @staticmethod
        def forward(ctx, x):
            x -= x.max(-1, keepdim=True).values
            ordered = x.sort(-1, descending=True).values
            sums = ordered.cumsum(-1) - 1
            size = (torch.arange(1, x.shape[-1] + 1) * ordered > sums).sum(-1, keepdim=True)
            y = (x - sums.gather(-1, size - 1) / size).clamp(min=0)
            ctx.save_for_backward(size, y)
            return y

        @staticmethod
        def backward(ctx, g):
            size, y = ctx.saved_tensors
            g = g.clone()
            g[y == 0] = 0
            return torch.where(y != 0, g - g.sum(-1, keepdim=True) / size, g)

    class Nested(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            p = Sparsemax.apply(x.clone())
            p[:, 0] -= 1
            ctx.save_for_backward(p)
            return (p * x).sum(1)

        @staticmethod
        def backward(ctx, g):
            return g.unsqueeze(1) * ctx.saved_tensors[0]

    class Scaled(torch.autograd.Function):
        """Changes in place what its backward is given."""

        @staticmethod
        def forward(ctx, x):
            return x.round()

        @staticmethod
        def backward(ctx, g):
            return g.mul_(3)

    def doubled(f):
        """What a package's decorators make of a forward and its backward."""
        @functools.wraps(f)
        def made(ctx, x):
            return f(ctx, 2 * x)
        return made

    class Decorated(torch.autograd.Function):
        @staticmethod
        @doubled
        def forward(ctx, x):
            return 5 * x

        @staticmethod
        @once_differentiable
        @doubled
        def backward(ctx, g):
            return 7 * g

    def backward_of(f):
        return type("Other", (Straight,), {"backward": staticmethod(f)})

    spike = Spike.apply


@unittest.skipIf(torch is None, "torch is not installed")
class Functions(unittest.TestCase):
    def beside(self, f, steps=3):
        torch.manual_seed(0)
        module = torch.nn.Linear(5, 6).double()
        module.forward = lambda x: f(F.linear(x, module.weight, module.bias))
        own = copy.deepcopy(module)
        own.forward = lambda x: f(F.linear(x, own.weight, own.bias))
        x, y = torch.randn(8, 5).double(), torch.randn(8, 6).double()
        optimizer = sgd(own)
        step = rt.compile(module, lambda o, t: (o - t).square().mean(), (x, y), sgd(module))
        for _ in range(steps):
            optimizer.zero_grad()
            loss = (own(x) - y).square().mean()
            loss.backward()
            optimizer.step()
            self.assertLess(abs(float(step(x, y)) - loss.item()), 1e-12 * max(1, loss.item()))
        step.copy_to(module)
        for a, b in zip(module.parameters(), own.parameters()):
            self.assertLess(float((a - b).detach().abs().max()), 1e-12 * max(1, float(b.detach().abs().max())))

    def test_values_pass_and_gradients_are_the_backwards(self):
        for f in (lambda x: Straight.apply(5 * x), lambda x: x * spike(x, 3.0), lambda x: sum(Two.apply(x, x[:6])),
                  lambda x: x.relu() * Reversed.apply(x, 0.3), lambda x: Sparsemax.apply(3 * x) * x, lambda x: Nested.apply(x)[:, None]):
            self.beside(f)

    def test_a_backward_may_change_what_it_is_given(self):
        self.beside(lambda x: Scaled.apply(5 * x) * x)

    def test_decorators_that_are_not_pytorchs_are_part_of_a_function(self):
        self.beside(lambda x: Decorated.apply(x) * x)

    def test_a_value_of_minus_0_stays_one(self):
        m = Line(lambda m, x: (1 / Straight.apply(m.w * x)).clamp(-9, 9).sum())
        step = rt.compile(m, example=(torch.tensor([0.5, 0.25, 0.125]),), optimizer=sgd(m), check=False)  # of 0, -0 and 0
        self.assertEqual(float(step(torch.tensor([0.5, 0.25, 0.125]))), 9 - 9 + 9)

    def test_a_backward_that_is_told_which_gradients_come_is_refused(self):
        class Told(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                ctx.set_materialize_grads(False)
                return x * 1, x * 2

            @staticmethod
            def backward(ctx, g, h):
                return 7 * g if h is None else g + 2 * h
        with self.assertRaisesRegex(rt.Unsupported, "which gradients do not come"):
            rt.compile(m := Line(lambda m, x: Told.apply(m.w * x)[0].sum()), example=(torch.ones(3),), optimizer=sgd(m), check=False)

    def test_a_forward_is_told_what_is_trained(self):
        class Told(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x, k):
                ctx.by = 1 + 2 * ctx.needs_input_grad[0] + 4 * ctx.needs_input_grad[1] + 8 * x.requires_grad + 16 * k.requires_grad
                return ctx.by * x * k

            @staticmethod
            def backward(ctx, g):
                return ctx.by * g if ctx.needs_input_grad[0] else None, 5 * g if ctx.needs_input_grad[1] else None
        k = torch.full((8, 6), 0.25).double()
        self.beside(lambda x: Told.apply(x, k) + Told.apply(k, x) + Told.apply(x, x))
        m = Line(lambda m, x: Told.apply(m.w, x).sum())
        forward = rt.compile_inference(m, torch.ones(3))
        for _ in range(2):
            self.assertEqual(float(forward(torch.ones(3))), float(m(torch.ones(3)).detach()))
            m.w.requires_grad_(not m.w.requires_grad)
        m = Line(lambda m, x: Told.apply(Told.apply(m.w, x), x).sum())  # what one gives is asked by the next, of answers too
        self.assertEqual(float(rt.compile_inference(m, torch.ones(3))(torch.ones(3))), float(m(torch.ones(3)).detach()))

    def test_a_forward_that_asks_whether_a_tensor_was_computed_is_told_of_leaves_alone(self):
        class Leaf(Straight):
            @staticmethod
            def forward(ctx, x):
                return x * (2 if x.is_leaf else 3 if x.grad_fn is None else 5)
        for f in (lambda m, x: Leaf.apply(m.w).sum(), lambda m, x: Leaf.apply(2 * x).sum() + m.w.sum()):
            m = Line(f)
            want = float(m(torch.ones(3)).detach())
            self.assertEqual(float(rt.compile(m, example=(torch.ones(3),), optimizer=sgd(m))(torch.ones(3))), want)
        for take in (rt.compile, rt.compile_inference):
            m = Line(lambda m, x: Leaf.apply(m.w * x).sum())
            keys = {"example": (torch.ones(3),), "optimizer": sgd(m)} if take is rt.compile else {"example": torch.ones(3)}
            with self.assertRaisesRegex(rt.Unsupported, "of Leaf, whose forward asks for is_leaf or grad_fn of a tensor that was computed"):
                take(m, **keys)

    def test_values_of_fewer_digits_are_refused_with_the_way_out(self):
        for narrow, name in ((torch.float16, "float16"), (torch.bfloat16, "bfloat16")):
            class Narrow(Straight):
                @staticmethod
                def forward(ctx, x):
                    return x.to(narrow)

                @staticmethod
                def backward(ctx, g):
                    return g.float()
            with self.assertRaisesRegex(rt.Unsupported, rf"torch_functions.py:\d+.*of Narrow, which gives elements of {name}.*Give float32"):
                rt.compile(m := Line(lambda m, x: Narrow.apply(m.w * x).float().sum()), example=(torch.ones(3),), optimizer=sgd(m))

    def test_what_a_forward_changes_is_changed(self):
        def f(x):
            z = 2 * x
            return Sparsemax.apply(z) * z + x
        self.beside(f)

    def test_what_a_forward_makes_of_large_numbers_and_infinities_is_there_to_the_bit(self):
        class Filled(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                x[1:] = 1
                return 2 * x

            @staticmethod
            def backward(ctx, g):
                return 2 * g

        def f(x):
            z = 1 * x
            return Filled.apply(z) + z
        m, x = Line(lambda m, x: f(m.w * x)), torch.tensor([4.0, 1e9, -torch.inf])
        self.assertEqual(rt.compile_inference(m, torch.ones(3))(x).tolist(), [6.0, 3.0, 3.0])
        m = Line(lambda m, x: f(m.w * x).sum())
        self.assertEqual(float(rt.compile(m, example=(x,), optimizer=sgd(m), check=False)(x)), 12.0)

    def test_infinities_that_a_function_is_given_are_taken(self):
        self.beside(lambda x: x * Sparsemax.apply(torch.where(x > 1, -torch.inf, x)))

    def test_no_gradient_goes_by_what_a_backward_reads(self):
        def f(x):
            w = x[:6].sin()

            class Times(torch.autograd.Function):
                @staticmethod
                def forward(ctx, x):
                    return 2 * x

                @staticmethod
                def backward(ctx, g):
                    return g @ w

            with torch.no_grad():
                k = Straight.apply(3 * x)
            return Times.apply(x) + k * x
        self.beside(f)

    def test_backwards_that_are_not_linear_are_refused(self):
        for f in (lambda ctx, g: g.clamp(-1, 1), lambda ctx, g: g + 1, lambda ctx, g: g.sign(), lambda ctx, g: g * g, lambda ctx, g: g / g.norm(),
                  lambda ctx, g: torch.ones_like(g), lambda ctx, g: g + 0 * (g.detach() * 0).log(),
                  lambda ctx, g: g + 0 * torch.full((3,), torch.inf), lambda ctx, g: (1e6 * g).half().float(),
                  lambda ctx, g: g.fill_(1), lambda ctx, g: g.copy_(torch.ones(3)), lambda ctx, g: g.bfloat16().float(),
                  lambda ctx, g: torch.where(g > 0, g, 0), lambda ctx, g: torch.where(g != 7, g, 1.0),
                  lambda ctx, g: g.masked_fill(g.detach() > 1, 0), lambda ctx, g: g.sort(-1).values, lambda ctx, g: g.long().to(g.dtype)):
            with self.assertRaisesRegex(rt.Unsupported, r"(torch_small|test_torch_functions).py:\d+.*its backward is not linear"):
                rt.compile(m := Line(lambda m, x: backward_of(f).apply(m.w * x).sum()), example=(torch.ones(3),), optimizer=sgd(m), check=False)

    def test_a_backward_may_change_the_gradient_it_is_given(self):
        def cut(ctx, g):
            g[:, 1] = 0
            g[:, 2] = g[:, 3] + g[:, 4]
            return g.mul_(3).add_(g)
        self.beside(lambda x: backward_of(cut).apply(x) * x)

    def test_a_0_keeps_its_sign(self):
        self.beside(lambda x: x * (1 / Straight.apply(x / 100).detach()).clamp(-2, 2))

    def test_what_a_forward_changes_has_its_bits(self):
        class Filled(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                x.exp_()
                return 2 * x

            @staticmethod
            def backward(ctx, g):
                return g * 0.5

        def f(x):
            z = torch.where(x > 0.5, -torch.inf, x)
            y = torch.where(x > 0, 1e20, x)
            return Filled.apply(z) + z + Sparsemax.apply(y) + y
        self.beside(f)

    def test_a_backward_that_keeps_gradients_is_refused(self):
        class Kept(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x, module):
                ctx.module = module
                return 2 * x

            @staticmethod
            def backward(ctx, g):
                ctx.module.kept.copy_(g)
                return g, None
        m = Line(lambda m, x: Kept.apply(m.w * x, m).sum())
        m.register_buffer("kept", torch.zeros(3))
        with self.assertRaisesRegex(rt.Unsupported, "its backward keeps what comes of the gradients"):
            rt.compile(m, example=(torch.ones(3),), optimizer=sgd(m), check=False)

    def test_a_derivative_of_a_backward_is_refused(self):
        def f(m, x):
            y = m.w * x
            return torch.autograd.grad((spike(y, 1.0) * y).sum(), y, create_graph=True)[0].sum()
        with self.assertRaisesRegex(rt.Unsupported, "a derivative of its backward"):
            rt.compile(m := Line(f), example=(torch.ones(3),), optimizer=sgd(m), check=False)

    def test_numbers_that_functions_read_are_looked_at(self):
        global SLOPE
        x = torch.tensor([1.0, 2.0, 0.5])
        for f in (lambda m, x: spike(m.w * x, 1.0).sum(), lambda m, x: Spike.apply(m.w * x, 1.0).sum()):
            m = Line(f)
            step = rt.compile(m, example=(x,), optimizer=sgd(m, 1.0))
            for slope, width in ((2.0, 0.5), (7.0, 0.5), (7.0, 0.25)):
                before = torch.tensor(step.state["w"])
                SLOPE, Spike.width = slope, width
                step(x)
                moved = before - torch.tensor(step.state["w"])
                expected = slope * torch.exp(-(before * x).square() * width) * x
                self.assertLess(float((moved - expected).abs().max()), 1e-5)
            SLOPE, Spike.width = 2.0, 0.5

    def test_answers_have_the_forward_alone(self):
        m = Line(lambda m, x: spike(m.w * x, 1.0) * x)
        forward = rt.compile_inference(m, torch.ones(3))
        self.assertTrue(torch.equal(forward(torch.ones(3)), m(torch.ones(3))))


if __name__ == "__main__":
    unittest.main()
