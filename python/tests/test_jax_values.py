# SPDX-License-Identifier: Apache-2.0
"""Where a translation could silently give another value than jax: extremes, zeros, infinities, derivatives of one's own.
Each case failed once. Skipped where jax is not installed."""
from __future__ import annotations

import importlib
import importlib.util
import unittest
import warnings

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

    def test_names_that_are_too_long_or_no_ascii_are_shortened(self):
        long = "bidirectional_11/backward_simple_recurrent_network_11/"
        params = {f"model/{long * 2}kernel": jnp.float32([1.0]), f"model/{long * 2}bias": jnp.float32([2.0]), "caf\u00e9": jnp.float32([3.0]),
                  "x" * 84: jnp.float32([4.0])}  # with `grad.params.` 96 characters

        def loss(p, x):
            return sum((p[n] * x).sum() * k for k, n in enumerate(sorted(p), 1))
        step = rj.compile(loss, params, (jnp.float32([2.0]),), optax.adam(0.5) if optax else None)
        self.assertEqual(float(step(jnp.float32([2.0]))), float(loss(params, 2.0)))
        names = [n for kind, n, *_ in step.program.inputs if kind == "state"]
        self.assertEqual((len(set(names)), max(map(len, names)) <= 95), (len(names), True))
        for name, value in step.params().items():
            self.assertLess(abs(float(value[0]) - float(params[name][0]) + 0.5 * (optax is not None)), 1e-3, name)

    def test_a_name_beyond_ascii_is_its_own_whatever_stands_beside_it(self):
        def names(*keys):
            step = rj.compile(lambda p, x: sum((v * x).sum() for v in p.values()), {k: jnp.float32([1.0]) for k in keys}, (jnp.float32([2.0]),))
            return {n: t for _, n, *t in step.program.inputs if n.startswith("params.")}
        alone = [list(names(k))[0] for k in ("gr\u00f6\u00dfe", "gr\u00e4\u00dfe")]
        self.assertEqual(sorted(names("gr\u00f6\u00dfe", "gr\u00e4\u00dfe")), sorted(alone))
        self.assertRegex(alone[0], r"^params\.gr__e\.[0-9a-f]{12}$")
        self.assertEqual(list(names("plain")), ["params.plain"])

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
class Wide(unittest.TestCase):
    """Gradients in binary64, compared by compile itself; what jax has for linear algebra, and what is refused of it."""

    def setUp(self):
        wide = jax.enable_x64(True) if hasattr(jax, "enable_x64") else jax.experimental.enable_x64(True)
        wide.__enter__()
        self.addCleanup(wide.__exit__, None, None, None)
        r = np.random.default_rng(3).standard_normal((2, 4, 4))
        self.matrices = r @ r.transpose(0, 2, 1) + 4 * np.eye(4)
        self.weight = np.random.default_rng(4).standard_normal(16)

    def near(self, f, *params):
        def loss(p):
            y = f(*p).reshape(-1)
            return (y * self.weight[:y.shape[0]]).sum() if y.shape[0] <= 16 else (y * jnp.resize(self.weight, y.shape)).sum()
        step = rj.compile(loss, [jnp.asarray(p) for p in params], (), tolerance=1e-9)
        np.testing.assert_allclose(step(), float(loss([jnp.asarray(p) for p in params])), rtol=1e-12)

    def test_factors_and_systems(self):
        a, many = self.matrices[0], self.matrices
        self.near(lambda a, b: jnp.linalg.solve(a, b), np.random.default_rng(5).standard_normal((4, 4)), a[:, :2])
        self.near(jnp.linalg.inv, many)
        self.near(lambda a: jnp.stack([jnp.linalg.slogdet(a)[1], jnp.linalg.det(a)]), a[::-1].copy())
        self.near(jnp.linalg.cholesky, many)

    def test_triangular_systems_in_all_forms(self):
        a, b = np.tril(self.matrices[0]), self.matrices[1][:, :3]
        for lower in (True, False):
            for left in (True, False):
                for transposed in (True, False):
                    for ones in (True, False):
                        self.near(lambda a, b: lax.linalg.triangular_solve(
                            a, b, left_side=left, lower=lower, transpose_a=transposed, unit_diagonal=ones),
                            a if lower else a.T.copy(), b if left else b.T.copy())

    def test_the_logarithm_of_gamma(self):
        x = np.array([0.1, 0.5, 1, 2.5, 30, -0.7, -3.3, 1e-3])
        self.near(jax.scipy.special.gammaln, x)
        f = rj.function(lambda x: (jax.scipy.special.gammaln(x), jax.scipy.special.digamma(x)), x)
        for got, want in zip(f(x), (jax.scipy.special.gammaln(x), jax.scipy.special.digamma(x))):
            np.testing.assert_allclose(np.asarray(got), np.asarray(want), rtol=1e-12)
        with jax.enable_x64(True):
            x = np.concatenate([np.linspace(0.01, 9, 50), np.logspace(1, 6, 20), np.linspace(-3.4, -0.1, 20)])
            w = 1 / np.asarray(jax.grad(lambda x: jax.scipy.special.digamma(x).sum())(x))  # each derivative counts alike
            step = rj.compile(lambda p, w: (jax.scipy.special.digamma(p) * w).sum(), jnp.asarray(x), (w,), tolerance=1e-9)
            self.assertLess(step.check["difference"], 1e-9)
        edges = np.array([0.0, -2, INF])
        np.testing.assert_array_equal(np.asarray(rj.function(jax.scipy.special.gammaln, edges)(edges)), [INF, INF, INF])

    def test_loops_of_vmap_end_one_by_one(self):
        x = np.array([1.0, 3, 20])
        f = jax.vmap(lambda q: lax.while_loop(lambda c: c[0] < 10, lambda c: (2 * c[0], c[1] + 1), (q, 0)))
        for got, want in zip(rj.function(f, x)(x), f(x)):
            np.testing.assert_array_equal(np.asarray(got), np.asarray(want))

    def test_greatest_so_far_share_their_gradient_as_jax_has_it(self):
        x = np.array([[2.0, 1, 2, 3, 3, 0], [1, 1, 0, 1, -1, -1]])
        self.near(lambda x: jnp.concatenate([lax.cummax(x, 1), lax.cummin(x, 1, reverse=True)]), x)

    def test_sums_over_an_axis_of_vmap(self):
        self.near(jax.vmap(lambda q: jnp.tanh(q - lax.pmean(q, "b")) * lax.psum(q * q, "b"), axis_name="b"), self.matrices[0])

    def test_what_is_refused_says_what_else_there_is(self):
        a, key = jnp.asarray(self.matrices[0]), jax.random.key(0)
        for f, what, args in ((lambda x: jax.scipy.special.zeta(x, 2.0), r"zeta: no translation.*\(at test_jax_values.py:\d+\)", (a,)),
                              (lambda x: jax.scipy.special.polygamma(2, x), "polygamma: no translation; compute it before the step", (a,)),
                              (lambda k: jax.random.gamma(k, 2.0), "random_gamma: of random keys: draw before the step", (key,)),
                              (lambda x: lax.reduce(x, 0.0, lambda a, b: a + b, (0,)), "reduce: no translation; sum, max", (a,))):
            with self.assertRaisesRegex(rj.Unsupported, what):
                rj.function(f, *args)

    def test_indices_outside(self):
        p, i = self.matrices[0], np.array([0, 3, -1, 7, -9])
        self.near(lambda p: p[i, jnp.abs(i)], p)
        step = rj.compile(lambda p, i: (p[i] ** 2).sum() + (p[:, i] ** 3).sum(), jnp.asarray(p), (i,), tolerance=1e-9)
        self.assertLess(step.check["share"], 1e-12)


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

    def test_clamp_between_bounds_that_are_trained_meet_and_cross(self):
        places = [(lo, x, hi) for lo in (-1.0, 0, 1) for x in (-2.0, -1, 0, 1, 2) for hi in (-1.0, 0, 1)]
        w = jnp.arange(1, len(places) + 1, dtype=jnp.float32)
        self.check(lambda p: (jax.lax.clamp(p[:, 0], p[:, 1], p[:, 2]) * w).sum(), places)

    def test_an_infinite_derivative_is_an_error_and_no_other_loss(self):
        @jax.custom_jvp
        def root(x):
            return jnp.sqrt(x)
        root.defjvp(lambda x, t: (jnp.sqrt(x[0]), t[0] * 0.5 / jnp.sqrt(x[0])))
        self.check(lambda p: root(p).sum(), [1, 4])
        with self.assertRaises(reprise.DataError):
            rj.compile(lambda p: root(p).sum(), jnp.float32([0, 1]), ())
        step = rj.compile(lambda p: root(p).sum(), jnp.float32([0, 1]), (), check=False)
        with self.assertRaises(reprise.DataError) as caught:
            step()
        self.assertIn("a derivative that is infinite", caught.exception.__notes__[0])

    def test_derivatives_of_ones_own_in_half_types(self):
        """What policies of mixed precision compute in: relu is its operation there too, others are moved in binary32."""
        x, w = np.float32([[1, -2, 0.5], [0.25, 3, -1]]), np.float32([[1, -2], [0.5, 3], [-1, 0.125]])
        for half, name in ((jnp.float16, "f16"), (jnp.bfloat16, "bf16")):
            for f in (jax.nn.relu, jax.nn.relu6, jax.nn.softplus):
                def loss(w, x, f=f, half=half):
                    return f(x.astype(half) @ w.astype(half)).astype(jnp.float32).sum()
                step = rj.compile(loss, w, (x,))
                self.assertEqual(b'"relu"' in step.program.text, f is jax.nn.relu)
                self.assertLess(abs(step(x) - float(loss(w, x))), 0.05, (f, name))
                self.assertLess(step.check["difference"], 0.01, (f, name))

    def test_a_function_with_a_derivative_of_its_own_takes_a_constant_integer(self):
        self.check(lambda p: (jnp.ldexp(p, 3) ** 2).sum(), [1, -2, 0.5])

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

    def test_a_loss_that_rounding_decides_about_is_told_of_and_hides_no_other_gradient(self):
        @jax.custom_jvp
        def seven(x):
            return jnp.sin(x)
        seven.defjvp(lambda p, t: (seven(p[0]), 7 * jnp.cos(p[0]) * t[0]))

        def loss(p):
            chaotic = lax.fori_loop(0, 24, lambda i, x: jnp.sin(3.1 * x), p["x"])
            return 1e-6 * chaotic.sum() + seven(p["w"]).sum()
        p = {"x": np.linspace(0.2, 0.9, 9).astype(np.float32), "w": np.ones(3, np.float32)}
        with self.assertWarnsRegex(UserWarning, r"ill conditioned.*params.x.*jax's own moves by"):
            step = rj.compile(loss, p, ())
        self.assertGreater(step.check["moved"], 2e-3)
        from reprise.jax.lowering import HANDLERS
        right = HANDLERS["custom_derivative"]
        HANDLERS["custom_derivative"] = lambda n: n.g.run(n.params["function"], n.inputs)  # the fault
        try:
            with self.assertRaises(rj.GradientsDiffer):
                rj.compile(loss, p, ())
        finally:
            HANDLERS["custom_derivative"] = right

    def test_noise_of_jax_excuses_no_lost_sign(self):
        from reprise.jax.step import excused
        self.assertEqual([excused(b, 0.1) for b in (0.0, 0.02, 0.2, 0.9, 30.0, np.inf, np.nan)], [0.1, 0.1, 0.4, 0.5, 0.5, 0.1, 0.1])

    def test_a_gradient_that_is_0_but_for_narrow_rounding_is_compared_in_binary32(self):
        """A bias before a batch norm: jax's own gradient in the narrow type is noise, the program's is next to nothing."""
        @jax.custom_jvp
        def seven(x):
            return jnp.sin(x)
        seven.defjvp(lambda p, t: (seven(p[0]), 7 * jnp.cos(p[0]) * t[0]))
        r = np.random.default_rng(4)
        x = r.standard_normal((64, 3)).astype(np.float32)
        p = {"w": r.standard_normal((3, 8)).astype(np.float32), "b": np.zeros(8, np.float32), "own": np.ones(3, np.float32)}
        from reprise.jax.lowering import HANDLERS
        right = HANDLERS["custom_derivative"]
        for narrow in (jnp.float16, jnp.bfloat16):
            def loss(p, x):
                y = (x.astype(narrow) @ p["w"].astype(narrow) + p["b"].astype(narrow)).astype(jnp.float32)
                y = (y - y.mean(0)) / jnp.sqrt(y.var(0) + 1e-3)
                return jax.nn.relu(y.astype(narrow)).astype(jnp.float32).mean() + seven(p["own"]).sum()

            def plain(p, x):
                return loss(p | {"own": jnp.zeros(1)}, x)
            with warnings.catch_warnings(record=True) as told:
                warnings.simplefilter("always")
                step = rj.compile(plain, {k: p[k] for k in "wb"}, (x,))
            self.assertGreater(step.check["narrow"], 0.1, narrow)
            self.assertEqual(any("rounding in the narrow types" in str(w.message) for w in told), step.check["share"] > 0.1)
            HANDLERS["custom_derivative"] = lambda n: n.g.run(n.params["function"], n.inputs)  # the fault
            try:
                with self.assertRaises(rj.GradientsDiffer):
                    rj.compile(loss, p, (x,))
            finally:
                HANDLERS["custom_derivative"] = right

    def test_what_overflows_in_jax_excuses_nothing(self):
        @jax.custom_jvp
        def seven(x):
            return jnp.sin(x)
        seven.defjvp(lambda p, t: (seven(p[0]), 7 * jnp.cos(p[0]) * t[0]))

        def slope(p):
            return ((seven(p).astype(jnp.float16) * jnp.float16(300)).astype(jnp.float32) * 300).sum()

        def value(p):
            return (seven(p).astype(jnp.float16) * jnp.float16(300) * jnp.float16(300) * jnp.float16(2 ** -10)).astype(jnp.float32).sum()
        p = np.full(3, 1e-4, np.float32)
        self.assertTrue(np.isinf(jax.grad(slope)(p)).all())
        self.assertLess(rj.compile(slope, p, ()).check["share"], 0.01)
        from reprise.jax.lowering import HANDLERS
        right = HANDLERS["custom_derivative"]
        HANDLERS["custom_derivative"] = lambda n: n.g.run(n.params["function"], n.inputs)  # the fault
        try:
            with self.assertRaises(rj.GradientsDiffer):
                rj.compile(slope, p, ())
        finally:
            HANDLERS["custom_derivative"] = right
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self.assertTrue(np.isfinite(rj.compile(value, p, ()).check["loss_jax"]))  # which jax.jit has as infinity: another one agrees

    def test_a_function_in_binary32(self):
        from reprise.jax.wide import in_binary32
        third = jnp.float16(1) / 3

        @jax.custom_jvp
        def own(x):
            return x * x
        own.defjvp(lambda p, t: (own(p[0]), 5 * t[0]))

        def f(x):
            y = jnp.exp(jax.jit(lambda x: x.astype(jnp.bfloat16) * jnp.bfloat16(0.5))(x))  # all of it in binary32
            return y.sum(), lax.fori_loop(0, 2, lambda i, x: x + third, x.astype(jnp.float16)).sum(), own(x.astype(jnp.float16)).sum()
        x = jnp.float32([0.1, 0.3])
        wide = in_binary32(f, x)
        found = wide(x)
        self.assertEqual([v.dtype for v in found], [jnp.float32] * 3)
        np.testing.assert_allclose(found[0], np.exp(np.float32([0.05, 0.15])).sum(), rtol=1e-6)
        self.assertEqual(float(found[1]), float(f(x)[1]))  # loops stay what they are
        np.testing.assert_array_equal(jax.grad(lambda x: wide(x)[2])(x), [5, 5])  # and so do derivatives of one's own

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

    def test_optimizers_that_look_at_the_loss(self):
        if optax is None:
            self.skipTest("optax is not installed")
        rng = np.random.default_rng(2)
        first, xs = rng.standard_normal(4).astype(np.float32), rng.standard_normal((6, 8, 4)).astype(np.float32)

        def loss(p, x):
            return (jnp.tanh(x @ p) ** 2).mean()
        plateau = optax.contrib.reduce_on_plateau(factor=0.25, patience=1, rtol=0.9)
        for optimizer in (optax.polyak_sgd(), optax.chain(optax.clip(0.1), optax.polyak_sgd(0.3)), optax.chain(optax.sgd(0.1), plateau)):
            step = rj.compile(loss, first, (xs[0],), optimizer)
            own, state = jnp.asarray(first), optimizer.init(jnp.asarray(first))
            for x in xs:
                value, slope = jax.value_and_grad(loss)(own, x)
                moves, state = optimizer.update(slope, state, own, value=value)
                own = optax.apply_updates(own, moves)
                np.testing.assert_allclose(step(x), value, rtol=1e-6)
            np.testing.assert_allclose(step.params(), own, rtol=1e-5, atol=1e-7)
        with self.assertRaisesRegex(rj.Unsupported, "searches along a line.*value_fn"):
            rj.compile(loss, first, (xs[0],), optax.lbfgs())

    def test_a_state_in_another_form(self):
        state = {"a": jnp.float32(1), "b": jnp.float32(2)}
        with self.assertRaisesRegex(TypeError, "state.0"):
            rj.compile(lambda p, s: (p.sum() * s["a"], (s["b"], s["a"])), jnp.float32([1]), (), state=state)


if __name__ == "__main__":
    unittest.main()
