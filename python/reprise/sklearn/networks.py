# SPDX-License-Identifier: Apache-2.0
"""Networks of fully connected layers: MLPClassifier, MLPRegressor, trained by compiled steps of one program."""
from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin, RegressorMixin  # type: ignore
from sklearn.exceptions import ConvergenceWarning  # type: ignore
from sklearn.model_selection import train_test_split  # type: ignore
from sklearn.utils import check_random_state  # type: ignore
from sklearn.utils.multiclass import _check_partial_fit_first_call, check_classification_targets, unique_labels  # type: ignore
from sklearn.utils.validation import check_is_fitted, column_or_1d  # type: ignore

from .base import Array, Recorded, append, number, reprise
from .linear import logarithms, shares

BEST, MOMENTS = "best.", (".m", ".v")


@dataclass(frozen=True)
class Rows:
    """What is trained on or held out: x [n, columns], y [n, outputs], weight [n, 1]."""

    x: Array
    y: Array
    weight: Array

    def __len__(self) -> int:
        return len(self.x)

    def at(self, index: Array) -> Rows:
        return Rows(*(np.ascontiguousarray(a[index]) for a in (self.x, self.y, self.weight)))


class Network(Recorded):
    """Fully connected layers, trained by Adam on batches in an order drawn from random_state.

    tol, n_iter_no_change   training ends after more than so many epochs in a row whose loss is not below the best one by tol or more
    early_stopping          by the score (accuracy, R squared) of a part of the rows that is held out instead, validation_fraction of
                            them; the weights of the best epoch are kept
    partial_fit             one epoch more from the weights and moments that there are"""

    early_stopping: Any = False  # of a pickle from before they were there
    validation_fraction: Any = 0.1
    coefs_: list[Array]
    loss_curve_: list[float]
    validation_scores_: list[float] | None
    best_validation_score_: float | None
    _decays: list[float]

    def __init__(self, hidden_layer_sizes: Sequence[int] | int = (100,), alpha: float = 1e-4, batch_size: Any = "auto",
                 learning_rate_init: float = 1e-3, max_iter: int = 200, tol: float = 1e-4, n_iter_no_change: int = 10,
                 random_state: Any = None, archive: Any = None, key: Any = None, early_stopping: bool = False,
                 validation_fraction: float = 0.1) -> None:
        self.hidden_layer_sizes, self.alpha, self.batch_size = hidden_layer_sizes, alpha, batch_size
        self.learning_rate_init, self.max_iter, self.tol = learning_rate_init, max_iter, tol
        self.n_iter_no_change, self.random_state = n_iter_no_change, random_state
        self.archive, self.key = archive, key
        self.early_stopping, self.validation_fraction = early_stopping, validation_fraction

    # ---- what is given ----

    def parameters(self) -> None:
        """Errors: ValueError names a parameter that has a value it cannot have."""
        hidden: Any = self.hidden_layer_sizes
        wanted = {
            "hidden_layer_sizes": ("1 or more, each", all(whole(n) for n in ([hidden] if np.ndim(hidden) == 0 else hidden))),
            "alpha": ("a number from 0", real(self.alpha) and self.alpha >= 0),
            "batch_size": ("'auto' or 1 or more", whole(self.batch_size) or isinstance(self.batch_size, str) and self.batch_size == "auto"),
            "learning_rate_init": ("positive", real(self.learning_rate_init) and self.learning_rate_init > 0),
            "max_iter": ("1 or more", whole(self.max_iter)),
            "tol": ("a number from 0", real(self.tol) and self.tol >= 0),
            "n_iter_no_change": ("1 or more", whole(self.n_iter_no_change) or self.n_iter_no_change == np.inf),
            "early_stopping": ("True or False", isinstance(self.early_stopping, (bool, np.bool_))),
            "validation_fraction": ("between 0 and 1", real(self.validation_fraction) and 0 < self.validation_fraction < 1)}
        for name, (what, right) in wanted.items():
            if not right:
                raise ValueError(f"{name} is {getattr(self, name)!r}: it has to be {what}")

    def sizes(self, x: Array, outputs: int) -> list[int]:
        hidden = self.hidden_layer_sizes
        return [x.shape[1], *map(int, [hidden] if isinstance(hidden, (int, np.integer)) else hidden), outputs]

    def batch(self, rows: Rows) -> int:
        if self.batch_size != "auto" and int(self.batch_size) > len(rows):
            warnings.warn(f"batch_size {self.batch_size} is more than there are rows: {len(rows)} are taken", UserWarning, stacklevel=4)
        return min(200 if self.batch_size == "auto" else int(self.batch_size), len(rows))

    def divided(self, rows: Rows, random: Any, classes: bool) -> tuple[Rows, Rows | None]:
        """The rows that are trained on, and those that are held out; of two classes each in its share."""
        if not self.early_stopping:
            return rows, None
        trained, held = train_test_split(np.arange(len(rows)), test_size=self.validation_fraction, random_state=random,
                                         stratify=rows.y[:, 0] if classes and rows.y.shape[1] == 1 else None)
        if len(held) < 2:
            raise ValueError(f"validation_fraction {self.validation_fraction} of {len(rows)} rows are fewer than two")
        return rows.at(trained), rows.at(held)

    # ---- the programs ----

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
        shapes = layers(sizes)
        names = list(shapes)
        values = [b.state(n, s, "f64") for n, s in shapes.items()]
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
        # what is told is the outputs' mean, as scikit-learn has it, whose gradients are their sum's as well
        told = mean / float(sizes[-1]) if loss == "squared" and sizes[-1] > 1 else mean
        half = 0.5 * float(self.alpha)
        b.result("loss", told + decay * half / weight)
        gradients = b.gradients(mean + decay * half / weight, values)
        lr, c1, c2 = (b.append("reshape", {"shape": []}, [b.append("slice", {"begin": [i], "end": [i + 1]}, [rate])])
                      for i in range(3))
        for name, v, g in zip(names, values, gradients):
            shape = shapes[name]
            m, s = b.state(f"{name}.m", shape, "f64"), b.state(f"{name}.v", shape, "f64")
            m_new, s_new = m * 0.9 + g * 0.1, s * 0.999 + g * g * 0.001
            b.update(f"{name}.m", m_new)
            b.update(f"{name}.v", s_new)
            b.update(name, v - lr * (m_new / c1) / ((s_new / c2).sqrt() + 1e-8))
        return b.finish()

    def scoring(self, sizes: Sequence[int], held: Rows, loss: str) -> Any:
        """The score of the rows that are held out: the weight's share that is right, or the mean R squared of the outputs."""
        b = reprise().Builder()
        with b:
            x, y = b.feed("x", held.x.shape, "f64"), b.feed("y", held.y.shape, "f64")
            w, values = b.feed("w", held.weight.shape, "f64"), [b.state(n, s, "f64") for n, s in layers(sizes).items()]
            z = self.forward(x, values[::2], values[1::2])
            one, zero = w * 0.0 + 1.0, w * 0.0
            if loss == "squared":
                one, zero = number(1.0), number(0.0)
                parts = []
                for i in range(sizes[-1]):
                    t, p = (append("slice", a, begin=[0, i], end=[len(held), i + 1]) for a in (y, z))
                    away = t - (t * w).sum() / w.sum()
                    left, whole_ = ((t - p) * (t - p) * w).sum(), (away * away * w).sum()
                    flat = append("eq", whole_, zero)
                    parts.append(append("where", append("eq", left, zero), one, append(
                        "where", flat, zero, one - left / append("where", flat, one, whole_))))
                b.result("score", sum(parts[1:], parts[0]) / float(len(parts)))
            else:
                if loss == "binary":
                    said, meant = append("lt", z * 0.0 + 0.5, z.sigmoid()), append("lt", z * 0.0 + 0.5, y)
                else:
                    said, meant = (append("argmax", a, axis=1) for a in (append("softmax", z), y))
                right = append("reshape", append("eq", said, meant), shape=[len(held), 1])
                b.result("score", (append("where", right, one, zero) * w).sum() / w.sum())
        return b.finish()

    # ---- training ----

    def train(self, rows: Rows, loss: str, partial: bool = False) -> None:
        """All epochs, or, with `partial`, one more from what there is."""
        self.parameters()
        if partial and self.early_stopping:
            raise ValueError("early_stopping: partial_fit holds no rows out")
        random, again = check_random_state(self.random_state), partial and hasattr(self, "coefs_")
        sizes = self.sizes(rows.x, rows.y.shape[1])
        first = self.there(sizes) if again else drawn(sizes, random)
        rows, held = self.divided(rows, random, loss != "squared")
        done = Course(list(self._decays), list(self.loss_curve_)) if again and hasattr(self, "_decays") else Course()
        how = sizes, loss, random, self.batch(rows), 1 if partial else self.max_iter
        if self.archive is None:
            values = self.steps(reprise().Run(), rows, held, first, done, how)
        else:
            with self.recorded() as run:
                values = self.steps(run, rows, held, first, done, how)
        names = list(layers(sizes))
        if not np.isfinite(done.curve[-1]) or not all(np.isfinite(values[n]).all() for n in names):
            raise ValueError("the loss or the weights are no numbers any more: what was given, or learning_rate_init, is too large, or weights of "
                             "rows are too small")
        if not done.ended and not partial:
            warnings.warn(f"the {'score' if held else 'loss'} still got better by more than tol after max_iter = {self.max_iter} epochs: "
                          "the network is not trained to the end", ConvergenceWarning, stacklevel=3)
        self.coefs_, self.intercepts_ = [values[n] for n in names[::2]], [values[n] for n in names[1::2]]
        self.n_layers_, self.n_outputs_, self.n_iter_ = len(sizes), sizes[-1], done.epochs
        self.t_ = done.epochs * len(rows) + (getattr(self, "t_", 0) if again else 0)
        self.loss_curve_, self.loss_ = done.curve, done.curve[-1]
        self.best_loss_ = None if held else min(done.curve)
        self.validation_scores_, self.best_validation_score_ = (done.scores, max(done.scores)) if held else (None, None)
        self._moments, self._decays = {n: a for n, a in values.items() if n not in names}, done.decays

    def there(self, sizes: Sequence[int]) -> dict[str, Array]:
        """Weights and moments of a fit; a pickle from before moments were kept has none."""
        shapes = layers(sizes)
        found = dict(zip(shapes, [a for pair in zip(self.coefs_, self.intercepts_) for a in pair]))
        if [a.shape for a in found.values()] != list(shapes.values()):
            raise ValueError(f"the network was fitted with layers of {[len(w) for w in self.coefs_]} and {self.n_outputs_} outputs: it cannot "
                             f"be trained on with {sizes[:-1]} and {sizes[-1]}")
        moments = getattr(self, "_moments", {})
        for name, shape in shapes.items():
            for suffix in MOMENTS:
                found[name + suffix] = moments.get(name + suffix, np.zeros(shape))
        return found

    def steps(self, run: Any, rows: Rows, held: Rows | None, first: dict[str, Array], done: Course, how: Any) -> dict[str, Array]:
        """The epochs; the weights and moments that they end with."""
        sizes, loss, random, batch, epochs = how
        names = list(layers(sizes))
        for name, a in first.items():
            run.add_state(name, np.ascontiguousarray(a))
        for name in names if held else ():
            run.add_state(BEST + name, np.ascontiguousarray(first[name]))
        if self.archive is not None:
            self.say(run)
        step = run.compile(self.program(sizes, batch, loss))
        if held:
            score, keep, bring = (run.compile(p) for p in (
                self.scoring(sizes, held, loss), copying(sizes, "", BEST), copying(sizes, BEST, "")))
        best, waited = -np.inf if held else np.inf, 0
        for _ in range(epochs):
            self.epoch(step, rows, random.permutation(len(rows)), batch, done)
            if held:
                done.scores.append(float(np.asarray(score(x=held.x, y=held.y, w=held.weight)["score"])))
                waited = waited + 1 if done.scores[-1] < best + self.tol else 0
                if done.scores[-1] > best:
                    best = done.scores[-1]
                    keep()
            else:
                waited = waited + 1 if done.curve[-1] > best - self.tol else 0
                best = min(best, done.curve[-1])
            if waited > self.n_iter_no_change:
                done.ended = True
                break
        if held:
            bring()
        return {n: np.array(run.get_state(n)) for n in first}

    def epoch(self, step: Any, rows: Rows, order: Array, batch: int, done: Course) -> None:
        losses = []
        for at in range(0, len(rows), batch):
            index = order[at:at + batch]
            padded = np.r_[index, np.zeros(batch - len(index), int)]  # rows of weight 0
            w = np.where(np.arange(batch) < len(index), rows.weight[padded, 0], 0.0)[:, None]
            done.decays[0] *= 0.9
            done.decays[1] *= 0.999
            rate = np.array([self.learning_rate_init, 1 - done.decays[0], 1 - done.decays[1]])
            found = step(x=rows.x[padded], y=rows.y[padded], w=w, rate=rate)
            losses.append(float(np.asarray(found["loss"])) * added(w[:, 0].tolist()))
        done.curve.append(added(losses) / added(rows.weight[:, 0].tolist()))
        done.epochs += 1

    def weighing(self, x: Any, y: Any, weight: Any, **how: Any) -> tuple[Array, Array, Array]:
        """What is given, without the rows that weigh nothing."""
        x, y, w = self.checked(x, y, weight, **how)
        kept = w[:, 0] > 0
        if not kept.any():
            raise ValueError("no row has a weight above 0")
        return (x, y, w) if kept.all() else (np.ascontiguousarray(x[kept]), y[kept], np.ascontiguousarray(w[kept]))

    def outputs(self, x: Any) -> Array:
        check_is_fitted(self, "coefs_")
        t = reprise().Tensor
        weights, biases = [t(w) for w in self.coefs_], [t(b) for b in self.intercepts_]
        return self.by_rows(x, lambda rows: np.array(self.forward(t(rows), weights, biases).numpy()))


