# SPDX-License-Identifier: Apache-2.0
"""TensorFlow SavedModels by tf2onnx: values beside TensorFlow's, a step of training that is recorded and replayed by the
command, and what the converter has other values for. Where TensorFlow or tf2onnx is not installed, nothing is tested here."""
import functools
import importlib.util
import operator
import os
import subprocess
import sys
import tempfile
import unittest

import numpy as np

if not all(importlib.util.find_spec(n) for n in ("tensorflow", "tf2onnx", "onnx")):
    if __name__ == "__main__":
        sys.exit(print("Ran 0 tests: tensorflow, tf2onnx or onnx is not installed"))
    raise unittest.SkipTest("tensorflow, tf2onnx or onnx is not installed")

os.environ.update(TF_CPP_MIN_LOG_LEVEL="3", CUDA_VISIBLE_DEVICES="-1", KERAS_BACKEND="tensorflow")
import keras
import tensorflow as tf
from keras import layers as L

import reprise
from reprise import onnx as importer

COMMAND = os.environ.get("REPRISE_COMMAND", "reprise")
BAR = 1e-5  # of the largest element


def transformer():
    x = keras.Input((9,), dtype="int32")
    h = L.Embedding(20, 16)(x) + L.Embedding(9, 16)(keras.ops.arange(9)[None])
    a = L.LayerNormalization()(h)
    h = h + L.MultiHeadAttention(2, 8)(a, a, use_causal_mask=True)
    h = h + L.Dense(16)(L.Dense(32, activation="gelu")(L.LayerNormalization()(h)))
    return keras.Model(x, L.Dense(20)(h))


def two():
    x, y = keras.Input((8,), name="left"), keras.Input((4,), name="right")
    h = L.Concatenate()([L.Dense(6, activation="tanh")(x), y])
    return keras.Model([x, y], [L.Dense(2)(h), L.Dense(1, activation="sigmoid")(h)])


def residual():
    x = keras.Input((10, 10, 3))
    h = L.Conv2D(8, 3, padding="same")(x)
    h = L.Add()([h, L.Activation("mish")(L.GroupNormalization(4)(h))])
    h = L.Multiply()([h, L.Dense(8, activation="hard_sigmoid")(L.GlobalAveragePooling2D(keepdims=True)(h))])
    h = L.Conv2D(8, 3, dilation_rate=2, padding="same")(h)
    return keras.Model(x, L.Dense(4)(L.Flatten()(L.UnitNormalization()(h))))


def rows(*shape):
    return lambda rng: rng.standard_normal(shape).astype(np.float32)


def whole(most, *shape):
    return lambda rng: rng.integers(0, most, shape).astype(np.int32)


def in_order(*layers):
    return lambda: keras.Sequential(list(layers))


