# SPDX-License-Identifier: Apache-2.0
"""Linear models with their exact solutions: LinearRegression, Ridge, LogisticRegression."""
from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin, RegressorMixin  # type: ignore
from sklearn.exceptions import ConvergenceWarning  # type: ignore
from sklearn.utils.class_weight import compute_class_weight  # type: ignore
from sklearn.utils.multiclass import check_classification_targets  # type: ignore
from sklearn.utils.validation import check_is_fitted  # type: ignore

from .base import SINGULAR, Array, Recorded, append, computed, eye, reprise, solve, total
from .least import left_out, with_own

CERTAIN = 29.9  # a score beyond it is a probability below 1e-13


class Ridge(RegressorMixin, Recorded):  # type: ignore[misc]
    """Least squares with a penalty: minimises sum w (y - x b - b0)^2 + alpha |b|^2 by Cholesky's factors. Of targets [n, 1] coefficients
    and predictions are vectors, as scikit-learn's Ridge has them, and not its LinearRegression."""

    flat = True  # whether one column of targets is as a vector of them

    def __init__(self, alpha: float = 1.0, fit_intercept: bool = True, archive: Any = None, key: Any = None) -> None:
        self.alpha, self.fit_intercept, self.archive, self.key = alpha, fit_intercept, archive, key

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags

    def penalty(self) -> float:
        if np.ndim(self.alpha):
            raise ValueError("alpha is one number for all targets: fit an estimator a target for penalties of their own")
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
            coef, out = solve(gram, turned @ y), left_out(gram, SINGULAR)
            if len(out):
                a, b, root = x * w.sqrt(), y * w.sqrt(), math.sqrt(alpha)
                if alpha:  # rows that ask for coefficients of 0
                    one = append("fill", value=root, shape=[x.shape[1]] * 2, dtype="f64")
                    none = append("fill", value=0.0, shape=[x.shape[1], y.shape[1]], dtype="f64")
                    a, b = append("concat", a, append("where", eye(one), one, one * 0.0), axis=0), append("concat", b, none, axis=0)
                own = with_own(a, b, gram, out)
                coef = coef if own is None else own
            intercept = y0 - x0 @ coef if centred else y0 * 0.0
            return {"coef": coef.T, "intercept": intercept}

        found = computed(self, job, {"x": x, "y": targets, "w": w})
        self.coef_ = found["coef"][0] if y.ndim == 1 or self.flat and targets.shape[1] == 1 else found["coef"]
        self.intercept_ = float(found["intercept"][0, 0]) if y.ndim == 1 else found["intercept"][0]
        return self

    def predict(self, X: Any) -> Array:
        check_is_fitted(self)
        found = self.scores(X, np.atleast_2d(self.coef_), np.atleast_1d(self.intercept_))
        return found[:, 0] if self.coef_.ndim == 1 else found


class LinearRegression(Ridge):
    """Least squares. Of columns that others explain the coefficient is 0."""

    flat = False

    def __init__(self, fit_intercept: bool = True, archive: Any = None, key: Any = None) -> None:
        self.fit_intercept, self.archive, self.key = fit_intercept, archive, key

    def penalty(self) -> float:
        return 0.0


