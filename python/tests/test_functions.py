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


if __name__ == "__main__":
    unittest.main()
