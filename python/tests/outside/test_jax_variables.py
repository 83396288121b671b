# SPDX-License-Identifier: Apache-2.0
"""Modules of flax's nnx, which write into their own variables while they are traced: what a step keeps of them and what it refuses.
Skipped where jax, flax or optax is not installed."""
from __future__ import annotations

import importlib
import importlib.util
import unittest

import numpy as np

HAVE = all(importlib.util.find_spec(n) is not None for n in ("jax", "flax", "optax"))
if HAVE:
    import jax

    import reprise.jax as rj

    nnx, optax = (importlib.import_module(n) for n in ("flax.nnx", "optax"))


@unittest.skipUnless(HAVE, "jax, flax or optax is not installed")
class Variables(unittest.TestCase):
    def setUp(self):
        rng = np.random.default_rng(0)
        self.x, self.y = rng.standard_normal((8, 6)).astype(np.float32), rng.integers(0, 3, 8).astype(np.int32)

    def model(self, *between):
        rngs = nnx.Rngs(0, dropout=1)
        kinds = {"norm": lambda: nnx.BatchNorm(8, rngs=rngs), "dropout": lambda: nnx.Dropout(0.3, rngs=rngs), "tanh": lambda: nnx.tanh}
        return nnx.Sequential(nnx.Linear(6, 8, rngs=rngs), *(kinds[n]() for n in between), nnx.Linear(8, 3, rngs=rngs))

    @staticmethod
    def of(model, x, y):
        return optax.softmax_cross_entropy_with_integer_labels(model(x), y).mean()

    def test_a_variable_that_jax_would_forget_is_refused(self):
        for kind, named in (("norm", "BatchStat"), ("dropout", "RngCount")):
            with self.subTest(kind), self.assertRaisesRegex(rj.Unsupported, rf"the {named} at params.*layers.*copy=True") as caught:
                rj.compile(self.of, self.model(kind), (self.x, self.y), optax.sgd(0.1))
            self.assertIn("nnx.split", str(caught.exception))

    def test_a_state_that_is_written_and_not_returned_is_refused(self):
        graph, params, rest = nnx.split(self.model("norm"), nnx.Param, ...)

        def loss(params, rest, x, y):
            return self.of(nnx.merge(graph, params, rest), x, y), jax.tree.map(lambda a: a, kept)
        kept = jax.tree.map(lambda a: a + 0, rest)
        with self.assertRaisesRegex(rj.Unsupported, "the BatchStat at state"):
            rj.compile(loss, params, (self.x, self.y), optax.sgd(0.1), state=rest)

    def test_a_module_that_writes_nothing_is_taken_whole(self):
        step = rj.compile(self.of, self.model("tanh"), (self.x, self.y), optax.sgd(0.1))
        losses = [float(step(self.x, self.y)) for _ in range(4)]
        self.assertLess(losses[-1], losses[0])

    def test_what_is_returned_goes_from_step_to_step(self):
        model = self.model("norm", "dropout")
        graph, params, rest = nnx.split(model, nnx.Param, ...)

        def loss(params, rest, x, y):
            own = nnx.merge(graph, params, rest, copy=True)
            return self.of(own, x, y), nnx.state(own, nnx.Not(nnx.Param))
        step = rj.compile(loss, params, (self.x, self.y), optax.sgd(0.1), state=rest)
        optimizer = nnx.Optimizer(model, optax.sgd(0.1), wrt=nnx.Param)
        for _ in range(3):
            value, gradients = nnx.value_and_grad(self.of)(model, self.x, self.y)
            optimizer.update(model, gradients)
            self.assertAlmostEqual(float(step(self.x, self.y)), float(value), places=5)
        made = nnx.merge(graph, step.params(), step.state())
        self.assertEqual(int(made.layers[2].rngs.count[...]), 3)
        np.testing.assert_allclose(made.layers[1].mean[...], model.layers[1].mean[...], atol=1e-5)


if __name__ == "__main__":
    unittest.main()
