# SPDX-License-Identifier: Apache-2.0
"""Where a translation could silently give another value than jax: extremes, zeros, infinities, derivatives of one's own.
Each case failed once. Skipped where jax is not installed."""
from __future__ import annotations

import importlib
import importlib.util
import unittest

import numpy as np

HAVE = importlib.util.find_spec("jax") is not None
if HAVE:
    import jax
    import jax.numpy as jnp
    from jax import lax

    import reprise
    import reprise.jax as rj

    optax = importlib.import_module("optax") if importlib.util.find_spec("optax") else None

INF = float("inf")


@unittest.skipUnless(HAVE, "jax is not installed")
class Values(unittest.TestCase):
    def same(self, f, *arrays):
        args = [jnp.asarray(a) for a in arrays]
        want, got = np.asarray(f(*args)), np.asarray(rj.function(f, *args)(*args))
        self.assertEqual(want.dtype, got.dtype)
        np.testing.assert_array_equal(got, want)
        if want.dtype.kind == "f":
            np.testing.assert_array_equal(np.signbit(got) & (got == 0), np.signbit(want) & (want == 0))

    def test_windows_of_the_least_integer(self):
        x = np.array([-2 ** 31, 5, 7], np.int32)
        self.same(lambda x: lax.reduce_window(x, np.int32(2 ** 31 - 1), lax.min, (2,), (1,), "SAME"), x)
        self.same(lambda x: lax.reduce_window(x, np.float32(INF), lax.min, (2,), (1,), "SAME"), np.float32([-1, 5, -INF, np.nan]))

    def test_cholesky_reads_the_lower_triangle(self):
        def factor(x):
            return lax.linalg.cholesky(x, symmetrize_input=False)
        self.same(factor, np.float32([[4, 9], [2, 5]]))
        x = jnp.float32([[-4, 1], [1, 5]])
        self.assertTrue(np.isnan(np.asarray(rj.function(factor, x)(x))[np.tril_indices(2)]).any())

    def test_reduced_precision_has_no_subnormal_numbers(self):
        x = np.float32([1e-6, -1e-6, 1e-8, 2.0 ** -14, 2.0 ** -14 - 2.0 ** -26, 2.0 ** -14 - 2.0 ** -25, 65520, np.nan])
        self.same(lambda x: lax.reduce_precision(x, 5, 10), x)

    def test_cumulative_logsumexp_of_infinities(self):
        self.same(lambda x: jnp.isinf(lax.cumlogsumexp(x)), np.float32([1, INF, 2, -INF]))

    def test_products_in_the_type_that_is_asked_for(self):
        with jax.enable_x64(True) if hasattr(jax, "enable_x64") else jax.experimental.enable_x64(True):
            a = np.float32([[1 / 3, 2 / 3], [0.1, 0.7]])
            args = [jnp.asarray(a)]
            f = rj.function(lambda x: lax.dot(x, x, preferred_element_type=jnp.float64), *args)
            wide = a.astype(np.float64)
            np.testing.assert_allclose(np.asarray(f(*args)), wide @ wide, rtol=1e-14)


