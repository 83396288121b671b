# SPDX-License-Identifier: Apache-2.0
"""GLM: generalised linear models, by Fisher scoring inside one program whose loop, rule and limit an archive shows.

Columns are centred and scaled inside the fit, which moves no estimate and keeps digits; a step that raises the deviance is
halved. Estimates, errors and deviances are of the columns as they were given."""
from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np
from sklearn.base import RegressorMixin  # type: ignore
from sklearn.exceptions import ConvergenceWarning  # type: ignore
from sklearn.utils.validation import check_consistent_length, check_is_fitted, column_or_1d  # type: ignore

from .base import SINGULAR, Array, Recorded, append, eye, number, reprise, solve, total
from .glm_families import Family, Link, family_of, less, link_of

EXTREME = 1e-13  # probabilities and counts below are those of infinite estimates
SMALLEST, LARGEST = 1e-140, 1e140  # of a column's elements, whose squares have to be numbers
CONSTANT = 1e-13  # a deviation of less than this share of a column's greatest element is none


def broadcast(condition: Any, like: Any) -> Any:
    return append("broadcast_to", append("reshape", condition, shape=[1] * like.ndim), shape=list(like.shape))


def choose(condition: Any, a: Any, b: Any) -> Any:
    """a where a condition [] holds, else b."""
    return append("where", broadcast(condition, a) if a.ndim else condition, a, b)


class Scoring:
    """One family, link and penalty; what a step of Fisher scoring computes."""

    def __init__(self, family: Family, link: Link) -> None:
        self.family, self.link = family, link

    def means(self, x: Any, offset: Any, b: Any) -> tuple[Any, Any, Any, Any]:
        eta = x @ b + offset
        return (eta, *self.link.inverse(eta))

    def at(self, x: Any, y: Any, w: Any, offset: Any, penalty: Any, b: Any) -> tuple[Any, Any, Any, Any]:
        """Whether b is allowed, half the deviance with the penalty, its expected second derivatives, and downhill."""
        _, mu, rest, slope = self.means(x, offset, b)
        deviance = (self.family.deviance(y, mu, rest) * w).sum()
        share = slope * 0.0 + 1.0 if self.link.name == self.family.canonical else slope / self.family.variance(mu, rest)
        objective = (deviance + (b * b * penalty).sum()) * 0.5
        gram = x.T @ (x * (share * slope * w))
        gram = gram + append("where", eye(gram), append("broadcast_to", penalty, shape=list(gram.shape)), gram * 0.0)
        return self.family.valid(mu, rest), objective, gram, x.T @ ((y - mu) * share * w) - b * penalty

    def start(self, x: Any, y: Any, w: Any, offset: Any, penalty: Any, intercept: bool) -> Any:
        """Least squares of the link of targets drawn toward their mean; where those means are not allowed, the intercept that
        gives the mean."""
        mean = (y * w).sum() / w.sum()
        drawn = (y + (0.5 if self.family.most < math.inf else mean)) * 0.5
        eta = self.link.forward(drawn)
        _, _, slope = self.link.inverse(eta)
        weight = w * slope * slope / self.family.variance(drawn, 1.0 - drawn)
        gram = x.T @ (x * weight)
        gram = gram + append("where", eye(gram), append("broadcast_to", penalty, shape=list(gram.shape)), gram * 0.0)
        first = solve(gram, x.T @ ((eta - offset) * weight))
        last = self.link.forward(mean) - (offset * w).sum() / w.sum() if intercept else mean * 0.0
        q = x.shape[1]
        place = append("reshape", append("one_hot", append("iota", n=1, dtype="i64") + (q - 1), depth=q, dtype="f64"), shape=[q, 1])
        fine, _, _, _ = self.at(x, y, w, offset, penalty, first)
        return choose(fine, first, place * last)

    def functions(self, n: int, q: int, tol: float, still: float) -> tuple[Any, Any]:
        """The body and the predicate of the loop."""
        shapes = ((q, 1), (), (q, q), (q, 1), (), ())
        shared = ((n, q), (n, 1), (n, 1), (n, 1), (q, 1), ())
        f = reprise().Builder()
        with f:
            f.parameter((), "i64")
            b, value, gram, down, size, change = (f.parameter(s, "f64") for s in shapes)
            x, y, w, offset, penalty, floor = (f.parameter(s, "f64") for s in shared)
            move = solve(gram, down) * size
            ahead = b + move
            fine, new, new_gram, new_down = self.at(x, y, w, offset, penalty, ahead)
            ok = append("logical_and", fine, append("le", new, value + append("abs", value) * 1e-12 + floor))
            eta = append("abs", x @ ahead + offset).max()
            unit = append("maximum", eta, number(self.link.unit) if self.link.unit else append("abs", y).max())
            moved = append("abs", x @ move).max()
            step = append("where", less(number(0.0), moved), moved / unit, number(0.0))
            # near the end the objective stands still, and steps that no longer shrink are rounding
            ended = append("logical_and", append("le", change, step),
                           append("le", append("abs", new - value), append("abs", value) * still + floor))
            step = append("where", ended, number(0.0), step)
            for now, before in ((ahead, b), (new, value), (new_gram, gram), (new_down, down)):
                f.returns(choose(ok, now, before))
            f.returns(append("where", ok, number(1.0), size * 0.5))
            f.returns(append("where", ok, step, change))
        g = reprise().Builder()
        with g:
            g.parameter((), "i64")
            carried = [g.parameter(s, "f64") for s in shapes]
            for s in shared:
                g.parameter(s, "f64")
            g.returns(append("logical_and", less(number(tol), carried[5]), less(number(1e-12), carried[4])))
        return f.finish_function(), g.finish_function()

    def fit(self, graph: Any, x: Any, y: Any, w: Any, offset: Any, penalty: Any, first: Any, tol: float,
            most: int) -> tuple[Any, Any, Any]:
        """The best b, the count of steps and the last one's size, 0 where it was rounding."""
        body, predicate = self.functions(x.shape[0], x.shape[1], tol, 1e-13)
        _, value, gram, down = self.at(x, y, w, offset, penalty, first)
        squares = (y * y * w).sum() * 1e-26 if not self.family.positive else w.sum() * 1e-15
        count, b, _, _, _, _, change = graph.while_(
            body, predicate, most, carried=[first, value, gram, down, number(1.0), number(math.inf)],
            shared=[x, y, w, offset, penalty, squares])
        return b, count, change


