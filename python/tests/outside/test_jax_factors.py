# SPDX-License-Identifier: Apache-2.0
"""Matrices that jax factors: QR, eigenvalues, singular values and what numpy's names make of them, beside jax's own values and gradients in
binary64; random integers of 64 bits. Skipped where jax is not installed."""
from __future__ import annotations

import importlib
import importlib.util
import unittest

import numpy as np

HAVE = importlib.util.find_spec("jax") is not None and importlib.util.find_spec("optax") is not None
if HAVE:
    import jax
    import jax.numpy as jnp

    import reprise.jax as rj

    optax = importlib.import_module("optax")


@unittest.skipUnless(HAVE, "jax or optax is not installed")
class Factors(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.wide = jax.config.jax_enable_x64
        jax.config.update("jax_enable_x64", True)
        rng = np.random.default_rng(0)
        cls.tall, cls.low = rng.standard_normal((2, 5, 3)), rng.standard_normal((3, 5))
        square = rng.standard_normal((2, 4, 4))
        cls.symmetric = square + square.transpose(0, 2, 1)
        cls.c3, cls.c33, cls.c44 = rng.standard_normal((2, 5, 3)), rng.standard_normal((2, 3, 3)), rng.standard_normal((2, 4, 4))

    @classmethod
    def tearDownClass(cls):
        jax.config.update("jax_enable_x64", cls.wide)

    def near(self, f, a):
        """Value and gradient, by a step of sgd with a rate of 1."""
        step = rj.compile(lambda p, t: f(p) * t, jnp.asarray(a), (np.float64(1),), optax.sgd(1.0), tolerance=1e-9)
        value, gradient = f(jnp.asarray(a)), np.asarray(jax.grad(f)(jnp.asarray(a)))
        self.assertAlmostEqual(float(step(np.float64(1))), float(value), delta=1e-12 * abs(float(value)))
        np.testing.assert_allclose(a - np.asarray(step.params()), gradient, rtol=1e-10, atol=1e-12 * np.abs(gradient).max())

    def same(self, f, a, **tolerance):
        a = jnp.asarray(a) if isinstance(a, np.ndarray) else a
        for got, want in zip(jax.tree.leaves(rj.function(f, a)(a)), jax.tree.leaves(f(a)), strict=True):
            np.testing.assert_allclose(np.asarray(got), np.asarray(want), **{"rtol": 1e-10, "atol": 1e-12, **tolerance})

    def test_qr_has_lapacks_signs_and_jaxs_gradients(self):
        self.near(lambda a: (jnp.linalg.qr(a)[0] * self.c3).sum() + (jnp.linalg.qr(a)[1] * self.c33).sum(), self.tall)
        self.near(lambda a: (jnp.linalg.qr(a)[0] * self.c44).sum() + (jnp.linalg.qr(a)[1] ** 2 * self.c44).sum(), self.symmetric)
        for a in (self.tall, self.low, np.where(self.tall > 2, np.nan, self.tall)):
            for mode in ("reduced", "complete", "r"):
                self.same(lambda a, mode=mode: jnp.linalg.qr(a, mode=mode), a)
        for f, a in ((lambda a: jnp.linalg.qr(a)[1].sum(), self.low), (lambda a: jnp.linalg.qr(a, mode="complete")[1].sum(), self.tall)):
            with self.assertRaisesRegex(rj.Unsupported, "which jax has not either"):
                rj.compile(lambda p, t, f=f: f(p) * t, jnp.asarray(a), (np.float64(1),), optax.sgd(1.0), check=False)

    def test_rows_or_columns_that_are_equal_have_singular_values(self):
        """Of which a column becomes less with each rotation, to the least number there is."""
        same = self.symmetric[0][[0, 1, 2, 0]]
        for a in (same, same.T, same.astype(np.float32), self.tall[0][[0, 1, 0, 1, 0]], np.sign(self.low)):
            tolerance = {"rtol": 1e-4, "atol": 1e-5} if a.dtype == np.float32 else {}
            self.same(lambda a: (jnp.linalg.svd(a, compute_uv=False), jnp.linalg.matrix_rank(a), jnp.linalg.pinv(a)), a, **tolerance)
            self.same(lambda a: (lambda u, s, v: (u * s) @ v - a)(*jnp.linalg.svd(a, full_matrices=False)), a, **{"atol": 1e-12, **tolerance})

    def test_eigenvalues_and_vectors(self):
        self.near(lambda a: (jnp.linalg.eigh(a)[0] ** 3).sum() + (jnp.linalg.eigh(a)[1] ** 2 * self.c44).sum(), self.symmetric)
        self.near(lambda a: jnp.exp(jnp.linalg.eigvalsh(a)).sum(), self.symmetric)
        for a in (self.symmetric, np.where(np.abs(self.symmetric) > 2, np.nan, self.symmetric), np.ones((1, 1))):
            self.same(lambda a: jnp.linalg.eigh(a)[0], a)
        for side in "UL":  # one triangle is read
            self.same(lambda a, side=side: jnp.linalg.eigh(a, UPLO=side, symmetrize_input=False)[0], self.tall[0, :3])

    def test_singular_values_and_vectors(self):
        def parts(a):
            u, s, v = jnp.linalg.svd(a, full_matrices=False)
            return (u ** 2 * self.c3).sum() + (s ** 3).sum() + (v ** 2 * self.c33).sum()
        self.near(parts, self.tall)
        self.near(lambda a: (jnp.linalg.svd(a, full_matrices=False)[2][0] ** 4).sum(), self.low)
        self.near(lambda a: jnp.linalg.svd(a, compute_uv=False).sum(), self.tall)
        for a in (self.low, np.zeros((3, 2)), np.where(np.abs(self.tall) > 2, np.nan, self.tall)):  # of infinities LAPACK does not end
            self.same(lambda a: jnp.linalg.svd(a)[1], a)

        def whole(a):
            u, s, v = jnp.linalg.svd(a)
            return (u[:, :3] * s) @ v[:3], u.T @ u, v @ v.T
        self.same(whole, self.tall[0])
        with self.assertRaisesRegex(rj.Unsupported, "full_matrices=False"):
            rj.compile(lambda p, t: jnp.linalg.svd(p)[0].sum() * t, jnp.asarray(self.tall), (np.float64(1),), optax.sgd(1.0), check=False)

    def test_what_is_made_of_them(self):
        for f, a in ((lambda a: (jnp.linalg.pinv(a) ** 3).sum(), self.tall), (lambda a: (jnp.linalg.pinv(a) ** 3).sum(), self.low),
                     (lambda a: (jnp.linalg.lstsq(a, self.c3[0, :, :2])[0] ** 2).sum(), self.tall[0]),
                     (lambda a: jnp.linalg.norm(a, ord="nuc"), self.tall[0]), (jnp.linalg.cond, self.tall[0])):
            self.near(f, a)
        self.same(lambda a: jnp.linalg.lstsq(a, self.c3[0, :, 0]), self.tall[0])
        self.same(jnp.linalg.matrix_rank, np.ones((3, 3)))

    def test_eigenvalues_of_what_is_not_symmetric_have_jaxs_gradients(self):
        a = self.tall[0, :3]
        for side in ("L", "U"):
            def f(a, side=side):
                return (jnp.linalg.eigvalsh(a, UPLO=side, symmetrize_input=False) ** 3).sum()
            step = rj.compile(lambda p, t, f=f: f(p) * t, jnp.asarray(a), (np.float64(1),), optax.sgd(1.0), tolerance=1e-9)
            value, gradient = jax.value_and_grad(f)(jnp.asarray(a))  # a value of its own: of the mean of both triangles
            self.assertAlmostEqual(float(step(np.float64(1))), float(value), delta=1e-12 * abs(float(value)))
            np.testing.assert_allclose(a - np.asarray(step.params()), gradient, rtol=1e-10, atol=1e-12 * np.abs(gradient).max())

    def test_equal_eigenvalues_have_no_gradient_of_vectors(self):
        step = rj.compile(lambda p, t: (jnp.linalg.eigh(p)[1] ** 4).sum() * t, jnp.asarray(self.symmetric[0]), (np.float64(1),), optax.sgd(0.0),
                          check=False)
        step(np.float64(1))
        with self.assertRaises(Exception):  # NaN in jax, an error of the step here
            rj.compile(lambda p, t: (jnp.linalg.eigh(p)[1] ** 4).sum() * t, jnp.eye(3), (np.float64(1),), optax.sgd(0.0),
                       check=False)(np.float64(1))

    def test_integers_of_64_bits_are_jaxs_bits(self):
        for low, high in ((-5, 10 ** 15), (0, 3), (-2 ** 63, 2 ** 63 - 1), (-2 ** 62, 2 ** 63 - 1)):
            self.same(lambda k, low=low, high=high: jax.random.randint(k, (300,), low, high, dtype=jnp.int64), jax.random.key(1), rtol=0, atol=0)
        self.same(lambda k: jax.random.orthogonal(k, 3), jax.random.key(1))

    def test_what_is_left_is_refused_by_name(self):
        for f, what in ((lambda a: jax.scipy.special.polygamma(2, a), "polygamma"), (lambda a: jax.scipy.special.zeta(a, 2.0), "zeta"),
                        (lambda a: jax.scipy.special.betainc(a, a, a / 9), "regularized_incomplete_beta"),
                        (lambda a: jnp.linalg.eig(a)[0].real, "eig")):
            with self.assertRaisesRegex(rj.Unsupported, what):
                rj.function(f, jnp.asarray(np.abs(self.symmetric[0])))


if __name__ == "__main__":
    unittest.main()
