# SPDX-License-Identifier: Apache-2.0
"""Networks of fully connected layers: MLPClassifier, MLPRegressor, trained by compiled steps of one program."""
from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin, RegressorMixin  # type: ignore
from sklearn.exceptions import ConvergenceWarning  # type: ignore
from sklearn.utils import check_random_state  # type: ignore
from sklearn.utils.multiclass import check_classification_targets  # type: ignore
from sklearn.utils.validation import check_is_fitted  # type: ignore

from .base import Array, Recorded, reprise
from .linear import logarithms, shares


class Network(Recorded):
    """Fully connected layers, trained by Adam on batches in an order drawn from random_state."""

    def __init__(self, hidden_layer_sizes: Sequence[int] | int = (100,), alpha: float = 1e-4, batch_size: Any = "auto",
                 learning_rate_init: float = 1e-3, max_iter: int = 200, tol: float = 1e-4, n_iter_no_change: int = 10,
                 random_state: Any = None, archive: Any = None, key: Any = None) -> None:
        self.hidden_layer_sizes, self.alpha, self.batch_size = hidden_layer_sizes, alpha, batch_size
        self.learning_rate_init, self.max_iter, self.tol = learning_rate_init, max_iter, tol
        self.n_iter_no_change, self.random_state = n_iter_no_change, random_state
        self.archive, self.key = archive, key

    def sizes(self, x: Array, outputs: int) -> list[int]:
        hidden = self.hidden_layer_sizes
        inner = [hidden] if isinstance(hidden, (int, np.integer)) else list(hidden)
        if any(n < 1 for n in inner):
            raise ValueError(f"hidden_layer_sizes is {hidden}: each has to be 1 or more")
        return [x.shape[1], *map(int, inner), outputs]

    def forward(self, x: Any, weights: Sequence[Any], biases: Sequence[Any]) -> Any:
        for i, (w, b) in enumerate(zip(weights, biases)):
            x = x @ w + b
            x = x.relu() if i + 1 < len(weights) else x
        return x

    def program(self, sizes: Sequence[int], batch: int, loss: str) -> Any:
        """One step: the loss of a batch, its gradients, Adam."""
        b = reprise().Builder()
        x, y = b.feed("x", (batch, sizes[0]), "f64"), b.feed("y", (batch, sizes[-1]), "f64")
        w, rate = b.feed("w", (batch, 1), "f64"), b.feed("rate", (3,), "f64")  # lr, then the corrections of both moments
        names = [f"layer{i}.{part}" for i in range(len(sizes) - 1) for part in ("weight", "bias")]
        shapes = [s for i in range(len(sizes) - 1) for s in ((sizes[i], sizes[i + 1]), (sizes[i + 1],))]
        values = [b.state(n, s, "f64") for n, s in zip(names, shapes)]
        z = self.forward(x, values[::2], values[1::2])
        if loss == "squared":
            each = (z - y) * (z - y) * 0.5
        elif loss == "binary":
            each = b.append("bce_logits", {}, [z, y])
        else:
            each = -(b.append("log_softmax", {}, [z]) * y)
        weight = w.sum()
        mean = (each * w).sum() / weight
        decay = sum(((v * v).sum() for v in values[2::2]), (values[0] * values[0]).sum())
        b.result("loss", mean + decay * (0.5 * self.alpha) / weight)
        gradients = b.gradients(mean + decay * (0.5 * self.alpha) / weight, values)
        lr, c1, c2 = (b.append("reshape", {"shape": []}, [b.append("slice", {"begin": [i], "end": [i + 1]}, [rate])])
                      for i in range(3))
        for name, shape, v, g in zip(names, shapes, values, gradients):
            m, s = b.state(f"{name}.m", shape, "f64"), b.state(f"{name}.v", shape, "f64")
            m_new, s_new = m * 0.9 + g * 0.1, s * 0.999 + g * g * 0.001
            b.update(f"{name}.m", m_new)
            b.update(f"{name}.v", s_new)
            b.update(name, v - lr * (m_new / c1) / ((s_new / c2).sqrt() + 1e-8))
        return b.finish(), names, shapes

    def train(self, x: Array, y: Array, weight: Array, loss: str) -> None:
        if self.max_iter < 1 or not self.learning_rate_init > 0:
            raise ValueError(f"max_iter {self.max_iter} and learning_rate_init {self.learning_rate_init} have to be positive")
        random = check_random_state(self.random_state)
        sizes = self.sizes(x, y.shape[1])
        batch = min(200 if self.batch_size == "auto" else int(self.batch_size), len(x))
        program, names, shapes = self.program(sizes, batch, loss)
        if self.archive is None:
            run = reprise().Run()
            values = self.steps(run, program, names, shapes, x, y, weight, batch, random)
        else:
            with self.recorded() as run:
                values = self.steps(run, program, names, shapes, x, y, weight, batch, random)
        if not np.isfinite(self.loss_) or not all(np.isfinite(values[n]).all() for n in names):
            raise ValueError("the loss or the weights are no numbers any more: what was given, or learning_rate_init, is too large, or weights of "
                             "rows are too small")
        self.coefs_ = [values[n] for n in names[::2]]
        self.intercepts_ = [values[n] for n in names[1::2]]
        self.n_layers_, self.n_outputs_ = len(sizes), sizes[-1]

    def steps(self, run: Any, program: Any, names: list[str], shapes: list[Any], x: Array, y: Array, weight: Array,
              batch: int, random: Any) -> dict[str, Array]:
        for name, shape in zip(names, shapes):
            fan = sum(shape) if len(shape) == 2 else 1
            first = random.uniform(-1, 1, shape) * np.sqrt(6.0 / fan) if len(shape) == 2 else np.zeros(shape)
            for suffix, a in (("", first), (".m", np.zeros(shape)), (".v", np.zeros(shape))):
                run.add_state(name + suffix, np.ascontiguousarray(a))
        if self.archive is not None:
            self.say(run)
        step = run.compile(program)
        everything = added(weight[:, 0].tolist())
        best, waited, decay1, decay2 = np.inf, 0, 1.0, 1.0  # products: a power is the host's library's
        self.loss_curve_: list[float] = []
        for epoch in range(self.max_iter):
            order, losses = random.permutation(len(x)), []
            for at in range(0, len(x), batch):
                rows = order[at:at + batch]
                padded = np.r_[rows, np.zeros(batch - len(rows), int)]  # rows of weight 0
                w = np.where(np.arange(batch) < len(rows), weight[padded, 0], 0.0)[:, None]
                decay1, decay2 = decay1 * 0.9, decay2 * 0.999
                rate = np.array([self.learning_rate_init, 1 - decay1, 1 - decay2])
                found = step(x=x[padded], y=y[padded], w=w, rate=rate)
                losses.append(float(np.asarray(found["loss"])) * added(w[:, 0].tolist()))
            self.loss_curve_.append(added(losses) / everything)
            self.n_iter_ = epoch + 1
            waited = 0 if self.loss_curve_[-1] < best - self.tol else waited + 1
            best = min(best, self.loss_curve_[-1])
            if waited >= self.n_iter_no_change:
                break
        else:
            warnings.warn(f"the loss still fell by more than tol after max_iter = {self.max_iter} epochs: the network is not trained "
                          "to the end", ConvergenceWarning, stacklevel=4)
        self.loss_ = self.loss_curve_[-1]
        return {n: np.array(run.get_state(n)) for n in names}

    def weighing(self, x: Any, y: Any, weight: Any, **how: Any) -> tuple[Array, Array, Array]:
        """What is given, without the rows that weigh nothing."""
        x, y, w = self.checked(x, y, weight, **how)
        kept = w[:, 0] > 0
        if not kept.any():
            raise ValueError("no row has a weight above 0")
        return (x, y, w) if kept.all() else (np.ascontiguousarray(x[kept]), y[kept], np.ascontiguousarray(w[kept]))

    def outputs(self, x: Any) -> Array:
        check_is_fitted(self)
        t = reprise().Tensor
        return np.array(self.forward(t(self.rows(x)), [t(w) for w in self.coefs_], [t(b) for b in self.intercepts_]).numpy())