MODELS = {
    "dense": (in_order(keras.Input((6,)), L.Dense(16, activation="gelu"), L.Dense(8, activation="selu"), L.Dropout(0.3),
                       L.Dense(3, activation="softmax")), rows(5, 6)),
    "convolutions and batch norm": (in_order(
        keras.Input((12, 12, 3)), L.Conv2D(8, 3, padding="same"), L.BatchNormalization(), L.ReLU(), L.MaxPooling2D(),
        L.Conv2D(8, 3, strides=2, padding="same", use_bias=False), L.BatchNormalization(), L.Activation("swish"),
        L.GlobalAveragePooling2D(), L.Dense(4)), rows(5, 12, 12, 3)),
    "depthwise and separable": (in_order(
        keras.Input((12, 12, 3)), L.ZeroPadding2D(1), L.DepthwiseConv2D(3, depth_multiplier=2), L.BatchNormalization(), L.ReLU(6.0),
        L.SeparableConv2D(8, 3, strides=2, padding="same"), L.LeakyReLU(), L.AveragePooling2D(2), L.Flatten(), L.Dense(4)),
        rows(5, 12, 12, 3)),
    "transposed and resized": (in_order(
        keras.Input((6, 6, 3)), L.Conv2DTranspose(8, 3, strides=2, padding="same", activation="relu"), L.UpSampling2D(),
        L.UpSampling2D(interpolation="bilinear"), L.Conv2D(2, 1, activation="sigmoid")), rows(2, 6, 6, 3)),
    "residual": (residual, rows(3, 10, 10, 3)),
    "volumes": (in_order(keras.Input((6, 6, 6, 2)), L.Conv3D(4, 3, padding="same", activation="elu"), L.MaxPooling3D(), L.Flatten(),
                         L.Dense(2, activation="softplus")), rows(2, 6, 6, 6, 2)),
    "lstm": (in_order(keras.Input((7, 5)), L.LSTM(6, return_sequences=True), L.LSTM(4), L.Dense(2)), rows(5, 7, 5)),
    "gru both ways": (in_order(keras.Input((7, 5)), L.Bidirectional(L.GRU(6, return_sequences=True)), L.GRU(4, reset_after=False),
                               L.Dense(2)), rows(5, 7, 5)),
    "rnn": (in_order(keras.Input((7, 5)), L.SimpleRNN(6, return_sequences=True), L.TimeDistributed(L.Dense(3)),
                     L.GlobalMaxPooling1D()), rows(5, 7, 5)),
    "convolutional lstm": (in_order(keras.Input((4, 6, 6, 2)), L.ConvLSTM2D(3, 3, padding="same"), L.Flatten(), L.Dense(2)),
                           rows(2, 4, 6, 6, 2)),
    "embedding": (in_order(keras.Input((9,), dtype="int32"), L.Embedding(20, 8), L.Conv1D(8, 3, activation="relu"),
                           L.GlobalMaxPooling1D(), L.Dense(3)), whole(20, 5, 9)),
    "masked lstm": (in_order(keras.Input((9,), dtype="int32"), L.Embedding(4, 8, mask_zero=True), L.LSTM(8), L.Dense(3)),
                    whole(4, 4, 9)),
    "attention": (transformer, whole(20, 3, 9)),
    "two inputs and outputs": (two, lambda rng: (rows(5, 8)(rng), rows(5, 4)(rng))),
}


