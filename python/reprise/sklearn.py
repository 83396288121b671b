# SPDX-License-Identifier: Apache-2.0
"""Estimators for scikit-learn whose fits are computed in binary64 by Reprise: LinearRegression, Ridge, LogisticRegression,
MLPClassifier, MLPRegressor. The same data give the same bits on every host, at any number of threads.

With `archive=PATH` a fit is recorded: `reprise replay PATH` makes it again. What came before the estimator (a pipeline's
other steps, the drawing of initial weights and of the order of rows) is outside: the archive holds its results as feeds."""
from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin  # type: ignore
from sklearn.utils import check_random_state  # type: ignore
from sklearn.utils.multiclass import check_classification_targets  # type: ignore
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data  # type: ignore

Array = Any
Job = Callable[[dict[str, Any]], dict[str, Any]]
SINGULAR = 1e-11  # a pivot less than this share of its column is one that the others explain


def reprise() -> Any:
    return importlib.import_module("reprise")


def append(name: str, *operands: Any, **attributes: Any) -> Any:
    return getattr(reprise().ops, name)(*operands, **attributes)


def computed(job: Job, feeds: Mapping[str, Array], archive: Any, key: Any) -> dict[str, Array]:
    """What a job makes of its feeds, as arrays; with an archive as one recorded step of a run."""
    if archive is None:
        tensors = {n: reprise().Tensor(a) for n, a in feeds.items()}
        return {n: np.array(t.numpy()) for n, t in job(tensors).items()}
    with reprise().record(archive, key=key, force=True) as run:
        with run.step():
            made = job({n: run.feed(n, a) for n, a in feeds.items()})
            found = {n: np.array(t.numpy()) for n, t in made.items()}
            for n, t in made.items():
                run.result(n, t)
    return found


def solve(a: Any, b: Any) -> Any:
    """x of a x = b, a symmetric and positive; of columns that others explain x is 0."""
    factor = append("cholesky", a, tolerance=SINGULAR)
    y = append("triangular_solve", factor, b, transposed=False, upper=False)
    return append("triangular_solve", factor, y, transposed=True, upper=False)


def total(t: Any, axis: int) -> Any:
    return append("sum", t, axes=[axis])


class Recorded(BaseEstimator):  # type: ignore[misc]
    """What all estimators have: the parameters `archive` and `key` of a recorded fit."""

    archive: Any
    key: Any

    def checked(self, x: Any, y: Any, weight: Any, **how: Any) -> tuple[Array, Array, Array]:
        x, y = validate_data(self, x, y, dtype=np.float64, order="C", **how)
        w = _check_sample_weight(weight, x, dtype=np.float64, ensure_non_negative=True)
        return np.ascontiguousarray(x), y, np.ascontiguousarray(w)[:, None]

    def rows(self, x: Any) -> Array:
        check_is_fitted(self)
        return np.ascontiguousarray(validate_data(self, x, dtype=np.float64, order="C", reset=False))

    def scores(self, x: Any, coef: Array, intercept: Array) -> Array:
        """x coef' + intercept: of a row the same bits whatever rows are beside it."""
        r = reprise()
        t = r.Tensor(self.rows(x)) @ r.Tensor(np.ascontiguousarray(coef.T)) + r.Tensor(np.asarray(intercept))
        return np.array(t.numpy())


