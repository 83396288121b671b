# SPDX-License-Identifier: Apache-2.0
"""Models of layers: training, evaluation, values, files, archives, errors inside the function."""
import gc
import os
import shutil
import subprocess
import tempfile
import threading
import unittest
import weakref

import numpy as np

import reprise as rp
from reprise import nn, ops

COMMAND = os.environ.get("REPRISE_COMMAND") or shutil.which("reprise")
RNG = np.random.default_rng(1)
X = RNG.standard_normal((64, 8)).astype(np.float32)
K = (X[:, 0] * X[:, 1] > 0).astype(np.int32)


def logits(m, x, *more):
    x = m.linear("first", x, 16).relu()
    return m.linear("last", m.dropout(x, 0.1), 2)


def loss(m, x, k):
    return ops.cross_entropy(logits(m, x), k).mean()


def trained(function=loss, epochs=3, **options):
    m = nn.Model(function, nn.adamw(0.01, clip_norm=1.0, schedule=nn.cosine(100, 5)), {"batch": 16}, seed=3, **options)
    m.array("x", X)
    m.array("k", K)
    losses = [m.train_epoch() for _ in range(epochs)]
    return m, losses


class Models(unittest.TestCase):
    def test_training_lowers_the_loss_and_repeats_to_the_bit(self):
        m, first = trained(epochs=20)
        self.assertLess(first[-1], first[0])
        again, second = trained(epochs=20, threads=1)
        self.assertEqual(first, second)
        self.assertEqual(m.read("first.weight").tolist(), again.read("first.weight").tolist())
        self.assertEqual((m.steps, m.steps_per_epoch), (80, 4))
        self.assertEqual(m.parameters(), {"first.weight": (8, 16), "first.bias": (16,), "last.weight": (16, 2),
                                          "last.bias": (2,)})

    def test_the_function_is_called_once_a_program_or_at_each_eager_step(self):
        calls = []

        def counted(m, x, k):
            calls.append(m.training)
            return loss(m, x, k)

        trained(counted, 5)
        self.assertLess(len(calls), 5)
        compiled = trained(epochs=2)[1]
        seen = []

        def looks(m, x, k):
            value = loss(m, x, k)
            seen.append(float(value))
            return value

        eager = trained(looks, 2, eager=True)[1]
        self.assertEqual(compiled, eager)
        self.assertEqual(eager[-1], np.float32(seen[-1]))

    def test_evaluation_prediction_and_inputs_of_ones_own(self):
        m, _ = trained()
        mean = m.evaluate(0, 64)
        self.assertTrue(0 < mean < 2)
        out = m.predict(logits, (2,), 0, 64)
        self.assertEqual(out.shape, (64, 2))
        one = m.apply(logits, [X[:3]], (3, 2))
        np.testing.assert_array_equal(np.asarray(one), np.asarray(out)[:3])
        w = {n: np.asarray(m.read(n)) for n in m.parameters()}
        by_hand = np.maximum(X @ w["first.weight"] + w["first.bias"], 0) @ w["last.weight"] + w["last.bias"]
        np.testing.assert_allclose(np.asarray(out), by_hand, rtol=1e-4, atol=1e-5)

    def test_every_layer(self):
        def model(m, x, y, k):
            with m.scope("body"):
                h = m.batch_norm("bn", m.conv2d("conv", x, 4, kernel=3, stride=2))
                t = m.conv1d("c1", m.embedding("table", k, 5, 8), 8, kernel=3)
            t = m.transformer("block", m.layer_norm("norm", t), 2, causal=True, dropout=0.1, hidden=16)
            t = m.self_attention("att", t, 2)
            for kind in (m.lstm, m.gru, m.rnn):
                t, last = kind(kind.__name__, t, 8)
            p = m.parameter("own", (8,), nn.normal(0, 0.1))
            b = m.buffer("count", ())
            m.update("count", b + 1)
            noise = ops.normal(m.rng(), mean=0, deviation=1, stream=m.stream(), shape=(8,), dtype="f32")
            z = m.mlp("mlp", last * p + noise, [8, 4]) + m.project("proj", h.mean((1, 2)), 4)
            return ((z - y) ** 2).mean()

        m = nn.Model(model, nn.sgd(0.01, momentum=0.9, nesterov=True), {"batch": 4}, seed=1)
        m.array("x", RNG.standard_normal((8, 6, 6, 2)).astype(np.float32))
        m.array("y", RNG.standard_normal((8, 4)).astype(np.float32))
        m.array("k", RNG.integers(0, 5, (8, 6)).astype(np.int32))
        m.initialise("mlp.*.weight", nn.orthogonal())
        m.group("*bias", 0.0)
        self.assertTrue(np.isfinite(m.train_epoch()))
        self.assertEqual(float(m.read("count")), 2)
        self.assertEqual(m.parameters()["body.conv.weight"], (3, 3, 2, 4))

    def test_files_and_archives(self):
        with tempfile.TemporaryDirectory() as folder:
            path, weights = os.path.join(folder, "m.reprise"), os.path.join(folder, "m.safetensors")
            m = nn.Model(loss, nn.adam(0.01), {"batch": 16}, seed=2)
            m.array("x", X)
            m.array("k", K)
            m.build()
            m.write("last.bias", [0.5, -0.5])
            m.record()
            m.train_epoch()
            self.assertEqual(len(m.archive(path)), 64)
            m.save(weights, torch=True)
            with self.assertRaises(FileExistsError):
                m.save(weights)
            other = nn.Model(loss)
            other.array("x", X)
            other.array("k", K)
            other.load(weights, torch=True)
            self.assertEqual(other.read("first.weight").tolist(), m.read("first.weight").tolist())
            if COMMAND:
                done = subprocess.run([COMMAND, "replay", path], capture_output=True, text=True)
                self.assertEqual(done.returncode, 0, done.stderr)

    def test_an_exception_in_the_function_comes_out_as_it_is(self):
        class Mine(Exception):
            pass

        def wrong(m, x, k):
            raise Mine("here")

        for function, kind in ((wrong, Mine), (lambda m, x, k: 3, TypeError),
                               (lambda m, x, k: m.linear("a", x, 3) + m.linear("b", x, 4), rp.ShapeError),
                               (lambda m, x, k: m.linear("a", x, 3).sum() + float(x.sum()), RuntimeError),
                               (lambda m, x, k: m.train_step(), RuntimeError)):
            with self.assertRaises(kind):
                trained(function)
        with self.assertRaises(rp.Error):
            trained(lambda m, x, k: m.linear("a", x, 3) + m.linear("a", x[:, :4], 3))

    def test_wrong_use(self):
        m, _ = trained()
        with self.assertRaises(RuntimeError):
            m.linear("x", rp.Tensor(X), 3)
        with self.assertRaises(KeyError):
            m.read("no")
        for optimizer in ({}, {"rule": "no"}, {"rule": "adam", "lr": "x"}):
            with self.assertRaises((ValueError, TypeError)):
                nn.Model(loss, optimizer)
        with self.assertRaises(TypeError):
            nn.adam(0.1, momentum=1)
        with self.assertRaises(TypeError):
            nn.Model(3)
        kept = []

        def keeps(m, x, k):
            kept.append(x)
            return loss(m, x, k)

        trained(keeps)
        with self.assertRaises(RuntimeError):
            kept[0] + 1

    def test_a_model_that_its_function_knows_is_freed(self):
        box = []

        def closes(m, x, k):
            box[:] = [m]
            return loss(m, x, k)

        m, _ = trained(closes)
        closes.model = m
        gone = weakref.ref(closes)
        box.clear()
        del m, closes
        gc.collect()
        self.assertIsNone(gone())

    def test_threads_train_models_of_their_own(self):
        expected = trained()[1]
        found = []
        threads = [threading.Thread(target=lambda: found.append(trained(threads=1)[1])) for _ in range(4)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        self.assertEqual(found, [expected] * 4)


if __name__ == "__main__":
    unittest.main()