@dataclass
class Course:
    """What epochs leave behind: the powers of Adam's decays, as products, for a power is the host's library's; losses and scores."""

    decays: list[float] = field(default_factory=lambda: [1.0, 1.0])
    curve: list[float] = field(default_factory=list)
    scores: list[float] = field(default_factory=list)
    epochs: int = 0
    ended: bool = False


def layers(sizes: Sequence[int]) -> dict[str, tuple[int, ...]]:
    """Names and shapes of weights and biases."""
    return {f"layer{i}.{part}": shape for i in range(len(sizes) - 1)
            for part, shape in (("weight", (sizes[i], sizes[i + 1])), ("bias", (sizes[i + 1],)))}


def drawn(sizes: Sequence[int], random: Any) -> dict[str, Array]:
    """First weights and moments."""
    found = {}
    for name, shape in layers(sizes).items():
        found[name] = random.uniform(-1, 1, shape) * np.sqrt(6.0 / sum(shape)) if len(shape) == 2 else np.zeros(shape)
        found.update({name + suffix: np.zeros(shape) for suffix in MOMENTS})
    return found


def copying(sizes: Sequence[int], source: str, target: str) -> Any:
    """Weights as they are in other states: an archive ends with the best ones."""
    b = reprise().Builder()
    for name, shape in layers(sizes).items():
        b.state(target + name, shape, "f64")
        b.update(target + name, b.state(source + name, shape, "f64"))
    return b.finish()