class Ridge(RegressorMixin, Recorded):  # type: ignore[misc]
    """Least squares with a penalty: minimises sum w (y - x b - b0)^2 + alpha |b|^2 by Cholesky's factors."""

    def __init__(self, alpha: float = 1.0, fit_intercept: bool = True, archive: Any = None, key: Any = None) -> None:
        self.alpha, self.fit_intercept, self.archive, self.key = alpha, fit_intercept, archive, key

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags

    def penalty(self) -> float:
        if not np.isfinite(self.alpha) or self.alpha < 0:
            raise ValueError(f"alpha is {self.alpha}: it has to be finite and not negative")
        return float(self.alpha)

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        x, y, w = self.checked(X, y, sample_weight, multi_output=True, y_numeric=True)
        targets = np.ascontiguousarray(y.astype(np.float64).reshape(len(y), -1))
        alpha, centred = self.penalty(), self.fit_intercept

        def job(f: dict[str, Any]) -> dict[str, Any]:
            x, y, w = f["x"], f["y"], f["w"]
            weight = total(w, 0)
            x0, y0 = total(x * w, 0) / weight, total(y * w, 0) / weight
            if centred:
                x, y = x - x0, y - y0
            turned = (x * w).T
            gram = turned @ x
            if alpha:
                gram = gram + append("where", eye(gram), append("fill", value=alpha, shape=[], dtype="f64"), gram * 0.0)
            coef = solve(gram, turned @ y)
            intercept = y0 - x0 @ coef if centred else y0 * 0.0
            return {"coef": coef.T, "intercept": intercept}

        found = computed(job, {"x": x, "y": targets, "w": w}, self.archive, self.key)
        one = y.ndim == 1
        self.coef_ = found["coef"][0] if one else found["coef"]
        self.intercept_ = float(found["intercept"][0, 0]) if one else found["intercept"][0]
        return self

    def predict(self, X: Any) -> Array:
        check_is_fitted(self)
        found = self.scores(X, np.atleast_2d(self.coef_), np.atleast_1d(self.intercept_))
        return found[:, 0] if self.coef_.ndim == 1 else found


def eye(a: Any) -> Any:
    """Where a square matrix has its diagonal."""
    n = a.shape[0]
    index = append("iota", n=n, dtype="i64")
    return append("eq", append("reshape", index, shape=[n, 1]), append("reshape", index, shape=[1, n]))


class LinearRegression(Ridge):
    """Least squares. Of columns that others explain the coefficient is 0."""

    def __init__(self, fit_intercept: bool = True, archive: Any = None, key: Any = None) -> None:
        self.fit_intercept, self.archive, self.key = fit_intercept, archive, key

    def penalty(self) -> float:
        return 0.0


class LogisticRegression(ClassifierMixin, Recorded):  # type: ignore[misc]
    """Logistic regression with the penalty |b|^2 / (2 C), by Newton's steps; of more than two classes the multinomial one."""

    def __init__(self, C: float = 1.0, fit_intercept: bool = True, tol: float = 1e-10, max_iter: int = 100,
                 archive: Any = None, key: Any = None) -> None:
        self.C, self.fit_intercept, self.tol, self.max_iter = C, fit_intercept, tol, max_iter
        self.archive, self.key = archive, key

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        x, y, w = self.checked(X, y, sample_weight)
        check_classification_targets(y)
        if not self.C > 0:
            raise ValueError(f"C is {self.C}: it has to be positive")
        counted = np.unique(y[w[:, 0] > 0])
        self.classes_, codes = np.unique(y, return_inverse=True)
        if len(counted) < 2:
            raise ValueError(f"y has {len(counted)} class: a classifier needs two or more classes")
        if len(counted) < len(self.classes_):  # a class whose rows all weigh nothing is none
            kept = np.isin(y, counted)
            x, w, y = np.ascontiguousarray(x[kept]), np.ascontiguousarray(w[kept]), y[kept]
            self.classes_, codes = np.unique(y, return_inverse=True)
        k, p = len(self.classes_), x.shape[1]
        one = np.ones((len(x), 1)) if self.fit_intercept else np.zeros((len(x), 0))
        design = np.ascontiguousarray(np.hstack([x, one]))
        targets = np.eye(k)[codes][:, 1:] if k == 2 else np.eye(k)[codes]
        penalties = np.r_[np.full(p, 1 / self.C), [0.0] * one.shape[1]][:, None]
        steps = [0]

        def job(f: dict[str, Any]) -> dict[str, Any]:
            steps[0], b = newton(f["x"], f["y"], f["w"], f["penalty"], self.tol, self.max_iter)
            return {"coef": b}

        found = computed(job, {"x": design, "y": np.ascontiguousarray(targets), "w": w, "penalty": penalties}, self.archive,
                         self.key)["coef"]
        self.coef_ = np.ascontiguousarray(found[:p].T)
        self.intercept_ = found[p] if self.fit_intercept else np.zeros(found.shape[1])
        if k > 2:  # probabilities do not change by one number added to all of them: their mean is 0
            self.intercept_ = self.intercept_ - self.intercept_.mean()
        self.n_iter_ = np.array([steps[0]])
        return self

    def decision_function(self, X: Any) -> Array:
        check_is_fitted(self)
        found = self.scores(X, self.coef_, self.intercept_)
        return found[:, 0] if found.shape[1] == 1 else found

    def predict_proba(self, X: Any) -> Array:
        return shares(self.decision_function(X))

    def predict_log_proba(self, X: Any) -> Array:
        scores = reprise().Tensor(self.decision_function(X))  # NumPy's logarithm is the host's
        if len(scores.shape) > 1:
            return np.array(append("log_softmax", scores).numpy())
        return np.column_stack([-np.array(append("bce_logits", scores, append(
            "fill", value=y, shape=list(scores.shape), dtype="f64")).numpy()) for y in (0.0, 1.0)])

    def predict(self, X: Any) -> Array:
        found = self.decision_function(X)
        return self.classes_[(found > 0).astype(int) if found.ndim == 1 else found.argmax(1)]


