# SPDX-License-Identifier: Apache-2.0
"""Complex numbers and Fourier transforms of jax beside jax in binary64, values and gradients; complex parameters, states and batches; and
what is refused by name."""
import importlib.util
import os
import subprocess
import sys
import tempfile
import unittest

import numpy as np

if importlib.util.find_spec("jax") is None or importlib.util.find_spec("optax") is None:
    if __name__ == "__main__":
        sys.exit(print("Ran 0 tests: jax or optax is not installed"))
    raise unittest.SkipTest("jax or optax is not installed")

import jax
import jax.numpy as jnp
import optax
from jax import lax

import reprise.jax as rj

COMMAND = os.environ.get("REPRISE_COMMAND", "reprise")
EXACT = 1e-12


def drawn(*shape):
    rng = np.random.default_rng(sum(shape))
    return rng.standard_normal(shape) + 1j * rng.standard_normal(shape)


def far(a, b):
    a, b = np.asarray(a), np.asarray(b)
    assert (a.dtype, a.shape) == (b.dtype, b.shape), (a.dtype, b.dtype, a.shape, b.shape)
    return float(np.max(np.abs(a - b), initial=0)) / max(float(np.max(np.abs(b), initial=0)), 1e-30)


class Complex(unittest.TestCase):
    def setUp(self):
        wide = jax.enable_x64(True) if hasattr(jax, "enable_x64") else jax.experimental.enable_x64(True)
        wide.__enter__()
        self.addCleanup(wide.__exit__, None, None, None)

    def near(self, f, *args):
        """Values, and gradients of the first operand, complex or not."""
        made, want = rj.function(f, *args), f(*args)
        for a, b in zip(jax.tree_util.tree_leaves(made(*args)), jax.tree_util.tree_leaves(want), strict=True):
            self.assertLess(far(a, b), EXACT)

        def loss(p, *rest):
            return sum(jnp.sum(jnp.abs(y - 0.1) ** 2 * (1 + jnp.arange(y.size).reshape(y.shape)))
                       for y in jax.tree_util.tree_leaves(f(p, *rest)))
        step = rj.compile(loss, args[0], args[1:], tolerance=1e-9)
        self.assertLess(step.check["difference"], 1e-11)

    def test_transforms_of_every_kind_of_length(self):
        for n in (1, 2, 12, 128, 263, 300):
            x, z = drawn(2, n).real, drawn(3, n)
            with self.subTest(n=n):
                self.near(jnp.fft.rfft, x)
                self.near(lambda x, n=n: jnp.fft.irfft(jnp.fft.rfft(x) * (1 + 0.5j), n), x)
                self.near(lambda z: (jnp.fft.fft(z), jnp.fft.ifft(z)), z)

    def test_several_axes_norms_and_shifts(self):
        x, z = drawn(2, 6, 8).real, drawn(3, 4, 6)
        for f, a in ((jnp.fft.rfft2, x), (lambda z: jnp.fft.irfft2(z, s=(4, 9)), z), (lambda z: jnp.fft.fftn(z, axes=(0, 2)), z),
                     (jnp.fft.ifftn, z), (lambda x: jnp.fft.rfftn(x, norm="ortho"), x), (lambda z: jnp.fft.hfft(z), z),
                     (lambda x: jnp.fft.fftshift(jnp.fft.fft(x, axis=1)), x)):
            self.near(f, a)

    def test_functions_and_what_moves_elements(self):
        z = drawn(4, 6)
        for name in ("exp", "log", "sqrt", "sin", "cos", "tan", "sinh", "cosh", "tanh", "abs", "angle", "conj", "reciprocal", "exp2", "expm1",
                     "log1p", "square", "prod", "cumsum", "std"):
            with self.subTest(name):
                self.near(getattr(jnp, name), z)
        for f in (lambda z: z ** 3, lambda z: z ** -2, lambda z: z ** (1 + 0.5j), lambda z: z / z[::-1], lambda z: z @ z.T.conj(),
                  lambda z: jnp.where(z.real > 0, z, 2j), lambda z: jnp.pad(z, 1),
                  lambda z: jnp.asarray(z).at[jnp.array([0, 3, 9])].get(mode="fill", fill_value=2j),
                  lambda z: jnp.zeros((4, 9), z.dtype).at[:, 2:8].set(z), lambda z: jnp.convolve(z[0], z[1]),
                  lambda z: jnp.zeros(4, z.dtype).at[jnp.array([0, 1, 1, 7])].add(z[:, 0]), lambda z: (z == z[0]).sum() * z,
                  lambda z: lax.scan(lambda c, x: (c * 0.5j + x, (c.real, c)), z[0], z),
                  lambda z: lax.fori_loop(0, 5, lambda i, c: c * (1j + i) + z, z), jax.checkpoint(lambda z: jnp.exp(z) * z),
                  lambda z: lax.cond(z[0, 0].real > 0, lambda q: q * 2j, lambda q: q, z), jax.vmap(lambda r: jnp.fft.fft(r) * r[0]),
                  lambda z: lax.associative_scan(lambda a, b: a * b, z), lambda z: lax.map(lambda r: jnp.fft.ifft(r).sum(), z)):
            self.near(f, z)
        grown = rj.function(lambda z: lax.while_loop(lambda c: jnp.abs(c[0]) < 5, lambda c: (c[0] * z[1], c[1] + 1), (z[0], 0)), z[:2, 0])
        self.assertEqual(int(grown(np.array([0.5, 1 + 1j]))[1]), 7)
        self.assertLess(far(grown(np.array([0.5, 1 + 1j]))[0], jnp.asarray(0.5 * (1 + 1j) ** 7)), EXACT)

    def test_a_size_of_nothing_has_a_gradient_of_nothing(self):
        z = np.array([0, 3 + 4j, 1e200 + 1e200j, 1e-200j])
        self.near(lambda z: jnp.abs(z) * jnp.array([1, 1, 1e-200, 1e200]), z)
        step = rj.compile(lambda p: jnp.sum(jnp.abs(p) * jnp.array([1, 1, 1, 1.0])), z, (), optax.sgd(1.0))
        step()
        np.testing.assert_array_equal(np.asarray(step.params())[0], 0)

    def test_logarithms_far_from_1(self):
        z = np.array([1e200 - 1e199j, -3e180j, 5, 0.1j, -1 + 1e-20j, -1.5 + 1e-3j])
        for f in (jnp.log1p, jnp.log):
            made = rj.function(f, z)(z)
            np.testing.assert_allclose(made, np.log(z + (f is jnp.log1p)), rtol=1e-13)
            slope = rj.compile(lambda p, f=f: jnp.sum(f(p).real * jnp.array([1e200, 1e180, 1, 1, 1e-20, 1])), z, (), tolerance=1e-9)
            self.assertLess(slope.check["difference"], 1e-11)

    def test_roots_powers_and_quotients_at_zeros_and_what_overflows(self):
        """Signs of zeros as jax has them: the root of -z is i sqrt(z). What has overflown divides to 0, and 0 to below 0 is no number."""
        z, zero = np.array([1, 4, 0, -9j]), np.zeros(6, complex)
        wide = np.array([-1000 + 1j, -1000, 1000, 800 + 3j, 1e300, -2])
        for f, args in ((lambda z: jnp.sqrt(-z), (z,)), (jnp.power, (zero, np.array([-0.5, -1, 0, 2, -1 + 1j, 0.5 + 1j]))),
                        (lambda z: z ** -1.5, (zero,)), (lambda z: 1 / jnp.cosh(z), (wide[:4],)), (lambda z: 1 / jnp.exp(z), (wide[2:5],)),
                        (lambda z: 2j / z, (np.array([np.inf, complex(0, -np.inf), complex(-np.inf, 3)]),)), (jax.nn.sigmoid, (wide,))):
            np.testing.assert_allclose(rj.function(f, *args)(*args), f(*map(jnp.asarray, args)), rtol=EXACT, atol=1e-300)
        slope = rj.compile(lambda p: jnp.sum(jnp.abs(jax.nn.sigmoid(p)) ** 2), wide[[0, 1, 2, 5]], (), tolerance=1e-9)
        self.assertLess(slope.check["difference"], 1e-11)

    def test_gradients_inside_of_the_loss(self):
        z = drawn(5)
        for f in (lambda z: jax.grad(lambda r: jnp.sum(jnp.abs(r * z) ** 2))(1.5) * z,
                  lambda z: jax.grad(lambda q: jnp.sum(jnp.abs(q * z[::-1]) ** 2))(z) * z):
            self.near(f, z)

    def test_a_spectral_model_is_trained_as_jax_trains_it_and_replayed(self):
        x = drawn(4, 80, 3).real
        params = {"w": drawn(3, 3, 9), "b": drawn(3).real}

        def loss(p, x):
            z = jnp.einsum("bki,iok->bko", jnp.fft.rfft(x, axis=1)[:, :9], p["w"])
            y = jnp.fft.irfft(jnp.zeros((4, 41, 3), z.dtype).at[:, :9].set(z), 80, axis=1) + p["b"]
            return jnp.mean((jnp.tanh(y) - x) ** 2) + jnp.mean(jnp.abs(z))
        rule = optax.chain(optax.clip_by_global_norm(1.0), optax.adamw(1e-2))
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "run.reprise")
            step = rj.compile(loss, params, (x,), rule)
            with rj.record(path):
                losses = [step(x) for _ in range(4)]
            own, state, want = params, rule.init(params), []
            for _ in range(4):
                value, grads = jax.value_and_grad(loss)(own, x)
                moves, state = rule.update(grads, state, own)
                own = optax.apply_updates(own, moves)
                want.append(float(value))
            np.testing.assert_allclose(losses, want, rtol=EXACT)
            for k in params:
                self.assertLess(far(step.params()[k], own[k]), 1e-9)
            done = subprocess.run([COMMAND, "replay", path], capture_output=True, text=True)
            self.assertEqual((done.returncode, "identical" in done.stdout), (0, True), done.stderr)

    def test_states_batches_and_auxiliary_values_are_complex(self):
        z = drawn(4, 6)

        def loss(p, state, z):
            w = z * p
            return jnp.sum(jnp.abs(w - state) ** 2), (state * 0.5 + w.mean(0), {"w": w})
        step = rj.compile(loss, z[0], (z,), optax.sgd(0.01), state=z[1], has_aux=True)
        own, state = z[0], z[1]
        for given in (z, jnp.asarray(z), z):
            (value, (state, aux)), slope = jax.value_and_grad(loss, has_aux=True)(own, state, z)
            own = own - 0.01 * slope
            got, more = step(given)
            self.assertLess(max(far(more["w"], aux["w"]), far(step.state(), state), far(step.params(), own), abs(got / value - 1)), EXACT)

    def test_what_is_refused_is_refused_by_name(self):
        z = drawn(4, 4)

        @jax.custom_jvp
        def own(z):
            return z * 2
        own.defjvp(lambda x, t: (x[0] * 2, t[0] * 2))
        for f, what in ((lambda z: jnp.linalg.inv(z), "lu: of complex numbers"), (jnp.sort, "sort: of complex numbers"),
                        (jnp.cumprod, "cumprod: of complex numbers"), (own, "a derivative of one's own of complex numbers"),
                        (lambda z: jnp.fft.fft(jnp.resize(z, (4194319,))), "a transform of the length 4194319, which has a prime")):
            with self.assertRaisesRegex(rj.Unsupported, what):
                rj.function(f, z)


if __name__ == "__main__":
    unittest.main()
