#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Generalised linear models of reprise.sklearn beside statsmodels' GLM on the tables that statsmodels brings: greatest
relative differences of coefficients, standard errors, deviances, Pearson's sum and dispersion. Usage: glm.py; needs the
package reprise, scikit-learn, pandas, statsmodels. Ends with 1 where one is above 1e-6, or of deviances above 1e-10."""
import sys
import warnings

import numpy as np
import statsmodels.api as sm

from reprise.sklearn import GLM

warnings.simplefilter("ignore")
F = sm.families
L = F.links
missed = []


def rel(a, b):
    a, b = np.asarray(a), np.asarray(b)
    return float(np.nanmax(np.abs(a - b) / np.maximum(np.abs(b), 1e-300)))


def table(name):
    found = getattr(sm.datasets, name).load_pandas()
    x = found.exog.to_numpy(float)
    return x[:, x.std(0) > 0], found.endog.to_numpy(float)


def go(name, x, y, family, link, theirs, w=None, **shift):
    s = sm.GLM(y, sm.add_constant(x, prepend=False, has_constant="add"), family=theirs,
               **({} if w is None else {"var_weights": w}), **shift).fit(tol=1e-14, maxiter=300, tol_criterion="deviance")
    m = GLM(family, link, max_iter=300).fit(x, y, sample_weight=w, **shift)
    found = {"coef": rel(np.r_[m.coef_, m.intercept_], s.params),
             "errors": rel(np.r_[m.standard_errors_, m.intercept_standard_error_], s.bse),
             "deviance": rel(m.deviance_, s.deviance), "null": rel(m.null_deviance_, s.null_deviance),
             "pearson": rel(m.pearson_chi2_, s.pearson_chi2), "dispersion": rel(m.dispersion_, s.scale)}
    if any(v > (1e-10 if k in ("deviance", "null") else 1e-6) for k, v in found.items()) or m.df_resid_ != s.df_resid:
        missed.append((name, family, link))
    print(f"{name:10s} {family:17s} {link or '':16s} n {len(y):6d} p {x.shape[1]:3d} steps {m.n_iter_:3d}  " +
          "  ".join(f"{k} {v:.1e}" for k, v in found.items()), flush=True)


x, y = table("randhie")
go("randhie", x, y, "poisson", None, F.Poisson())
go("randhie", x, y, "tweedie", None, F.Tweedie(var_power=1.5, link=L.Log()))
go("randhie", x[y > 0], y[y > 0], "gamma", None, F.Gamma(L.Log()))
go("randhie", x[y > 0], y[y > 0], "inverse gaussian", None, F.InverseGaussian(L.Log()))
x, y = table("cpunish")
go("cpunish", x, y, "poisson", None, F.Poisson())
go("cpunish", x, y, "poisson", "sqrt", F.Poisson(L.Sqrt()))
x, y = table("scotland")
for link, theirs in ((None, L.Log()), ("inverse", L.InversePower()), ("identity", L.Identity())):
    go("scotland", x, y, "gamma", link, F.Gamma(theirs))
go("scotland", x, y, "inverse gaussian", "inverse squared", F.InverseGaussian())
x, y = table("star98")
for link, theirs in ((None, L.Logit()), ("probit", L.Probit()), ("cloglog", L.CLogLog())):
    go("star98", x, y[:, 0] / y.sum(1), "binomial", link, F.Binomial(theirs), w=y.sum(1))
x, y = table("spector")
for link, theirs in ((None, L.Logit()), ("probit", L.Probit()), ("cloglog", L.CLogLog())):
    go("spector", x, y, "binomial", link, F.Binomial(theirs))
x, y = table("longley")
go("longley", x, y, "normal", None, F.Gaussian())
x, y = table("stackloss")
go("stackloss", x, y, "normal", "log", F.Gaussian(L.Log()))
go("stackloss", x, y, "poisson", None, F.Poisson())
x, y = table("ccard")
go("ccard", x, y, "gamma", None, F.Gamma(L.Log()))
go("ccard", x, y, "normal", None, F.Gaussian(), w=1 / (1 + x[:, 0]))
x, y = table("fair")
go("fair", x, (y > 0) * 1.0, "binomial", None, F.Binomial())
go("fair", x[:, 1:], np.round(y), "poisson", None, F.Poisson(), exposure=x[:, 1])
go("fair", x[:, 1:], y, "tweedie", None, F.Tweedie(var_power=1.5, link=L.Log()), offset=np.log(x[:, 1]))
sys.exit(print("missed:", missed) or 1 if missed else 0)