def shares(scores: Array) -> Array:
    """Probabilities of scores."""
    r = reprise()
    if scores.ndim == 1:
        p = np.array(r.Tensor(scores).sigmoid().numpy())
        return np.column_stack([1 - p, p])
    return np.array(append("softmax", r.Tensor(scores)).numpy())


def expected(x: Any, b: Any) -> Any:
    z = x @ b
    return z.sigmoid() if b.shape[1] == 1 else append("softmax", z)


def objective(x: Any, y: Any, w: Any, penalty: Any, b: Any) -> float:
    z = x @ b
    if b.shape[1] == 1:
        each = append("bce_logits", z, y)
    else:
        each = -total(append("log_softmax", z) * y, 1)
    return float(((each * w).sum() + (b * b * penalty).sum() * 0.5).numpy())


def newton(x: Any, y: Any, w: Any, penalty: Any, tol: float, most: int) -> tuple[int, Any]:
    """Newton's steps, halved until the objective falls; coefficients [columns, outputs]."""
    p, k = x.shape[1], y.shape[1]
    b = append("fill", value=0.0, shape=[p, k], dtype="f64")
    value = objective(x, y, w, penalty, b)
    for step in range(1, most + 1):
        mu = expected(x, b)
        gradient = x.T @ ((mu - y) * w) + b * penalty
        move = append("transpose", append("reshape", solve(curvature(x, w, mu, penalty), append(
            "reshape", gradient.T, shape=[k * p, 1])), shape=[k, p]), permutation=[1, 0])
        size = 1.0
        while size > 1e-10:
            found = b - move * size
            new = objective(x, y, w, penalty, found)
            if new <= value + 1e-13 * abs(value):  # at the end the objective moves less than its own rounding
                break
            size /= 2
        else:
            return step, b
        change = float((append("abs", move).max() * size).numpy())
        b, value = found, new
        if change <= tol * max(1.0, float(append("abs", b).max().numpy())):
            return step, b
    return most, b


