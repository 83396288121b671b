# SPDX-License-Identifier: Apache-2.0
"""torch.compile(model, backend="reprise"): values and gradients, nothing left out in silence. Runs where PyTorch is installed."""
import copy
import importlib.util
import sys
import unittest
import warnings

if importlib.util.find_spec("torch") is None:
    if __name__ == "__main__":
        sys.exit(print("Ran 0 tests: torch is not installed"))
    raise unittest.SkipTest("torch is not installed")

import torch

from reprise.torch import backend as door


class Backend(unittest.TestCase):
    def setUp(self):
        torch._dynamo.reset()
        torch.manual_seed(0)
        door.report(clear=True)
        self.model = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.GELU(), torch.nn.LayerNorm(16), torch.nn.Linear(16, 4))
        self.x = torch.randn(3, 8)

    def test_what_is_one_element_in_memory_stays_one(self):
        """As expand() makes it: PyTorch's own compilers raise where such a tensor is written later, and no result is another's silently."""
        def f(x):
            return x.mean(0, keepdim=True).expand(3, 4), x * 2
        x = torch.randn(5, 4)
        for found, expected in zip(torch.compile(f, backend="reprise")(x), f(x)):
            self.assertEqual(found.stride(), expected.stride())
            torch.testing.assert_close(found, expected)

    def test_inference_gives_the_models_values_and_pytorch_computes_none_of_it(self):
        compiled = torch.compile(self.model, backend=door.backend, fullgraph=True)
        with torch.no_grad():
            torch.testing.assert_close(compiled(self.x), self.model(self.x), rtol=1e-5, atol=1e-6)
            with door.outside() as operations:
                compiled(self.x)
        self.assertEqual(operations, [])

    def test_a_backward_is_a_program_too(self):
        compiled = torch.compile(self.model, backend=door.backend, fullgraph=True)
        compiled(self.x).square().mean().backward()
        found = [p.grad.clone() for p in self.model.parameters()]
        self.model.zero_grad()
        self.model(self.x).square().mean().backward()
        for a, p in zip(found, self.model.parameters()):
            torch.testing.assert_close(a, p.grad, rtol=1e-4, atol=1e-6)
        self.assertEqual((len(door.report().compiled), door.report().refused), (2, []))

    def test_operations_that_gradients_alone_have_are_written_in_others(self):
        """A batch norm in training, `h[:, 0]`, activations: their backward is an operation of its own, which no program has."""
        class Taken(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.c, self.n, self.l = torch.nn.Conv2d(3, 4, 3), torch.nn.BatchNorm2d(4), torch.nn.Linear(4, 4)

            def forward(self, x):
                h = torch.nn.functional.hardswish(self.n(self.c(x))).flatten(2).transpose(1, 2)
                return torch.nn.functional.elu(self.l(h))[:, 0].square().mean()
        model, x = Taken().double(), torch.randn(2, 3, 6, 6, dtype=torch.float64)
        own = copy.deepcopy(model)
        for f in (torch.compile(model, backend=door.backend, fullgraph=True), own):
            f(x).backward()
        for (name, a), b in zip([*model.named_parameters(), *model.named_buffers()], [*own.parameters(), *own.buffers()]):
            torch.testing.assert_close(a, b, rtol=1e-10, atol=1e-12, msg=name)
            if a.requires_grad:
                torch.testing.assert_close(a.grad, b.grad, rtol=1e-10, atol=1e-12, msg=name)
        self.assertEqual((len(door.report().compiled), door.report().refused), (2, []))

    def test_bounds(self):
        """What a clamp's gradient is at its bounds is asked of PyTorch, which computes nothing while torch.compile is at work."""
        x = torch.tensor([[-1.0, 0.0, 0.5, 1.0, 2.0]], dtype=torch.float64)
        given = [x.clone().requires_grad_() for _ in range(2)]
        f = lambda x: x.clamp(0.0, 1.0) * 3 + torch.nn.functional.interpolate(x[None], scale_factor=2.0, mode="linear")[0, :, :5]  # noqa: E731
        found, expected = (g(x) for g, x in zip((torch.compile(f, backend=door.backend, fullgraph=True), f), given))
        torch.testing.assert_close(found, expected, rtol=1e-12, atol=0)
        for v in (found, expected):
            v.sum().backward()
        torch.testing.assert_close(given[0].grad, given[1].grad, rtol=1e-12, atol=0)

    def test_what_programs_have_not_is_an_error(self):
        with self.assertRaises(Exception) as caught:
            torch.compile(lambda x: torch.special.bessel_j0(x) + 1, backend=door.backend, fullgraph=True)(torch.eye(3))
        self.assertIn("Unsupported", str(caught.exception))

    def test_or_goes_to_pytorch_with_a_warning_and_a_line_in_the_report(self):
        f = torch.compile(lambda x: torch.special.bessel_j0(x) + 1, backend=door.backend, fullgraph=True, options={"strict": False})
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            torch.testing.assert_close(f(torch.eye(3)), torch.special.bessel_j0(torch.eye(3)) + 1)
        self.assertTrue(any("leaves a graph" in str(w.message) for w in caught))
        self.assertEqual(len(door.report().refused), 1)

    def test_what_dynamo_leaves_out_is_listed(self):
        def f(x):
            y = (x * 2).sum()
            return x + float(y)  # a number of Python: a break of the graph
        torch._dynamo.config.capture_scalar_outputs = False
        compiled = torch.compile(f, backend=door.backend)
        compiled(self.x)
        with door.outside() as operations:
            compiled(self.x)
        self.assertTrue(any("_local_scalar_dense" in o for o in operations), operations)


if __name__ == "__main__":
    unittest.main()