class GLM(RegressorMixin, Recorded):  # type: ignore[misc]
    """A generalised linear model: minimises sum w d(y, mu) / (2 sum w) + alpha |b|^2 / 2, d the family's deviance.

    family     "normal", "poisson", "binomial" (proportions; their trials are sample_weight), "gamma", "inverse gaussian", or
               "tweedie" with `power`
    link       None: identity of normal, logit of binomial, else log; or "identity", "log", "logit", "probit", "cloglog",
               "inverse", "inverse squared", "sqrt"
    alpha      the penalty; with one, there are no standard errors
    tol        steps end when none of the rows' linear predictors moves by more than this share of the largest
    warm_start begin from the last fit's estimates. The result is the same within tol, its last bits are not

    After fit: coef_, intercept_, n_iter_, deviance_, null_deviance_, pearson_chi2_, dispersion_ (1 of binomial and
    poisson, else Pearson's), df_resid_, standard_errors_ and intercept_standard_error_ (NaN of a column that others
    explain, whose coefficient is 0), covariance_ (the intercept last).
    Errors: ValueError for targets, offsets or parameters that the family does not take; where the steps do not end in
    max_iter, as with classes that can be told apart, ConvergenceWarning."""

    def __init__(self, family: str = "normal", link: str | None = None, power: float = 1.5, alpha: float = 0.0,
                 fit_intercept: bool = True, tol: float = 1e-11, max_iter: int = 100, warm_start: bool = False,
                 archive: Any = None, key: Any = None) -> None:
        self.family, self.link, self.power, self.alpha, self.fit_intercept = family, link, power, alpha, fit_intercept
        self.tol, self.max_iter, self.warm_start, self.archive, self.key = tol, max_iter, warm_start, archive, key

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.positive_only = self.family in ("poisson", "gamma", "inverse gaussian", "tweedie")
        return tags

    # ---- what is given ----

    def parts(self) -> tuple[Family, Link]:
        if not np.isfinite(self.alpha) or self.alpha < 0:
            raise ValueError(f"alpha is {self.alpha}: it has to be finite and not negative")
        if not self.tol > 0 or int(self.max_iter) < 1:
            raise ValueError(f"tol {self.tol} and max_iter {self.max_iter} have to be positive")
        family = family_of(self.family, self.power)
        return family, link_of(self.link, family)

    def shift(self, n: int, offset: Any, exposure: Any, link: Link) -> Array:
        """The offset of each row [n, 1]; an exposure is one by its logarithm, which the graph takes."""
        if offset is not None and exposure is not None:
            raise ValueError("offset and exposure: one of the two")
        if exposure is not None and link.name != "log":
            raise ValueError(f"exposure is for the link 'log', and this is {link.name!r}: give an offset")
        given = offset if exposure is None else exposure
        found = np.zeros(n) if given is None else np.asarray(given, dtype=np.float64)
        if found.shape != (n,) or not np.isfinite(found).all() or exposure is not None and not (found > 0).all():
            what = "offset" if exposure is None else "exposure"
            raise ValueError(f"{what}: a finite number{' above 0' if what == 'exposure' else ''} for each of the {n} rows")
        if exposure is not None:
            found = np.array(reprise().Tensor(found).log().numpy())
        return found[:, None]

    # ---- the fit ----

    def fit(self, X: Any, y: Any, sample_weight: Any = None, offset: Any = None, exposure: Any = None) -> Any:
        x, y, w = self.checked(X, y, sample_weight, y_numeric=True)
        family, link = self.parts()
        shift = self.shift(len(x), offset, exposure, link)
        kept = w[:, 0] > 0  # a row without weight is not there
        if not kept.any():
            raise ValueError("no row has a weight above 0")
        x, w, shift, target = x[kept], w[kept], shift[kept], np.asarray(y, dtype=np.float64)[kept]
        family.check(target)
        self.sizes(x)
        feeds = {"x": x, "y": target[:, None], "w": w, "offset": shift}
        if self.warm_start and hasattr(self, "coef_"):
            feeds["start"] = np.r_[self.coef_, [self.intercept_] if self.fit_intercept else []][:, None]
        program = self.program(family, link, len(x), x.shape[1], shift.any(), "start" in feeds)
        feeds = {k: np.ascontiguousarray(v) for k, v in feeds.items()}
        if self.archive is None:
            found = reprise().Run().compile(program)(**feeds)
        else:
            with self.recorded() as run:
                self.say(run)
                found = run.compile(program)(**feeds)
        self.keep({k: np.array(v.numpy()) for k, v in found.items()}, len(x), x.shape[1], family)
        self.fitted_ = (self.family, self.power, link.name, offset is not None or exposure is not None)
        return self

    def sizes(self, x: Array) -> None:
        """Errors: ValueError for a column whose squares would be infinite, or 0 where the column is not."""
        most = np.max(np.abs(x), axis=0, initial=0.0)
        bad = np.flatnonzero((most > LARGEST) | (most < SMALLEST) & (most > 0))
        if bad.size:
            raise ValueError(f"column {bad[0]} has a greatest element of {most[bad[0]]:g}: give it in a unit in which that lies between "
                             f"{SMALLEST:g} and {LARGEST:g}")

    def program(self, family: Family, link: Link, n: int, p: int, shifted: bool, warm: bool) -> Any:
        """The whole fit as one program."""
        graph, scoring, centred = reprise().Builder(), Scoring(family, link), bool(self.fit_intercept)
        with graph:
            x, y = graph.feed("x", (n, p), "f64"), graph.feed("y", (n, 1), "f64")
            w, offset = graph.feed("w", (n, 1), "f64"), graph.feed("offset", (n, 1), "f64")
            scale, centre, design = scaled(x, w, centred)
            penalty = scale * scale * (w.sum() * float(self.alpha))
            if centred:
                penalty = append("concat", penalty, number(0.0).reshape(1, 1), axis=0)
            if warm:
                first = inner(graph.feed("start", (p + centred, 1), "f64"), scale, centre, centred)
            else:
                first = scoring.start(design, y, w, offset, penalty, centred)
            b, count, change = scoring.fit(graph, design, y, w, offset, penalty, first, float(self.tol), int(self.max_iter))
            summary(graph, scoring, design, y, w, offset, penalty, b, scale, centre, centred)
            graph.result("iterations", count)
            graph.result("change", change)
            graph.result("null_deviance", self.null(graph, scoring, y, w, offset, shifted, centred))
        return graph.finish()

    def null(self, graph: Any, scoring: Scoring, y: Any, w: Any, offset: Any, shifted: bool, centred: bool) -> Any:
        """The deviance of the model without columns: the mean, or with an offset the best intercept beside it."""
        if not centred:
            _, mu, rest, _ = (offset, *scoring.link.inverse(offset))
        elif not shifted:
            mu = y * 0.0 + (y * w).sum() / w.sum()
            rest = 1.0 - mu
        else:
            one, none = y * 0.0 + 1.0, number(0.0).reshape(1, 1)
            b, _, _ = scoring.fit(graph, one, y, w, offset, none, scoring.start(one, y, w, offset, none, True), float(self.tol),
                                  int(self.max_iter))
            _, mu, rest, _ = scoring.means(one, offset, b)
        return (scoring.family.deviance(y, mu, rest) * w).sum()

    def keep(self, found: dict[str, Array], n: int, p: int, family: Family) -> None:
        b = found["coef"][:, 0]
        if not np.isfinite(b).all() or not np.isfinite(found["deviance"]):
            raise ValueError(f"no means that family {family.name!r} allows were found to begin with: another link, or an intercept")
        self.coef_, self.intercept_ = np.ascontiguousarray(b[:p]), float(b[p]) if self.fit_intercept else 0.0
        self.n_iter_, self.deviance_ = max(int(found["iterations"]), 1), float(found["deviance"])
        self.null_deviance_, self.pearson_chi2_ = float(found["null_deviance"]), float(found["pearson"])
        there = np.isfinite(found["pivot"][:, 0])  # the factor's diagonal is infinite for a column that others explain
        self.df_resid_ = n - int(there.sum())
        self.dispersion_ = (1.0 if not family.dispersed else
                            self.pearson_chi2_ / self.df_resid_ if self.df_resid_ > 0 else math.nan)
        for name in ("covariance_", "standard_errors_", "intercept_standard_error_"):
            self.__dict__.pop(name, None)
        if self.alpha == 0:
            self.covariance_ = found["covariance"] * self.dispersion_
            errors = np.where(there, np.sqrt(np.diag(self.covariance_)), np.nan)
            self.standard_errors_ = errors[:p]
            self.intercept_standard_error_ = float(errors[p]) if self.fit_intercept else math.nan
        if not float(found["change"]) <= self.tol:
            warnings.warn(f"the steps did not end in {self.max_iter}: the last moved a linear predictor by "
                          f"{float(found['change']):.3g} of the largest. Estimates may be infinite (groups told apart without error), "
                          "or max_iter or tol too small", ConvergenceWarning, stacklevel=3)
        elif (~there & (b != 0)).any():  # a column that others explain from the start has the estimate 0
            warnings.warn("the steps ended where the rows' weights leave nothing of a column: groups are told apart without error, and "
                          "estimates are infinite (those whose standard error is NaN)", ConvergenceWarning, stacklevel=3)
        elif self.alpha == 0 and not family.dispersed and float(found["least"]) < EXTREME:
            warnings.warn(f"the steps did not end, but where means are {'0 or 1' if family.most < math.inf else '0'} to the last digit: "
                          "groups are told apart without error, and estimates are infinite", ConvergenceWarning, stacklevel=3)

    # ---- what it says ----

    def predict(self, X: Any, offset: Any = None, exposure: Any = None) -> Array:
        """Means of rows [n], by the family and link of the fit; a model that was fitted with an offset or exposures is given
        each row's own. Errors: ValueError where it is not."""
        check_is_fitted(self)
        _, link, shifted = self.as_fitted()
        if shifted and offset is None and exposure is None:
            raise ValueError("the model was fitted with an offset or exposures: give each row's own (exposure=np.ones(n) for rates, "
                             "offset=np.zeros(n) for none)")
        scores = self.scores(X, self.coef_[None], np.array([self.intercept_]))
        eta = reprise().Tensor(scores) + reprise().Tensor(self.shift(len(scores), offset, exposure, link))
        return np.array(link.inverse(eta)[0].numpy())[:, 0]

    def as_fitted(self) -> tuple[Family, Link, bool]:
        """Family and link of the fit, whatever the parameters are now, and whether it had an offset."""
        name, power, link, shifted = self.fitted_
        family = family_of(name, power)
        return family, link_of(link, family), shifted

    def score(self, X: Any, y: Any, sample_weight: Any = None, offset: Any = None, exposure: Any = None) -> float:
        """The share of the deviance that is explained: 1 - D(y, mu) / D(y, mean of y), R squared of the normal family. Of targets
        that are all one it is 1 where every mean is that one, else 0, as scikit-learn's R squared."""
        mu = self.predict(X, offset, exposure)
        family, _, _ = self.as_fitted()
        y = column_or_1d(y, dtype=np.float64)
        w = np.ones(len(y)) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
        check_consistent_length(mu, y, w)
        if not np.isfinite(y).all():
            raise ValueError("y: finite numbers")
        if w.ndim != 1 or not (w >= 0).all():
            raise ValueError("sample_weight: numbers that are not negative")
        family.check(y[w > 0])
        t = reprise().Tensor

        def deviance(mean: Array) -> float:
            m = t(mean)
            return float((family.deviance(t(y), m, 1.0 - m) * t(w)).sum().numpy())
        left, whole = deviance(mu), deviance(np.full(len(y), np.average(y, weights=w)))
        return 1.0 - left / whole if whole else float(left == 0)


