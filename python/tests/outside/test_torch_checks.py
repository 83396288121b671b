# SPDX-License-Identifier: Apache-2.0
"""Checks of values that only raise are a part of the program, whose step is an error where PyTorch raises; what only looks like such a
check is refused."""
import importlib
import importlib.util
import os
import sys
import tempfile
import unittest

if importlib.util.find_spec("torch") is None:
    if __name__ == "__main__":
        sys.exit(print("Ran 0 tests: torch is not installed"))
    raise unittest.SkipTest("torch is not installed")

import torch

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import checked_models
import reprise
import reprise.torch as rt
from checked_models import DISHONEST, GUARDED, HONEST, OF_NAN, TOGETHER, Checked

X = torch.randn(4, 3, generator=torch.Generator().manual_seed(0))
LARGE = torch.where(X == X.max(), 1000.0, X)


def held(step):
    return {k: bytes(memoryview(v)) for k, v in step.state.items()}


class Checks(unittest.TestCase):
    def wrong(self, call):
        with self.assertRaises(reprise.Error) as caught:
            call(LARGE)
        notes = "\n".join(caught.exception.__notes__)
        self.assertIn("the model's own check", notes)
        return notes

    def test_a_step_is_an_error_where_pytorch_raises_and_goes_on_after_it(self):
        for f in HONEST:
            with self.subTest(f.__name__):
                m, other = Checked(f), Checked(f)
                step = rt.compile(m, None, (X,), torch.optim.SGD(m.parameters(), 1e-4, momentum=0.9))
                optimizer = torch.optim.SGD(other.parameters(), 1e-4, momentum=0.9)
                for k in range(4):
                    if k == 2:
                        before = held(step)
                        self.wrong(step)
                        self.assertEqual(before, held(step))
                        with self.assertRaises(Exception):
                            Checked(f)(LARGE)
                    optimizer.zero_grad()
                    loss = other(X)
                    loss.backward()
                    optimizer.step()
                    self.assertAlmostEqual(float(step(X)), float(loss.detach()), delta=1e-4 * abs(float(loss.detach())))

    def test_an_answer_too(self):
        for f in HONEST:
            with self.subTest(f.__name__):
                m = Checked(f).eval()
                forward = rt.compile_inference(m, X)
                for _ in range(3):
                    torch.testing.assert_close(forward(X), m(X).detach(), rtol=1e-4, atol=1e-4)
                    self.wrong(forward)

    def test_parts_that_raise_together_do_so_only_together(self):
        above = LARGE.abs() + 0.5
        for f in TOGETHER:
            with self.subTest(f.__name__):
                m = Checked(f).eval()
                forward = rt.compile_inference(m, X)
                for x in (X, above, LARGE, X + 3, above):
                    if x is LARGE:
                        with self.assertRaises((ValueError, AssertionError)):
                            m(x)
                        self.wrong(forward)
                    else:
                        torch.testing.assert_close(forward(x), m(x).detach(), rtol=1e-4, atol=1e-4)

    def test_of_what_the_exporter_computes_itself(self):
        of_tensor = importlib.import_module("reprise.torch.checks").operations()[1]  # as of the scale of a pyro.distributions.Normal(x, 1.0)
        for bad in (False, True):
            self.assertEqual(bool(of_tensor(torch.tensor(bad), 3)), bad)

    def test_what_is_known_stands_first(self):
        with self.assertRaisesRegex(rt.Unsupported, "checked_models.py:.*Let what is known stand first"):
            rt.compile_inference(Checked(checked_models.known_behind).eval(), X)

    def test_ints_of_numbers_at_their_edges(self):
        for value, ok in ((99.99, True), (100.0, False), (-49.5, False), (-49.26, True), (-50.0, False), (torch.inf, False), (torch.nan, False)):
            m, x = Checked(checked_models.of_ints).eval(), X.clone()
            x[1, 1] = value
            forward = rt.compile_inference(m, X)
            with self.subTest(value):
                if ok:
                    torch.testing.assert_close(forward(x), m(x).detach(), rtol=1e-4, atol=1e-4)
                else:
                    with self.assertRaises((ValueError, AssertionError, OverflowError)):
                        m(x)
                    with self.assertRaises(reprise.Error):
                        forward(x)

    def test_an_int_that_earlier_parts_leave_unasked_is_no_error(self):
        m = Checked(checked_models.asked_of_finite).eval()
        forward = rt.compile_inference(m, X)
        for value in (torch.nan, torch.inf, 1.0):
            x = torch.where(X == X.max(), value, X)
            torch.testing.assert_close(forward(x), m(x).detach(), rtol=1e-4, atol=1e-4, equal_nan=True)
        self.wrong(forward)

    def test_of_nan_as_python_has_it(self):
        for f in OF_NAN:
            with self.subTest(f.__name__):
                m = Checked(f).eval()
                x = torch.where(X == X.max(), torch.nan, X)
                with self.assertRaises(Exception):
                    m(x)
                with self.assertRaises(reprise.Error):
                    rt.compile_inference(m, X)(x)

    def test_an_error_has_the_statement_and_a_program_its_number(self):
        m = Checked(checked_models.plain)
        step = rt.compile(m, None, (X,), torch.optim.Adam(m.parameters(), 0.01))
        self.assertIn("if x.max() >= m.n: raise ValueError(f'{x.max()} is {m.n} or more')", self.wrong(step))
        number, text = next(iter(step.origin["checks"].items()))
        self.assertIn("x.max() >= m.n", text)
        self.assertIn(number, step.program.text.decode())

    def test_what_a_check_looks_at_is_of_each_step(self):
        m = Checked(checked_models.plain)
        step = rt.compile(m, None, (X,), torch.optim.Adam(m.parameters(), 0.01))
        m.n = 2000
        float(step(LARGE))
        m.n = 100
        self.wrong(step)

    def test_a_record_replays(self):
        m = Checked(checked_models.several)
        step = rt.compile(m, None, (X,), torch.optim.Adam(m.parameters(), 0.01))
        with tempfile.TemporaryDirectory() as folder, rt.record(os.path.join(folder, "run.reprise")) as recorded:
            for _ in range(3):
                step(X)
        self.assertEqual(len(recorded.id), 64)

    def test_what_only_looks_like_a_check_is_refused(self):
        for f in DISHONEST:
            with self.subTest(f.__name__), self.assertRaises(rt.Unsupported):
                m = Checked(f).eval()
                found = rt.compile_inference(m, X)
                self.fail(f"taken: {found(X)}, PyTorch has {m(X)}")

    def test_a_refusal_that_the_forward_swallows_stays_one(self):
        for k, f in enumerate(GUARDED):
            with self.subTest(k), self.assertRaises(rt.Unsupported):
                m = Checked(f).eval()
                found = rt.compile_inference(m, X)
                self.fail(f"taken: {found(X)}, PyTorch has {m(X)}")

    def test_source_that_is_not_what_was_compiled_is_none(self):
        text = "import torch\n\ndef forward(m, x, y):\n    if x.max() {} 100:\n        raise ValueError\n    return y\n"
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "written.py")
            for written in (text.format(">="), text.format("<"), None):
                if written is not None:
                    with open(path, "w") as f:
                        f.write(written)
                else:
                    os.remove(path)
                space = {}
                exec(compile(text.format(">="), path, "exec"), space)
                m = Checked(space["forward"]).eval()
                if written == text.format(">="):
                    self.wrong(rt.compile_inference(m, X))
                else:
                    with self.assertRaises(rt.Unsupported):
                        rt.compile_inference(m, X)

    def test_torch_compile_keeps_them(self):
        def f(x):
            torch._assert_async((x < 100).all(), "too large")
            return x * 2

        def g(x):
            torch._check(x.max().item() < 100)
            return x * 2
        torch._dynamo.config.capture_scalar_outputs = True
        try:
            for of in (f, g):
                with self.subTest(of.__name__):
                    torch._dynamo.reset()
                    compiled = torch.compile(of, backend="reprise", fullgraph=True)
                    with torch.no_grad():
                        torch.testing.assert_close(compiled(X), X * 2)
                        with self.assertRaises(Exception):
                            compiled(LARGE)
        finally:
            torch._dynamo.config.capture_scalar_outputs = False


if __name__ == "__main__":
    unittest.main()
