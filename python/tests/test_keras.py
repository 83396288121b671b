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
            self.assertRegex(done.stdout, rf"kind +Keras door \({keras.__version__}\) run, by its own word")
        theirs = [float(model.train_on_batch(x, y)) for _ in range(STEPS)]
        np.testing.assert_allclose(ours, theirs, rtol=1e-5)
        values = {**trainer.step.params(), **trainer.step.state()}
        for v in model.variables:
            np.testing.assert_allclose(np.asarray(values[v.path]).astype(float), v.numpy().astype(float), atol=2e-5, err_msg=v.path)
        return model, trainer, x, y

    def test_dense_with_dropout_and_regularizer(self):
        model, trainer, x, y = self.compare(dense)
        with self.assertRaisesRegex(ValueError, "was changed in a model"):  # by Keras's own steps, which compare made
            trainer.fit(x, y)
        trainer.copy_to()
        trained = trainer.fit(x, y, batch_size=5, epochs=2, shuffle=3)  # of 5 and of 3 rows: two programs
        self.assertEqual(len(trained), 2)
        trainer.copy_to()
        kernel = trainer.step.params()[model.trainable_variables[0].path]
        np.testing.assert_array_equal(model.trainable_variables[0].numpy(), np.asarray(kernel))
        self.assertEqual(int(model.optimizer.iterations.numpy()), STEPS + 4)

    def test_losses_by_name_are_means(self):
        keras, rk = self.keras, self.rk
        x = np.random.default_rng(3).standard_normal((8, 4)).astype(np.float32)

        def model(units=1, **how):
            keras.utils.set_random_seed(1)
            made = keras.Sequential([keras.Input((4,)), keras.layers.Dense(units)])
            made.compile("sgd", **how)
            return made
        for name, units, y in (("mse", 1, x[:, 0]), ("huber", 1, x[:, :1]), (keras.losses.mean_absolute_error, 2, x[:, :2]),
                               ("sparse_categorical_crossentropy", 4, np.arange(8) % 4), ("crossentropy", 4, np.arange(8) % 4),
                               (lambda a, b: keras.ops.abs(a - b), 1, x[:, 0])):
            ours, theirs = rk.compile(model(units, loss=name), (x, y)), model(units, loss=name)
            for _ in range(2):
                self.assertAlmostEqual(ours(x, y), float(theirs.train_on_batch(x, y)), 5, name)
        side = keras.Input((4,))
        two = keras.Model(side, [keras.layers.Dense(1)(side), keras.layers.Dense(1)(side)])
        with self.assertRaisesRegex(ValueError, "a list of outputs"):
            rk.compile(two, (x, x[:, :1]), loss=keras.losses.MeanSquaredError(), optimizer="sgd")

    def fitted(self, make, x, y, batch=None, tolerance=2e-5, **how):
        """Both fits, ours recorded and replayed: the same variables, of the optimizer too, and the same logs."""
        rk = self.rk

        def options():
            return {k: v() if k == "callbacks" else v for k, v in how.items()}
        ours, theirs = make(), make()
        trainer = rk.compile(ours, batch or (self.rows(x, 8), self.rows(y, 8)))
        sizes = {"batch_size": 8} if y is not None else {}
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "model.reprise")
            with rk.record(path):
                trainer.fit(x, y, epochs=3, **sizes, **options())
            done = subprocess.run([COMMAND, "replay", path], capture_output=True, text=True)
            self.assertEqual(done.returncode, 0, done.stderr)
        trainer.copy_to()
        logs = theirs.fit(x, y, epochs=3, shuffle=False, verbose=0, **sizes, **options()).history
        for a, b in zip([*ours.variables, *ours.optimizer.variables], [*theirs.variables, *theirs.optimizer.variables]):
            np.testing.assert_allclose(a.numpy().astype(float), b.numpy().astype(float), rtol=1e-4, atol=tolerance, err_msg=a.path)
        self.assertIn("loss", trainer.history)
        for k, values in trainer.history.items():
            np.testing.assert_allclose(values, logs[k], rtol=1e-4, err_msg=k)
        return trainer

    def rows(self, tree, n):
        if isinstance(tree, dict):
            return {k: v[:n] for k, v in tree.items()}
        return [v[:n] for v in tree] if isinstance(tree, list) else tree[:n]

    def net(self, optimizer="sgd", loss="mse", units=1, **how):
        keras, layers = self.keras, self.keras.layers
        keras.utils.set_random_seed(1)
        made = keras.Sequential([keras.Input((6,)), layers.Dense(8, activation="tanh"), layers.BatchNormalization(), layers.Dense(units)])
        made.compile(optimizer() if callable(optimizer) else optimizer, loss, **how)
        return made

    def data(self):
        rng = np.random.default_rng(4)
        return (rng.standard_normal((20, 6)).astype(np.float32), rng.standard_normal((20, 1)).astype(np.float32), np.arange(20) % 3,
                rng.uniform(0, 2, 20).astype(np.float32))

    def test_weights_of_rows_and_classes_and_validation(self):
        x, y, kinds, weights = self.data()
        entropy = self.keras.losses.SparseCategoricalCrossentropy(from_logits=True)
        self.fitted(self.net, x, y, sample_weight=weights)
        self.fitted(lambda: self.net("adam", entropy, 3), x, kinds, class_weight={0: 1.0, 1: 2.0})
        found = self.fitted(lambda: self.net(metrics=["mae"]), x, y, validation_split=0.25)
        self.assertEqual(sorted(found.history), ["loss", "val_loss", "val_mae"])
        self.fitted(self.net, x, y, validation_data=(x[:5], y[:5], weights[:5]))
        self.fitted(lambda: self.net(loss_weights=[2.0]), x, y)
        with self.assertRaisesRegex(ValueError, "without sample_weight"):
            found.fit(x, kinds, sample_weight=weights, class_weight={0: 2.0})

    def test_callbacks_change_what_is_trained_and_a_replay_has_it(self):
        x, y, _, _ = self.data()
        keras, own = self.keras, self.keras.callbacks
        optimizers = keras.optimizers

        class Warm(own.Callback):
            def on_train_batch_begin(self, batch, logs=None):
                self.model.optimizer.learning_rate = 0.01 * (batch + 1)

        class Grown(own.Callback):
            def on_epoch_end(self, epoch, logs=None):
                self.model.layers[0].kernel.assign(self.model.layers[0].kernel * 1.5)
        with tempfile.TemporaryDirectory() as folder:
            for made, how in (
                    (lambda: self.net(optimizers.SGD(0.3)), {"callbacks": lambda: own.EarlyStopping(patience=1, restore_best_weights=True)}),
                    (lambda: self.net(optimizers.SGD(0.1)), {"callbacks": lambda: [own.LearningRateScheduler(lambda e, lr: lr / 2)]}),
                    (lambda: self.net(optimizers.Adam(0.3)), {"callbacks": lambda: [own.ReduceLROnPlateau(patience=1)]}),
                    (lambda: self.net(optimizers.SGD(0.1)), {"callbacks": lambda: [Warm()]}),
                    (lambda: self.net(optimizers.SGD(0.1)), {"callbacks": lambda: [Grown()]}),
                    (self.net, {"callbacks": lambda: [own.CSVLogger(f"{folder}/l.csv"), own.ModelCheckpoint(f"{folder}/m.keras"),
                                                      own.TerminateOnNaN()]})):
                self.fitted(made, x, y, validation_split=0.3, **how)
            with open(f"{folder}/l.csv") as f:
                self.assertEqual(f.readline().strip(), "epoch,loss,val_loss")
            self.assertTrue(os.path.exists(f"{folder}/m.keras"))
        trainer = self.rk.compile(self.net(), (x, y))
        with self.assertRaisesRegex(ValueError, "EarlyStopping monitors 'accuracy'"):
            trainer.fit(x, y, callbacks=[own.EarlyStopping(monitor="accuracy")])
        with self.assertRaisesRegex(ValueError, "compile the model with the one"):
            self.rk.compile(self.net(), (x, y), optimizer="adam").fit(x, y, callbacks=[own.TerminateOnNaN()])

    def test_what_is_changed_between_steps_counts_or_is_an_error(self):
        keras, o = self.keras, self.keras.optimizers
        x, y, _, _ = self.data()
        ours, theirs = self.net(o.Adam(0.01)), self.net(o.Adam(0.01))
        trainer = self.rk.compile(ours, (x, y))

        def both(change, steps=2):
            change(ours), change(theirs)
            for _ in range(steps):
                trainer(x, y), theirs.train_on_batch(x, y)

        def rate(model):
            model.optimizer.learning_rate = 0.1

        def half(model):
            model.set_weights([w * 0.5 for w in model.get_weights()])
        both(lambda model: None)
        both(rate)  # of a model that is behind: no step changes it
        trainer.fit(x, y, batch_size=20), theirs.fit(x, y, batch_size=20, verbose=0)
        trainer.copy_to()
        ours.evaluate(x, y, verbose=0), ours.predict(x, verbose=0)  # which give the variables other arrays of the same bits
        both(half)
        ours.predict(x, verbose=0)
        half(ours)
        for _ in range(2):
            with self.assertRaisesRegex(ValueError, r"kernel was changed in a model that has not.*trainer.copy_to\(\) before"):
                trainer(x, y)
        trainer.copy_to()
        both(lambda model: None)
        trainer.copy_to()
        for a, b in zip([*ours.variables, *ours.optimizer.variables], [*theirs.variables, *theirs.optimizer.variables]):
            np.testing.assert_allclose(a.numpy().astype(float), b.numpy().astype(float), rtol=1e-4, atol=2e-5, err_msg=a.path)
        trainer(x, y)
        values = {k: np.array(v) for k, v in {**trainer.step.params(), **trainer.step.state()}.items()}
        ours.layers[0].trainable = False
        with self.assertRaisesRegex(ValueError, "other variables of the model are trainable"):
            trainer(x, y)
        trainer.copy_to()  # by name, and not in the order of those that are trainable now
        for v in ours.variables:
            np.testing.assert_array_equal(np.asarray(v.value), values[v.path], err_msg=v.path)
        ours.layers[0].trainable = True
        trainer(x, y)
        ours.optimizer.learning_rate = o.schedules.ExponentialDecay(0.3, 1, 0.5)
        with self.assertRaisesRegex(ValueError, "compiled again, or its optimizer has another schedule"):
            trainer(x, y)
        ours.compile("sgd", "mse")
        with self.assertRaisesRegex(ValueError, "compiled again"):
            trainer.fit(x, y)

    def test_optimizers_that_scale_average_or_name_twice(self):
        x, y, _, _ = self.data()
        o = self.keras.optimizers
        for make in (lambda: o.Adafactor(1e-2), lambda: o.LossScaleOptimizer(o.Adam(1e-2)), lambda: o.SGD(1e-2, loss_scale_factor=96.0),
                     lambda: o.SGD(0.1, use_ema=True, ema_momentum=0.5)):
            self.fitted(lambda: self.net(make), x, y)

    def test_several_inputs_outputs_and_losses(self):
        x, y, kinds, weights = self.data()
        keras, layers = self.keras, self.keras.layers

        def made(loss, how=None):
            keras.utils.set_random_seed(1)
            a, b = keras.Input((6,), name="a"), keras.Input((6,), name="b")
            h = layers.Concatenate()([layers.Dense(4, activation="tanh")(a), b])
            net = keras.Model([a, b], [layers.Dense(1, name="p")(h), layers.Dense(3, name="q")(h)])
            net.compile("sgd", loss, loss_weights=how)
            return net
        entropy = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
        both, targets = [x, x[::-1].copy()], [y, kinds]
        self.losses(lambda: made(["mse", entropy]), both, targets)
        self.losses(lambda: made([None, entropy]), both, targets)
        self.losses(lambda: made({"p": "mse", "q": entropy}, {"p": 2.0, "q": 0.3}), dict(zip("ab", both)), dict(zip("pq", targets)))
        self.losses(lambda: made(["mse", entropy]), both, targets, sample_weight=[weights, weights[::-1].copy()])

    def losses(self, make, x, y, **how):
        trainer = self.fitted(make, x, y, **how)
        self.assertEqual(len(trainer.history["loss"]), 3)

    def test_batches_that_others_make(self):
        x, y, _, weights = self.data()
        keras, rk = self.keras, self.rk

        class Five(keras.utils.PyDataset):
            def __len__(self):
                return 4

            def __getitem__(self, i):
                return x[5 * i:5 * i + 5], y[5 * i:5 * i + 5], weights[5 * i:5 * i + 5]
        self.fitted(self.net, Five(), None, batch=Five()[0])
        listed = [Five()[i] for i in range(4)]
        wanted = rk.compile(self.net(), Five()[0]).fit(Five(), epochs=2)
        self.assertEqual(rk.compile(self.net(), Five()[0]).fit(listed, epochs=2), wanted)
        self.assertEqual(rk.compile(self.net(), Five()[0]).fit(iter(listed * 2), epochs=2, steps_per_epoch=4), wanted)
        with self.assertRaisesRegex(ValueError, "steps_per_epoch"):
            rk.compile(self.net(), Five()[0]).fit(iter(listed), epochs=2)

    def test_code_of_a_model_that_would_not_be_called_is_refused(self):
        x, y, _, _ = self.data()
        keras = self.keras

        class Plain(keras.Model):
            def __init__(self):
                super().__init__()
                self.dense = keras.layers.Dense(1)

            def call(self, x):
                self.add_loss(0.1 * keras.ops.mean(self.dense(x) ** 2))
                return self.dense(x)

        class Step(Plain):
            def train_step(self, *args):
                return super().train_step(*args)

        class Loss(Plain):
            def compute_loss(self, x=None, y=None, y_pred=None, sample_weight=None, training=True):
                return keras.ops.mean(keras.ops.abs(y - y_pred))

        def made(kind):
            keras.utils.set_random_seed(1)
            net = kind()
            net.compile("sgd", "mse")
            return net
        self.fitted(lambda: made(Plain), x, y)
        for kind, words in ((Step, "train_step of its own"), (Loss, "compute_loss of its own")):
            with self.assertRaisesRegex(ValueError, words):
                self.rk.compile(made(kind), (x, y))

    def test_convolution_and_batch_norm(self):
        self.compare(convolution)

    def test_a_bias_before_a_batch_norm_in_mixed_precision(self):
        """Its gradient is 0; Keras's own in the narrow type is that type's rounding."""
        keras = self.keras
        x, y = np.random.default_rng(2).standard_normal((16, 8, 8, 2)).astype(np.float32), np.arange(16) % 3
        for policy in ("mixed_float16", "mixed_bfloat16"):
            keras.mixed_precision.set_global_policy(policy)
            try:
                keras.utils.set_random_seed(1)
                model, _, _ = convolution(keras, np.random.default_rng(2))
                loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
                trainer = self.rk.compile(model, (x, y), loss=loss, optimizer=keras.optimizers.SGD(0.05))
            finally:
                keras.mixed_precision.set_global_policy("float32")
            self.assertGreater(trainer.step.check["narrow"], 0.05, policy)
            losses = [trainer(x, y) for _ in range(3)]
            self.assertLess(losses[-1], losses[0])

    def test_recurrent(self):
        self.compare(recurrent)

    def test_attention(self):
        self.compare(attention)


if __name__ == "__main__":
    unittest.main()