def scaled(x: Any, w: Any, centred: bool) -> tuple[Any, Any, Any]:
    """Scales [p, 1], centres [1, p], and the design: columns of mean 0 (with an intercept) and mean square 1, then ones."""
    weight = w.sum()
    centre = append("reshape", total(x * w, 0), shape=[1, x.shape[1]]) / weight if centred else \
        append("reshape", total(x * 0.0, 0), shape=[1, x.shape[1]])
    away = x - centre
    spread = append("reshape", (total(away * away * w, 0) / weight), shape=[1, x.shape[1]]).sqrt()
    largest = append("reshape", append("max", append("abs", x), axes=[0]), shape=[1, x.shape[1]])
    there = less(largest * CONSTANT, spread)
    inverse = append("where", there, 1.0 / spread, spread * 0.0)
    design = away * inverse
    if centred:
        design = append("concat", design, w * 0.0 + 1.0, axis=1)
    return inverse.T, centre, design


def inner(b: Any, scale: Any, centre: Any, centred: bool) -> Any:
    """Estimates of the columns as they were given, as those of the design."""
    p = scale.shape[0]
    own = append("slice", b, begin=[0, 0], end=[p, 1])
    zero = scale * 0.0
    turned = append("where", append("eq", scale, zero), zero, own / append("where", append("eq", scale, zero), zero + 1.0, scale))
    if not centred:
        return turned
    return append("concat", turned, append("slice", b, begin=[p, 0], end=[p + 1, 1]) + centre @ own, axis=0)