class Module(tf.Module):
    def __init__(self):
        super().__init__()
        rng = np.random.default_rng(4)
        self.w, self.b = tf.Variable(rows(4, 3)(rng), name="w"), tf.Variable(rows(3)(rng), name="b")
        self.table = tf.Variable(rows(10, 4)(rng), name="table")

    @tf.function(input_signature=[tf.TensorSpec([None, 4], tf.float32, name="x")])
    def score(self, x):
        z = tf.matmul(x, self.w) + self.b
        return {"logits": z, "p": tf.nn.softmax(z), "best": tf.argmax(z, -1)}

    @tf.function(input_signature=[tf.TensorSpec([None, None], tf.int64, name="ids")])
    def look(self, ids):
        e = tf.gather(self.table, ids)
        return {"v": tf.einsum("btd,de->be", e, self.w) + self.b, "n": tf.norm(e, axis=-1)}

    @tf.function(input_signature=[tf.TensorSpec([None, 4], tf.float32, name="x")])
    def floored(self, x):
        return {"y": tf.cast(x * 9, tf.int32) // 4}

    @tf.function(input_signature=[tf.TensorSpec([None, 4], tf.float32, name="x")])
    def inverse(self, x):
        return {"y": tf.linalg.cholesky(tf.matmul(x, x, transpose_a=True) + tf.eye(4))}


class SavedModels(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.path = os.path.join(self.folder.name, "saved")

    def near(self, found, wanted, name=""):
        self.assertEqual(found.shape, wanted.shape, name)
        far = np.max(np.abs(found.astype(float) - wanted.astype(float))) / np.max(np.abs(wanted.astype(float)))
        self.assertLess(far, BAR, name)

    def trained(self, path, feeds, wanted):
        """A recorded step of descent changes the weights and is replayed by the command; its forward is TensorFlow's."""
        b = reprise.Builder()
        kinds = {"f": "f32", "i": "i32"}
        net = importer.into(b, path, {n: b.feed(n, a.shape, kinds[a.dtype.kind]) for n, a in feeds.items()})
        loss = functools.reduce(operator.add, [(out * out).mean() for out in net.outputs.values()])
        for (own, w), g in zip(net.weights.items(), b.gradients(loss, list(net.weights.values()))):
            b.update(own, w - g * 0.01)
        b.result("loss", loss)
        program = b.finish()
        kept = os.path.join(self.folder.name, "run.reprise")
        with reprise.record(kept) as run:
            for own, a in net.first.items():
                run.add_state(own, a)
            for own, a in net.data.items():
                run.add_data(own, a)
            step = run.compile(program)
            losses = [float(np.asarray(step(**feeds)["loss"])) for _ in range(3)]
        self.assertAlmostEqual(losses[0], float(sum(np.mean(np.square(y)) for y in wanted.values())), delta=1e-4 * losses[0])
        self.assertLess(losses[-1], losses[0])
        done = subprocess.run([COMMAND, "replay", kept], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)

    def one(self, which):
        build, draw = MODELS[which]
        keras.utils.set_random_seed(5)
        net, rng = build(), np.random.default_rng(6)
        for v in net.weights:
            if v.dtype == "float32":  # means and scales that are not 0 and 1
                v.assign(v.numpy() + 0.1 * np.abs(rng.standard_normal(v.shape)).astype(np.float32))
        net.export(self.path, verbose=False)
        given = draw(rng)
        given = given if isinstance(given, tuple) else (given,)
        there = tf.saved_model.load(self.path).signatures["serving_default"]
        feeds = dict(zip([t.name for t in net.inputs], given))
        wanted = {n: t.numpy() for n, t in there(**{n: tf.constant(a) for n, a in feeds.items()}).items()}
        found = importer.load(self.path, shapes={f"{n}.0": len(a) for n, a in feeds.items()})
        for name, y in found.compile()(**feeds).items():
            self.near(y, wanted[name], which)
        self.trained(self.path, feeds, wanted)

    def test_a_module_has_signatures(self):
        m, rng = Module(), np.random.default_rng(7)
        others = {n: getattr(m, n) for n in ("look", "floored", "inverse")}
        tf.saved_model.save(m, self.path, signatures={"serving_default": m.score, **others})
        x, ids = rows(5, 4)(rng), rng.integers(0, 10, (3, 6))
        found = importer.load(self.path, shapes={"x.0": 5}).compile()(x=x)
        for name, y in m.score(x).items():
            self.near(found[name], y.numpy(), name)
        made = importer.convert(self.path, signature="look", shapes={"ids.0": 3, "ids.1": 6})
        found = importer.load(made, shapes={"ids.0": 3, "ids.1": 6}).compile()(ids=ids)
        for name, y in m.look(ids).items():
            self.near(found[name], y.numpy(), name)
        with self.assertRaisesRegex(importer.ValuesDiffer, "output y differs from TensorFlow's by 1"):
            importer.convert(self.path, signature="floored")  # the converter divides towards zero
        with self.assertRaisesRegex(importer.Unsupported, "TensorFlow's Cholesky, which the converter has no translation of"):
            importer.convert(self.path, signature="inverse")
        with self.assertRaisesRegex(importer.Unsupported, "the converter failed: .*signature"):
            importer.convert(self.path, signature="other")


def add(which):
    setattr(SavedModels, f"test_{which.replace(' ', '_')}", lambda self: self.one(which))


for which in MODELS:
    add(which)

if __name__ == "__main__":
    unittest.main()
