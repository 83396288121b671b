#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Estimates and standard errors without a penalty beside statsmodels' GLM (Gaussian, binomial, Poisson, gamma with the log link) on the tables
and targets of outside.py that have no missing cell left, by family: how many fits differ by at most 1e-8, which do not, and why others were
refused. An estimate below a thousandth of its error is held against that. Where the columns give the target away (1 - R2 below 1e-9) what is
left is rounding, and where the peer has not converged it says nothing: both are counted apart. Usage: outside_fits.py REPRISE FOLDER_OF_CSV."""
import collections
import io
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import warnings

import numpy
import pandas
import statsmodels.api as sm
from pandas.api.types import is_bool_dtype, is_numeric_dtype

import outside

warnings.filterwarnings("ignore")
FAMILIES = {"gaussian": sm.families.Gaussian(), "poisson": sm.families.Poisson(), "logistic": sm.families.Binomial(),
            "gamma": sm.families.Gamma(sm.families.links.Log())}


def families(y):
    if not is_numeric_dtype(y) or is_bool_dtype(y) or y.nunique() == 2:
        return ["logistic"] if y.nunique() == 2 else []
    if y.nunique() <= 10:
        return []
    counts = (y >= 0).all() and (y == y.round()).all() and y.max() < 1e4
    return ["gaussian"] + ["poisson"] * bool(counts) + ["gamma"] * bool((y > 0).all())


def fit(reprise, target, family):
    """The table of coefficients and the rows that were held out; or what the command said."""
    task = "classification" if family == "logistic" else "regression, family: " + family
    with open("recipe.yaml", "w", encoding="utf-8") as recipe:
        recipe.write("reprise: 1\ndata: {csv: table.csv, target: %s}\ntrain: {l2: 0, task: %s}\n" % (json.dumps(target, ensure_ascii=False), task))
    run = subprocess.run([reprise, "run", "recipe.yaml", "-o", "x.reprise", "--force"], capture_output=True, text=True, timeout=300)
    if run.returncode:
        return run.stderr.strip(), None

    def member(name):
        return subprocess.run([reprise, "inspect", "x.reprise", "--member", name], check=True, capture_output=True, text=True).stdout
    return json.loads(member("outputs/coefficients.json")), pandas.read_csv(io.StringIO(member("outputs/predictions.csv")))["row"].values


def column(rows, term):
    if term.get("intercept"):
        return numpy.ones(len(rows))
    cells = rows[term["column"]]
    return (cells.astype(str) == term["category"]).values.astype(float) if "category" in term else cells.values.astype(float)


def difference(table, rows, target, family):
    """Greatest relative difference; None: the peer does not converge, or the fit is exact."""
    terms = [term for term in table["outputs"][0]["terms"] if term["standing"] == "estimated"]
    x = numpy.column_stack([column(rows, term) for term in terms])
    flat = numpy.ptp(x, axis=0) == 0
    middle, scale = numpy.where(flat, 0, x.mean(0)), numpy.where(flat, 1, x.std(0))
    y = rows[target]
    y = (y.astype(str) == sorted(y.astype(str).unique())[1]).astype(float) if family == "logistic" else y.astype(float)
    peer = sm.GLM(y.values, (x - middle) / scale, family=FAMILIES[family]).fit(tol=1e-14, maxiter=300, tol_criterion="params")
    if not peer.converged or peer.deviance < 1e-9 * peer.null_deviance:
        return None
    error, estimate, worst = numpy.sqrt(numpy.diag(peer.cov_params())) / scale, peer.params / scale, 0
    for i, term in enumerate(terms):
        if not term.get("intercept"):
            worst = max(worst, abs(float(term["estimate"]) - estimate[i]) / max(abs(estimate[i]), 1e-3 * error[i]),
                        abs(float(term["error"]) / error[i] - 1))
    return worst


def main(reprise, folder):
    seen = {family: collections.Counter() for family in FAMILIES}
    for name, frame, target in outside.tables(folder):
        frame = frame.dropna().reset_index(drop=True)
        if len(frame) < 40 or len(frame) > 6000 or frame.shape[1] > 20 or frame[target].nunique() < 2:
            continue
        frame.to_csv("table.csv", index=False)
        for family in families(frame[target]):
            table, held = fit(reprise, target, family)
            if held is None:
                seen[family]["infinite or not converged" if "converge" in table else "the table refused"] += 1
                continue
            if any(term.get("error", 0) is None for term in table["outputs"][0]["terms"]):
                seen[family]["as many coefficients as rows"] += 1
                continue
            try:
                worst = difference(table, frame.drop(index=held), target, family)
            except (ValueError, FloatingPointError, numpy.linalg.LinAlgError):
                worst = None
            where = "the peer fails, or exact" if worst is None else "within 1e-8" if worst <= 1e-8 else "beyond"
            seen[family][where] += 1
            if where == "beyond":
                print("%-20s %-20s %-8s %4d rows, %.1e, condition %s" % (name, target, family, len(frame), worst, table["condition"][:7]))
    for family, counts in seen.items():
        print("%-9s" % family, ", ".join("%s %d" % pair for pair in counts.items()))
    return sum(counts["beyond"] for counts in seen.values()) > 0.01 * sum(counts["within 1e-8"] for counts in seen.values())


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as place:
        command, tables_at = str(pathlib.Path(sys.argv[1]).resolve()), str(pathlib.Path(sys.argv[2]).resolve())
        os.chdir(place)
        sys.exit(main(command, tables_at))