def added(numbers: Sequence[float]) -> float:
    """Their sum from the first to the last: Python's own carries what is lost along from 3.12 on, and has other bits."""
    total = 0.0
    for n in numbers:
        total += n
    return total


class MLPRegressor(RegressorMixin, Network):  # type: ignore[misc]
    """A regression by fully connected layers with relu, squared loss."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        x, y, w = self.weighing(X, y, sample_weight, multi_output=True, y_numeric=True)
        self.one_ = y.ndim == 1
        self.train(x, np.ascontiguousarray(y.astype(np.float64).reshape(len(y), -1)), w, "squared")
        return self

    def predict(self, X: Any) -> Array:
        found = self.outputs(X)
        return found[:, 0] if self.one_ else found


class MLPClassifier(ClassifierMixin, Network):  # type: ignore[misc]
    """A classifier by fully connected layers with relu, cross entropy."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        x, y, w = self.weighing(X, y, sample_weight)
        check_classification_targets(y)
        self.classes_, codes = np.unique(y, return_inverse=True)
        k = len(self.classes_)
        if k < 2:
            raise ValueError(f"y has {k} class: a classifier needs two or more classes")
        self.train(x, np.ascontiguousarray(np.eye(k)[codes][:, 1:] if k == 2 else np.eye(k)[codes]), w,
                   "binary" if k == 2 else "classes")
        return self

    def predict_proba(self, X: Any) -> Array:
        found = self.outputs(X)
        return shares(found[:, 0] if found.shape[1] == 1 else found)

    def predict_log_proba(self, X: Any) -> Array:
        found = self.outputs(X)
        return logarithms(found[:, 0] if found.shape[1] == 1 else found)

    def predict(self, X: Any) -> Array:
        found = self.predict_proba(X)
        return self.classes_[found.argmax(1)]