@unittest.skipUnless(HAVE, "jax is not installed")
class Steps(unittest.TestCase):
    def check(self, f, params, *batch):
        """The gradients and the loss are compared by compile itself."""
        p = jnp.float32(params)
        step = rj.compile(f, p, tuple(batch))
        self.assertEqual(step(*batch), float(f(p, *batch)))

    def test_gradients_at_zero(self):
        self.check(lambda p: jnp.abs(p).sum(), [0, 1, -2])
        self.check(lambda p: jnp.ones(3).at[jnp.array([0, 1])].mul(p, unique_indices=True).sum(), [1, 0])

    def test_an_infinite_derivative_is_an_error_and_no_other_loss(self):
        @jax.custom_jvp
        def root(x):
            return jnp.sqrt(x)
        root.defjvp(lambda x, t: (jnp.sqrt(x[0]), t[0] * 0.5 / jnp.sqrt(x[0])))
        self.check(lambda p: root(p).sum(), [1, 4])
        with self.assertRaises(reprise.DataError):
            rj.compile(lambda p: root(p).sum(), jnp.float32([0, 1]), ())
        step = rj.compile(lambda p: root(p).sum(), jnp.float32([0, 1]), (), check=False)
        with self.assertRaises(reprise.DataError):
            step()

    def test_the_loss_is_compared(self):
        from reprise.jax import step as module
        self.check(lambda p: (p * p).sum(), [1, 2])
        original = module.Step._flat

        def other(self, batch, form):
            f = original(self, batch, form)
            return (lambda *x: [f(*x)[0] + 1, *f(*x)[1:]]) if form == {} and getattr(self, "_last", None) is not None else f
        module.Step._flat = other
        try:
            with self.assertRaisesRegex(rj.GradientsDiffer, "the loss is"):
                rj.compile(lambda p: (p * p).sum(), jnp.float32([1, 2]), ())
        finally:
            module.Step._flat = original

    def test_ways_back_that_add_something(self):
        def made(back):
            @jax.custom_vjp
            def twice(x):
                return 2 * x
            twice.defvjp(lambda x: (2 * x, x), back)
            return twice
        fine, added, masked = (made(b) for b in (lambda x, g: (2 * g,), lambda x, g: (2 * g + 0.5 * x,),
                                                 lambda x, g: (jnp.where(x > 0, g, 1.0),)))
        self.check(lambda p: fine(p).sum(), [0, 1])
        for f in (added, masked):  # at 0 the comparison sees nothing of what is added
            with self.assertRaisesRegex(NotImplementedError, "adds to the cotangent"):
                rj.compile(lambda p, f=f: f(p).sum(), jnp.float32([0, 0]), (), check=False)

    def test_what_is_no_array_belongs_to_the_program(self):
        def loss(p, x, mode):
            return (p * x).sum() if mode == "plain" else (p * x).sum() * 10
        step = rj.compile(loss, jnp.float32([1, 2]), (jnp.float32([1, 1]), "plain"))
        self.assertEqual([step(jnp.float32([1, 1]), m) for m in ("plain", "other", "plain")], [3, 30, 3])
        f = rj.function(lambda x, mode: x if mode == "plain" else -x, jnp.float32([1]), "plain")
        with self.assertRaisesRegex(ValueError, "of what is no array"):
            f(jnp.float32([1]), "other")
        step = rj.compile(lambda p, x: (p.astype(jnp.bfloat16) * x).astype(jnp.float32).sum(), jnp.float32([1]), (1.01,), check=False)
        self.assertEqual([step(1.01), step(jnp.float32(1.01))], [1.0078125, float(np.float32(1.01))])

    def test_arrays_of_64_bits_have_32_as_in_jax(self):
        x, w = np.array([[1 / 3, 2.0], [0.1, 5.0]]), np.array([[1 / 7], [3.0]])
        step = rj.compile(lambda p, x: (x @ p).sum(), w, (x,), optax.sgd(0.1) if optax else None)
        self.assertEqual({s.dtype for s in step._values.values()}, {np.dtype(np.float32)})
        self.assertEqual(step(x), float((x.astype(np.float32) @ w.astype(np.float32)).sum()))
        step(jnp.asarray(x))  # the same program
        self.assertEqual(len(step._compiled), 1)
        with self.assertRaisesRegex(OverflowError, "int32 does not hold"):
            rj.function(lambda x: x + 1, np.array([2 ** 31]))

    def test_a_state_in_another_form(self):
        state = {"a": jnp.float32(1), "b": jnp.float32(2)}
        with self.assertRaisesRegex(TypeError, "state.0"):
            rj.compile(lambda p, s: (p.sum() * s["a"], (s["b"], s["a"])), jnp.float32([1]), (), state=state)


if __name__ == "__main__":
    unittest.main()
