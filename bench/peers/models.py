#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Exact models beside scikit-learn (mean of five folds) and statsmodels (coefficients, standard errors, p) on tables
that those packages bring. Usage: models.py REPRISE; needs numpy, pandas, scikit-learn, statsmodels,
palmerpenguins, vega_datasets.
Ends with 1 where a table misses its bar: 0.01 of accuracy, 0.02 of R2; 1e-8 of a coefficient."""
import io
import json
import os
import subprocess
import sys
import tempfile
import warnings

import numpy as np
import pandas as pd
import sklearn.datasets
import statsmodels.api as sm
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from statsmodels.stats.outliers_influence import variance_inflation_factor

warnings.filterwarnings("ignore")
SCORED = {"penguins": "species", "iris": "target", "wine": "target", "breast_cancer": "target", "diabetes": "target",
          "fair": "affairs", "randhie": "mdvis", "star98": "NABOVE", "statecrime": "murder", "macrodata": "realgdp",
          "elnino": "DEC", "heart": "survival", "anes96": "vote", "spector": "GRADE", "ccard": "AVGEXP",
          "copper": "WORLDCONSUMPTION", "stackloss": "STACKLOSS", "scotland": "YES", "grunfeld": "invest",
          "longley": "TOTEMP"}
CLASSES = {"penguins", "iris", "wine", "breast_cancer", "anes96", "spector", "seattle_weather"}
# of vega_datasets, with a column of dates: the target, the date, its parts and what pandas calls them
DATED = {"seattle_weather": ("weather", "date", {"days": None, "month": "month", "weekday": "weekday"}),
         "stocks": ("price", "date", {"days": None, "year": "year", "month": "month"})}
SCORED.update({name: of[0] for name, of in DATED.items()})
LINEAR = ["longley", "stackloss", "fair", "randhie", "ccard", "diabetes", "copper", "elnino", "macrodata"]
missed = False


def table(name):
    if name in DATED:
        from vega_datasets import data
        frame = getattr(data, name)()
        frame[DATED[name][1]] = frame[DATED[name][1]].dt.strftime("%Y-%m-%d")
        return frame
    if name == "penguins":
        from palmerpenguins import load_penguins
        return load_penguins()
    if name in ("iris", "wine", "diabetes", "breast_cancer"):
        bunch = getattr(sklearn.datasets, "load_" + name)(as_frame=True)
        frame = bunch.frame.copy()
        if name != "diabetes":
            frame["target"] = bunch.target_names[bunch.target]
        return frame
    return getattr(sm.datasets, name).load_pandas().data


def run(reprise, frame, target, train, data=""):
    """Runs a recipe on the frame; gives a function that reads a member of its archive."""
    frame.to_csv("table.csv", index=False)
    with open("recipe.yaml", "w") as recipe:
        recipe.write("reprise: 1\ndata: {csv: table.csv, target: %s%s}\n%s" % (target, data, train))
    subprocess.run([reprise, "run", "recipe.yaml", "-o", "x.reprise", "--force"], check=True, capture_output=True)
    return lambda member: subprocess.run([reprise, "inspect", "x.reprise", "--member", member], check=True,
                                         capture_output=True, text=True).stdout


def bar(name, words, held):
    global missed
    missed = missed or not held
    print("%-14s %s%s" % (name, words, "" if held else "   MISSED"))


def with_parts(frame, column, parts):
    """The parts of the dates as columns of numbers, by pandas."""
    day = pd.to_datetime(frame[column])
    made = {part: (day - pd.Timestamp(0)).dt.days if word is None else getattr(day.dt, word) for part, word in parts.items()}
    return frame.drop(columns=[column]).assign(**made)


def scored(reprise, name):
    frame, target, classes = table(name), SCORED[name], name in CLASSES
    ours, theirs, dates = [], [], ""
    if name in DATED:
        _, column, parts = DATED[name]
        dates = ", columns: {%s: {kind: date, parts: [%s]}}" % (column, ", ".join(parts))
    for fold in range(5):
        member = run(reprise, frame, target, "" if classes else "train: {task: regression}\n",
                     ", fold: %d%s" % (fold, dates))
        metrics = json.loads(member("outputs/metrics.json"))
        ours.append(float(metrics["validation"]["accuracy" if classes else "r2"]))
        held = np.zeros(len(frame), bool)
        held[pd.read_csv(io.StringIO(member("outputs/predictions.csv")))["row"].values] = True
        seen = with_parts(frame, column, parts) if dates else frame
        x, y = seen.drop(columns=[target]), frame[target].astype(str) if classes else frame[target]
        numeric = list(x.select_dtypes("number").columns)
        prepare = ColumnTransformer([
            ("n", make_pipeline(SimpleImputer(), StandardScaler()), numeric),
            ("c", make_pipeline(SimpleImputer(strategy="most_frequent"), OneHotEncoder(handle_unknown="ignore")),
             [c for c in x.columns if c not in numeric])])
        model = make_pipeline(prepare, LogisticRegression(max_iter=10000) if classes else Ridge())
        theirs.append(model.fit(x[~held], y[~held]).score(x[held], y[held]))
    a, b = np.mean(ours), np.mean(theirs)
    bar(name, "%s  ours %.4f  scikit-learn %.4f" % ("accuracy" if classes else "R2      ", a, b),
        a >= b - (0.01 if classes else 0.02))


def farthest(found, expected):
    found, expected = np.array(found, float), np.asarray(expected, float)
    return np.max(np.abs(found - expected) / np.maximum(np.abs(expected), 1e-300))


def compared(reprise, name, frame, target, fit, train):
    x = sm.add_constant(frame.drop(columns=[target]))
    result = fit(frame[target], x)
    found = json.loads(run(reprise, frame, target, train, ", train_on_all: true")("outputs/coefficients.json"))
    terms = [t for o in found["outputs"] for t in o["terms"] if t["standing"] == "estimated"]
    flat = lambda values: np.asarray(values).flatten(order="F")
    of = lambda key: [t[key] for t in terms]
    inflation = [variance_inflation_factor(np.asarray(x), i) for i in range(1, x.shape[1])]
    figures = {"estimate": farthest(of("estimate"), flat(result.params)), "error": farthest(of("error"), flat(result.bse)),
               "p": np.max(np.abs(np.array(of("p"), float) - flat(result.pvalues))),
               "aic": farthest(found["aic"], result.aic), "bic": farthest(found["bic"], result.bic),
               "inflation": farthest([t["inflation"] for t in terms if "inflation" in t][:len(inflation)], inflation)}
    bar(name, "  ".join("%s %.0e" % f for f in figures.items()), max(figures.values()) <= 1e-8)


def weighted(reprise, name, target, family, weights):
    """Analytic weights: WLS, and GLM with var_weights; inflation and criteria have no counterpart there."""
    frame = table(name).select_dtypes("number").dropna().copy()
    if family == "gamma":
        frame = frame[frame[target] > 0].reset_index(drop=True)
    rows = np.arange(len(frame))
    frame["w"] = {"small": 0.25 + rows % 4, "large": 1e5 * (1 + rows % 7)}[weights]
    x, y, w = sm.add_constant(frame.drop(columns=[target, "w"])), frame[target], frame["w"]
    log = sm.families.links.Log()
    if family == "gaussian":
        result = sm.WLS(y, x, weights=w).fit()
    else:
        kind = {"poisson": sm.families.Poisson(log), "gamma": sm.families.Gamma(log), "binomial": sm.families.Binomial()}
        result = sm.GLM(y, x, family=kind[family], var_weights=w).fit(tol=1e-14, maxiter=200)
    train = "l2: 0" if family == "binomial" else "task: regression, family: %s, l2: 0" % family
    found = json.loads(run(reprise, frame, target, "train: {%s}\n" % train, ", train_on_all: true, weight: w")(
        "outputs/coefficients.json"))
    terms = [t for t in found["outputs"][0]["terms"] if t["standing"] == "estimated"]
    of = lambda key: [t[key] for t in terms]
    figures = {"estimate": farthest(of("estimate"), result.params), "error": farthest(of("error"), result.bse),
               "p": np.max(np.abs(np.array(of("p"), float) - np.asarray(result.pvalues))),
               "likelihood": farthest(found["log_likelihood"], result.llf), "aic": farthest(found["aic"], result.aic),
               "deviance": farthest(found["deviance"], result.ssr if family == "gaussian" else result.deviance),
               "null": farthest(found["null_deviance"],
                                result.centered_tss if family == "gaussian" else result.null_deviance)}
    bar(name, "%s, %s weights  " % (family, weights) + "  ".join("%s %.0e" % f for f in figures.items()),
        max(figures.values()) <= 1e-8)


def offset(reprise, name, frame, target, family, key):
    """GLM(exposure=) and GLM(offset=) by the column beside, with weights too."""
    for weights in (False, True):
        frame = frame.reset_index(drop=True).copy()
        frame["w"] = 0.5 + np.arange(len(frame)) % 3 if weights else 1.0
        x, y, o = sm.add_constant(frame.drop(columns=[target, "w", "beside"])), frame[target], frame["beside"]
        log = sm.families.links.Log()
        kind = {"poisson": sm.families.Poisson(log), "gamma": sm.families.Gamma(log), "binomial": sm.families.Binomial(),
                "gaussian": sm.families.Gaussian()}[family]
        result = sm.GLM(y, x, family=kind, var_weights=frame["w"], **{key: o}).fit(tol=1e-15, maxiter=200)
        train = "l2: 0" if family == "binomial" else "task: regression, family: %s, l2: 0" % family
        found = json.loads(run(reprise, frame if weights else frame.drop(columns="w"), target, "train: {%s}\n" % train,
                               ", train_on_all: true, %s: beside%s" % (key, ", weight: w" if weights else ""))(
                                   "outputs/coefficients.json"))
        terms = [t for t in found["outputs"][0]["terms"] if t["standing"] == "estimated"]
        figures = {"estimate": farthest([t["estimate"] for t in terms], result.params),
                   "error": farthest([t["error"] for t in terms], result.bse),
                   "deviance": farthest(found["deviance"], result.deviance),
                   "null": farthest(found["null_deviance"], result.null_deviance)}
        if family in ("poisson", "binomial"):
            figures["likelihood"] = farthest(found["log_likelihood"], result.llf)
            figures["aic"] = farthest(found["aic"], result.aic)
        if family in ("poisson", "gamma"):  # of rows once each, whatever their weights
            subprocess.run([reprise, "validate", "x.reprise", "--csv", "table.csv", "-o", "said.json", "--force"],
                           check=True, capture_output=True)
            with open("said.json") as text:
                said = json.load(text)["predicate"]["figures"]
            mean = result.fittedvalues
            figures["actual/expected"] = farthest(said["actual_expected"], y.sum() / mean.sum())
            figures["mean deviance"] = farthest(said["mean_deviance"], kind.deviance(y, mean) / len(y))
        bar(name, "%s, %s%s  " % (family, key, ", weights" if weights else "") +
            "  ".join("%s %.0e" % f for f in figures.items()), max(figures.values()) <= 1e-8)


def offsets(reprise):
    randhie, scotland, fair, longley, cpunish = (table(n) for n in ("randhie", "scotland", "fair", "longley", "cpunish"))
    randhie["beside"] = 0.25 + np.arange(len(randhie)) % 8 * 0.5
    offset(reprise, "randhie", randhie, "mdvis", "poisson", "exposure")
    scotland["beside"] = 1000.0 * (1 + np.arange(len(scotland)) % 5)
    offset(reprise, "scotland", scotland, "YES", "gamma", "exposure")
    fair["affairs"] = (fair["affairs"] > 0).astype(int)
    fair["beside"] = np.arange(len(fair)) % 7 / 3 - 1
    offset(reprise, "fair", fair, "affairs", "binomial", "offset")
    longley["beside"] = 100.0 * np.arange(len(longley))
    offset(reprise, "longley", longley, "TOTEMP", "gaussian", "offset")
    cpunish["beside"] = np.log(cpunish.pop("VC100k96"))
    offset(reprise, "cpunish", cpunish, "EXECUTIONS", "poisson", "offset")


def products(reprise):
    """Formulas a * b of raw columns, beside interactions of standardised ones."""
    fair, doctors, spector = table("fair"), table("randhie"), table("spector")
    fair["affair"] = (fair["affairs"] > 0).astype(int)
    fair["kind"] = fair["occupation"].map(lambda o: "k%d" % o)
    families = {"gaussian": sm.families.Gaussian(), "poisson": sm.families.Poisson(), "binomial": sm.families.Binomial()}
    for name, frame, target, family, columns, pairs in (
            ("longley", table("longley"), "TOTEMP", "gaussian", ["UNEMP", "ARMED", "POP"], [("UNEMP", "ARMED")]),
            ("fair", fair, "affairs", "gaussian", ["age", "yrs_married", "educ"], [("age", "yrs_married"), ("age", "educ")]),
            ("randhie", doctors, "mdvis", "poisson", ["lncoins", "lpi", "disea"], [("lncoins", "lpi"), ("lpi", "disea")]),
            ("spector", spector, "GRADE", "binomial", ["GPA", "TUCE", "PSI"], [("GPA", "TUCE")]),
            ("fair", fair, "affair", "binomial", ["age", "kind"], [("age", "kind")])):
        formula = "%s ~ %s" % (target, " + ".join(columns + ["%s:%s" % pair for pair in pairs]))
        result = sm.GLM.from_formula(formula, frame, family=families[family]).fit(tol=1e-15, maxiter=200)
        if family == "gaussian":
            result = sm.OLS.from_formula(formula, frame).fit()
        train = "l2: 0" if family == "binomial" else "task: regression, family: %s, l2: 0" % family
        keys = ", train_on_all: true, interactions: [%s]" % ", ".join("[%s, %s]" % pair for pair in pairs)
        found = json.loads(run(reprise, frame[columns + [target]], target, "train: {%s}\n" % train, keys)(
            "outputs/coefficients.json"))
        terms = {}
        for t in found["outputs"][0]["terms"]:
            word = lambda part: part["column"] + ("[T.%s]" % part["category"] if "category" in part else "")
            parts = [t, t["times"]] if "times" in t else [t]
            terms["Intercept" if "intercept" in t else ":".join(map(word, parts))] = t
        # of a number times a category our slopes are differences from the last group's, theirs from the first's
        same = [n for n in result.params.index if "kind" in n and ":" not in n or "kind" not in formula or n == "Intercept"]
        figures = {"estimate": farthest([terms[n]["estimate"] for n in same], result.params[same]),
                   "error": farthest([terms[n]["error"] for n in same], result.bse[same]),
                   "p": np.max(np.abs(np.array([terms[n]["p"] for n in same], float) - result.pvalues[same]))}
        bar(name, "%s, products %s  " % (family, pairs) + "  ".join("%s %.0e" % f for f in figures.items()),
            max(figures.values()) <= 1e-8)


def counted(reprise, name, frame, successes, trials, weights, beside):
    """GLM of [successes, failures], with weights and an offset too."""
    frame = frame.reset_index(drop=True).copy()
    x = sm.add_constant(frame.drop(columns=[successes, trials]))
    more, keys = {}, ""
    if weights:
        frame["w"] = 0.5 + np.arange(len(frame)) % 3
        more["var_weights"], keys = frame["w"], ", weight: w"
    if beside:
        frame["o"] = np.arange(len(frame)) % 5 / 4 - 0.5
        more["offset"], keys = frame["o"], keys + ", offset: o"
    pair = pd.DataFrame({"s": frame[successes], "f": frame[trials] - frame[successes]})
    result = sm.GLM(pair, x, family=sm.families.Binomial(), **more).fit(tol=1e-15, maxiter=200)
    found = json.loads(run(reprise, frame, successes, "train: {task: regression, family: binomial, l2: 0}\n",
                           ", train_on_all: true, denominator: %s%s" % (trials, keys))("outputs/coefficients.json"))
    terms = [t for t in found["outputs"][0]["terms"] if t["standing"] == "estimated"]
    of = lambda key: [t[key] for t in terms]
    figures = {"estimate": farthest(of("estimate"), result.params), "error": farthest(of("error"), result.bse),
               "p": np.max(np.abs(np.array(of("p"), float) - np.asarray(result.pvalues))),
               "likelihood": farthest(found["log_likelihood"], result.llf), "aic": farthest(found["aic"], result.aic),
               "bic": farthest(found["bic"], result.bic_llf), "deviance": farthest(found["deviance"], result.deviance),
               "null": farthest(found["null_deviance"], result.null_deviance),
               "null likelihood": farthest(found["null_log_likelihood"], result.llnull),
               "pearson": farthest(found["pearson"], result.pearson_chi2)}
    bar(name, "counts%s%s  " % (", weights" if weights else "", ", offset" if beside else "") +
        "  ".join("%s %.0e" % f for f in figures.items()), max(figures.values()) <= 1e-8)


def counts(reprise):
    star98 = table("star98")
    star98["N"] = star98["NABOVE"] + star98.pop("NBELOW")
    cancer = sm.datasets.cancer.load_pandas().data
    cancer["cancer"], cancer["population"] = cancer["cancer"].round(), cancer["population"].round()
    cancer["third"] = np.arange(len(cancer)) % 3
    longley = table("longley")[["TOTEMP", "UNEMP", "ARMED", "YEAR"]].assign(ALL=lambda f: f["UNEMP"] + f["TOTEMP"])
    longley = longley.drop(columns="TOTEMP")
    doctors = table("randhie")[["mdvis", "lncoins", "idp", "physlm", "disea"]].assign(visits=lambda f: f["mdvis"] + 3)
    for name, frame, successes, trials in (("star98", star98, "NABOVE", "N"), ("cancer", cancer, "cancer", "population"),
                                           ("longley", longley, "UNEMP", "ALL"), ("randhie", doctors, "mdvis", "visits")):
        for weights, beside in ((False, False), (True, False), (True, True)):
            counted(reprise, name, frame, successes, trials, weights, beside)


def sampled(reprise, name, classes):
    """sample_weight and class_weight of scikit-learn: probabilities of the rows that were fitted."""
    frame = table(name).select_dtypes("number").dropna().copy()
    target = SCORED[name]
    frame["w"] = 1 + np.arange(len(frame)) % 3
    x, y = StandardScaler().fit_transform(frame.drop(columns=[target, "w"])), frame[target]
    if classes == "balanced":
        frame["w"] = 1
    if classes:
        model = LogisticRegression(class_weight=None if classes == "rows" else classes, tol=1e-12, max_iter=10000, solver="newton-cholesky")
        theirs = model.fit(x, y, sample_weight=frame["w"]).predict_proba(x)[:, 1]
    else:
        theirs = Ridge().fit(x, y, sample_weight=frame["w"]).predict(x)
    found = pd.read_csv(io.StringIO(run(reprise, frame, target,
                                        "train: {class_weights: balanced}\n" if classes == "balanced" else "" if classes else "train: {task: regression}\n",
                                        ", train_on_all: true, weight: w")("outputs/predictions.csv")))
    difference = np.max(np.abs(found.iloc[:, -1].values - theirs)) / np.max(np.abs(theirs))
    bar(name, "predictions with weights, scikit-learn: %.0e" % difference, difference <= 2e-7)  # ours are binary32


def main():
    reprise = os.path.abspath(sys.argv[1])
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        print("scores, mean of five folds")
        for name in SCORED:
            scored(reprise, name)
        print("greatest differences from statsmodels: relative, of p absolute")
        ols = lambda y, x: sm.OLS(y, x).fit()
        exact = dict(method="newton", tol=1e-14, maxiter=200, disp=0)
        logit, several = lambda y, x: sm.Logit(y, x).fit(**exact), lambda y, x: sm.MNLogit(y, x).fit(**exact)
        for name in LINEAR:
            compared(reprise, name, table(name), SCORED[name], ols, "train: {task: regression, l2: 0}\n")
        fair = table("fair")
        fair["affairs"] = (fair["affairs"] > 0).astype(int)
        anes = table("anes96")[["logpopul", "selfLR", "age", "educ", "income", "PID"]]
        for name, frame, target, fit in [("spector", table("spector"), "GRADE", logit), ("fair", fair, "affairs", logit),
                                         ("anes96", table("anes96"), "vote", logit), ("anes96, PID", anes, "PID", several)]:
            compared(reprise, name, frame, target, fit, "train: {l2: 0}\n")
        print("weights")
        for name, family in [("longley", "gaussian"), ("fair", "gaussian"), ("spector", "binomial"), ("randhie", "poisson"),
                             ("scotland", "gamma"), ("ccard", "gamma")]:
            for weights in ("small", "large"):
                weighted(reprise, name, SCORED[name], family, weights)
        print("offsets and exposures")
        offsets(reprise)
        print("products in raw units")
        products(reprise)
        print("counts of successes out of trials")
        counts(reprise)
        sampled(reprise, "spector", "rows")
        sampled(reprise, "spector", "balanced")
        sampled(reprise, "fair", None)
    return missed


if __name__ == "__main__":
    sys.exit(main())