class LogisticRegression(ClassifierMixin, Recorded):  # type: ignore[misc]
    """Logistic regression with the penalty |b|^2 / (2 C), by Newton's steps; of more than two classes the multinomial one. Where the steps
    do not end in max_iter, or without a penalty (C infinite) where classes can be told apart, a ConvergenceWarning says so.
    class_weight multiplies rows' weights by their class's: a dict of classes, 1 for those that are not in it, or "balanced": all rows'
    weight over the number of classes and the class's own weight."""

    class_weight: Any = None  # of a pickle from before it was there

    def __init__(self, C: float = 1.0, fit_intercept: bool = True, tol: float = 1e-10, max_iter: int = 100,
                 class_weight: Any = None, archive: Any = None, key: Any = None) -> None:
        self.C, self.fit_intercept, self.tol, self.max_iter, self.class_weight = C, fit_intercept, tol, max_iter, class_weight
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
        if self.class_weight is not None:
            w = w * self.weights_of(y, w[:, 0])[codes][:, None]
        k, p = len(self.classes_), x.shape[1]
        one = np.ones((len(x), 1)) if self.fit_intercept else np.zeros((len(x), 0))
        design = np.ascontiguousarray(np.hstack([x, one]))
        targets = np.eye(k)[codes][:, 1:] if k == 2 else np.eye(k)[codes]
        penalties = np.r_[np.full(p, 1 / self.C), [0.0] * one.shape[1]][:, None]
        steps, ended = [0], [False]

        def job(f: dict[str, Any]) -> dict[str, Any]:
            steps[0], ended[0], b = newton(f["x"], f["y"], f["w"], f["penalty"], self.tol, self.max_iter)
            return {"coef": b}

        found = computed(self, job, {"x": design, "y": np.ascontiguousarray(targets), "w": w, "penalty": penalties})["coef"]
        self.coef_ = np.ascontiguousarray(found[:p].T)
        self.intercept_ = found[p] if self.fit_intercept else np.zeros(found.shape[1])
        if k > 2:  # probabilities do not change by one number added to all of them: their mean is 0
            self.intercept_ = self.intercept_ - self.intercept_.mean()
        self.n_iter_ = np.array([steps[0]])
        if not ended[0]:
            warnings.warn(f"the steps did not end: after {steps[0]} of at most {self.max_iter} the coefficients still move, or the "
                          "objective falls no further. max_iter, tol or C may be too small or too large, the columns' scales too far apart",
                          ConvergenceWarning, stacklevel=2)
        elif np.isinf(self.C) and certain(design, found) > CERTAIN:
            warnings.warn("the steps ended where probabilities are 0 or 1 to the last digit: without a penalty the estimates of "
                          "classes that can be told apart are infinite", ConvergenceWarning, stacklevel=2)
        return self

    def weights_of(self, y: Array, w: Array) -> Array:
        """Each class's weight, in the order of `classes_`."""
        if self.class_weight != "balanced" and not isinstance(self.class_weight, dict):
            raise ValueError(f"class_weight is {self.class_weight!r}: it has to be None, 'balanced' or a dict of classes")
        found = np.asarray(compute_class_weight(self.class_weight, classes=self.classes_, y=y, sample_weight=w), np.float64)
        if not (np.isfinite(found) & (found > 0)).all():
            raise ValueError(f"class_weight {self.class_weight}: weights have to be finite and above 0")
        return found

    def decision_function(self, X: Any) -> Array:
        check_is_fitted(self)
        found = self.scores(X, self.coef_, self.intercept_)
        return found[:, 0] if found.shape[1] == 1 else found

    def predict_proba(self, X: Any) -> Array:
        return shares(self.decision_function(X))

    def predict_log_proba(self, X: Any) -> Array:
        return logarithms(self.decision_function(X))

    def predict(self, X: Any) -> Array:
        found = self.decision_function(X)
        return self.classes_[(found > 0).astype(int) if found.ndim == 1 else found.argmax(1)]


def certain(x: Array, coef: Array) -> float:
    """How far apart the scores of a row's classes are at most."""
    z = np.array((reprise().Tensor(x) @ reprise().Tensor(np.ascontiguousarray(coef))).numpy())
    return float(np.abs(z).max() if z.shape[1] == 1 else (z.max(1) - z.min(1)).max())


def shares(scores: Array) -> Array:
    """Probabilities of scores."""
    r = reprise()
    if scores.ndim == 1:
        p = np.array(r.Tensor(scores).sigmoid().numpy())
        return np.column_stack([1 - p, p])
    return np.array(append("softmax", r.Tensor(scores)).numpy())


def logarithms(scores: Array) -> Array:
    """Logarithms of their probabilities, which NumPy's would be the host's."""
    t = reprise().Tensor(scores)
    if scores.ndim > 1:
        return np.array(append("log_softmax", t).numpy())
    return np.column_stack([-np.array(append("bce_logits", t, append(
        "fill", value=y, shape=list(t.shape), dtype="f64")).numpy()) for y in (0.0, 1.0)])


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


def newton(x: Any, y: Any, w: Any, penalty: Any, tol: float, most: int) -> tuple[int, bool, Any]:
    """Newton's steps, halved until the objective falls: how many, whether they ended, coefficients [columns, outputs]."""
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
            return step, False, b
        change = float((append("abs", move).max() * size).numpy())
        b, value = found, new
        if change <= tol * max(1.0, float(append("abs", b).max().numpy())):
            return step, True, b
    return most, False, b


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