def curvature(x: Any, w: Any, mu: Any, penalty: Any) -> Any:
    """The second derivatives, a block for each pair of outputs."""
    p, k = x.shape[1], mu.shape[1]
    column = [append("slice", mu, begin=[0, i], end=[mu.shape[0], i + 1]) for i in range(k)]
    zero = append("fill", value=0.0, shape=[p, p], dtype="f64")
    rows = []
    for i in range(k):
        blocks = []
        for j in range(k):
            slope = column[i] * (1.0 - column[i]) if i == j else -(column[i] * column[j])
            block = x.T @ (x * (slope * w))
            if i == j:
                block = block + append("where", eye(block), append("broadcast_to", penalty, shape=[p, p]), zero)
            blocks.append(block)
        rows.append(append("concat", *blocks, axis=1) if k > 1 else blocks[0])
    return append("concat", *rows, axis=0) if k > 1 else rows[0]


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

    def train(self, x: Array, y: Array, loss: str) -> None:
        if self.max_iter < 1 or not self.learning_rate_init > 0:
            raise ValueError(f"max_iter {self.max_iter} and learning_rate_init {self.learning_rate_init} have to be positive")
        random = check_random_state(self.random_state)
        sizes = self.sizes(x, y.shape[1])
        batch = min(200 if self.batch_size == "auto" else int(self.batch_size), len(x))
        program, names, shapes = self.program(sizes, batch, loss)
        if self.archive is None:
            run = reprise().Run()
            values = self.steps(run, program, names, shapes, x, y, batch, random)
        else:
            with reprise().record(self.archive, key=self.key, force=True) as run:
                values = self.steps(run, program, names, shapes, x, y, batch, random)
        self.coefs_ = [values[n] for n in names[::2]]
        self.intercepts_ = [values[n] for n in names[1::2]]
        self.n_layers_, self.n_outputs_ = len(sizes), sizes[-1]

    def steps(self, run: Any, program: Any, names: list[str], shapes: list[Any], x: Array, y: Array, batch: int,
              random: Any) -> dict[str, Array]:
        for name, shape in zip(names, shapes):
            fan = sum(shape) if len(shape) == 2 else 1
            first = random.uniform(-1, 1, shape) * np.sqrt(6.0 / fan) if len(shape) == 2 else np.zeros(shape)
            for suffix, a in (("", first), (".m", np.zeros(shape)), (".v", np.zeros(shape))):
                run.add_state(name + suffix, np.ascontiguousarray(a))
        step = run.compile(program)
        best, waited, decay1, decay2 = np.inf, 0, 1.0, 1.0  # products: a power is the host's library's
        self.loss_curve_: list[float] = []
        for epoch in range(self.max_iter):
            order, losses = random.permutation(len(x)), []
            for at in range(0, len(x), batch):
                rows = order[at:at + batch]
                padded = np.r_[rows, np.zeros(batch - len(rows), int)]  # rows of weight 0
                w = (np.arange(batch) < len(rows)).astype(np.float64)[:, None]
                decay1, decay2 = decay1 * 0.9, decay2 * 0.999
                rate = np.array([self.learning_rate_init, 1 - decay1, 1 - decay2])
                found = step(x=x[padded], y=y[padded], w=w, rate=rate)
                losses.append(float(np.asarray(found["loss"])) * len(rows))
            self.loss_curve_.append(sum(losses) / len(x))
            self.n_iter_ = epoch + 1
            waited = 0 if self.loss_curve_[-1] < best - self.tol else waited + 1
            best = min(best, self.loss_curve_[-1])
            if waited >= self.n_iter_no_change:
                break
        self.loss_ = self.loss_curve_[-1]
        return {n: np.array(run.get_state(n)) for n in names}

    def outputs(self, x: Any) -> Array:
        check_is_fitted(self)
        t = reprise().Tensor
        return np.array(self.forward(t(self.rows(x)), [t(w) for w in self.coefs_], [t(b) for b in self.intercepts_]).numpy())


class MLPRegressor(RegressorMixin, Network):  # type: ignore[misc]
    """A regression by fully connected layers with relu, squared loss."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags

    def fit(self, X: Any, y: Any) -> Any:
        x, y, _ = self.checked(X, y, None, multi_output=True, y_numeric=True)
        self.one_ = y.ndim == 1
        self.train(x, np.ascontiguousarray(y.astype(np.float64).reshape(len(y), -1)), "squared")
        return self

    def predict(self, X: Any) -> Array:
        found = self.outputs(X)
        return found[:, 0] if self.one_ else found


class MLPClassifier(ClassifierMixin, Network):  # type: ignore[misc]
    """A classifier by fully connected layers with relu, cross entropy."""

    def fit(self, X: Any, y: Any) -> Any:
        x, y, _ = self.checked(X, y, None)
        check_classification_targets(y)
        self.classes_, codes = np.unique(y, return_inverse=True)
        k = len(self.classes_)
        if k < 2:
            raise ValueError(f"y has {k} class: a classifier needs two or more classes")
        self.train(x, np.ascontiguousarray(np.eye(k)[codes][:, 1:] if k == 2 else np.eye(k)[codes]),
                   "binary" if k == 2 else "classes")
        return self

    def predict_proba(self, X: Any) -> Array:
        found = self.outputs(X)
        return shares(found[:, 0] if found.shape[1] == 1 else found)

    def predict(self, X: Any) -> Array:
        found = self.predict_proba(X)
        return self.classes_[found.argmax(1)]
