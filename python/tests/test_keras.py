# SPDX-License-Identifier: Apache-2.0
"""Keras models through reprise.keras beside Keras itself: five steps of four kinds of models with four optimizers. Where
Keras or jax is not installed, nothing is tested here."""
import importlib.util
import os
import subprocess
import tempfile
import unittest

import numpy as np

HAVE = all(importlib.util.find_spec(n) is not None for n in ("jax", "keras"))
COMMAND = os.environ.get("REPRISE_COMMAND", "reprise")
STEPS = 5


def dense(keras, rng):
    layers = keras.layers
    model = keras.Sequential([keras.Input((6,)), layers.Dense(8, activation="relu", kernel_regularizer="l2"),
                              layers.Dropout(0.2, seed=1), layers.Dense(3)])
    return model, rng.standard_normal((8, 6)), keras.optimizers.Adam(keras.optimizers.schedules.CosineDecay(1e-2, 10))


def convolution(keras, rng):
    layers = keras.layers
    model = keras.Sequential([keras.Input((8, 8, 2)), layers.Conv2D(4, 3, padding="same"), layers.BatchNormalization(), layers.ReLU(),
                              layers.MaxPooling2D(), layers.GlobalAveragePooling2D(), layers.Dense(3)])
    return model, rng.standard_normal((4, 8, 8, 2)), keras.optimizers.SGD(0.05, momentum=0.9, nesterov=True, clipnorm=1.0)


def recurrent(keras, rng):
    layers = keras.layers
    model = keras.Sequential([keras.Input((5,), dtype="int32"), layers.Embedding(10, 6), layers.LSTM(8), layers.Dense(3)])
    return model, rng.integers(0, 10, (6, 5)), keras.optimizers.RMSprop(1e-2)


def attention(keras, rng):
    layers = keras.layers
    x = keras.Input((5, 8))
    h = layers.LayerNormalization()(x)
    h = layers.Add()([x, layers.MultiHeadAttention(2, 4, dropout=0.1, seed=3)(h, h, use_causal_mask=True)])
    model = keras.Model(x, layers.Dense(3)(layers.Flatten()(layers.Dense(8, activation="gelu")(h))))
    return model, rng.standard_normal((4, 5, 8)), keras.optimizers.SGD(1e-2)


@unittest.skipUnless(HAVE, "keras and jax are not installed")
class Keras(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        os.environ.setdefault("JAX_PLATFORMS", "cpu")
        os.environ["KERAS_BACKEND"] = "jax"
        import keras
        import reprise.keras as rk
        cls.keras, cls.rk = keras, rk

    def compare(self, build):
        keras = self.keras
        keras.utils.set_random_seed(1)
        model, x, optimizer = build(keras, np.random.default_rng(2))
        x = x.astype(np.int32 if x.dtype.kind == "i" else np.float32)
        y = (np.arange(len(x)) % 3).astype(np.int32)
        model.compile(optimizer, keras.losses.SparseCategoricalCrossentropy(from_logits=True))
        trainer = self.rk.compile(model, (x, y))
        self.assertLess(trainer.step.check["difference"], 1e-5)
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "model.reprise")
            with self.rk.record(path):
                ours = [trainer(x, y) for _ in range(STEPS)]
            done = subprocess.run([COMMAND, "replay", path], capture_output=True, text=True)
            self.assertEqual(done.returncode, 0, done.stderr)
        theirs = [float(model.train_on_batch(x, y)) for _ in range(STEPS)]
        np.testing.assert_allclose(ours, theirs, rtol=1e-5)
        values = {**trainer.step.params(), **trainer.step.state()}
        for v in model.variables:
            np.testing.assert_allclose(np.asarray(values[v.path]).astype(float), v.numpy().astype(float), atol=2e-5, err_msg=v.path)
        return model, trainer, x, y

    def test_dense_with_dropout_and_regularizer(self):
        model, trainer, x, y = self.compare(dense)
        trained = trainer.fit(x, y, batch_size=5, epochs=2, shuffle=3)  # of 5 and of 3 rows: two programs
        self.assertEqual(len(trained), 2)
        trainer.copy_to()
        kernel = trainer.step.params()[model.trainable_variables[0].path]
        np.testing.assert_array_equal(model.trainable_variables[0].numpy(), np.asarray(kernel))
        self.assertEqual(int(model.optimizer.iterations.numpy()), STEPS + 4)

    def test_losses_by_name_are_means_and_weights_of_losses_are_refused(self):
        keras, rk = self.keras, self.rk
        x = np.random.default_rng(3).standard_normal((8, 4)).astype(np.float32)

        def model(units=1, **how):
            keras.utils.set_random_seed(1)
            made = keras.Sequential([keras.Input((4,)), keras.layers.Dense(units)])
            made.compile("sgd", **how)
            return made
        for name, units, y in (("mse", 1, x[:, 0]), ("huber", 1, x[:, :1]), (keras.losses.mean_absolute_error, 2, x[:, :2]),
                               ("sparse_categorical_crossentropy", 4, np.arange(8) % 4)):
            ours, theirs = rk.compile(model(units, loss=name), (x, y)), model(units, loss=name)
            for _ in range(2):
                self.assertAlmostEqual(ours(x, y), float(theirs.train_on_batch(x, y)), 5, name)
        with self.assertRaisesRegex(ValueError, "loss_weights"):
            rk.compile(model(loss=keras.losses.MeanSquaredError(), loss_weights=2.0), (x, x[:, 0]))
        side = keras.Input((4,))
        two = keras.Model(side, [keras.layers.Dense(1)(side), keras.layers.Dense(1)(side)])
        with self.assertRaisesRegex(ValueError, "a list of outputs"):
            rk.compile(two, (x, x[:, :1]), loss=keras.losses.MeanSquaredError(), optimizer="sgd")

    def test_convolution_and_batch_norm(self):
        self.compare(convolution)

    def test_recurrent(self):
        self.compare(recurrent)

    def test_attention(self):
        self.compare(attention)


if __name__ == "__main__":
    unittest.main()
