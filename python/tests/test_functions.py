# SPDX-License-Identifier: Apache-2.0
"""Calls of several operations: each is called, beside numpy where numpy has it; wrong arguments."""
import inspect
import unittest

import numpy as np

import reprise as rp
from reprise import functions as f

X = np.array([[1.5, -2.0, 3.0], [0.25, 5.0, -6.0]], np.float32)
Y = np.array([[2.0, 2.0, 0.5], [4.0, -1.0, 3.0]], np.float32)


class Functions(unittest.TestCase):
    def close(self, got, expected):
        np.testing.assert_allclose(np.asarray(got), expected, rtol=1e-5, atol=1e-6)

    def test_beside_numpy(self):
        x, y = rp.Tensor(X), rp.Tensor(Y)
        self.close(f.clamp(x, -1, high=2), np.clip(X, -1, 2))
        self.close(f.square(x), X * X)
        self.close(f.reciprocal(x), 1 / X)
        self.close(f.sum(x, 0), X.sum(0))
        self.close(f.mean(x, axes=(1,), keep=True), X.mean(1, keepdims=True))
        self.close(f.argmax(x, 1), X.argmax(1))
        self.close(f.argsort(x, 1, descending=True), np.argsort(-X, 1))
        self.close(f.cumsum(x, 1), X.cumsum(1))
        self.close(f.tril(x), np.tril(X))
        self.close(f.triu(x, 1), np.triu(X, 1))
        self.close(f.concat([x, y], 1), np.concatenate([X, Y], 1))
        self.close(f.stack((x, y), axis=0), np.stack([X, Y]))
        self.close(f.mse_loss(x, y), ((X - Y) ** 2).mean())
        self.close(f.l1_loss(x, y, "sum"), np.abs(X - Y).sum())
        self.close(f.mse_loss(x, y, reduction="none"), (X - Y) ** 2)
        self.close(f.logsumexp(x, 1), np.log(np.exp(X).sum(1)))
        self.close(f.isfinite(x), np.isfinite(X))
        self.close(f.threshold(x, 0.5, -1), np.where(X > 0.5, X, -1))

    def test_each_can_be_called_and_says_its_arguments(self):
        give = {"index": rp.Tensor([[0], [1]]), "axis": 0, "mask": rp.Tensor(X) > 0, "labels": rp.Tensor([0, 1]),
                "tensors": [rp.Tensor(X)], "table": rp.Tensor(X)}
        made = rp.core._core.functions()
        self.assertGreater(len(made), 55)
        for name, function in made.items():
            args = []
            for p in inspect.signature(function).parameters.values():
                if p.default is not p.empty:
                    break
                real = p.name in ("low", "high", "alpha", "limit", "threshold", "value", "delta", "beta", "margin",
                                  "temperature")
                args.append(1.0 if real else give.get(p.name, rp.Tensor(X)))
            if name == "glu":
                args = [rp.Tensor(X), 0]
            if name in ("gather_nd", "take_along"):
                args[1] = rp.Tensor([[0, 0, 1]]) if name == "take_along" else rp.Tensor([[0], [1]])
            if name == "cosine_embedding_loss":
                args[2] = rp.Tensor([1.0, -1.0])
            try:
                self.assertIsInstance(function(*args), rp.Tensor, name)
            except rp.Error as error:
                self.fail(f"{name}: {error}")

    def test_wrong_arguments(self):
        x = rp.Tensor(X)
        for wrong in (lambda: f.clamp(x, 1), lambda: f.clamp(x, 1, 2, 3), lambda: f.clamp(x, 1, low=2),
                      lambda: f.clamp(x, 1, top=2), lambda: f.clamp(x, "a", 2), lambda: f.concat([], 0),
                      lambda: f.concat(3, 0), lambda: f.mse_loss(x, x, "all"), lambda: f.sum(x, "a"),
                      lambda: f.glu(x, 7), lambda: f.sum()):
            with self.assertRaises((TypeError, ValueError, rp.Error)):
                wrong()
        self.close(x + 0.0, X)