def summary(graph: Any, scoring: Scoring, x: Any, y: Any, w: Any, offset: Any, penalty: Any, b: Any, scale: Any, centre: Any,
            centred: bool) -> None:
    """The results of the best b: estimates of the columns as they were given, deviance, Pearson's sum, covariance."""
    p = scale.shape[0]
    _, mu, rest, _ = scoring.means(x, offset, b)
    _, _, gram, _ = scoring.at(x, y, w, offset, penalty, b)
    wide = append("broadcast_to", scale, shape=[p, p])
    back = append("where", eye(wide), wide, wide * 0.0)
    if centred:
        back = append("concat", back, append("reshape", scale * 0.0, shape=[p, 1]), axis=1)
        low = append("concat", -(centre * scale.T), number(1.0).reshape(1, 1), axis=1)
        back = append("concat", back, low, axis=0)
    factor = append("cholesky", gram, tolerance=SINGULAR)
    one = append("where", eye(gram), gram * 0.0 + 1.0, gram * 0.0)
    half = append("triangular_solve", factor, one, transposed=False, upper=False) @ back.T
    on = append("where", eye(gram), factor, gram * 0.0)
    graph.result("coef", back @ b)
    graph.result("deviance", (scoring.family.deviance(y, mu, rest) * w).sum())
    graph.result("pearson", ((y - mu) * (y - mu) / scoring.family.variance(mu, rest) * w).sum())
    graph.result("covariance", half.T @ half)
    graph.result("least", append("minimum", mu, rest).min() if scoring.family.most < math.inf else mu.min())
    graph.result("pivot", append("reshape", total(on, 1), shape=[gram.shape[0], 1]))