def whole(n: Any) -> bool:
    """Whether it is an integer from 1."""
    return isinstance(n, (int, np.integer)) and not isinstance(n, bool) and bool(n >= 1)


def real(x: Any) -> bool:
    return isinstance(x, (int, float, np.integer, np.floating)) and not isinstance(x, bool) and bool(np.isfinite(x))


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
        self.train(self.given(X, y, sample_weight, True), "squared")
        return self

    def partial_fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        """One epoch of these rows."""
        self.train(self.given(X, y, sample_weight, not hasattr(self, "coefs_")), "squared", True)
        return self

    def given(self, x: Any, y: Any, weight: Any, reset: bool) -> Rows:
        """One column of targets is as a vector of them."""
        x, y, w = self.weighing(x, y, weight, multi_output=True, y_numeric=True, reset=reset)
        if y.ndim == 2 and y.shape[1] == 1:
            y = column_or_1d(y, warn=True)
        return Rows(x, np.ascontiguousarray(y.astype(np.float64).reshape(len(y), -1)), w)

    def predict(self, X: Any) -> Array:
        found = self.outputs(X)
        return found[:, 0] if found.shape[1] == 1 else found


class MLPClassifier(ClassifierMixin, Network):  # type: ignore[misc]
    """A classifier by fully connected layers with relu, cross entropy."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        x, y, w = self.weighing(X, y, sample_weight)
        check_classification_targets(y)
        self.classes_ = np.unique(y)
        self.train(*self.coded(x, y, w))
        return self

    def partial_fit(self, X: Any, y: Any, sample_weight: Any = None, classes: Any = None) -> Any:
        """One epoch of these rows; the first time with all classes that there will be."""
        _check_partial_fit_first_call(self, classes)
        x, y, w = self.weighing(X, y, sample_weight, reset=not hasattr(self, "coefs_"))
        check_classification_targets(y)
        other = np.setdiff1d(unique_labels(y), self.classes_)
        if other.size:
            raise ValueError(f"y has classes {other} that are not among {self.classes_}")
        self.train(*self.coded(x, y, w), partial=True)
        return self

    def coded(self, x: Array, y: Array, w: Array) -> tuple[Rows, str]:
        k = len(self.classes_)
        if k < 2:
            raise ValueError(f"y has {k} class: a classifier needs two or more classes")
        codes = np.searchsorted(self.classes_, y)
        targets = np.ascontiguousarray(np.eye(k)[codes][:, 1:] if k == 2 else np.eye(k)[codes])
        return Rows(x, targets, w), "binary" if k == 2 else "classes"

    def predict_proba(self, X: Any) -> Array:
        found = self.outputs(X)
        return shares(found[:, 0] if found.shape[1] == 1 else found)

    def predict_log_proba(self, X: Any) -> Array:
        found = self.outputs(X)
        return logarithms(found[:, 0] if found.shape[1] == 1 else found)

    def predict(self, X: Any) -> Array:
        found = self.predict_proba(X)
        return self.classes_[found.argmax(1)]