class Several(unittest.TestCase):
    """Calls with optional operands, lists and several results."""

    def close(self, got, expected):
        np.testing.assert_allclose(np.asarray(got), expected, rtol=1e-5, atol=1e-6)

    def test_over_axes_and_products(self):
        x, y = rp.Tensor(X), rp.Tensor(Y)
        self.close(f.std(x), X.std(ddof=1))
        self.close(f.var(x, 0, correction=0, keep=True), X.var(0, keepdims=True))
        self.close(f.norm(x, 3, 1), (np.abs(X) ** 3).sum(1) ** (1 / 3))
        self.close(f.norm(x, float("inf")), np.abs(X).max())
        least, most = f.aminmax(x, 1)
        self.close(least, X.min(1))
        self.close(most, X.max(1))
        self.close(f.cosine_similarity(x, y), (X * Y).sum(1) / np.linalg.norm(X, axis=1) / np.linalg.norm(Y, axis=1))
        self.close(f.einsum("ij,kj->ik", x, y), X @ Y.T)
        self.close(f.einsum("ij,ij,ij->", x, y, x), (X * Y * X).sum())
        self.close(f.tensordot(x, y, [1], [1]), X @ Y.T)
        re, im = f.fft(rp.Tensor(X[:, :2]))
        self.close(re, np.fft.fft(X[:, :2]).real)
        self.close(f.fft(re, im, inverse=True)[0], X[:, :2])
        self.assertEqual(f.bitwise_not(rp.Tensor([5])).tolist(), [-6])

    def test_as_many_as_there_are(self):
        x = np.array([[3, 1, 3], [2, 1, 3]], np.int32)
        for n in (None, 3):
            values, inverse, counts = f.unique(rp.Tensor(x), n)
            np_values, np_inverse, np_counts = np.unique(x, return_inverse=True, return_counts=True)
            self.assertEqual(values.tolist(), np_values.tolist())
            self.assertEqual(inverse.tolist(), np_inverse.reshape(x.shape).tolist())
            self.assertEqual(counts.tolist(), np_counts.tolist())
        with self.assertRaises(rp.Error):
            f.unique(rp.Tensor(x), 2)[0].tolist()
        mask = x > 1
        self.assertEqual(f.nonzero(rp.Tensor(mask)).tolist(), np.argwhere(mask).tolist())
        self.assertEqual(f.masked_select(rp.Tensor(x), rp.Tensor(mask), 4).tolist(), x[mask].tolist())
        self.assertEqual(f.bincount(rp.Tensor([1, 1, 3]), 5).tolist(), [0, 2, 0, 1, 0])
        self.assertEqual(f.bincount(rp.Tensor([1, 1, 3]), 5, [0.5, 1.0, 2.0]).tolist(), [0, 1.5, 0, 2, 0])
        self.assertEqual(f.histogram(rp.Tensor(X), 4, -6, 6).tolist(), np.histogram(X, 4, (-6, 6))[0].tolist())

    def test_rearranging(self):
        x = rp.Tensor(X)
        self.close(f.flip(x, [0, 1]), X[::-1, ::-1])
        self.close(f.roll(x, 4, 1), np.roll(X, 4, 1))
        self.close(f.tile(x, [2, 3]), np.tile(X, (2, 3)))
        self.close(f.repeat_interleave(x, 2, 1), X.repeat(2, 1))
        self.assertEqual([p.shape for p in f.split(x, [1, 2], 1)], [(2, 1), (2, 2)])
        self.assertEqual([p.shape for p in f.split(x, [3], 1)], [(2, 3)])
        self.assertEqual([p.shape for p in f.chunk(x, 2, 1)], [(2, 2), (2, 1)])
        for ours, theirs in zip(f.meshgrid([1.0, 2.0], [3.0, 4.0, 5.0]), np.meshgrid([1, 2], [3, 4, 5], indexing="ij")):
            self.close(ours, theirs)
        for mode, numpys in (("constant", "constant"), ("reflect", "reflect"), ("edge", "edge"), ("circular", "wrap")):
            self.close(f.pad(x, [0, 1], [1, 2], mode), np.pad(X, ((0, 1), (1, 2)), numpys))

    def test_indices(self):
        x = rp.Tensor(X)
        along = np.array([[0, 0, 2], [1, 1, 1]])
        expected = X.copy()
        np.add.at(expected, (np.array([[0], [1]]), along), Y)
        self.close(f.scatter_along(x, along, rp.Tensor(Y), 1, "add"), expected)
        self.close(f.index_put(x, [1], rp.Tensor(Y[:1])), np.stack([X[0], Y[0]]))
        self.close(f.scatter_nd(x, [[0, 1], [1, 2]], rp.Tensor([7.0, 8.0]))[0], [X[0, 0], 7, X[0, 2]])
        self.close(f.embedding_bag(x, [[0, 1], [1, 1]], "mean"), np.stack([X.mean(0), X[1]]))

    def test_images(self):
        x = np.arange(2 * 4 * 4 * 4, dtype=np.float32).reshape(2, 4, 4, 4) % 7
        t, cut = rp.Tensor(x), x.reshape(2, 2, 2, 2, 2, 4)
        self.close(f.max_pool2d(t, 2), cut.max((2, 4)))
        self.close(f.avg_pool2d(t, (2, 2)), cut.mean((2, 4)))
        self.assertEqual(f.max_pool2d(t, 3, stride=1, padding=1).shape, x.shape)
        self.close(f.avg_pool2d(t, 3, stride=1, padding=(1, 1, 1, 1))[:, 0, 0], x[:, :2, :2].mean((1, 2)))
        self.close(f.adaptive_avg_pool2d(t, 1)[:, 0, 0], x.mean((1, 2)))
        self.close(f.adaptive_max_pool2d(t, (2, 2)), cut.max((2, 4)))
        self.close(f.pixel_unshuffle(f.pixel_shuffle(t, 2), 2), x)
        self.close(f.resize2d(t, 8, "nearest", "asymmetric")[:, ::2, ::2], x)

    def test_losses(self):
        x = rp.Tensor(X)
        labels, p = [2, 0], np.exp(X) / np.exp(X).sum(1, keepdims=True)
        each = -np.log(p[[0, 1], labels])
        self.close(f.cross_entropy_loss(x, labels, reduction="none"), each)
        self.close(f.cross_entropy_loss(x, labels, ignore_index=0), each[0])
        self.close(f.cross_entropy_loss(x, labels, rp.Tensor([1.0, 1.0, 3.0])), (each * [3, 1]).sum() / 4)
        self.close(f.nll_loss(np.log(p), labels, reduction="sum"), each.sum())
        self.close(f.bce_with_logits_loss(x, np.ones_like(X)), np.log1p(np.exp(-X)).mean())
        self.close(f.bce_loss(p, np.ones_like(X)), -np.log(p).mean())
        self.close(f.kl_div_loss(np.log(p), p), 0)
        self.close(f.poisson_nll_loss(x, np.abs(Y)), (np.exp(X) - np.abs(Y) * X).mean())
        self.close(f.gaussian_nll_loss(x, Y, np.full_like(X, 2)), ((np.log(2) + (X - Y) ** 2 / 2) / 2).mean())

    def test_wrong_arguments_are_refused_by_name(self):
        x = rp.Tensor(X)
        for call, said in ((lambda: f.max_pool2d(x, [1, 2, 3]), "window"), (lambda: f.pad(x, [0], [0]), "pad"),
                           (lambda: f.pad(x, [0, 0], [0, 0], "mirror"), "mode"),
                           (lambda: f.nll_loss(x, [0, 0], reduction="avg"), "reduction"),
                           (lambda: f.tile(x, [2]), "tile"), (lambda: f.chunk(x, 0), "chunk"), (lambda: f.unique(x, -1), "n is -1"),
                           (lambda: f.einsum("ij->"), "einsum"), (lambda: f.einsum("i?,jk", x, x), "einsum"),
                           (lambda: f.std(x, 5), "std|var|axis"),
                           (lambda: f.flip(np.zeros((1,) * 8, np.float32), [*range(8), 3]), "9 axes"),
                           (lambda: f.split(x, [1, 1], 1), "split"), (lambda: f.scatter_nd(x, [[0]], x, "sub"), "how"),
                           (lambda: f.split(x, [1] * 100, 1), "at most|more|split")):
            with self.assertRaisesRegex((ValueError, TypeError, rp.Error), said):
                call()
        self.assertEqual(f.square(x).shape, (2, 3))  # and nothing of it stays

    def test_they_are_instructions_of_a_program(self):
        b = rp.Builder()
        x = b.feed("x", (2, 3))
        b.result("y", f.einsum("ij,kj->ik", x, x))
        b.result("d", f.std(x, 1))
        p = b.finish()
        found = rp.Run().compile(p)(x=X)
        self.close(found["y"], X @ X.T)
        self.close(rp.grad(lambda a: f.norm(a))(rp.Tensor(X)), X / np.linalg.norm(X))


if __name__ == "__main__":
    unittest.main()
